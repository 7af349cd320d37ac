//! The command `qualify`. Exit codes: [`reports::verdict::ExitCode`].

mod ab;
mod audit;
mod capture;
mod cli;
mod controls;
mod diff;
mod doctor;
mod engine;
mod failure;
mod fingerprint;
mod inputs;
mod interrupt;
mod judge;
mod manual;
mod memory;
mod model;
mod ops;
mod outputs;
mod probe;
mod render;
mod repro;
mod run;
#[cfg(test)]
mod schema;
mod scratch;
mod shards;
mod tree;
mod uncompiled;
mod weights;

use std::{
    fmt,
    io::{Stderr, Write},
    path::Path,
    process::ExitCode as ProcessCode,
};

use clap::Parser;
use fixtures::FixtureError;
use reports::{
    terminal::{Options, Terminal, Verbosity},
    verdict::ExitCode,
    wire::is_stdout,
};
use stages::registry::Tree;

use cli::{AuditArgs, CaptureArgs, Cli, Command, ControlsArgs, FixtureArgs, RunArgs, StagesArgs};
use failure::{Failure, Kind, OrFail};

fn main() -> ProcessCode {
    fingerprint::without_tf32();
    let args = cli::with_default_command(std::env::args_os());
    let command = args
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let usage = error.use_stderr();
            return if usage {
                ExitCode::USAGE
            } else {
                ExitCode::QUALIFIED
            }
            .into();
        }
    };
    let _scratch = match interrupt::install() {
        Ok(scratch) => scratch,
        Err(error) => {
            say(format_args!(
                "qualify: failed to wait for interrupts: {error}"
            ));
            return ExitCode::ENVIRONMENT.into();
        }
    };
    // What libraries have to say beside their results, such as a cache entry made anew.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .without_time()
        .with_target(false)
        .init();
    let outcome = match &cli.command {
        Command::Run(args) => sensible(args.contradiction()).and_then(|()| qualify(args, command)),
        Command::Stages(args) => sensible(args.contradiction()).and_then(|()| list(args)),
        Command::Capture(args) => sensible(args.contradiction()).and_then(|()| capture(args)),
        Command::Controls(args) => {
            sensible(args.contradiction()).and_then(|()| controls(args, command))
        }
        Command::Render(args) => render(args),
        Command::Audit(args) => sensible(args.contradiction()).and_then(|()| audit(args)),
        Command::Ab(args) => experiment(args),
        Command::Doctor(args) => examine(args),
        Command::Repro(args) => {
            sensible(args.contradiction()).and_then(|()| reproduce(args, &command))
        }
        Command::Probe(args) => sensible(args.contradiction()).and_then(|()| probe(args)),
        Command::Completions(args) => done(print(&manual::completions(args))),
        Command::Man(args) => done(manual::man(args).and_then(|page| print(&page))),
        Command::Ops(args) => operations(args, command),
        Command::Judge(args) => judge(args),
        Command::Diff(args) => compare(args),
        Command::Plan(args) => shown(args.takes_stdout(), shards::plan(args)),
        Command::Merge(args) => shown(args.takes_stdout(), shards::merge(args, command)),
        Command::Fixture(args) => fixture(args),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => {
            say(format_args!("qualify: {failure}"));
            failure.exit_code().into()
        }
    }
}

/// A line on stderr; that nobody reads it is no reason to fail otherwise.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn sensible(contradiction: Option<&str>) -> Result<(), Failure> {
    contradiction.map_or(Ok(()), |reason| Err(Failure::usage(reason)))
}

/// What people are told of a run: results on stdout, unless that is taken.
fn terminal(taken: bool) -> Terminal<Box<dyn Write + Send>, Stderr> {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let verbosity = Verbosity::default();
    let (results, options): (Box<dyn Write + Send>, _) = if taken {
        let options = Options::from_env(verbosity, &stderr);
        (Box::new(std::io::stderr()), options)
    } else {
        let options = Options::from_env(verbosity, &stdout);
        (Box::new(stdout), options)
    };
    let terminal = Terminal::new(results, stderr, options);
    interrupt::clears(terminal.screen());
    terminal
}

fn qualify(args: &RunArgs, command: Vec<String>) -> Result<ExitCode, Failure> {
    if let Some(shard) = args.shard.shard {
        return shown(false, shards::run(args, shard, command));
    }
    let (report, outputs) = (args.report.as_deref(), &args.outputs);
    let others: Vec<&Path> = report.into_iter().chain(args.captures.as_deref()).collect();
    outputs.check(&outputs::OutputArgs::inputs(args), &others)?;
    let taken = report.is_some_and(is_stdout) || outputs.takes_stdout();
    let mut terminal = terminal(taken);
    let written = command.clone();
    let mut listener = outputs.listen(&mut terminal, &written);
    let ran = run::run(args, command, &run::Events::new(&mut listener));
    let found = listener.end();
    let code = ran?;
    terminal.finish().or_fail(Kind::Environment)?;
    if let Some(report) = found? {
        outputs.write(&report, taken)?;
    }
    Ok(code)
}

fn render(args: &render::RenderArgs) -> Result<ExitCode, Failure> {
    if let Some(report) = render::render(args)? {
        let options = Options::from_env(Verbosity::default(), &std::io::stdout());
        print(reports::terminal::render(&report, options).as_bytes())?;
    }
    Ok(ExitCode::QUALIFIED)
}

fn capture(args: &CaptureArgs) -> Result<ExitCode, Failure> {
    let mut terminal = terminal(false);
    let code = capture::capture(args, &run::Events::new(&mut terminal))?;
    terminal.finish().or_fail(Kind::Environment)?;
    Ok(code)
}

fn judge(args: &judge::JudgeArgs) -> Result<ExitCode, Failure> {
    let mut terminal = terminal(args.takes_stdout());
    let (code, said) = judge::judge(args, &mut terminal)?;
    terminal.finish().or_fail(Kind::Environment)?;
    for line in said {
        say(format_args!("{line}"));
    }
    Ok(code)
}

fn compare(args: &diff::DiffArgs) -> Result<ExitCode, Failure> {
    let (text, code) = diff::diff(args)?;
    show(&text, args.takes_stdout())?;
    Ok(code)
}

fn list(args: &StagesArgs) -> Result<ExitCode, Failure> {
    let model = model::Model::open(&args.model)?;
    let mut text = Vec::new();
    let selected = model.selected();
    let mut tree = Tree::of(&model.graph);
    for stage in &mut tree.stages {
        stage
            .boundaries
            .retain(|b| selected.iter().any(|s| s.id == b.id));
    }
    tree.stages.retain(|stage| !stage.boundaries.is_empty());
    tree::print(&mut text, &tree).or_fail(Kind::Environment)?;
    print(&text)?;
    Ok(ExitCode::QUALIFIED)
}

/// Puts text on standard output. A closed pipe is the reader's decision, not an error.
fn print(text: &[u8]) -> Result<(), Failure> {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(
            Kind::Environment,
            format!("write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

fn controls(args: &ControlsArgs, command: Vec<String>) -> Result<ExitCode, Failure> {
    let taken = args.json.as_deref().is_some_and(is_stdout);
    let mut terminal = terminal(taken);
    let (table, code) = controls::controls(args, command, &run::Events::new(&mut terminal))?;
    terminal.finish().or_fail(Kind::Environment)?;
    show(&table, taken)?;
    Ok(code)
}

fn operations(args: &ops::OpsArgs, command: Vec<String>) -> Result<ExitCode, Failure> {
    let taken = args.takes_stdout();
    let mut terminal = terminal(taken);
    let (table, code) = ops::ops(args, command, &run::Events::new(&mut terminal))?;
    terminal.finish().or_fail(Kind::Environment)?;
    show(&table, taken)?;
    Ok(code)
}

fn audit(args: &AuditArgs) -> Result<ExitCode, Failure> {
    let (table, code) = audit::audit(args)?;
    show(&table, args.json.as_deref().is_some_and(is_stdout))?;
    Ok(code)
}

/// What came of a command that prints a table at its end.
fn shown(taken: bool, outcome: Result<(String, ExitCode), Failure>) -> Result<ExitCode, Failure> {
    let (table, code) = outcome?;
    show(&table, taken)?;
    Ok(code)
}

/// Exit code 0 for what only had to be done.
fn done(outcome: Result<(), Failure>) -> Result<ExitCode, Failure> {
    outcome.map(|()| ExitCode::QUALIFIED)
}

fn reproduce(args: &repro::ReproArgs, command: &[String]) -> Result<ExitCode, Failure> {
    let (text, code) = repro::repro(args, command)?;
    print(text.as_bytes())?;
    Ok(code)
}

fn experiment(args: &ab::AbArgs) -> Result<ExitCode, Failure> {
    let (text, code) = ab::ab(args)?;
    show(&text, args.takes_stdout())?;
    Ok(code)
}

fn examine(args: &doctor::DoctorArgs) -> Result<ExitCode, Failure> {
    let (table, code) = doctor::doctor(args)?;
    show(&table, args.json.as_deref().is_some_and(is_stdout))?;
    Ok(code)
}

fn probe(args: &probe::ProbeArgs) -> Result<ExitCode, Failure> {
    let (text, code) = probe::probe(args)?;
    show(&text, args.takes_stdout())?;
    Ok(code)
}

/// A table on standard output, unless that is taken.
fn show(table: &str, taken: bool) -> Result<(), Failure> {
    if taken {
        say(format_args!("{}", table.trim_end()));
        return Ok(());
    }
    print(table.as_bytes())
}

fn fixture(args: &FixtureArgs) -> Result<ExitCode, Failure> {
    let text = std::fs::read(&args.config).map_err(|error| {
        Failure::new(
            Kind::Input,
            format!("read {}: {error}", args.config.display()),
        )
    })?;
    let config = serde_json::from_slice(&text).map_err(|error| {
        Failure::new(
            Kind::Input,
            format!("read {}: {error}", args.config.display()),
        )
    })?;
    let _putting = interrupt::putting();
    fixtures::write(&args.out, &config, args.seed).map_err(|error| {
        let kind = match error {
            FixtureError::Write { .. } | FixtureError::Occupied(_) => Kind::Environment,
            _ => Kind::Input,
        };
        Failure::caused(kind, &error)
    })?;
    say(format_args!("checkpoint written to {}", args.out.display()));
    Ok(ExitCode::QUALIFIED)
}
