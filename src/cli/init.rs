//! `quintet init`: makes a data directory and its root key.

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::serve;

/// Make a data directory and its root key
///
/// The directory must be absent or empty. `quintet serve` does the same by itself when it finds none;
/// this command is for those who want to look at it, or move the key, before the first start.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Make a directory for rehearsals: its clock moves only when told, for good
    #[arg(long)]
    rehearsal_clock: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let config = arguments.place.load()?;
    serve::init(&config, arguments.rehearsal_clock)?;
    let path = config.data_dir.display();
    if arguments.output.json {
        let mode = if arguments.rehearsal_clock { "rehearsal" } else { "system" };
        return output::say_json(&serde_json::json!({ "data_dir": path.to_string(), "clock": mode }));
    }
    let flag = if arguments.rehearsal_clock { " --rehearsal-clock" } else { "" };
    output::say(&format!("Made {path}. Start it with `quintet serve --data {path}{flag}`."));
    Ok(())
}
