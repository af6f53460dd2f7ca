//! Manifests: what an upload changed, a line for each key.

use std::fmt::Write as _;

use quintet_platform::secrets::{Digest, digest};
use quintet_storage::{Abort, Failure, Read, Scan, decode_plain, encode_plain};
use sha2::{Digest as _, Sha256};

use super::compare::{Change, ChangeKind};
use crate::content::key_ids::key_id;
use crate::content::model::{File, FileId};
use crate::content::sealed;
use crate::content::tables::{IMPORTS, ImportRow};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The lines of a manifest: `key id, change, hash before, hash after`, separated by tabs, each ended by LF.
#[must_use]
pub fn manifest(prefix: u64, changes: &[Change]) -> String {
    let mut text = String::with_capacity(changes.len() * 120);
    changes.iter().for_each(|change| write_line(&mut text, prefix, change));
    text
}

/// SHA-256 of a manifest, which is not kept meanwhile: of the largest uploads it takes tens of megabytes.
#[must_use]
pub fn manifest_digest(prefix: u64, changes: &[Change]) -> Digest {
    let (mut hash, mut line) = (Sha256::new(), String::new());
    for change in changes {
        line.clear();
        write_line(&mut line, prefix, change);
        hash.update(line.as_bytes());
    }
    hash.finalize().into()
}

fn write_line(text: &mut String, prefix: u64, change: &Change) {
    let hex = |hash: &Option<Digest>| hash.map_or_else(|| "-".to_owned(), |hash| data_encoding::HEXLOWER.encode(&hash));
    let id = key_id(prefix, change.number).0;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{id}\t{}\t{}\t{}", change.kind.name(), hex(&change.before), hex(&change.after));
}

/// The changes as they are stored.
///
/// # Errors
/// None that can happen with these types.
pub fn encode_changes(changes: &Vec<Change>) -> Result<Vec<u8>, Failure> {
    encode_plain(changes)
}

/// An upload of a file, by the number of its audit event.
#[derive(Clone, Debug)]
pub struct Import {
    seq: u64,
    key_prefix: u64,
    row: ImportRow,
}

/// The upload of a file that left the audit event with that number.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_import(read: &impl Read, tenant_id: TenantId, file: &File, seq: u64) -> Result<Import, Abort<Refusal>> {
    let row = read.get(&IMPORTS, &(tenant_id, file.file_id, seq))?.ok_or(Refusal::NotFound)?;
    Ok(Import { seq, key_prefix: file.key_prefix, row })
}

/// Its manifest.
///
/// # Errors
/// The store's; [`Failure::Damaged`] if it is not what was told when it was uploaded.
pub fn get_manifest(read: &impl Read, import: &Import) -> Result<String, Failure> {
    let changes: Vec<Change> = decode_plain(&sealed::read_all(read, &import.row.changes)?)?;
    let text = manifest(import.key_prefix, &changes);
    if digest(text.as_bytes()) != import.row.manifest_sha256 {
        return Err(Failure::Damaged(format!("the manifest of import {} is not what was stored", import.seq)));
    }
    Ok(text)
}

/// What an upload did.
fn changes_of(read: &impl Read, tenant_id: TenantId, file_id: FileId, seq: u64) -> Result<Vec<Change>, Failure> {
    let row = read.get(&IMPORTS, &(tenant_id, file_id, seq))?;
    let row = row.ok_or_else(|| Failure::Damaged(format!("file {} lacks its import {seq}", file_id.0)))?;
    decode_plain(&sealed::read_all(read, &row.changes)?)
}

/// The numbers of the keys that an upload changed, took or brought back, in ascending order; not of those it added, which
/// nobody can have translated before.
///
/// # Errors
/// The store's.
pub fn changed_numbers(read: &impl Read, tenant_id: TenantId, file_id: FileId, seq: u64) -> Result<Vec<u64>, Failure> {
    let known =
        changes_of(read, tenant_id, file_id, seq)?.into_iter().filter(|change| change.kind != ChangeKind::Added);
    Ok(known.map(|change| change.number).collect())
}

/// The audit events of a file's uploads behind a number, in ascending order.
///
/// # Errors
/// Only the store's.
pub fn imports_after(read: &impl Read, tenant_id: TenantId, file_id: FileId, seq: u64) -> Result<Vec<u64>, Failure> {
    let rows = read.scan(&IMPORTS, Scan::prefix(&(tenant_id, file_id)).after(&(tenant_id, file_id, seq)))?;
    Ok(rows.into_iter().map(|((.., seq), _)| seq).collect())
}

/// The numbers of the keys whose source an upload replaced, in ascending order: of those that were there, and of those that
/// it brought back with another one.
///
/// # Errors
/// The store's.
pub fn replaced_numbers(read: &impl Read, tenant_id: TenantId, file_id: FileId, seq: u64) -> Result<Vec<u64>, Failure> {
    let is_replaced = |change: &Change| match change.kind {
        ChangeKind::Changed => true,
        ChangeKind::Restored => change.before != change.after,
        ChangeKind::Added | ChangeKind::Obsoleted => false,
    };
    let changes = changes_of(read, tenant_id, file_id, seq)?.into_iter();
    Ok(changes.filter(is_replaced).map(|change| change.number).collect())
}
