//! What ends a licence.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_platform::json::Json;
use quintet_storage::{Failure, Read, Scan, Snapshot, Timestamp, Uuid, WriteTx};

use super::model::{Licence, has_changed_too_much};
use super::states::{Happening, LapseReason, LicenceState};
use super::tables::{LICENCE_CHANGES, LICENCE_COUNTS, LICENCE_EXPIRIES, LICENCE_HEADS, LICENCES, LicenceRow};
use crate::audit::{self, Actor, Event};
use crate::census;
use crate::decisions::{Subject, SubjectKind};
use crate::model::{ProjectId, TenantId};

/// How many licences lapse in one transaction.
const SLICE_ROWS: usize = 100;

/// One licence.
///
/// # Errors
/// Only the store's.
pub fn get_licence(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
) -> Result<Option<Licence>, Failure> {
    let subject = Subject { tenant_id, kind: SubjectKind::Licence, id };
    Ok(read.get(&LICENCES, &(tenant_id, project_id, id))?.map(|row| Licence { subject, project_id, row }))
}

/// The licence of a locale that is active.
///
/// # Errors
/// Only the store's.
pub fn active_licence(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    locale: &str,
) -> Result<Option<Licence>, Failure> {
    let head = read.get(&LICENCE_HEADS, &(tenant_id, project_id, locale.to_owned()))?.unwrap_or_default();
    let Some(id) = head.active.map(Uuid::from_bytes) else { return Ok(None) };
    get_licence(read, tenant_id, project_id, id)
}

/// Why an active licence should hold no more, as far as its row tells.
#[must_use]
pub fn due_lapse(row: &LicenceRow, now: Timestamp) -> Option<LapseReason> {
    if row.state != LicenceState::Active {
        return None;
    }
    if row.expires_at.is_some_and(|at| at <= now) {
        return Some(LapseReason::Expired);
    }
    has_changed_too_much(row.prose_changed, row.prose_keys).then_some(LapseReason::Changed)
}

/// Ends a licence that is active; any other stays as it is.
///
/// # Errors
/// Only the store's.
pub fn lapse(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    licence: Licence,
    reason: LapseReason,
) -> Result<(), Failure> {
    let Licence { subject, project_id, mut row } = licence;
    let Some(state) = row.state.after(Happening::Lapse(reason)) else { return Ok(()) };
    let Subject { tenant_id, id, .. } = subject;
    row.state = state;
    row.lapsed_at = Some(now);
    row.lapse_reason = Some(reason);
    tx.put(&LICENCES, &(tenant_id, project_id, id), &row)?;
    let place = (tenant_id, project_id, row.locale.clone());
    let mut head = tx.get(&LICENCE_HEADS, &place)?.unwrap_or_default();
    head.active = None;
    tx.put(&LICENCE_HEADS, &place, &head)?;
    if let Some(expires_at) = row.expires_at {
        tx.delete(&LICENCE_EXPIRIES, &(expires_at, tenant_id, project_id, id));
    }
    for ((_, _, file_id), _) in tx.scan(&LICENCE_CHANGES, Scan::prefix(&(tenant_id, id)))? {
        tx.delete(&LICENCE_CHANGES, &(tenant_id, id, file_id));
        tx.delete(&LICENCE_COUNTS, &(tenant_id, id, file_id));
    }
    census::count_active(tx, tenant_id, project_id, -1)?;
    let event = Event::about("licence.lapsed", "licence", id).with([
        ("project_id", Json::from(project_id.0.to_string())),
        ("locale", Json::from(row.locale)),
        ("reason", Json::from(reason.name())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(())
}

/// Ends licences whose time is over.
pub struct ExpiredLicences;

impl Agenda for ExpiredLicences {
    type Place = Timestamp;

    const NAME: &'static str = "localization.licence_expiry";
    const TAG: u16 = LICENCE_EXPIRIES.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Timestamp = Timestamp::EPOCH;

    fn next(&self, read: &Snapshot, from: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let scan = Scan::all().from(&first_at(from)).limit(1);
        Ok(read.scan(&LICENCE_EXPIRIES, scan)?.first().map(|((at, ..), _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Timestamp) -> Result<Swept<Timestamp>, Failure> {
        let rows = tx.scan(&LICENCE_EXPIRIES, Scan::all().from(&first_at(from)).limit(SLICE_ROWS))?;
        let mut progress = if rows.len() == SLICE_ROWS { Progress::More } else { Progress::Rest };
        let mut to = from;
        for ((at, tenant_id, project_id, id), _) in rows {
            if at > now {
                progress = Progress::Rest;
                break;
            }
            to = at;
            let licence = get_licence(tx, tenant_id, project_id, id)?;
            let licence = licence.ok_or_else(|| Failure::Damaged(format!("licence {id} is gone")))?;
            lapse(tx, now, &Actor::operator(tenant_id), licence, LapseReason::Expired)?;
        }
        Ok(Swept { to: Some(to), progress })
    }
}

/// The first place there can be at an instant.
fn first_at(at: Timestamp) -> (Timestamp, TenantId, ProjectId, Uuid) {
    (at, TenantId(Uuid::nil()), ProjectId(Uuid::nil()), Uuid::nil())
}
