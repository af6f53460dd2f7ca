//! `quintet core`: the language core's ten checks, and how to see them fail.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use crate::admin::localization::{self, CoreCheckView};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;

/// Show the language core's ten checks; make one fail, for rehearsals
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the ten checks
    Show {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Make a check fail until it is restored or the appliance stops; on rehearsal directories only
    ///
    /// What needs the core then answers 503 language_core_unavailable, everything else goes on.
    Fail {
        /// The check's name, as `quintet core show` has it
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Let a check that was made to fail pass again
    Restore {
        /// The check's name
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let (checks, output) = match &arguments.command {
        Command::Show { place, output } => (place.client()?.ask(&localization::CHECKS)?, *output),
        Command::Fail { name, place, output } => (place.client()?.ask(localization::FAIL.of(&[name]))?, *output),
        Command::Restore { name, place, output } => (place.client()?.ask(localization::RESTORE.of(&[name]))?, *output),
    };
    if output.json {
        return output::say_json(&checks);
    }
    let row = |check: &CoreCheckView| {
        let outcome = if check.ok { "ok" } else { "failed" };
        vec![check.name.clone(), outcome.to_owned(), format!("{} ms", check.milliseconds)]
    };
    output::say_table(&["check", "outcome", "took"], &checks.items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}
