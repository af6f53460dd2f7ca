//! Adds events to their tenants' chains.

use quintet_platform::json::{Json, to_canonical};
use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::due::{due_after, move_due};
use super::model::{Actor, Event, PAYLOAD_BYTES_MAX};
use super::tables::{AUDIT_EVENTS, AUDIT_HEADS, AuditEventRow, AuditHeadRow};
use super::text::hash;
use crate::model::TenantId;

/// Adds an event to its tenant's chain; its number.
///
/// # Errors
/// The store's; [`Failure::Io`] for a payload over [`PAYLOAD_BYTES_MAX`], which no event of this room has.
pub fn record(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, event: Event) -> Result<u64, Failure> {
    let tenant_id = actor.tenant_id;
    let none = AuditHeadRow { seq: 0, hash: [0; 32], checkpoint_seq: 0, since: now, due_at: None };
    let head = tx.get(&AUDIT_HEADS, &tenant_id)?.unwrap_or(none);
    let seq = head.seq + 1;
    let payload = with_user(event.payload, actor.uid).map(|payload| to_canonical(&payload)).unwrap_or_default();
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
    let due_at = due_after(&head, seq, now);
    move_due(tx, tenant_id, head.due_at, due_at)?;
    tx.put(&AUDIT_HEADS, &tenant_id, &AuditHeadRow { seq, hash: row.hash, due_at, ..head })?;
    tx.put(&AUDIT_EVENTS, &(tenant_id, seq), &row)?;
    Ok(seq)
}

/// The payload with the number of the operator's user, where it is known.
fn with_user(payload: Option<Json>, uid: Option<u32>) -> Option<Json> {
    let Some(uid) = uid else { return payload };
    let mut members = match payload {
        Some(Json::Object(members)) => members,
        _ => Vec::new(),
    };
    members.push(("uid".to_owned(), Json::from(uid)));
    Some(Json::Object(members))
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

/// The number of a tenant's last event; 0: it has none.
///
/// # Errors
/// Only the store's.
pub fn head_seq(read: &impl Read, tenant_id: TenantId) -> Result<u64, Failure> {
    Ok(read.get(&AUDIT_HEADS, &tenant_id)?.map_or(0, |head| head.seq))
}

/// The number of a tenant's last event that happened at an instant or before; 0: none did.
///
/// # Errors
/// Only the store's.
pub fn seq_at(read: &impl Read, tenant_id: TenantId, at: Timestamp) -> Result<u64, Failure> {
    // Numbers have no gaps, and time does not run back.
    let (mut within, mut beyond) = (0, head_seq(read, tenant_id)? + 1);
    while beyond - within > 1 {
        let middle = within + (beyond - within) / 2;
        match read.get(&AUDIT_EVENTS, &(tenant_id, middle))? {
            Some(event) if event.occurred_at <= at => within = middle,
            _ => beyond = middle,
        }
    }
    Ok(within)
}

/// Reads something, to see whether the store can be read at all.
///
/// # Errors
/// It cannot.
pub fn probe(read: &impl Read) -> Result<bool, Failure> {
    read.contains(&AUDIT_HEADS, &TenantId(Uuid::nil()))
}
