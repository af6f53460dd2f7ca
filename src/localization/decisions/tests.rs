//! Who sent a webhook, what a service answers, and when open subjects are read again.

use http::{HeaderMap, HeaderValue};
use quintet_platform::jobs::{Agenda as _, Progress};
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
use quintet_storage::{Read as _, Scan, Timestamp, Uuid};

use super::answers::{read_raised, read_reading};
use super::tables::{DECISION_EVENTS, DECISION_REREADS, DECISION_WATCHES};
use super::*;
use crate::model::ProjectId;
use crate::refusal::{Refusal, WebhookFault};
use crate::testing::{TENANT, bench};

const NOW: i64 = 1_700_000_000;

fn signed(timestamp: &str, signature: &str, event: &str) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).unwrap();
    HeaderMap::from_iter([(TIMESTAMP, value(timestamp)), (SIGNATURE, value(signature)), (EVENT_ID, value(event))])
}

#[test]
fn a_signature_is_the_secrets_over_time_and_body() {
    let secret = Secret::new("key".to_owned());
    // Python: hmac.new(b"key", b"1700000000.{}", "sha256").hexdigest()
    let own = sign(&secret, "1700000000", b"{}");
    assert_eq!((own.len(), own.get(..7)), (71, Some("sha256=")));
    let now = Timestamp::from_micros(NOW * 1_000_000);
    let check = |headers: &HeaderMap| check_signature(headers, b"{}", &secret, now);
    assert_eq!(check(&signed("1700000000", &own, "e")), Ok("e".to_owned()));
    for (off, expected) in [(-300, true), (300, true), (-301, false), (301, false)] {
        let timestamp = (NOW + off).to_string();
        let headers = signed(&timestamp, &sign(&secret, &timestamp, b"{}"), "e");
        let wanted = if expected { Ok("e".to_owned()) } else { Err(Refusal::Webhook(WebhookFault::TimestampStale)) };
        assert_eq!(check(&headers), wanted, "{off}");
    }
    let mut twice = signed("1700000000", &own, "e");
    twice.append(SIGNATURE, HeaderValue::from_static("sha256=00"));
    assert_eq!(check(&twice), Err(Refusal::Webhook(WebhookFault::SignatureInvalid)));
    let mut twice = signed("1700000000", &own, "e");
    twice.append(TIMESTAMP, HeaderValue::from_static("1700000000"));
    assert_eq!(check(&twice), Err(Refusal::Webhook(WebhookFault::TimestampInvalid)));
    let other = sign(&Secret::new("other".to_owned()), "1700000000", b"{}");
    assert_eq!(check(&signed("1700000000", &other, "e")), Err(Refusal::Webhook(WebhookFault::SignatureInvalid)));
}

#[test]
fn only_what_a_service_may_say_is_believed() {
    let raised = read_raised(br#"{"decision_id":"d","context_hash":7,"review_url":null}"#).unwrap();
    assert_eq!((raised.decision_id.as_str(), raised.context_hash, raised.review_url), ("d", None, None));
    for wrong in ["", "[]", "{}", r#"{"decision_id":""}"#, r#"{"decision_id":1}"#, "<html>"] {
        assert!(read_raised(wrong.as_bytes()).is_err(), "{wrong}");
    }
    let of = |status: &str| read_reading(format!(r#"{{"decision_id":"d","status":"{status}"}}"#).as_bytes(), "d");
    for status in Status::ALL {
        assert_eq!(of(status.name()).unwrap().status, status);
    }
    assert!(of("Approved").is_err() && of("").is_err());
    assert!(read_reading(br#"{"decision_id":"other","status":"approved"}"#, "d").is_err());
    let words = |count: usize| format!(r#"{{"decision_id":"d","status":"approved","reason":"{}"}}"#, "é".repeat(count));
    assert!(read_reading(words(2000).as_bytes(), "d").is_ok() && read_reading(words(2001).as_bytes(), "d").is_err());
}

#[test]
fn what_is_raised_is_read_back() {
    let subject = Subject { tenant_id: TENANT, kind: SubjectKind::Licence, id: Uuid::from_u128(9) };
    let raise = Raise {
        subject,
        policy: "p\"q".to_owned(),
        action: Json::object([("b", Json::from(1_u32)), ("a", Json::from("x"))]),
        context: r#"{"items":[]}"#.to_owned(),
        expires_at: Timestamp::from_micros(NOW * 1_000_000),
    };
    let text = raise.to_text();
    assert!(text.contains(r#""action":{"a":"x","b":1},"context":{"items":[]},"#), "{text}");
    let json = quintet_platform::json::parse(text.as_bytes(), quintet_platform::json::Limits::default()).unwrap();
    let read = Raise::read(&json).unwrap();
    assert_eq!((read.subject, read.context.as_str(), read.expires_at), (subject, r#"{"items":[]}"#, raise.expires_at));
    assert_eq!(Raise::read(&Json::object([("policy", Json::from("x"))])), None);
}

#[test]
fn an_open_subject_is_read_every_ten_minutes_and_at_its_expiry() {
    let bench = bench();
    let subject = Subject { tenant_id: TENANT, kind: SubjectKind::ApprovalRequest, id: Uuid::from_u128(5) };
    let start = bench.now();
    let expires_at = start.plus_seconds(1_000);
    let project = ProjectId(Uuid::from_u128(6));
    bench.run(move |tx, now| Ok(watch(tx, now, &subject, project, expires_at)?)).unwrap();
    let due = || due_watches(&bench.store.read(), Timestamp::MAX, 9).unwrap().1.0.unwrap();
    assert_eq!(due(), start.plus_seconds(600));
    bench.run(move |tx, now| Ok(assign(tx, now, &subject, "d")?)).unwrap();
    assert_eq!(subject_of(&bench.store.read(), "d").unwrap(), Some(subject));
    assert!(is_assigned(&bench.store.read(), "d").unwrap() && !is_assigned(&bench.store.read(), "e").unwrap());
    bench.clock.advance(600);
    bench.run(move |tx, now| Ok(postpone(tx, now, &subject)?)).unwrap();
    assert_eq!(due(), expires_at, "before the next ten minutes are over");
    bench.clock.advance(400);
    bench.run(move |tx, now| Ok(postpone(tx, now, &subject)?)).unwrap();
    assert_eq!(due(), expires_at.plus_seconds(600));
    assert_eq!(verify(&bench.store.read()).unwrap(), Vec::<String>::new());
    bench.run(move |tx, _| Ok(unwatch(tx, &subject)?)).unwrap();
    assert_eq!(watch_of(&bench.store.read(), &subject).unwrap(), None);
    assert!(bench.store.read().scan(&DECISION_REREADS, Scan::all()).unwrap().is_empty());
    // Whoever reads one that is not open any more postpones nothing.
    bench.run(move |tx, now| Ok(postpone(tx, now, &subject)?)).unwrap();
    assert!(bench.store.read().scan(&DECISION_WATCHES, Scan::all()).unwrap().is_empty());
}

#[test]
fn events_are_known_for_thirty_days() {
    let bench = bench();
    for event in ["a", "b"] {
        bench.run(move |tx, now| Ok(record_event(tx, now, event)?)).unwrap();
        bench.clock.advance(1);
    }
    assert!(is_known_event(&bench.store.read(), "a").unwrap());
    bench.clock.advance(30 * 86_400 - 2);
    let read = bench.store.read();
    let next = ExpiredEvents.next(&read, Timestamp::EPOCH).unwrap().unwrap();
    assert_eq!(next, bench.now());
    let swept = bench.run(|tx, now| Ok(ExpiredEvents.slice(tx, now, Timestamp::EPOCH)?)).unwrap();
    assert_eq!(swept.progress, Progress::Rest);
    let read = bench.store.read();
    assert!(!is_known_event(&read, "a").unwrap() && is_known_event(&read, "b").unwrap());
    assert_eq!(read.scan(&DECISION_EVENTS, Scan::all()).unwrap().len(), 1);
    assert_eq!(verify(&read).unwrap(), Vec::<String>::new());
}

#[test]
fn what_contradicts_itself_is_found() {
    let bench = bench();
    let subject = Subject { tenant_id: TENANT, kind: SubjectKind::Licence, id: Uuid::from_u128(5) };
    bench
        .run(move |tx, now| {
            watch(tx, now, &subject, ProjectId(Uuid::from_u128(6)), now.plus_seconds(9_999))?;
            assign(tx, now, &subject, "d")?;
            Ok(record_event(tx, now, "e")?)
        })
        .unwrap();
    bench
        .run(|tx, _| {
            for (key, _) in tx.scan(&DECISION_REREADS, Scan::all())? {
                tx.delete(&DECISION_REREADS, &key);
            }
            tx.delete(&super::tables::DECISION_SUBJECTS, &"d".to_owned());
            tx.delete(&DECISION_EVENTS, &"e".to_owned());
            Ok(())
        })
        .unwrap();
    let findings = verify(&bench.store.read()).unwrap();
    for expected in ["nobody reads it again", "it is not known to be about it", "there are 0, of which 1"] {
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}
