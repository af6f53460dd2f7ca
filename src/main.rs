//! The `quintet` binary: hands the command line over and turns the outcome into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    quintet::cli::run(std::env::args_os())
}
