//! Compiles a program and reads its code.

use std::{collections::BTreeMap, fs, io, path::Path};

use emitter::{
    mlir::{Function, print_module_with},
    program::{Op, Program},
    target::TargetClass,
};
use runtime::{CompileError, Compiler};

use super::{
    code::{Found, Sign, instructions, search},
    states::{Finding, States},
    target::Target,
};

/// Why code could not be looked at; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// It does not compile for the target.
    #[error("compile for {target}: {error}")]
    Compile {
        /// The target.
        target: Target,
        /// Why.
        error: CompileError,
    },
    /// The compiler's intermediates cannot be read.
    #[error("read the compiler's intermediates in {folder}: {source}")]
    Read {
        /// The folder.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// The compiler wrote no code, though the program computes something.
    #[error("find the code: the compiler wrote none to {0}")]
    NoCode(String),
}

/// What was found in the code of a program.
#[derive(Clone, Debug, Default)]
pub struct Audited {
    /// What the program states.
    pub states: States,
    /// All signs.
    pub signs: BTreeMap<Sign, Found>,
    /// Those that go against it.
    pub findings: Vec<Finding>,
    /// How many instructions were searched.
    pub instructions: usize,
}

/// Compiles a program for a target, in a module of that class, and searches its code. `folder` is
/// an empty one for the compiler's intermediates.
///
/// # Errors
/// When it does not compile, or its code cannot be read.
pub fn audit(
    compiler: &Compiler,
    program: &Program,
    target: Target,
    class: TargetClass,
    folder: &Path,
) -> Result<Audited, AuditError> {
    let function = Function {
        name: "f0",
        program,
    };
    let text = print_module_with("audit", &[function], target.hints());
    let mut flags = target.flags(class, !program.is_exact());
    flags.push(format!(
        "--iree-hal-dump-executable-files-to={}",
        folder.display()
    ));
    let compiled = compiler.compile_with(&text, &flags);
    compiled.map_err(|error| AuditError::Compile { target, error })?;
    let code = code_in(folder, target).map_err(|source| AuditError::Read {
        folder: folder.display().to_string(),
        source,
    })?;
    // What depends on no argument may be computed by the compiler itself.
    let computes = |op: &Op| !op.is_movement() && !matches!(op, Op::Fill { .. });
    let computes = program.nodes().iter().any(|node| computes(&node.op));
    if instructions(target.dialect(), &code) == 0 && computes && !program.args().is_empty() {
        return Err(AuditError::NoCode(folder.display().to_string()));
    }
    let states = States::of(program);
    let signs = search(target.dialect(), &code);
    Ok(Audited {
        findings: states.against(&signs),
        states,
        signs,
        instructions: instructions(target.dialect(), &code),
    })
}

/// The text of all files of the target's dialect.
fn code_in(folder: &Path, target: Target) -> io::Result<String> {
    let mut code = String::new();
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let path = file.path();
        if path
            .extension()
            .is_some_and(|e| e == target.dialect().extension())
        {
            code.push_str(&fs::read_to_string(path)?);
        }
    }
    Ok(code)
}
