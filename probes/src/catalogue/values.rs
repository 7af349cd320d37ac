//! Values that make roundings, orders and special cases visible.

use std::{fmt, sync::Arc};

use half::bf16;
use stages::{DType, Shape, Tensor, TensorError};

use super::Size;

/// A tensor that is made when it is needed, the same each time.
#[derive(Clone)]
pub struct Operand {
    dtype: DType,
    shape: Shape,
    make: Arc<Make>,
}

type Make = dyn Fn() -> Result<Tensor, TensorError> + Send + Sync;

impl Operand {
    /// An operand that `make` makes.
    fn new(
        dtype: DType,
        shape: impl Into<Shape>,
        make: impl Fn() -> Result<Tensor, TensorError> + Send + Sync + 'static,
    ) -> Operand {
        Operand {
            dtype,
            shape: shape.into(),
            make: Arc::new(make),
        }
    }

    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its extents.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its values.
    ///
    /// # Errors
    /// When there are not as many as the shape has.
    pub fn tensor(&self) -> Result<Tensor, TensorError> {
        (self.make)()
    }
}

impl fmt::Debug for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype, self.shape)
    }
}

/// A small generator of well-mixed numbers (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Either sign, mantissa full, exponent between 2^low and 2^high.
    pub fn wide(&mut self, low: i32, high: i32) -> f32 {
        let bits = self.bits();
        let exponent = low + (bits >> 32) as i32 % (high - low + 1);
        let mantissa = 1.0 + (bits & 0x7F_FFFF) as f32 / 8_388_608.0;
        let sign = if bits >> 63 == 0 { 1.0 } else { -1.0 };
        sign * mantissa * (exponent as f32).exp2()
    }
}

/// How many F32 inputs a function of one operand is tried on.
pub(super) const fn sweep_len(size: Size) -> u32 {
    match size {
        Size::Short => 1 << 20,
        Size::Full => 1 << 24,
    }
}

/// F32 values spread evenly over all bit patterns, so over all exponents and both signs; the low
/// bits are mixed. `phase` gives other values.
pub(super) fn sweep(len: u32, phase: u64) -> Vec<f32> {
    let step = (1u64 << 32) / u64::from(len);
    let mut random = Random::new(phase);
    (0..u64::from(len))
        .map(|i| f32::from_bits((i * step + random.bits() % step) as u32))
        .collect()
}

/// All BF16 values.
pub(super) fn all_bf16() -> Vec<f32> {
    (0..=u16::MAX)
        .map(|bits| bf16::from_bits(bits).to_f32())
        .collect()
}

/// Values where functions change their ways, in both signs.
pub(super) fn specials() -> Vec<f32> {
    let magnitudes = [
        0.0,
        f32::from_bits(1),
        f32::from_bits(2),
        f32::from_bits(0x0040_0000),
        f32::from_bits(0x007F_FFFF),
        f32::MIN_POSITIVE,
        f32::from_bits(0x0080_0001),
        1e-30,
        1e-20,
        2f32.powi(-64),
        2f32.powi(-54),
        2f32.powi(-30),
        2f32.powi(-24),
        2f32.powi(-23),
        1e-3,
        0.1,
        0.25,
        0.333_333_34,
        0.5,
        0.549_306_15,
        std::f32::consts::LN_2,
        std::f32::consts::FRAC_PI_4,
        1.0 - 2f32.powi(-24),
        1.0,
        1.0 + 2f32.powi(-23),
        1.5,
        std::f32::consts::FRAC_PI_2,
        2.0,
        std::f32::consts::E,
        3.0,
        std::f32::consts::PI,
        std::f32::consts::TAU,
        10.0,
        22.0,
        87.336_54,
        87.5,
        88.0,
        88.000_01,
        88.722_84,
        89.0,
        103.972_08,
        104.0,
        127.0,
        255.0,
        256.0,
        257.0,
        65_504.0,
        8_388_607.5,
        8_388_608.0,
        8_388_609.0,
        16_777_216.0,
        16_777_217.0,
        2_147_483_520.0,
        2_147_483_648.0,
        4_294_967_296.0,
        1e10,
        1e20,
        1.8e19,
        1e30,
        f32::from_bits(0x7F7F_0000),
        f32::from_bits(0x7F7F_8000),
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        f32::from_bits(0x7F80_0001),
        f32::from_bits(0x7FFF_FFFF),
    ];
    magnitudes.iter().flat_map(|&x| [x, -x]).collect()
}

/// Integers at the edges of their range and of F32's exact integers.
pub(super) fn special_ints() -> Vec<i32> {
    let mut values = vec![
        0, 1, 2, 3, 7, 100, 127, 128, 255, 256, 257, 1000, 65_535, 65_536,
    ];
    values.extend([
        (1 << 24) - 1,
        1 << 24,
        (1 << 24) + 1,
        (1 << 24) + 3,
        1 << 30,
    ]);
    values.extend([i32::MAX, i32::MAX - 1, i32::MAX - 63, i32::MAX - 64]);
    let negative: Vec<i32> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values.push(i32::MIN);
    values
}

/// Values rounded onto a float dtype's grid.
fn rounded(dtype: DType, shape: Shape, values: &[f32]) -> Result<Tensor, TensorError> {
    match dtype {
        DType::BF16 => {
            let values: Vec<bf16> = values.iter().map(|&x| bf16::from_f32(x)).collect();
            Tensor::from_bf16(shape, &values)
        }
        _ => Tensor::from_f32(shape, values),
    }
}

/// An operand of F32 or BF16 with the values that `make` makes, rounded onto its grid.
pub(super) fn made(
    dtype: DType,
    shape: impl Into<Shape>,
    make: impl Fn() -> Vec<f32> + Send + Sync + 'static,
) -> Operand {
    let shape = shape.into();
    let of = shape.clone();
    Operand::new(dtype, shape, move || rounded(dtype, of.clone(), &make()))
}

/// The same with these values.
pub(super) fn tensor(dtype: DType, shape: impl Into<Shape>, values: &[f32]) -> Operand {
    let values = values.to_vec();
    made(dtype, shape, move || values.clone())
}

/// A BOOL operand.
pub(super) fn bools(shape: impl Into<Shape>, values: &[bool]) -> Operand {
    let (shape, values) = (shape.into(), values.to_vec());
    let of = shape.clone();
    Operand::new(DType::Bool, shape, move || {
        Tensor::from_bool(of.clone(), &values)
    })
}

/// An I32 operand.
pub(super) fn ints(shape: impl Into<Shape>, values: Vec<i32>) -> Operand {
    let shape = shape.into();
    let of = shape.clone();
    Operand::new(DType::I32, shape, move || {
        Tensor::from_i32(of.clone(), &values)
    })
}

/// A U32 operand.
pub(super) fn words(shape: impl Into<Shape>, values: Vec<u32>) -> Operand {
    let shape = shape.into();
    let of = shape.clone();
    Operand::new(DType::U32, shape, move || {
        Tensor::from_u32(of.clone(), &values)
    })
}

/// An I32 operand's bits as U32.
pub(super) fn as_words(ints: Operand) -> Operand {
    let shape = ints.shape.clone();
    Operand::new(DType::U32, shape, move || {
        ints.tensor()?.reinterpreted(DType::U32)
    })
}

/// Values in whose sums every order gives other bits: magnitudes over 2⁸, both signs.
pub(super) fn noise(dtype: DType, shape: impl Into<Shape>, seed: u64) -> Operand {
    let shape = shape.into();
    let count = shape.elements();
    made(dtype, shape, move || noise_values(count, seed))
}

/// The values of [`noise`].
pub(super) fn noise_values(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.wide(-4, 4)).collect()
}

/// [`noise`] with a special value here and there, over a wider range.
pub(super) fn spiked(dtype: DType, shape: impl Into<Shape>, seed: u64) -> Operand {
    let shape = shape.into();
    let count = shape.elements();
    made(dtype, shape, move || spiked_values(count, seed))
}

/// The values of [`spiked`].
pub(super) fn spiked_values(count: usize, seed: u64) -> Vec<f32> {
    let (mut random, specials) = (Random::new(seed), specials());
    let value = |_| match random.below(8) {
        0 => specials[random.below(specials.len())],
        _ => random.wide(-40, 40),
    };
    (0..count).map(value).collect()
}

/// Random truth values.
pub(super) fn truths(shape: impl Into<Shape>, seed: u64) -> Operand {
    let shape = shape.into();
    let mut random = Random::new(seed);
    let values: Vec<bool> = (0..shape.elements())
        .map(|_| random.bits() & 1 == 1)
        .collect();
    bools(shape, &values)
}

/// Integers from 0 to `below`.
pub(super) fn indices(shape: impl Into<Shape>, below: usize, seed: u64) -> Operand {
    let shape = shape.into();
    let mut random = Random::new(seed);
    let values = (0..shape.elements()).map(|_| random.below(below) as i32);
    let values = values.collect();
    ints(shape, values)
}

/// Any integers.
pub(super) fn integers(shape: impl Into<Shape>, seed: u64) -> Operand {
    let shape = shape.into();
    let (mut random, specials) = (Random::new(seed), special_ints());
    let value = |_| match random.below(4) {
        0 => specials[random.below(specials.len())],
        1 => random.below(2000) as i32 - 1000,
        _ => random.bits() as i32,
    };
    let values = (0..shape.elements()).map(value).collect();
    ints(shape, values)
}

/// Random values of any dtype that level two carries.
pub(super) fn any(dtype: DType, shape: impl Into<Shape>, seed: u64) -> Operand {
    match dtype {
        DType::I32 => integers(shape, seed),
        DType::U32 => as_words(integers(shape, seed)),
        DType::Bool => truths(shape, seed),
        _ => spiked(dtype, shape, seed),
    }
}

/// The dtypes that level two carries.
pub(super) const CARRIED: [DType; 5] =
    [DType::F32, DType::BF16, DType::I32, DType::U32, DType::Bool];

/// The dtypes whose values level two compares, selects and converts to.
pub(super) const ORDERED: [DType; 4] = [DType::F32, DType::BF16, DType::I32, DType::Bool];

/// The float dtypes that level two carries.
pub(super) const FLOATS: [DType; 2] = [DType::F32, DType::BF16];
