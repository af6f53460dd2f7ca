//! Whether the chains are as they were written.

use quintet_storage::{Failure, Read, Scan};

use super::record::{events_after, hash};
use super::tables::{AUDIT_EVENTS, AUDIT_HEADS, AuditHeadRow};
use crate::model::TenantId;
use crate::rows;

/// Events read at a time.
const PAGE_ROWS: usize = 1000;

/// What is wrong with the chains of all tenants; nothing, if they are as they were written.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    rows::each(read, &AUDIT_HEADS, |tenant_id, head| verify_chain(read, tenant_id, head, &mut findings))?;
    // Events of tenants that have no head: none can be.
    let mut from = None;
    loop {
        let mut scan = Scan::all().limit(1);
        if let Some(tenant_id) = from {
            scan = scan.after(&(tenant_id, u64::MAX));
        }
        let Some(((tenant_id, _), _)) = read.scan(&AUDIT_EVENTS, scan)?.into_iter().next() else { break };
        if !read.contains(&AUDIT_HEADS, &tenant_id)? {
            findings.push(format!("audit chain of tenant {}: there are events, but no head", tenant_id.0));
        }
        from = Some(tenant_id);
    }
    Ok(findings)
}

fn verify_chain(
    read: &impl Read,
    tenant_id: TenantId,
    head: AuditHeadRow,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let place = |seq: u64| format!("audit chain of tenant {}, event {seq}", tenant_id.0);
    let (mut last, mut prev_hash) = (0, [0; 32]);
    loop {
        let page = events_after(read, tenant_id, last, PAGE_ROWS)?;
        let is_last = page.len() < PAGE_ROWS;
        for (seq, row) in page {
            if seq != last + 1 {
                findings.push(format!("{}: comes after event {last}", place(seq)));
            } else if row.prev_hash != prev_hash {
                findings.push(format!("{}: does not continue the event before it", place(seq)));
            }
            if hash(seq, &row) != row.hash {
                findings.push(format!("{}: is not what its hash says", place(seq)));
            }
            (last, prev_hash) = (seq, row.hash);
        }
        if is_last {
            break;
        }
    }
    if (last, prev_hash) != (head.seq, head.hash) {
        findings.push(format!("{}: the chain ends here, its head says {}", place(last), head.seq));
    }
    Ok(())
}
