//! Products whose partial sums are rounded take tiles of columns, as many as a sum is a vector of.

use crate::program::{Node, Op, Program, ValueInfo};

/// Columns of a tile: two of AVX2's registers, so that one sum need not wait for the other. Each
/// column is a result of its own, of which a dispatch has at most 32.
const LANES: usize = 16;

/// The same program with its rounded products of two matrices in tiles.
pub(super) fn tile(program: &Program) -> Program {
    let mut tiled = Program {
        nodes: Vec::new(),
        ..program.clone()
    };
    for node in &program.nodes {
        match node.op {
            Op::RoundedDot { grid } if program.info(node.output).shape.rank() == 2 => {
                let op = Op::PackedRoundedDot { grid };
                product(&mut tiled, node, op);
            }
            _ => tiled.nodes.push(node.clone()),
        }
    }
    tiled
}

fn product(tiled: &mut Program, node: &Node, op: Op) {
    let result = tiled.info(node.output).clone();
    let weight = tiled.info(node.inputs[1]).clone();
    let ([m, n], k) = ([result.shape[0], result.shape[1]], weight.shape[1]);
    let tiles = n.div_ceil(LANES);
    let like = |info: &ValueInfo, dims: &[usize]| ValueInfo {
        shape: dims.into(),
        ..info.clone()
    };
    let mut w = node.inputs[1];
    let wide = tiles * LANES;
    if n != wide {
        let pad = Op::Pad {
            low: vec![0, 0],
            high: vec![wide - n, 0],
            bits: 0,
        };
        w = tiled.push(pad, vec![w], like(&weight, &[wide, k]));
    }
    w = tiled.push(Op::Reshape, vec![w], like(&weight, &[tiles, LANES, k]));
    let turn = Op::Transpose {
        axes: vec![0, 2, 1],
    };
    w = tiled.push(turn, vec![w], like(&weight, &[tiles, k, LANES]));
    let dims = [m, tiles, LANES];
    let y = tiled.push(op, vec![node.inputs[0], w], like(&result, &dims));
    let (last, y) = if n == wide {
        (Op::Reshape, y)
    } else {
        let slice = Op::Slice {
            start: vec![0, 0],
            stop: vec![m, n],
            strides: vec![1, 1],
        };
        let y = tiled.push(Op::Reshape, vec![y], like(&result, &[m, wide]));
        (slice, y)
    };
    tiled.nodes.push(Node {
        op: last,
        inputs: vec![y],
        output: node.output,
    });
}
