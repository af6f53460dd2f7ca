//! Decisions on the desk, and how they are told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Agenda as _, Job as _, Progress};
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
use quintet_storage::{Read as _, Scan, TimeSource, Timestamp, Uuid};

use super::tables::{DESK_CALLS, DESK_CONTEXTS, DESK_PENDING};
use super::*;
use crate::decisions::{EVENT_ID, Raise, SIGNATURE, Status, Subject, SubjectKind, TIMESTAMP, sign};
use crate::testing::{Bench, TENANT, bench};

use super::raise::{RaiseHere, raise};

fn wanted(id: u128, now: Timestamp) -> Raise {
    Raise {
        subject: Subject { tenant_id: TENANT, kind: SubjectKind::ApprovalRequest, id: Uuid::from_u128(id) },
        policy: "default".to_owned(),
        action: Json::object([("count", Json::from(1_u32))]),
        context: r#"{"items":[]}"#.to_owned(),
        expires_at: now.plus_seconds(604_800),
    }
}

fn raised(bench: &Bench, id: u128) -> DeskDecision {
    bench.run(move |tx, now| Ok(raise(tx, now, RaiseHere(wanted(id, now)))?)).unwrap()
}

/// What comes of a decision: it, or why not.
fn decided(
    bench: &Bench,
    decision: &DeskDecision,
    verdict: Verdict,
    by: &str,
    needed: u64,
) -> Result<DeskDecision, DeskRefusal> {
    let (decision_id, by) = (decision.decision_id, by.to_owned());
    let outcome = Arc::new(Mutex::new(None));
    let told = Arc::clone(&outcome);
    bench
        .run(move |tx, now| {
            let reason = (verdict == Verdict::Reject).then(|| "no".to_owned());
            let command = Decide { decision_id, verdict, by: by.clone(), reason, names_needed: needed };
            let decided = tx.savepoint(|tx| decide(tx, now, command));
            *told.lock().unwrap() = Some(match decided {
                Ok(decision) => Ok(decision),
                Err(quintet_storage::Abort::Refused(refusal)) => Err(refusal),
                Err(quintet_storage::Abort::Failed(failure)) => return Err(failure.into()),
            });
            Ok(())
        })
        .unwrap();
    let decided = outcome.lock().unwrap().take();
    decided.unwrap()
}

#[test]
fn a_subject_has_one_decision() {
    let bench = bench();
    let (one, again, other) = (raised(&bench, 1), raised(&bench, 1), raised(&bench, 2));
    assert_eq!(one, again);
    assert_ne!(one.decision_id, other.decision_id);
    let listed = list_decisions(&bench.store.read(), false).unwrap();
    assert_eq!(listed, [one.clone(), other], "oldest first");
    assert_eq!(get_context(&bench.store.read(), one.decision_id).unwrap(), r#"{"items":[]}"#);
    assert_eq!(verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_decision_is_taken_once() {
    let bench = bench();
    for (verdict, status) in [
        (Verdict::Approve, Status::Approved),
        (Verdict::Reject, Status::Rejected),
        (Verdict::RequestChanges, Status::ChangesRequested),
        (Verdict::Cancel, Status::Cancelled),
    ] {
        let decision = raised(&bench, status as u128);
        let taken = decided(&bench, &decision, verdict, "ada", 1).unwrap();
        assert_eq!((taken.status, taken.decided_by.as_deref()), (status, Some("ada")));
        assert_eq!(taken.decided_at, Some(bench.now()));
        assert_eq!(decided(&bench, &decision, Verdict::Approve, "bob", 1), Err(DeskRefusal::Settled(status)));
    }
    assert!(list_decisions(&bench.store.read(), false).unwrap().is_empty());
    assert_eq!(list_decisions(&bench.store.read(), true).unwrap().len(), 4);
    let late = raised(&bench, 9);
    bench.clock.advance(604_800);
    assert_eq!(decided(&bench, &late, Verdict::Approve, "ada", 1), Err(DeskRefusal::Expired));
    for wrong in ["", " ", " a", "a\nb", &"a".repeat(191)] {
        assert_eq!(decided(&bench, &late, Verdict::Approve, wrong, 1), Err(DeskRefusal::Words), "{wrong:?}");
    }
    assert_eq!(verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn legal_texts_take_as_many_names_as_it_says() {
    let bench = bench();
    let decision = raised(&bench, 1);
    for by in ["ada", "bob"] {
        assert_eq!(decided(&bench, &decision, Verdict::Approve, by, 3).unwrap().status, Status::Pending);
        let twice = decided(&bench, &decision, Verdict::Approve, by, 3);
        assert_eq!(twice, Err(DeskRefusal::SameName(by.to_owned(), 3)));
    }
    // However it is written, a name is one person.
    for again in ["ADA", "Ａｄａ", "Bob"] {
        let twice = decided(&bench, &decision, Verdict::Approve, again, 3);
        assert_eq!(twice, Err(DeskRefusal::SameName(again.to_owned(), 3)));
    }
    for hidden in ["Ada\u{200b}", "A\u{ad}da", "Ada\u{200d}", "\u{202e}adA", "A\u{a0}da"] {
        assert_eq!(decided(&bench, &decision, Verdict::Approve, hidden, 3), Err(DeskRefusal::Words), "{hidden:?}");
    }
    let taken = decided(&bench, &decision, Verdict::Approve, "eve", 3).unwrap();
    assert_eq!((taken.status, taken.decided_by.as_deref()), (Status::Approved, Some("ada, bob, eve")));
    // One no is enough.
    let other = raised(&bench, 2);
    decided(&bench, &other, Verdict::Approve, "ada", 3).unwrap();
    assert_eq!(decided(&bench, &other, Verdict::Reject, "ada", 3).unwrap().status, Status::Rejected);
}

#[test]
fn at_its_expiry_a_decision_is_timed_out() {
    let bench = bench();
    let (one, other) = (raised(&bench, 1), raised(&bench, 2));
    decided(&bench, &other, Verdict::Approve, "ada", 1).unwrap();
    let next = || ExpiredDecisions.next(&bench.store.read(), Timestamp::EPOCH).unwrap();
    assert_eq!(next(), Some(one.expires_at));
    bench.clock.advance(604_800);
    let swept = bench.run(|tx, now| Ok(ExpiredDecisions.slice(tx, now, Timestamp::EPOCH)?)).unwrap();
    assert_eq!((swept.progress, next()), (Progress::Rest, None));
    let read = bench.store.read();
    assert_eq!(get_decision(&read, one.decision_id).unwrap().unwrap().status, Status::TimedOut);
    assert_eq!(get_decision(&read, other.decision_id).unwrap().unwrap().status, Status::Approved);
    assert_eq!(read.scan(&DESK_CALLS, Scan::all()).unwrap().len(), 2, "both are told");
    assert_eq!(verify(&read).unwrap(), Vec::<String>::new());
}

/// A listener that answers as it is told.
#[derive(Default)]
struct Answers {
    statuses: Mutex<VecDeque<Option<u16>>>,
    asked: Mutex<Vec<Request<Bytes>>>,
}

impl OwnListener for Answers {
    fn send(&self, request: Request<Bytes>, _time: Duration) -> BoxFuture<'_, Option<u16>> {
        self.asked.lock().unwrap().push(request);
        let status = self.statuses.lock().unwrap().pop_front().unwrap_or(Some(200));
        Box::pin(async move { status })
    }
}

#[tokio::test]
async fn it_is_told_until_it_is_heard() {
    let bench = bench();
    let secret = Secret::new("s".to_owned());
    let clock = Arc::clone(&bench.clock) as Arc<dyn TimeSource>;
    let calls = Calls::new((*bench.store).clone(), clock, Some(secret.clone()));
    let decision = raised(&bench, 1);
    decided(&bench, &decision, Verdict::Approve, "ada", 1).unwrap();
    assert_eq!(calls.next_due().unwrap(), None, "nobody listens");
    assert_eq!(calls.slice().await.unwrap(), Progress::Rest);
    let listener = Arc::new(Answers::default());
    let failures = [None, Some(503), Some(500), Some(401), Some(404), None, Some(503), None];
    listener.statuses.lock().unwrap().extend(failures);
    calls.listens_at(Arc::clone(&listener) as Arc<dyn OwnListener>);
    let mut pauses = Vec::new();
    loop {
        let due = calls.next_due().unwrap();
        let Some(due) = due else { break };
        let pause = due.micros_since(bench.now()) / 1_000_000;
        pauses.push(pause);
        bench.clock.advance(pause);
        assert_eq!(calls.slice().await.unwrap(), Progress::More);
        assert_eq!(calls.slice().await.unwrap(), Progress::Rest, "not before its time");
    }
    assert_eq!(pauses, [0, 1, 5, 30, 120, 600, 3_600, 3_600, 3_600]);
    let asked = listener.asked.lock().unwrap();
    assert_eq!(asked.len(), failures.len() + 1);
    let header = |request: &Request<Bytes>, name| request.headers()[&name].to_str().unwrap().to_owned();
    let events: Vec<String> = asked.iter().map(|request| header(request, EVENT_ID)).collect();
    assert!(events.iter().all(|event| event == &events[0]), "always the same event");
    for request in asked.iter() {
        let timestamp = header(request, TIMESTAMP);
        assert_eq!(header(request, SIGNATURE), sign(&secret, &timestamp, request.body()));
    }
    let body: serde_json::Value = serde_json::from_slice(asked[0].body()).unwrap();
    assert_eq!(body["decision_id"], decision.decision_id.to_string());
    assert_eq!(verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

#[test]
fn the_secret_is_made_once_and_lies_sealed() {
    let bench = bench();
    let made = webhook_secret(&bench.store).unwrap();
    assert_eq!(made.expose().len(), 64);
    assert_eq!(webhook_secret(&bench.store).unwrap().expose(), made.expose());
    let row = bench.store.read().get(&super::tables::DESK_SECRET, &0).unwrap().unwrap();
    assert!(!format!("{row:?}").contains(made.expose().as_str()));
}

#[test]
fn what_contradicts_itself_is_found() {
    let bench = bench();
    let (one, other) = (raised(&bench, 1), raised(&bench, 2));
    decided(&bench, &other, Verdict::Approve, "ada", 1).unwrap();
    bench
        .run(move |tx, _| {
            tx.delete(&DESK_PENDING, &one.decision_id);
            tx.delete(&DESK_CONTEXTS, &other.decision_id);
            Ok(())
        })
        .unwrap();
    let findings = verify(&bench.store.read()).unwrap();
    for expected in ["whether it waits are two things", "its context is not what was raised", "are known to wait"] {
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}
