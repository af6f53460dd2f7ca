//! Triggers over a real store: what they launch, and when.

use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Abort, Failure, Read as _, Scan, WriteTx};

use super::super::change::ready;
use super::super::create::create as create_template;
use super::super::params::read_declarations;
use super::super::remove::remove as remove_template;
use super::super::tables::TEMPLATES;
use super::change::{change, remove, set_enabled};
use super::create::{check_run, create};
use super::model::{NewTrigger, Overlap, TRIGGERS_MAX, Trigger, TriggerChange};
use super::rows::find;
use super::tables::{CONTENTS, TRIGGERS, TriggerRow};
use crate::allowances::model::SetQuotas;
use crate::allowances::quotas;
use crate::due::{self, Fire};
use crate::model::{TemplateKey, TriggerId, TriggerKey, WorkflowId};
use crate::refusal::Refusal;
use crate::schedules::model::{Misfire, Timing};
use crate::sweep::begin;
use crate::testing::{Bench, bench, tenant};
use crate::workflows::{self, control};
use quintet_platform::jobs::Progress;
use quintet_storage::{Timestamp, Uuid};

const GATE: &str = r#"{"name":"${{ who }}","nodes":[{"ref":"g","type":"approval"}]}"#;
const MINUTE: i64 = 60;

fn json(text: &str) -> Json {
    parse(text.as_bytes(), Limits::default()).unwrap()
}

fn template(bench: &Bench) -> TemplateKey {
    template_of(bench, 1)
}

fn template_of(bench: &Bench, number: u128) -> TemplateKey {
    let params = r#"[{"name":"who","type":"string","required":true,"pattern":"^[a-z]+$"}]"#;
    let params = read_declarations(Some(json(params))).unwrap().unwrap();
    let Ok(said) = ready(&bench.store.read(), tenant(number), params, json(GATE)) else { panic!() };
    bench
        .run(move |tx, now| create_template(tx, now, tenant(number), None, &said.content))
        .map(|(id, _)| (tenant(number), id))
        .unwrap()
}

fn every_minute() -> NewTrigger {
    let timing = Timing { cron: "* * * * *".into(), timezone: "UTC".into(), start_at: None, end_at: None };
    NewTrigger {
        name: Some("often".into()),
        timing,
        version: None,
        workflow_name: None,
        tags: vec!["by-clock".into()],
        webhook: None,
        params: vec![("who".into(), "sesame".into())],
        overlap: Overlap::Skip,
        misfire: Misfire::FireOnce,
        is_enabled: true,
        key_id: "the key".into(),
    }
}

fn made(bench: &Bench, key: TemplateKey, new: NewTrigger) -> Result<TriggerKey, Refusal> {
    bench.run(move |tx, now| create(tx, now, key, new)).map(|(id, _)| (key.0, key.1, id))
}

fn trigger(bench: &Bench, key: TriggerKey) -> Trigger {
    find(&bench.store.read(), key).unwrap().unwrap()
}

fn pass(bench: &Bench, seconds: i64) {
    bench.clock.advance(seconds);
    while bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap().1.progress != Progress::Rest {}
}

/// The workflow that it launched last.
fn last(bench: &Bench, key: TriggerKey) -> (crate::model::TenantId, WorkflowId) {
    (key.0, WorkflowId(Uuid::from_bytes(trigger(bench, key).last_workflow_id.unwrap())))
}

fn is_active(bench: &Bench, key: TriggerKey) -> bool {
    workflows::is_active(&bench.store.read(), last(bench, key)).unwrap()
}

fn ended(bench: &Bench, key: TriggerKey) {
    let last = last(bench, key);
    bench.run(move |tx, now| control::cancel(tx, now, last)).unwrap();
}

fn sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn it_launches_at_its_instants_and_skips_while_the_last_goes_on() {
    let bench = bench();
    let template = template(&bench);
    let (skips, overlaps) = (
        made(&bench, template, every_minute()).unwrap(),
        made(&bench, template, NewTrigger { overlap: Overlap::Allow, ..every_minute() }).unwrap(),
    );
    let other = NewTrigger { is_enabled: false, ..every_minute() };
    let paused = made(&bench, template, other).unwrap();
    sound(&bench);
    pass(&bench, MINUTE);
    assert!(is_active(&bench, skips) && is_active(&bench, overlaps));
    let first = last(&bench, skips);
    pass(&bench, MINUTE);
    assert_eq!((last(&bench, skips), trigger(&bench, skips).skipped_count), (first, 1));
    assert_eq!((trigger(&bench, overlaps).fire_count, trigger(&bench, overlaps).skipped_count), (2, 0));
    ended(&bench, skips);
    pass(&bench, MINUTE);
    assert_ne!(last(&bench, skips), first);
    let seen = trigger(&bench, skips);
    assert_eq!((seen.fire_count, seen.skipped_count, seen.missed_count), (2, 1, 0));
    assert_eq!(seen.last_fire_at, Some(bench.now()));
    assert_eq!((trigger(&bench, paused).fire_count, trigger(&bench, paused).next_fire_at), (0, None));
    let made = workflows::origin_of(&bench.store.read(), last(&bench, skips)).unwrap().unwrap();
    assert_eq!(made.trigger_id, Some(skips.2.0.into_bytes()));
    assert_eq!((made.template_id, made.template_version), (Some(template.1.0.into_bytes()), Some(1)));
    sound(&bench);
}

#[test]
fn what_is_refused_is_noted_and_tried_at_the_next_instant() {
    let bench = bench();
    let key = made(&bench, template(&bench), NewTrigger { overlap: Overlap::Allow, ..every_minute() }).unwrap();
    let may = |most: u64| {
        let asked = SetQuotas { numbers: vec![("max_concurrent_workflows", most)], working_hours_tjp: None };
        bench.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap();
    };
    may(1);
    pass(&bench, MINUTE);
    assert_eq!(trigger(&bench, key).last_error, None);
    let first = last(&bench, key);
    pass(&bench, MINUTE);
    let error = trigger(&bench, key).last_error.unwrap();
    assert_eq!((error.code.as_str(), error.at), ("workflow_quota_exceeded", bench.now()));
    assert_eq!((last(&bench, key), trigger(&bench, key).fire_count), (first, 2));
    may(5);
    pass(&bench, MINUTE);
    assert_eq!(trigger(&bench, key).last_error, None, "what went well again is no error any more");
    assert_ne!(last(&bench, key), first);
    // A version that no longer takes its values.
    let change = TriggerChange { params: Some(vec![("who".into(), "NOBODY".into())]), ..TriggerChange::default() };
    bench.run(move |tx, now| super::change::change(tx, now, key, change)).unwrap();
    pass(&bench, MINUTE);
    assert_eq!(trigger(&bench, key).last_error.unwrap().code, "invalid_params");
    sound(&bench);
}

#[test]
fn what_was_missed_is_made_up_for_once_or_not_at_all() {
    let bench = bench();
    let template = template(&bench);
    let once = made(&bench, template, NewTrigger { overlap: Overlap::Allow, ..every_minute() }).unwrap();
    let none = NewTrigger { overlap: Overlap::Allow, misfire: Misfire::Skip, ..every_minute() };
    let none = made(&bench, template, none).unwrap();
    pass(&bench, 60 * MINUTE);
    let counts = |key| (trigger(&bench, key).fire_count, trigger(&bench, key).missed_count);
    let ((fired, missed), (fired_none, missed_none)) = (counts(once), counts(none));
    assert_eq!((fired, missed), (fired_none + 1, missed_none), "the latest of them");
    assert!(missed > 55, "{missed}");
    bench.run(move |tx, now| set_enabled(tx, now, once, false)).unwrap();
    pass(&bench, 60 * MINUTE);
    bench.run(move |tx, now| set_enabled(tx, now, once, true)).unwrap();
    assert_eq!(counts(once), (fired, missed), "what passes while it is paused is nobody's");
    sound(&bench);
}

#[test]
fn it_goes_with_its_template_and_is_one_of_a_hundred() {
    let bench = bench();
    let template = template(&bench);
    let first = made(&bench, template, every_minute()).unwrap();
    for _ in 1..TRIGGERS_MAX {
        made(&bench, template, every_minute()).unwrap();
    }
    assert!(matches!(made(&bench, template, every_minute()), Err(Refusal::LimitReached(_, 100))));
    bench.run(move |tx, _| remove(tx, first)).unwrap();
    assert!(matches!(bench.run(move |tx, _| remove(tx, first)), Err(Refusal::NoSuch(_))));
    made(&bench, template, every_minute()).unwrap();
    sound(&bench);
    let stored = format!("{:?}", bench.store.read().scan(&CONTENTS, Scan::all()).unwrap());
    assert!(!stored.contains(&format!("{:?}", b"sesame").trim_matches(['[', ']']).to_owned()), "sealed");
    bench.run(move |tx, _| remove_template(tx, template)).unwrap();
    pass(&bench, 10 * MINUTE);
    assert!(bench.store.read().scan(&CONTENTS, Scan::all()).unwrap().is_empty());
    assert!(matches!(made(&bench, template, every_minute()), Err(Refusal::NoSuch(_))));
    sound(&bench);
}

#[test]
fn values_are_checked_before_it_is_made_and_changes_keep_the_rest() {
    let bench = bench();
    let template = template(&bench);
    let checked = |params: Vec<(String, String)>, version| {
        let (trigger, held) = NewTrigger { params, version, ..every_minute() }.into_parts(bench.now());
        match check_run(&bench.store.read(), template, &trigger, &held) {
            Ok(_) => Ok(()),
            Err(Abort::Refused(refusal)) => Err(refusal),
            Err(Abort::Failed(failure)) => panic!("{failure}"),
        }
    };
    assert!(matches!(checked(Vec::new(), None), Err(Refusal::InvalidParams(..))), "a required one is missing");
    assert!(matches!(checked(vec![("who".into(), "A1".into())], None), Err(Refusal::InvalidParams(..))));
    assert!(matches!(checked(vec![("who".into(), "a".into())], Some(2)), Err(Refusal::NoSuch(_))));
    assert_eq!(checked(vec![("who".into(), "a".into())], Some(1)), Ok(()));
    let key = made(&bench, template, every_minute()).unwrap();
    let before = trigger(&bench, key);
    let hourly = TriggerChange { cron: Some("0 * * * *".into()), ..TriggerChange::default() };
    let after = bench.run(move |tx, now| change(tx, now, key, hourly)).unwrap();
    assert_eq!((&after.name, &after.tags, after.overlap), (&before.name, &before.tags, before.overlap));
    assert!(after.next_fire_at > before.next_fire_at);
    sound(&bench);
    let bench = bench.restarted();
    pass(&bench, 60 * MINUTE);
    assert_eq!(trigger(&bench, key).fire_count, 1, "and goes on after a restart");
    sound(&bench);
}

/// One tenant has very many due, and each takes a transaction of its own: others' have their turn among them.
#[test]
fn a_crowd_of_one_tenant_keeps_no_other_waiting() {
    let bench = bench();
    let mut crowd = Vec::new();
    for _ in 0..2 {
        let template = template(&bench);
        crowd.extend((0..TRIGGERS_MAX).map(|_| made(&bench, template, every_minute()).unwrap()));
    }
    let other = made(&bench, template_of(&bench, 2), every_minute()).unwrap();
    // It falls due later than all of the crowd.
    let gate = workflows::tests::gate_that_expires(&bench, tenant(2), MINUTE + 1);
    bench.clock.advance(MINUTE + 2);
    let has_fired = |key| trigger(&bench, key).fire_count == 1;
    let mut transactions = 0;
    while !has_fired(other) || workflows::is_active(&bench.store.read(), gate).unwrap() {
        bench.run(|tx, now| Ok(begin(tx, now, Timestamp::EPOCH)?)).unwrap();
        transactions += 1;
    }
    // Each second one is the other tenant's, by chance: never in a hundred is one of 10^30.
    assert!(transactions < 100, "{transactions}");
    assert!(crowd.iter().filter(|key| has_fired(**key)).count() <= transactions);
    pass(&bench, 0);
    assert!(crowd.into_iter().all(has_fired));
    sound(&bench);
}

/// Every kind of disagreement between the rows of triggers is told.
#[test]
fn verify_tells_whatever_does_not_agree() {
    fn change(tx: &mut WriteTx<'_>, key: TriggerKey, change: fn(&mut Trigger)) -> Result<(), Failure> {
        let mut trigger = tx.get(&TRIGGERS, &key)?.unwrap().0;
        change(&mut trigger);
        tx.put(&TRIGGERS, &key, &TriggerRow(trigger))
    }
    type Damage = fn(&mut WriteTx<'_>, TriggerKey) -> Result<(), Failure>;
    let damages: [(&str, Damage); 11] = [
        ("is paused and waits for an instant", |tx, key| change(tx, key, |trigger| trigger.is_enabled = false)),
        ("has nothing that it waits for", |tx, key| {
            let at = tx.get(&TRIGGERS, &key)?.unwrap().0.next_fire_at.unwrap();
            due::clear_fire(tx, at, Fire::Trigger(key));
            Ok(())
        }),
        ("goes back in time", |tx, key| change(tx, key, |trigger| trigger.seen_to = trigger.next_fire_at)),
        ("has a pattern or a time zone that is none", |tx, key| {
            change(tx, key, |trigger| trigger.timing.cron = "61 * * * *".into())
        }),
        ("has a pattern or a time zone that is none", |tx, key| {
            change(tx, key, |trigger| trigger.timing.timezone = "Europe/Nowhere".into())
        }),
        ("has no contents", |tx, key| {
            tx.delete(&CONTENTS, &key);
            Ok(())
        }),
        ("has no template", |tx, (tenant_id, template_id, _)| {
            tx.delete(&TEMPLATES, &(tenant_id, template_id));
            Ok(())
        }),
        ("there are contents of a trigger", |tx, key| {
            tx.delete(&TRIGGERS, &key);
            Ok(())
        }),
        ("there are contents of a trigger", |tx, key| {
            let contents = tx.get(&CONTENTS, &key)?.unwrap();
            tx.put(&CONTENTS, &(key.0, key.1, TriggerId(Uuid::from_u128(9))), &contents)
        }),
        ("and does not say so itself", |tx, key| {
            let at = tx.get(&TRIGGERS, &key)?.unwrap().0.next_fire_at.unwrap();
            due::put_fire(tx, at.plus_seconds(MINUTE), Fire::Trigger(key))
        }),
        ("and does not say so itself", |tx, key| change(tx, key, |trigger| trigger.next_fire_at = None)),
    ];
    for (finding, damage) in damages {
        let bench = bench();
        let key = made(&bench, template(&bench), every_minute()).unwrap();
        sound(&bench);
        bench.run(move |tx, _| Ok(damage(tx, key)?)).unwrap();
        let found = crate::verify(&bench.store.read()).unwrap();
        assert!(found.iter().any(|one| one.contains(finding)), "{finding}: {found:?}");
    }
}
