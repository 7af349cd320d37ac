//! `qualify completions` and `qualify man`: what shells and manuals are told, from the one
//! definition of the command line.

use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use reports::wire::write_text;

use crate::{
    cli::Cli,
    failure::{Failure, Kind, OrFail},
};

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell. For bash: `qualify completions bash > ~/.local/share/bash-completion/completions/qualify`
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// A folder: `qualify.1` and a page for every subcommand are written there. Without it the
    /// first page goes to standard output: `qualify man | man -l -`
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// The script that a shell reads.
pub fn completions(args: &CompletionsArgs) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "qualify", &mut text);
    text
}

/// The page of the whole command, or all pages written. Gives what is to be printed.
///
/// # Errors
/// When a page cannot be written.
pub fn man(args: &ManArgs) -> Result<Vec<u8>, Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.out else {
        return page(command);
    };
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(
            Kind::Environment,
            format!("make the folder {}: {error}", folder.display()),
        )
    })?;
    let mut pages = vec![("qualify".to_owned(), command)];
    while let Some((name, command)) = pages.pop() {
        for sub in command
            .get_subcommands()
            .filter(|sub| sub.get_name() != "help")
        {
            pages.push((format!("{name}-{}", sub.get_name()), sub.clone()));
        }
        let text = page(command.display_name(name.clone()))?;
        let text = String::from_utf8_lossy(&text);
        write_text(&folder.join(format!("{name}.1")), &text).or_fail(Kind::Environment)?;
    }
    Ok(Vec::new())
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut text);
    rendered
        .map_err(|error| Failure::new(Kind::Environment, format!("render the page: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_page_with_its_flags() {
        let folder = tempfile::tempdir().unwrap();
        let out = Some(folder.path().join("man"));
        man(&ManArgs { out }).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join("man").join(name)).unwrap();
        assert!(read("qualify.1").contains("Exit codes"));
        assert!(read("qualify-run.1").contains("captures"));
        assert!(read("qualify-probe-order.1").contains("rows"));
    }

    #[test]
    fn shells_are_told_of_subcommands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = completions(&CompletionsArgs { shell });
            let text = String::from_utf8(text).unwrap();
            assert!(
                text.contains("controls") && text.contains("envelope"),
                "{shell}"
            );
        }
    }
}
