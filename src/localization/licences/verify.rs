//! Whether the rows of licences agree with each other, with what is read again, and with the translations that policy has
//! approved.

use std::collections::{BTreeMap, HashSet};

use quintet_storage::{Failure, Read, Uuid};

use super::states::LicenceState;
use super::tables::{LICENCE_CHANGES, LICENCE_COUNTS, LICENCE_EXPIRIES, LICENCE_HEADS, LICENCES, LicenceRow};
use crate::census::LICENSED;
use crate::content::TRANSLATIONS;
use crate::decisions::{Subject, SubjectKind, every_watch, subject_of, watch_of};
use crate::model::{ProjectId, TenantId};
use crate::rows;

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut active: BTreeMap<(TenantId, ProjectId), u32> = BTreeMap::new();
    let (mut known, mut holding): (HashSet<Uuid>, HashSet<Uuid>) = (HashSet::new(), HashSet::new());
    rows::each(read, &LICENCES, |(tenant_id, project_id, id), row| {
        known.insert(id);
        if row.state == LicenceState::Active {
            *active.entry((tenant_id, project_id)).or_default() += 1;
            holding.insert(id);
        }
        let faults = faults(read, tenant_id, project_id, id, &row)?;
        findings.extend(faults.into_iter().map(|fault| format!("licence {id}: {fault}")));
        Ok(())
    })?;
    rows::each(read, &LICENSED, |place, row| {
        if active.remove(&place) != Some(row.active) {
            findings.push(format!("project {}: its active licences are not so many as are counted", place.1.0));
        }
        Ok(())
    })?;
    for ((_, project_id), _) in active {
        findings.push(format!("project {}: nobody counts its active licences", project_id.0));
    }
    let expiring = rows::count(read, &LICENCE_EXPIRIES)?;
    if expiring != u64::try_from(holding.len()).unwrap_or(u64::MAX) {
        findings.push(format!("licences: {} are active, and the time of {expiring} runs", holding.len()));
    }
    rows::each(read, &LICENCE_CHANGES, |(_, id, file_id), row| {
        if !holding.contains(&id) || !row.numbers.is_sorted_by(|one, other| one < other) {
            findings.push(format!("licence {id}: what has changed in file {} is not what is kept", file_id.0));
        }
        Ok(())
    })?;
    rows::each(read, &LICENCE_COUNTS, |place, _| {
        if !read.contains(&LICENCE_CHANGES, &place)? {
            findings.push(format!("licence {}: what nobody has changed in file {} is counted", place.1, place.2.0));
        }
        Ok(())
    })?;
    for watch in every_watch(read)? {
        let Subject { tenant_id, kind, id } = watch.subject;
        if kind == SubjectKind::Licence && !read.contains(&LICENCES, &(tenant_id, watch.project_id, id))? {
            findings.push(format!("open decision about {id}: there is no such licence"));
        }
    }
    rows::each(read, &TRANSLATIONS, |(_, file_id, locale, number), row| {
        let label = row.approved.as_ref().and_then(|approval| approval.label.as_deref());
        let licence = label.and_then(|label| label.strip_prefix("policy:")?.strip_suffix("@1"));
        if licence.is_some_and(|licence| !licence.parse().is_ok_and(|id: Uuid| known.contains(&id))) {
            findings
                .push(format!("translation {number} of file {} into {locale}: no licence has approved it", file_id.0));
        }
        Ok(())
    })?;
    Ok(findings)
}

fn faults(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
    row: &LicenceRow,
) -> Result<Vec<&'static str>, Failure> {
    let mut faults = Vec::new();
    let subject = Subject { tenant_id, kind: SubjectKind::Licence, id };
    let head = read.get(&LICENCE_HEADS, &(tenant_id, project_id, row.locale.clone()))?.unwrap_or_default();
    let (own, is_active) = (Some(id.into_bytes()), row.state == LicenceState::Active);
    let waits = matches!(row.state, LicenceState::Submitting | LicenceState::Requested);
    if (head.active == own) != is_active || (head.requested == own) != waits {
        faults.push("its state and whether it is its locale's are two things");
    }
    if watch_of(read, &subject)?.is_some() != waits {
        faults.push("its state and whether it is read again are two things");
    }
    let expires_at = row.expires_at.filter(|_| is_active);
    let expires =
        expires_at.map(|at| read.contains(&LICENCE_EXPIRIES, &(at, tenant_id, project_id, id))).transpose()?;
    if is_active && expires != Some(true) {
        faults.push("it is active, and its time does not run");
    }
    if (row.state == LicenceState::Lapsed) != (row.lapsed_at.is_some() && row.lapse_reason.is_some()) {
        faults.push("its state and whether it lapsed are two things");
    }
    match &row.decision_id {
        Some(decision_id) if subject_of(read, decision_id)? != Some(subject) => {
            faults.push("its decision is not about it");
        }
        Some(_) if matches!(row.state, LicenceState::Submitting | LicenceState::SampleFailed) => {
            faults.push("it has a decision that nobody has raised");
        }
        None if !matches!(row.state, LicenceState::Submitting | LicenceState::SampleFailed) => {
            faults.push("it lacks its decision");
        }
        _ => {}
    }
    Ok(faults)
}
