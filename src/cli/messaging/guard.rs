//! `quintet messaging guard`: which tools agents may use.

use std::path::PathBuf;

use clap::Subcommand;
use quintet_messaging::guard_operator::{FILE_BYTES_MAX, RulesView, RulesWish};
use serde_json::Value;

use super::terms::OfWorkspace;
use crate::admin::approvals;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};

/// Set, show and clear the rules by which agents use tools
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Replace the rules of a workspace; the first that fits counts
    ///
    /// FILE has a JSON array of {tool, field?, contains?, agents?, action, kind?, reason?}, 100 at most. tool and agents are
    /// globs in which * stands for anything; action is allow, deny or approval.
    Set {
        /// The file; - reads standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        of: OfWorkspace,
    },
    /// Show the rules of a workspace
    Show(OfWorkspace),
    /// Take the rules of a workspace away: every use of a tool is allowed then
    Clear(OfWorkspace),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Set { file, of } => {
            let wish = RulesWish { rules: read(file)? };
            let asked = approvals::SET_RULES.of(&[&of.workspace]).wishing(&wish);
            let set = of.common.place.client()?.ask(asked)?;
            if of.common.output.json {
                return output::say_json(&set);
            }
            output::say(&format!("The guard of {} has {} now.", set.workspace, counted(set.rules.len())));
            Ok(())
        }
        Command::Show(of) => {
            show(&of.common.place.client()?.ask(approvals::RULES.of(&[&of.workspace]))?, of.common.output)
        }
        Command::Clear(of) => {
            let cleared = of.common.place.client()?.ask(approvals::CLEAR_RULES.of(&[&of.workspace]))?;
            if of.common.output.json {
                return output::say_json(&cleared);
            }
            output::say(&format!(
                "The guard of {} has no rules now: every use of a tool is allowed.",
                cleared.workspace
            ));
            Ok(())
        }
    }
}

fn counted(rules: usize) -> String {
    if rules == 1 { "1 rule".to_owned() } else { format!("{rules} rules") }
}

/// A file's text, or what stands on standard input; no more of it than rules can have.
fn read(file: &PathBuf) -> Result<String, CliError> {
    use std::io::Read as _;

    let most = FILE_BYTES_MAX as u64 + 1;
    let mut text = String::new();
    let got = match file.as_os_str() == "-" {
        true => std::io::stdin().lock().take(most).read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|file| file.take(most).read_to_string(&mut text)),
    };
    got.map_err(|error| CliError::failed(format!("cannot read {}: {error}", file.display())))?;
    match text.len() > FILE_BYTES_MAX {
        true => Err(CliError::failed(format!("{} has more than {FILE_BYTES_MAX} bytes", file.display()))),
        false => Ok(text),
    }
}

fn show(found: &RulesView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(found);
    }
    if found.rules.is_empty() {
        output::say(&format!("The guard of {} has no rules: every use of a tool is allowed.", found.workspace));
        return Ok(());
    }
    let rows = found.rules.iter().zip(1..).map(|(rule, place)| {
        let text = |name: &str| match &rule[name] {
            Value::Null => "-".to_owned(),
            Value::String(text) => output::plain(text),
            Value::Array(items) => {
                output::plain(&items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        };
        let cells = ["tool", "field", "contains", "agents", "action", "kind", "reason"].map(text);
        std::iter::once(place.to_string()).chain(cells).collect::<Vec<_>>()
    });
    let headings = ["rule", "tool", "field", "contains", "agents", "action", "kind", "reason"];
    output::say_table(&headings, &rows.collect::<Vec<_>>());
    Ok(())
}
