//! What a primitive makes of its operands under a statement.

use stages::{
    DType,
    graph::{Node, Op, ReduceKind},
};

use super::{
    ContractError, exact,
    expr::{Expr, larger, onto_bf16},
    plan::{Operands, Planned},
    question::{Column, Question, literal},
    reads::NOWHERE,
    statement::{Addend, Product, Scan, Softmax, Statement, Sum},
};
use crate::{envelope::Term, order::Rounding};

/// A primitive's operands.
pub(super) struct Inputs<'a> {
    /// The step.
    pub question: &'a Question,
    /// Which elements are wanted, and what they read.
    pub planned: &'a Planned,
    /// Its operands, and those of products that it may be fused with.
    pub operands: &'a Operands,
    /// Their values, those that are used.
    pub columns: &'a [Option<Column>],
}

impl Inputs<'_> {
    fn column(&self, operand: usize) -> &[u32] {
        let column = self.columns.get(operand);
        column.and_then(Option::as_ref).map_or(&[], |column| column)
    }

    /// The operand's element for each wanted one.
    pub fn each(&self, operand: usize) -> Vec<u32> {
        let column = self.column(operand);
        let places = self
            .planned
            .reads
            .each
            .get(operand)
            .and_then(Option::as_ref);
        let places = places.map_or(&[][..], Vec::as_slice);
        places.iter().map(|&at| read(column, at)).collect()
    }

    pub fn each_float(&self, operand: usize) -> Vec<f32> {
        self.each(operand).into_iter().map(f32::from_bits).collect()
    }

    /// The places that rows of an operand read.
    fn places(&self, operand: usize) -> &[u32] {
        let rows = self.planned.reads.rows.get(operand);
        rows.and_then(Option::as_ref).map_or(&[], Vec::as_slice)
    }

    fn rows(&self) -> usize {
        match &self.planned.reads.pick {
            Some(pick) => pick.iter().map(|[row, _]| row + 1).max().unwrap_or(0) as usize,
            None => self.planned.count,
        }
    }

    fn row(&self, operand: usize, row: usize) -> impl Iterator<Item = u32> {
        let (column, width) = (self.column(operand), self.planned.reads.width);
        let places = self.places(operand);
        let places = places.get(row * width..(row + 1) * width).unwrap_or(&[]);
        places.iter().map(move |&at| read(column, at))
    }

    fn row_floats(&self, operand: usize, row: usize) -> Vec<f32> {
        self.row(operand, row).map(f32::from_bits).collect()
    }

    /// The wanted elements under a statement.
    pub fn compute(&self, node: &Node, statement: &Statement) -> Result<Vec<u32>, ContractError> {
        let floats = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
        Ok(match (statement, &node.op) {
            (Statement::Each(expr), _) => {
                let operand = |i| self.each_float(i);
                floats(expr.evaluate(&operand, self.planned.count))
            }
            (Statement::Sum(sum), _) => floats(self.sum(node, statement, sum)),
            (
                Statement::Scan(scan),
                Op::Scan {
                    reverse, inclusive, ..
                },
            ) => floats(self.scan(scan, *reverse, *inclusive)),
            (Statement::Softmax(softmax), _) => floats(self.softmax(softmax)),
            (Statement::Product(product), _) => floats(self.product(node, statement, product)),
            (Statement::Exact, Op::Constant { value }) => {
                let bits = literal(*value, node.info.dtype);
                let bits = bits.ok_or(ContractError::DType(node.info.dtype))?;
                vec![bits; self.planned.count]
            }
            (Statement::Exact, &Op::Arange { start, step, .. }) => {
                let at = |&i: &u32| literal(start + f64::from(i) * step, node.info.dtype);
                let values: Option<Vec<u32>> = self.planned.places.iter().map(at).collect();
                values.ok_or(ContractError::DType(node.info.dtype))?
            }
            (Statement::Exact, Op::Reduce { kind, .. }) => {
                let dtype = node.info.dtype;
                let one = |row| extremum(*kind, dtype, self.row(0, row));
                (0..self.planned.count).map(one).collect()
            }
            (Statement::Exact, Op::GatherAxis { .. }) => {
                let indices = self.each(1);
                let of = |(row, &index): (usize, &u32)| {
                    let line: Vec<u32> = self.row(0, row).collect();
                    line.get(index as usize).copied().unwrap_or(0)
                };
                indices.iter().enumerate().map(of).collect()
            }
            (Statement::Exact, _) => match &self.planned.reads.from {
                Some(from) => {
                    let places = self.planned.reads.each[0].iter().flatten();
                    let of = |(&operand, &at)| read(self.column(usize::from(operand)), at);
                    from.iter().zip(places).map(of).collect()
                }
                None => exact::compute(self.question, node, self, self.planned.count)?,
            },
            (_, op) => return Err(ContractError::Unsupported(op.name())),
        })
    }

    /// What a sum or product adds, row by row, in the order in which it is added.
    pub fn terms<'s>(
        &'s self,
        node: &Node,
        statement: &'s Statement,
    ) -> Box<dyn Fn(usize) -> Vec<Term> + 's> {
        let width = self.planned.reads.width;
        let float = f32::from_bits;
        let (order, factors, elements) = match (statement, &node.op) {
            (Statement::Sum(sum), Op::Reduce { axes, .. }) => {
                let shape = &self.question.graph.info(node.inputs[0]).shape;
                let extents: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
                // Axes of extent 1 may stand anywhere.
                let order = sum
                    .axes
                    .iter()
                    .filter_map(|axis| axes.iter().position(|a| a == axis));
                let mut order: Vec<usize> = order.collect();
                let rest = (0..axes.len()).filter(|i| !order.contains(i));
                order = rest.chain(order.iter().copied()).collect();
                let fused = sum.fused.and_then(|i| self.operands.products.get(i));
                (
                    permutation(&extents, &order),
                    fused.map(|(_, slots)| *slots),
                    None,
                )
            }
            (Statement::Product(product), op) => {
                let extents = match op {
                    Op::Convolution { .. } => {
                        let weight = self.question.graph.info(node.inputs[1]);
                        weight.shape.dims()[1..].to_vec()
                    }
                    _ => Vec::new(),
                };
                let slots = match op {
                    Op::AddMM { .. } => [1, 2],
                    _ => [0, 1],
                };
                let elements = match (&product.element, op) {
                    (
                        Some(element),
                        Op::QuantizedMatmul {
                            bits, transpose, ..
                        },
                    ) => Some(self.elements(element, *bits, *transpose)),
                    _ => None,
                };
                (permutation(&extents, &product.axes), Some(slots), elements)
            }
            _ => (None, None, None),
        };
        Box::new(move |row| {
            let terms: Vec<Term> = match (factors, &elements) {
                (Some([a, _]), Some(elements)) => {
                    let own = elements.get(row * width..).unwrap_or(&[]);
                    let left = self.row(a, row).map(float);
                    left.zip(own).map(|(x, &w)| Term::Product(x, w)).collect()
                }
                (Some([a, b]), None) => {
                    let pairs = self.row(a, row).zip(self.row(b, row));
                    pairs
                        .map(|(a, b)| Term::Product(float(a), float(b)))
                        .collect()
                }
                (None, _) => self.row(0, row).map(|x| Term::Value(float(x))).collect(),
            };
            match &order {
                Some(order) => order.iter().map(|&i| terms[i]).collect(),
                None => terms,
            }
        })
    }

    fn sum(&self, node: &Node, statement: &Statement, sum: &Sum) -> Vec<f32> {
        let terms = self.terms(node, statement);
        let fused = sum.fused.is_some();
        let one = |row| sum.order.sum(&terms(row), sum.rounding, fused);
        (0..self.planned.count).map(one).collect()
    }

    /// The picked elements of whole rows.
    fn pick(&self, rows: &[Vec<f32>]) -> Vec<f32> {
        let pick = self.planned.reads.pick.iter().flatten();
        pick.map(|&[row, place]| rows[row as usize][place as usize])
            .collect()
    }

    fn scan(&self, scan: &Scan, reverse: bool, inclusive: bool) -> Vec<f32> {
        let one = |row| {
            let mut x = self.row_floats(0, row);
            if reverse {
                x.reverse();
            }
            let mut sums = scan.order.scan(&x, scan.rounding);
            if !inclusive {
                sums.pop();
                sums.insert(0, 0.0);
            }
            if reverse {
                sums.reverse();
            }
            if scan.rounding == Rounding::Bf16Once {
                sums.iter_mut().for_each(|x| *x = onto_bf16(*x));
            }
            sums
        };
        let rows: Vec<Vec<f32>> = (0..self.rows()).map(one).collect();
        self.pick(&rows)
    }

    fn softmax(&self, softmax: &Softmax) -> Vec<f32> {
        let width = self.planned.reads.width;
        let round = |x: f32, yes: bool| if yes { onto_bf16(x) } else { x };
        let mut differences = Vec::with_capacity(self.rows() * width);
        for row in 0..self.rows() {
            let x = self.row_floats(0, row);
            let largest = x.iter().copied().fold(f32::NEG_INFINITY, larger);
            differences.extend(x.iter().map(|x| round(x - largest, softmax.inside)));
        }
        let exponentials = softmax.exp.evaluate(differences);
        let one = |e: &[f32]| {
            let e: Vec<f32> = e.iter().map(|&e| round(e, softmax.inside)).collect();
            let terms: Vec<Term> = e.iter().map(|&e| Term::Value(e)).collect();
            let sum = softmax.order.sum(&terms, softmax.rounding, false);
            let inverse = round(1.0 / sum, softmax.inside);
            let share = |e: &f32| {
                if softmax.divided {
                    e / sum
                } else {
                    e * inverse
                }
            };
            e.iter().map(|e| round(share(e), softmax.rounded)).collect()
        };
        let rows: Vec<Vec<f32>> = exponentials.chunks(width.max(1)).map(one).collect();
        self.pick(&rows)
    }

    fn product(&self, node: &Node, statement: &Statement, product: &Product) -> Vec<f32> {
        let (alpha, beta) = match node.op {
            Op::AddMM { alpha, beta } => (alpha, beta),
            _ => (1.0, 1.0),
        };
        let addends: Vec<f32> = match node.op {
            Op::AddMM { .. } => self.each_float(0).iter().map(|c| beta * c).collect(),
            _ => Vec::new(),
        };
        let terms = self.terms(node, statement);
        let one = |row: usize| {
            let mut terms = terms(row);
            let (rounding, fused) = (product.rounding, product.fused);
            let plain = match rounding {
                Rounding::Bf16Once => Rounding::F32,
                other => other,
            };
            let finish = |x: f32| {
                if rounding == Rounding::F32 {
                    x
                } else {
                    onto_bf16(x)
                }
            };
            let addend = addends.get(row).copied().unwrap_or(0.0);
            match product.addend {
                None => product.order.sum(&terms, rounding, fused),
                Some(Addend::First) => {
                    if alpha != 1.0 {
                        for term in &mut terms {
                            if let Term::Product(x, _) = term {
                                *x *= alpha;
                            }
                        }
                    }
                    terms.insert(0, Term::Value(addend));
                    product.order.sum(&terms, rounding, fused)
                }
                Some(Addend::Last) => {
                    finish(alpha * product.order.sum(&terms, plain, fused) + addend)
                }
                Some(Addend::LastRounded) => {
                    finish(alpha * product.order.sum(&terms, rounding, fused) + addend)
                }
            }
        };
        (0..self.planned.count).map(one).collect()
    }

    /// The matrix elements of a quantised product, row by row.
    fn elements(&self, element: &Expr, bits: usize, transpose: bool) -> Vec<f32> {
        let (width, bits) = (self.planned.reads.width, bits.clamp(1, 32));
        let per_word = (32 / bits).max(1);
        let mask = u32::MAX >> (32 - bits);
        let mut q = Vec::with_capacity(self.places(1).len());
        for (row, &column) in self.planned.reads.columns.iter().enumerate() {
            for (k, word) in self.row(1, row).enumerate() {
                let place = if transpose { k } else { column as usize };
                let q_bits = word >> (place % per_word * bits) & mask;
                q.push(q_bits as f32);
            }
        }
        let count = self.planned.count * width;
        let flat = |operand: usize| -> Vec<f32> {
            let column = self.column(operand);
            let places = self.places(operand).iter();
            places.map(|&at| f32::from_bits(read(column, at))).collect()
        };
        let operand = |i: usize| match i {
            0 => q.clone(),
            1 => flat(2),
            _ => flat(3),
        };
        element.evaluate(&operand, count)
    }
}

fn read(column: &[u32], at: u32) -> u32 {
    match at {
        NOWHERE => 0,
        at => column.get(at as usize).copied().unwrap_or(0),
    }
}

/// Row-major indices of a block in the order in which its axes are gone over, if that is another.
fn permutation(extents: &[usize], order: &[usize]) -> Option<Vec<usize>> {
    if order.is_sorted() {
        return None;
    }
    let mut strides = vec![1; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis] * extents[axis];
    }
    let mut places = vec![0];
    for &axis in order {
        places = places
            .iter()
            .flat_map(|place| (0..extents[axis]).map(move |i| (place, i)))
            .map(|(place, i)| place + i * strides[axis])
            .collect();
    }
    Some(places)
}

fn extremum(kind: ReduceKind, dtype: DType, row: impl Iterator<Item = u32>) -> u32 {
    if dtype == DType::I32 {
        let row = row.map(u32::cast_signed);
        let found = match kind {
            ReduceKind::Sum => Some(row.fold(0i32, i32::wrapping_add)),
            ReduceKind::Max => row.max(),
            ReduceKind::Min => row.min(),
        };
        return found.unwrap_or(0).cast_unsigned();
    }
    let row = row.map(f32::from_bits);
    let found = match kind {
        // NaN wins, and of two zeros the first.
        ReduceKind::Max => row.fold(
            f32::NEG_INFINITY,
            |m, x| {
                if m.is_nan() || m >= x { m } else { x }
            },
        ),
        _ => row.fold(
            f32::INFINITY,
            |m, x| {
                if m.is_nan() || m <= x { m } else { x }
            },
        ),
    };
    found.to_bits()
}
