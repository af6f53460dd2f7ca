//! Chains that nobody touched, and whatever can be done to one.

use quintet_platform::json::Json;
use quintet_platform::secrets::{Secret, digest};
use quintet_storage::{Abort, Failure, Read as _, Row, Table, Timestamp, Uuid, WriteTx};

use super::checkpoint::write_checkpoints;
use super::due::move_due;
use super::key::make_key;
use super::model::PAYLOAD_BYTES_MAX;
use super::record::{events_after, record};
use super::tables::{
    AUDIT_CHECKPOINTS, AUDIT_EVENTS, AUDIT_HEADS, AUDIT_UNANCHORED, AuditCheckpointRow, AuditHeadRow,
    AuditHeadRowBefore2, AuditUnanchoredRow,
};
use super::text::{hash, write_event};
use super::{Event, verify};
use crate::model::{FAMILY, TenantId};
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
        let head = tx.get(&AUDIT_HEADS, &TENANT)?.unwrap();
        tx.put(&AUDIT_HEADS, &TENANT, &AuditHeadRow { seq: 4, hash: [1; 32], ..head })
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

/// Takes a chain out of the agenda, as it was before there was one.
pub fn forget_due(tx: &mut WriteTx<'_>, tenant_id: TenantId) -> Result<(), Failure> {
    let head = tx.get(&AUDIT_HEADS, &tenant_id)?.unwrap();
    move_due(tx, tenant_id, head.due_at, None)?;
    tx.put(&AUDIT_HEADS, &tenant_id, &AuditHeadRow { due_at: None, ..head })
}

#[test]
fn heads_of_version_1_are_read() {
    let (bench, ..) = furnished();
    const OLD: Table<TenantId, OldHead> = Table::new(AUDIT_HEADS.spec().tag, FAMILY, "localization_audit_heads");
    bench.run(|tx, _| Ok(tx.put(&OLD, &TENANT, &OldHead(AuditHeadRowBefore2 { seq: 5, hash: [3; 32] }))?)).unwrap();
    let head = bench.store.read().get(&AUDIT_HEADS, &TENANT).unwrap().unwrap();
    let expected = AuditHeadRow { seq: 5, hash: [3; 32], checkpoint_seq: 0, since: Timestamp::EPOCH, due_at: None };
    assert_eq!(head, expected);
}

/// A head in version 1.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
struct OldHead(AuditHeadRowBefore2);
impl Row for OldHead {}

#[test]
fn what_contradicts_the_agenda_is_found() {
    type Deed = fn(&mut WriteTx<'_>) -> Result<(), Failure>;
    let cases: [(Deed, &str); 5] = [
        (
            |tx| {
                let row = AuditCheckpointRow {
                    hash: [0; 32],
                    at: Timestamp::EPOCH,
                    key_id: [0; 8],
                    signature: [0; 64],
                    anchor_file: String::new(),
                };
                tx.put(&AUDIT_CHECKPOINTS, &(TENANT, 1), &row)
            },
            "its last checkpoint is of event 1, its head says 0",
        ),
        (
            |tx| move_due(tx, TENANT, Some(Timestamp::EPOCH.plus_seconds(1_700_003_600)), None),
            "missing from the agenda",
        ),
        (|tx| move_due(tx, OTHER, None, Some(Timestamp::EPOCH)), "is due that its head does not know"),
        (|tx| tx.put(&AUDIT_UNANCHORED, &(TENANT, 2), &AuditUnanchoredRow), "event 2: is to be anchored"),
        (
            |tx| {
                let head = tx.get(&AUDIT_HEADS, &TENANT)?.unwrap();
                tx.put(&AUDIT_HEADS, &TENANT, &AuditHeadRow { checkpoint_seq: 2, ..head })
            },
            "event 2: its checkpoint is missing: the last one there is is of event 0",
        ),
    ];
    for (deed, expected) in cases {
        let (bench, ..) = furnished();
        bench.run(move |tx, _| Ok(deed(tx)?)).unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

#[test]
fn checkpoints_that_do_not_fit_are_found() {
    type Deed = fn(&mut AuditCheckpointRow);
    let cases: [(Deed, &str); 4] = [
        (|row| row.hash = [7; 32], "event 5: has a checkpoint of another hash"),
        (|row| row.key_id = [7; 8], "event 5: has a checkpoint of another key"),
        (|row| row.signature[5] ^= 1, "event 5: has a checkpoint that the key has not signed"),
        (|row| row.at = row.at.plus_micros(1), "event 5: has a checkpoint that the key has not signed"),
    ];
    for (deed, expected) in cases {
        let (bench, ..) = furnished();
        bench.run(|tx, now| Ok(make_key(tx, now, &Secret::new([9; 32]))?)).unwrap();
        bench.clock.advance(3_600);
        let made = bench.run(|tx, now| Ok(write_checkpoints(tx, now, None, 10)?));
        assert_eq!(made, Ok(2), "one of each tenant");
        assert_eq!(verify(&bench.store.read()), Ok(Vec::new()));
        let key = (TENANT, 5);
        bench
            .run(move |tx, _| {
                let mut row = tx.get(&AUDIT_CHECKPOINTS, &key)?.unwrap();
                deed(&mut row);
                Ok(tx.put(&AUDIT_CHECKPOINTS, &key, &row)?)
            })
            .unwrap();
        assert_eq!(verify(&bench.store.read()), Ok(vec![format!("audit chain of tenant {}, {expected}", TENANT.0)]));
    }
}

#[test]
fn a_payload_that_is_no_json_is_not_shown() {
    let (bench, ..) = furnished();
    let (seq, mut row) = events_after(&bench.store.read(), TENANT, 3, 1).unwrap().remove(0);
    row.payload = "}{".into();
    let mut text = String::new();
    write_event(seq, &row, &mut text);
    let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(shown["payload"], serde_json::Value::Null);
    row.payload.clear();
    row.request_id.clear();
    text.clear();
    write_event(seq, &row, &mut text);
    let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(shown.get("payload").is_none() && shown.get("request_id").is_none(), "{shown}");
    assert_eq!(shown.to_string(), text, "members are in their order");
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
