//! The `quintet` binary: hands the command line over and turns the outcome into an exit code.

use std::process::ExitCode;

/// The allocator of all that is linked in, RocksDB's C++ included: the C library's takes locks between threads and a
/// tenth of a posting's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// The allocator's archive goes to the linker before everything else. A dependency of the containers names the C library
// in its middle (prctl's `#[link(name = "c")]`); what defines `malloc` first would be that, and then both.
#[expect(unsafe_code, reason = "the block is empty: it names an archive and declares nothing")]
#[link(name = "mimalloc", kind = "static")]
unsafe extern "C" {}

fn main() -> ExitCode {
    quintet::cli::run(std::env::args_os())
}
