//! How frames are laid out for local attention: chunks of W queries, and for each the C keys
//! around it.
//!
//! mlx-vlm cuts a window of C frames for every chunk and stacks them. The windows start W frames
//! apart, so here they are put together from ⌈C/W⌉ aligned pieces, each one reshape. Frames are
//! only moved.

use crate::{
    DType,
    config::Conformer,
    graph::{Builder, GraphError, Op, ValueId},
};

type Built = Result<ValueId, GraphError>;

const TIME: usize = 1;

/// The extents of chunked attention over S frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    /// S.
    pub(super) frames: usize,
    /// U, the number of chunks: ⌈S/W⌉.
    pub(super) count: usize,
    /// W, queries of a chunk.
    pub(super) width: usize,
    /// Keys before a query that it sees.
    pub(super) past: usize,
    /// Keys after it that it sees.
    pub(super) future: usize,
}

impl Chunks {
    pub(super) fn of(conformer: &Conformer, frames: usize) -> Chunks {
        Chunks {
            frames,
            count: frames.div_ceil(conformer.chunk),
            width: conformer.chunk,
            past: conformer.context_left.saturating_sub(1),
            future: conformer.context_right,
        }
    }

    /// C, keys of a chunk.
    pub(super) fn context(&self) -> usize {
        self.past + self.width + self.future
    }

    /// F, the distances a query sees.
    pub(super) fn span(&self) -> usize {
        self.past + self.future + 1
    }

    /// `[B,S,..]` to `[B,U,W,..]`, zeros after the last frame.
    pub(super) fn of_queries(&self, b: &mut Builder, x: ValueId) -> Built {
        let whole = self.count * self.width;
        let padded = if whole == self.frames {
            x
        } else {
            b.pad(x, &[(TIME, 0, whole - self.frames)], 0.0)?
        };
        let dims = b.shape(padded).dims();
        let split = [&[dims[0], self.count, self.width], &dims[2..]].concat();
        b.reshape(padded, split)
    }

    /// `[B,S,..]` to `[B,U,C,..]`: chunk u's slot c is frame `u·W + c − past`, zero (false) where
    /// there is none.
    pub(super) fn of_keys(&self, b: &mut Builder, x: ValueId) -> Built {
        let (width, context) = (self.width, self.context());
        let pieces = context.div_ceil(width);
        let reach = (self.count + pieces - 1) * width;
        // The pieces reach at least as far as the windows: nothing after the last is cut off.
        let high = reach - self.past - self.frames;
        let padded = b.pad(x, &[(TIME, self.past, high)], 0.0)?;
        let dims = b.shape(padded).dims().to_vec();
        let split = [&[dims[0], self.count, width], &dims[2..]].concat();
        let mut parts = Vec::with_capacity(pieces);
        for piece in 0..pieces {
            let from = piece * width;
            let part = b.slice(padded, TIME, from..from + self.count * width, 1)?;
            parts.push(b.reshape(part, split.clone())?);
        }
        let joined = b.concatenate(&parts, TIME + 1)?;
        if pieces * width == context {
            return Ok(joined);
        }
        b.slice(joined, TIME + 1, 0..context, 1)
    }

    /// Which slots a chunk's queries can see by distance, `[1,1,1,W,C]` BOOL: query w those from w
    /// to `w + past + future`.
    pub(super) fn reachable(&self, b: &mut Builder) -> Built {
        let (width, context) = (self.width, self.context());
        let index = |b: &mut Builder, start: usize, len: usize, shape: [usize; 5]| {
            let range = b.arange(start as f64, 1.0, len, DType::I32);
            b.reshape(range, shape)
        };
        let slot = index(b, 0, context, [1, 1, 1, 1, context])?;
        let first = index(b, 0, width, [1, 1, 1, width, 1])?;
        let last = index(b, self.past + self.future, width, [1, 1, 1, width, 1])?;
        let not_before = b.binary(Op::GreaterEqual, slot, first)?;
        let not_after = b.binary(Op::GreaterEqual, last, slot)?;
        b.binary(Op::LogicalAnd, not_before, not_after)
    }

    /// From a score per distance to a score per slot: `[B,N,U,W,F]` to `[B,N,U,W,C]`. Query w's
    /// distance f is slot `w + f`; a slot that it does not see holds another query's score or 0.
    pub(super) fn relative_shift(&self, b: &mut Builder, x: ValueId) -> Built {
        let (width, context) = (self.width, self.context());
        let lead = b.shape(x).dims()[..3].to_vec();
        let padded = b.pad(x, &[(4, 0, context + 1 - self.span())], 0.0)?;
        let flat = [&lead[..], &[width * (context + 1)]].concat();
        let flat = b.reshape(padded, flat)?;
        let cut = b.slice(flat, 3, 0..width * context, 1)?;
        b.reshape(cut, [&lead[..], &[width, context]].concat())
    }

    /// `[B,N,U,W,C]` shares times `[B,U,C,N,H]` values to `[B,S,N,H]`.
    pub(super) fn weighted(&self, b: &mut Builder, shares: ValueId, values: ValueId) -> Built {
        let (width, context) = (self.width, self.context());
        let dims = b.shape(values).dims().to_vec();
        let [clips, chunks, _, heads, per_head] = dims[..] else {
            return Err(GraphError::Shape {
                op: "attention",
                shapes: b.shape(values).to_string(),
                reason: "values are clips, chunks, slots, heads and channels".into(),
            });
        };
        let batch = clips * chunks * heads;
        let shares = b.transpose(shares, &[0, 2, 1, 3, 4])?;
        let shares = b.reshape(shares, [batch, width, context])?;
        let values = b.transpose(values, &[0, 1, 3, 2, 4])?;
        let values = b.reshape(values, [batch, context, per_head])?;
        let product = b.matmul(shares, values)?;
        let split = b.reshape(product, [clips, chunks, heads, width, per_head])?;
        let moved = b.transpose(split, &[0, 1, 3, 2, 4])?;
        let whole = b.reshape(moved, [clips, chunks * width, heads, per_head])?;
        b.slice(whole, TIME, 0..self.frames, 1)
    }
}
