//! Endpoints over a real store: what they ask for and what they are told.

use quintet_platform::deliveries::{Filter, list};
use quintet_platform::secrets::Secret;

use super::endpoints::{open, subscriptions};
use super::manage::{change, create, remove};
use super::model::{EndpointChange, EndpointId, NewEndpoint, SecretOrigin, SigningSecret, outbox};
use crate::allowances::Ceilings;
use crate::refusal::Refusal;
use crate::testing::{Bench, bench, tenant};

fn secret(bytes: &[u8]) -> SigningSecret {
    SigningSecret { key: Secret::new(bytes.to_vec()), origin: SecretOrigin::Supplied }
}

fn made(bench: &Bench, patterns: &[&str], is_active: bool) -> Result<EndpointId, Refusal> {
    let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    let url = "https://example.com/".to_owned();
    let new = NewEndpoint { url, patterns, description: None, secret: secret(b"sesame"), is_active };
    bench.run(move |tx, now| create(tx, now, tenant(1), &Ceilings::default(), new)).map(|(id, _)| id)
}

#[test]
fn what_is_asked_for_follows_the_endpoints() {
    let bench = bench();
    let active = made(&bench, &["run.exited"], true).unwrap();
    let idle = made(&bench, &["*"], false).unwrap();
    let asked = || subscriptions(&bench.store.read(), tenant(1)).unwrap();
    assert_eq!(asked().iter().map(|one| one.endpoint_id).collect::<Vec<_>>(), [active]);
    let on = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, (tenant(1), idle), on)).unwrap();
    assert_eq!(asked().len(), 2);
    bench.run(move |tx, now| remove(tx, now, (tenant(1), active))).unwrap();
    assert_eq!(asked().iter().map(|one| one.endpoint_id).collect::<Vec<_>>(), [idle]);
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    let nobody = bench.run(move |tx, now| remove(tx, now, (tenant(2), idle)));
    assert!(matches!(nobody, Err(Refusal::NoSuch(_))), "another tenant's is not there");
}

#[test]
fn secrets_are_kept_sealed_and_one_by_one() {
    let bench = bench();
    let id = made(&bench, &["*"], true).unwrap();
    let other = EndpointChange { secret: Some(secret(b"open")), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, (tenant(1), id), other)).unwrap();
    let (_, key) = open(&bench.store.read(), (tenant(1), id)).unwrap().unwrap();
    assert_eq!(key.unwrap().expose().as_slice(), b"open");
    let all = Filter { endpoint_id: None, resource: None, state: None, since: 0, limit: 9 };
    let pending = |_: &quintet_platform::deliveries::Delivery| quintet_platform::deliveries::DeliveryState::Pending;
    assert_eq!(list(&bench.store.read(), outbox(tenant(1)), all, pending).unwrap().items, [], "nothing has happened");
}
