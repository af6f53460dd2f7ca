//! Settling a request by its decision (localization, R3): one transaction for the request, its items, their translations
//! and events, and the memory.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::model::{Item, Outcome, target_sha256};
use super::request::{ApprovalRequest, get_request};
use super::states::{Happening, RequestStatus};
use super::tables::{APPROVAL_ITEMS, APPROVAL_REQUESTS, ApprovalItemsRow, OPEN_APPROVALS};
use super::tell::tell_settled;
use crate::audit::{self, Actor, Event};
use crate::content::rejudge::{Stamp, stamp};
use crate::content::{
    Approval, Key, KeyId, ReviewState, State, TranslationRow, get_key, get_row, state_of, translation_locale,
};
use crate::decisions::{Reading, Settled, unwatch};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::review::{Cause, StateChange, change_state};
use crate::shelf::Shelf;
use crate::spaces::get_project;
use crate::webhooks::{Changes, Occasion};

/// Settles a request.
#[derive(Clone, Debug)]
pub struct Settle {
    request: ApprovalRequest,
    reading: Reading,
    items: Vec<Item>,
    /// The translation of each item, as far as there is one.
    found: Vec<Option<(Key, TranslationRow)>>,
    source_locale: Locale,
    locale: Locale,
    stamp: Stamp,
}

/// The translation of an item.
fn find(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    item: &Item,
    locale: &Locale,
) -> Result<Option<(Key, TranslationRow)>, Abort<Refusal>> {
    let key = match get_key(read, shelf, tenant_id, KeyId(Uuid::from_bytes(item.key_id))) {
        Ok(key) => key,
        Err(Abort::Refused(_)) => return Ok(None),
        Err(failed) => return Err(failed),
    };
    Ok(get_row(read, tenant_id, &key, locale)?.map(|row| (key, row)))
}

impl Settle {
    /// What a decision makes of a request, with the translations as they are now.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] for a request that is none; the store's.
    pub fn new(
        read: &impl Read,
        shelf: &Shelf,
        tenant_id: TenantId,
        request_id: Uuid,
        reading: Reading,
    ) -> Result<Settle, Abort<Refusal>> {
        let request = get_request(read, tenant_id, request_id)?;
        let stamp = stamp(read, tenant_id, request.project_id)?;
        let project = get_project(read, tenant_id, request.project_id)?;
        let tag = &project.source.locale.tag;
        let source_locale = Locale::parse(tag).map_err(|_| Failure::Damaged(format!("a source locale is {tag:?}")))?;
        let locale = translation_locale(&request.row.locale)?;
        let items = read.get(&APPROVAL_ITEMS, &(tenant_id, request_id))?.map(|row| row.items).unwrap_or_default();
        let found = items.iter().map(|item| find(read, shelf, tenant_id, item, &locale));
        let found = found.collect::<Result<_, _>>()?;
        Ok(Settle { request, reading, items, found, source_locale, locale, stamp })
    }
}

/// What becomes of an item and its translation.
fn judge(item: &Item, found: Option<&(Key, TranslationRow)>, to: RequestStatus) -> (Outcome, Option<ReviewState>) {
    use RequestStatus::{Approved, ChangesRequested, Rejected};
    use ReviewState::{Draft, Reviewed};
    if !matches!(to, Approved | Rejected | ChangesRequested) {
        return (Outcome::Unchanged, None);
    }
    let Some((key, row)) = found else { return (Outcome::SkippedChanged, None) };
    let is_same = row.revision == item.revision && target_sha256(&row.content) == item.target_sha256;
    let state = state_of(&key.entry, Some(row));
    if !is_same || key.entry.is_obsolete {
        return (Outcome::SkippedChanged, None);
    }
    match (state, to) {
        (State::Stored(Draft | Reviewed), Approved) => (Outcome::Approved, Some(ReviewState::Approved)),
        (State::Stored(Reviewed), _) => (Outcome::Returned, Some(Draft)),
        (State::Stored(Draft), _) => (Outcome::Returned, None),
        (State::Stored(ReviewState::Approved), _) => (Outcome::Unchanged, None),
        _ => (Outcome::SkippedChanged, None),
    }
}

/// Settles a request.
///
/// # Errors
/// Only the store's.
pub fn settle(tx: &mut WriteTx<'_>, now: Timestamp, command: Settle) -> Result<Settled, Abort<Refusal>> {
    let Settle { request, reading, mut items, found, source_locale, locale, stamp: seen } = command;
    let (tenant_id, request_id) = (request.subject.tenant_id, request.subject.id);
    let mut request = get_request(tx, tenant_id, request_id)?;
    if request.status() != RequestStatus::Pending {
        return Ok(Settled::Before);
    }
    let Some(to) = request.status().after(Happening::Read(reading.status)) else { return Ok(Settled::NotYet) };
    if stamp(tx, tenant_id, request.project_id)? != seen {
        return Ok(Settled::Again);
    }
    for (key, row) in found.iter().flatten() {
        if get_row(tx, tenant_id, key, &locale)?.as_ref() != Some(row) {
            return Ok(Settled::Again);
        }
    }
    let actor = Actor::operator(tenant_id);
    let approval = Approval {
        at: now,
        by: request.row.created_by,
        label: Some(format!("decision:{}", reading.decided_by.as_deref().unwrap_or_default())),
        reference: request.row.decision_id.clone(),
    };
    let mut changes = Changes::begin(tx, tenant_id, Occasion::Decision)?;
    for (item, found) in items.iter_mut().zip(&found) {
        let (outcome, state) = judge(item, found.as_ref(), to);
        item.outcome = Some(outcome);
        if let (Some(to), Some((key, row))) = (state, found) {
            let (before, cause, approval) = (row.clone(), Cause::Decision, approval.clone());
            let change =
                StateChange { key, source_locale: &source_locale, locale: &locale, before, to, cause, approval };
            change_state(tx, now, &actor, change, &mut changes)?;
        }
    }
    unwatch(tx, &request.subject)?;
    let row = &mut request.row;
    row.status = to;
    row.decided_by = reading.decided_by;
    row.reason = reading.reason;
    row.decided_at = reading.decided_at.or(Some(now));
    tx.put(&APPROVAL_REQUESTS, &(tenant_id, request_id), row)?;
    tx.delete(&OPEN_APPROVALS, &(tenant_id, row.file_id, row.locale.clone()));
    audit::record(tx, now, &actor, told(&request, &items))?;
    changes.tell(tx, now, &actor)?;
    tell_settled(tx, now, &actor, &request, &items)?;
    tx.put(&APPROVAL_ITEMS, &(tenant_id, request_id), &ApprovalItemsRow { items })?;
    Ok(Settled::Now)
}

/// What the audit chain is told.
fn told(request: &ApprovalRequest, items: &[Item]) -> Event {
    let count = |outcome: Outcome| Json::from(items.iter().filter(|item| item.outcome == Some(outcome)).count());
    let row = &request.row;
    Event::about("approval_request.settled", "approval_request", request.subject.id).with([
        ("project_id", Json::from(row.project_id.0.to_string())),
        ("file_id", Json::from(row.file_id.0.to_string())),
        ("locale", Json::from(row.locale.as_str())),
        ("status", Json::from(row.status.name())),
        ("decision_id", Json::from(row.decision_id.as_deref())),
        ("approved", count(Outcome::Approved)),
        ("returned", count(Outcome::Returned)),
        ("skipped_changed", count(Outcome::SkippedChanged)),
        ("unchanged", count(Outcome::Unchanged)),
    ])
}
