//! The forms a report is put in beside the table: JSON lines, CSV, JUnit XML, Markdown, HTML, and
//! what GitHub shows of a step.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use clap::Args;
use reports::{
    csv,
    events::{Event, Sink},
    github, html,
    jsonl::{self, JsonLines},
    junit, markdown,
    wire::{Report, Tool, is_stdout, rfc3339, write_text},
};

use crate::{
    cli::{RunArgs, Side},
    failure::{Failure, Kind, OrFail},
    interrupt, run,
};

/// Where GitHub takes the summary of a step from.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Which forms of the report are wanted, and where.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Other forms of the report")]
pub struct OutputArgs {
    /// JSON lines: one for each event, written while the run goes on; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,

    /// CSV: a line for each boundary
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// JUnit XML: a test case for each boundary, in the class of its stage
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Markdown for the comment of a pull request, of 60 kB at most
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// One HTML page, which needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// In GitHub Actions: the summary of the step, and annotations
    #[arg(long)]
    pub github: bool,
}

impl OutputArgs {
    /// The files a run reads, over which nothing may be written.
    pub fn inputs(args: &RunArgs) -> Vec<PathBuf> {
        let mut inputs = args.model.files();
        inputs.extend(
            [&args.reference, &args.candidate]
                .into_iter()
                .filter_map(Side::file),
        );
        inputs.extend(args.controls.clone());
        inputs.extend(args.policy.clone());
        inputs
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let all = [
            &self.jsonl,
            &self.csv,
            &self.junit,
            &self.markdown,
            &self.html,
        ];
        all.into_iter().flatten().map(PathBuf::as_path)
    }

    /// Whether none is wanted.
    pub fn is_empty(&self) -> bool {
        self.files().next().is_none() && !self.github
    }

    /// Whether standard output is taken.
    pub fn takes_stdout(&self) -> bool {
        self.files().any(is_stdout)
    }

    /// Finds out before any work whether they can be written, over none of the inputs and none of
    /// the other outputs, and leaves nothing behind.
    ///
    /// # Errors
    /// When not.
    pub fn check(&self, inputs: &[PathBuf], others: &[&Path]) -> Result<(), Failure> {
        let mut taken: Vec<&Path> = others.to_vec();
        for file in self.files() {
            if taken.iter().any(|other| is_same(file, other)) {
                let message = format!(
                    "write {} twice: each form needs its own file",
                    file.display()
                );
                return Err(Failure::new(Kind::Usage, message));
            }
            run::check_output(file, inputs)?;
            taken.push(file);
        }
        if self.github {
            summary()?;
        }
        Ok(())
    }

    /// Writes all of them but the JSON lines. Annotations go to stderr where standard output is
    /// taken.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn write(&self, report: &Report, taken: bool) -> Result<(), Failure> {
        let _putting = interrupt::putting();
        if let Some(file) = &self.csv {
            put(file, &csv::render(report).or_fail(Kind::Environment)?)?;
        }
        if let Some(file) = &self.junit {
            put(file, &junit::render(report).or_fail(Kind::Environment)?)?;
        }
        if let Some(file) = &self.markdown {
            put(file, &markdown::render(report, markdown::COMMENT))?;
        }
        if let Some(file) = &self.html {
            put(file, &html::render(report).or_fail(Kind::Environment)?)?;
        }
        if self.github {
            annotate(report, taken)?;
        }
        Ok(())
    }

    /// Writes the JSON lines of a report that is there already.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_lines(&self, report: &Report) -> Result<(), Failure> {
        let Some(file) = &self.jsonl else {
            return Ok(());
        };
        let mut text = Vec::new();
        jsonl::write(&mut text, report).or_fail(Kind::Environment)?;
        let _putting = interrupt::putting();
        put(file, &String::from_utf8_lossy(&text))
    }

    /// Listens to a run for the JSON lines and for the report, and hands every event on.
    pub fn listen<'a>(
        &'a self,
        terminal: &'a mut (dyn Sink + Send),
        command: &'a [String],
    ) -> Listener<'a> {
        let lines = match &self.jsonl {
            Some(file) => Lines::Wanted(file),
            None => Lines::Unwanted,
        };
        Listener {
            terminal,
            command,
            lines,
            report: None,
        }
    }
}

/// What a run is written to while it goes on.
pub struct Listener<'a> {
    terminal: &'a mut (dyn Sink + Send),
    command: &'a [String],
    lines: Lines<'a>,
    report: Option<Arc<Report>>,
}

/// A stream of lines. It begins with the run, not before: what stops that leaves a file as it is.
enum Lines<'a> {
    Unwanted,
    Wanted(&'a Path),
    Open(JsonLines<Box<dyn Write + Send>>),
    Failed(Failure),
}

impl Listener<'_> {
    /// The report, where the run came to one.
    ///
    /// # Errors
    /// When lines could not be written.
    pub fn end(self) -> Result<Option<Arc<Report>>, Failure> {
        match self.lines {
            Lines::Open(lines) => lines.finish().or_fail(Kind::Environment)?,
            Lines::Failed(failure) => return Err(failure),
            Lines::Unwanted | Lines::Wanted(_) => {}
        }
        Ok(self.report)
    }
}

impl Sink for Listener<'_> {
    fn event(&mut self, event: &Event) {
        if let Lines::Wanted(file) = self.lines {
            self.lines = match opened(file) {
                Ok(out) => {
                    let created = rfc3339(SystemTime::now());
                    Lines::Open(JsonLines::new(out, &tool(), &created, self.command))
                }
                Err(error) => Lines::Failed(unwritable(file, &error)),
            };
        }
        if let Lines::Open(lines) = &mut self.lines {
            lines.event(event);
        }
        if let Event::RunFinished(report) = event {
            self.report = Some(Arc::clone(report));
        }
        self.terminal.event(event);
    }
}

fn tool() -> Tool {
    Tool {
        name: "qualify".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("QUALIFY_COMMIT").to_owned(),
    }
}

fn opened(file: &Path) -> io::Result<Box<dyn Write + Send>> {
    if is_stdout(file) {
        return Ok(Box::new(io::stdout()));
    }
    Ok(Box::new(File::create(file)?))
}

/// Adds to the summary of the step, and annotates it.
fn annotate(report: &Report, taken: bool) -> Result<(), Failure> {
    let (path, mut file, used) = summary()?;
    if let Some(text) = github::summary(report, used) {
        let written = file.write_all(text.as_bytes());
        written.map_err(|error| unwritable(&path, &error))?;
    }
    let annotations = github::annotations(report);
    // The runner reads both streams.
    let written = if taken {
        io::stderr().write_all(annotations.as_bytes())
    } else {
        io::stdout().write_all(annotations.as_bytes())
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("write annotations: {error}");
            Err(Failure::new(Kind::Environment, message))
        }
        _ => Ok(()),
    }
}

/// The summary of this step, opened to be added to, and how long it is.
fn summary() -> Result<(PathBuf, File, u64), Failure> {
    let Some(path) = env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty()) else {
        let message = format!("write the summary of a GitHub step: {STEP_SUMMARY} is not set");
        return Err(Failure::new(Kind::Environment, message));
    };
    let path = PathBuf::from(path);
    let file = OpenOptions::new().append(true).open(&path);
    let file = file.map_err(|error| unwritable(&path, &error))?;
    let used = file.metadata().map_or(0, |there| there.len());
    Ok((path, file, used))
}

fn put(file: &Path, text: &str) -> Result<(), Failure> {
    match write_text(file, text) {
        // A closed pipe is the reader's decision.
        Err(error) if is_stdout(file) && error.source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.or_fail(Kind::Environment),
    }
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Kind::Environment,
        format!("write {}: {error}", file.display()),
    )
}

/// Whether two names are of one place, which need not exist. A pipe may be named twice.
fn is_same(a: &Path, b: &Path) -> bool {
    if is_stdout(a) || is_stdout(b) {
        return is_stdout(a) && is_stdout(b);
    }
    let full = |path: &Path| {
        fs::canonicalize(path).or_else(|_| {
            let folder = path.parent().filter(|part| !part.as_os_str().is_empty());
            let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
            Ok::<_, io::Error>(folder.join(path.file_name().unwrap_or_default()))
        })
    };
    full(a).is_ok_and(|a| full(b).is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_many_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(is_same(&at("a"), &at("./a")) && !is_same(&at("a"), &at("b")));
        fs::write(at("a"), "").unwrap();
        std::os::unix::fs::symlink(at("a"), at("b")).unwrap();
        assert!(is_same(&at("a"), &at("b")));
        assert!(is_same(Path::new("-"), Path::new("/dev/stdout")));
        assert!(!is_same(Path::new("-"), &at("-")));
    }

    #[test]
    fn no_two_forms_go_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r");
        let args = OutputArgs {
            csv: Some(file.clone()),
            html: Some(folder.path().join("./r")),
            ..OutputArgs::default()
        };
        assert!(args.check(&[], &[]).is_err());
        let args = OutputArgs {
            csv: Some(file.clone()),
            ..OutputArgs::default()
        };
        assert!(args.check(&[], &[]).is_ok());
        assert!(args.check(&[], &[&file]).is_err());
        assert!(!file.exists());
    }
}
