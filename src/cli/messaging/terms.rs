//! What several commands of messaging take.

use clap::builder::NonEmptyStringValueParser;

use crate::cli::output::OutputArguments;
use crate::cli::place::PlaceArguments;

/// What all of these commands take.
#[derive(Debug, clap::Args)]
pub struct Common {
    #[command(flatten)]
    pub place: PlaceArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// The workspace that a command is about.
#[derive(Debug, clap::Args)]
pub struct OfWorkspace {
    /// The workspace's slug
    #[arg(long, value_name = "SLUG", value_parser = NonEmptyStringValueParser::new())]
    pub workspace: String,
    #[command(flatten)]
    pub common: Common,
}
