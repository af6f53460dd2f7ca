//! The manual's table of what bad input gets: made from the one type of what all services refuse and each service's
//! dialect of it.

use quintet_diagrams::Diagrams;
use quintet_ledger::Ledger;
use quintet_localization::Localization;
use quintet_platform::service::{Dialect, Fault, ServiceRefusal};
use quintet_runs::Runs;

/// The page that has the table.
const PAGE: &str = "assets/manual/errors.md";

/// How a service answers a fault: its status and code; a dash if nothing that it serves meets that fault.
fn told<D: Dialect>(fault: &Fault) -> String {
    let verdict = D::Refusal::from(fault.clone()).verdict();
    let known = D::INTERFACE.codes.iter().any(|code| (code.status, code.code) == (verdict.status, verdict.code));
    if known { format!("{} `{}`", verdict.status, verdict.code) } else { "–".to_owned() }
}

fn table() -> String {
    let mut table = "| what came in | ledger | localization | runs | diagrams |\n|---|---|---|---|---|\n".to_owned();
    for (what, fault) in Fault::one_of_each() {
        // Callers of the diagrams get a status and a sentence.
        let diagrams = told::<Diagrams>(&fault).split(' ').next().unwrap_or_default().to_owned();
        let cells = [told::<Ledger>(&fault), told::<Localization>(&fault), told::<Runs>(&fault), diagrams];
        table.push_str(&format!("| {what} | {} |\n", cells.join(" | ")));
    }
    table
}

#[test]
fn the_manual_tells_what_bad_input_gets() {
    let page = std::fs::read_to_string(format!("{}/{PAGE}", std::env::var("CARGO_MANIFEST_DIR").unwrap())).unwrap();
    let table = table();
    assert!(page.contains(&table), "{PAGE} must have this table:\n{table}");
}
