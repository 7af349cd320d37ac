//! Which extents must stay equal, and which cannot change at all.

use std::collections::BTreeMap;

use super::{Axis, Class, Graph, Op};
use crate::{Shape, graph::Node};

/// Axes of a graph's values, joined where they must stay equal.
pub(super) struct Classes {
    /// Where the axes of each value begin.
    starts: Vec<usize>,
    parent: Vec<usize>,
    fixed: Vec<bool>,
}

impl Classes {
    pub fn of(graph: &Graph) -> Classes {
        let mut starts = Vec::new();
        let mut count = 0;
        for (_, node) in graph.nodes() {
            starts.push(count);
            count += node.info.shape.rank();
        }
        let mut classes = Classes {
            starts,
            parent: (0..count).collect(),
            fixed: vec![false; count],
        };
        for (value, node) in graph.nodes() {
            let shapes: Vec<&Shape> = node.inputs.iter().map(|&x| &graph.info(x).shape).collect();
            let at = |place: Place| {
                let Place(of, axis) = place;
                let value = match of {
                    Some(operand) => node.inputs[operand],
                    None => value,
                };
                classes.starts[value.index()] + axis
            };
            let rules = rules(node, &shapes);
            let joined: Vec<_> = rules
                .joined
                .into_iter()
                .map(|(a, b)| (at(a), at(b)))
                .collect();
            let fixed: Vec<_> = rules.fixed.into_iter().map(at).collect();
            joined.into_iter().for_each(|(a, b)| classes.join(a, b));
            fixed.into_iter().for_each(|a| {
                let root = classes.root(a);
                classes.fixed[root] = true;
            });
        }
        classes
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent[b] = a;
            self.fixed[a] |= self.fixed[b];
        }
    }

    /// The classes of 2 or more that nothing fixes, the longest first.
    pub fn free(mut self, graph: &Graph) -> Vec<Class> {
        let mut classes: BTreeMap<usize, Class> = BTreeMap::new();
        for (value, node) in graph.nodes() {
            for axis in 0..node.info.shape.rank() {
                let root = self.root(self.starts[value.index()] + axis);
                let extent = node.info.shape[axis];
                if self.fixed[root] || extent < 2 {
                    continue;
                }
                let class = classes.entry(root).or_insert(Class {
                    extent,
                    axes: Vec::new(),
                });
                class.axes.push(Axis { value, axis });
            }
        }
        let mut classes: Vec<Class> = classes.into_values().collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.extent));
        classes
    }
}

/// An axis of an operand, or of the result.
#[derive(Clone, Copy)]
struct Place(Option<usize>, usize);

#[derive(Default)]
struct Rules {
    joined: Vec<(Place, Place)>,
    fixed: Vec<Place>,
}

impl Rules {
    fn join(&mut self, operand: usize, own: usize, result: usize) {
        self.joined
            .push((Place(Some(operand), own), Place(None, result)));
    }

    fn fix(&mut self, operand: usize, own: usize, result: usize) {
        self.fixed.push(Place(Some(operand), own));
        self.fixed.push(Place(None, result));
    }
}

/// What one primitive demands of its operands' extents and its own.
fn rules(node: &Node, shapes: &[&Shape]) -> Rules {
    let mut rules = Rules::default();
    let out = &node.info.shape;
    let rank = out.rank();
    let of = |operand: usize| shapes[operand].rank();
    match &node.op {
        Op::Input { .. } | Op::Weight { .. } | Op::Constant { .. } | Op::Arange { .. } => {}
        Op::Full { .. } => {}
        Op::Reduce { axes, .. } => {
            (0..rank)
                .filter(|axis| !axes.contains(axis))
                .for_each(|axis| rules.join(0, axis, axis));
        }
        Op::Matmul => product(&mut rules, 0, 1, rank),
        Op::AddMM { .. } => {
            (0..rank).for_each(|axis| rules.join(0, axis, axis));
            product(&mut rules, 1, 2, rank);
        }
        Op::QuantizedMatmul { transpose, .. } => {
            (0..rank - 1).for_each(|axis| rules.join(0, axis, axis));
            let (n, k) = if *transpose { (0, 1) } else { (1, 0) };
            // Elements share words and groups along the matrix's second axis.
            rules.fixed.push(Place(Some(0), of(0) - 1));
            for part in 1..4 {
                if n == 0 {
                    rules.join(part, n, rank - 1);
                    rules.fixed.push(Place(Some(part), k));
                } else {
                    rules
                        .fixed
                        .extend([Place(Some(part), 0), Place(Some(part), 1)]);
                    rules.fixed.push(Place(None, rank - 1));
                }
            }
        }
        Op::Convolution { groups, .. } => {
            rules.join(0, 0, 0);
            for axis in 1..rank - 1 {
                rules.fix(0, axis, axis);
                rules.fixed.push(Place(Some(1), axis));
            }
            rules.join(1, 0, rank - 1);
            let channels = (Place(Some(0), rank - 1), Place(Some(1), rank - 1));
            rules.joined.push(channels);
            if *groups != 1 {
                rules.fixed.extend([channels.0, Place(None, rank - 1)]);
            }
        }
        Op::Broadcast { .. } => {
            let lead = rank - of(0);
            (0..of(0))
                .filter(|&axis| shapes[0][axis] == out[lead + axis])
                .for_each(|axis| rules.join(0, axis, lead + axis));
        }
        Op::ExpandDims { axes } => {
            let kept = (0..rank).filter(|axis| !axes.contains(axis));
            kept.enumerate()
                .for_each(|(own, axis)| rules.join(0, own, axis));
        }
        Op::Squeeze { axes } => {
            let kept = (0..of(0)).filter(|axis| !axes.contains(axis));
            kept.enumerate()
                .for_each(|(axis, own)| rules.join(0, own, axis));
        }
        Op::Transpose { axes } => {
            axes.iter()
                .enumerate()
                .for_each(|(axis, &own)| rules.join(0, own, axis));
        }
        Op::Reshape { .. } | Op::Flatten { .. } | Op::Unflatten { .. } => {
            reshape(&mut rules, shapes[0], out);
        }
        Op::Slice {
            start,
            stop,
            strides,
        } => {
            for axis in 0..rank {
                let whole = start[axis] == 0 && stop[axis] == shapes[0][axis] && strides[axis] == 1;
                if whole {
                    rules.join(0, axis, axis);
                } else {
                    rules.fix(0, axis, axis);
                }
            }
        }
        Op::Pad { axes, .. } => {
            for axis in 0..rank {
                if axes.contains(&axis) {
                    rules.fix(0, axis, axis);
                } else {
                    rules.join(0, axis, axis);
                }
            }
        }
        Op::Concatenate { axis: along }
        | Op::Split { axis: along, .. }
        | Op::GatherAxis { axis: along } => {
            for operand in 0..shapes.len() {
                for axis in 0..rank {
                    if axis == *along {
                        rules.fix(operand, axis, axis);
                    } else {
                        rules.join(operand, axis, axis);
                    }
                }
            }
        }
        // Elementwise, and those along an axis that keep it.
        _ => {
            for operand in 0..shapes.len() {
                (0..rank).for_each(|axis| rules.join(operand, axis, axis));
            }
        }
    }
    rules
}

fn product(rules: &mut Rules, a: usize, b: usize, rank: usize) {
    for axis in 0..rank - 2 {
        rules.join(a, axis, axis);
        rules.join(b, axis, axis);
    }
    rules.join(a, rank - 2, rank - 2);
    rules.join(b, rank - 1, rank - 1);
    let inner = (Place(Some(a), rank - 1), Place(Some(b), rank - 2));
    rules.joined.push(inner);
}

/// Axes that a reshape leaves alone are joined, those it splits or merges are fixed.
fn reshape(rules: &mut Rules, from: &Shape, to: &Shape) {
    let (mut i, mut j) = (0, 0);
    while i < from.rank() || j < to.rank() {
        let (first_i, first_j) = (i, j);
        let (mut a, mut b) = (1, 1);
        loop {
            if i < from.rank() && (a <= b || j == to.rank()) {
                a *= from[i];
                i += 1;
            } else if j < to.rank() {
                b *= to[j];
                j += 1;
            } else {
                break;
            }
            if a == b && i > first_i && j > first_j {
                break;
            }
        }
        let long = |shape: &Shape, range: std::ops::Range<usize>| {
            range.filter(|&axis| shape[axis] != 1).collect::<Vec<_>>()
        };
        match (&long(from, first_i..i)[..], &long(to, first_j..j)[..]) {
            ([own], [axis]) => rules.join(0, *own, *axis),
            (owns, axes) => {
                rules
                    .fixed
                    .extend(owns.iter().map(|&own| Place(Some(0), own)));
                rules
                    .fixed
                    .extend(axes.iter().map(|&axis| Place(None, axis)));
            }
        }
    }
}
