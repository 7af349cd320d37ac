//! Random chains.

use std::{collections::BTreeMap, fmt::Write};

use half::bf16;
use stages::{
    DType, Graph, Shape, Tensor,
    graph::{Builder, Op, ReduceKind, ValueId},
};

/// A graph of one chain, every step a boundary.
pub struct Chain {
    pub graph: Graph,
    pub inputs: BTreeMap<String, Tensor>,
    /// What it does, for messages.
    pub text: String,
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn permutation(&mut self, rank: usize) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            axes.swap(i, self.below(i + 1));
        }
        axes
    }

    /// Some of the axes, ascending, at least one.
    fn axes(&mut self, rank: usize) -> Vec<usize> {
        let always = self.below(rank);
        (0..rank)
            .filter(|&axis| axis == always || self.chance(2))
            .collect()
    }
}

struct Growing {
    random: Random,
    builder: Builder,
    inputs: BTreeMap<String, Tensor>,
    dtype: DType,
    steps: usize,
    text: String,
}

/// The chain of a seed.
pub fn random(seed: u64) -> Chain {
    let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
    let dtype = if random.chance(2) {
        DType::F32
    } else {
        DType::BF16
    };
    let mut growing = Growing {
        random,
        builder: Builder::new(),
        inputs: BTreeMap::new(),
        dtype,
        steps: 0,
        text: format!("seed {seed} {dtype}"),
    };
    let rank = 1 + growing.random.below(4);
    let extents = [1, 2, 3, 4, 6];
    let shape: Vec<usize> = (0..rank)
        .map(|_| extents[growing.random.below(5)])
        .collect();
    let mut value = growing.input(&shape);
    for _ in 0..1 + growing.random.below(4) {
        value = growing.step(value);
    }
    growing.last(value);
    Chain {
        graph: growing.builder.finish(),
        inputs: growing.inputs,
        text: growing.text,
    }
}

impl Growing {
    fn input(&mut self, shape: &[usize]) -> ValueId {
        let name = format!("x{}", self.inputs.len());
        let len = shape.iter().product();
        let values: Vec<f32> = (0..len)
            .map(|_| {
                let bits = self.random.bits();
                let mantissa = 1.0 + (bits & 0x7F_FFFF) as f32 / 8_388_608.0;
                let exponent = (bits >> 32) as i32 % 9 - 4;
                let sign = if bits >> 63 == 0 { 1.0 } else { -1.0 };
                sign * mantissa * (exponent as f32).exp2()
            })
            .collect();
        let tensor = match self.dtype {
            DType::F32 => Tensor::from_f32(shape, &values),
            _ => {
                let values: Vec<bf16> = values.into_iter().map(bf16::from_f32).collect();
                Tensor::from_bf16(shape, &values)
            }
        };
        self.inputs.insert(name.clone(), tensor.unwrap());
        let _ = write!(self.text, "\n  {name}: {shape:?}");
        self.builder.input(&name, shape, self.dtype)
    }

    fn dims(&self, value: ValueId) -> Vec<usize> {
        self.builder.shape(value).dims().to_vec()
    }

    fn apply(&mut self, op: Op, operands: &[ValueId]) -> ValueId {
        let value = self.builder.apply(op.clone(), operands).unwrap();
        let name = format!("{}.{}", self.steps, op.name());
        self.steps += 1;
        let _ = write!(
            self.text,
            "\n  {name}: {op:?} -> {}",
            self.builder.shape(value)
        );
        self.builder.boundary(name, value, "").unwrap()
    }

    /// One step that gives the chain's dtype.
    fn step(&mut self, x: ValueId) -> ValueId {
        let dims = self.dims(x);
        let rank = dims.len();
        match self.random.below(14) {
            0..=2 => {
                let axes = self.random.permutation(rank);
                self.apply(Op::Transpose { axes }, &[x])
            }
            3..=4 => {
                let shape = self.other_shape(dims.iter().product());
                self.apply(Op::Reshape { shape }, &[x])
            }
            5 if rank > 1 => {
                let start = self.random.below(rank - 1);
                let end = start + 1 + self.random.below(rank - start - 1);
                self.apply(Op::Flatten { start, end }, &[x])
            }
            5 | 6 if rank < 4 => {
                let axis = self.random.below(rank);
                let shape = self.other_shape(dims[axis]);
                if shape.rank() + rank - 1 > 5 {
                    return x;
                }
                self.apply(Op::Unflatten { axis, shape }, &[x])
            }
            7 => {
                let units: Vec<usize> = (0..rank).filter(|&axis| dims[axis] == 1).collect();
                if rank < 5 && (units.is_empty() || self.random.chance(2)) {
                    let axis = self.random.below(rank + 1);
                    let wide = self.apply(Op::ExpandDims { axes: vec![axis] }, &[x]);
                    if self.random.chance(2) {
                        return wide;
                    }
                    let mut dims = self.dims(wide);
                    dims[axis] = 2 + self.random.below(2);
                    return self.apply(Op::Broadcast { shape: dims.into() }, &[wide]);
                }
                if units.is_empty() || rank == 1 {
                    return x;
                }
                let axis = units[self.random.below(units.len())];
                self.apply(Op::Squeeze { axes: vec![axis] }, &[x])
            }
            8 => {
                let (mut start, mut stop) = (vec![0; rank], dims.clone());
                let mut strides = vec![1; rank];
                let axis = self.random.below(rank);
                start[axis] = self.random.below(dims[axis]);
                stop[axis] = start[axis] + 1 + self.random.below(dims[axis] - start[axis]);
                strides[axis] = 1 + self.random.below(2);
                self.apply(
                    Op::Slice {
                        start,
                        stop,
                        strides,
                    },
                    &[x],
                )
            }
            9 => {
                let op = [Op::Square, Op::Tanh, Op::Negative][self.random.below(3)].clone();
                self.apply(op, &[x])
            }
            10 => {
                let other = self.partner(x);
                let op = [Op::Add, Op::Multiply, Op::Maximum][self.random.below(3)].clone();
                let operands = if self.random.chance(2) {
                    [x, other]
                } else {
                    [other, x]
                };
                self.apply(op, &operands)
            }
            11 => {
                let (then, other) = (self.partner(x), self.partner(x));
                let condition = self.apply(Op::GreaterEqual, &[x, other]);
                self.apply(Op::Select, &[condition, then, x])
            }
            12 => {
                let precise = self.random.chance(2);
                self.apply(Op::Softmax { precise }, &[x])
            }
            13 => {
                let axis = self.random.below(rank);
                let (reverse, inclusive) = (self.random.chance(2), self.random.chance(2));
                self.apply(
                    Op::Scan {
                        axis,
                        reverse,
                        inclusive,
                    },
                    &[x],
                )
            }
            _ => x,
        }
    }

    /// A value of the same shape: itself, an input, a constant, or a view of either kind.
    fn partner(&mut self, x: ValueId) -> ValueId {
        let dims = self.dims(x);
        let rank = dims.len();
        match self.random.below(5) {
            0 => x,
            1 => self.input(&dims),
            2 => {
                let scalar = self.builder.scalar(1.5, self.dtype);
                self.builder.broadcast_to(scalar, &dims.into()).unwrap()
            }
            3 => {
                let axes = self.random.permutation(rank);
                let mut source = vec![0; rank];
                for (axis, &from) in axes.iter().enumerate() {
                    source[from] = dims[axis];
                }
                let input = self.input(&source);
                self.apply(Op::Transpose { axes }, &[input])
            }
            _ => {
                let axis = self.random.below(rank);
                let mut row = dims.clone();
                row[axis] = 1;
                let input = self.input(&row);
                self.builder.broadcast_to(input, &dims.into()).unwrap()
            }
        }
    }

    /// A random shape of that many elements.
    fn other_shape(&mut self, mut elements: usize) -> Shape {
        let mut shape = Vec::new();
        while shape.len() < 3 && elements > 1 {
            let divisors: Vec<usize> = (1..=elements)
                .filter(|n| elements.is_multiple_of(*n))
                .collect();
            let extent = divisors[self.random.below(divisors.len())];
            shape.push(extent);
            elements /= extent;
        }
        if elements > 1 || shape.is_empty() || self.random.chance(4) {
            shape.push(elements);
        }
        shape.into()
    }

    /// A primitive whose arithmetic depends on where its operand lies.
    fn last(&mut self, x: ValueId) {
        let dims = self.dims(x);
        let rank = dims.len();
        if rank >= 2 && self.random.chance(3) {
            let (k, n) = (dims[rank - 2], dims[rank - 1]);
            let m = 1 + self.random.below(4);
            let (mut a, mut c) = (dims.clone(), dims.clone());
            (a[rank - 2], a[rank - 1]) = (m, k);
            (c[rank - 2], c[rank - 1]) = (m, n);
            let a = self.input(&a);
            if self.random.chance(3) {
                self.apply(Op::Matmul, &[a, x]);
                return;
            }
            let c = self.input(&c);
            self.apply(
                Op::AddMM {
                    alpha: 1.0,
                    beta: 1.0,
                },
                &[c, a, x],
            );
            return;
        }
        let axes = self.random.axes(rank);
        let kind = [
            ReduceKind::Sum,
            ReduceKind::Sum,
            ReduceKind::Sum,
            ReduceKind::Max,
        ][self.random.below(4)];
        self.apply(Op::Reduce { kind, axes }, &[x]);
    }
}
