//! Timers over a real store whose clock the tests set: they fire once, whatever happens, and go in their time.

use quintet_platform::deliveries::{Filter as Deliveries, counters, list as deliveries};
use quintet_platform::jobs::Progress;
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Read as _, Timestamp, WriteTx};

use super::cancel::cancel;
use super::create::{NewTimer, create};
use super::list::{Filter, list};
use super::model::{PENDING_MAX, TimerState};
use super::rows::find;
use super::tables::{CONTENTS, TIMERS};
use crate::alarms::counts;
use crate::allowances::Ceilings;
use crate::due;
use crate::model::{TenantId, TimerId, TimerKey};
use crate::refusal::Refusal;
use crate::sweep::{begin, sweep};
use crate::testing::{Bench, bench, tenant};
use crate::webhooks::model::{SecretOrigin, SigningSecret, outbox};

const DAY: i64 = 86_400;

fn new(fire_at: Timestamp) -> NewTimer {
    NewTimer {
        name: Some("tea".to_owned()),
        tags: vec!["kitchen".to_owned()],
        fire_at,
        url: "https://example.com/".to_owned(),
        secret: SigningSecret { key: Secret::new(b"sesame".to_vec()), origin: SecretOrigin::Supplied },
        payload: Json::from("ready"),
        key_id: String::new(),
    }
}

fn made(bench: &Bench, tenant_id: TenantId, fire_at: Timestamp) -> TimerKey {
    let made = bench.run(move |tx, now| create(tx, now, tenant_id, &Ceilings::default(), new(fire_at)));
    (tenant_id, made.unwrap().0)
}

/// Begins all that is due; how much that was.
fn begun(bench: &Bench) -> usize {
    let mut all = 0;
    loop {
        let (some, swept) = bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap();
        all += some;
        if swept.progress == Progress::Rest {
            return all;
        }
    }
}

fn state(bench: &Bench, key: TimerKey) -> TimerState {
    find(&bench.store.read(), key).unwrap().unwrap().state
}

fn told(bench: &Bench, tenant_id: TenantId) -> u64 {
    counters(&bench.store.read(), outbox(tenant_id)).unwrap().last_id
}

fn findings(bench: &Bench) -> Vec<String> {
    crate::verify(&bench.store.read()).unwrap()
}

#[test]
fn a_timer_fires_once_at_its_instant_across_restarts() {
    let bench = bench();
    let key = made(&bench, tenant(1), bench.now().plus_seconds(90 * DAY));
    let other = made(&bench, tenant(2), bench.now().plus_seconds(90 * DAY));
    bench.clock.advance(90 * DAY - 1);
    assert_eq!((begun(&bench), state(&bench, key)), (0, TimerState::Pending));
    let bench = bench.restarted();
    bench.clock.advance(1);
    assert_eq!(begun(&bench), 2);
    let fired = TimerState::Fired { at: bench.now(), delivery_id: Some(1) };
    assert_eq!((state(&bench, key), state(&bench, other)), (fired, fired), "numbers are the tenant's own");
    let all = Deliveries { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 9 };
    let pending = |_: &quintet_platform::deliveries::Delivery| quintet_platform::deliveries::DeliveryState::Pending;
    let items = deliveries(&bench.store.read(), outbox(tenant(1)), all, pending).unwrap().items;
    assert_eq!((items.len(), items[0].event.as_str(), items[0].attempts_max), (1, "timer.fired", 5));
    assert_eq!(items[0].kept_days, 30);
    let bench = bench.restarted();
    bench.clock.advance(1);
    assert_eq!((begun(&bench), told(&bench, tenant(1))), (0, 1));
    assert_eq!(findings(&bench), Vec::<String>::new());
}

#[test]
fn what_is_over_fires_at_once_however_late() {
    let bench = bench();
    let key = made(&bench, tenant(1), Timestamp::from_micros(-7));
    assert_eq!(findings(&bench), Vec::<String>::new());
    // What was begun before is not looked at again, and still it begins.
    let from = bench.now();
    let (count, swept) = bench.run(move |tx, now| Ok(begin(tx, now, from)?)).unwrap();
    assert_eq!((count, swept.progress), (1, Progress::Rest));
    assert!(matches!(state(&bench, key), TimerState::Fired { .. }));
    let late = made(&bench, tenant(1), bench.now().plus_seconds(1));
    bench.clock.advance(400 * DAY);
    assert_eq!((begun(&bench), told(&bench, tenant(1))), (1, 2), "a timer is never missed");
    assert_eq!(state(&bench, late), TimerState::Fired { at: bench.now(), delivery_id: Some(2) });
}

#[test]
fn one_that_is_cancelled_never_fires_and_one_that_has_fired_cannot_be() {
    let bench = bench();
    let key = made(&bench, tenant(1), bench.now().plus_seconds(60));
    let stranger = bench.run(move |tx, now| cancel(tx, now, (tenant(2), key.1)));
    assert!(matches!(stranger, Err(Refusal::NoSuch(_))));
    let once = bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    bench.clock.advance(3_600);
    let twice = bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    assert_eq!(once, twice);
    assert_eq!((begun(&bench), told(&bench, tenant(1))), (0, 0));
    let fired = made(&bench, tenant(1), bench.now());
    assert_eq!(begun(&bench), 1);
    assert!(matches!(bench.run(move |tx, now| cancel(tx, now, fired)), Err(Refusal::NotNow(_))));
    assert_eq!(findings(&bench), Vec::<String>::new());
}

#[test]
fn timers_are_kept_for_so_many_days_after_their_end() {
    let bench = bench();
    let waits = made(&bench, tenant(1), bench.now().plus_seconds(300 * DAY));
    let (fires, ends) = (made(&bench, tenant(1), bench.now()), made(&bench, tenant(1), bench.now().plus_seconds(DAY)));
    assert_eq!(begun(&bench), 1);
    bench.clock.advance(DAY / 2);
    bench.run(move |tx, now| cancel(tx, now, ends)).unwrap();
    let is_there = |bench: &Bench, key: TimerKey| {
        let read = bench.store.read();
        let (row, contents) = (read.contains(&TIMERS, &key).unwrap(), read.contains(&CONTENTS, &key).unwrap());
        assert_eq!(row, contents);
        row
    };
    bench.clock.advance(30 * DAY - DAY / 2 - 1);
    assert_eq!(bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap(), 0);
    bench.clock.advance(1);
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert_eq!((is_there(&bench, fires), is_there(&bench, ends)), (false, true));
    bench.clock.advance(DAY / 2);
    bench.run(|tx, now| Ok(sweep(tx, now)?)).unwrap();
    assert_eq!((is_there(&bench, ends), is_there(&bench, waits)), (false, true), "what waits does not grow old");
    assert_eq!(findings(&bench), Vec::<String>::new());
}

#[test]
fn there_are_so_many_pending_ones_and_no_more() {
    let bench = bench();
    for _ in 0..10 {
        let many = bench.run(|tx, now| {
            for _ in 0..PENDING_MAX / 10 {
                create(tx, now, tenant(1), &Ceilings::default(), new(now.plus_seconds(60)))?;
            }
            Ok(())
        });
        many.unwrap();
    }
    let one_more = |bench: &Bench| {
        bench.run(|tx, now| create(tx, now, tenant(1), &Ceilings::default(), new(now.plus_seconds(60))))
    };
    assert!(matches!(one_more(&bench), Err(Refusal::LimitReached(_, PENDING_MAX))));
    made(&bench, tenant(2), bench.now());
    let page = list(&bench.store.read(), tenant(1), &Filter::default(), None, 1).unwrap();
    let newest = (tenant(1), page.items[0].0);
    bench.run(move |tx, now| cancel(tx, now, newest)).unwrap();
    one_more(&bench).unwrap();
    bench.clock.advance(60);
    assert_eq!(begun(&bench), usize::try_from(PENDING_MAX).unwrap() + 1);
    assert_eq!(told(&bench, tenant(1)), PENDING_MAX);
    assert_eq!(
        counts::of(&bench.store.read(), tenant(1)).unwrap(),
        counts::of(&bench.store.read(), tenant(9)).unwrap()
    );
    one_more(&bench).unwrap();
    assert_eq!(findings(&bench), Vec::<String>::new());
}

#[test]
fn lists_go_on_where_a_page_ended_with_filters_and_without() {
    let bench = bench();
    let mut all = Vec::new();
    for number in 0..150 {
        let bench = &bench;
        bench.clock.advance(1);
        let made = bench.run(move |tx, now| {
            let (name, tags) = (Some(format!("n{}", number % 3)), vec![format!("t{}", number % 5)]);
            let new = NewTimer { name, tags, ..new(now.plus_seconds(if number % 2 == 0 { 0 } else { DAY })) };
            create(tx, now, tenant(1), &Ceilings::default(), new)
        });
        all.push(made.unwrap());
        begun(bench);
    }
    all.reverse();
    let took = |filter: &Filter, limit: usize| {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let page = list(&bench.store.read(), tenant(1), filter, after, limit).unwrap();
            assert!(page.items.len() <= limit);
            ids.extend(page.items.into_iter().map(|(id, _)| id));
            match page.next {
                Some(next) => after = Some(next),
                None => return ids,
            }
        }
    };
    let ids: Vec<TimerId> = all.iter().map(|(id, _)| *id).collect();
    for limit in [1, 7, 200] {
        assert_eq!(took(&Filter::default(), limit), ids);
    }
    let (name, tag) = (Some("n1".to_owned()), Some("t4".to_owned()));
    let both = took(&Filter { name, tag, ..Filter::default() }, 2);
    let wanted = all.iter().filter(|(_, timer)| timer.name.as_deref() == Some("n1") && timer.tags == ["t4"]);
    assert_eq!(both, wanted.map(|(id, _)| *id).collect::<Vec<_>>());
    assert_eq!(took(&Filter { state: Some("pending"), ..Filter::default() }, 9).len(), 75);
    let (since, until) = (Some(all[99].1.created_at), Some(all[9].1.created_at));
    let between = Filter { created_after: since, created_before: until, ..Filter::default() };
    assert_eq!(took(&between, 11), ids[10..=99]);
    assert_eq!(list(&bench.store.read(), tenant(2), &Filter::default(), None, 9).unwrap().items.len(), 0);
}

#[test]
fn an_erased_tenants_timers_come_to_rest() {
    let bench = bench();
    let key = made(&bench, tenant(1), bench.now().plus_seconds(1));
    bench.run(|tx, now| Ok(seal::destroy(tx, now, KeyOwner::Tenant(tenant(1).0))?)).unwrap();
    bench.clock.advance(1);
    assert_eq!(begun(&bench), 1);
    assert_eq!(state(&bench, key), TimerState::Fired { at: bench.now(), delivery_id: None });
    assert_eq!(told(&bench, tenant(1)), 0);
}

#[test]
fn contradictions_are_found() {
    let harmed = |harm: fn(&mut WriteTx<'_>, TimerKey, Timestamp)| {
        let bench = bench();
        let (at, key) = (bench.now().plus_seconds(60), made(&bench, tenant(1), bench.now().plus_seconds(60)));
        let harm = move |tx: &mut WriteTx<'_>, _| {
            harm(tx, key, at);
            Ok(())
        };
        bench.run(harm).unwrap();
        findings(&bench).join("; ")
    };
    assert!(harmed(|tx, key, at| due::clear_fire(tx, at, due::Fire::Timer(key))).contains("nothing that it waits for"));
    assert!(harmed(|tx, key, _| tx.delete(&CONTENTS, &key)).contains("has no contents"));
    let lost = harmed(|tx, key, _| tx.delete(&TIMERS, &key));
    assert!(
        lost.contains("which is none") && lost.contains("does not say so") && lost.contains("has Counts"),
        "{lost}"
    );
    let uncounted = harmed(|tx, key, _| drop(counts::count(tx, key.0, |counts| counts.pending_timers = 0)));
    assert!(uncounted.contains("nobody has counted"), "{uncounted}");
}

#[test]
fn a_crowd_of_one_tenant_keeps_nobody_waiting() {
    let bench = bench();
    let at = bench.now().plus_seconds(60);
    let crowd: Vec<TimerKey> = (0..600).map(|_| made(&bench, tenant(1), at)).collect();
    for number in 0..600 {
        made(&bench, tenant(2), at.plus_micros(number));
    }
    let alone = made(&bench, tenant(3), at.plus_micros(600));
    bench.clock.advance(61);
    let slice = || bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap();
    let (count, swept) = slice();
    assert_eq!((count, swept.progress), (50, Progress::More), "the transaction is full all the same");
    assert!(matches!(state(&bench, alone), TimerState::Fired { .. }), "behind 1,200 others");
    assert_eq!(told(&bench, tenant(2)), 2);
    assert_eq!(begun(&bench), 1_151);
    assert!(crowd.iter().all(|key| matches!(state(&bench, *key), TimerState::Fired { .. })));
    assert_eq!((told(&bench, tenant(1)), told(&bench, tenant(2))), (600, 600), "each once");
    assert_eq!(findings(&bench), Vec::<String>::new());
}

#[test]
fn one_that_is_damaged_is_tried_again_later_and_keeps_no_other_from_firing() {
    let bench = bench();
    let at = bench.now().plus_seconds(60);
    let (damaged, sound) = (made(&bench, tenant(1), at), made(&bench, tenant(1), at));
    let whole = bench.store.read().get(&CONTENTS, &damaged).unwrap().unwrap();
    let other = bench.store.read().get(&CONTENTS, &sound).unwrap().unwrap();
    bench.run(move |tx, _| Ok(tx.put(&CONTENTS, &damaged, &other)?)).unwrap();
    bench.clock.advance(61);
    begun(&bench);
    assert!(matches!(state(&bench, sound), TimerState::Fired { .. }));
    assert_eq!(state(&bench, damaged), TimerState::Pending);
    bench.run(move |tx, _| Ok(tx.put(&CONTENTS, &damaged, &whole)?)).unwrap();
    assert_eq!(begun(&bench), 0, "not at once");
    bench.clock.advance(3_600);
    assert_eq!(begun(&bench), 1);
    assert!(matches!(state(&bench, damaged), TimerState::Fired { .. }));
}

#[test]
fn a_day_has_so_many_instants() {
    let bench = bench();
    let all = bench.run(|tx, now| Ok(counts::charge(tx, now, tenant(1), counts::TOLD_OF_DAY_MAX - 1)?));
    assert!(all.unwrap());
    let past = Timestamp::from_micros(0);
    let first = made(&bench, tenant(1), past);
    let refused = bench.run(move |tx, now| create(tx, now, tenant(1), &Ceilings::default(), new(past)));
    let to_midnight = DAY - bench.now().as_micros().div_euclid(1_000_000).rem_euclid(DAY);
    assert!(
        matches!(refused, Err(Refusal::DailyQuota(seconds)) if seconds == to_midnight.unsigned_abs()),
        "{refused:?}"
    );
    assert_eq!(counts::of(&bench.store.read(), tenant(1)).unwrap().pending_timers, 1, "nothing was stored");
    // One that is cancelled gives its place back on the same day.
    bench.run(move |tx, now| cancel(tx, now, first)).unwrap();
    made(&bench, tenant(1), past);
    assert!(bench.run(move |tx, now| create(tx, now, tenant(1), &Ceilings::default(), new(past))).is_err());
    made(&bench, tenant(2), past);
    bench.clock.advance(to_midnight);
    made(&bench, tenant(1), past);
}
