//! `quintet docs`, hidden: writes what a package installs beside the binary: completions for shells and manual pages.
//!
//! Everything is made from the definitions that the command line itself is parsed by, and quintet.toml(5) from the
//! sample file that the package installs, which a test holds against the schema.

use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::roff::{Roff, bold, roman};

use super::{CliError, output};
use crate::config::sample;

/// Write completions and manual pages
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where completions go: `quintet.bash`, `_quintet` and `quintet.fish`
    #[arg(long, value_name = "DIR")]
    completions: Option<PathBuf>,
    /// Where manual pages go: one for each command, and `quintet.toml.5`
    #[arg(long, value_name = "DIR")]
    man: Option<PathBuf>,
}

/// Runs the command; `whole` is the command line.
pub fn run(arguments: &Arguments, whole: &clap::Command) -> Result<(), CliError> {
    if arguments.completions.is_none() && arguments.man.is_none() {
        return Err(CliError::failed("nothing to write").code(CliError::USAGE).hint("--completions DIR, --man DIR"));
    }
    if let Some(directory) = &arguments.completions {
        write_completions(whole, directory)?;
    }
    if let Some(directory) = &arguments.man {
        write_pages(whole, directory)?;
    }
    Ok(())
}

fn write_completions(whole: &clap::Command, directory: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(directory).map_err(CliError::failed)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let path =
            clap_complete::generate_to(shell, &mut visible(whole), "quintet", directory).map_err(CliError::failed)?;
        output::say(&path.display().to_string());
    }
    Ok(())
}

fn write_pages(whole: &clap::Command, directory: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(directory).map_err(CliError::failed)?;
    clap_mangen::generate_to(visible(whole), directory).map_err(CliError::failed)?;
    std::fs::write(directory.join("quintet.toml.5"), configuration_page(sample::TEXT).render())
        .map_err(CliError::failed)
}

/// The command line without the commands that are hidden, which generators of completions show as well. clap takes no
/// command out of another one, so the outermost is put together again.
fn visible(whole: &clap::Command) -> clap::Command {
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    clap::Command::new("quintet")
        .version(env!("CARGO_PKG_VERSION"))
        .about(whole.get_about().cloned().unwrap_or_default())
        .after_help(whole.get_after_help().cloned().unwrap_or_default())
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(shown)
}

fn configuration_page(text: &str) -> Roff {
    let mut page = Roff::new();
    page.control("TH", ["quintet.toml", "5", "", "quintet", "quintet"]);
    page.control("SH", ["NAME"]);
    page.text([roman("quintet.toml - the configuration of quintet")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "/etc/quintet/quintet.toml is read by quintet serve and by the commands that talk to it. A flag goes before an \
         environment variable (QUINTET_LISTEN__LEDGER for ledger in the section listen), which goes before the file, \
         which goes before the default. An unknown key is an error that names the nearest known one. quintet config \
         check looks for mistakes, quintet config print shows what is in force and where it came from.",
    )]);
    page.control("PP", []);
    page.text([roman("Each key is shown at its default, or, where it says so, with an example.")]);
    let mut last = None;
    for key in sample::keys(text) {
        if last != Some(key.section) {
            let heading = if key.section.is_empty() { "AT THE TOP".to_owned() } else { format!("[{}]", key.section) };
            page.control("SH", [heading.as_str()]);
            last = Some(key.section);
        }
        page.control("TP", []);
        page.text([bold(key.line)]);
        page.text([roman(key.meaning)]);
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([bold("quintet-serve"), roman("(1), "), bold("quintet-config"), roman("(1)")]);
    page
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// What a command, or a flag of it, lacks.
    fn unexplained(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        let explains = |text: Option<&clap::builder::StyledStr>| text.is_some_and(|text| !text.to_string().is_empty());
        if !explains(command.get_about()) {
            found.push(path.clone());
        }
        let arguments = command.get_arguments().filter(|argument| !explains(argument.get_help()));
        found.extend(arguments.map(|argument| format!("{path}: {}", argument.get_id())));
        command.get_subcommands().for_each(|sub| unexplained(sub, &path, found));
    }

    #[test]
    fn every_command_and_flag_says_what_it_is_for() {
        let mut command = Cli::command();
        command.build();
        let mut found = Vec::new();
        unexplained(&command, "", &mut found);
        assert_eq!(found, Vec::<String>::new());
        let bare = clap::Command::new("a").about("b").arg(clap::Arg::new("c").long("c"));
        unexplained(&bare, "", &mut found);
        assert_eq!(found, [" a: c"], "the check sees what is missing");
    }

    #[test]
    fn completions_and_pages_are_of_what_is_shown() {
        let directory = tempfile::tempdir().unwrap();
        let whole = Cli::command();
        write_pages(&whole, directory.path()).unwrap();
        write_completions(&whole, directory.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        for name in ["quintet.1", "quintet-serve.1", "quintet-backup-create.1", "quintet.toml.5"] {
            assert!(read(name).len() > 500, "{name}");
        }
        let create = read("quintet-tenant-create.1");
        assert!(create.contains("quintet tenant create"), "{create}");
        assert!(create.contains(r"\-\-services"), "{create}");
        for name in ["quintet.bash", "_quintet", "quintet.fish"] {
            assert!(read(name).contains("root-key"), "{name}");
        }
        let hidden: Vec<_> = whole.get_subcommands().filter(|sub| sub.is_hide_set()).cloned().collect();
        assert!(!hidden.is_empty());
        for sub in hidden {
            let name = sub.get_name();
            assert!(!directory.path().join(format!("quintet-{name}.1")).exists(), "{name}");
            assert!(!read("quintet.fish").contains(&format!(" -a \"{name}\"")), "{name}");
        }
    }
}
