//! Events as text: what the interface shows of one, and what its hash is over.
//!
//! It is canonical JSON, written member by member in its order: of a million events nothing is made but their texts.

use std::fmt::Write as _;

use quintet_platform::clock::write_rfc3339;
use quintet_platform::json::write_string;
use quintet_platform::secrets::digest;
use quintet_storage::Uuid;
use serde::de::IgnoredAny;

use super::tables::AuditEventRow;

/// The hash of an event: over everything the interface shows of it but the hash itself (localization, U1).
#[must_use]
pub fn hash(seq: u64, row: &AuditEventRow) -> [u8; 32] {
    let mut text = String::new();
    hash_with(seq, row, &mut text)
}

/// [`hash`] with room for the text that many can share.
pub fn hash_with(seq: u64, row: &AuditEventRow, room: &mut String) -> [u8; 32] {
    room.clear();
    write(seq, row, None, &row.payload, room);
    digest(room.as_bytes())
}

/// Writes an event as the interface shows it: exactly as it was hashed, plus the hash.
pub fn write_event(seq: u64, row: &AuditEventRow, out: &mut String) {
    // What does not parse is not what was written, as its hash says; the rest is shown all the same.
    let is_json = row.payload.is_empty() || serde_json::from_str::<IgnoredAny>(&row.payload).is_ok();
    write(seq, row, Some(&row.hash), if is_json { &row.payload } else { "null" }, out);
}

fn write(seq: u64, row: &AuditEventRow, hash: Option<&[u8; 32]>, payload: &str, out: &mut String) {
    text(out, "{\"action\":", &row.action);
    id(out, ",\"actor_id\":\"", row.actor_id);
    text(out, "\",\"actor_kind\":", row.actor_kind.name());
    id(out, ",\"event_id\":\"", row.event_id);
    if let Some(hash) = hash {
        hex(out, "\",\"hash\":\"", hash);
    }
    out.push_str("\",\"occurred_at\":\"");
    write_rfc3339(row.occurred_at, out);
    if payload.is_empty() {
        hex(out, "\",\"prev_hash\":\"", &row.prev_hash);
    } else {
        out.push_str("\",\"payload\":");
        out.push_str(payload);
        hex(out, ",\"prev_hash\":\"", &row.prev_hash);
    }
    out.push('"');
    if !row.request_id.is_empty() {
        text(out, ",\"request_id\":", &row.request_id);
    }
    // Writing to a string cannot fail.
    let _ = write!(out, ",\"seq\":{seq}");
    text(out, ",\"target_id\":", &row.target_id);
    text(out, ",\"target_type\":", &row.target_type);
    out.push('}');
}

fn text(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    write_string(value, out);
}

fn id(out: &mut String, name: &str, bytes: [u8; 16]) {
    out.push_str(name);
    out.push_str(Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut Uuid::encode_buffer()));
}

fn hex(out: &mut String, name: &str, bytes: &[u8]) {
    out.push_str(name);
    data_encoding::HEXLOWER.encode_append(bytes, out);
}
