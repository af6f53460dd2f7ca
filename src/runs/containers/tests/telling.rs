//! Who hears of a run.

use quintet_platform::deliveries::{self, Delivery, Filter};

use super::*;
use crate::containers::late::too_late;
use crate::containers::model::Webhook;
use crate::webhooks::model::outbox;

/// The deliveries of a tenant.
fn told(bench: &Bench) -> Vec<Delivery> {
    let all = Filter { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 100 };
    let pending = |_: &Delivery| deliveries::DeliveryState::Pending;
    deliveries::list(&bench.store.read(), outbox(tenant(1)), all, pending).unwrap().items
}

fn with_webhook(events: &[&str], secret: Option<&str>) -> Submit {
    let events = events.iter().map(|event| (*event).to_owned()).collect();
    let webhook = Webhook { url: "https://example.com/".into(), events, has_secret: secret.is_some() };
    let secrets = Secrets { webhook_secret: secret.map(str::to_owned), ..Secrets::default() };
    Submit { webhook: Some(webhook), secrets, ..plain() }
}

#[test]
fn a_run_that_nobody_asked_for_enqueues_nothing() {
    let bench = bench();
    let run_key = submitted(&bench, tenant(1), &ceilings(&[]), plain()).unwrap();
    bench.run(move |tx, now| Ok(too_late(tx, now, run_key)?)).unwrap();
    assert_eq!(told(&bench), []);
}

#[test]
fn a_webhook_hears_of_what_it_asks_for_and_nothing_else() {
    let bench = bench();
    let asked = with_webhook(&["run.terminal"], Some("sesame"));
    let run_key = submitted(&bench, tenant(1), &ceilings(&[]), asked).unwrap();
    assert_eq!(told(&bench), [], "it was only scheduled");
    bench.clock.advance(3600);
    bench.run(move |tx, now| Ok(too_late(tx, now, run_key)?)).unwrap();
    let events: Vec<String> = told(&bench).into_iter().map(|delivery| delivery.event).collect();
    assert_eq!(events, ["run.failed"]);
}

#[test]
fn the_webhook_of_a_run_from_before_there_were_deliveries_comes_alive() {
    let bench = bench();
    let asked = with_webhook(&["run.failed"], None);
    let run_key = submitted(&bench, tenant(1), &ceilings(&[]), asked).unwrap();
    bench.clock.advance(3600);
    bench
        .run(move |tx, now| {
            let run = find(tx, run_key)?.unwrap();
            tx.put(&RUNS, &run_key, &RunRow::from(&Run { asked_events: None, ..run }))?;
            Ok(too_late(tx, now, run_key)?)
        })
        .unwrap();
    assert_eq!(told(&bench).len(), 1);
}
