//! `quintet console`: a link to the operator's pages.

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::console;

/// Print a link that opens the operator's pages in a browser, once
///
/// The link works for ten minutes and for one browser; who asked for it is recorded. The session that begins with it lasts
/// eight hours, and half an hour without a request. The pages are reached on the appliance's own machine; from another one
/// through `ssh -L 7400:127.0.0.1:7400 HOST`, with the port of the link in both places.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command. The link is alone on standard output, for another program to open.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let view = arguments.place.client()?.ask(&console::LINK)?;
    if arguments.output.json {
        return output::say_json(&view);
    }
    output::say(&view.url);
    output::progress(&format!("It works once, until {}.", view.ends_at));
    Ok(())
}
