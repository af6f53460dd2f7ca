//! Localization's figures of what a company signs for, part by part.
//!
//! - `release`: a release of 50,000 keys in 10 locales, all approved: how long it takes, how much memory the server has
//!   meanwhile, how long anybody else waits for the writer, whether it is the same when made again. Once with all keys in one
//!   file, once with 100 in each of 500.
//!
//! `cargo bench --bench localization_release [-- PART [KEYS]]`; without a part, all of them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

#[path = "../localization_load/connection.rs"]
mod connection;
mod release;
#[path = "../localization/server.rs"]
mod server;

/// A part: its name, and what measures it with so many keys.
type Part = (&'static str, fn(usize));

const PARTS: &[Part] = &[("release", release::measure)];
const KEYS: usize = 50_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let keys = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(KEYS);
    let named: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<usize>().is_err()).collect();
    for (name, measure) in PARTS {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            measure(keys);
        }
    }
}
