//! Endpoints over a real store: what they ask for and what they are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quintet_platform::deliveries::{
    Attempted, Delivery, DeliveryRoom as _, Settled, Target, Verdict, counters, find as find_delivery, health_of,
    waiting_for,
};
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
use quintet_platform::webhooks::{
    self, DisabledReason, EndpointChange, EndpointId, EndpointKey, Event, NewEndpoint, SecretOrigin, SigningSecret,
    Subscription,
};
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use super::manage::{create, refused};
use super::model::outbox;
use super::room::WEBHOOKS;
use super::tables::{ENDPOINTS, SUBSCRIPTIONS};
use crate::allowances::Ceilings;
use crate::allowances::model::SetQuotas;
use crate::allowances::quotas::{keep_ceilings, of_telling, set};
use crate::containers::changes::find;
use crate::containers::model::Secrets;
use crate::containers::submission::{Submit, submit};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::states::RunState;
use crate::testing::{Bench, bench, plain, tenant};

fn secret(bytes: &[u8]) -> SigningSecret {
    SigningSecret { key: Secret::new(bytes.to_vec()), origin: SecretOrigin::Supplied }
}

/// A key of the first tenant's endpoint.
fn of_first(endpoint_id: Uuid) -> EndpointKey {
    EndpointKey { tenant_id: tenant(1).0, endpoint_id }
}

/// What a tenant's requests do, refused as they are.
fn change(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: EndpointKey,
    change: EndpointChange,
) -> Result<webhooks::Endpoint, Abort<Refusal>> {
    WEBHOOKS.change(tx, now, key, change).map_err(refused)
}

fn remove(tx: &mut WriteTx<'_>, now: Timestamp, key: EndpointKey) -> Result<(), Abort<Refusal>> {
    WEBHOOKS.remove(tx, now, key).map_err(refused)
}

fn test(tx: &mut WriteTx<'_>, now: Timestamp, key: EndpointKey) -> Result<Delivery, Abort<Refusal>> {
    WEBHOOKS.test(tx, now, key).map_err(refused)
}

fn made(bench: &Bench, patterns: &[&str], is_active: bool) -> Result<Uuid, Refusal> {
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
    let asked = || WEBHOOKS.subscribed(&bench.store.read(), tenant(1).0).unwrap();
    assert_eq!(asked().iter().map(|one| one.endpoint_id).collect::<Vec<_>>(), [active]);
    let on = EndpointChange { is_active: Some(true), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, of_first(idle), on)).unwrap();
    assert_eq!(asked().len(), 2);
    bench.run(move |tx, now| remove(tx, now, of_first(active))).unwrap();
    assert_eq!(asked().iter().map(|one| one.endpoint_id).collect::<Vec<_>>(), [idle]);
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    let nobody = bench.run(move |tx, now| remove(tx, now, EndpointKey { tenant_id: tenant(2).0, endpoint_id: idle }));
    assert!(matches!(nobody, Err(Refusal::NoSuch(_))), "another tenant's is not there");
}

#[test]
fn secrets_are_kept_sealed_and_one_by_one() {
    let bench = bench();
    let id = made(&bench, &["*"], true).unwrap();
    let other = EndpointChange { secret: Some(secret(b"open")), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, of_first(id), other)).unwrap();
    let stored = format!("{:?}", bench.store.read().scan(&ENDPOINTS, Scan::all()).unwrap());
    assert!(!stored.contains(&format!("{:?}", b"open").trim_matches(['[', ']']).to_owned()), "{stored}");
    let (_, key) = WEBHOOKS.open(&bench.store.read(), of_first(id)).unwrap().unwrap();
    assert_eq!(key.unwrap().expose().as_slice(), b"open");
}

/// Hundreds of endpoints are told of everything that happens to many runs at once: each transaction stays small enough to
/// be written, whoever is told, and others' runs do not wait.
#[test]
fn a_crowd_of_endpoints_stops_nobody() {
    let (bench, ceilings) = (bench(), Ceilings::default());
    let numbers = vec![("max_webhook_endpoints", 300), ("max_webhook_payload_bytes", 262_144)];
    let asked = SetQuotas { numbers, working_hours_tjp: None };
    bench.run(move |tx, _| Ok(set(tx, tenant(1), asked)?)).unwrap();
    let url = format!("https://example.com/{}", "x".repeat(2_000));
    for _ in 0..300 {
        let new = NewEndpoint {
            url: url.clone(),
            patterns: vec!["run.failed".to_owned()],
            description: None,
            secret: secret(b"sesame"),
            is_active: true,
        };
        let limits = ceilings.clone();
        bench.run(move |tx, now| create(tx, now, tenant(1), &limits, new)).unwrap();
    }
    let end = bench.now().plus_seconds(60);
    let mut runs = Vec::new();
    for number in 0..40 {
        let tenant_id = tenant(1 + u128::from(number % 2 == 1));
        let secrets = Secrets { env: vec![("A".repeat(60_000), String::new())], ..Secrets::default() };
        let asked = Submit { secrets, expires_at: Some(end), scheduled_start: Some(end.plus_seconds(60)), ..plain() };
        let limits = ceilings.clone();
        let (run_id, _) = bench.run(move |tx, now| submit(tx, now, tenant_id, &limits, asked)).unwrap();
        runs.push((tenant_id, run_id));
    }
    bench.clock.advance(61);
    while bench.run(|tx, now| Ok(crate::sweep::sweep(tx, now)?)).unwrap() > 0 {}
    let read = bench.store.read();
    assert!(runs.into_iter().all(|run| find(&read, run).unwrap().unwrap().state == RunState::Failed));
    assert_eq!(counters(&read, outbox(tenant(1))).unwrap().pending, 6_000);
}

/// Has ten thousand tests wait for an endpoint.
fn crowd(bench: &Bench, endpoint_id: Uuid) {
    for _ in 0..100 {
        bench.run(move |tx, now| (0..100).try_for_each(|_| test(tx, now, of_first(endpoint_id)).map(drop))).unwrap();
    }
}

/// What a tenant asks for beyond what happens waits for ten thousand others of the same endpoint and no more: what another
/// endpoint does not take is nothing to it.
#[test]
fn what_is_asked_for_is_bounded_by_what_waits_for_its_endpoint() {
    let bench = bench();
    let (bad, good) = (made(&bench, &["*"], true).unwrap(), made(&bench, &["*"], true).unwrap());
    let pending = || counters(&bench.store.read(), outbox(tenant(1))).unwrap().pending;
    crowd(&bench, bad);
    let tested = bench.run(move |tx, now| test(tx, now, of_first(bad)));
    assert!(matches!(tested, Err(Refusal::LimitReached(_, 10_000))));
    assert_eq!(pending(), 10_000, "nothing was enqueued");
    for _ in 0..3 {
        bench.run(move |tx, now| test(tx, now, of_first(good))).unwrap();
    }
    assert_eq!(pending(), 10_003);
}

/// An endpoint takes what happens until twenty thousand wait for it; what is more is given up at once, twenty of which disable
/// it. Others are told all the same.
#[test]
fn what_an_endpoint_does_not_take_is_bounded_and_disables_it() {
    let bench = bench();
    let bad = made(&bench, &["run.exited"], true).unwrap();
    let good = made(&bench, &["run.exited"], true).unwrap();
    let watch = made(&bench, &["webhook.endpoint_degraded"], true).unwrap();
    let waiting = |id: Uuid| waiting_for(&bench.store.read(), outbox(tenant(1)), Target::Endpoint(id)).unwrap();
    crowd(&bench, bad);
    let tell = |of: &'static [Uuid], count: usize| {
        let told = bench.run(move |tx, now| {
            for _ in 0..count {
                let event = Event {
                    event_id: tx.new_id(),
                    name: "run.exited".to_owned(),
                    occurred_at: now,
                    tenant_id: tenant(1).0,
                    resource_type: "run",
                    resource_id: "R1".to_owned(),
                    data: Json::object([("a", Json::Null)]),
                };
                let mut listeners =
                    WEBHOOKS.listeners(tx, tenant(1).0, WEBHOOKS.events_of(&["run.exited".to_owned()]))?;
                listeners.retain(|one| of.is_empty() || of.contains(&one.endpoint_id));
                let envelope = WEBHOOKS.envelope_for(tx, &event, listeners.len())?;
                WEBHOOKS.tell(tx, &event, &envelope, &listeners, 30)?;
            }
            Ok(())
        });
        told.unwrap();
    };
    let only_bad: &'static [Uuid] = Box::leak(Box::new([bad]));
    (0..100).for_each(|_| tell(only_bad, 100));
    assert_eq!((waiting(bad), waiting(good)), (20_000, 0));
    tell(&[], 19);
    let record = || WEBHOOKS.find(&bench.store.read(), of_first(bad)).unwrap().unwrap();
    assert_eq!((waiting(bad), waiting(good), record().disabled), (20_000, 19, None));
    assert_eq!(waiting(watch), 1, "others are told of it once");
    let health = health_of(&bench.store.read(), outbox(tenant(1)), bad).unwrap();
    assert_eq!((health.dead_total, health.dead_of_a_day(bench.now())), (19, 19));
    tell(&[], 1);
    assert_eq!(record().disabled, Some(DisabledReason::DeadWithoutSuccess));
    tell(&[], 1);
    assert_eq!((waiting(bad), waiting(good), waiting(watch)), (20_000, 21, 1), "one that is inactive gets nothing");
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

/// Others are told of an endpoint in a bad way however much waits for that one; those for whom much waits are not, and are told
/// when it goes on dying.
#[test]
fn notices_are_bounded_by_what_waits_for_who_is_told() {
    let bench = bench();
    let bad = made(&bench, &["run.failed"], true).unwrap();
    let other = made(&bench, &["webhook.endpoint_degraded"], true).unwrap();
    let waiting = |id: Uuid| waiting_for(&bench.store.read(), outbox(tenant(1)), Target::Endpoint(id)).unwrap();
    let deaths = Arc::new(AtomicUsize::new(0));
    let dies = |more: usize| {
        let deaths = Arc::clone(&deaths);
        bench.run(move |tx, now| {
            for _ in 0..more {
                let before_now = deaths.fetch_add(1, Ordering::SeqCst);
                // What is written of notices, and so many deaths.
                let mut before = health_of(tx, outbox(tenant(1)), bad)?;
                (0..before_now).for_each(|_| before.died(now));
                let mut after = before.clone();
                after.died(now);
                let delivery = find_delivery(tx, outbox(tenant(1)), 1)?.unwrap();
                let settled = Settled {
                    outbox: outbox(tenant(1)),
                    delivery: &delivery,
                    attempted: Attempted::Answered { status: 400, retry_after_seconds: None },
                    verdict: Verdict::Dead,
                    health: Some((bad, &before, &after)),
                };
                WEBHOOKS.settled(tx, now, &settled)?;
            }
            Ok(())
        })
    };
    crowd(&bench, bad);
    bench.run(move |tx, now| (0..2).try_for_each(|_| test(tx, now, of_first(other)).map(drop))).unwrap();
    dies(4).unwrap();
    assert_eq!(waiting(other), 2);
    dies(1).unwrap();
    assert_eq!(waiting(other), 3, "the other one is told");
    dies(3).unwrap();
    assert_eq!(waiting(other), 3, "once");
    let on = |is_active| EndpointChange { is_active: Some(is_active), ..EndpointChange::default() };
    bench.run(move |tx, now| change(tx, now, of_first(bad), on(false))).unwrap();
    bench.run(move |tx, now| change(tx, now, of_first(bad), on(true))).unwrap();
    deaths.store(0, Ordering::SeqCst);
    for _ in 0..100 {
        let more = move |tx: &mut WriteTx<'_>, now| {
            (0..100).try_for_each(|_| match test(tx, now, of_first(other)) {
                Err(Abort::Refused(Refusal::LimitReached(..))) => Ok(()),
                tested => tested.map(drop),
            })
        };
        bench.run(more).unwrap();
    }
    dies(5).unwrap();
    assert_eq!(waiting(other), 10_000, "who has not taken what it was told already is not told");
    let third = made(&bench, &["webhook.endpoint_degraded"], true).unwrap();
    dies(1).unwrap();
    assert_eq!((waiting(other), waiting(third)), (10_000, 1), "it is not forgotten for that");
}

/// What changes nothing is no change.
#[test]
fn a_change_of_nothing_changes_nothing() {
    let bench = bench();
    let id = made(&bench, &["run.exited"], true).unwrap();
    let made_at = WEBHOOKS.find(&bench.store.read(), of_first(id)).unwrap().unwrap().updated_at;
    let changed = |asked: EndpointChange| {
        bench.clock.advance(1);
        bench.run(move |tx, now| change(tx, now, of_first(id), asked)).unwrap().updated_at
    };
    assert_eq!(changed(EndpointChange::default()), made_at);
    let same = EndpointChange {
        is_active: Some(true),
        patterns: Some(vec!["run.exited".to_owned()]),
        ..EndpointChange::default()
    };
    assert_eq!(changed(same), made_at);
    assert!(changed(EndpointChange { secret: Some(secret(b"sesame")), ..EndpointChange::default() }) > made_at);
}

/// Nobody hands the operator's ceilings to what is told; they hold all the same.
#[test]
fn what_is_told_keeps_to_the_ceilings() {
    let bench = bench();
    let id = made(&bench, &["*"], true).unwrap();
    bench.run(|tx, _| Ok(keep_ceilings(tx, Ceilings(vec![("retention_days".to_owned(), 2)]))?)).unwrap();
    let delivery = bench.run(move |tx, now| test(tx, now, of_first(id))).unwrap();
    assert_eq!(delivery.kept_days, 2);
    assert_eq!(of_telling(&bench.store.read(), tenant(1)).unwrap().max_webhook_payload_bytes, 65_536);
    bench.run(|tx, _| Ok(keep_ceilings(tx, Ceilings(vec![("max_webhook_payload_bytes".to_owned(), 2_048)]))?)).unwrap();
    assert_eq!(of_telling(&bench.store.read(), tenant(1)).unwrap().max_webhook_payload_bytes, 2_048);
}

#[test]
fn contradictions_are_found() {
    type Damage = fn(&mut WriteTx<'_>, TenantId, &mut Vec<Subscription>) -> Result<(), Failure>;
    let damages: [(&str, Damage); 5] = [
        ("and what it asks for do not agree", |_, _, asked| {
            asked.clear();
            Ok(())
        }),
        ("and what it asks for do not agree", |_, _, asked| {
            asked[0].events = 0;
            Ok(())
        }),
        ("and what it asks for do not agree", |_, _, asked| {
            asked.push(asked[0].clone());
            Ok(())
        }),
        // Of one that is not active nothing is written down.
        ("and what it asks for do not agree", |tx, tenant_id, asked| {
            let all = tx.scan(&ENDPOINTS, Scan::prefix(&(webhooks::TenantId(tenant_id.0),)))?;
            let idle = all.iter().map(|((_, id), _)| id.0).find(|id| *id != asked[0].endpoint_id).unwrap();
            asked.push(Subscription { endpoint_id: idle, events: asked[0].events });
            Ok(())
        }),
        ("that is not there", |tx, tenant_id, asked| {
            tx.delete(&ENDPOINTS, &(webhooks::TenantId(tenant_id.0), EndpointId(asked[0].endpoint_id)));
            Ok(())
        }),
    ];
    for (finding, damage) in damages {
        let bench = bench();
        made(&bench, &["run.exited"], true).unwrap();
        made(&bench, &["run.exited"], false).unwrap();
        assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
        let damage = move |tx: &mut WriteTx<'_>, _| {
            let mut asked = WEBHOOKS.subscribed(tx, tenant(1).0)?;
            damage(tx, tenant(1), &mut asked)?;
            Ok(tx.put(&SUBSCRIPTIONS, &webhooks::TenantId(tenant(1).0), &asked.into())?)
        };
        bench.run(damage).unwrap();
        let found = crate::verify(&bench.store.read()).unwrap();
        assert!(found.iter().any(|one| one.contains(finding)), "{finding}: {found:?}");
    }
}
