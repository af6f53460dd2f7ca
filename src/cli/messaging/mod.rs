//! `quintet messaging`: workspaces, their keys and agents, and what needs the operator.

mod agent;
mod key;
mod terms;
mod thread;
mod undeliverable;
mod workspace;

use clap::Subcommand;

use crate::cli::CliError;

/// Workspaces of agents, their keys, and what needs the operator
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Workspace(workspace::Arguments),
    Key(key::Arguments),
    Agent(agent::Arguments),
    Thread(thread::Arguments),
    Undeliverable(undeliverable::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let done = match &arguments.command {
        Command::Workspace(arguments) => workspace::run(arguments),
        Command::Key(arguments) => key::run(arguments),
        Command::Agent(arguments) => agent::run(arguments),
        Command::Thread(arguments) => thread::run(arguments),
        Command::Undeliverable(arguments) => undeliverable::run(arguments),
    };
    done.map_err(|error| match shown_by(&error.reason) {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// Which command shows what there is, where something is not there.
fn shown_by(reason: &str) -> Option<&'static str> {
    let (_, what) = reason.split_once("there is no ")?;
    let what = what.trim_start_matches("such ");
    let known = [
        ("workspace", "`quintet messaging workspace list` shows what workspaces there are"),
        ("key", "`quintet messaging key list --workspace SLUG` shows the keys of a workspace"),
        ("agent", "`quintet messaging agent list --workspace SLUG` shows the agents of a workspace"),
        ("thread", "the ids of threads stand in what agents are sent; GET /v1/threads lists an agent's"),
        ("limit", "`quintet messaging workspace limits SLUG` shows what limits there are"),
    ];
    known.into_iter().find(|(noun, _)| what.starts_with(noun)).map(|(_, hint)| hint)
}
