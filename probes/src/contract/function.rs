//! Functions that implementations compute otherwise than each other.

use std::fmt;

use emitter::{
    interp::interpret,
    kernel::{self, KernelBuilder, Reg, Scalar},
    program::{Elem, IndexMap, Op, Program, Source, ValueInfo},
};
use stages::{DType, Tensor};

/// What a function is, whatever its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the functions' names")]
pub enum Kind {
    Exp,
    Log,
    Log1p,
    Tanh,
    Sin,
    Cos,
    /// One over the square root.
    Rsqrt,
    /// `x²` as `powf(x, 2)`.
    Square,
}

/// How it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// As the emitter restates it: MLX's own polynomials for `exp`, `sin` and `cos`, the C
    /// library's algorithms for the others.
    Restated,
    /// In F64, rounded once: the correctly rounded result, but for one in some hundred million.
    Exact,
    /// Of `exp`: 2 to the power of `x·log₂e`, that product rounded to F32, the power correctly
    /// rounded. Of `tanh`: CUDA's form, a polynomial below 0.6 and `1 − 2/(2^(2·log₂e·|x|) + 1)`
    /// above, with a power and a division that are correctly rounded.
    Power,
    /// Of `tanh`: an odd polynomial over an even one between ±7.9988, x itself below 0.0004 (Eigen,
    /// MLIR's `math-to-polynomial-approximation`, IREE's CPU code).
    Rational,
}

/// A function in one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Which.
    pub kind: Kind,
    /// How.
    pub algorithm: Algorithm,
}

impl Function {
    /// As the emitter restates it.
    pub const fn restated(kind: Kind) -> Function {
        let algorithm = Algorithm::Restated;
        Function { kind, algorithm }
    }

    /// All algorithms of a function, the restated one first if there is one.
    pub fn all(kind: Kind) -> Vec<Function> {
        let algorithms = match kind {
            Kind::Tanh => &[
                Algorithm::Restated,
                Algorithm::Exact,
                Algorithm::Power,
                Algorithm::Rational,
            ][..],
            Kind::Exp => &[Algorithm::Restated, Algorithm::Exact, Algorithm::Power],
            Kind::Rsqrt => &[Algorithm::Exact],
            _ => &[Algorithm::Restated, Algorithm::Exact],
        };
        let of = |&algorithm: &Algorithm| Function { kind, algorithm };
        algorithms.iter().map(of).collect()
    }

    /// The values of the function.
    pub fn evaluate(self, x: Vec<f32>) -> Vec<f32> {
        match self.algorithm {
            Algorithm::Restated => match restated(self.kind) {
                Some(write) => run(write, &x),
                None => x.into_iter().map(|x| exact(self.kind, x)).collect(),
            },
            Algorithm::Exact => x.into_iter().map(|x| exact(self.kind, x)).collect(),
            Algorithm::Rational => x.into_iter().map(tanh_by_rational).collect(),
            Algorithm::Power => match self.kind {
                Kind::Tanh => x.into_iter().map(tanh_by_power).collect(),
                _ => x.into_iter().map(exp_by_power).collect(),
            },
        }
    }
}

/// How the emitter writes a function.
type Write = fn(&mut KernelBuilder, Reg) -> Reg;

/// The emitter's kernel of a function.
pub(super) fn restated(kind: Kind) -> Option<Write> {
    Some(match kind {
        Kind::Exp => kernel::exp,
        Kind::Log => kernel::log,
        Kind::Log1p => kernel::log1p,
        Kind::Tanh => kernel::tanh,
        Kind::Sin => kernel::sin,
        Kind::Cos => kernel::cos,
        Kind::Square => |k, x| kernel::pow_known(k, x, 2.0),
        Kind::Rsqrt => return None,
    })
}

/// The values that an emitter's kernel of one operand gives.
fn run(write: Write, x: &[f32]) -> Vec<f32> {
    let mut k = KernelBuilder::new();
    let operand = k.operand(0, Scalar::F32);
    let result = write(&mut k, operand);
    let info = ValueInfo {
        shape: [x.len()].into(),
        elem: Elem::F32,
        grid: DType::F32,
    };
    let mut program = Program::new();
    let value = program.arg(Source::Input("x".to_owned()), vec![], info.clone());
    let map = Op::Map {
        kernel: k.finish(result),
        maps: vec![IndexMap::identity(1)],
    };
    let value = program.push(map, vec![value], info);
    program.output("y", value);
    let values = Tensor::from_f32([x.len()], x)
        .ok()
        .and_then(|x| interpret(&program, &[x]).ok());
    let values = values.as_ref().and_then(|values| values.first()?.as_f32());
    // The emitter's kernels take every F32.
    values.map_or_else(|| vec![f32::NAN; x.len()], <[f32]>::to_vec)
}

fn exact(kind: Kind, x: f32) -> f32 {
    let wide = f64::from(x);
    let value = match kind {
        Kind::Exp => libm::exp(wide),
        Kind::Log => libm::log(wide),
        Kind::Log1p => libm::log1p(wide),
        Kind::Tanh => libm::tanh(wide),
        Kind::Sin => libm::sin(wide),
        Kind::Cos => libm::cos(wide),
        // Two roundings of an F64, the second to F32: never off, for √x and x have 24 bits only.
        Kind::Rsqrt => 1.0 / wide.sqrt(),
        Kind::Square => wide * wide,
    };
    value as f32
}

fn exp_by_power(x: f32) -> f32 {
    libm::exp2(f64::from(x * std::f32::consts::LOG2_E)) as f32
}

/// CUDA's `tanhf` (its device library's coefficients), with exact parts.
fn tanh_by_power(x: f32) -> f32 {
    let a = x.abs();
    if a >= 0.6 {
        let power = libm::exp2(f64::from(a * 2.885_39)) as f32;
        let inverse = (1.0 / (f64::from(power) + 1.0)) as f32;
        let y = inverse.mul_add(-2.0, 1.0);
        return if a >= 9.010_913_f32 {
            1f32.copysign(x)
        } else {
            y.copysign(x)
        };
    }
    let square = x * x;
    let mut p = 0.015_739_683;
    for c in [-0.052_303_963, 0.133_152_98, -0.333_327_68] {
        p = f32::mul_add(p, square, c);
    }
    f32::mul_add(p * square, x, x)
}

fn tanh_by_rational(x: f32) -> f32 {
    const LARGEST: f32 = 7.998_811_7;
    const ODD: [f32; 7] = [
        -2.760_768_4e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297_1e-8,
        1.485_722_35e-5,
        6.372_619_4e-4,
        4.893_524_6e-3,
    ];
    const EVEN: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_7e-3, 4.893_525e-3];
    if x.abs() < 0.0004 {
        return x;
    }
    let clamped = x.clamp(-LARGEST, LARGEST);
    let square = clamped * clamped;
    let horner = |c: &[f32]| c[1..].iter().fold(c[0], |p, &c| f32::mul_add(square, p, c));
    clamped * horner(&ODD) / horner(&EVEN)
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::Exp => "exp",
            Kind::Log => "log",
            Kind::Log1p => "log1p",
            Kind::Tanh => "tanh",
            Kind::Sin => "sin",
            Kind::Cos => "cos",
            Kind::Rsqrt => "rsqrt",
            Kind::Square => "powf2",
        };
        match self.algorithm {
            Algorithm::Restated => f.write_str(name),
            Algorithm::Exact => write!(f, "exact_{name}"),
            Algorithm::Power if self.kind == Kind::Exp => f.write_str("exp2_of_log2e_times"),
            Algorithm::Power => write!(f, "cuda_{name}"),
            Algorithm::Rational => write!(f, "rational_{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_of_a_function_are_close_and_not_the_same() {
        let x: Vec<f32> = (0..40_000)
            .map(|i| (i as f32 - 20_000.0) * 0.000_27)
            .collect();
        for kind in [Kind::Exp, Kind::Tanh, Kind::Sin, Kind::Cos, Kind::Square] {
            let all: Vec<Vec<f32>> = Function::all(kind)
                .into_iter()
                .map(|function| function.evaluate(x.clone()))
                .collect();
            for other in &all[1..] {
                let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 4e-7 * a.abs().max(1e-3);
                assert!(all[0].iter().zip(other).all(close), "{kind:?}");
                assert_ne!(&all[0], other, "{kind:?}");
            }
        }
    }

    #[test]
    fn one_over_a_root_is_rounded_once() {
        let function = Function::all(Kind::Rsqrt)[0];
        assert_eq!(
            function.evaluate(vec![4.0, 0.0, -1.0])[..2],
            [0.5, f32::INFINITY]
        );
    }
}
