//! Values that make roundings, orders and special cases visible.

use half::bf16;
use stages::{DType, Shape, Tensor};

/// A small generator of well-mixed numbers (splitmix64).
pub struct Random(u64);

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

/// Whether the long form was asked for.
pub fn full() -> bool {
    std::env::var("QUALIFY_FULL").is_ok_and(|value| value == "1")
}

/// How many F32 inputs a function of one operand is tried on.
pub fn sweep_len() -> u32 {
    if full() { 1 << 24 } else { 1 << 20 }
}

/// F32 values spread evenly over all bit patterns, so over all exponents and both signs; the low
/// bits are mixed. `phase` gives other values.
pub fn sweep(len: u32, phase: u64) -> Vec<f32> {
    let step = (1u64 << 32) / u64::from(len);
    let mut random = Random::new(phase);
    (0..u64::from(len))
        .map(|i| f32::from_bits((i * step + random.bits() % step) as u32))
        .collect()
}

/// All BF16 values.
pub fn all_bf16() -> Vec<f32> {
    (0..=u16::MAX)
        .map(|bits| bf16::from_bits(bits).to_f32())
        .collect()
}

/// Values where functions change their ways, in both signs.
pub fn specials() -> Vec<f32> {
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
pub fn special_ints() -> Vec<i32> {
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

/// A tensor of a float dtype with values rounded onto its grid.
pub fn tensor(dtype: DType, shape: impl Into<Shape>, values: &[f32]) -> Tensor {
    match dtype {
        DType::F32 => Tensor::from_f32(shape, values),
        DType::BF16 => {
            let values: Vec<bf16> = values.iter().map(|&x| bf16::from_f32(x)).collect();
            Tensor::from_bf16(shape, &values)
        }
        other => panic!("{other} is no float dtype here"),
    }
    .unwrap()
}

/// A vector of values.
pub fn vector(dtype: DType, values: &[f32]) -> Tensor {
    tensor(dtype, [values.len()], values)
}

/// Values in whose sums every order gives other bits: magnitudes over 2⁸, both signs.
pub fn noise(dtype: DType, shape: impl Into<Shape>, seed: u64) -> Tensor {
    let shape = shape.into();
    let mut random = Random::new(seed);
    let values: Vec<f32> = (0..shape.elements()).map(|_| random.wide(-4, 4)).collect();
    tensor(dtype, shape, &values)
}

/// [`noise`] with a special value here and there.
pub fn spiked(dtype: DType, shape: impl Into<Shape>, seed: u64) -> Tensor {
    let shape = shape.into();
    let (mut random, specials) = (Random::new(seed), specials());
    let values: Vec<f32> = (0..shape.elements())
        .map(|_| match random.below(8) {
            0 => specials[random.below(specials.len())],
            _ => random.wide(-40, 40),
        })
        .collect();
    tensor(dtype, shape, &values)
}

/// Random truth values.
pub fn truths(shape: impl Into<Shape>, seed: u64) -> Tensor {
    let shape = shape.into();
    let mut random = Random::new(seed);
    let values: Vec<bool> = (0..shape.elements())
        .map(|_| random.bits() & 1 == 1)
        .collect();
    Tensor::from_bool(shape, &values).unwrap()
}

/// Integers from 0 to `below`.
pub fn indices(shape: impl Into<Shape>, below: usize, seed: u64) -> Tensor {
    let shape = shape.into();
    let mut random = Random::new(seed);
    let values: Vec<i32> = (0..shape.elements())
        .map(|_| random.below(below) as i32)
        .collect();
    Tensor::from_i32(shape, &values).unwrap()
}

/// Any integers.
pub fn integers(shape: impl Into<Shape>, seed: u64) -> Tensor {
    let shape = shape.into();
    let (mut random, specials) = (Random::new(seed), special_ints());
    let values: Vec<i32> = (0..shape.elements())
        .map(|_| match random.below(4) {
            0 => specials[random.below(specials.len())],
            1 => random.below(2000) as i32 - 1000,
            _ => random.bits() as i32,
        })
        .collect();
    Tensor::from_i32(shape, &values).unwrap()
}

/// Random values of any dtype that level two carries.
pub fn any(dtype: DType, shape: impl Into<Shape>, seed: u64) -> Tensor {
    match dtype {
        DType::I32 => integers(shape, seed),
        DType::U32 => integers(shape, seed).reinterpreted(dtype).unwrap(),
        DType::Bool => truths(shape, seed),
        _ => spiked(dtype, shape, seed),
    }
}

/// The dtypes that level two carries.
pub const CARRIED: [DType; 5] = [DType::F32, DType::BF16, DType::I32, DType::U32, DType::Bool];

/// The dtypes whose values level two compares, selects and converts to.
pub const ORDERED: [DType; 4] = [DType::F32, DType::BF16, DType::I32, DType::Bool];

/// The float dtypes that level two carries.
pub const FLOATS: [DType; 2] = [DType::F32, DType::BF16];
