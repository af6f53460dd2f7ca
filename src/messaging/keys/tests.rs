//! Keys over a real store.

use quintet_storage::{Timestamp, Uuid};
use quintet_support::Bench;

use super::hand_over::{fetch, hand_over, waiting};
use super::revoke::REVOKED_MAX;
use super::{NewKey, agents_of, expire_address, issue, revoke, scope_of};
use crate::identity::keys::{PreparedKey, draw_secret, list, of_text};
use crate::identity::{Key, Scope, workspaces};
use crate::limits::{BOUND_KEYS, OPERATOR_KEYS};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;
use crate::workspaces::{NewWorkspace, SetLimit, create, set_limits};

const NO: WorkspaceNo = WorkspaceNo(1);

fn bench() -> Bench<Refusal> {
    let bench: Bench<Refusal> = Bench::new(crate::TABLES, 1_764_000_000_000_000);
    let new = NewWorkspace { slug: "acme".to_owned(), name: None, tenant_id: Uuid::from_u128(7), is_encrypted: false };
    bench.run(move |tx, now| create(tx, now, new)).unwrap();
    bench
}

fn issued(bench: &Bench<Refusal>, scope: Scope, agents: &[&str]) -> Result<(Key, String), Refusal> {
    let prepared = PreparedKey::draw();
    let text = prepared.text().expose().clone();
    let agents = agents.iter().map(|agent| (*agent).to_owned()).collect();
    let new = NewKey { prepared, scope, agents, label: "mine".to_owned() };
    bench.run(move |tx, now| issue(tx, now, NO, new)).map(|key| (key, text))
}

fn counts(bench: &Bench<Refusal>) -> (u32, u32) {
    let counts = workspaces::counts(&bench.store.read(), NO).unwrap();
    (counts.operator_keys, counts.bound_keys)
}

#[test]
fn a_key_opens_until_it_is_revoked() {
    let bench = bench();
    let (key, text) = issued(&bench, Scope::Admin, &[]).unwrap();
    assert_eq!(of_text(&bench.store.read(), &text).unwrap(), Some(key.clone()));
    assert_eq!(counts(&bench), (1, 0));
    let id = key.id.clone();
    let revoked = bench.run(move |tx, now| revoke(tx, now, Some(NO), &id)).unwrap();
    assert_eq!((revoked.revoked_at, counts(&bench)), (Some(bench.now()), (0, 0)));
    assert_eq!(of_text(&bench.store.read(), &text).unwrap(), None);
    bench.clock.advance(9);
    let id = key.id.clone();
    let again = bench.run(move |tx, now| revoke(tx, now, None, &id)).unwrap();
    assert_eq!((again, counts(&bench)), (revoked, (0, 0)), "again changes nothing");
    let id = key.id;
    let elsewhere = bench.run(move |tx, now| revoke(tx, now, Some(WorkspaceNo(2)), &id));
    assert_eq!(elsewhere.unwrap_err(), Refusal::NotFound("such key".to_owned()));
    assert_eq!(list(&bench.store.read(), NO).unwrap().len(), 1);
}

#[test]
fn of_revoked_keys_the_newest_are_known() {
    let bench = bench();
    let (kept, _) = issued(&bench, Scope::Admin, &[]).unwrap();
    let mut ids = Vec::new();
    for _ in 0..REVOKED_MAX + 3 {
        let (key, _) = issued(&bench, Scope::Read, &["a"]).unwrap();
        bench.clock.advance(1);
        let id = key.id.clone();
        bench.run(move |tx, now| revoke(tx, now, Some(NO), &id)).unwrap();
        ids.push(key.id);
    }
    let mut known: Vec<String> = list(&bench.store.read(), NO).unwrap().into_iter().map(|key| key.id).collect();
    let mut expected: Vec<String> = ids.split_off(3);
    expected.push(kept.id);
    known.sort_unstable();
    expected.sort_unstable();
    assert_eq!(known, expected);
    let forgotten = ids.remove(0);
    let again = bench.run(move |tx, now| revoke(tx, now, Some(NO), &forgotten));
    assert_eq!(again.unwrap_err(), Refusal::NotFound("such key".to_owned()));
    assert_eq!(counts(&bench), (1, 0));
}

#[test]
fn keys_are_counted_by_their_kind() {
    let bench = bench();
    let limits = [(OPERATOR_KEYS, SetLimit::To(1)), (BOUND_KEYS, SetLimit::To(2))];
    bench.run(move |tx, _| set_limits(tx, "acme", &limits)).unwrap();
    let (first, _) = issued(&bench, Scope::Full, &[]).unwrap();
    assert_eq!(issued(&bench, Scope::Read, &[]).unwrap_err(), Refusal::LimitReached("operator_keys", 1));
    issued(&bench, Scope::Send, &["a"]).unwrap();
    issued(&bench, Scope::Read, &["a", "b"]).unwrap();
    assert_eq!(issued(&bench, Scope::Send, &["c"]).unwrap_err(), Refusal::LimitReached("bound_keys", 2));
    bench.run(move |tx, now| revoke(tx, now, None, &first.id)).unwrap();
    issued(&bench, Scope::Read, &[]).unwrap();
    assert_eq!(counts(&bench), (1, 2));
}

#[test]
fn what_a_key_is_to_be_is_looked_at() {
    assert_eq!(scope_of("full"), Ok(Scope::Full));
    assert!(matches!(scope_of("owner"), Err(Refusal::Invalid(_))));
    let agents = |scope, names: &[&str]| agents_of(scope, names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(agents(Scope::Admin, &[]), Ok(vec![]));
    assert_eq!(agents(Scope::Send, &["b", "a", "b"]), Ok(vec!["b".to_owned(), "a".to_owned()]));
    assert!(agents(Scope::Send, &[]).is_err(), "it must be bound");
    assert!(agents(Scope::Send, &["Big"]).is_err() && agents(Scope::Send, &["system"]).is_err());
    let many: Vec<String> = (0..26).map(|number| format!("a{number}")).collect();
    assert!(agents_of(Scope::Send, many).is_err());
}

fn handed_over(bench: &Bench<Refusal>) -> (Key, String, String) {
    let (key, text) = issued(bench, Scope::Send, &["a"]).unwrap();
    let token = draw_secret().expose().clone();
    let (waits, named) = (key.clone(), token.clone());
    bench.run(move |tx, now| Ok(hand_over(tx, now, &waits, &named)?)).unwrap();
    (key, text, token)
}

#[test]
fn an_address_answers_once_with_a_secret_that_nobody_had() {
    let bench = bench();
    let (key, text, token) = handed_over(&bench);
    assert_eq!(waiting(&bench.store.read(), bench.now(), &token).unwrap().1, key, "looking takes nothing");
    let again = token.clone();
    let fetched = bench.run(move |tx, now| fetch(tx, now, &token, PreparedKey::draw())).unwrap();
    let (id, now_text) = (fetched.0.id, fetched.1.text().expose().clone());
    assert_eq!(id, key.id);
    let read = bench.store.read();
    assert_eq!(of_text(&read, &text).unwrap(), None, "what it was issued with was for nobody");
    assert_eq!(of_text(&read, &now_text).unwrap(), Some(key));
    let refused = bench.run(move |tx, now| fetch(tx, now, &again, PreparedKey::draw())).unwrap_err();
    assert!(matches!(refused, Refusal::NotFound(_)));
    bench.clock.advance(901);
    assert_eq!(due(&bench), []);
    assert!(of_text(&bench.store.read(), &now_text).unwrap().is_some());
    let (other, _, token) = handed_over(&bench);
    assert_eq!(waiting(&bench.store.read(), bench.now(), &token).unwrap().1, other, "another one waits at its own");
}

#[test]
fn a_key_that_nobody_fetches_in_time_is_revoked() {
    let bench = bench();
    let (key, _, token) = handed_over(&bench);
    bench.clock.advance(900);
    let late = token.clone();
    assert!(bench.run(move |tx, now| fetch(tx, now, &late, PreparedKey::draw())).is_err());
    let [(_, place)] = due(&bench)[..] else { panic!("it falls due") };
    bench.run(move |tx, now| Ok(expire_address(tx, now, place)?)).unwrap();
    let all = list(&bench.store.read(), NO).unwrap();
    assert_eq!((all[0].id.clone(), all[0].revoked_at, counts(&bench)), (key.id, Some(bench.now()), (0, 0)));
}

/// The addresses whose time is over by now.
fn due(bench: &Bench<Refusal>) -> Vec<(Timestamp, u128)> {
    let all = crate::due::first(&bench.store.read(), (Timestamp::EPOCH, crate::due::Due::FIRST), 9).unwrap();
    let addresses = all.into_iter().filter_map(|(at, due)| match due {
        crate::due::Due::KeyUrl(place) if at <= bench.now() => Some((at, place)),
        _ => None,
    });
    addresses.collect()
}
