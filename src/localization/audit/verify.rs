//! Whether the chains are as they were written, and as they were anchored.

use quintet_storage::{Failure, Read, Scan};

use super::anchored::AnchorCheck;
use super::anchors::AnchorFile;
use super::breaks::Break;
use super::chain::ChainCheck;
use super::key::public_key;
use super::tables::{AUDIT_CHECKPOINTS, AUDIT_DUE, AUDIT_EVENTS, AUDIT_HEADS, AUDIT_UNANCHORED, AuditHeadRow};
use crate::model::TenantId;
use crate::rows;

/// What is wrong with the chains of all tenants and with their checkpoints; nothing, if they are as they were written.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    rows::each(read, &AUDIT_HEADS, |tenant_id, head| {
        let mut check = ChainCheck::begin(read, tenant_id)?;
        while !check.step(read)? {}
        let told = check.found.breaks.0.iter().map(|one| place(tenant_id, one.seq) + ": " + &one.detail);
        findings.extend(told);
        verify_head(read, tenant_id, head, &mut findings)
    })?;
    verify_headless(read, &mut findings)?;
    rows::each(read, &AUDIT_DUE, |(at, tenant_id), _| {
        if read.get(&AUDIT_HEADS, &tenant_id)?.is_none_or(|head| head.due_at != Some(at)) {
            findings.push(format!(
                "audit chain of tenant {}: a checkpoint is due that its head does not know",
                tenant_id.0
            ));
        }
        Ok(())
    })?;
    rows::each(read, &AUDIT_UNANCHORED, |(tenant_id, seq), _| {
        if !read.contains(&AUDIT_CHECKPOINTS, &(tenant_id, seq))? {
            findings.push(place(tenant_id, seq) + ": is to be anchored, and has no checkpoint");
        }
        Ok(())
    })?;
    Ok(findings)
}

/// What is wrong with the anchors of all tenants. `known_bytes` is how long the file was before the state that is read was
/// taken; of a directory that is older than its anchors by rights, such as a backup, 0.
///
/// # Errors
/// Only the store's.
pub fn verify_anchors(read: &impl Read, file: &AnchorFile, known_bytes: u64) -> Result<Vec<String>, Failure> {
    let mut check = AnchorCheck::begin(read, file.clone(), None, known_bytes)?;
    while !check.step(read)? {}
    let tell = |(tenant_id, one): (TenantId, &Break)| match one.seq {
        0 => one.detail.clone(),
        seq => place(tenant_id, seq) + ": " + &one.detail,
    };
    Ok(check.breaks().into_iter().map(tell).collect())
}

fn place(tenant_id: TenantId, seq: u64) -> String {
    format!("audit chain of tenant {}, event {seq}", tenant_id.0)
}

/// What a head says of checkpoints.
fn verify_head(
    read: &impl Read,
    tenant_id: TenantId,
    head: AuditHeadRow,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let place = format!("audit chain of tenant {}", tenant_id.0);
    let is_due = match head.due_at {
        Some(at) => read.contains(&AUDIT_DUE, &(at, tenant_id))?,
        // Until there is a key, a chain of an older directory is in no agenda.
        None => head.seq == head.checkpoint_seq || public_key(read)?.is_none(),
    };
    if !is_due {
        findings.push(format!("{place}: its next checkpoint is missing from the agenda"));
    }
    let newest = Scan::prefix(&(tenant_id,)).newest_first().limit(1);
    let last = read.scan(&AUDIT_CHECKPOINTS, newest)?.first().map_or(0, |((_, seq), _)| *seq);
    // One that is missing was found with the chain.
    if last > head.checkpoint_seq {
        let says = head.checkpoint_seq;
        findings.push(format!("{place}: its last checkpoint is of event {last}, its head says {says}"));
    }
    Ok(())
}

/// Events of tenants that have no head: none can be.
fn verify_headless(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut from = None;
    loop {
        let mut scan = Scan::all().limit(1);
        if let Some(tenant_id) = from {
            scan = scan.after(&(tenant_id, u64::MAX));
        }
        let Some(((tenant_id, _), _)) = read.scan(&AUDIT_EVENTS, scan)?.into_iter().next() else { return Ok(()) };
        if !read.contains(&AUDIT_HEADS, &tenant_id)? {
            findings.push(format!("audit chain of tenant {}: there are events, but no head", tenant_id.0));
        }
        from = Some(tenant_id);
    }
}
