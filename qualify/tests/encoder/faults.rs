//! What in a report is not as it must be.

use fixtures::data_dir;
use reports::{
    verdict::Verdict,
    wire::{Boundary as Judged, Flag, Report},
};
use stages::{AudioConfig, Boundary, model::gemma3n_audio::audio_encoder};

use crate::{clips::valid, run::Run};

/// All of it, a line each.
pub fn of(run: &Run, report: &Report) -> Vec<String> {
    let mut faults = Vec::new();
    let mut demand = |holds: bool, otherwise: &dyn Fn() -> String| {
        if !holds {
            faults.push(otherwise());
        }
    };
    let (model, inputs) = (&report.model, &report.inputs);
    let frames = run.bucket();
    demand(model.bucket == frames.count(), &|| {
        format!("bucket {}", model.bucket)
    });
    demand(model.clips == run.clips.len(), &|| {
        format!("{} clips", model.clips)
    });
    demand(model.profile == run.profile.name(), &|| {
        format!("profile {}", model.profile)
    });
    demand(inputs.frames == valid(&run.clips, run.padding), &|| {
        format!("valid frames {:?}", inputs.frames)
    });
    demand(inputs.padding == run.padding.to_string(), &|| {
        format!("padded on the {}", inputs.padding)
    });
    demand(report.non_interference.tapped == Some(true), &|| {
        "production and tapped do not agree".to_owned()
    });
    demand(report.non_interference.chained == Some(true), &|| {
        "the chained steps and tapped do not agree".to_owned()
    });
    demand(report.verdict == Verdict::BitExact, &|| {
        format!("the run is {:?}", report.verdict)
    });
    demand(report.exit_code == 0, &|| {
        format!("exit code {} in the report", report.exit_code)
    });

    let config = AudioConfig::read(&data_dir().unwrap().join(run.fixture)).unwrap();
    let graph = audio_encoder(&config, run.profile, run.clips.len(), frames).unwrap();
    let all: Vec<&Boundary> = graph.boundaries().iter().collect();
    let names = all.iter().map(|boundary| boundary.id.as_str());
    let judged = report.boundaries.iter().map(|judged| judged.name.as_str());
    demand(judged.eq(names), &|| {
        let count = report.boundaries.len();
        format!("{count} boundaries, not the {} of the graph", all.len())
    });
    for (boundary, judged) in all.iter().zip(&report.boundaries) {
        let shape = graph.info(boundary.value).shape.dims();
        demand(judged.shape == shape, &|| {
            format!("{} {:?}, not {shape:?}", judged.name, judged.shape)
        });
    }
    let interpreted = run.interp == "on";
    faults.extend(report.boundaries.iter().filter_map(|judged| {
        let counts = Counts::of(judged);
        (!counts.are_exact(interpreted)).then(|| format!("{}: {counts:?}", judged.name))
    }));
    faults
}

/// What must be 0 of a boundary, and what is said of it.
#[derive(Debug)]
struct Counts {
    verdict: Verdict,
    elements: u64,
    inherited: Option<u64>,
    local: Option<u64>,
    interp: Option<(u64, u64)>,
    not_finite: u64,
    off_grid: bool,
    cause: Option<String>,
}

impl Counts {
    fn of(judged: &Judged) -> Counts {
        let (inherited, local) = (&judged.inherited, judged.local.as_ref());
        Counts {
            verdict: judged.verdict,
            elements: judged.elements,
            inherited: inherited.differing,
            local: local.and_then(|local| local.differing),
            interp: judged
                .interp
                .map(|interp| (interp.differing, interp.candidate_differing)),
            not_finite: inherited.nan.unwrap_or(0) + inherited.inf.unwrap_or(0),
            off_grid: judged.flags.contains(&Flag::OffGrid),
            cause: judged.cause.map(|cause| format!("{cause:?}")),
        }
    }

    fn are_exact(&self, interpreted: bool) -> bool {
        let interp = match self.interp {
            Some(counts) => counts == (0, 0),
            None => !interpreted,
        };
        let differ = [self.inherited, self.local] != [Some(0); 2];
        let exact = self.verdict == Verdict::BitExact && self.cause.is_none();
        exact && !differ && interp && self.not_finite == 0 && !self.off_grid && self.elements > 0
    }
}
