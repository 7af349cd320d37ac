//! Outcomes in words of the report.

use std::fmt::Display;

use emitter::target::TargetClass;
use probes::catalogue::{Case, Compared, Differing, Digest, Family, Outcome, SideError};
use reports::wire::{Bits, OpBits, OpCase, OpElement, OpSide, OpTarget};

use crate::failure::{beginning, said};

/// A target's name.
pub const fn target(class: TargetClass) -> &'static str {
    match class {
        TargetClass::Full => "fma",
        TargetClass::NoFma => "no-fma",
    }
}

/// A case and its outcome.
pub fn case(family: Family, case: &Case, outcome: &Outcome) -> OpCase {
    let iree = outcome.iree.iter().map(|(class, result)| OpTarget {
        target: target(*class).to_owned(),
        side: side(result),
    });
    let mut wire = OpCase {
        name: case.name().to_owned(),
        family: family.name().to_owned(),
        primitive: case.primitive().to_owned(),
        dtype: case.dtype().name().to_owned(),
        shape: case.node().info.shape.dims().to_vec(),
        elements: outcome.elements as u64,
        case_sha256: outcome.case.to_string(),
        text_sha256: outcome.text.as_ref().map(Digest::to_string),
        mlx: match &outcome.mlx {
            Ok(digest) => ran(digest, Some(0)),
            Err(error) => failed(error),
        },
        interp: outcome.interp.as_ref().map(side),
        iree: iree.collect(),
        cause: None,
        first: outcome.first.iter().map(element).collect(),
    };
    wire.cause = wire.blamed();
    wire
}

fn side(result: &Result<Compared, SideError>) -> OpSide {
    match result {
        Ok(compared) => ran(&compared.digest, compared.differing),
        Err(error) => failed(error),
    }
}

fn ran(digest: &impl Display, differing: Option<u64>) -> OpSide {
    OpSide {
        sha256: Some(digest.to_string()),
        differing,
        error: None,
    }
}

fn failed(error: &SideError) -> OpSide {
    let (text, _) = beginning(&said(error));
    OpSide {
        sha256: None,
        differing: None,
        error: Some(format!("failed to {text}")),
    }
}

fn element(differing: &Differing) -> OpElement {
    let iree = differing.iree.iter().map(|(class, bits)| OpBits {
        target: target(*class).to_owned(),
        bits: Bits(*bits),
    });
    OpElement {
        element: differing.element as u64,
        operands: differing.operands.iter().map(|&bits| Bits(bits)).collect(),
        mlx: Bits(differing.mlx),
        interp: differing.interp.map(Bits),
        iree: iree.collect(),
    }
}
