//! `quintet serve`: runs the appliance in the foreground.

use std::collections::BTreeMap;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::start_error::StartError;
use crate::{logging, serve};

/// Run the appliance in the foreground
///
/// An absent or empty data directory is initialized. SIGTERM and SIGINT drain and stop; under systemd
/// readiness and the watchdog are notified. Logs go to standard error: text on a terminal, JSON otherwise.
///
/// Each service listens where `listen` of the configuration says; addresses.json in the data directory tells where that
/// is. Containers are started by `quintet runner`; root without one gets one of its own, which ends with the server.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Run on a rehearsal directory: the clock moves only with `quintet clock advance`
    #[arg(long)]
    rehearsal_clock: bool,
    /// What to log: error, warn, info, debug, trace, or a filter such as info,quintet=debug [default: RUST_LOG, else info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command. With `--json` the listeners' addresses are printed once they are bound.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    start_logging(arguments.log_level.as_deref(), "info")?;
    let config = arguments.place.load()?;
    let json = arguments.output.json;
    let rehearsal = arguments.rehearsal_clock;
    let life = async move {
        let running = match serve::start(config, rehearsal, |step| tracing::debug!("{step}")).await {
            Err(StartError::ToldToStop) => return Ok(()),
            started => started?,
        };
        if json {
            let addresses: BTreeMap<_, _> = running.addresses().into_iter().collect();
            output::say_json(&addresses)?;
        }
        running.until_told().await;
        running.stop().await;
        Ok(())
    };
    serve::block_on(life).map_err(CliError::failed)?
}

/// Starts logging; a level that makes no sense is wrong usage.
pub fn start_logging(flag: Option<&str>, default: &str) -> Result<(), CliError> {
    logging::start(flag, default).map_err(|error| {
        CliError::failed(format!("the log level cannot be understood: {error}"))
            .code(CliError::USAGE)
            .hint("levels are error, warn, info, debug and trace")
    })
}
