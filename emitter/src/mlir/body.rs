//! Scalar kernels as the body of a `linalg.generic`.

use std::fmt::Write;

use super::types;
use crate::{
    kernel::{
        Binary, Inst, IntBinary, Kernel, NativeFn, Predicate, Reg, RoundTo, Scalar, Table, Unary,
    },
    program::Elem,
};

/// Writes the lines of a kernel's body into `out` and gives the name of what it yields, in the
/// storage type of the result. Operand `i` is `%i{i}`; tables are `%table_{…}`.
pub(super) fn print(out: &mut String, kernel: &Kernel, operands: &[Elem], result: Elem) -> String {
    let mut body = Body {
        out,
        kernel,
        operands,
        branches: branches(kernel),
        names: vec![String::new(); kernel.insts().len()],
        fresh: 0,
    };
    body.region(None);
    let name = body.names[kernel.result().index()].clone();
    match result {
        Elem::Bool => body.line(&format!("arith.extui {name} : i1 to i8")),
        _ => name,
    }
}

/// For every instruction the [`Inst::Rarely`] in whose branch it is computed, if it is read for
/// that branch alone.
fn branches(kernel: &Kernel) -> Vec<Option<usize>> {
    let insts: Vec<&Inst> = kernel.insts().map(|(inst, _)| inst).collect();
    let mut branch = vec![None; insts.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); insts.len()];
    for (at, inst) in insts.iter().enumerate() {
        for reg in inst.reads() {
            readers[reg.index()].push(at);
        }
    }
    let result = kernel.result().index();
    for (rarely, inst) in insts.iter().enumerate() {
        let Inst::Rarely(condition, rare, usual) = **inst else {
            continue;
        };
        for at in (0..rarely).rev().filter(|&at| at != result) {
            let inside = |&reader: &usize| {
                branch[reader] == Some(rarely) || (reader == rarely && at == rare.index())
            };
            let outside = at == condition.index() || at == usual.index();
            if !outside && !readers[at].is_empty() && readers[at].iter().all(inside) {
                branch[at] = Some(rarely);
            }
        }
    }
    branch
}

/// The name of a table's constant.
pub(super) fn table(table: Table) -> &'static str {
    match table {
        Table::PowReciprocal => "%table_pow_reciprocal",
        Table::PowLogarithm => "%table_pow_logarithm",
        Table::Exp2 => "%table_exp2",
        Table::LogReciprocal => "%table_log_reciprocal",
        Table::LogLogarithm => "%table_log_logarithm",
        Table::FourOverPi => "%table_four_over_pi",
    }
}

/// The tables a kernel looks values up in.
pub(super) fn tables(kernel: &Kernel) -> impl Iterator<Item = Table> {
    kernel.insts().filter_map(|(inst, _)| match inst {
        Inst::Lookup(table, _) => Some(*table),
        _ => None,
    })
}

/// Rounds the F32 named `x` onto the BF16 grid by integer arithmetic: a conversion to `bf16` and
/// back would be dropped by the compiler. Gives the name of the result.
pub(super) fn round_bf16(out: &mut String, x: &str, prefix: &str) -> String {
    let lines = [
        ("u", format!("arith.bitcast {x} : f32 to i32")),
        ("c16", "arith.constant 16 : i32".to_owned()),
        ("c1", "arith.constant 1 : i32".to_owned()),
        ("half", "arith.constant 32767 : i32".to_owned()),
        ("mask", "arith.constant -65536 : i32".to_owned()),
        ("quiet", "arith.constant 2143289344 : i32".to_owned()),
        ("top", format!("arith.shrui %{prefix}u, %{prefix}c16 : i32")),
        ("odd", format!("arith.andi %{prefix}top, %{prefix}c1 : i32")),
        ("up", format!("arith.addi %{prefix}u, %{prefix}half : i32")),
        ("tie", format!("arith.addi %{prefix}up, %{prefix}odd : i32")),
        (
            "cut",
            format!("arith.andi %{prefix}tie, %{prefix}mask : i32"),
        ),
        ("nan", format!("arith.cmpf uno, {x}, {x} : f32")),
        (
            "bits",
            format!("arith.select %{prefix}nan, %{prefix}quiet, %{prefix}cut : i32"),
        ),
        ("r", format!("arith.bitcast %{prefix}bits : i32 to f32")),
    ];
    for (name, rhs) in lines {
        let _ = writeln!(out, "      %{prefix}{name} = {rhs}");
    }
    format!("%{prefix}r")
}

struct Body<'a> {
    out: &'a mut String,
    kernel: &'a Kernel,
    operands: &'a [Elem],
    branches: Vec<Option<usize>>,
    /// The names of the registers so far.
    names: Vec<String>,
    fresh: usize,
}

impl Body<'_> {
    /// Writes a line under a fresh name and gives the name.
    fn line(&mut self, rhs: &str) -> String {
        let name = format!("%r{}", self.fresh);
        self.fresh += 1;
        let _ = writeln!(self.out, "      {name} = {rhs}");
        name
    }

    fn name(&self, reg: Reg) -> &str {
        &self.names[reg.index()]
    }

    fn type_of(&self, reg: Reg) -> &'static str {
        types::scalar(self.kernel.type_of(reg))
    }

    /// Writes the instructions of a branch or, for `None`, those of no branch.
    fn region(&mut self, branch: Option<usize>) {
        let kernel = self.kernel;
        for (at, (inst, scalar)) in kernel.insts().enumerate() {
            if self.branches[at] == branch {
                self.names[at] = self.inst(at, inst, scalar);
            }
        }
    }

    /// Writes an instruction and gives the name of its result.
    fn inst(&mut self, at: usize, inst: &Inst, scalar: Scalar) -> String {
        let ty = types::scalar(scalar);
        let rhs = match *inst {
            Inst::Operand(i) => return self.operand(i, self.operands[i]),
            Inst::Index(axis) => {
                let index = self.line(&format!("linalg.index {axis} : index"));
                format!("arith.index_cast {index} : index to i32")
            }
            Inst::ConstF32(bits) => format!("arith.constant 0x{bits:08X} : f32"),
            Inst::ConstF64(bits) => format!("arith.constant 0x{bits:016X} : f64"),
            Inst::ConstI32(value) => format!("arith.constant {value} : i32"),
            Inst::ConstI64(value) => format!("arith.constant {value} : i64"),
            Inst::Unary(op, a) => {
                let op = match op {
                    Unary::Neg => "arith.negf",
                    Unary::Abs => "math.absf",
                    Unary::Sqrt => "math.sqrt",
                    Unary::Floor => "math.floor",
                };
                format!("{op} {} : {ty}", self.name(a))
            }
            Inst::Binary(op, a, b) => {
                // The explicit rounding mode keeps a product out of FMA contraction, which the
                // compiler otherwise allows everywhere.
                let (op, mode) = match op {
                    Binary::Add => ("addf", ""),
                    Binary::Sub => ("subf", ""),
                    Binary::Mul => ("mulf", " to_nearest_even"),
                    Binary::MulAny => ("mulf", ""),
                    Binary::Div => ("divf", ""),
                };
                format!("arith.{op} {}, {}{mode} : {ty}", self.name(a), self.name(b))
            }
            Inst::Fma(a, b, c) => format!(
                "math.fma {}, {}, {} : {ty}",
                self.name(a),
                self.name(b),
                self.name(c)
            ),
            Inst::Int(op, a, b) => {
                let op = match op {
                    IntBinary::Add => "addi",
                    IntBinary::Sub => "subi",
                    IntBinary::Mul => "muli",
                    IntBinary::And => "andi",
                    IntBinary::Or => "ori",
                    IntBinary::Xor => "xori",
                    IntBinary::Shl => "shli",
                    IntBinary::ShrS => "shrsi",
                    IntBinary::ShrU => "shrui",
                };
                format!("arith.{op} {}, {} : {ty}", self.name(a), self.name(b))
            }
            Inst::Compare(predicate, a, b) => self.compare(predicate, a, b),
            Inst::Select(c, a, b) => {
                format!(
                    "arith.select {}, {}, {} : {ty}",
                    self.name(c),
                    self.name(a),
                    self.name(b)
                )
            }
            Inst::Rarely(condition, rare, usual) => {
                let condition = self.name(condition).to_owned();
                let name = self.line(&format!("scf.if {condition} -> ({ty}) {{"));
                self.region(Some(at));
                let (rare, usual) = (self.name(rare).to_owned(), self.name(usual).to_owned());
                let _ = writeln!(self.out, "      scf.yield {rare} : {ty}");
                let _ = writeln!(self.out, "      }} else {{");
                let _ = writeln!(self.out, "      scf.yield {usual} : {ty}");
                let _ = writeln!(self.out, "      }}");
                return name;
            }
            Inst::Bitcast(a) => self.convert("arith.bitcast", a, ty),
            Inst::ToInt(a) => self.convert("arith.fptosi", a, ty),
            Inst::FromInt(a) => self.convert("arith.sitofp", a, ty),
            Inst::ExtendInt(a) => self.convert("arith.extsi", a, ty),
            Inst::TruncateInt(a) => self.convert("arith.trunci", a, ty),
            Inst::Extend(a) => self.convert("arith.extf", a, ty),
            Inst::Truncate(a) => self.convert("arith.truncf", a, ty),
            Inst::Lookup(of, index) => {
                let index = self.line(&format!(
                    "arith.index_cast {} : i32 to index",
                    self.name(index)
                ));
                format!("tensor.extract {}[{index}] : {}", table(of), table_type(of))
            }
            Inst::Round(RoundTo::Bf16, a) => {
                let prefix = format!("q{at}_");
                return round_bf16(self.out, &self.names[a.index()], &prefix);
            }
            Inst::Round(RoundTo::Bf16Any, a) => {
                let narrow = self.line(&format!("arith.truncf {} : f32 to bf16", self.name(a)));
                format!("arith.extf {narrow} : bf16 to f32")
            }
            Inst::Native(function, a, b) => self.native(function, a, b),
        };
        self.line(&rhs)
    }

    fn operand(&mut self, i: usize, stored: Elem) -> String {
        match stored {
            Elem::F32 | Elem::I32 => format!("%i{i}"),
            Elem::Bf16 => self.line(&format!("arith.extf %i{i} : bf16 to f32")),
            Elem::Bool => {
                let zero = self.line("arith.constant 0 : i8");
                self.line(&format!("arith.cmpi ne, %i{i}, {zero} : i8"))
            }
        }
    }

    fn compare(&self, predicate: Predicate, a: Reg, b: Reg) -> String {
        let float = self.kernel.type_of(a).is_float();
        let name = match (predicate, float) {
            (Predicate::Eq, true) => "oeq",
            (Predicate::Ne, true) => "une",
            (Predicate::Lt, true) => "olt",
            (Predicate::Le, true) => "ole",
            (Predicate::Gt, true) => "ogt",
            (Predicate::Ge, true) => "oge",
            (Predicate::Uno, _) => "uno",
            (Predicate::Eq, false) => "eq",
            (Predicate::Ne, false) => "ne",
            (Predicate::Lt, false) => "slt",
            (Predicate::Le, false) => "sle",
            (Predicate::Gt, false) => "sgt",
            (Predicate::Ge, false) => "sge",
            (Predicate::Ult, _) => "ult",
            (Predicate::Ugt, _) => "ugt",
            (Predicate::Uge, _) => "uge",
        };
        let op = if float { "cmpf" } else { "cmpi" };
        format!(
            "arith.{op} {name}, {}, {} : {}",
            self.name(a),
            self.name(b),
            self.type_of(a)
        )
    }

    fn convert(&self, op: &str, a: Reg, to: &str) -> String {
        format!("{op} {} : {} to {to}", self.name(a), self.type_of(a))
    }

    fn native(&self, function: NativeFn, a: Reg, b: Option<Reg>) -> String {
        let name = match function {
            NativeFn::Exp => "exp",
            NativeFn::Log => "log",
            NativeFn::Log1p => "log1p",
            NativeFn::Tanh => "tanh",
            NativeFn::Sin => "sin",
            NativeFn::Cos => "cos",
            NativeFn::Rsqrt => "rsqrt",
            NativeFn::Pow => "powf",
        };
        let second = b.map_or_else(String::new, |b| format!(", {}", self.name(b)));
        format!("math.{name} {}{second} : f32", self.name(a))
    }
}

pub(super) fn table_type(of: Table) -> String {
    format!("tensor<{}x{}>", of.bits().len(), types::scalar(of.scalar()))
}
