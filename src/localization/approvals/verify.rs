//! Whether the rows of requests agree with each other, with what is read again, with the desk, and with the translations
//! that decisions have approved.

use std::collections::{HashMap, HashSet};

use quintet_storage::{Failure, Read, Uuid};

use super::model::{ITEMS_MAX, Outcome};
use super::states::RequestStatus;
use super::tables::{APPROVAL_CONTEXTS, APPROVAL_ITEMS, APPROVAL_REQUESTS, ApprovalRequestRow, OPEN_APPROVALS};
use crate::content::{KeyId, TRANSLATIONS, TranslationRow, split_key_id};
use crate::decisions::{Status, Subject, SubjectKind, every_watch, subject_of, watch_of};
use crate::desk::get_decision;
use crate::model::TenantId;
use crate::rows;

/// Of so many decisions it is kept what they have approved.
const DECISIONS_MAX: usize = 1_000;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut open = 0;
    rows::each(read, &APPROVAL_REQUESTS, |(tenant_id, id), row| {
        open += u64::from(row.status.is_open());
        let faults = faults(read, tenant_id, id, &row)?;
        findings.extend(faults.into_iter().map(|fault| format!("approval request {id}: {fault}")));
        Ok(())
    })?;
    let known = rows::count(read, &OPEN_APPROVALS)?;
    if known != open {
        findings.push(format!("approval requests: {open} are open, and {known} hold a file and locale"));
    }
    for watch in every_watch(read)? {
        let Subject { tenant_id, kind, id } = watch.subject;
        let is_there = match kind {
            SubjectKind::ApprovalRequest => read.contains(&APPROVAL_REQUESTS, &(tenant_id, id))?,
            SubjectKind::Licence => true,
        };
        if !is_there {
            findings.push(format!("open decision about {id}: there is no such request"));
        }
    }
    let mut approved = Approved::default();
    rows::each(read, &TRANSLATIONS, |(tenant_id, file_id, locale, number), row| {
        if !approved.accounts_for(read, tenant_id, number, &row)? {
            findings
                .push(format!("translation {number} of file {} into {locale}: no decision has approved it", file_id.0));
        }
        Ok(())
    })?;
    Ok(findings)
}

fn faults(
    read: &impl Read,
    tenant_id: TenantId,
    id: Uuid,
    row: &ApprovalRequestRow,
) -> Result<Vec<&'static str>, Failure> {
    let mut faults = Vec::new();
    let place = (tenant_id, id);
    let subject = Subject { tenant_id, kind: SubjectKind::ApprovalRequest, id };
    let items = read.get(&APPROVAL_ITEMS, &place)?.map(|row| row.items).unwrap_or_default();
    let keys: HashSet<[u8; 16]> = items.iter().map(|item| item.key_id).collect();
    let is_counted = usize::try_from(row.item_count).is_ok_and(|count| count == items.len());
    if items.is_empty() || items.len() > ITEMS_MAX || keys.len() != items.len() || !is_counted {
        faults.push("its items are not those of a request");
    }
    let is_decided = !row.status.is_open() && row.status != RequestStatus::Failed;
    if items.iter().any(|item| item.outcome.is_some() != is_decided) {
        faults.push("its status and the outcomes of its items are two things");
    }
    let approves = items.iter().any(|item| item.outcome == Some(Outcome::Approved));
    if approves && row.status != RequestStatus::Approved {
        faults.push("it has approved what was not decided");
    }
    if !read.contains(&APPROVAL_CONTEXTS, &place)? {
        faults.push("its context is gone");
    }
    let open = read.get(&OPEN_APPROVALS, &(tenant_id, row.file_id, row.locale.clone()))?;
    if open.is_some_and(|open| open.request_id == id.into_bytes()) != row.status.is_open() {
        faults.push("its status and whether it holds its file and locale are two things");
    }
    if watch_of(read, &subject)?.is_some() != row.status.is_open() {
        faults.push("its status and whether it is read again are two things");
    }
    let has_decision = !matches!(row.status, RequestStatus::Submitting | RequestStatus::Failed);
    match &row.decision_id {
        Some(decision_id) if has_decision => {
            if subject_of(read, decision_id)? != Some(subject) {
                faults.push("its decision is not about it");
            }
            faults.extend(fault_on_the_desk(read, &subject, decision_id, row.status)?);
        }
        None if !has_decision => {}
        _ => faults.push("its status and whether it has a decision are two things"),
    }
    Ok(faults)
}

/// What is wrong with a decision that the desk has taken, if the desk has it.
fn fault_on_the_desk(
    read: &impl Read,
    subject: &Subject,
    decision_id: &str,
    status: RequestStatus,
) -> Result<Option<&'static str>, Failure> {
    let Ok(id) = decision_id.parse::<Uuid>() else { return Ok(None) };
    let Some(decision) = get_decision(read, id)? else { return Ok(None) };
    if decision.subject != *subject {
        return Ok(Some("the desk has its decision, about something else"));
    }
    // What was taken is told a little later.
    let is_told = status == RequestStatus::Pending || decision.status.name() == status.name();
    let is_late = status == RequestStatus::TimedOut && decision.status == Status::Pending;
    Ok((!is_told && !is_late).then_some("the desk has decided otherwise"))
}

/// What decisions have approved: numbers of keys and revisions, by decision. Translations of one come one after another.
#[derive(Default)]
struct Approved(HashMap<String, HashSet<(u64, u64)>>);

impl Approved {
    /// Whether a translation that a decision has approved is an item of the request that the decision was about.
    fn accounts_for(
        &mut self,
        read: &impl Read,
        tenant_id: TenantId,
        number: u64,
        row: &TranslationRow,
    ) -> Result<bool, Failure> {
        let Some(approval) = &row.approved else { return Ok(true) };
        if !approval.label.as_deref().is_some_and(|label| label.starts_with("decision:")) {
            return Ok(true);
        }
        let decision_id = approval.reference.as_deref().unwrap_or_default();
        if !self.0.contains_key(decision_id) {
            if self.0.len() >= DECISIONS_MAX {
                self.0.clear();
            }
            self.0.insert(decision_id.to_owned(), approved_by(read, tenant_id, decision_id)?);
        }
        Ok(self.0.get(decision_id).is_some_and(|known| known.contains(&(number, row.revision))))
    }
}

/// What a decision has approved.
fn approved_by(read: &impl Read, tenant_id: TenantId, decision_id: &str) -> Result<HashSet<(u64, u64)>, Failure> {
    let Some(subject) = subject_of(read, decision_id)? else { return Ok(HashSet::new()) };
    let items = read.get(&APPROVAL_ITEMS, &(tenant_id, subject.id))?.map(|row| row.items).unwrap_or_default();
    let approved = items.into_iter().filter(|item| item.outcome == Some(Outcome::Approved));
    let numbers = approved.filter_map(|item| {
        let (_, number) = split_key_id(KeyId(Uuid::from_bytes(item.key_id)))?;
        Some((number, item.revision))
    });
    Ok(numbers.collect())
}
