//! What a terminal shows.

use std::{
    fs::File,
    io::Read,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
};

use nix::{
    libc::winsize,
    pty::openpty,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::harness::Place;

/// Runs a command on a terminal of so many columns, and returns its exit code and all that was
/// written there. Once a text is shown a signal is sent, if one is to be.
fn on_terminal(
    mut command: Command,
    columns: u16,
    signal: Option<(&'static str, Signal)>,
) -> (i32, String) {
    let size = winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(Some(&size), None).unwrap();
    let slave = || Stdio::from(pty.slave.try_clone().unwrap());
    let mut run = command
        .stdout(slave())
        .stderr(slave())
        .env_remove("COLUMNS")
        .process_group(0)
        .spawn()
        .unwrap();
    drop((pty.slave, command));
    let mut master = File::from(pty.master);
    let (mut shown, mut part) = (Vec::new(), [0; 4096]);
    let mut signal = signal;
    // It ends with an error once nobody has the other end.
    while let Ok(n @ 1..) = master.read(&mut part) {
        shown.extend(&part[..n]);
        if let Some((text, number)) = signal
            && String::from_utf8_lossy(&shown).contains(text)
        {
            killpg(Pid::from_raw(run.id().try_into().unwrap()), number).unwrap();
            signal = None;
        }
    }
    let code = run.wait().unwrap().code().unwrap();
    (code, String::from_utf8_lossy(&shown).into_owned())
}

/// A text without what controls the terminal.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |plain, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain + &part[end.map_or(part.len(), |end| end + 1)..]
    })
}

#[test]
fn bars_name_what_they_are_at_and_the_table_fits() {
    let place = Place::new();
    let mut command = place.command("--stage sscp_conv_0 --no-cache");
    command.env("TERM", "xterm-256color");
    let (code, shown) = on_terminal(command, 90, None);
    assert_eq!(code, 0, "{shown}");
    let text = plain(&shown);
    for bar in ["compile ", "0/3", "production", "tapped", "steps"] {
        assert!(text.contains(bar), "no {bar:?} in {text:?}");
    }
    let table = text.split("boundary  ").last().unwrap();
    assert!(shown.contains("\x1b[32m✓ bit-exact\x1b[0m"), "{shown:?}");
    assert!(
        table.starts_with("   ") && !table.contains("elements"),
        "{table:?}"
    );
    for line in table.lines().skip(1) {
        assert!(line.chars().count() <= 90, "{line:?}");
    }
}

#[test]
fn a_dumb_terminal_gets_neither_bars_nor_colours() {
    let place = Place::new();
    let mut command = place.command("--stage mel_cast");
    command.env("TERM", "dumb");
    let (code, shown) = on_terminal(command, 200, None);
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains('\x1b'), "{shown:?}");
    assert!(shown.contains("✓ bit-exact mel_cast"), "{shown:?}");
}

#[test]
fn the_last_words_stand_alone_where_the_bars_were() {
    let place = Place::new();
    let mut command = place.command("--stage sscp_conv_* --no-cache");
    command.env("TERM", "xterm-256color");
    let (code, shown) = on_terminal(command, 200, Some(("production", Signal::SIGINT)));
    assert_eq!(code, 130, "{shown}");
    let last = shown.rsplit("\r\n").nth(1).unwrap();
    assert!(last.starts_with("interrupted: "), "{shown:?}");
    assert!(last.contains(" of 3 modules, at "), "{shown:?}");
    assert!(shown.ends_with("\r\n"), "{shown:?}");
}

#[test]
fn a_capture_has_bars_and_last_words_too() {
    let place = Place::new();
    let mut command = place.command("capture --side iree --stage sscp_conv_* --no-cache --out f");
    command.env("TERM", "xterm-256color");
    let (code, shown) = on_terminal(command, 200, Some(("tapped", Signal::SIGINT)));
    assert_eq!(code, 130, "{shown}");
    let last = "\r\ninterrupted: compile 0 of 1 modules, at tapped\r\n";
    assert!(shown.ends_with(last), "{shown:?}");
    assert!(place.holds().is_empty());
}
