//! The `quintet` binary: hands the command line over and turns the outcome into an exit code.

use std::process::ExitCode;

/// The allocator of all that is linked in, RocksDB's C++ included: the C library's takes locks between threads and a
/// tenth of a posting's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    quintet::cli::run(std::env::args_os())
}
