//! `--repeat`: whether a side gives the same bits each time.

use std::collections::BTreeMap;

use oracle::Captures;
use reports::wire::Repeat;
use stages::BoundaryId;

/// The boundaries at which a side did not repeat itself, and in which run that was first seen.
#[derive(Debug, Default)]
pub struct Unstable(BTreeMap<BoundaryId, u32>);

impl Unstable {
    /// Notes where run number `run`, counted from 1, has other bits than the first.
    pub fn note(&mut self, run: u32, first: &Captures, again: &Captures) {
        for (id, tensor) in first.iter() {
            let same = again
                .get(id)
                .is_some_and(|other| other.bytes() == tensor.bytes());
            if !same {
                self.0.entry(id.clone()).or_insert(run);
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.0.keys().map(|id| id.as_str().to_owned()).collect()
    }
}

/// What repeating the sides showed.
#[derive(Debug, Default)]
pub struct Repeated {
    /// How often each side was run.
    pub runs: u32,
    /// Of the reference; `None` for a recording.
    pub reference: Option<Unstable>,
    /// Of the candidate; `None` for a recording.
    pub candidate: Option<Unstable>,
}

impl Repeated {
    /// Why nothing can be said of a boundary, if a side does not repeat itself there.
    pub fn refusal(&self, id: &BoundaryId) -> Option<String> {
        let sides = [
            ("reference", &self.reference),
            ("candidate", &self.candidate),
        ];
        sides.into_iter().find_map(|(side, unstable)| {
            let run = unstable.as_ref()?.0.get(id)?;
            let runs = self.runs;
            Some(format!(
                "not repeatable: run {run} of {runs} of the {side} gave other bits than the first"
            ))
        })
    }

    /// For the report; `None` where each side was run once.
    pub fn reported(&self) -> Option<Repeat> {
        let names = |unstable: &Option<Unstable>| unstable.as_ref().map(Unstable::names);
        (self.runs > 1).then(|| Repeat {
            runs: self.runs,
            reference: names(&self.reference),
            candidate: names(&self.candidate),
        })
    }
}

#[cfg(test)]
mod tests {
    use stages::Tensor;

    use super::*;

    fn captures(values: [f32; 2]) -> Captures {
        let mut captures = Captures::new();
        for (name, value) in ["a", "b"].into_iter().zip(values) {
            let tensor = Tensor::from_f32([1], &[value]).unwrap();
            captures.insert(BoundaryId::new(name), tensor);
        }
        captures
    }

    #[test]
    fn the_first_run_with_other_bits_is_named() {
        let mut unstable = Unstable::default();
        unstable.note(2, &captures([1.0, 0.0]), &captures([1.0, 0.0]));
        unstable.note(3, &captures([1.0, 0.0]), &captures([1.0, -0.0]));
        unstable.note(4, &captures([1.0, 0.0]), &captures([1.0, 2.0]));
        let repeated = Repeated {
            runs: 4,
            reference: None,
            candidate: Some(unstable),
        };
        assert_eq!(repeated.refusal(&BoundaryId::new("a")), None);
        let refusal = repeated.refusal(&BoundaryId::new("b")).unwrap();
        assert!(refusal.contains("run 3 of 4 of the candidate"), "{refusal}");
        let reported = repeated.reported().unwrap();
        assert_eq!(reported.reference, None);
        assert_eq!(reported.candidate, Some(vec!["b".to_owned()]));
    }

    #[test]
    fn a_boundary_that_is_missing_the_second_time_is_not_repeatable() {
        let mut unstable = Unstable::default();
        unstable.note(2, &captures([1.0, 0.0]), &Captures::new());
        assert_eq!(unstable.names(), ["a", "b"]);
    }
}
