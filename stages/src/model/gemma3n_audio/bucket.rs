//! Static numbers of frames. A module is compiled for one of them; a batch of any length runs in
//! the smallest that holds it, padded at the end with rows that the reference does not have.

use crate::config::MAX_FRAMES;

/// Every 96 frames to 768, every 192 to 2880, then [`MAX_FRAMES`]. 96 frames are 24 frames behind
/// the subsampling, two attention chunks of the published models, and 6 tokens.
pub const BUCKETS: [usize; 20] = [
    96, 192, 288, 384, 480, 576, 672, 768, 960, 1152, 1344, 1536, 1728, 1920, 2112, 2304, 2496,
    2688, 2880, MAX_FRAMES,
];

/// How many frames a graph is stated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frames {
    /// As many as the batch has: the graph is the reference's own.
    Exact(usize),
    /// At least as many as the batch has. The number of frames that are the batch's is a tensor
    /// given at run time, so one graph serves every batch that fits.
    Bucket(usize),
}

impl Frames {
    /// The smallest bucket that holds `frames`, if one does.
    pub fn bucket_of(frames: usize) -> Option<Frames> {
        let bucket = BUCKETS.into_iter().find(|&bucket| bucket >= frames);
        bucket.map(Frames::Bucket)
    }

    /// The extent of the time axis.
    pub const fn count(self) -> usize {
        match self {
            Frames::Exact(count) | Frames::Bucket(count) => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_ascend_and_waste_at_most_a_quarter_from_384_frames_on() {
        assert!(BUCKETS.is_sorted_by(|a, b| a < b));
        assert!(BUCKETS[..19].iter().all(|bucket| bucket % 96 == 0));
        for frames in 1..=MAX_FRAMES {
            let bucket = Frames::bucket_of(frames).unwrap().count();
            assert!(bucket >= frames);
            assert!(frames < 384 || bucket as f64 / frames as f64 <= 1.25);
        }
        assert_eq!(Frames::bucket_of(MAX_FRAMES + 1), None);
        assert_eq!(Frames::bucket_of(1097), Some(Frames::Bucket(1152)));
    }
}
