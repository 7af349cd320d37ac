//! Loops compiled for the widest vectors this processor has, chosen when they run.
//!
//! The results do not depend on the choice: nothing contracts a product into an addition unasked,
//! and a fused one is correctly rounded whether it is an instruction or a call.

/// A loop to compile for several instruction sets. Its `run` and what it calls must be
/// `#[inline(always)]`, or they stay code for the baseline.
pub(crate) trait Loop {
    /// What it gives.
    type Output;

    /// Runs it. `V` is the processor's vector, for loops that the compiler does not reliably
    /// turn into vectors itself.
    fn run<V: Eight>(self) -> Self::Output;
}

/// Eight F32s, each of which every operation rounds on its own.
pub(crate) trait Eight: Copy {
    fn splat(x: f32) -> Self;
    fn load(values: &[f32; 8]) -> Self;
    fn store(self, out: &mut [f32; 8]);
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Rounded to BF16; see [`round_bf16`](super::kernel::round_bf16).
    fn round_bf16(self) -> Self;
    /// `self·factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// Runs `work` in the widest form.
pub(crate) fn widest<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features.
        return unsafe { x86::run(work) };
    }
    work.run::<Plain>()
}

/// Runs `work` in the form for any processor.
#[cfg(test)]
pub(crate) fn plainest<L: Loop>(work: L) -> L::Output {
    work.run::<Plain>()
}

/// For any processor.
#[derive(Clone, Copy)]
struct Plain([f32; 8]);

impl Eight for Plain {
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Plain([x; 8])
    }
    #[inline(always)]
    fn load(values: &[f32; 8]) -> Self {
        Plain(*values)
    }
    #[inline(always)]
    fn store(self, out: &mut [f32; 8]) {
        *out = self.0;
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] * other.0[i]))
    }
    #[inline(always)]
    fn round_bf16(self) -> Self {
        Plain(self.0.map(super::kernel::round_bf16))
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Plain(std::array::from_fn(|i| {
            self.0[i].mul_add(factor.0[i], term.0[i])
        }))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! AVX2 and FMA. [`Ymm`] is named in [`run`] alone, so its operations never run elsewhere:
    //! that is every SAFETY reason here.

    use std::arch::x86_64::{
        __m256, _CMP_UNORD_Q, _mm256_add_epi32, _mm256_add_ps, _mm256_and_si256, _mm256_blendv_ps,
        _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
        _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_srli_epi32, _mm256_storeu_ps,
    };

    use super::{Eight, Loop};

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn run<L: Loop>(work: L) -> L::Output {
        work.run::<Ymm>()
    }

    #[derive(Clone, Copy)]
    struct Ymm(__m256);

    impl Eight for Ymm {
        #[inline(always)]
        fn splat(x: f32) -> Self {
            // SAFETY: only within `run`.
            Ymm(unsafe { _mm256_set1_ps(x) })
        }
        #[inline(always)]
        fn load(values: &[f32; 8]) -> Self {
            // SAFETY: only within `run`; eight values are there.
            Ymm(unsafe { _mm256_loadu_ps(values.as_ptr()) })
        }
        #[inline(always)]
        fn store(self, out: &mut [f32; 8]) {
            // SAFETY: only within `run`; there is room for eight values.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: only within `run`.
            Ymm(unsafe { _mm256_add_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            // SAFETY: only within `run`.
            Ymm(unsafe { _mm256_mul_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn round_bf16(self) -> Self {
            // SAFETY: only within `run`.
            unsafe {
                let bits = _mm256_castps_si256(self.0);
                let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
                let up = _mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF));
                let mask = _mm256_set1_epi32(0xFFFF_0000u32.cast_signed());
                let cut = _mm256_and_si256(_mm256_add_epi32(up, odd), mask);
                let quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC0_0000));
                let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0);
                Ymm(_mm256_blendv_ps(_mm256_castsi256_ps(cut), quiet, nan))
            }
        }
        #[inline(always)]
        fn mul_add(self, factor: Self, term: Self) -> Self {
            // SAFETY: only within `run`.
            Ymm(unsafe { _mm256_fmadd_ps(self.0, factor.0, term.0) })
        }
    }
}
