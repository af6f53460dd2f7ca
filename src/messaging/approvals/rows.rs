//! Rows of approvals: finding them, and keeping what changes with what finds them and what falls due.

use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{Abort, Failure, Read, Scan, Table, Timestamp, WriteTx, decode_plain, encode_plain};

use super::action::Matter;
use super::model::{Approval, Status, Verdict};
use super::tables::{APPROVALS, ApprovalRow, BY_STATUS, MATTERS, MatterRow, VERDICTS, VerdictRow};
use crate::due::{self, Due};
use crate::identity::Workspace;
use crate::model::{ApprovalId, ApprovalKey, Mark, WorkspaceNo};
use crate::refusal::Refusal;

/// An approval.
pub(crate) fn find(read: &impl Read, key: ApprovalKey) -> Result<Option<Approval>, Failure> {
    Ok(read.get(&APPROVALS, &key)?.map(ApprovalRow::into_approval))
}

/// An approval that a request names: what is another workspace's and what is absent are the same.
///
/// # Errors
/// There is none.
pub(crate) fn named(read: &impl Read, key: ApprovalKey) -> Result<Approval, Abort<Refusal>> {
    Ok(find(read, key)?.ok_or_else(absent)?)
}

/// There is no such approval.
pub(crate) fn absent() -> Refusal {
    Refusal::NotFound("approval with this id".to_owned())
}

/// When something is to be done with an approval by the clock, if it is pending.
pub(crate) fn falls_due_at(read: &impl Read, key: ApprovalKey) -> Result<Option<Timestamp>, Failure> {
    Ok(find(read, key)?.filter(|approval| approval.status == Status::Pending).map(|approval| approval.expires_at))
}

/// What an approval is about; nothing, of an erased tenant's.
pub(crate) fn matter(read: &impl Read, workspace: &Workspace, key: ApprovalKey) -> Result<Matter, Failure> {
    let Some(MatterRow(sealed)) = read.get(&MATTERS, &key)? else { return Ok(Matter::default()) };
    let bytes = opened(read, workspace, &MATTERS, key, &sealed)?;
    bytes.map_or_else(|| Ok(Matter::default()), |bytes| decode_plain(&bytes))
}

/// How an approval ended, as it was recorded.
pub(crate) fn verdict(read: &impl Read, workspace: &Workspace, key: ApprovalKey) -> Result<Option<Verdict>, Failure> {
    let Some(VerdictRow { status, at, by, how, source, reason }) = read.get(&VERDICTS, &key)? else {
        return Ok(None);
    };
    let bytes = match &reason {
        Some(sealed) => opened(read, workspace, &VERDICTS, key, sealed)?.unwrap_or_default(),
        None => Vec::new(),
    };
    let reason = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(Verdict { status, at, by, how, source, reason }))
}

/// Keeps a new approval, with what it is about.
pub(super) fn put_new(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    key: ApprovalKey,
    approval: Approval,
    matter: &Matter,
) -> Result<(), Failure> {
    let sealed = sealed(tx, workspace, &MATTERS, key, &encode_plain(matter)?)?;
    tx.put(&MATTERS, &key, &MatterRow(sealed))?;
    tx.put(&BY_STATUS, &(key.0, approval.status.code(), key.1), &Mark)?;
    due::put(tx, approval.expires_at, Due::Approval(key))?;
    tx.put(&APPROVALS, &key, &ApprovalRow::of(approval))
}

/// Keeps the verdict of an approval that was pending; the approval as it is then.
pub(super) fn put_verdict(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    key: ApprovalKey,
    mut approval: Approval,
    verdict: &Verdict,
) -> Result<Approval, Failure> {
    if approval.status != Status::Pending || tx.contains(&VERDICTS, &key)? {
        return Err(Failure::Damaged(format!("the approval {key:?} would get a second verdict")));
    }
    due::clear(tx, approval.expires_at, Due::Approval(key));
    tx.delete(&BY_STATUS, &(key.0, approval.status.code(), key.1));
    tx.put(&BY_STATUS, &(key.0, verdict.status.code(), key.1), &Mark)?;
    let reason = match verdict.reason.as_str() {
        "" => None,
        reason => Some(sealed(tx, workspace, &VERDICTS, key, reason.as_bytes())?),
    };
    let Verdict { status, at, by, how, source, .. } = verdict.clone();
    tx.put(&VERDICTS, &key, &VerdictRow { status, at, by, how, source, reason })?;
    approval.status = status;
    approval.decided_at = Some(at);
    tx.put(&APPROVALS, &key, &ApprovalRow::of(approval.clone()))?;
    Ok(approval)
}

/// Approvals of a workspace behind one, the newest first, `most` at the most; of one status, if one is named.
pub(crate) fn list(
    read: &impl Read,
    workspace: WorkspaceNo,
    status: Option<Status>,
    after: Option<ApprovalId>,
    most: usize,
) -> Result<Vec<ApprovalId>, Failure> {
    match status {
        Some(status) => {
            let scan = Scan::prefix(&(workspace, status.code())).newest_first().limit(most);
            let scan = after.iter().fold(scan, |scan, after| scan.after(&(workspace, status.code(), *after)));
            Ok(read.scan(&BY_STATUS, scan)?.into_iter().map(|((_, _, id), Mark)| id).collect())
        }
        None => {
            let scan = Scan::prefix(&(workspace,)).newest_first().limit(most);
            let scan = after.iter().fold(scan, |scan, after| scan.after(&(workspace, *after)));
            Ok(read.scan(&APPROVALS, scan)?.into_iter().map(|((_, id), _)| id).collect())
        }
    }
}

/// How many approvals of a workspace wait for somebody.
pub(crate) fn pending(read: &impl Read, workspace: WorkspaceNo) -> Result<u64, Failure> {
    let all = list(read, workspace, Some(Status::Pending), None, usize::MAX)?;
    Ok(u64::try_from(all.len()).unwrap_or(u64::MAX))
}

fn sealed<V: quintet_storage::Row>(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    table: &Table<ApprovalKey, V>,
    key: ApprovalKey,
    bytes: &[u8],
) -> Result<Sealed, Failure> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    seal::seal(tx, owner, table, &key, bytes).map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        // Who still has a key of an erased tenant is turned away before this.
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    })
}

fn opened<V: quintet_storage::Row>(
    read: &impl Read,
    workspace: &Workspace,
    table: &Table<ApprovalKey, V>,
    key: ApprovalKey,
    sealed: &Sealed,
) -> Result<Option<Vec<u8>>, Failure> {
    match seal::open(read, KeyOwner::Tenant(workspace.tenant_id), table, &key, sealed) {
        Ok(bytes) => Ok(Some(bytes.to_vec())),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}
