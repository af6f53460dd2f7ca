//! `quintet config`: checks and prints the configuration.

use std::path::PathBuf;

use clap::Subcommand;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::config::{Config, Problems, Sources};
use crate::tls;

/// Check and print the configuration
///
/// Precedence: flag, then environment (QUINTET_ and the key's path in capitals, joined by two underscores:
/// QUINTET_LISTEN__LEDGER=127.0.0.1:0), then file, then default.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check the configuration and name everything that is wrong with it
    Check {
        /// The configuration file [default: /etc/quintet/quintet.toml, if there is one]
        file: Option<PathBuf>,
        /// The same, as other commands take it
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        config: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Print every key with the value in force and where it came from; secrets are redacted
    Print {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Check { file, config, output } => {
            check(&Sources::of_process(file.clone().or_else(|| config.clone()), None), *output)
        }
        Command::Print { place, output } => {
            let config = place.load()?;
            if output.json {
                return output::say_json(&config.to_json());
            }
            output::say(config.to_toml().trim_end());
            Ok(())
        }
    }
}

fn check(sources: &Sources, output: OutputArguments) -> Result<(), CliError> {
    let outcome = Config::load(sources).and_then(|config| match tls::problems(&config) {
        Problems(problems) if problems.is_empty() => Ok(()),
        problems => Err(problems),
    });
    if output.json {
        let problems = outcome.as_ref().err().map(|Problems(problems)| problems.as_slice()).unwrap_or_default();
        let items = problems.iter().map(|p| serde_json::json!({ "place": p.place, "message": p.message }));
        output::say_json(&serde_json::json!({ "valid": outcome.is_ok(), "problems": items.collect::<Vec<_>>() }))?;
    }
    outcome?;
    if !output.json {
        output::say("The configuration is valid.");
    }
    Ok(())
}
