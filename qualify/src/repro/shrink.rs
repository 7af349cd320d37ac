//! `--shrink`: the smallest windows of a step's axes on which the sides still differ.
//!
//! As in delta debugging, a cut is kept if the difference survives it: first to the one place of
//! the worst element, then to halves, then to three quarters, class by class until nothing can be
//! cut any more. Both sides compute each trial anew.

use std::{collections::BTreeMap, ops::Range};

use oracle::Captures;
use stages::{
    Boundary, Tensor,
    graph::resize::{Alone, Axis, Class},
};

use super::{Compared, case, case::Case, measure};
use crate::{
    engine::Engine,
    failure::{Failure, Kind, OrFail},
    model::Model,
};

/// More trials than any step took; each compiles a module.
const TRIALS: usize = 400;

struct Search<'a> {
    model: &'a Model,
    engine: &'a Engine,
    step: Alone,
    tensors: BTreeMap<String, Tensor>,
    best: Compared,
    trials: usize,
}

/// Cuts the step of a boundary down. Gives the smallest case found and what was cut.
///
/// # Errors
/// When a side fails, or they do not differ once the step stands alone.
pub fn shrink(
    model: &Model,
    boundary: &Boundary,
    captures: &Captures,
    engine: &Engine,
) -> Result<(Compared, Vec<String>), Failure> {
    let step = Alone::step(&model.graph, boundary).or_fail(Kind::Environment)?;
    let tensors = case::tensors(model, &step, captures);
    let Some(best) = differing(model, &step, &tensors, engine)? else {
        let message = "shrink the step: standing alone, with row-major inputs, both sides have \
                       the same bits; leave --shrink out";
        return Err(Failure::new(Kind::Environment, message));
    };
    let mut search = Search {
        model,
        engine,
        step,
        tensors,
        best,
        trials: 0,
    };
    let mut story = Vec::new();
    while search.pass(&mut story)? {}
    Ok((search.best, story))
}

/// Both sides of a step, if they differ.
fn differing(
    model: &Model,
    step: &Alone,
    tensors: &BTreeMap<String, Tensor>,
    engine: &Engine,
) -> Result<Option<Compared>, Failure> {
    let case = Case::alone(model, step, tensors, engine)?;
    let observed = case.observe(engine)?;
    let measured = measure(&case, &observed)?;
    Ok((measured.differing != Some(0)).then_some(Compared {
        case,
        observed,
        measured,
    }))
}

impl Search<'_> {
    /// Tries every class once. Whether anything was cut.
    fn pass(&mut self, story: &mut Vec<String>) -> Result<bool, Failure> {
        let keys: Vec<Axis> = self.step.classes().iter().map(|c| c.axes[0]).collect();
        let mut any = false;
        for key in keys {
            let before = self.class(key).map_or(1, |(_, class)| class.extent);
            while let Some((index, class)) = self.class(key) {
                let windows = windows(class.extent, self.worst(&class));
                if !self.try_windows(index, windows)? {
                    break;
                }
            }
            let after = self.class(key).map_or(1, |(_, class)| class.extent);
            if after < before {
                let what = self.describe(key);
                story.push(format!("{what}: {before} cut to {after}"));
                any = true;
            }
        }
        Ok(any && self.trials < TRIALS)
    }

    fn try_windows(&mut self, index: usize, windows: Vec<Range<usize>>) -> Result<bool, Failure> {
        for window in windows {
            if self.trials >= TRIALS {
                return Ok(false);
            }
            self.trials += 1;
            let Ok(cut) = self.step.cut(index, window) else {
                continue;
            };
            let parts = self.tensors.iter().map(|(name, tensor)| {
                let part = cut.part(name, tensor).or_fail(Kind::Environment)?;
                Ok((name.clone(), part))
            });
            let parts = parts.collect::<Result<BTreeMap<_, _>, Failure>>()?;
            if let Some(best) = differing(self.model, &cut.step, &parts, self.engine)? {
                self.step = cut.step;
                self.tensors = parts;
                self.best = best;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The class of an axis: values keep their numbers when a step is cut.
    fn class(&self, key: Axis) -> Option<(usize, Class)> {
        let mut classes = self.step.classes().iter().enumerate();
        let found = classes.find(|(_, class)| class.axes.contains(&key));
        found.map(|(index, class)| (index, class.clone()))
    }

    /// Where along a class the worst element lies, if the result has an axis of it.
    fn worst(&self, class: &Class) -> Option<usize> {
        let result = self.step.graph.boundaries().first()?.value;
        let axis = class.axes.iter().find(|axis| axis.value == result)?.axis;
        self.best.measured.worst.first()?.index.get(axis).copied()
    }

    /// What a class is called: its first axis.
    fn describe(&self, key: Axis) -> String {
        let node = self.step.graph.node(key.value);
        let name = match &node.op {
            stages::graph::Op::Input { name } | stages::graph::Op::Weight { name } => name.clone(),
            op => op.name().to_owned(),
        };
        format!("axis {} of {name}", key.axis)
    }
}

/// What to try of `extent` places, the most promising first.
fn windows(extent: usize, worst: Option<usize>) -> Vec<Range<usize>> {
    let around = |len: usize| {
        let at = worst.unwrap_or(extent / 2);
        let start = at.saturating_sub(len / 2).min(extent - len);
        start..start + len
    };
    let mut windows = vec![around(1)];
    for len in [extent / 2, extent * 3 / 4, extent - 1] {
        if len > 0 && len < extent {
            windows.extend([around(len), 0..len, extent - len..extent]);
        }
    }
    let mut seen = Vec::new();
    windows.retain(|window| {
        let new = !seen.contains(window);
        seen.push(window.clone());
        new
    });
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_within_and_are_shorter() {
        for extent in 2..40 {
            for worst in [None, Some(0), Some(extent - 1)] {
                for window in windows(extent, worst) {
                    assert!(!window.is_empty() && window.end <= extent, "{window:?}");
                    assert!(window.len() < extent);
                }
            }
        }
        assert_eq!(windows(8, Some(5))[0], 5..6);
    }
}
