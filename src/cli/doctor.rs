//! stub
use super::CliError;
/// stub
#[derive(Debug, clap::Args)]
pub struct Arguments {}
/// stub
pub fn run(_: &Arguments) -> Result<(), CliError> {
    Ok(())
}
