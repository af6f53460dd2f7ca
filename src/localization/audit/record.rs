//! Adds events to their tenants' chains.

use quintet_platform::clock::rfc3339;
use quintet_platform::json::{Json, Limits, parse, to_canonical};
use quintet_platform::secrets::digest;
use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::model::{Actor, Event, PAYLOAD_BYTES_MAX};
use super::tables::{AUDIT_EVENTS, AUDIT_HEADS, AuditEventRow, AuditHeadRow};
use crate::model::TenantId;

/// Adds an event to its tenant's chain; its number.
///
/// # Errors
/// The store's; [`Failure::Io`] for a payload over [`PAYLOAD_BYTES_MAX`], which no event of this room has.
pub fn record(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, event: Event) -> Result<u64, Failure> {
    let tenant_id = actor.tenant_id;
    let head = tx.get(&AUDIT_HEADS, &tenant_id)?.unwrap_or(AuditHeadRow { seq: 0, hash: [0; 32] });
    let seq = head.seq + 1;
    let payload = event.payload.map(|payload| to_canonical(&payload)).unwrap_or_default();
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Failure::Io(format!("the payload of {} is too large", event.action)));
    }
    let mut row = AuditEventRow {
        event_id: tx.new_id().into_bytes(),
        occurred_at: now,
        actor_kind: actor.kind,
        actor_id: actor.principal_id.into_bytes(),
        action: event.action.to_owned(),
        target_type: event.target_type.to_owned(),
        target_id: event.target_id,
        payload,
        request_id: actor.request_id.clone(),
        prev_hash: head.hash,
        hash: [0; 32],
    };
    row.hash = hash(seq, &row);
    tx.put(&AUDIT_HEADS, &tenant_id, &AuditHeadRow { seq, hash: row.hash })?;
    tx.put(&AUDIT_EVENTS, &(tenant_id, seq), &row)?;
    Ok(seq)
}

/// The hash of an event: over everything the interface shows of it but the hash itself.
#[must_use]
pub fn hash(seq: u64, row: &AuditEventRow) -> [u8; 32] {
    digest(to_canonical(&Json::Object(members(seq, row))).as_bytes())
}

/// What the interface shows of an event but its hash.
#[must_use]
pub fn members(seq: u64, row: &AuditEventRow) -> Vec<(String, Json)> {
    let hex = |bytes: &[u8]| Json::from(data_encoding::HEXLOWER.encode(bytes));
    let text = |value: &str| Json::from(value);
    let mut members = vec![
        ("seq", Json::from(seq)),
        ("event_id", Json::from(Uuid::from_bytes(row.event_id).to_string())),
        ("occurred_at", Json::from(rfc3339(row.occurred_at))),
        ("actor_kind", text(row.actor_kind.name())),
        ("actor_id", Json::from(Uuid::from_bytes(row.actor_id).to_string())),
        ("action", text(&row.action)),
        ("target_type", text(&row.target_type)),
        ("target_id", text(&row.target_id)),
        ("prev_hash", hex(&row.prev_hash)),
    ];
    if !row.request_id.is_empty() {
        members.push(("request_id", text(&row.request_id)));
    }
    if !row.payload.is_empty() {
        // What does not parse is not what was written, and the hash will say so.
        members.push(("payload", parse(row.payload.as_bytes(), Limits::default()).unwrap_or(Json::Null)));
    }
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A tenant's events with numbers above `after`, at most `limit`.
///
/// # Errors
/// Only the store's.
pub fn events_after(
    read: &impl Read,
    tenant_id: TenantId,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, AuditEventRow)>, Failure> {
    let scan = Scan::prefix(&(tenant_id,)).after(&(tenant_id, after)).limit(limit);
    let rows = read.scan(&AUDIT_EVENTS, scan)?;
    Ok(rows.into_iter().map(|((_, seq), row)| (seq, row)).collect())
}

/// Reads something, to see whether the store can be read at all.
///
/// # Errors
/// It cannot.
pub fn probe(read: &impl Read) -> Result<bool, Failure> {
    read.contains(&AUDIT_HEADS, &TenantId(Uuid::nil()))
}
