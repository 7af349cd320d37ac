//! Operations that add exponentials or squares.
//!
//! Terms are set by the argument whose exponential or square they are, and the sum is seen in an
//! element of the result: that of the large term, which is the sum's inverse, or its inverse root,
//! but for a factor. Whether it shows the sum's last bit is found out first.

use stages::{
    DType, Tensor,
    graph::{GraphError, Op},
};

use super::{OpError, Site, named::gapless};
use crate::order::Positive;

/// What a site adds, if not its terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Of {
    /// Their exponentials, less that of the largest.
    Exponentials,
    /// Their squares; to their mean that number is added.
    Squares(f32),
}

/// MLX's default, which the models use.
pub const EPS: f64 = 1e-6;

/// An operation whose whole result is seen.
pub trait Whole {
    /// The result for rows of terms, of as many rows.
    ///
    /// # Errors
    /// When the operation fails.
    fn whole(&mut self, rows: &[f32]) -> Result<Vec<f32>, OpError>;
}

impl<O: Whole + ?Sized> Whole for &mut O {
    fn whole(&mut self, rows: &[f32]) -> Result<Vec<f32>, OpError> {
        (**self).whole(rows)
    }
}

impl Site {
    /// The softmax over the last axis of `[rows, n]`.
    ///
    /// # Errors
    /// When the dtype has none.
    pub fn softmax(rows: usize, n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("softmax {dtype} [{rows},{n}]");
        let op = Op::Softmax { precise: false };
        let site = Site::rows_of(name, rows, n, dtype, move |b, x| b.apply(op.clone(), &[x]))?;
        Ok(site.that_adds(Of::Exponentials))
    }

    /// The RMS norm over the last axis of `[rows, n]` without a weight, made of single operations as
    /// MLX runs it on CPU and the models state it.
    ///
    /// # Errors
    /// When the dtype has none.
    pub fn rms_norm(rows: usize, n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("rms_norm {dtype} [{rows},{n}]");
        let site = Site::rows_of(name, rows, n, dtype, move |b, x| {
            let x = b.astype(x, DType::F32)?;
            let square = b.apply(Op::Square, &[x])?;
            let mean = b.mean(square, 1)?;
            let shifted = b.binary_scalar(Op::Add, mean, EPS)?;
            let inverse = b.apply(Op::Sqrt { reciprocal: true }, &[shifted])?;
            let result = b.binary(Op::Multiply, x, inverse)?;
            b.astype(result, dtype)
        })?;
        Ok(site.that_adds(Of::Squares(EPS as f32)))
    }

    /// The exponentials of `[rows, n]`, one by one.
    ///
    /// # Errors
    /// When the dtype has none.
    pub fn exponentials(rows: usize, n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("exp {dtype} [{rows},{n}]");
        Site::rows_of(name, rows, n, dtype, |b, x| b.apply(Op::Exp, &[x]))
    }

    fn rows_of(
        name: String,
        rows: usize,
        n: usize,
        dtype: DType,
        build: impl Fn(
            &mut stages::graph::Builder,
            stages::graph::ValueId,
        ) -> Result<stages::graph::ValueId, GraphError>
        + Send
        + Sync
        + 'static,
    ) -> Result<Site, GraphError> {
        let mut layout = gapless(rows, n);
        layout.strides = (n, n);
        Site::new(name, dtype, [rows, n].into(), layout, move |b, x, _| {
            build(b, x)
        })
    }

    /// All of a result, for rows of terms.
    pub(super) fn read_whole(
        &self,
        result: Option<&Tensor>,
        terms: &[f32],
    ) -> Result<Vec<f32>, OpError> {
        let values = result.and_then(Tensor::to_f32);
        let values = values.ok_or(OpError::NoResult(self.at))?;
        let own = values.get(..terms.len());
        Ok(own.ok_or(OpError::NoResult(values.len()))?.to_vec())
    }
}

/// A site that adds exponentials or squares, as [`Positive`].
#[derive(Debug)]
pub struct Absorbing<'o, O> {
    op: &'o mut O,
    of: Of,
    n: usize,
    rows: usize,
    /// The argument of the large term, and its distance to the next number.
    large: f32,
    unit: f64,
    /// The large term's element of the result, if the sum is that term, and if it is one unit more.
    shown: [f32; 2],
}

impl<'o, O: Whole> Absorbing<'o, O> {
    /// A site on a side. Tries large terms until the result shows the sum's last bit.
    ///
    /// # Errors
    /// When the operation fails, or no result shows that.
    pub fn new(site: &Site, op: &'o mut O) -> Result<Absorbing<'o, O>, OpError> {
        let refuse = |reason: &str| OpError::Unanswerable {
            what: site.name().to_owned(),
            reason: reason.to_owned(),
        };
        let of = site
            .of
            .ok_or_else(|| refuse("it adds neither exponentials nor squares"))?;
        if of == Of::Exponentials && site.dtype() == DType::BF16 {
            return Err(refuse(
                "arguments in BF16 have 8 bits, which set no exponential finely enough; ask in f32",
            ));
        }
        let mut absorbing = Absorbing {
            op,
            of,
            n: site.terms(),
            rows: site.rows(),
            large: 0.0,
            unit: 0.0,
            shown: [0.0; 2],
        };
        let candidates: Vec<f32> = match of {
            // The largest exponential is always 1.
            Of::Exponentials => vec![0.0],
            // Squares that are exact, and so large that what is added to their mean is nothing.
            Of::Squares(_) => (0..64u16)
                .map(|i| (1.0 + f32::from(i) / 64.0) * 2f32.powi(30))
                .collect(),
        };
        for large in candidates {
            let term = match of {
                Of::Exponentials => 1.0,
                Of::Squares(_) => f64::from(large) * f64::from(large),
            };
            absorbing.large = large;
            absorbing.unit = (term.log2().floor() - 23.0).exp2();
            if absorbing.n < 2 {
                return Ok(absorbing);
            }
            for grown in [false, true] {
                let mut row = vec![0.0; absorbing.n];
                row[1] = f32::from(u8::from(grown));
                let seen = absorbing.seen(&[0], &row)?;
                absorbing.shown[usize::from(grown)] = seen[0];
            }
            let [plain, grown] = absorbing.shown;
            if plain.is_finite() && grown.is_finite() && plain != grown {
                return Ok(absorbing);
            }
        }
        Err(refuse(
            "its result does not show the last bit of the sum; if it is rounded to BF16, ask in f32",
        ))
    }

    /// The argument that makes a term of so many units.
    fn argument(&self, units: f32) -> f32 {
        let term = f64::from(units) * self.unit;
        match self.of {
            // Far below the smallest exponential that there is.
            Of::Exponentials if units == 0.0 => -200.0,
            Of::Exponentials => term.ln() as f32,
            Of::Squares(_) => term.sqrt() as f32,
        }
    }

    /// The large terms' elements of the result.
    fn seen(&mut self, large: &[usize], rows: &[f32]) -> Result<Vec<f32>, OpError> {
        let n = self.n;
        // Few numbers stand in many places.
        let mut last = (0.0, self.argument(0.0));
        let mut arguments = Vec::with_capacity(rows.len());
        for &units in rows {
            if units != last.0 {
                last = (units, self.argument(units));
            }
            arguments.push(last.1);
        }
        for (&large, row) in large.iter().zip(arguments.chunks_mut(n)) {
            row[large] = self.large;
        }
        let result = self.op.whole(&arguments)?;
        let seen = |(&large, row): (&usize, &[f32])| row[large];
        Ok(large.iter().zip(result.chunks(n)).map(seen).collect())
    }
}

impl<O: Whole> Positive for Absorbing<'_, O> {
    type Error = OpError;

    fn terms(&self) -> usize {
        self.n
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn fineness(&self) -> u32 {
        match self.of {
            // Sums of 2046 terms that are 2⁻²⁰ off, with a rounding each, are off by less than a
            // fourth of a term.
            Of::Exponentials => 12,
            // The smallest term is a power of 4, so that its square root is exact.
            Of::Squares(_) if self.unit.log2().rem_euclid(2.0) == 0.0 => 18,
            Of::Squares(_) => 17,
        }
    }

    fn grows(&mut self, large: &[usize], rows: &[f32]) -> Result<Vec<Option<bool>>, OpError> {
        let [plain, grown] = self.shown;
        let seen = self.seen(large, rows)?;
        let read = |seen: f32| match seen {
            seen if seen == plain => Some(false),
            seen if seen == grown => Some(true),
            _ => None,
        };
        Ok(seen.into_iter().map(read).collect())
    }
}
