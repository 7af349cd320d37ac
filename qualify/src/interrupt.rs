//! Ctrl-C: ends the process at once, and leaves no file that is not complete.

use std::{
    io::{self, IsTerminal, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, Command},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use nix::{
    libc,
    sys::signal::{SigSet, Signal, kill},
    unistd::Pid,
};
use reports::{
    events::{Event, Sink},
    standing::Standing,
    terminal::Screen,
    verdict::ExitCode,
};
use runtime::Store;

use crate::scratch::{self, Scratch};

static PUTTING: Mutex<()> = Mutex::new(());
static STANDING: Mutex<Standing> = Mutex::new(Standing::new());
static CHILD: Mutex<Option<Child>> = Mutex::new(None);
static SCREEN: Mutex<Option<Screen>> = Mutex::new(None);

/// Makes Ctrl-C end the process with exit code 130, and SIGTERM with 143. Files are written under
/// another name and renamed, so whatever was not complete is not there. Must be called before any
/// thread begins.
///
/// # Errors
/// When the signals cannot be waited for.
pub fn install() -> io::Result<Scratch> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    // Inherited by every thread that begins. A handler would miss signals: the compiler runs its
    // linker by `system`, which has the process ignore SIGINT for so long; what is blocked is kept.
    signals.thread_block()?;
    let scratch = Scratch::open();
    thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || end(wait(signals)))?;
    Ok(scratch)
}

fn wait(signals: SigSet) -> Signal {
    loop {
        if let Ok(signal) = signals.wait() {
            return signal;
        }
    }
}

fn end(signal: Signal) -> ! {
    let mut child = held(&CHILD);
    if let Some(child) = child.as_mut() {
        // It is not yet waited for, so the number is still its own.
        if let Ok(id) = i32::try_from(child.id()) {
            let _ = kill(Pid::from_raw(id), signal);
        }
        let _ = child.wait();
    }
    let _putting = putting();
    let _storing = Store::hold();
    scratch::remove();
    let (name, code) = match signal {
        Signal::SIGINT => ("interrupted", i32::from(ExitCode::INTERRUPTED.code())),
        other => ("terminated", 128 + other as i32),
    };
    let standing = held(&STANDING);
    if let Some(screen) = &*held(&SCREEN) {
        screen.clear();
    }
    let mut stderr = io::stderr();
    // A terminal shows the key that was pressed.
    let line = if stderr.is_terminal() { "\n" } else { "" };
    let text = if standing.is_empty() {
        format!("{line}{name}: nothing had begun\n")
    } else {
        format!("{line}{name}: {standing}\n")
    };
    let _ = stderr.write_all(text.as_bytes());
    // SAFETY: it ends the process and touches nothing of it. `exit` would destroy the global
    // state of MLX and of the compiler under the threads that are using it.
    unsafe { libc::_exit(code) }
}

/// Held while results are written; an interrupt waits for it.
pub fn putting() -> MutexGuard<'static, ()> {
    held(&PUTTING)
}

/// Runs a process to its end, and ends it where this one is interrupted; one at a time. Gives its
/// exit code: 128 and the signal where one ended it.
///
/// # Errors
/// When it cannot be started.
pub fn run(command: &mut Command) -> io::Result<i32> {
    {
        let mut child = held(&CHILD);
        *child = Some(command.spawn()?);
    }
    loop {
        let mut child = held(&CHILD);
        let status = match child.as_mut() {
            Some(running) => running.try_wait()?,
            None => return Err(io::Error::other("it is not there")),
        };
        if let Some(status) = status {
            *child = None;
            let signal = status.signal().map(|signal| 128 + signal);
            return Ok(status.code().or(signal).unwrap_or(128));
        }
        drop(child);
        thread::sleep(Duration::from_millis(20));
    }
}

/// Takes in an event of the run, for the last words of one that is ended.
pub fn note(event: &Event) {
    held(&STANDING).event(event);
}

/// The bars that have to go before the last words.
pub fn clears(screen: Screen) {
    *held(&SCREEN) = Some(screen);
}

fn held<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
