//! `quintet messaging`: workspaces, their keys and agents, and what needs the operator.

mod agent;
mod approval;
mod guard;
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
    Approval(approval::Arguments),
    Guard(guard::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Workspace(arguments) => workspace::run(arguments),
        Command::Key(arguments) => key::run(arguments),
        Command::Agent(arguments) => agent::run(arguments),
        Command::Thread(arguments) => thread::run(arguments),
        Command::Undeliverable(arguments) => undeliverable::run(arguments),
        Command::Approval(arguments) => approval::run(arguments),
        Command::Guard(arguments) => guard::run(arguments),
    }
}
