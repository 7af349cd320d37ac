//! What is left of a module that did not compile: its text, for whoever has to look at it.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use oracle::iree::IreeError;

use crate::{
    failure::{Failure, Kind, beginning},
    interrupt, scratch,
};

/// The failure that an error of the side `iree` is. The text of a module that the compiler
/// refused is kept in a file, with all that the compiler says.
pub fn failure(error: IreeError) -> Failure {
    let IreeError::Compile {
        name,
        text,
        diagnostics,
    } = error
    else {
        return Failure::caused(Kind::Environment, &error);
    };
    let _putting = interrupt::putting();
    let place = match keep(&name, &text, &diagnostics) {
        Ok(file) => format!("its text is in {}", file.display()),
        Err(error) => format!("its text could not be kept: {error}"),
    };
    let (shown, more) = beginning(&diagnostics);
    let more = match more {
        0 => String::new(),
        more => format!("\n… {more} more lines at the end of that file"),
    };
    Failure::new(
        Kind::Environment,
        format!("compile module {name}; {place}\n{shown}{more}"),
    )
}

fn keep(name: &str, text: &str, diagnostics: &str) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new()
        .prefix(&format!("qualify-{name}-"))
        .suffix(".mlir")
        .tempfile_in(scratch::outer())?;
    writeln!(file, "{}\n", text.trim_end())?;
    for line in diagnostics.lines() {
        writeln!(file, "// {line}")?;
    }
    Ok(file.keep()?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_kept_with_all_that_the_compiler_says_and_the_message_has_the_beginning() {
        let said: Vec<String> = (0..40).map(|i| format!("module.mlir:{i}:1: no")).collect();
        let failure = failure(IreeError::Compile {
            name: "steps".to_owned(),
            text: "module @steps {}".to_owned(),
            diagnostics: said.join("\n"),
        });
        assert_eq!(failure.exit_code().code(), 4);
        let message = failure.to_string();
        assert!(message.starts_with("failed to compile module steps; its text is in "));
        assert!(message.contains("\nmodule.mlir:11:1: no\n… 28 more lines"));
        let path = message.split("is in ").nth(1).unwrap();
        let path = path.split('\n').next().unwrap();
        let kept = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(kept.starts_with("module @steps {}\n\n// module.mlir:0:1: no\n"));
        assert!(kept.ends_with("// module.mlir:39:1: no\n"));
    }
}
