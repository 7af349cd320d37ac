//! Products with a weight take forms whose weight is laid out once on the host: a convolution over
//! two axes reads its input where it lies, any other product is packed in tiles of rows on both
//! sides. Every output still adds its terms in ascending order from +0.

use std::collections::HashMap;

use stages::{DType, Shape};

use crate::{
    kernel::Inst,
    program::{Elem, IndexMap, Node, Op, Prepare, Program, Source, Value, ValueInfo},
};

/// Rows of a tile of the left operand. With [`COLUMNS`], twelve of AVX2's sixteen registers
/// accumulate, and each step along the inner axis loads eight values for twelve multiplications.
const ROWS: usize = 6;

/// Rows of a tile of the weight, which are columns of the product: two registers.
const COLUMNS: usize = 16;

/// The same program with its weight products packed.
pub(super) fn pack(program: &Program) -> Program {
    let made: HashMap<Value, &Node> = program
        .nodes
        .iter()
        .map(|node| (node.output, node))
        .collect();
    let mut packed = Program {
        nodes: Vec::new(),
        ..program.clone()
    };
    let mut arguments = HashMap::new();
    for node in &program.nodes {
        match &node.op {
            Op::Dot { order, fused } if program.info(node.output).shape.rank() == 2 => {
                let Some((source, steps)) = weight(program, &made, node.inputs[1]) else {
                    packed.nodes.push(node.clone());
                    continue;
                };
                let (order, fused) = (*order, *fused);
                let weight = Weight { source, steps };
                match window(program, &made, node.inputs[0]) {
                    Some(window) => {
                        let op = Op::DirectConvolution {
                            strides: window.strides,
                            dilation: window.dilation,
                            order,
                            fused,
                        };
                        let of = (window.operand, window.kernel);
                        convolution(&mut packed, &mut arguments, node, op, of, weight);
                    }
                    None => {
                        let op = Op::PackedDot { order, fused };
                        product(&mut packed, &mut arguments, node, op, weight);
                    }
                }
            }
            Op::Reshape | Op::Transpose { .. } => match weight(program, &made, node.output) {
                Some((source, steps)) => {
                    let weight = Weight { source, steps };
                    moved(&mut packed, &mut arguments, node, weight);
                }
                None => packed.nodes.push(node.clone()),
            },
            _ => packed.nodes.push(node.clone()),
        }
    }
    packed
}

/// The argument a value is but for movement and exact widening, with that movement as
/// preparation steps.
fn weight(
    program: &Program,
    made: &HashMap<Value, &Node>,
    mut value: Value,
) -> Option<(usize, Vec<Prepare>)> {
    let mut steps = Vec::new();
    loop {
        if let Some(arg) = program.args.iter().position(|arg| arg.value == value) {
            let known = &program.args[arg];
            matches!(known.source, Source::Weight(_)).then_some(())?;
            steps.extend(known.prepare.iter().rev().cloned());
            steps.reverse();
            return Some((arg, steps));
        }
        let node = made.get(&value)?;
        match &node.op {
            Op::Reshape => steps.push(Prepare::Reshape(program.info(value).shape.clone())),
            Op::Transpose { axes } => steps.push(Prepare::Transpose(axes.clone())),
            op if is_widening(op, program.info(value)) => {}
            _ => return None,
        }
        value = node.inputs[0];
    }
}

/// A map that hands its only operand on: BF16 storage becomes F32, or nothing changes.
fn is_widening(op: &Op, info: &ValueInfo) -> bool {
    let Op::Map { kernel, maps } = op else {
        return false;
    };
    let mut insts = kernel.insts();
    insts.len() == 1
        && matches!(insts.next(), Some((Inst::Operand(0), _)))
        && info.elem == Elem::F32
        && maps[..] == [IndexMap::identity(info.shape.rank())]
}

/// A weight argument and what is done to it.
struct Weight {
    source: usize,
    steps: Vec<Prepare>,
}

/// Arguments made so far, by where they come from and how they are prepared.
type Arguments = HashMap<(usize, Vec<Prepare>), Value>;

/// The weight prepared to that shape, BF16 widened.
fn prepared(
    packed: &mut Program,
    arguments: &mut Arguments,
    weight: Weight,
    shape: &Shape,
    grid: DType,
) -> Value {
    let Weight { source, steps } = weight;
    let elem = packed.info(packed.args[source].value).elem;
    let info = |elem| ValueInfo {
        shape: shape.clone(),
        elem,
        grid,
    };
    let argument = *arguments
        .entry((source, steps.clone()))
        .or_insert_with(|| packed.arg(packed.args[source].source.clone(), steps, info(elem)));
    if elem != Elem::Bf16 {
        argument
    } else {
        packed.push(widen(shape.rank()), vec![argument], info(Elem::F32))
    }
}

/// Movement of a weight, done on the host. A value that nothing else reads goes with its argument.
fn moved(packed: &mut Program, arguments: &mut Arguments, node: &Node, weight: Weight) {
    let info = packed.info(node.output).clone();
    let value = prepared(packed, arguments, weight, &info.shape, info.grid);
    // An operation that changes nothing, whatever the storage.
    packed.nodes.push(Node {
        op: Op::Reshape,
        inputs: vec![value],
        output: node.output,
    });
}

/// Patches of a batch of images.
struct Window {
    operand: Value,
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilation: Vec<usize>,
}

/// The patches over two axes that a matrix of rows is.
fn window(program: &Program, made: &HashMap<Value, &Node>, value: Value) -> Option<Window> {
    let reshape = made.get(&value).filter(|node| node.op == Op::Reshape)?;
    let patches = made.get(&reshape.inputs[0])?;
    let Op::Patches {
        kernel,
        strides,
        dilation,
    } = &patches.op
    else {
        return None;
    };
    let rows: usize = program.info(patches.output).shape.dims()[..3]
        .iter()
        .product();
    (kernel.len() == 2 && program.info(value).shape[0] == rows).then(|| Window {
        operand: patches.inputs[0],
        kernel: kernel.clone(),
        strides: strides.clone(),
        dilation: dilation.clone(),
    })
}

fn convolution(
    packed: &mut Program,
    arguments: &mut Arguments,
    node: &Node,
    op: Op,
    (operand, kernel): (Value, Vec<usize>),
    mut weight: Weight,
) {
    let (x, grid) = (
        packed.info(operand).clone(),
        packed.info(node.inputs[1]).grid,
    );
    let result = packed.info(node.output).clone();
    let (outputs, channels) = (result.shape[1], x.shape[3]);
    let (high, wide) = (kernel[0], kernel[1]);
    let shape: Shape = [high, wide, channels, outputs].into();
    weight
        .steps
        .push(Prepare::Reshape([outputs, high * wide * channels].into()));
    weight.steps.push(Prepare::Transpose(vec![1, 0]));
    weight.steps.push(Prepare::Reshape(shape.clone()));
    let weights = prepared(packed, arguments, weight, &shape, grid);
    let Op::DirectConvolution {
        strides, dilation, ..
    } = &op
    else {
        return;
    };
    let places = |axis: usize| {
        (x.shape[axis + 1] - (kernel[axis] - 1) * dilation[axis] - 1) / strides[axis] + 1
    };
    let info = ValueInfo {
        shape: [x.shape[0], places(0), places(1), outputs].into(),
        ..result
    };
    let product = packed.push(op, vec![operand, weights], info);
    packed.nodes.push(Node {
        op: Op::Reshape,
        inputs: vec![product],
        output: node.output,
    });
}

fn product(
    packed: &mut Program,
    arguments: &mut Arguments,
    node: &Node,
    op: Op,
    mut weight: Weight,
) {
    let lhs = packed.info(node.inputs[0]).clone();
    let grid = packed.info(node.inputs[1]).grid;
    let result = packed.info(node.output).clone();
    let (m, n, k) = (result.shape[0], result.shape[1], lhs.shape[1]);
    let (rows, columns) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS));
    if n != columns * COLUMNS {
        weight.steps.push(Prepare::PadTo {
            axis: 0,
            extent: columns * COLUMNS,
        });
    }
    weight
        .steps
        .push(Prepare::Reshape([columns, COLUMNS, k].into()));
    weight.steps.push(Prepare::Transpose(vec![0, 2, 1]));
    let shape: Shape = [columns, k, COLUMNS, 1].into();
    weight.steps.push(Prepare::Reshape(shape.clone()));
    let weights = prepared(packed, arguments, weight, &shape, grid);
    let info = |dims: &[usize], grid: DType| ValueInfo {
        shape: dims.into(),
        elem: Elem::F32,
        grid,
    };
    let mut x = node.inputs[0];
    if m != rows * ROWS {
        let op = Op::Pad {
            low: vec![0, 0],
            high: vec![rows * ROWS - m, 0],
            bits: 0,
        };
        x = packed.push(op, vec![x], info(&[rows * ROWS, k], lhs.grid));
    }
    x = packed.push(Op::Reshape, vec![x], info(&[rows, ROWS, k], lhs.grid));
    let swap = Op::Transpose {
        axes: vec![0, 2, 1],
    };
    x = packed.push(swap, vec![x], info(&[rows, k, ROWS], lhs.grid));
    x = packed.push(Op::Reshape, vec![x], info(&[rows, k, ROWS, 1], lhs.grid));

    let tiles = [rows, columns, ROWS, COLUMNS];
    let mut y = packed.push(op, vec![x, weights], info(&tiles, DType::F32));
    let swap = Op::Transpose {
        axes: vec![0, 2, 1, 3],
    };
    y = packed.push(
        swap,
        vec![y],
        info(&[rows, ROWS, columns, COLUMNS], DType::F32),
    );
    let whole = [rows * ROWS, columns * COLUMNS];
    let exact = whole == [m, n];
    if exact {
        packed.nodes.push(Node {
            op: Op::Reshape,
            inputs: vec![y],
            output: node.output,
        });
    } else {
        y = packed.push(Op::Reshape, vec![y], info(&whole, DType::F32));
        let op = Op::Slice {
            start: vec![0, 0],
            stop: vec![m, n],
            strides: vec![1, 1],
        };
        packed.nodes.push(Node {
            op,
            inputs: vec![y],
            output: node.output,
        });
    }
}

fn widen(rank: usize) -> Op {
    let mut k = crate::kernel::KernelBuilder::new();
    let x = k.operand(0, crate::kernel::Scalar::F32);
    Op::Map {
        kernel: k.finish(x),
        maps: vec![IndexMap::identity(rank)],
    }
}
