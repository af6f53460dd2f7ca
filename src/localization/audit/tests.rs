//! Chains that nobody touched, and whatever can be done to one.

use quintet_platform::json::Json;
use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Failure, Read as _, Uuid};

use super::model::PAYLOAD_BYTES_MAX;
use super::record::{events_after, hash, record};
use super::tables::{AUDIT_EVENTS, AUDIT_HEADS, AuditHeadRow};
use super::{Event, verify};
use crate::testing::{OTHER, TENANT, actor, furnished};

#[test]
fn a_chain_that_nobody_touched_is_sound() {
    let (bench, ..) = furnished();
    assert_eq!(verify(&bench.store.read()), Ok(Vec::new()));
    let events = events_after(&bench.store.read(), TENANT, 0, 10).unwrap();
    let told: Vec<(u64, &str)> = events.iter().map(|(seq, row)| (*seq, row.action.as_str())).collect();
    assert_eq!(told, [(1, "workspace.create"), (2, "project.create"), (3, "test"), (4, "test"), (5, "test")]);
    assert_eq!(events_after(&bench.store.read(), OTHER, 0, 10).unwrap().len(), 1);
    assert_eq!(events_after(&bench.store.read(), TENANT, 3, 1).unwrap()[0].0, 4);
}

#[test]
fn a_hash_can_be_made_by_anybody() {
    let (bench, ..) = furnished();
    let events = events_after(&bench.store.read(), TENANT, 0, 10).unwrap();
    let (seq, row) = &events[3];
    // Canonical JSON by hand: sorted members, no white space, everything but the hash.
    let text = format!(
        concat!(
            r#"{{"action":"test","actor_id":"00000000-0000-0000-0000-000000000abc","actor_kind":"service_account","#,
            r#""event_id":"{}","occurred_at":"2023-11-14T22:13:20.000000Z","payload":{{"number":1}},"#,
            r#""prev_hash":"{}","request_id":"request-1","seq":{},"#,
            r#""target_id":"00000000-0000-0000-0000-000000000001","target_type":"thing"}}"#
        ),
        Uuid::from_bytes(row.event_id),
        data_encoding::HEXLOWER.encode(&events[2].1.hash),
        seq,
    );
    assert_eq!(digest(text.as_bytes()), row.hash);
    assert_eq!(events[0].1.prev_hash, [0; 32]);
}

#[test]
fn whatever_is_done_to_a_chain_is_found() {
    type Deed = fn(&mut quintet_storage::WriteTx<'_>) -> Result<(), Failure>;
    let rewrite: Deed = |tx| {
        let mut row = tx.get(&AUDIT_EVENTS, &(TENANT, 3))?.unwrap();
        row.payload = r#"{"number":9}"#.into();
        tx.put(&AUDIT_EVENTS, &(TENANT, 3), &row)
    };
    let forge: Deed = |tx| {
        let mut row = tx.get(&AUDIT_EVENTS, &(TENANT, 3))?.unwrap();
        row.action = "other".into();
        row.hash = hash(3, &row);
        tx.put(&AUDIT_EVENTS, &(TENANT, 3), &row)
    };
    let remove: Deed = |tx| {
        tx.delete(&AUDIT_EVENTS, &(TENANT, 4));
        Ok(())
    };
    let cut: Deed = |tx| {
        tx.delete(&AUDIT_EVENTS, &(TENANT, 5));
        Ok(())
    };
    let cut_with_head: Deed = |tx| {
        tx.delete(&AUDIT_EVENTS, &(TENANT, 5));
        tx.put(&AUDIT_HEADS, &TENANT, &AuditHeadRow { seq: 4, hash: [1; 32] })
    };
    let behead: Deed = |tx| {
        tx.delete(&AUDIT_HEADS, &TENANT);
        Ok(())
    };
    for (deed, expected) in [
        (rewrite, "event 3: is not what its hash says"),
        (forge, "event 4: does not continue"),
        (remove, "event 5: comes after event 3"),
        (cut, "event 4: the chain ends here, its head says 5"),
        (cut_with_head, "event 4: the chain ends here"),
        (behead, "there are events, but no head"),
    ] {
        let (bench, ..) = furnished();
        bench.run(move |tx, _| Ok(deed(tx)?)).unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

#[test]
fn payloads_are_bounded() {
    let (bench, ..) = furnished();
    let event = Event::about("test", "thing", Uuid::nil()).with([("x", Json::from("x".repeat(PAYLOAD_BYTES_MAX)))]);
    let written = bench.store.write_blocking(
        std::time::Instant::now() + std::time::Duration::from_secs(30),
        move |tx, now| -> Result<u64, Abort<crate::refusal::Refusal>> { Ok(record(tx, now, &actor(TENANT), event)?) },
    );
    assert!(matches!(written, Err(Abort::Failed(Failure::Io(_)))), "{written:?}");
}
