//! Reading the emitter's kernels as expressions.

use std::collections::HashMap;

use emitter::kernel::{
    self, Binary as KernelBinary, Inst, Kernel, KernelBuilder, Predicate, Reg, RoundTo, Scalar,
    Unary,
};

use super::{
    expr::{Binary, Expr},
    function::{Function, Kind, restated},
};

/// The expression that a kernel computes, if all of it is known. `operands` numbers the kernel's
/// operands; conversions of integers are read as operand 0.
pub(super) fn expression(kernel: &Kernel, operands: &dyn Fn(usize) -> usize) -> Option<Expr> {
    let reader = Reader {
        insts: kernel.insts().map(|(inst, _)| inst).collect(),
        operands,
        templates: templates(),
    };
    reader.at(kernel.result())
}

struct Reader<'a> {
    insts: Vec<&'a Inst>,
    operands: &'a dyn Fn(usize) -> usize,
    templates: Vec<(Shape, Kernel)>,
}

/// What a template stands for.
#[derive(Clone, Copy)]
enum Shape {
    Call(Kind),
    Larger,
    Smaller,
}

/// How the emitter writes an extremum.
type Extremum = fn(&mut KernelBuilder, Reg, Reg) -> Reg;

fn templates() -> Vec<(Shape, Kernel)> {
    let mut all = Vec::new();
    for kind in [
        Kind::Exp,
        Kind::Log,
        Kind::Log1p,
        Kind::Tanh,
        Kind::Sin,
        Kind::Cos,
        Kind::Square,
    ] {
        if let Some(write) = restated(kind) {
            let mut k = KernelBuilder::new();
            let x = k.operand(0, Scalar::F32);
            let result = write(&mut k, x);
            all.push((Shape::Call(kind), k.finish(result)));
        }
    }
    let extrema: [(Shape, Extremum); 2] = [
        (Shape::Larger, kernel::maximum),
        (Shape::Smaller, kernel::minimum),
    ];
    for (shape, write) in extrema {
        let mut k = KernelBuilder::new();
        let [a, b] = [0, 1].map(|i| k.operand(i, Scalar::F32));
        let result = write(&mut k, a, b);
        all.push((shape, k.finish(result)));
    }
    all
}

impl Reader<'_> {
    fn inst(&self, reg: Reg) -> &Inst {
        self.insts[reg.index()]
    }

    fn boxed(&self, reg: Reg) -> Option<Box<Expr>> {
        self.at(reg).map(Box::new)
    }

    fn at(&self, reg: Reg) -> Option<Expr> {
        for (shape, template) in &self.templates {
            let Some(holes) = self.unify(template, reg) else {
                continue;
            };
            return match *shape {
                Shape::Call(kind) => Some(Expr::call(
                    Function::restated(kind),
                    self.at(*holes.get(&0)?)?,
                )),
                Shape::Larger => Some(Expr::Larger(
                    self.boxed(*holes.get(&0)?)?,
                    self.boxed(*holes.get(&1)?)?,
                )),
                Shape::Smaller => Some(Expr::Smaller(
                    self.boxed(*holes.get(&0)?)?,
                    self.boxed(*holes.get(&1)?)?,
                )),
            };
        }
        Some(match *self.inst(reg) {
            Inst::Operand(i) => Expr::Operand((self.operands)(i)),
            Inst::FromInt(_) => Expr::Operand(0),
            Inst::ConstF32(bits) => Expr::Number(bits),
            Inst::Unary(Unary::Neg, a) => Expr::Neg(self.boxed(a)?),
            Inst::Unary(Unary::Abs, a) => Expr::Abs(self.boxed(a)?),
            Inst::Unary(Unary::Sqrt, a) => Expr::Sqrt(self.boxed(a)?),
            Inst::Round(RoundTo::Bf16, a) => Expr::Bf16(self.boxed(a)?),
            Inst::Fma(a, b, c) => Expr::Fma(self.boxed(a)?, self.boxed(b)?, self.boxed(c)?),
            Inst::Binary(op, a, b) => {
                let op = match op {
                    KernelBinary::Add => Binary::Add,
                    KernelBinary::Sub => Binary::Sub,
                    KernelBinary::Mul => Binary::Mul,
                    KernelBinary::Div => Binary::Div,
                    KernelBinary::MulAny => return None,
                };
                Expr::binary(op, self.at(a)?, self.at(b)?)
            }
            Inst::Select(condition, a, b) => self.select(condition, a, b)?,
            _ => return None,
        })
    }

    fn select(&self, condition: Reg, a: Reg, b: Reg) -> Option<Expr> {
        let is = |reg: Reg, x: f32| *self.inst(reg) == Inst::ConstF32(x.to_bits());
        let &Inst::Compare(predicate, x, y) = self.inst(condition) else {
            return None;
        };
        if predicate == Predicate::Lt && is(y, 0.0) {
            return Some(Expr::IfNegative(
                self.boxed(x)?,
                self.boxed(a)?,
                self.boxed(b)?,
            ));
        }
        // larger = ∞ ? larger : (smaller = −∞ ? larger : sum)
        let &Inst::Select(inner, c, sum) = self.inst(b) else {
            return None;
        };
        let &Inst::Compare(Predicate::Eq, smaller, low) = self.inst(inner) else {
            return None;
        };
        let guards = predicate == Predicate::Eq && is(y, f32::INFINITY) && a == x && c == x;
        if !guards || !is(low, f32::NEG_INFINITY) {
            return None;
        }
        Some(Expr::Guarded {
            larger: self.boxed(x)?,
            smaller: self.boxed(smaller)?,
            sum: self.boxed(sum)?,
        })
    }

    /// The registers in the place of a template's operands, if what gives `reg` is the template.
    fn unify(&self, template: &Kernel, reg: Reg) -> Option<HashMap<usize, Reg>> {
        let insts: Vec<&Inst> = template.insts().map(|(inst, _)| inst).collect();
        let mut matched: HashMap<Reg, Reg> = HashMap::new();
        let mut holes: HashMap<usize, Reg> = HashMap::new();
        let mut stack = vec![(template.result(), reg)];
        while let Some((own, other)) = stack.pop() {
            if let Some(known) = matched.insert(own, other) {
                // Equal instructions are written once on both sides.
                if known != other {
                    return None;
                }
                continue;
            }
            let (a, b) = (insts[own.index()], self.inst(other));
            if let Inst::Operand(hole) = *a {
                holes.insert(hole, other);
                continue;
            }
            let zero = template.result();
            if stripped(a, zero) != stripped(b, zero) {
                return None;
            }
            stack.extend(a.reads().zip(b.reads()));
        }
        Some(holes)
    }
}

/// An instruction without what it reads.
fn stripped(inst: &Inst, r: Reg) -> Inst {
    match inst.clone() {
        Inst::Unary(op, _) => Inst::Unary(op, r),
        Inst::Binary(op, ..) => Inst::Binary(op, r, r),
        Inst::Fma(..) => Inst::Fma(r, r, r),
        Inst::Int(op, ..) => Inst::Int(op, r, r),
        Inst::Compare(op, ..) => Inst::Compare(op, r, r),
        Inst::Select(..) => Inst::Select(r, r, r),
        Inst::Rarely(..) => Inst::Rarely(r, r, r),
        Inst::Bitcast(_) => Inst::Bitcast(r),
        Inst::ToInt(_) => Inst::ToInt(r),
        Inst::FromInt(_) => Inst::FromInt(r),
        Inst::ExtendInt(_) => Inst::ExtendInt(r),
        Inst::TruncateInt(_) => Inst::TruncateInt(r),
        Inst::Extend(_) => Inst::Extend(r),
        Inst::Truncate(_) => Inst::Truncate(r),
        Inst::Lookup(table, _) => Inst::Lookup(table, r),
        Inst::Round(to, _) => Inst::Round(to, r),
        Inst::Native(function, _, b) => Inst::Native(function, r, b.map(|_| r)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sigmoid_and_a_logaddexp_read_as_what_they_are() {
        let mut k = KernelBuilder::new();
        let x = k.operand(0, Scalar::F32);
        let y = kernel::sigmoid(&mut k, x, Some(RoundTo::Bf16));
        let y = k.round(RoundTo::Bf16, y);
        let expr = expression(&k.finish(y), &|i| i).unwrap();
        assert_eq!(
            expr.to_string(),
            "bf16(a < 0 ? 1 / (1 + bf16(exp(|a|))) : 1 − (1 / (1 + bf16(exp(|a|)))))"
        );
        let mut k = KernelBuilder::new();
        let [x, y] = [0, 1].map(|i| k.operand(i, Scalar::F32));
        let y = kernel::logaddexp(&mut k, x, y, None);
        let expr = expression(&k.finish(y), &|i| i).unwrap();
        assert_eq!(
            expr.to_string(),
            "max(a, b) + log1p(exp(min(a, b) − max(a, b)))"
        );
    }

    #[test]
    fn what_is_left_to_the_compiler_has_no_expression() {
        let mut k = KernelBuilder::new();
        let x = k.operand(0, Scalar::F32);
        let y = k.binary(KernelBinary::MulAny, x, x);
        assert_eq!(expression(&k.finish(y), &|i| i), None);
    }
}
