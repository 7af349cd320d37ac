//! `qualify ab`: the same run twice but for one thing, and what that thing changes.
//!
//! Each arm is a run of its own process, so that a variable is set before MLX reads it, and runs
//! every side several times: a difference between arms says nothing where an arm differs from
//! itself. What is compared are the bits of each side, arm against arm, and both arms' distance
//! from their reference.

mod arm;
mod text;

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use oracle::Captures;
use reports::{
    diff::{About, Diff, diff},
    verdict::{ExitCode, Verdict},
    wire::{is_stdout, write_json},
};
use schemars::JsonSchema;
use serde::Serialize;
use stages::Tensor;

use crate::{
    failure::{Failure, Kind, OrFail},
    run,
};

use arm::{Arm, Factor};

/// What `--help` says of exit codes.
pub const CODES: &str = "\
Everything behind the flags of ab is handed to `qualify run`:
  qualify ab --env MLX_ENABLE_TF32=0,1 --stage conformer.0.attention --profile f32
  qualify ab --contract mlx-cpu,native --stage sscp_conv_0
  qualify ab --flag device=local-task,local-sync

Exit codes:
  0    the arms have the same bits, on both sides, at every boundary
  1    they do not
  3    a side does not repeat itself in an arm, or an arm has boundaries that the other lacks
  2, 4, 5 as of run; of the first arm that fails";

/// Arguments of `ab`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("factor").required(true).args(["env", "contract", "flag"])))]
pub struct AbArgs {
    /// An environment variable and its two values
    #[arg(long, value_name = "NAME=A,B")]
    pub env: Option<String>,

    /// Two contracts
    #[arg(long, value_name = "A,B")]
    pub contract: Option<String>,

    /// A flag of `qualify run` and its two values
    #[arg(long, value_name = "NAME=A,B")]
    pub flag: Option<String>,

    /// How often each arm runs each side
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub repeat: u32,

    /// Write what was found here, as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Keep both arms' reports here: `a.json` and `b.json`
    #[arg(long, value_name = "DIR")]
    pub reports: Option<PathBuf>,

    /// Flags of `qualify run`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "FLAGS OF run"
    )]
    pub run: Vec<String>,
}

/// What two arms have different.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Experiment {
    /// 1.
    pub schema_version: u32,
    /// What is not the same in both arms, such as `environment MLX_ENABLE_TF32`.
    pub factor: String,
    /// The arms.
    pub arms: [ArmSummary; 2],
    /// Of each side, the boundaries at which the arms have different bits.
    pub sides: Vec<SideChange>,
    /// Both arms' distance from their own reference, compared.
    pub diff: Diff,
    /// 0, 1 or 3.
    pub exit_code: u8,
}

/// An arm and how its run came out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArmSummary {
    /// The value that it has and the other has not.
    pub value: String,
    /// Of its run.
    pub verdict: Verdict,
    /// How many boundaries were judged.
    pub boundaries: usize,
    /// The boundaries at which a side did not repeat itself.
    pub unstable: Vec<String>,
}

/// What the factor changes on one side.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SideChange {
    /// `reference` or `candidate`.
    pub side: String,
    /// How many boundaries were compared.
    pub boundaries: usize,
    /// How many elements.
    pub elements: u64,
    /// The boundaries with different bits, in graph order.
    pub changed: Vec<Changed>,
    /// The boundaries that only one of the arms has, which are not compared.
    pub in_one_arm: Vec<String>,
}

/// A boundary at which the arms differ.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Changed {
    /// Its name.
    pub boundary: String,
    /// Elements with different bits, of all there are.
    pub differing: u64,
    /// How many there are.
    pub elements: u64,
}

impl AbArgs {
    /// Whether standard output is taken.
    pub fn takes_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }

    fn factor(&self) -> Result<Factor, Failure> {
        let flag = self
            .contract
            .as_ref()
            .map(|values| format!("contract={values}"));
        let flag = flag.or_else(|| self.flag.clone());
        match (&self.env, flag) {
            (Some(text), _) => Factor::environment(text),
            (None, Some(text)) => Factor::flag(&text),
            (None, None) => Err(Failure::usage(
                "one of --env, --contract and --flag is needed",
            )),
        }
    }
}

/// Runs both arms and compares them. Gives the text to print and the exit code.
///
/// # Errors
/// When an arm cannot run, or a file cannot be written.
pub fn ab(args: &AbArgs) -> Result<(String, ExitCode), Failure> {
    let factor = args.factor()?;
    if let Some(own) = args.run.iter().find(|word| is_own(word)) {
        return Err(Failure::usage(format!(
            "{own} stands behind the flags of run: --json, --reports and --repeat of ab come before \
             them, and ab sets --report and --captures of run itself"
        )));
    }
    if OWN.iter().any(|own| factor.is_flag(own)) {
        return Err(Failure::usage(format!("{factor} is set by ab itself")));
    }
    if let Some(file) = &args.json {
        run::check_output(file, &[])?;
    }
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::new(
            Kind::Environment,
            format!("make a temporary folder: {error}"),
        )
    })?;
    let mut arms = Vec::new();
    for (letter, value) in ["a", "b"].into_iter().zip(factor.values()) {
        let place = folder.path().join(letter);
        match Arm::run(&factor, value, args.repeat, &args.run, &place)? {
            Ok(arm) => arms.push(arm),
            Err(code) => {
                let text = format!("arm {letter} ({value}) could not run; nothing was compared\n");
                return Ok((text, code));
            }
        }
    }
    let [a, b] = match <[Arm; 2]>::try_from(arms) {
        Ok(arms) => arms,
        Err(_) => return Err(Failure::new(Kind::Environment, "run both arms")),
    };
    if let Some(folder) = &args.reports {
        keep(folder, [&a, &b])?;
    }
    let sides = vec![
        side("reference", &a.reference, &b.reference),
        side("candidate", &a.candidate, &b.candidate),
    ];
    // The factor is in the fingerprint, the model or both: that is the point.
    let found = diff(&a.report, &b.report, ["a", "b"], &About::ALL);
    let mut experiment = Experiment {
        schema_version: 1,
        factor: factor.to_string(),
        arms: [&a, &b].map(Arm::summary),
        sides,
        diff: found,
        exit_code: 0,
    };
    let code = conclusion(&experiment);
    experiment.exit_code = code.code();
    if let Some(file) = &args.json {
        run::unless_closed(file, write_json(file, &experiment)).or_fail(Kind::Environment)?;
    }
    Ok((text::render(&experiment), code))
}

/// Flags that ab has itself or sets for its runs.
const OWN: [&str; 5] = ["json", "reports", "repeat", "report", "captures"];

fn is_own(word: &str) -> bool {
    let name = word.strip_prefix("--").map(|flag| flag.split('=').next());
    name.flatten().is_some_and(|name| OWN.contains(&name))
}

fn conclusion(experiment: &Experiment) -> ExitCode {
    let untold = |arm: &ArmSummary| !arm.unstable.is_empty() || arm.boundaries == 0;
    let lacking = experiment
        .sides
        .iter()
        .any(|side| !side.in_one_arm.is_empty());
    if lacking || experiment.arms.iter().any(untold) {
        ExitCode::INCONCLUSIVE
    } else if experiment.sides.iter().any(|side| !side.changed.is_empty()) {
        ExitCode::DIVERGED
    } else {
        ExitCode::QUALIFIED
    }
}

/// Where one side's bits differ between the arms, at the boundaries that both have.
fn side(name: &str, a: &Captures, b: &Captures) -> SideChange {
    let mut change = SideChange {
        side: name.to_owned(),
        boundaries: 0,
        elements: 0,
        changed: Vec::new(),
        in_one_arm: Vec::new(),
    };
    for (id, first) in a.iter() {
        let elements = first.shape().elements() as u64;
        let Some(second) = b.get(id) else {
            change.in_one_arm.push(id.as_str().to_owned());
            continue;
        };
        let differing = differing(first, second);
        change.boundaries += 1;
        change.elements += elements;
        if differing > 0 {
            change.changed.push(Changed {
                boundary: id.as_str().to_owned(),
                differing,
                elements,
            });
        }
    }
    let only_b = b.iter().filter(|(id, _)| a.get(id).is_none());
    let only_b = only_b.map(|(id, _)| id.as_str().to_owned());
    change.in_one_arm.extend(only_b);
    change
}

/// Elements of other bits. Captures are stored in the narrowest dtype that holds them, so floats
/// are compared as F32.
fn differing(a: &Tensor, b: &Tensor) -> u64 {
    if a.shape() != b.shape() {
        return a.shape().elements() as u64;
    }
    let count = match (a.to_f32(), b.to_f32()) {
        (Some(a), Some(b)) => {
            let differ =
                |(a, b): &(&f32, &f32)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan());
            a.iter().zip(b.iter()).filter(differ).count()
        }
        _ => {
            let size = a.dtype().size().max(1);
            let pairs = a.bytes().chunks(size).zip(b.bytes().chunks(size));
            pairs.filter(|(a, b)| a != b).count()
        }
    };
    count as u64
}

fn keep(folder: &std::path::Path, arms: [&Arm; 2]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("make the folder {}: {error}", folder.display());
        Failure::new(Kind::Environment, message)
    })?;
    for (arm, name) in arms.into_iter().zip(["a.json", "b.json"]) {
        write_json(&folder.join(name), &arm.report).or_fail(Kind::Environment)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stages::BoundaryId;

    use super::*;

    fn captures(values: &[f32]) -> Captures {
        let mut captures = Captures::new();
        let tensor = Tensor::from_f32([values.len()], values).unwrap();
        captures.insert(BoundaryId::new("x"), tensor);
        captures
    }

    #[test]
    fn bits_are_compared_and_nans_are_all_the_same() {
        let a = captures(&[0.0, f32::NAN, 1.0]);
        let b = captures(&[-0.0, -f32::NAN, 1.0]);
        let change = side("reference", &a, &b);
        assert_eq!((change.boundaries, change.elements), (1, 3));
        assert_eq!(change.changed[0].differing, 1);
        assert!(side("reference", &a, &a).changed.is_empty());
    }

    #[test]
    fn a_boundary_that_one_arm_lacks_is_not_compared() {
        let one = captures(&[1.0, 2.0]);
        for (a, b) in [(&one, &Captures::new()), (&Captures::new(), &one)] {
            let change = side("candidate", a, b);
            assert!(change.changed.is_empty());
            assert_eq!(change.in_one_arm, ["x"]);
        }
    }

    #[test]
    fn flags_that_ab_sets_itself_are_told_from_those_of_run() {
        assert!(is_own("--json") && is_own("--report=x"));
        assert!(!is_own("--stage") && !is_own("json"));
    }
}
