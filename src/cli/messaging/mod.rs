//! `quintet messaging`: workspaces, their keys and agents, and what needs the operator.

mod agent;
mod key;
mod thread;
mod undeliverable;
mod workspace;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use crate::cli::CliError;
use crate::cli::output::OutputArguments;
use crate::cli::place::PlaceArguments;

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

/// What all of these commands take.
#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// The workspace that a command is about.
#[derive(Debug, clap::Args)]
struct OfWorkspace {
    /// The workspace's slug
    #[arg(long, value_name = "SLUG", value_parser = NonEmptyStringValueParser::new())]
    workspace: String,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Workspace(arguments) => workspace::run(arguments),
        Command::Key(arguments) => key::run(arguments),
        Command::Agent(arguments) => agent::run(arguments),
        Command::Thread(arguments) => thread::run(arguments),
        Command::Undeliverable(arguments) => undeliverable::run(arguments),
    }
}
