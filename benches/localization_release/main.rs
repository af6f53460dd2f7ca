//! Localization's figures of what a company signs for, part by part.
//!
//! - `verify`: an audit chain of a million events gone over by `GET /v1/audit/verify`, and how long others wait meanwhile.
//! - `export`: the same chain as a file, and how much memory the server has meanwhile.
//! - `release`: a release of 50,000 keys in 10 locales, all approved: how long it takes, how much memory the server has
//!   meanwhile, how long anybody else waits for the writer, whether it is the same when made again. Once with all keys in one
//!   file, once with 100 in each of 500.
//! - `policy`: 50,000 drafts of prose approved by policy, and how long anybody else waits for the writer meanwhile.
//! - `sign-in`: how long a callback takes at a provider that answers at once, and what a request with the cookie of it costs
//!   beside one with a key of the same member.
//!
//! `cargo bench --bench localization_release [-- PART [COUNT]]`; without a part, all of them. COUNT: events, or keys.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints its result and makes the connections it measures"
)]

mod audit;
#[path = "../localization_load/connection.rs"]
mod connection;
mod policy;
mod release;
#[path = "../localization/server.rs"]
mod server;
mod sign_in;

/// A part: its name, and what measures it, with as many things as somebody said.
type Part = (&'static str, fn(Option<usize>));

const PARTS: &[Part] = &[
    ("verify", audit::measure_verify),
    ("export", audit::measure_export),
    ("release", release::measure),
    ("policy", policy::measure),
    ("sign-in", sign_in::measure),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let count = arguments.iter().find_map(|argument| argument.parse().ok());
    let named: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<usize>().is_err()).collect();
    for (name, measure) in PARTS {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            measure(count);
        }
    }
}
