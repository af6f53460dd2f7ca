//! Mail that leaves, as rows: what is due, what waits, what is forgotten.

use quintet_storage::{Read as _, Scan, Uuid};
use serde_json::{Value, json};

use super::tables::{DUE, OLD, OUTBOX, UNDELIVERABLE};
use super::*;
use crate::identity::Scope;
use crate::model::{MessageId, ThreadId};
use crate::testing::{Bench, assert_refused};

fn line(bench: &Bench, recipient: &str) -> Undeliverable {
    Undeliverable {
        received_at: bench.now(),
        reason: "550 5.1.1 no such user".to_owned(),
        sender: "agentbus+acme.ann@mail.example".to_owned(),
        recipient: recipient.to_owned(),
        subject: "Hi\u{7}there".to_owned(),
    }
}

fn verified(bench: &Bench) -> String {
    crate::verify(&bench.context.store.read()).unwrap().join("\n")
}

/// 6-messaging.md, M5: shown to an operator's key alone, the newest first, for 30 days.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_is_known_for_thirty_days() {
    let bench = Bench::new();
    bench.agent("ann");
    for recipient in ["a@b.example", "c@d.example"] {
        let (line, no) = (line(&bench, recipient), bench.workspace.no);
        bench.run(move |tx, _| Ok(note_undeliverable(tx, no, line)?)).unwrap();
    }
    let list = async |query: &str| {
        let (status, answer) =
            bench.call(&bench.admin, "GET", &format!("/v1/admin/undeliverable{query}"), Value::Null).await;
        assert_eq!(status, 200, "{answer}");
        answer["undeliverable"].clone()
    };
    let all = list("").await;
    assert_eq!((&all[0]["recipient"], &all[1]["recipient"]), (&json!("c@d.example"), &json!("a@b.example")));
    assert_eq!((&all[0]["subject"], &all[0]["reason"]), (&json!("Hi there"), &json!("550 5.1.1 no such user")));
    assert_eq!(list("?limit=1").await.as_array().unwrap().len(), 1);
    let bound = bench.key(Scope::Admin, &["ann"]);
    for (key, words) in [(&bound, "bound to no agent"), (&bench.key(Scope::Full, &[]), "scope")] {
        let refused = bench.call(key, "GET", "/v1/admin/undeliverable", Value::Null).await;
        assert_refused(&refused, (403, "permission_denied"), words);
    }
    let other = bench.another("other");
    let key = bench.key_of(other.no, Scope::Admin, &[]);
    let (_, elsewhere) = bench.call(&key, "GET", "/v1/admin/undeliverable", Value::Null).await;
    assert_eq!(elsewhere["undeliverable"], json!([]));
    assert_eq!(verified(&bench), "");
    bench.advance(30 * 86_400 - 1).await;
    assert_eq!(list("").await.as_array().unwrap().len(), 2);
    bench.advance(2).await;
    assert_eq!(list("").await, json!([]));
    assert_eq!(bench.context.store.read().scan(&OLD, Scan::all()).unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_is_sealed_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let workspace = bench.workspace.clone();
    let said = "a link that nobody else may have";
    let own = workspace.clone();
    bench
        .run(move |tx, now| {
            Ok(enqueue_note(tx, now, &own, Note { to: "ben@example.com", subject: "Please decide", text: said })?)
        })
        .unwrap();
    let read = bench.context.store.read();
    let (key, row) = read.scan(&OUTBOX, Scan::all()).unwrap().remove(0);
    let outgoing = row.into_outgoing();
    let What::Note { text: Some(sealed), subject } = &outgoing.what else { panic!("{outgoing:?}") };
    assert_eq!(subject, "Please decide");
    assert!(!format!("{sealed:?}").contains("link"));
    assert_eq!(note_text(&read, &workspace, key.1, sealed).unwrap().as_deref(), Some(said));
    assert_eq!(outgoing.waiting().collect::<Vec<_>>(), ["ben@example.com"]);
    assert_eq!(verified(&bench), "");
}

/// 6-messaging.md, G1: what is for outside waits with all else of a paused thread.
#[test]
fn what_a_thread_holds_leaves_when_it_goes_on() {
    let bench = Bench::new();
    let no = bench.workspace.no;
    let (thread, message) = (ThreadId(Uuid::from_u128(1)), MessageId(Uuid::from_u128(2)));
    let to = vec!["ben@example.com".to_owned()];
    bench.run(move |tx, now| Ok(hold(tx, now, (no, message, thread), to)?)).unwrap();
    let due = || bench.context.store.read().scan(&DUE, Scan::all()).unwrap().len();
    assert_eq!((due(), held_by(&bench.context.store.read(), (no, thread), 9).unwrap().len()), (0, 1));
    assert_eq!(verified(&bench), "");
    assert!(!bench.run(move |tx, now| Ok(release(tx, now, (no, thread))?)).unwrap());
    assert_eq!((due(), held_by(&bench.context.store.read(), (no, thread), 9).unwrap().len()), (1, 0));
    let outgoing = find(&bench.context.store.read(), (no, message.0)).unwrap().unwrap();
    assert_eq!((outgoing.state, outgoing.began_at), (State::Due(bench.now()), Some(bench.now())));
    // Another one's stays where it is.
    let (thread, message) = (ThreadId(Uuid::from_u128(3)), MessageId(Uuid::from_u128(4)));
    let to = vec!["ben@example.com".to_owned()];
    bench.run(move |tx, now| Ok(hold(tx, now, (no, message, thread), to)?)).unwrap();
    assert!(!bench.run(move |tx, now| Ok(release(tx, now, (no, ThreadId(Uuid::from_u128(1))))?)).unwrap());
    assert_eq!(held_by(&bench.context.store.read(), (no, thread), 9).unwrap(), [(no, message.0)]);
    assert_eq!(verified(&bench), "");
}

#[test]
fn what_contradicts_itself_is_found() {
    let bench = Bench::new();
    let (no, message) = (bench.workspace.no, MessageId(Uuid::from_u128(2)));
    let to = vec!["ben@example.com".to_owned()];
    bench.run(move |tx, now| Ok(enqueue(tx, now, (no, message, ThreadId(message.0)), to)?)).unwrap();
    let now = bench.now();
    bench
        .run(move |tx, _| {
            tx.delete(&DUE, &(now, no, message.0));
            Ok(())
        })
        .unwrap();
    assert!(verified(&bench).contains("is not found by its state"), "{}", verified(&bench));
    bench
        .run(move |tx, _| {
            tx.delete(&OUTBOX, &(no, message.0));
            tx.put(&DUE, &(now, no, message.0), &crate::model::Mark)?;
            Ok(())
        })
        .unwrap();
    assert!(verified(&bench).contains("does not say so"), "{}", verified(&bench));
    let line = line(&bench, "a@b.example");
    bench
        .run(move |tx, _| {
            tx.delete(&DUE, &(now, no, message.0));
            note_undeliverable(tx, no, line)?;
            let ids: Vec<_> = tx.scan(&UNDELIVERABLE, Scan::all())?.into_iter().map(|(key, _)| key).collect();
            for key in ids {
                tx.delete(&UNDELIVERABLE, &key);
            }
            Ok(())
        })
        .unwrap();
    assert!(verified(&bench).contains("is not there"), "{}", verified(&bench));
}
