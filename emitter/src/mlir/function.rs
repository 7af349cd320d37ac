//! One program as a `func.func`.

use std::{collections::BTreeSet, fmt::Write};

use stages::{DType, Shape};

use super::{Hints, body, schedule, types};
use crate::{
    kernel::{Kernel, Scalar, Table},
    program::{Combine, Elem, IndexMap, Node, Op, Program, Value, ValueInfo},
};

/// Appends the function `name` that computes `program`.
pub(super) fn print(out: &mut String, name: &str, program: &Program, hints: Hints) {
    let mut names = vec![String::new(); program.values().len()];
    let mut args = Vec::new();
    for (i, arg) in program.args().iter().enumerate() {
        names[arg.value.index()] = format!("%a{i}");
        args.push(format!("%a{i}: {}", types::value(program.info(arg.value))));
    }
    for (i, node) in program.nodes().iter().enumerate() {
        names[node.output.index()] = format!("%v{i}");
    }
    let results: Vec<_> = program
        .outputs()
        .iter()
        .map(|o| types::value(program.info(o.value)))
        .collect();
    let _ = writeln!(
        out,
        "  func.func @{name}({}) -> ({}) {{",
        args.join(", "),
        results.join(", ")
    );
    let mut printer = Printer {
        out,
        program,
        names: &names,
        hints,
    };
    printer.tables();
    for node in program.nodes() {
        printer.node(node);
    }
    let returned: Vec<_> = program
        .outputs()
        .iter()
        .map(|o| names[o.value.index()].as_str())
        .collect();
    let _ = writeln!(
        out,
        "    return {} : {}\n  }}",
        returned.join(", "),
        results.join(", ")
    );
}

struct Printer<'a> {
    out: &'a mut String,
    program: &'a Program,
    names: &'a [String],
    hints: Hints,
}

/// A `linalg.generic`: index space, maps, which axes are reduced, and the operands.
struct Generic<'a> {
    node: &'a Node,
    maps: Vec<String>,
    reduced: Vec<bool>,
    init: String,
    init_type: String,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    fn name(&self, value: Value) -> &str {
        &self.names[value.index()]
    }

    fn info(&self, value: Value) -> &ValueInfo {
        self.program.info(value)
    }

    fn type_of(&self, value: Value) -> String {
        types::value(self.info(value))
    }

    /// `(operand types) -> result type`.
    fn signature(&self, node: &Node) -> String {
        let operands: Vec<_> = node.inputs.iter().map(|&v| self.type_of(v)).collect();
        format!("({}) -> {}", operands.join(", "), self.type_of(node.output))
    }

    fn tables(&mut self) {
        let kernels = self
            .program
            .nodes()
            .iter()
            .filter_map(|node| match &node.op {
                Op::Map { kernel, .. } => Some(kernel),
                _ => None,
            });
        let tables: BTreeSet<Table> = kernels.flat_map(body::tables).collect();
        for table in tables {
            let entries: Vec<_> = table
                .bits()
                .iter()
                .map(|&bits| match table.scalar() {
                    Scalar::F64 => format!("0x{bits:016X}"),
                    _ => bits.cast_signed().to_string(),
                })
                .collect();
            let (name, ty) = (body::table(table), body::table_type(table));
            self.line(&format!(
                "{name} = arith.constant dense<[{}]> : {ty}",
                entries.join(", ")
            ));
        }
    }

    fn node(&mut self, node: &Node) {
        let out = self.name(node.output).to_owned();
        let info = self.info(node.output).clone();
        let ty = types::value(&info);
        let input = node
            .inputs
            .first()
            .map(|&v| self.name(v).to_owned())
            .unwrap_or_default();
        match &node.op {
            Op::Fill { bits } => {
                let value = types::literal(info.elem, *bits);
                self.line(&format!("{out} = arith.constant dense<{value}> : {ty}"));
            }
            Op::Map { kernel, maps } => self.map(node, kernel, maps),
            Op::Broadcast { map } => self.broadcast(node, map),
            Op::Reduce { axes, combine } => self.reduce(node, axes, *combine),
            Op::PrefixScan {
                axis,
                reverse,
                inclusive,
                round_each,
                ..
            } => {
                self.scan(node, *axis, *reverse, *inclusive, *round_each);
            }
            Op::Dot { .. } => self.dot(node),
            Op::RoundedDot { grid } => self.rounded_dot(node, *grid),
            Op::PackedRoundedDot { .. } => {
                let [lhs, rhs] = [node.inputs[0], node.inputs[1]];
                let product = super::rounded_dot::Product {
                    out: &out,
                    result: &info,
                    lhs: &self.names[lhs.index()],
                    lhs_type: self.type_of(lhs),
                    rhs: &self.names[rhs.index()],
                    rhs_type: self.type_of(rhs),
                    inner: self.info(lhs).shape[1],
                };
                super::rounded_dot::print(self.out, &product);
            }
            Op::PackedDot { .. } => {
                let init = self.fill(&out, &info.shape, info.elem, 0);
                let operands = [self.name(node.inputs[0]), self.name(node.inputs[1])].join(", ");
                let kinds = [self.type_of(node.inputs[0]), self.type_of(node.inputs[1])].join(", ");
                let schedule = match self.hints {
                    Hints::Cpu => schedule::packed_dot(&info.shape),
                    Hints::None => String::new(),
                };
                self.line(&format!(
                    "{out} = linalg.mmt4d {schedule} ins({operands} : {kinds}) outs({init} : {ty}) -> {ty}"
                ));
            }
            Op::DirectConvolution {
                strides, dilation, ..
            } => {
                // The loops of this op stand in the order of the kernel's axes, channels last.
                let init = self.fill(&out, &info.shape, info.elem, 0);
                let operands = [self.name(node.inputs[0]), self.name(node.inputs[1])].join(", ");
                let kinds = [self.type_of(node.inputs[0]), self.type_of(node.inputs[1])].join(", ");
                let (steps, within) = (types::list(strides), types::list(dilation));
                self.line(&format!(
                    "{out} = linalg.conv_2d_nhwc_hwcf {{strides = dense<{steps}> : tensor<2xi64>, dilations = dense<{within}> : tensor<2xi64>}} ins({operands} : {kinds}) outs({init} : {ty}) -> {ty}"
                ));
            }
            Op::Patches {
                kernel,
                strides,
                dilation,
            } => self.patches(node, kernel, strides, dilation),
            Op::Reshape => {
                let signature = self.signature(node);
                self.line(&format!("{out} = stablehlo.reshape {input} : {signature}"));
            }
            Op::Transpose { axes } => {
                let (axes, signature) = (types::list(axes), self.signature(node));
                self.line(&format!(
                    "{out} = stablehlo.transpose {input}, dims = {axes} : {signature}"
                ));
            }
            Op::Slice {
                start,
                stop,
                strides,
            } => {
                let ranges: Vec<_> = (0..start.len())
                    .map(|axis| format!("{}:{}:{}", start[axis], stop[axis], strides[axis]))
                    .collect();
                let signature = self.signature(node);
                self.line(&format!(
                    "{out} = stablehlo.slice {input} [{}] : {signature}",
                    ranges.join(", ")
                ));
            }
            Op::Pad { low, high, bits } => {
                let scalar = types::tensor(&Shape::scalar(), info.elem);
                let value = types::literal(info.elem, *bits);
                self.line(&format!(
                    "{out}_pad = arith.constant dense<{value}> : {scalar}"
                ));
                let operand = self.type_of(node.inputs[0]);
                self.line(&format!(
                    "{out} = stablehlo.pad {input}, {out}_pad, low = {}, high = {}, interior = {} : ({operand}, {scalar}) -> {ty}",
                    types::list(low),
                    types::list(high),
                    types::list(&vec![0; low.len()]),
                ));
            }
            Op::Concatenate { axis } => {
                let names: Vec<_> = node.inputs.iter().map(|&v| self.name(v)).collect();
                let (names, signature) = (names.join(", "), self.signature(node));
                self.line(&format!(
                    "{out} = stablehlo.concatenate {names}, dim = {axis} : {signature}"
                ));
            }
            Op::Gather { axis } => self.gather(node, *axis),
            Op::Barrier => {
                self.line(&format!(
                    "{out} = stablehlo.optimization_barrier {input} : {ty}"
                ));
            }
        }
    }

    /// An initialised accumulator; gives its name.
    fn fill(&mut self, out: &str, shape: &Shape, elem: Elem, bits: u32) -> String {
        let (ty, kind) = (types::tensor(shape, elem), types::elem(elem));
        self.line(&format!(
            "{out}_c = arith.constant {} : {kind}",
            types::literal(elem, bits)
        ));
        self.line(&format!("{out}_e = tensor.empty() : {ty}"));
        self.line(&format!(
            "{out}_f = linalg.fill ins({out}_c : {kind}) outs({out}_e : {ty}) -> {ty}"
        ));
        format!("{out}_f")
    }

    fn empty(&mut self, out: &str, ty: &str) -> String {
        self.line(&format!("{out}_e = tensor.empty() : {ty}"));
        format!("{out}_e")
    }

    fn generic(&mut self, generic: &Generic<'_>, body: &str, yields: &str) {
        let node = generic.node;
        let out = self.name(node.output).to_owned();
        let kinds: Vec<_> = generic
            .reduced
            .iter()
            .map(|&reduced| {
                if reduced {
                    "\"reduction\""
                } else {
                    "\"parallel\""
                }
            })
            .collect();
        let ins = if node.inputs.is_empty() {
            String::new()
        } else {
            let names: Vec<_> = node.inputs.iter().map(|&v| self.name(v)).collect();
            let types: Vec<_> = node.inputs.iter().map(|&v| self.type_of(v)).collect();
            format!("ins({} : {}) ", names.join(", "), types.join(", "))
        };
        let mut block: Vec<_> = node
            .inputs
            .iter()
            .enumerate()
            .map(|(i, &v)| format!("%i{i}: {}", types::elem(self.info(v).elem)))
            .collect();
        let kind = types::elem(self.info(node.output).elem);
        block.push(format!("%o: {kind}"));
        let (init, ty) = (&generic.init, &generic.init_type);
        self.line(&format!(
            "{out} = linalg.generic {{indexing_maps = [{}], iterator_types = [{}]}} {ins}outs({init} : {ty}) {{",
            generic.maps.join(", "),
            kinds.join(", "),
        ));
        self.line(&format!("^bb0({}):", block.join(", ")));
        self.out.push_str(body);
        self.line(&format!("  linalg.yield {yields} : {kind}"));
        self.line(&format!("}} -> {ty}"));
    }

    /// One element of the result after the other, read by `maps`.
    fn elementwise(&mut self, node: &Node, mut maps: Vec<String>, body: &str, yields: &str) {
        let info = self.info(node.output).clone();
        let rank = info.shape.rank();
        let ty = types::value(&info);
        let out = self.name(node.output).to_owned();
        let init = self.empty(&out, &ty);
        maps.push(types::affine_map(rank, &IndexMap::identity(rank)));
        let generic = Generic {
            node,
            maps,
            reduced: vec![false; rank],
            init,
            init_type: ty,
        };
        self.generic(&generic, body, yields);
    }

    fn map(&mut self, node: &Node, kernel: &Kernel, maps: &[IndexMap]) {
        let info = self.info(node.output);
        let (rank, elem) = (info.shape.rank(), info.elem);
        let operands: Vec<Elem> = node.inputs.iter().map(|&v| self.info(v).elem).collect();
        let mut text = String::new();
        let yields = body::print(&mut text, kernel, &operands, elem);
        let maps = maps
            .iter()
            .map(|map| types::affine_map(rank, map))
            .collect();
        self.elementwise(node, maps, &text, &yields);
    }

    fn broadcast(&mut self, node: &Node, map: &IndexMap) {
        let rank = self.info(node.output).shape.rank();
        self.elementwise(node, vec![types::affine_map(rank, map)], "", "%i0");
    }

    fn patches(&mut self, node: &Node, kernel: &[usize], strides: &[usize], dilation: &[usize]) {
        let (rank, spatial) = (self.info(node.output).shape.rank(), kernel.len());
        let mut read = vec!["d0".to_owned()];
        for axis in 0..spatial {
            let (place, tap) = (axis + 1, axis + 1 + spatial);
            read.push(format!(
                "d{place} * {} + d{tap} * {}",
                strides[axis], dilation[axis]
            ));
        }
        read.push(format!("d{}", rank - 1));
        let map = format!("affine_map<{}->({})>", types::dims(rank), read.join(","));
        self.elementwise(node, vec![map], "", "%i0");
    }

    fn reduce(&mut self, node: &Node, axes: &[usize], combine: Combine) {
        let operand = self.info(node.inputs[0]).shape.clone();
        let info = self.info(node.output).clone();
        let rank = operand.rank();
        let kept: Vec<_> = (0..rank)
            .filter(|axis| !axes.contains(axis))
            .map(Some)
            .collect();
        let out = self.name(node.output).to_owned();
        let mut text = String::new();
        let (start, yields) = match combine {
            Combine::Sum { .. } if info.elem == Elem::I32 => {
                text.push_str("      %s = arith.addi %o, %i0 : i32\n");
                (0.0f32, "%s".to_owned())
            }
            Combine::Sum { round_each, .. } => {
                text.push_str("      %s = arith.addf %o, %i0 : f32\n");
                (0.0, rounded(&mut text, "%s", "q_", round_each))
            }
            Combine::Max => (f32::NEG_INFINITY, extremum(&mut text, "oge")),
            Combine::Min => (f32::INFINITY, extremum(&mut text, "ole")),
        };
        let init = self.fill(&out, &info.shape, info.elem, start.to_bits());
        let generic = Generic {
            node,
            maps: vec![
                types::affine_map(rank, &IndexMap::identity(rank)),
                types::affine_map(rank, &IndexMap(kept)),
            ],
            reduced: (0..rank).map(|axis| axes.contains(&axis)).collect(),
            init,
            init_type: types::value(&info),
        };
        self.generic(&generic, &text, &yields);
    }

    /// Every element sums its own prefix: quadratic in the axis, exact in order, parallel over
    /// everything else. From −0, because `−0 + x` is `x` for every x, zeros included.
    fn scan(
        &mut self,
        node: &Node,
        axis: usize,
        reverse: bool,
        inclusive: bool,
        round_each: Option<DType>,
    ) {
        let info = self.info(node.output).clone();
        let rank = info.shape.rank();
        let ty = types::value(&info);
        let out = self.name(node.output).to_owned();
        let input = self.name(node.inputs[0]).to_owned();
        let mut names = self.names.to_vec();
        if reverse {
            self.line(&format!(
                "{out}_in = stablehlo.reverse {input}, dims = [{axis}] : {ty}"
            ));
            names[node.inputs[0].index()] = format!("{out}_in");
            names[node.output.index()] = format!("{out}_scan");
        }
        let mut text = String::new();
        let _ = writeln!(text, "      %t = linalg.index {axis} : index");
        let _ = writeln!(text, "      %j = linalg.index {rank} : index");
        let within = if inclusive { "ule" } else { "ult" };
        let _ = writeln!(text, "      %within = arith.cmpi {within}, %j, %t : index");
        text.push_str("      %s = arith.addf %o, %i0 : f32\n");
        let sum = rounded(&mut text, "%s", "q_", round_each);
        let _ = writeln!(text, "      %kept = arith.select %within, {sum}, %o : f32");
        let start = if inclusive { -0.0f32 } else { 0.0 };
        let operand: Vec<_> = (0..rank)
            .map(|a| Some(if a == axis { rank } else { a }))
            .collect();
        let mut printer = Printer {
            out: self.out,
            program: self.program,
            names: &names,
            hints: self.hints,
        };
        let init = printer.fill(&out, &info.shape, info.elem, start.to_bits());
        let mut reduced = vec![false; rank];
        reduced.push(true);
        let generic = Generic {
            node,
            maps: vec![
                types::affine_map(rank + 1, &IndexMap(operand)),
                types::affine_map(rank + 1, &IndexMap::identity(rank)),
            ],
            reduced,
            init,
            init_type: ty.clone(),
        };
        printer.generic(&generic, &text, "%kept");
        if reverse {
            self.line(&format!(
                "{out} = stablehlo.reverse {out}_scan, dims = [{axis}] : {ty}"
            ));
        }
    }

    fn dot(&mut self, node: &Node) {
        let out = self.name(node.output).to_owned();
        let rank = self.info(node.output).shape.rank();
        let batch: Vec<usize> = (0..rank - 2).collect();
        let batching = if batch.is_empty() {
            String::new()
        } else {
            format!("batching_dims = {0} x {0}, ", types::list(&batch))
        };
        let (a, b) = (self.name(node.inputs[0]), self.name(node.inputs[1]));
        let k = rank - 1;
        let text = format!(
            "{out} = stablehlo.dot_general {a}, {b}, {batching}contracting_dims = [{k}] x [{k}] : {}",
            self.signature(node)
        );
        self.line(&text);
    }

    /// One reduction, in whose body nothing is a contraction: the terms are not written out.
    fn rounded_dot(&mut self, node: &Node, grid: DType) {
        let info = self.info(node.output).clone();
        let rank = info.shape.rank();
        let out = self.name(node.output).to_owned();
        let mut text = String::new();
        text.push_str("      %p = arith.mulf %i0, %i1 to_nearest_even : f32\n");
        let product = rounded(&mut text, "%p", "p_", Some(grid));
        let _ = writeln!(text, "      %s = arith.addf %o, {product} : f32");
        let sum = rounded(&mut text, "%s", "q_", Some(grid));
        let read = |rows: usize| {
            let batch = (0..rank - 2).map(Some);
            IndexMap(batch.chain([Some(rows), Some(rank)]).collect())
        };
        let init = self.fill(&out, &info.shape, info.elem, 0);
        let mut reduced = vec![false; rank];
        reduced.push(true);
        let generic = Generic {
            node,
            maps: vec![
                types::affine_map(rank + 1, &read(rank - 2)),
                types::affine_map(rank + 1, &read(rank - 1)),
                types::affine_map(rank + 1, &IndexMap::identity(rank)),
            ],
            reduced,
            init,
            init_type: types::value(&info),
        };
        self.generic(&generic, &text, &sum);
    }

    fn gather(&mut self, node: &Node, axis: usize) {
        let info = self.info(node.output).clone();
        let rank = info.shape.rank();
        let ty = types::value(&info);
        let x = self.name(node.inputs[0]).to_owned();
        let (x_type, extent) = (
            self.type_of(node.inputs[0]),
            self.info(node.inputs[0]).shape[axis],
        );
        let out = self.name(node.output).to_owned();
        let init = self.empty(&out, &ty);
        let mut text = String::new();
        let _ = writeln!(text, "      %zero = arith.constant 0 : i32");
        let _ = writeln!(
            text,
            "      %last = arith.constant {} : i32",
            extent.saturating_sub(1)
        );
        let _ = writeln!(text, "      %low = arith.maxsi %i0, %zero : i32");
        let _ = writeln!(text, "      %in = arith.minsi %low, %last : i32");
        let _ = writeln!(text, "      %at = arith.index_cast %in : i32 to index");
        let mut indices = Vec::new();
        for a in 0..rank {
            if a == axis {
                indices.push("%at".to_owned());
            } else {
                let _ = writeln!(text, "      %d{a} = linalg.index {a} : index");
                indices.push(format!("%d{a}"));
            }
        }
        let _ = writeln!(
            text,
            "      %x = tensor.extract {x}[{}] : {x_type}",
            indices.join(", ")
        );
        let identity = types::affine_map(rank, &IndexMap::identity(rank));
        let indexed = Node {
            op: node.op.clone(),
            inputs: vec![node.inputs[1]],
            output: node.output,
        };
        let generic = Generic {
            node: &indexed,
            maps: vec![identity.clone(), identity],
            reduced: vec![false; rank],
            init,
            init_type: ty,
        };
        self.generic(&generic, &text, "%x");
    }
}

/// `value` on a grid; `prefix` begins the names in between.
fn rounded(text: &mut String, value: &str, prefix: &str, grid: Option<DType>) -> String {
    match grid {
        Some(DType::BF16) => body::round_bf16(text, value, prefix),
        _ => value.to_owned(),
    }
}

/// `isnan(o) ? o : isnan(i) ? i : (o <no worse than> i ? o : i)`: of two zeros the first stays.
fn extremum(text: &mut String, no_worse: &str) -> String {
    let _ = writeln!(text, "      %b = arith.cmpf {no_worse}, %o, %i0 : f32");
    let _ = writeln!(text, "      %on = arith.cmpf uno, %o, %o : f32");
    let _ = writeln!(text, "      %keep = arith.ori %b, %on : i1");
    let _ = writeln!(text, "      %m = arith.select %keep, %o, %i0 : f32");
    "%m".to_owned()
}
