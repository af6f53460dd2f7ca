//! Checkpoints: what a chain was at an instant, signed; and which of them are still to be anchored in a file.

use data_encoding::HEXLOWER;
use ed25519_dalek::Signer as _;
use quintet_platform::clock::rfc3339;
use quintet_platform::json::{Json, to_canonical};
use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::due::move_due;
use super::key::signing_key;
use super::tables::{
    AUDIT_CHECKPOINTS, AUDIT_DUE, AUDIT_HEADS, AUDIT_UNANCHORED, AuditCheckpointRow, AuditHeadRow, AuditUnanchoredRow,
};
use crate::model::TenantId;

/// A checkpoint of a tenant's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whose chain.
    pub tenant_id: TenantId,
    /// The event that was the last one.
    pub seq: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// When it was made, as it was signed.
    pub at: String,
    /// Which key signed it.
    pub key_id: [u8; 8],
    /// The signature.
    pub signature: [u8; 64],
}

impl Checkpoint {
    /// The checkpoint of a row.
    #[must_use]
    pub fn of(tenant_id: TenantId, seq: u64, row: &AuditCheckpointRow) -> Checkpoint {
        let AuditCheckpointRow { hash, at, key_id, signature, .. } = *row;
        Checkpoint { tenant_id, seq, hash, at: rfc3339(at), key_id, signature }
    }

    /// What is signed: canonical JSON of these four (localization, U4).
    #[must_use]
    pub fn signed_text(&self) -> String {
        let [at, hash, seq, tenant_id] = self.signed();
        to_canonical(&Json::object([at, hash, seq, tenant_id]))
    }

    fn signed(&self) -> [(&'static str, Json); 4] {
        [
            ("at", self.at.as_str().into()),
            ("hash", HEXLOWER.encode(&self.hash).into()),
            ("seq", self.seq.into()),
            ("tenant_id", self.tenant_id.0.to_string().into()),
        ]
    }

    /// As a line, without its end: in exports, and in the anchor file.
    #[must_use]
    pub fn line(&self) -> String {
        let [at, hash, seq, tenant_id] = self.signed();
        let key_id = ("key_id", HEXLOWER.encode(&self.key_id).into());
        let signature = ("signature", HEXLOWER.encode(&self.signature).into());
        let checkpoint = Json::object([at, hash, key_id, seq, signature, tenant_id]);
        to_canonical(&Json::object([("checkpoint", checkpoint)]))
    }
}

/// Writes the checkpoints that are due, at most so many; how many were due. `anchor_file`: the file that is to have their
/// anchors, if one is configured.
///
/// # Errors
/// Only the store's.
pub fn write_checkpoints(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    anchor_file: Option<&str>,
    most: usize,
) -> Result<usize, Failure> {
    let due = tx.scan(&AUDIT_DUE, Scan::all().limit(most))?;
    let due: Vec<_> = due.into_iter().map(|(key, _)| key).take_while(|(at, _)| *at <= now).collect();
    if due.is_empty() {
        return Ok(0);
    }
    let key = signing_key(tx)?.ok_or_else(|| Failure::Damaged("there is no audit key".to_owned()))?;
    for (at, tenant_id) in &due {
        let Some(head) = tx.get(&AUDIT_HEADS, tenant_id)? else {
            move_due(tx, *tenant_id, Some(*at), None)?;
            continue;
        };
        if head.seq > head.checkpoint_seq {
            let (private, public) = &key;
            let mut row = AuditCheckpointRow {
                hash: head.hash,
                at: now,
                key_id: public.id(),
                signature: [0; 64],
                anchor_file: anchor_file.unwrap_or_default().to_owned(),
            };
            let text = Checkpoint::of(*tenant_id, head.seq, &row).signed_text();
            row.signature = private.sign(text.as_bytes()).to_bytes();
            tx.put(&AUDIT_CHECKPOINTS, &(*tenant_id, head.seq), &row)?;
            if anchor_file.is_some() {
                tx.put(&AUDIT_UNANCHORED, &(*tenant_id, head.seq), &AuditUnanchoredRow)?;
            }
        }
        move_due(tx, *tenant_id, Some(*at), None)?;
        let head = AuditHeadRow { checkpoint_seq: head.seq, since: now, due_at: None, ..head };
        tx.put(&AUDIT_HEADS, tenant_id, &head)?;
    }
    Ok(due.len())
}

/// A tenant's checkpoints of events above `after` and up to `to`, at most `limit`.
///
/// # Errors
/// Only the store's.
pub fn checkpoints_after(
    read: &impl Read,
    tenant_id: TenantId,
    after: u64,
    to: u64,
    limit: usize,
) -> Result<Vec<(u64, AuditCheckpointRow)>, Failure> {
    let scan = Scan::prefix(&(tenant_id,)).after(&(tenant_id, after)).limit(limit);
    let rows = read.scan(&AUDIT_CHECKPOINTS, scan)?;
    let rows = rows.into_iter().map(|((_, seq), row)| (seq, row));
    Ok(rows.take_while(|(seq, _)| *seq <= to).collect())
}

/// Checkpoints whose anchor may not be in its file, at most so many.
///
/// # Errors
/// Only the store's.
pub fn unanchored(read: &impl Read, most: usize) -> Result<Vec<Checkpoint>, Failure> {
    let mut found = Vec::new();
    for ((tenant_id, seq), _) in read.scan(&AUDIT_UNANCHORED, Scan::all().limit(most))? {
        // One that is not there is told by `verify`; the others are written all the same.
        let row = read.get(&AUDIT_CHECKPOINTS, &(tenant_id, seq))?;
        found.extend(row.map(|row| Checkpoint::of(tenant_id, seq, &row)));
    }
    Ok(found)
}

/// Whether a checkpoint's anchor may not be in its file.
///
/// # Errors
/// Only the store's.
pub fn is_unanchored(read: &impl Read, tenant_id: TenantId, seq: u64) -> Result<bool, Failure> {
    read.contains(&AUDIT_UNANCHORED, &(tenant_id, seq))
}

/// Notes that the anchors of these checkpoints are in this file.
///
/// # Errors
/// Only the store's.
pub fn note_anchored(tx: &mut WriteTx<'_>, anchor_file: &str, written: &[(TenantId, u64)]) -> Result<(), Failure> {
    for key in written {
        tx.delete(&AUDIT_UNANCHORED, key);
        match tx.get(&AUDIT_CHECKPOINTS, key)? {
            // It was made while another file was configured: that one is not to have it.
            Some(row) if row.anchor_file != anchor_file => {
                let row = AuditCheckpointRow { anchor_file: anchor_file.to_owned(), ..row };
                tx.put(&AUDIT_CHECKPOINTS, key, &row)?;
            }
            _ => {}
        }
    }
    Ok(())
}
