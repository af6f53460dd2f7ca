//! Drafts of an agent: reading and keeping.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::model::{DRAFTS_MAX, Draft, DraftId, DraftKey};
use super::tables::{COUNTS, CountRow, DRAFTS, DraftRow, TEXTS, TextRow};
use crate::identity::Workspace;
use crate::model::AgentKey;
use crate::refusal::Refusal;

/// A list has about so many bytes at most.
const LISTED_BYTES_MAX: usize = 2 << 20;
/// What a draft is counted as in it, besides what it says.
const RECORD_BYTES: usize = 256;

/// Whose it is not, and what is not there, are the same.
///
/// # Errors
/// There is no such draft of the agent.
pub(super) fn find(read: &impl Read, key: DraftKey) -> Result<Draft, Abort<Refusal>> {
    let row = read.get(&DRAFTS, &key)?;
    Ok(row.map(DraftRow::into_draft).ok_or_else(|| Refusal::NotFound("draft with this id".to_owned()))?)
}

/// What a draft says. Of an erased tenant's nothing can be read any more.
pub(super) fn text(read: &impl Read, workspace: &Workspace, key: DraftKey) -> Result<String, Failure> {
    let Some(TextRow(sealed)) = read.get(&TEXTS, &key)? else { return Ok(String::new()) };
    match seal::open(read, KeyOwner::Tenant(workspace.tenant_id), &TEXTS, &key, &sealed) {
        Ok(bytes) => String::from_utf8(bytes.to_vec()).map_err(|_| Failure::Damaged("a draft is no text".to_owned())),
        Err(Abort::Refused(Erased)) => Ok(String::new()),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// Drafts of an agent behind one, the oldest first, and whether there are more: as many as [`LISTED_BYTES_MAX`] have room
/// for, one at least. They are read one by one, for how long one is shows when it is read.
pub(super) fn list(
    read: &impl Read,
    agent: AgentKey,
    mut after: Option<DraftId>,
) -> Result<(Vec<(DraftId, Draft)>, bool), Failure> {
    let (mut drafts, mut bytes) = (Vec::new(), 0);
    loop {
        let scan = Scan::prefix(&(agent.0, agent.1)).limit(1);
        let scan = after.iter().fold(scan, |scan, after| scan.after(&(agent.0, agent.1, *after)));
        let Some(((_, _, id), row)) = read.scan(&DRAFTS, scan)?.pop() else { return Ok((drafts, false)) };
        let draft = row.into_draft();
        // Recipients are told twice.
        bytes += RECORD_BYTES + 2 * draft.recipients_bytes() + draft.subject.len();
        if bytes > LISTED_BYTES_MAX && !drafts.is_empty() {
            return Ok((drafts, true));
        }
        after = Some(id);
        drafts.push((id, draft));
    }
}

/// How many drafts an agent has; `None`: no row says so yet, for they are all of an earlier version. They stay as many
/// until there is one, for whoever makes or removes a draft puts it.
pub(super) fn counted(read: &impl Read, agent: AgentKey) -> Result<Option<u32>, Failure> {
    if let Some(CountRow(count)) = read.get(&COUNTS, &agent)? {
        return Ok(Some(count));
    }
    let is_any = !read.scan(&DRAFTS, Scan::prefix(&(agent.0, agent.1)).limit(1))?.is_empty();
    Ok(if is_any { None } else { Some(0) })
}

/// The same where no row says so: they are read one by one, each of which may be long, and so before the transaction.
pub(super) fn count(read: &impl Read, agent: AgentKey) -> Result<u32, Failure> {
    let (mut count, mut after) = (0, None);
    loop {
        let scan = Scan::prefix(&(agent.0, agent.1)).limit(1);
        let scan = after.iter().fold(scan, |scan, after| scan.after(&(agent.0, agent.1, *after)));
        let Some(((_, _, id), _)) = read.scan(&DRAFTS, scan)?.pop() else { return Ok(count) };
        (count, after) = (count + 1, Some(id));
    }
}

/// Has a row say so from now on.
pub(super) fn adopt(tx: &mut WriteTx<'_>, agent: AgentKey, count: u32) -> Result<(), Failure> {
    if counted(tx, agent)?.is_some() { Ok(()) } else { tx.put(&COUNTS, &agent, &CountRow(count)) }
}

/// Whether an agent that has so many may have one more.
///
/// # Errors
/// It may not.
pub(super) fn check_room(held: u32) -> Result<(), Refusal> {
    if held < DRAFTS_MAX { Ok(()) } else { Err(Refusal::LimitReached("drafts", DRAFTS_MAX.into())) }
}

/// Keeps a new draft. `held`: how many the agent had before the transaction, which counts where no row says so.
///
/// # Errors
/// It has as many as it may.
pub(super) fn put_new(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    key: DraftKey,
    draft: &Draft,
    (text, held): (&str, u32),
) -> Result<(), Abort<Refusal>> {
    let agent = (key.0, key.1);
    let held = counted(tx, agent)?.unwrap_or(held);
    check_room(held)?;
    tx.put(&COUNTS, &agent, &CountRow(held + 1))?;
    Ok(put(tx, workspace, key, draft, Some(text))?)
}

/// Keeps a draft; its text where it has changed.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    key: DraftKey,
    draft: &Draft,
    text: Option<&str>,
) -> Result<(), Failure> {
    if let Some(text) = text {
        let owner = KeyOwner::Tenant(workspace.tenant_id);
        let sealed = seal::seal(tx, owner, &TEXTS, &key, text.as_bytes()).map_err(|abort| match abort {
            Abort::Failed(failure) => failure,
            Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
        })?;
        tx.put(&TEXTS, &key, &TextRow(sealed))?;
    }
    tx.put(&DRAFTS, &key, &DraftRow::of(draft))
}

/// Deletes a draft, if it is there. `held`: as [`put_new`].
pub(super) fn remove(tx: &mut WriteTx<'_>, key: DraftKey, held: u32) -> Result<(), Failure> {
    if !tx.contains(&DRAFTS, &key)? {
        return Ok(());
    }
    let agent = (key.0, key.1);
    let held = counted(tx, agent)?.unwrap_or(held);
    tx.put(&COUNTS, &agent, &CountRow(held.saturating_sub(1)))?;
    tx.delete(&DRAFTS, &key);
    tx.delete(&TEXTS, &key);
    Ok(())
}
