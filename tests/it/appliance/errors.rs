//! The manual's table of what bad input gets: made from the one type of what all services refuse and each service's
//! dialect of it.

use std::collections::BTreeMap;

use quintet_diagrams::Diagrams;
use quintet_ledger::Ledger;
use quintet_localization::Localization;
use quintet_messaging::Messaging;
use quintet_platform::service::{Dialect, Fault, KeyRule, Route, ServiceRefusal};
use quintet_runs::Runs;

/// The page that has the table.
const PAGE: &str = "assets/manual/errors.md";

/// Whether any of these takes an Idempotency-Key.
fn takes_keys(mut routes: impl Iterator<Item = &'static Route>) -> bool {
    routes.any(|route| route.key != KeyRule::Ignored)
}

/// How a service answers a fault: its status and code; a dash if nothing that it serves meets that fault.
fn told<D: Dialect>(fault: &Fault, takes_keys: bool) -> String {
    let is_of_keys =
        matches!(fault, Fault::KeyMissing | Fault::KeyMalformed(_) | Fault::KeyReused | Fault::KeyInProgress);
    if is_of_keys && !takes_keys {
        return "–".to_owned();
    }
    let verdict = D::Refusal::from(fault.clone()).verdict();
    let known = D::INTERFACE.codes.iter().any(|code| (code.status, code.code) == (verdict.status, verdict.code));
    if known { format!("{} `{}`", verdict.status, verdict.code) } else { "–".to_owned() }
}

fn table() -> String {
    let mut table =
        "| what came in | ledger | localization | runs | messaging | diagrams |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for (what, fault) in Fault::one_of_each() {
        // Callers of the diagrams get a status and a sentence.
        let diagrams = told::<Diagrams>(&fault, takes_keys(quintet_diagrams::served()));
        let diagrams = diagrams.split(' ').next().unwrap_or_default().to_owned();
        let cells = [
            told::<Ledger>(&fault, takes_keys(quintet_ledger::served())),
            told::<Localization>(&fault, takes_keys(quintet_localization::served())),
            told::<Runs>(&fault, takes_keys(quintet_runs::served())),
            told::<Messaging>(&fault, takes_keys(quintet_messaging::served())),
            diagrams,
        ];
        table.push_str(&format!("| {what} | {} |\n", cells.join(" | ")));
    }
    table
}

fn page() -> String {
    std::fs::read_to_string(format!("{}/{PAGE}", std::env::var("CARGO_MANIFEST_DIR").unwrap())).unwrap()
}

#[test]
fn the_manual_tells_what_bad_input_gets() {
    let table = table();
    assert!(page().contains(&table), "{PAGE} must have this table:\n{table}");
}

/// What a service remembers under a key, in the words of the page.
fn remembered<D: Dialect>(takes_keys: bool) -> &'static str {
    match (takes_keys, D::DEMANDS.remembers_refusals) {
        (false, _) => "takes no key",
        (true, true) => "successes and refusals",
        (true, false) => "successes",
    }
}

/// The rows of the page that say what each service remembers are its dialect's; the order beside them is tried by
/// `tests/it/ledger/access.rs` and `tests/it/localization/order.rs`.
#[test]
fn the_manual_tells_what_is_remembered_under_a_key() {
    let page = page();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?))
    });
    let rows: BTreeMap<&str, &str> =
        rows.skip_while(|row| *row != ("service", "remembers under a key")).skip(1).collect();
    let remembered = [
        ("diagrams", remembered::<Diagrams>(takes_keys(quintet_diagrams::served()))),
        ("ledger", remembered::<Ledger>(takes_keys(quintet_ledger::served()))),
        ("localization", remembered::<Localization>(takes_keys(quintet_localization::served()))),
        ("messaging", remembered::<Messaging>(takes_keys(quintet_messaging::served()))),
        ("runs", remembered::<Runs>(takes_keys(quintet_runs::served()))),
    ];
    assert_eq!(rows, BTreeMap::from(remembered));
}
