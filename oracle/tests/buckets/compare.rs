//! Counts the values of a boundary that belong to the batch and differ.

use stages::Tensor;

use crate::{
    case::Case,
    extent::{Extent, of},
};

/// Of a boundary's values that belong to the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub compared: usize,
    pub differing: usize,
}

/// Compares the bits of the boundary `name` without a bucket with those in one.
pub fn compare(case: &Case, name: &str, exact: &Tensor, bucket: &Tensor) -> Count {
    let extent = of(name);
    let (few, many) = (exact.shape().dims(), bucket.shape().dims());
    check_shapes(case, name, extent, few, many);
    let mut count = Count::default();
    let width = exact.dtype().size();
    let mut index = vec![0; few.len()];
    for value in exact.bytes().chunks(width) {
        if belongs(case, extent, &index) {
            // The same indices mean the same time: what the bucket adds comes last.
            let at = index.iter().zip(many).fold(0, |at, (i, n)| at * n + i);
            count.compared += 1;
            count.differing += usize::from(bucket.bytes()[at * width..][..width] != *value);
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < few[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    count
}

/// The table says what the graphs say.
fn check_shapes(case: &Case, name: &str, extent: Extent, few: &[usize], many: &[usize]) {
    let time = match extent {
        Extent::Whole => None,
        Extent::Rows(each) => Some((1, each)),
        Extent::Attended => Some((1, 4)),
        Extent::Queries | Extent::Keys => Some((2, 4 * CHUNK)),
    };
    let mut expected = few.to_vec();
    if let Some((axis, each)) = time {
        assert_eq!(few[axis], case.frames.div_ceil(each), "{name} {few:?}");
        expected[axis] = case.bucket.div_ceil(each);
    }
    assert_eq!(many, expected, "{name}");
}

/// Queries of a chunk.
const CHUNK: usize = 12;
/// Frames before a query that it sees.
const PAST: usize = 12;

fn belongs(case: &Case, extent: Extent, index: &[usize]) -> bool {
    let frames = case.subsampled();
    match extent {
        // The shapes are the batch's.
        Extent::Whole | Extent::Rows(_) => true,
        Extent::Attended => !is_blind(case, index[0], index[1]),
        Extent::Queries => index[2] * CHUNK + index[3] < frames,
        // Slot c of chunk u is the frame u·W + c − past.
        Extent::Keys => {
            index[2] * CHUNK + index[3] < frames && index[2] * CHUNK + index[4] < frames + PAST
        }
    }
}

/// Whether a frame behind the subsampling sees no valid frame, and is of a chunk that reaches
/// beyond the batch.
pub fn is_blind(case: &Case, clip: usize, frame: usize) -> bool {
    let seen = frame.saturating_sub(PAST)..=frame;
    let beyond = (frame / CHUNK + 1) * CHUNK > case.subsampled();
    beyond && !seen.into_iter().any(|at| case.is_valid(clip, 4 * at))
}
