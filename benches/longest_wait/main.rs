//! How long a request that needs nothing (`GET /livez` of the operations listener, `GET /healthz` of the ledger) has to wait
//! while eight callers ask each service for the worst it has to give.
//!
//! `cargo bench --bench longest_wait [-- SECONDS]`: SECONDS for each row. Callers and appliance share the machine.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly and prints its result"
)]

mod data;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use data::Worst;
use server::Server;

const CALLERS: usize = 8;
/// How often the two are asked.
const PACE: Duration = Duration::from_millis(5);

fn main() {
    let seconds = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(10);
    let time = Duration::from_secs(seconds);
    let server = Arc::new(Server::start());
    println!("preparing");
    let worst = data::prepare(&server);
    println!(
        "\n| what eight callers ask for | requests | their median | longest wait of /livez | its p99 | of the ledger's /healthz | its p99 |"
    );
    println!("|---|---|---|---|---|---|---|");
    row(&server, "nothing", None, time);
    for one in worst {
        row(&server, one.name, Some(Arc::new(one)), time);
    }
}

fn row(server: &Arc<Server>, name: &str, worst: Option<Arc<Worst>>, time: Duration) {
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = worst.iter().flat_map(|one| std::iter::repeat_n(Arc::clone(one), CALLERS)).collect();
    let callers: Vec<_> = callers
        .into_iter()
        .enumerate()
        .map(|(caller, one)| {
            let (server, is_over) = (Arc::clone(server), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut taken = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    (one.ask)(&server, caller, taken.len());
                    taken.push(begun.elapsed());
                }
                taken
            })
        })
        .collect();
    let pollers = ["operations", "ledger"].map(|service| {
        let (server, is_over) = (Arc::clone(server), Arc::clone(&is_over));
        let path = if service == "operations" { "/livez" } else { "/healthz" };
        std::thread::spawn(move || {
            let mut waits = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                assert_eq!(server.get(service, path).0, 200);
                waits.push(begun.elapsed());
                std::thread::sleep(PACE);
            }
            waits.sort();
            waits
        })
    });
    std::thread::sleep(time);
    is_over.store(true, Ordering::Relaxed);
    let mut taken: Vec<Duration> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
    taken.sort();
    let waits = pollers.map(|poller| poller.join().unwrap());
    let median = taken.get(taken.len() / 2).map_or("-".to_owned(), |median| millis(*median));
    let told = |waits: &Vec<Duration>| {
        format!("{} | {}", millis(*waits.last().unwrap()), millis(waits[waits.len() * 99 / 100]))
    };
    println!("| {name} | {} | {median} | {} | {} |", taken.len(), told(&waits[0]), told(&waits[1]));
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
