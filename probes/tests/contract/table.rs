//! The operations of MLX's CPU backend whose arithmetic is to be found.

use stages::{
    DType, Tensor,
    graph::{Builder, Op, Quantized, ReduceKind},
};

use super::case::{Case, Draw, case, floats};

/// Every BF16 there is, or F32 over a wide range.
fn domain(dtype: DType) -> Tensor {
    let values: Vec<f32> = match dtype {
        DType::BF16 => (0..=u16::MAX)
            .map(|bits| f32::from_bits(u32::from(bits) << 16))
            .collect(),
        _ => {
            let mut draw = Draw(7);
            (0..20_000).map(|_| 4.0 * draw.float()).collect()
        }
    };
    floats(dtype, &[values.len()], &values)
}

fn positive(dtype: DType) -> Tensor {
    let values: Vec<f32> = domain(dtype)
        .to_f32()
        .unwrap()
        .iter()
        .map(|x| x.abs())
        .collect();
    floats(dtype, &[values.len()], &values)
}

/// Along the last axis, or in steps of `stride`, `n` long: every third value of the first half is
/// 2¹⁴ times as large and comes back with the other sign in the second half.
fn cancelling(x: &Tensor, n: usize, stride: usize) -> Tensor {
    halves(x, n, stride, 16_384.0, -1.0)
}

/// The factors of [`cancelling`] values: the same in both halves.
fn repeating(x: &Tensor, n: usize, stride: usize) -> Tensor {
    halves(x, n, stride, 1.0, 1.0)
}

fn halves(x: &Tensor, n: usize, stride: usize, scale: f32, sign: f32) -> Tensor {
    let mut values = x.to_f32().unwrap().into_owned();
    let half = n / 2;
    for line in values.chunks_mut(n * stride) {
        for k in (0..half).step_by(3) {
            for i in 0..stride {
                let large = line[k * stride + i] * scale;
                line[k * stride + i] = large;
                line[(k + half) * stride + i] = sign * large;
            }
        }
    }
    floats(x.dtype(), x.shape().dims(), &values)
}

/// Functions of one operand.
pub fn functions() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::BF16] {
        let mut unary = |name: &str, op: Op, x: Tensor| {
            let name = format!("{name} {dtype}");
            all.push(case(&name, &[x], |b, v| b.apply(op, v)));
        };
        unary("exp", Op::Exp, domain(dtype));
        unary("sigmoid", Op::Sigmoid, domain(dtype));
        unary("tanh", Op::Tanh, domain(dtype));
        unary("log", Op::Log, positive(dtype));
        unary("sqrt", Op::Sqrt { reciprocal: false }, positive(dtype));
        unary("rsqrt", Op::Sqrt { reciprocal: true }, positive(dtype));
        unary("square", Op::Square, domain(dtype));
        let angles: Vec<f32> = domain(dtype)
            .to_f32()
            .unwrap()
            .iter()
            .map(|x| x % 4096.0)
            .collect();
        let angles = floats(dtype, &[angles.len()], &angles);
        unary("sin", Op::Sin, angles.clone());
        unary("cos", Op::Cos, angles);
        let softplus = |b: &mut Builder, v: &[_]| b.binary_scalar(Op::LogAddExp, v[0], 0.0);
        all.push(case(
            &format!("softplus {dtype}"),
            &[domain(dtype)],
            softplus,
        ));
        let silu = |b: &mut Builder, v: &[_]| b.silu(v[0]);
        all.push(case(&format!("silu {dtype}"), &[domain(dtype)], silu));
    }
    let power = |b: &mut Builder, v: &[_]| b.binary_scalar(Op::Power, v[0], 2.0);
    all.push(case("power F32", &[domain(DType::F32)], power));
    all
}

/// Sums, means, running sums, softmax.
pub fn sums() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::BF16] {
        let mut draw = Draw(11);
        let mut push = |name: &str, shape: &[usize], build: &dyn Fn(&mut Builder, &[_]) -> _| {
            let x = draw.tensor(dtype, shape);
            all.push(case(&format!("{name} {dtype}"), &[x], |b, v| build(b, v)));
        };
        push("sum, last axis", &[40, 70], &|b, v| b.sum(v[0], &[1]));
        push("sum, first axis", &[70, 40], &|b, v| b.sum(v[0], &[0]));
        push("sum, middle axes", &[4, 6, 9, 5], &|b, v| {
            b.sum(v[0], &[1, 2])
        });
        push("sum, two levels", &[6, 24, 11], &|b, v| {
            b.sum(v[0], &[0, 2])
        });
        push("sum, transposed", &[24, 37], &|b, v| {
            let x = b.transpose(v[0], &[1, 0])?;
            b.sum(x, &[1])
        });
        push("mean", &[60, 48], &|b, v| b.mean(v[0], 1));
        push("cumsum, last axis", &[6, 150], &|b, v| b.cumsum(v[0], 1));
        push("cumsum, first axis", &[150, 6], &|b, v| b.cumsum(v[0], 0));
        push("cumsum, reversed", &[6, 150], &|b, v| {
            let scan = Op::Scan {
                axis: 1,
                reverse: true,
                inclusive: true,
            };
            b.apply(scan, &[v[0]])
        });
        let softmax = Op::Softmax { precise: false };
        push("softmax", &[60, 24], &|b, v| {
            b.apply(softmax.clone(), &[v[0]])
        });
        push("logsumexp-like", &[60, 24], &|b, v| {
            let kind = ReduceKind::Max;
            let m = b.apply(
                Op::Reduce {
                    kind,
                    axes: vec![1],
                },
                &[v[0]],
            )?;
            let d = b.binary(Op::Subtract, v[0], m)?;
            let e = b.apply(Op::Exp, &[d])?;
            let s = b.sum(e, &[1])?;
            let l = b.apply(Op::Log, &[s])?;
            b.binary(Op::Add, l, m)
        });
    }
    all
}

/// A softmax that is F32 inside.
pub fn precise_softmax(dtype: DType) -> Case {
    let x = Draw(12).tensor(dtype, &[60, 24]);
    let op = Op::Softmax { precise: true };
    case(&format!("precise softmax {dtype}"), &[x], |b, v| {
        b.apply(op, v)
    })
}

/// Norms as MLX's CPU backend composes them.
pub fn norms(dtype: DType) -> Vec<Case> {
    let mut all = Vec::new();
    let mut draw = Draw(13);
    let (x, w) = (draw.tensor(dtype, &[480, 96]), draw.tensor(dtype, &[96]));
    let bias = draw.tensor(dtype, &[96]);
    all.push(case(
        &format!("rms_norm {dtype}"),
        &[x.clone(), w.clone()],
        |b, v| {
            let wide = b.astype(v[0], DType::F32)?;
            let square = b.apply(Op::Square, &[wide])?;
            let mean = b.mean(square, 1)?;
            let shifted = b.binary_scalar(Op::Add, mean, 1e-6)?;
            let inverse = b.apply(Op::Sqrt { reciprocal: true }, &[shifted])?;
            let normed = b.binary(Op::Multiply, wide, inverse)?;
            let normed = b.astype(normed, dtype)?;
            b.binary(Op::Multiply, normed, v[1])
        },
    ));
    all.push(case(
        &format!("layer_norm {dtype}"),
        &[x, w, bias],
        |b, v| {
            let wide = b.astype(v[0], DType::F32)?;
            let mean = b.mean(wide, 1)?;
            let centred = b.binary(Op::Subtract, wide, mean)?;
            let square = b.apply(Op::Square, &[centred])?;
            let variance = b.mean(square, 1)?;
            let shifted = b.binary_scalar(Op::Add, variance, 1e-5)?;
            let inverse = b.apply(Op::Sqrt { reciprocal: true }, &[shifted])?;
            let normed = b.binary(Op::Multiply, centred, inverse)?;
            let normed = b.astype(normed, dtype)?;
            let scaled = b.binary(Op::Multiply, normed, v[1])?;
            b.binary(Op::Add, scaled, v[2])
        },
    ));
    all
}

/// Products of matrices, convolutions, quantised matrices, rotations.
pub fn products() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::BF16] {
        let mut draw = Draw(17);
        let mut tensor = |shape: &[usize]| draw.tensor(dtype, shape);
        let x = cancelling(&tensor(&[12, 40]), 40, 1);
        let w = repeating(&tensor(&[40, 10]), 40, 10);
        all.push(case(
            &format!("matmul {dtype}"),
            &[x.clone(), w.clone()],
            |b, v| b.matmul(v[0], v[1]),
        ));
        let c = tensor(&[12, 10]);
        let addmm = |b: &mut Builder, v: &[_], w| {
            b.apply(
                Op::AddMM {
                    alpha: 1.0,
                    beta: 1.0,
                },
                &[v[0], v[1], w],
            )
        };
        all.push(case(
            &format!("addmm {dtype}"),
            &[c.clone(), x.clone(), w],
            |b, v| addmm(b, v, v[2]),
        ));
        let rows = repeating(&tensor(&[10, 40]), 40, 1);
        all.push(case(
            &format!("addmm of a transposed matrix {dtype}"),
            &[c, x, rows],
            |b, v| {
                let w = b.transpose(v[2], &[1, 0])?;
                addmm(b, v, w)
            },
        ));
        let convolution =
            |spatial: usize, stride: usize, low: usize, groups: usize| Op::Convolution {
                strides: vec![stride; spatial],
                low: vec![low; spatial],
                high: vec![low; spatial],
                kernel_dilation: vec![1; spatial],
                input_dilation: vec![1; spatial],
                groups,
                flip: false,
            };
        // Channels whose products cancel, large ones among them.
        let mut pair = |x: &[usize], w: &[usize], channels: usize| {
            let x = cancelling(&tensor(x), channels, 1);
            [x, repeating(&tensor(w), channels, 1)]
        };
        let wide = pair(&[1, 60, 8], &[8, 3, 8], 8);
        let short = pair(&[1, 60, 4], &[8, 3, 4], 4);
        let plane = pair(&[1, 33, 21, 4], &[8, 3, 3, 4], 4);
        // Taps that cancel: the values have a period of two.
        let x = repeating(&tensor(&[1, 4, 64]), 4, 64);
        let x = floats(dtype, &[1, 40, 64], &x.to_f32().unwrap().repeat(10));
        let depthwise = [x, cancelling(&tensor(&[64, 5, 1]), 5, 1)];
        for (name, inputs, op) in [
            ("conv1d", wide, convolution(1, 1, 1, 1)),
            ("conv1d, few terms", short, convolution(1, 1, 0, 1)),
            ("conv2d", plane, convolution(2, 2, 1, 1)),
            ("conv1d, depthwise", depthwise, convolution(1, 1, 0, 64)),
        ] {
            let name = format!("{name} {dtype}");
            all.push(case(&name, &inputs, |b, v| b.apply(op, v)));
        }
        let (words, scales, biases) =
            (Draw(5).words(&[12, 16]), tensor(&[12, 2]), tensor(&[12, 2]));
        let matrix = [words, scales, biases];
        let quantized = |v: &[_]| Quantized {
            words: v[0],
            scales: v[1],
            biases: v[2],
            group_size: 64,
            bits: 4,
        };
        all.push(case(&format!("dequantize {dtype}"), &matrix, |b, v| {
            b.dequantize(quantized(v))
        }));
        let [words, scales, biases] = matrix;
        let inputs = [words, scales, biases, tensor(&[9, 128])];
        all.push(case(
            &format!("quantized_matmul {dtype}"),
            &inputs,
            |b, v| b.quantized_linear(v[3], quantized(v)),
        ));
        let inputs = [tensor(&[64, 8]), tensor(&[64, 8]), tensor(&[64, 8])];
        all.push(case(&format!("rope-like {dtype}"), &inputs, |b, v| {
            let cos = b.apply(Op::Cos, &[v[2]])?;
            let sin = b.apply(Op::Sin, &[v[2]])?;
            let a = b.binary(Op::Multiply, v[0], cos)?;
            let c = b.binary(Op::Multiply, v[1], sin)?;
            b.binary(Op::Subtract, a, c)
        }));
    }
    all
}
