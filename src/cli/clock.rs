//! `quintet clock`: shows the appliance's clock, moves a rehearsal clock.

use clap::Subcommand;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::clock::{self, AdvanceWish};

/// Show the clock; move a rehearsal clock
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Move a rehearsal clock; returns when everything that fell due has run to rest
    Advance {
        /// By how many seconds
        #[arg(value_parser = clap::value_parser!(u64).range(0..=3_200_000_000))]
        seconds: u64,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Show what the appliance's clock says
    Show {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Advance { seconds, place, output } => {
            let wish = AdvanceWish { seconds: *seconds };
            let view = place.client()?.without_hurry().ask(clock::ADVANCE.wishing(&wish))?;
            if output.json {
                return output::say_json(&view);
            }
            output::say(&format!("{}  ({} instants at which something fell due)", view.now, view.steps));
        }
        Command::Show { place, output } => {
            let view = place.client()?.ask(&clock::SHOW)?;
            if output.json {
                return output::say_json(&view);
            }
            output::say(&format!("{}  ({} clock)", view.now, view.mode));
        }
    }
    Ok(())
}
