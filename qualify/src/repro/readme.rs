//! What the folder says of itself: a README, and the commands as a script.

use std::fmt::Write;

use emitter::program::Elem;
use runtime::Native;
use stages::{DType, Shape, Tensor};

use super::{
    Compared,
    case::FUNCTION,
    folder::{COMPARISON, EXPECTED, MODULE, OBSERVED, SCRIPT, TENSORS, input},
};

/// A reference's tensor as the compiled function returns it: BF16 widened to F32.
pub fn carried(tensor: &Tensor) -> Tensor {
    match (tensor.dtype(), tensor.to_f32()) {
        (DType::BF16 | DType::F16, Some(wide)) => {
            Tensor::from_f32(tensor.shape().clone(), &wide).unwrap_or_else(|_| tensor.clone())
        }
        _ => tensor.clone(),
    }
}

const fn type_name(elem: Elem) -> &'static str {
    match elem {
        Elem::F32 => "f32",
        Elem::Bf16 => "bf16",
        Elem::I32 => "i32",
        Elem::Bool => "i8",
    }
}

/// A shape and type as `iree-run-module` takes them: `2x3xf32`.
fn typed(shape: &Shape, elem: Elem) -> String {
    let extents: String = shape.dims().iter().map(|n| format!("{n}x")).collect();
    format!("{extents}{}", type_name(elem))
}

/// The commands, one a line, for the folder as the working directory.
pub fn script(compared: &Compared) -> String {
    let Compared { case, observed, .. } = compared;
    let flags: String = observed
        .flags
        .iter()
        .map(|flag| format!(" \\\n    '{flag}'"))
        .collect();
    let arguments = case.arguments.iter().enumerate().map(|(i, argument)| {
        let kind = typed(argument.tensor.shape(), argument.elem);
        format!(" \\\n    --input={kind}=@{}", input(i))
    });
    let arguments: String = arguments.collect();
    format!(
        "#!/usr/bin/env bash\n\
         # Exit code 0: the result has the bits that qualify observed.\n\
         set -euo pipefail\n\
         cd -- \"$(dirname -- \"$(readlink -f -- \"${{BASH_SOURCE[0]}}\")\")\"\n\
         \"${{IREE_COMPILE:-iree-compile}}\" {MODULE} -o step.vmfb{flags}\n\
         \"${{IREE_RUN_MODULE:-iree-run-module}}\" --module=step.vmfb --device=local-task \
         --function={FUNCTION}{arguments} \\\n    --output=@output.bin\n\
         echo \"bytes that differ from what is expected: $(cmp -l output.bin {EXPECTED} | wc -l)\"\n\
         cmp output.bin {OBSERVED} && echo 'the same bits as qualify observed'\n"
    )
}

/// The README. `story` says what was cut away.
pub fn text(compared: &Compared, native: &Native, command: &[String], story: &[String]) -> String {
    let Compared { case, measured, .. } = compared;
    let elements = case.expected.shape().elements();
    let differing = measured.differing.unwrap_or_default();
    let mut text = format!(
        "# {}\n\n{differing} of {elements} elements of this step, run by IREE, differ from those \
         of the reference, MLX {}, on the same inputs.\n\n",
        case.boundary, native.mlx.version
    );
    if let (Some(max_abs), Some(rms)) = (measured.max_abs, measured.rms) {
        let _ = writeln!(
            text,
            "Largest difference {max_abs:e}, root mean square {rms:e}."
        );
    }
    if let Some(ulp) = &measured.ulp_f32 {
        let _ = writeln!(
            text,
            "In units of the last place of F32: at most {}, {} over one.",
            ulp.max, ulp.over_one
        );
    }
    let _ = write!(
        text,
        "\n## Run it\n\nWith `iree-compile` and `iree-run-module` {} (`pip install \
         iree-base-compiler=={} iree-base-runtime=={}`):\n\n```sh\n./{SCRIPT}\n```\n\nIt compiles \
         `{MODULE}` with the flags that the shipped module is compiled with, runs it, and compares \
         the result with `{OBSERVED}`, byte by byte. Numbers are little-endian. BF16 results are \
         carried as F32.\n\n",
        native.iree.version, native.iree.version, native.iree.version
    );
    text.push_str("| file | type | what |\n|---|---|---|\n");
    for (i, argument) in case.arguments.iter().enumerate() {
        let kind = typed(argument.tensor.shape(), argument.elem);
        let _ = writeln!(text, "| `{}` | {kind} | `{}` |", input(i), argument.name);
    }
    let result = carried(&case.expected);
    let elem = match result.dtype() {
        DType::F32 => Elem::F32,
        DType::BF16 | DType::F16 => Elem::Bf16,
        DType::I32 | DType::U32 => Elem::I32,
        DType::Bool => Elem::Bool,
    };
    let kind = typed(result.shape(), elem);
    let _ = write!(
        text,
        "| `{EXPECTED}` | {kind} | the reference's result |\n| `{OBSERVED}` | {kind} | IREE's, in \
         qualify's process |\n| `{TENSORS}` | | all of them, with names and shapes |\n| \
         `{COMPARISON}` | | the comparison |\n"
    );
    if !measured.worst.is_empty() {
        text.push_str("\n## Worst elements\n\n| index | expected | observed |\n|---|---|---|\n");
        for worst in measured.worst.iter().take(10) {
            let _ = writeln!(
                text,
                "| {:?} | {} ({}) | {} ({}) |",
                worst.index,
                worst.reference,
                worst.reference_bits,
                worst.candidate,
                worst.candidate_bits
            );
        }
    }
    if !story.is_empty() {
        text.push_str("\n## What was cut away\n\n");
        story.iter().for_each(|line| {
            let _ = writeln!(text, "- {line}");
        });
    }
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let _ = write!(text, "\n## Made by\n\n```sh\n{}\n```\n", command.join(" "));
    text
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelt_as_the_runner_takes_them() {
        assert_eq!(typed(&[2, 3].into(), Elem::F32), "2x3xf32");
        assert_eq!(typed(&Shape::scalar(), Elem::Bool), "i8");
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("--stage=a.b"), "--stage=a.b");
        assert_eq!(quoted("conformer.*"), "'conformer.*'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
