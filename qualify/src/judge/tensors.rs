//! The tensors of a judged report, and everything measured on them once more.

use std::path::{Path, PathBuf};

use oracle::Captures;
use reports::{
    Grid,
    measure::{compare, count_differing},
    policy::{Part, count_over, disagreement},
    verdict::Outcome,
    wire::{Boundary, Fingerprint, Measured, Report},
};
use stages::{BoundaryId, Tensor};

use crate::{
    failure::{Failure, Kind, OrFail},
    run::{self, values},
};

/// What `qualify run --captures` wrote.
pub struct Tensors {
    folder: PathBuf,
    reference: Captures,
    inherited: Captures,
    local: Option<Captures>,
    interp: Option<Captures>,
    /// What the files say they were made on.
    fingerprints: Vec<String>,
}

/// The files of a folder of captures.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let all = run::CAPTURED.into_iter();
    all.map(|side| run::capture_file(folder, side)).collect()
}

impl Tensors {
    /// Opens the files of a folder; values stay in them until they are looked at.
    ///
    /// # Errors
    /// When the reference's or the candidate's is missing, or any is malformed.
    pub fn open(folder: &Path) -> Result<Tensors, Failure> {
        let mut fingerprints = Vec::new();
        let mut load = |side: &str, needed: bool| {
            let file = run::capture_file(folder, side);
            if !needed && !file.exists() {
                return Ok(None);
            }
            let (captures, mut notes) = Captures::load(&file).or_fail(Kind::Input)?;
            fingerprints.extend(notes.remove("fingerprint"));
            Ok::<_, Failure>(Some(captures))
        };
        let reference = load("reference", true)?.unwrap_or_default();
        let inherited = load("inherited", true)?.unwrap_or_default();
        let (local, interp) = (load("local", false)?, load("interp", false)?);
        Ok(Tensors {
            folder: folder.to_owned(),
            reference,
            inherited,
            local,
            interp,
            fingerprints,
        })
    }

    /// Measures a report's boundaries once more and puts in what it had left out.
    ///
    /// # Errors
    /// When the tensors are of another run, lack a boundary, or say otherwise.
    pub fn measure(&self, report: &mut Report) -> Result<(), Failure> {
        for text in &self.fingerprints {
            let made_on = serde_json::from_str::<Fingerprint>(text).ok();
            if made_on.as_ref() != Some(&report.fingerprint) {
                return Err(self.refuse("their fingerprint is another than the report's"));
            }
        }
        for boundary in &mut report.boundaries {
            self.boundary(boundary)
                .map_err(|what| self.refuse(&format!("boundary {}: {what}", boundary.name)))?;
        }
        Ok(())
    }

    fn refuse(&self, why: &str) -> Failure {
        let folder = self.folder.display();
        let message = format!("judge the report by the captures in {folder}: {why}");
        Failure::new(Kind::Input, message)
    }

    fn boundary(&self, boundary: &mut Boundary) -> Result<(), String> {
        for part in Part::EACH {
            let Some(reported) = part.measured(boundary) else {
                continue;
            };
            if reported.failure.is_some() || reported.differing.is_none() {
                continue;
            }
            let (reference, candidate) = self.pair(&boundary.name, part)?;
            let measured = compare(
                values(reference),
                values(candidate),
                fitting(boundary, [reference, candidate])?,
                boundary.grid,
            );
            let measured = measured.map_err(|error| error.to_string())?;
            let measured = Measured::new(&Outcome::Measured(Box::new(measured)));
            if let Some(what) = disagreement(reported, &measured) {
                return Err(format!("{}: {what}", part.name()));
            }
            let reported = match part {
                Part::Local => boundary.local.as_mut(),
                Part::Inherited => Some(&mut boundary.inherited),
            };
            if let Some(reported) = reported {
                // What a run adds to a measurement on request is not in the tensors.
                let heat = reported.heat.take();
                let worst = std::mem::take(&mut reported.worst);
                *reported = Measured { heat, ..measured };
                if !worst.is_empty() {
                    reported.worst = worst;
                }
            }
        }
        self.interp(boundary)
    }

    /// Holds the counts of the interpreter, from which the cause follows, against its tensors.
    fn interp(&self, boundary: &Boundary) -> Result<(), String> {
        let id = BoundaryId::new(boundary.name.clone());
        let found = self.interp.as_ref().and_then(|captures| captures.get(&id));
        let Some((reported, interp)) = boundary.interp.zip(found) else {
            return Ok(());
        };
        let (reference, local) = self.pair(&boundary.name, Part::Local)?;
        let counted =
            [reference, local].map(|other| count_differing(values(interp), values(other)));
        let [from_reference, from_candidate] =
            counted.map(|n| n.map_err(|error| error.to_string()));
        let counted = (from_reference?, from_candidate?);
        if counted != (reported.differing, reported.candidate_differing) {
            let (a, b) = counted;
            return Err(format!(
                "interp is {reported:?}, the tensors give {a} and {b}"
            ));
        }
        Ok(())
    }

    fn pair(&self, name: &str, part: Part) -> Result<(&Tensor, &Tensor), String> {
        let id = BoundaryId::new(name);
        let candidate = match part {
            Part::Local => self.local.as_ref(),
            Part::Inherited => Some(&self.inherited),
        };
        let reference = self.reference.get(&id);
        let reference = reference.ok_or("the reference's tensors lack it")?;
        let candidate = candidate.and_then(|captures| captures.get(&id));
        let candidate = candidate.ok_or_else(|| format!("the {} tensors lack it", part.name()))?;
        Ok((reference, candidate))
    }

    /// How many pairs of a boundary are more than so many steps apart; `None` where values are off
    /// that grid or not there.
    pub fn count_over(&self, name: &str, part: Part, grid: Grid, ulp: u64) -> Option<u64> {
        let (reference, candidate) = self.pair(name, part).ok()?;
        count_over(values(reference), values(candidate), grid, ulp)
    }
}

/// The shape of a boundary, which both tensors have.
fn fitting<'b>(boundary: &'b Boundary, tensors: [&Tensor; 2]) -> Result<&'b [usize], String> {
    for tensor in tensors {
        if tensor.shape().dims() != boundary.shape {
            let (has, is) = (tensor.shape(), &boundary.shape);
            return Err(format!("a tensor has the shape {has}, the boundary {is:?}"));
        }
    }
    Ok(&boundary.shape)
}
