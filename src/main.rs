//! The `quintet` binary: hands the command line over and turns the outcome into an exit code.

use std::ffi::{c_int, c_long};
use std::process::ExitCode;

/// The allocator of all that is linked in, RocksDB's C++ included: the C library's takes locks between threads and a
/// tenth of a posting's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// The allocator's archive goes to the linker before everything else. A dependency of the containers names the C library
// in its middle (prctl's `#[link(name = "c")]`); what defines `malloc` first would be that, and then both.
#[expect(unsafe_code, reason = "it names an archive, and declares what its header declares")]
#[link(name = "mimalloc", kind = "static")]
unsafe extern "C" {
    safe fn mi_option_set(option: c_int, value: c_long);
}

/// `mi_option_purge_delay`, by its place in mimalloc.h, and how long memory that nobody uses is kept for the next one who
/// needs some, in milliseconds. With the second that is usual, hundreds of mebibytes wait for nobody; without any delay
/// a posting takes a tenth more of the processor.
const PURGE_DELAY: c_int = 15;
const PURGE_DELAY_MILLIS: c_long = 100;

fn main() -> ExitCode {
    mi_option_set(PURGE_DELAY, PURGE_DELAY_MILLIS);
    quintet::cli::run(std::env::args_os())
}
