//! `quintet audit`: what outsiders need to check an audit chain.

use clap::Subcommand;

use crate::admin::localization;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;

/// Show the public key that checks localization's audit checkpoints
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the public key, as openssl reads it
    ///
    /// Keep it where the appliance cannot change it: whoever has it, and an export of the chain, can check the chain
    /// without the appliance. With --json also its id, which checkpoints name.
    Key {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let Command::Key { place, output } = &arguments.command;
    let key = place.client()?.ask(&localization::AUDIT_KEY)?;
    if output.json {
        return output::say_json(&key);
    }
    output::say(key.pem.trim_end());
    Ok(())
}
