//! The elements that are furthest off, kept while a tensor is read once.

/// How many elements a measurement keeps.
pub const WORST: usize = 32;

/// A pair of differing elements: where it is and both sides' bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offender {
    /// Grows with badness, see [`rank`].
    pub rank: u64,
    /// Row-major index.
    pub index: u64,
    pub reference: u32,
    pub candidate: u32,
}

/// The rank of a NaN against a number: above everything.
pub(crate) const NAN_RANK: u64 = u64::MAX;
/// The rank of an infinity against anything else: above every finite difference.
pub(crate) const INF_RANK: u64 = 0x7ff0_0000_0000_0000;

/// The rank of a finite difference: non-negative doubles are ordered as their bits are.
#[inline(always)]
pub(crate) const fn rank(magnitude: f64) -> u64 {
    magnitude.to_bits()
}

/// Up to [`WORST`] offenders, by rank falling, then by index rising.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worst(Vec<Offender>);

impl Worst {
    pub fn new() -> Self {
        Self(Vec::with_capacity(WORST))
    }

    /// Whether an offender of this rank, at a higher index than all so far, would be kept.
    #[inline(always)]
    pub fn admits(&self, rank: u64) -> bool {
        self.0.len() < WORST || self.0.last().is_some_and(|last| rank > last.rank)
    }

    /// The finite difference an offender must exceed to be kept; `None` while all are.
    #[inline(always)]
    pub fn floor(&self) -> Option<f64> {
        let last = self.0.get(WORST - 1)?;
        Some(f64::from_bits(last.rank.min(INF_RANK)))
    }

    #[inline]
    pub fn offer(&mut self, offender: Offender) {
        if self.admits(offender.rank) {
            self.insert(offender);
        }
    }

    #[inline(never)]
    fn insert(&mut self, offender: Offender) {
        let key = |o: &Offender| (std::cmp::Reverse(o.rank), o.index);
        let at = self.0.partition_point(|o| key(o) < key(&offender));
        self.0.truncate(WORST - 1);
        self.0.insert(at, offender);
    }

    /// Takes in the offenders of later elements.
    pub fn merge(&mut self, later: &Self) {
        for &offender in &later.0 {
            self.offer(offender);
        }
    }

    pub fn into_sorted(self) -> Vec<Offender> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_list_is_the_head_of_a_stable_sort(ranks in proptest::collection::vec(0..40_u64, 0..200)) {
            let all: Vec<Offender> = (0..).zip(&ranks)
                .map(|(index, &rank)| Offender { rank, index, reference: 0, candidate: 1 })
                .collect();
            let cut = all.len() / 3;
            let (mut first, mut second) = (Worst::new(), Worst::new());
            all[..cut].iter().for_each(|&o| first.offer(o));
            all[cut..].iter().for_each(|&o| second.offer(o));
            first.merge(&second);
            let mut sorted = all;
            sorted.sort_by_key(|o| std::cmp::Reverse(o.rank));
            sorted.truncate(WORST);
            prop_assert_eq!(first.into_sorted(), sorted);
        }
    }
}
