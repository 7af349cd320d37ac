//! The 128 triangular mel filters, in F64 and without their zeros.

use super::spectrum::BINS;
use super::{MEL_BINS, SAMPLE_RATE};

/// Lowest and highest frequency of the filters, in Hz.
const RANGE: (f64, f64) = (125.0, 7600.0);

/// One triangle: the first bin it covers and its weights from there on.
struct Filter {
    first: usize,
    weights: Vec<f64>,
}

/// The filters in rising order.
pub(super) struct FilterBank(Vec<Filter>);

impl FilterBank {
    /// Triangles between neighbours of 130 points equally spaced on the HTK mel scale
    /// `2595·log10(1 + f/700)`, of height one (`create_fb_matrix`, norm null).
    pub fn new() -> Self {
        let mel = |hertz: f64| 2595.0 * libm::log10(1.0 + hertz / 700.0);
        let hertz = |mel: f64| 700.0 * (libm::pow(10.0, mel / 2595.0) - 1.0);
        let (low, high) = (mel(RANGE.0), mel(RANGE.1));
        let last = MEL_BINS + 1;
        let step = (high - low) / last as f64;
        // As `numpy.linspace`: the last point is the bound itself.
        let point = |i| {
            hertz(if i == last {
                high
            } else {
                i as f64 * step + low
            })
        };
        let spacing = f64::from(SAMPLE_RATE) / (2 * (BINS - 1)) as f64;
        let filter = |i| {
            let (left, centre, right) = (point(i), point(i + 1), point(i + 2));
            let weight = |bin| {
                let frequency = bin as f64 * spacing;
                let rising = -(left - frequency) / (centre - left);
                let falling = (right - frequency) / (right - centre);
                rising.min(falling).max(0.0)
            };
            let first = (0..BINS).find(|&bin| weight(bin) > 0.0).unwrap_or(BINS);
            let weights = (first..BINS).map(weight).take_while(|&w| w > 0.0).collect();
            Filter { first, weights }
        };
        Self((0..MEL_BINS).map(filter).collect())
    }

    /// The weighted sums of the magnitudes, each in order of rising frequency.
    pub fn apply<'a>(&'a self, magnitudes: &'a [f64; BINS]) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().map(|Filter { first, weights }| {
            weights
                .iter()
                .zip(&magnitudes[*first..])
                .map(|(w, m)| w * m)
                .sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_covers_a_bin_and_946_weights_are_not_zero() {
        let FilterBank(filters) = FilterBank::new();
        assert!(filters.iter().all(|filter| !filter.weights.is_empty()));
        assert_eq!(
            filters
                .iter()
                .map(|filter| filter.weights.len())
                .sum::<usize>(),
            946
        );
    }
}
