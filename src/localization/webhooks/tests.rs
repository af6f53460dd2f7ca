//! Webhooks over a real store: what endpoints ask for, what they are told, and what is told of nothing.

mod delivering;

use quintet_platform::deliveries::{
    Attempted, DeliveryRoom as _, Destination, Health, LastError, Settled, Verdict, counters, find as find_delivery,
};
use quintet_platform::json::{Json, Limits, parse};
use quintet_platform::secrets::Secret;
use quintet_platform::webhooks::{
    EndpointChange, EndpointId, EndpointKey, NewEndpoint, SecretOrigin, SigningSecret, Subscription, TenantId,
};
use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Abort, Read as _, Scan, Uuid, WriteTx};

use super::chain::{ROTATE, UPDATE};
use super::manage::{change, create, redeliver, remove, test};
use super::room::{ENDPOINTS_MAX, WEBHOOKS};
use super::tables::{ENDPOINTS, SUBSCRIPTIONS};
use super::{Changed, Changes, Occasion, Place, Told, tell};
use crate::audit::events_after;
use crate::model::ProjectId;
use crate::refusal::Refusal;
use crate::testing::{Bench, OTHER, TENANT, actor, bench};

fn new(events: &[&str], is_active: bool) -> NewEndpoint {
    let patterns = events.iter().map(|event| (*event).to_owned()).collect();
    let secret = SigningSecret { key: Secret::new(b"sesame".to_vec()), origin: SecretOrigin::Supplied };
    NewEndpoint { url: "https://example.com/hooks/token".to_owned(), patterns, description: None, secret, is_active }
}

fn made(bench: &Bench, events: &[&str], is_active: bool) -> Result<Uuid, Refusal> {
    let new = new(events, is_active);
    bench.run(move |tx, now| create(tx, now, &actor(TENANT), new)).map(|(id, _)| id)
}

fn key_of(endpoint_id: Uuid) -> EndpointKey {
    EndpointKey { tenant_id: TENANT.0, endpoint_id }
}

fn pending(bench: &Bench) -> u64 {
    counters(&bench.store.read(), WEBHOOKS.outbox(TENANT.0)).unwrap().pending
}

fn actions(bench: &Bench) -> Vec<String> {
    events_after(&bench.store.read(), TENANT, 0, 100).unwrap().into_iter().map(|(_, row)| row.action).collect()
}

fn release() -> Told<1> {
    let resource_id = Uuid::from_u128(5);
    Told { event: "release", resource_type: "release", resource_id, data: [("entries", Json::from(7_u32))] }
}

#[test]
fn what_is_asked_for_follows_the_endpoints() {
    let bench = bench();
    let active = made(&bench, &["release", "import"], true).unwrap();
    let idle = made(&bench, &["*"], false).unwrap();
    let asked = || {
        let all = WEBHOOKS.subscribed(&bench.store.read(), TENANT.0).unwrap();
        all.iter().map(|one| (one.endpoint_id, one.events)).collect::<Vec<_>>()
    };
    assert_eq!(asked(), [(active, 12)]);
    let on = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, &actor(TENANT), idle, UPDATE, on)).unwrap();
    assert_eq!(asked(), [(active, 12), (idle, 15)]);
    let nobody = bench.run(move |tx, now| remove(tx, now, &actor(OTHER), idle));
    assert_eq!(nobody, Err(Refusal::NotFound), "another tenant's is not there");
    bench.run(move |tx, now| remove(tx, now, &actor(TENANT), active)).unwrap();
    assert_eq!(asked(), [(idle, 15)]);
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    assert_eq!(actions(&bench), ["webhook.create", "webhook.create", "webhook.update", "webhook.delete"]);
    let chain = format!("{:?}", events_after(&bench.store.read(), TENANT, 0, 100).unwrap());
    assert!(chain.contains("example.com") && !chain.contains("token") && !chain.contains("sesame"), "{chain}");
}

#[test]
fn secrets_are_kept_sealed_and_go_with_the_tenant() {
    let bench = bench();
    let id = made(&bench, &["*"], true).unwrap();
    let secret = SigningSecret { key: Secret::new(b"open".to_vec()), origin: SecretOrigin::Generated };
    let other = EndpointChange { secret: Some(secret), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, &actor(TENANT), id, ROTATE, other)).unwrap();
    let stored = format!("{:?}", bench.store.read().scan(&ENDPOINTS, Scan::all()).unwrap());
    assert!(stored.contains("Sealed(") && !stored.contains("111, 112, 101, 110"), "{stored}");
    let (endpoint, key) = WEBHOOKS.open(&bench.store.read(), key_of(id)).unwrap().unwrap();
    assert_eq!((key.unwrap().expose().as_slice(), endpoint.secret_origin), (&b"open"[..], SecretOrigin::Generated));
    bench.run(|tx, now| Ok(tell(tx, now, &actor(TENANT), release())?)).unwrap();
    bench.run(|tx, now| Ok(seal::destroy(tx, now, KeyOwner::Tenant(TENANT.0))?)).unwrap();
    let gone = WEBHOOKS.destination(&bench.store.read(), WEBHOOKS.outbox(TENANT.0), id).unwrap();
    assert!(matches!(gone, Destination::Gone), "what was told before is given up");
    bench.run(|tx, now| Ok(tell(tx, now, &actor(TENANT), release())?)).unwrap();
    assert_eq!(pending(&bench), 1, "nothing can be kept any more");
}

#[test]
fn twenty_are_the_most() {
    let bench = bench();
    for _ in 0..ENDPOINTS_MAX {
        made(&bench, &["import"], false).unwrap();
    }
    assert!(matches!(made(&bench, &["import"], true), Err(Refusal::Conflict(_))));
    let new = new(&["*"], true);
    bench.run(move |tx, now| create(tx, now, &actor(OTHER), new)).unwrap();
}

#[test]
fn only_who_asks_is_told_and_only_if_it_happens() {
    let bench = bench();
    made(&bench, &["translation", "import"], true).unwrap();
    made(&bench, &["release"], true).unwrap();
    made(&bench, &["*"], false).unwrap();
    bench.run(|tx, now| Ok(tell(tx, now, &actor(TENANT), release())?)).unwrap();
    assert_eq!(pending(&bench), 1);
    bench.run(|tx, now| Ok(tell(tx, now, &actor(OTHER), release())?)).unwrap();
    assert_eq!(counters(&bench.store.read(), WEBHOOKS.outbox(OTHER.0)).unwrap().last_id, 0);
    let refused: Result<(), Refusal> = bench.run(|tx, now| {
        tell(tx, now, &actor(TENANT), release())?;
        Err(Refusal::NotFound.into())
    });
    assert_eq!((refused, pending(&bench)), (Err(Refusal::NotFound), 1), "nothing happened");
}

/// Two hundred translations, the most of one transaction, are one event for each of twenty endpoints, whole, and the
/// transaction stays small.
#[test]
fn what_one_transaction_changes_is_one_event() {
    let bench = bench();
    for _ in 0..ENDPOINTS_MAX {
        made(&bench, &["translation"], true).unwrap();
    }
    let change_many = |count: u128, occasion: Occasion| {
        bench.run(move |tx, now| {
            let mut changes = Changes::begin(tx, TENANT, occasion)?;
            let place = Place { project_id: ProjectId(Uuid::from_u128(1)), file_id: Uuid::from_u128(2), locale: "de" };
            for number in 0..count {
                let approval_ref = (occasion == Occasion::Policy).then_some("evaluation");
                let key_id = Uuid::from_u128(number);
                let changed = Changed { key_id, revision: u64::MAX, from: "draft", to: "approved", approval_ref };
                changes.note(&place, changed);
            }
            Ok::<_, Abort<Refusal>>(changes.tell(tx, now, &actor(TENANT))?)
        })
    };
    change_many(0, Occasion::Written).unwrap();
    assert_eq!(pending(&bench), 0, "nothing happened");
    change_many(200, Occasion::Policy).unwrap();
    assert_eq!(pending(&bench), ENDPOINTS_MAX);
    let delivery = find_delivery(&bench.store.read(), WEBHOOKS.outbox(TENANT.0), 1).unwrap().unwrap();
    assert_eq!((delivery.event.as_str(), delivery.resource), ("translation", Uuid::from_u128(2).to_string()));
    let event = quintet_platform::webhooks::Event {
        event_id: Uuid::from_u128(1),
        name: "translation".to_owned(),
        occurred_at: bench.now(),
        tenant_id: TENANT.0,
        resource_type: "file",
        resource_id: Uuid::from_u128(2).to_string(),
        data: Json::object([("keys", Json::Array(vec![Json::Null; 3]))]),
    };
    let sent = WEBHOOKS.envelope(&event, 32 << 10).with_delivery(7, Some(Uuid::from_u128(9)));
    let read = parse(&sent, Limits::default()).unwrap();
    assert_eq!(read.get("truncated"), Some(&Json::Bool(false)));
    let block = read.get("delivery").unwrap();
    assert_eq!(block.get("endpoint_id").and_then(Json::as_str), Some(Uuid::from_u128(9).to_string().as_str()));
}

#[test]
fn tests_and_repetitions_are_told_of_in_the_chain_and_bounded() {
    let bench = bench();
    let id = made(&bench, &["*"], true).unwrap();
    bench.run(move |tx, now| test(tx, now, &actor(TENANT), id)).unwrap();
    let waits = bench.run(|tx, now| redeliver(tx, now, &actor(TENANT), 1));
    assert!(matches!(waits, Err(Refusal::Conflict(_))), "it has not ended");
    let none = bench.run(|tx, now| redeliver(tx, now, &actor(TENANT), 2));
    assert_eq!(none.map(|_| ()), Err(Refusal::NotFound));
    let off = EndpointChange { is_active: Some(false), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, &actor(TENANT), id, UPDATE, off)).unwrap();
    let inactive = bench.run(move |tx, now| test(tx, now, &actor(TENANT), id));
    assert!(matches!(inactive, Err(Refusal::Conflict(_))));
    assert_eq!(actions(&bench), ["webhook.create", "webhook.test", "webhook.update"]);
    let on = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, &actor(TENANT), id, UPDATE, on)).unwrap();
    for number in 0..100 {
        // One waits already.
        let count = 100 - usize::from(number == 0);
        let tests = move |tx: &mut WriteTx<'_>, now| {
            let all = (0..count).try_for_each(|_| WEBHOOKS.test(tx, now, key_of(id)).map(drop));
            all.map_err(|_| Refusal::NotFound.into())
        };
        bench.run(tests).unwrap();
    }
    let crowded = bench.run(move |tx, now| test(tx, now, &actor(TENANT), id));
    assert!(matches!(crowded, Err(Refusal::Conflict(_))));
    let other = made(&bench, &["*"], true).unwrap();
    bench.run(move |tx, now| test(tx, now, &actor(TENANT), other)).unwrap();
}

/// What the operator does, and what is done by itself, is in the chain as what people do; what changes nothing is not.
#[test]
fn the_chain_has_all_that_is_done_and_nothing_else() {
    let bench = bench();
    let id = made(&bench, &["release"], false).unwrap();
    let key = key_of(id);
    let not = |_| Abort::Refused(Refusal::NotFound);
    for _ in 0..2 {
        bench.run(move |tx, now| WEBHOOKS.enable_for_operator(tx, now, key).map_err(not)).unwrap();
    }
    bench.run(move |tx, now| WEBHOOKS.test_for_operator(tx, now, key).map_err(not)).unwrap();
    assert_eq!(actions(&bench), ["webhook.create", "webhook.update", "webhook.test"]);
    let nothing = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, &actor(TENANT), id, UPDATE, nothing)).unwrap();
    bench.run(move |tx, now| change(tx, now, &actor(TENANT), id, UPDATE, EndpointChange::default())).unwrap();
    assert_eq!(actions(&bench).len(), 3, "nothing was changed");
    bench
        .run(move |tx, now| {
            let mut before = Health::default();
            (0..19).for_each(|_| before.died(now));
            let mut after = before.clone();
            after.died(now);
            let outbox = WEBHOOKS.outbox(TENANT.0);
            let delivery = find_delivery(tx, outbox, 1)?.unwrap();
            let (attempted, health) = (Attempted::Failed(LastError::TimedOut), Some((id, &before, &after)));
            let settled = Settled { outbox, delivery: &delivery, attempted, verdict: Verdict::Dead, health };
            Ok(WEBHOOKS.settled(tx, now, &settled)?)
        })
        .unwrap();
    let all = events_after(&bench.store.read(), TENANT, 0, 100).unwrap();
    let told: Vec<(&str, &str)> = all.iter().map(|(_, row)| (row.action.as_str(), row.actor_kind.name())).collect();
    let by_none = [("webhook.update", "system"), ("webhook.test", "system"), ("webhook.disable", "system")];
    assert_eq!(told[1..], by_none);
    assert_eq!(all[3].1.payload, r#"{"active":false,"events":["release"],"host":"example.com:443"}"#);
    assert!(WEBHOOKS.subscribed(&bench.store.read(), TENANT.0).unwrap().is_empty());
}

#[test]
fn contradictions_are_found() {
    type Damage = fn(&mut WriteTx<'_>, &mut Vec<Subscription>);
    let damages: [(&str, Damage); 3] = [
        ("and what it asks for do not agree", |_, asked| asked.clear()),
        ("and what it asks for do not agree", |_, asked| asked[0].events = 2),
        ("that is not there", |tx, asked| {
            tx.delete(&ENDPOINTS, &(TenantId(TENANT.0), EndpointId(asked[0].endpoint_id)));
        }),
    ];
    for (finding, damage) in damages {
        let bench = bench();
        made(&bench, &["release"], true).unwrap();
        assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
        let damage = move |tx: &mut WriteTx<'_>, _| {
            let mut asked = WEBHOOKS.subscribed(tx, TENANT.0)?;
            damage(tx, &mut asked);
            Ok::<_, Abort<Refusal>>(tx.put(&SUBSCRIPTIONS, &TenantId(TENANT.0), &asked.into())?)
        };
        bench.run(damage).unwrap();
        let found = crate::verify(&bench.store.read()).unwrap();
        assert!(found.iter().any(|one| one.contains(finding)), "{finding}: {found:?}");
    }
}
