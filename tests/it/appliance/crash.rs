//! kill -9 of the real binary under load: everything that was answered is there, nothing is there twice.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::time::Instant;

use crate::support::appliance::{Setup, rounds};
use crate::support::load::Books;

const CALLERS: usize = 64;

#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let rounds = rounds("QUINTET_KILLS", 4);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let mut books = Books::open(&appliance);
    for round in 0..rounds {
        let load = books.load(&appliance, CALLERS);
        load.wait_for(60 + 40 * (round as u64 % 20));
        appliance.kill();
        let postings = load.finish();
        appliance = Setup::new().on(&data).start();
        let found = books.audit(&appliance, &postings, Instant::now(), &format!("kill {round}"));
        books.settle(postings, found);
        // The ledger's own proof: counters, statements and journal fit each other.
        let proof = appliance.cli_json(&["ledger", "prove"]);
        assert_eq!(proof["findings"], serde_json::json!([]), "kill {round}");
    }
    println!("{rounds} kills, {} postings, none lost, none twice", books.len());
    assert!(books.len() > rounds * 20, "only {} postings in {rounds} rounds", books.len());
    assert_eq!(appliance.stop(), Some(0));
}
