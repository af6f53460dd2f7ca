//! Reminders over a real store whose clock the tests set (6-messaging.md, D1).

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_storage::{Read as _, Table, Timestamp, WriteTx};
use serde_json::{Value, json};

use super::model::ReminderKey;
use super::tables::{COUNTS, REMINDERS};
use crate::due::Due;
use crate::identity::{Attestation, Scope, Status, agents};
use crate::mail::deliver::after;
use crate::mail::messages;
use crate::model::{FAMILY, Mark};
use crate::testing::{Bench, assert_refused};
use crate::words::sealed::tests::sealed_text;
use crate::workspaces::set_status;

/// What lies in an inbox: subject and text of each, and whether all are in one thread.
fn inbox(bench: &Bench, name: &str) -> (Vec<(String, String)>, bool) {
    let (read, key) = (bench.context.store.read(), bench.named(name));
    let mut threads = Vec::new();
    let found = after(&read, key, 0, 1_000).unwrap().into_iter().map(|(_, delivery)| {
        let message = messages::get(&read, (key.0, delivery.message)).unwrap();
        let contents = messages::open(&read, &bench.workspace, delivery.message, &message.kept).unwrap();
        threads.push(message.thread);
        (message.subject, contents.text)
    });
    let found = found.collect();
    threads.dedup();
    (found, threads.len() <= 1)
}

async fn made(bench: &Bench, body: Value) -> Value {
    let (status, answer) = bench.call_as("ann", "POST", "/v1/reminders", body).await;
    assert_eq!(status, 201, "{answer}");
    answer
}

async fn listed(bench: &Bench, query: &str) -> Value {
    let (status, answer) = bench.call_as("ann", "GET", &format!("/v1/reminders{query}"), Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

async fn states(bench: &Bench) -> Vec<String> {
    let listed = listed(bench, "?state=all").await;
    listed["reminders"].as_array().unwrap().iter().map(|row| row["state"].as_str().unwrap().to_owned()).collect()
}

fn assert_sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.agent("ann");
    bench.agent("bob");
    bench
}

#[tokio::test]
async fn a_reminder_fires_once_at_its_time() {
    let bench = bench();
    let record = made(&bench, json!({"subject": "", "text": "call the dentist\nat nine", "delay_seconds": 7200})).await;
    assert_eq!(record["due_at"], rfc3339(bench.now().plus_seconds(7_200)));
    for (member, value) in [
        ("state", json!("scheduled")),
        ("target", json!("ann")),
        ("self_addressed", json!(true)),
        ("repeat", Value::Null),
        ("expires_at", Value::Null),
        ("timezone", json!("UTC")),
    ] {
        assert_eq!(record[member], value, "{member}");
    }
    bench.advance(7_199).await;
    assert_eq!(inbox(&bench, "ann").0, []);
    bench.advance(1).await;
    let expected = ("Reminder: call the dentist".to_owned(), "call the dentist\nat nine".to_owned());
    assert_eq!(inbox(&bench, "ann").0, [expected]);
    assert_eq!(states(&bench).await, ["fired"]);
    let page = listed(&bench, "").await;
    assert_eq!(
        (page["count"].clone(), page["total"].clone(), page["has_more"].clone()),
        (json!(0), json!(0), json!(false))
    );
    assert_sound(&bench);
    bench.advance(31 * 86_400).await;
    assert_sound(&bench);
}

/// All the forms of the first fire.
#[tokio::test]
async fn the_first_fire_comes_from_what_is_given() {
    // The bench begins on 2025-11-26T12:30:00Z, a Wednesday.
    let bench = bench();
    for (given, due_at) in [
        (json!({"delay_seconds": 1}), "2025-11-26T12:30:01Z"),
        (json!({"due_at": "2025-11-27T09:00:00+01:00"}), "2025-11-27T08:00:00Z"),
        (json!({"due_at": "2025-11-27 09:00"}), "2025-11-27T09:00:00Z"),
        (json!({"due_at": "2025-11-27T09:00:30", "timezone": "Europe/Berlin"}), "2025-11-27T08:00:30Z"),
        (json!({"repeat": "daily"}), "2025-11-27T12:30:00Z"),
        (json!({"repeat": "weekly"}), "2025-12-03T12:30:00Z"),
        (json!({"repeat": "monthly"}), "2025-12-26T12:30:00Z"),
        (json!({"repeat": "0 9 * * *", "timezone": "Europe/Berlin"}), "2025-11-27T08:00:00Z"),
        (json!({"repeat": "daily", "due_at": "2025-11-26 18:00"}), "2025-11-26T18:00:00Z"),
        (json!({"repeat": "daily", "delay_seconds": 60}), "2025-11-26T12:31:00Z"),
        (json!({"delay_seconds": 60, "expires_at": "2025-11-26T12:31:00.000001Z"}), "2025-11-26T12:31:00Z"),
    ] {
        let mut body = given.clone();
        body["text"] = json!("x");
        let record = made(&bench, body).await;
        let at = parse_rfc3339(record["due_at"].as_str().unwrap()).unwrap();
        assert_eq!(at, parse_rfc3339(due_at).unwrap(), "{given}");
    }
    for (given, member) in [
        (json!({}), "due_at"),
        (json!({"delay_seconds": 0}), "delay_seconds"),
        (json!({"delay_seconds": 366 * 86_400 + 1}), "delay_seconds"),
        (json!({"delay_seconds": 60, "due_at": "2025-11-27 09:00"}), "due_at"),
        (json!({"due_at": "2025-11-26T12:30:00Z"}), "due_at"),
        (json!({"due_at": "tomorrow"}), "due_at"),
        (json!({"repeat": "hourly"}), "repeat"),
        (json!({"repeat": "0 0 30 2 *"}), "repeat"),
        (json!({"repeat": "daily", "timezone": "Mars/Olympus"}), "timezone"),
        (json!({"delay_seconds": 60, "expires_at": "2025-11-26T12:31:00Z"}), "expires_at"),
        (json!({"delay_seconds": 60, "expires_at": "soon"}), "expires_at"),
        (json!({"delay_seconds": 60, "html": null}), "html"),
        (json!({"delay_seconds": 60, "repeat_until": "x"}), "repeat_until"),
        (json!({"delay_seconds": 60, "subject": "a\nb"}), "subject"),
    ] {
        let mut body = given.clone();
        body["text"] = json!("x");
        let answer = bench.call_as("ann", "POST", "/v1/reminders", body).await;
        assert_refused(&answer, (422, "validation_error"), member);
    }
    let nothing = bench.call_as("ann", "POST", "/v1/reminders", json!({"delay_seconds": 5})).await;
    assert_refused(&nothing, (422, "validation_error"), "text");
    assert_sound(&bench);
}

#[tokio::test]
async fn one_that_repeats_fires_in_one_thread_until_its_time_is_over() {
    let bench = bench();
    let expires_at = rfc3339(bench.now().plus_seconds(3 * 86_400 + 5));
    let body = json!({"subject": "standup", "text": "x", "repeat": "daily", "target": "bob", "expires_at": expires_at});
    let record = made(&bench, body).await;
    assert_eq!((record["target"].clone(), record["self_addressed"].clone()), (json!("bob"), json!(false)));
    for day in 1..=3 {
        bench.advance(86_400).await;
        let (found, is_one_thread) = inbox(&bench, "bob");
        assert_eq!((found.len(), is_one_thread), (day, true));
        assert_eq!(found[0].0, "Reminder: standup");
        assert_eq!(states(&bench).await, ["scheduled"]);
        assert_sound(&bench);
    }
    assert_eq!(listed(&bench, "").await["reminders"][0]["due_at"], Value::Null, "it does not fire again");
    bench.advance(5).await;
    assert_eq!(states(&bench).await, ["expired"]);
    bench.advance(5 * 86_400).await;
    assert_eq!(inbox(&bench, "bob").0.len(), 3);
    assert_sound(&bench);
}

#[tokio::test]
async fn cancelled_is_cancelled_once_and_anothers_is_not_there() {
    let bench = bench();
    let record = made(&bench, json!({"text": "x", "repeat": "daily"})).await;
    let path = format!("/v1/reminders/{}", record["id"].as_str().unwrap());
    let stranger = bench.call_as("bob", "DELETE", &path, Value::Null).await;
    assert_refused(&stranger, (404, "not_found"), "reminder");
    for bad in ["/v1/reminders/x", "/v1/reminders/01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        assert_refused(&bench.call_as("ann", "DELETE", bad, Value::Null).await, (404, "not_found"), "reminder");
    }
    for _ in 0..2 {
        let (status, answer) = bench.call_as("ann", "DELETE", &path, Value::Null).await;
        assert_eq!((status, answer["state"].clone()), (200, json!("cancelled")));
    }
    bench.advance(5 * 86_400).await;
    assert_eq!(inbox(&bench, "ann").0, []);
    assert_eq!(states(&bench).await, ["cancelled"]);
    // Whoever says nothing for 14 days retires.
    bench.advance(12 * 86_400).await;
    assert_eq!(states(&bench).await, ["cancelled"]);
    bench.advance(13 * 86_400).await;
    assert_eq!(states(&bench).await, Vec::<String>::new(), "it is remembered for 30 days");
    assert_sound(&bench);
}

#[tokio::test]
async fn whom_it_is_for_must_be_there_then_and_at_its_time() {
    let bench = bench();
    let to = |name: &str| json!({"text": "x", "delay_seconds": 60, "target": name});
    let answer = bench.call_as("ann", "POST", "/v1/reminders", to("nobody")).await;
    assert_refused(&answer, (422, "unknown_recipient"), "nobody");
    made(&bench, to("bob")).await;
    made(&bench, json!({"text": "x", "repeat": "daily", "target": "bob"})).await;
    let bob = bench.named("bob");
    bench.run(move |tx, now| Ok(crate::agents::retire(tx, now, bob)?)).unwrap();
    assert_eq!(listed(&bench, "").await["reminders"][0]["target"], Value::Null);
    bench.advance(86_400).await;
    assert_eq!(states(&bench).await, ["scheduled", "expired"], "there was nobody to fire for");
    bench.agent("bob");
    bench.advance(86_400).await;
    assert_eq!(inbox(&bench, "bob").0.len(), 1);
    assert_sound(&bench);
}

#[tokio::test]
async fn what_the_day_does_not_allow_waits_for_the_next_one() {
    let mut bench = bench();
    bench.set(|workspace| workspace.limits = vec![(crate::limits::MESSAGES_PER_DAY.code, Some(1))]);
    for seconds in [60, 120, 180] {
        made(&bench, json!({"text": format!("{seconds}"), "delay_seconds": seconds})).await;
    }
    bench.advance(3_600).await;
    assert_eq!(inbox(&bench, "ann").0.len(), 1);
    assert_sound(&bench);
    bench.advance(11 * 3_600).await;
    assert_eq!(inbox(&bench, "ann").0.len(), 2, "the day began at midnight");
    bench.advance(86_400).await;
    assert_eq!(inbox(&bench, "ann").0.len(), 3);
    assert_eq!(states(&bench).await, ["fired", "fired", "fired"]);
    assert_sound(&bench);
}

#[tokio::test]
async fn on_an_encrypted_workspace_it_arrives_sealed() {
    let bench = Bench::encrypted();
    bench.agent("ann");
    let answer = bench.call_as("ann", "POST", "/v1/reminders", json!({"text": "plain", "delay_seconds": 60})).await;
    assert_refused(&answer, (422, "sealing_required"), "text");
    let sealed = sealed_text();
    let sealed = sealed.as_str();
    let looks_so = "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n";
    for (text, is_sealed, status) in
        [(sealed, true, 201), (sealed, false, 422), (looks_so, true, 422), ("", false, 201)]
    {
        let body = json!({"subject": "s", "text": text, "sealed": is_sealed, "delay_seconds": 60});
        assert_eq!(bench.call_as("ann", "POST", "/v1/reminders", body).await.0, status);
    }
    bench.advance(60).await;
    let expected = |text: &str| ("Reminder: s".to_owned(), text.to_owned());
    assert_eq!(inbox(&bench, "ann").0, [expected(sealed), expected("")]);
}

#[tokio::test]
async fn so_many_and_no_more() {
    let bench = bench();
    let ann = bench.named("ann");
    let body = json!({"text": "x", "delay_seconds": 86_400});
    for _ in 0..super::model::SCHEDULED_MAX {
        made(&bench, body.clone()).await;
    }
    let answer = bench.call_as("ann", "POST", "/v1/reminders", body.clone()).await;
    assert_refused(&answer, (409, "limit_reached"), "500");
    let page = listed(&bench, "?limit=200").await;
    assert_eq!(
        (page["count"].clone(), page["total"].clone(), page["has_more"].clone(), page["limit"].clone()),
        (json!(200), json!(500), json!(true), json!(200))
    );
    assert_eq!(listed(&bench, "?state=all").await["count"], 50);
    bench.advance(86_400).await;
    assert_eq!(listed(&bench, "").await["total"], 0);
    for _ in 0..super::model::SCHEDULED_MAX {
        made(&bench, body.clone()).await;
    }
    bench.advance(86_400).await;
    made(&bench, body).await;
    assert_eq!(listed(&bench, "?state=all&limit=200").await["total"], 1_000, "the oldest went");
    assert!(agents::find(&bench.context.store.read(), ann).unwrap().is_some());
    assert_sound(&bench);
    // Which one goes is known without a look at what lies behind it: one that cannot be read is in nobody's way.
    const BROKEN: Table<ReminderKey, Mark> = Table::new(0x0544, FAMILY, "messaging_reminders");
    bench.run(move |tx, _| Ok(tx.put(&BROKEN, &(ann.0, ann.1, 900), &Mark)?)).unwrap();
    made(&bench, json!({"text": "x", "delay_seconds": 60})).await;
    let is_there = |number| bench.context.store.read().contains(&REMINDERS, &(ann.0, ann.1, number)).unwrap();
    assert_eq!([1, 2, 3, 1_002].map(is_there), [false, false, true, true]);
}

/// Whoever knows of none that has ended, for others have made them go, looks again.
#[tokio::test]
async fn one_that_makes_room_is_still_there() {
    let bench = bench();
    let ann = bench.named("ann");
    let fill = move |tx: &mut WriteTx<'_>, _| {
        let mut counts = super::rows::counts(tx, ann)?;
        counts.kept = super::model::KEPT_MAX;
        Ok(tx.put(&COUNTS, &ann, &counts)?)
    };
    bench.run(fill).unwrap();
    let body = json!({"text": "x", "delay_seconds": 60});
    let nothing = bench.call_as("ann", "POST", "/v1/reminders", body.clone()).await;
    assert_refused(&nothing, (503, "busy"), "busy");
    let (_, listed) = bench.call_as("ann", "GET", "/v1/reminders?state=all", Value::Null).await;
    assert_eq!(listed["total"], 0, "nothing was done");
}

/// 6-messaging.md, Q3: a key that is revoked vouches for nobody any more.
#[tokio::test]
async fn a_revoked_key_attests_no_more_what_fires() {
    let bench = bench();
    let key = bench.key(Scope::Send, &["ann"]);
    let body = json!({"text": "x", "repeat": "daily"});
    assert_eq!(bench.call(&key, "POST", "/v1/reminders", body).await.0, 201);
    let levels = || -> Vec<Attestation> {
        let (read, agent) = (bench.context.store.read(), bench.named("ann"));
        let found = after(&read, agent, 0, 1_000).unwrap().into_iter();
        found.map(|(_, delivery)| messages::get(&read, (agent.0, delivery.message)).unwrap().attestation).collect()
    };
    bench.advance(86_400).await;
    assert_eq!(levels(), [Attestation::Platform]);
    let id = key.split('_').nth(2).unwrap().to_owned();
    bench.run(move |tx, now| crate::keys::revoke(tx, now, None, &id)).unwrap();
    bench.advance(86_400).await;
    assert_eq!(levels(), [Attestation::Platform, Attestation::Workspace], "what was sent stays what it was");
    assert_sound(&bench);
}

/// A tenant that is suspended is so with all its workspaces: nothing fires, and nobody is reminded, until it is active.
#[tokio::test]
async fn nothing_comes_of_a_suspended_tenant() {
    let bench = bench();
    made(&bench, json!({"subject": "later", "text": "x", "delay_seconds": 60})).await;
    let asks = json!({"to": ["bob"], "subject": "do it", "text": "x", "require_ack": true});
    assert_eq!(bench.call_as("ann", "POST", "/v1/messages", asks).await.0, 202);
    bench.suspend_tenant();
    bench.advance(86_400).await;
    assert_eq!((inbox(&bench, "ann").0.len(), inbox(&bench, "bob").0.len()), (0, 1));
    bench.activate_tenant();
    bench.advance(7_200).await;
    let (ann, bob) = (inbox(&bench, "ann").0, inbox(&bench, "bob").0);
    let subjects: Vec<&str> = ann.iter().map(|(subject, _)| subject.as_str()).collect();
    assert_eq!((subjects, bob.len()), (vec!["Reminder: later", "Not acknowledged: do it"], 1));
    assert_sound(&bench);
}

/// What ann has made and bob owes her: a reminder in a minute, and an acknowledgement that he is reminded of after ten.
async fn waiting(bench: &Bench) {
    made(bench, json!({"subject": "later", "text": "x", "delay_seconds": 60})).await;
    let asks =
        json!({"to": ["bob"], "subject": "do it", "text": "x", "require_ack": true, "ack_window_seconds": 1_200});
    assert_eq!(bench.call_as("ann", "POST", "/v1/messages", asks).await.0, 202);
}

fn subjects(bench: &Bench, name: &str) -> Vec<String> {
    inbox(bench, name).0.into_iter().map(|(subject, _)| subject).collect()
}

/// A suspension of seconds is made up for within a minute after it.
#[tokio::test]
async fn what_fell_due_in_a_short_suspension_is_not_late_for_long() {
    let bench = bench();
    waiting(&bench).await;
    bench.suspend_tenant();
    bench.advance(90).await;
    bench.activate_tenant();
    assert_eq!(subjects(&bench, "ann"), [""; 0]);
    assert_sound(&bench);
    bench.advance(60).await;
    assert_eq!(subjects(&bench, "ann"), ["Reminder: later"]);
    bench.advance(445).await;
    bench.suspend_tenant();
    bench.advance(10).await;
    bench.activate_tenant();
    bench.advance(60).await;
    assert_eq!(subjects(&bench, "bob"), ["do it", "Acknowledgement due: do it"]);
    assert_sound(&bench);
    bench.advance(535).await;
    assert_eq!(subjects(&bench, "ann"), ["Reminder: later", "Not acknowledged: do it"], "at the end of its window");
    assert_sound(&bench);
}

/// Of a workspace that is put back itself nothing is looked for: what waits is done at once. The window of an
/// acknowledgement goes on in the meantime.
#[tokio::test]
async fn a_workspace_that_is_active_again_does_at_once_what_waits() {
    let bench = bench();
    waiting(&bench).await;
    let become_of = |status| bench.run(move |tx, now| set_status(tx, now, "acme", status)).unwrap();
    become_of(Status::Suspended);
    bench.advance(3 * 86_400).await;
    assert_eq!((subjects(&bench, "ann"), subjects(&bench, "bob")), (vec![], vec!["do it".to_owned()]));
    assert_sound(&bench);
    become_of(Status::Active);
    bench.advance(1).await;
    assert_eq!(subjects(&bench, "ann"), ["Reminder: later", "Not acknowledged: do it"]);
    bench.advance(86_400).await;
    assert_eq!((subjects(&bench, "ann").len(), subjects(&bench, "bob").len()), (2, 1));
    assert_sound(&bench);
}

/// However much waits for a suspended tenant, and however long: each is looked at when it is due and when it goes on, and
/// one row falls due for all of them.
#[tokio::test]
async fn what_waits_for_long_costs_no_more_than_one_row() {
    let bench = bench();
    for number in 0..150_u64 {
        made(&bench, json!({"subject": format!("{number}"), "text": "x", "delay_seconds": 60 + number})).await;
    }
    let of_acme = |due: &Due| matches!(due, Due::Remind(_) | Due::Parked(_));
    let due = || {
        let all = crate::due::first(&bench.context.store.read(), (Timestamp::EPOCH, Due::FIRST), 1_000).unwrap();
        all.into_iter().map(|(_, due)| due).filter(of_acme).collect::<Vec<_>>()
    };
    assert_eq!(due().len(), 150);
    bench.suspend_tenant();
    bench.advance(5 * 86_400).await;
    assert_eq!(due(), [Due::Parked(bench.workspace.no)]);
    assert_sound(&bench);
    bench.activate_tenant();
    bench.advance(900).await;
    let expected: Vec<String> = (0..150).map(|number| format!("Reminder: {number}")).collect();
    assert_eq!(subjects(&bench, "ann"), expected, "in the order in which they were due");
    assert_sound(&bench);
}
