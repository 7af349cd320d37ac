//! Ctrl-C: ends the process at once, but never in the middle of putting a file in its place.

use std::sync::{Mutex, MutexGuard, PoisonError};

use reports::verdict::ExitCode;

static PUTTING: Mutex<()> = Mutex::new(());

/// Makes Ctrl-C end the process with exit code 130. Files are written under another name and
/// renamed, so whatever was not complete is not there.
///
/// # Errors
/// When a handler is set already.
pub fn install() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        let _putting = PUTTING.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!("\ninterrupted: nothing that was not complete has been written");
        std::process::exit(ExitCode::INTERRUPTED.code().into());
    })
}

/// Held while results are written; an interrupt waits for it.
pub fn putting() -> MutexGuard<'static, ()> {
    PUTTING.lock().unwrap_or_else(PoisonError::into_inner)
}
