//! Logs on standard error: text on a terminal, one JSON object a line otherwise.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// Starts logging. The level is taken from the flag, else from `RUST_LOG`, else `default`.
///
/// # Errors
/// The level or filter cannot be understood.
pub fn start(flag: Option<&str>, default: &str) -> Result<(), ParseError> {
    let from_environment = std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty());
    let wish = flag.map(str::to_string).or(from_environment).unwrap_or_else(|| default.to_string());
    let filter = EnvFilter::try_new(wish)?;
    let is_terminal = std::io::stderr().is_terminal();
    // Where standard error cannot be written to (a full disk, a pipe nobody reads), saying so there would panic.
    let builder = tracing_subscriber::fmt().log_internal_errors(false).with_env_filter(filter);
    let builder = builder.with_writer(std::io::stderr);
    // A second start in one process (tests) keeps the first subscriber.
    let _ = if is_terminal { builder.with_target(false).try_init() } else { builder.json().try_init() };
    log_panics();
    Ok(())
}

/// Sends panics to the log, so that they keep its format; the thread's owner decides what becomes of them.
fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = info.payload_as_str().unwrap_or("(no message)");
        tracing::error!(place, message, "panic");
    }));
}
