//! Settling a licence by its decision (localization, P2).

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::lapse::{active_licence, get_licence, lapse};
use super::model::{Licence, expiry};
use super::request::told;
use super::states::{Happening, LapseReason, LicenceState};
use super::tables::{LICENCE_EXPIRIES, LICENCE_HEADS, LICENCES, LicenceMarkRow};
use crate::audit::{self, Actor};
use crate::census::{self, Change};
use crate::decisions::{Reading, Settled, unwatch};
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// How many later licences are looked at for a sample that has failed.
const LATER_MAX: usize = 1_000;

/// Settles a licence.
#[derive(Clone, Debug)]
pub struct Settle {
    /// Whose.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// Which.
    pub id: Uuid,
    /// Its decision.
    pub reading: Reading,
}

/// Settles a licence: one that becomes active takes the place of the one there was. It counts from its decision on, which may
/// have been taken a while ago: what has changed since, and how much prose there is, is counted at once, outside of this
/// transaction.
///
/// # Errors
/// Only the store's.
pub fn settle(tx: &mut WriteTx<'_>, now: Timestamp, command: Settle) -> Result<Settled, Abort<Refusal>> {
    let Settle { tenant_id, project_id, id, reading } = command;
    let Some(mut licence) = get_licence(tx, tenant_id, project_id, id)? else { return Ok(Settled::Before) };
    if licence.row.state != LicenceState::Requested {
        return Ok(Settled::Before);
    }
    let Some(state) = licence.row.state.after(Happening::Read(reading.status)) else { return Ok(Settled::NotYet) };
    let actor = Actor::operator(tenant_id);
    if state == LicenceState::Active
        && let Some(before) = active_licence(tx, tenant_id, project_id, &licence.row.locale)?
    {
        lapse(tx, now, &actor, before, LapseReason::Replaced)?;
    }
    let row = &mut licence.row;
    row.state = state;
    row.decided_by = reading.decided_by;
    // Another system's clock neither makes a licence hold longer nor end before it was asked for.
    let decided_at = reading.decided_at.unwrap_or(now).clamp(row.created_at, now.max(row.created_at));
    row.decided_at = Some(decided_at);
    let place = (tenant_id, project_id, row.locale.clone());
    let mut head = tx.get(&LICENCE_HEADS, &place)?.unwrap_or_default();
    head.requested = None;
    if state == LicenceState::Active {
        row.prose_changed = 0;
        let expires_at = expiry(decided_at);
        row.expires_at = Some(expires_at);
        let decided_seq = audit::seq_at(tx, tenant_id, decided_at)?;
        let is_late = decided_seq < audit::head_seq(tx, tenant_id)?;
        row.decided_seq = Some(decided_seq);
        audit::record(tx, now, &actor, told("licence.activated", project_id, id, row))?;
        head.active = Some(id.into_bytes());
        tx.put(&LICENCE_EXPIRIES, &(expires_at, tenant_id, project_id, id), &LicenceMarkRow)?;
        tx.falls_due(LICENCE_EXPIRIES.spec().tag, expires_at);
        census::count_active(tx, tenant_id, project_id, 1)?;
        let licence_id = id.into_bytes();
        let change = if is_late { Change::ActivatedLate { licence_id } } else { Change::Activated { licence_id } };
        census::note(tx, now, tenant_id, project_id, change)?;
    } else {
        audit::record(tx, now, &actor, told("licence.refused", project_id, id, row))?;
    }
    tx.put(&LICENCE_HEADS, &place, &head)?;
    tx.put(&LICENCES, &(tenant_id, project_id, id), row)?;
    unwatch(tx, &licence.subject)?;
    if state == LicenceState::Active && has_failed_since(tx, &licence, decided_at)? {
        lapse(tx, now, &actor, licence, LapseReason::SampleFailed)?;
    }
    Ok(Settled::Now)
}

/// Whether a sample of a licence's locale has failed since its decision.
fn has_failed_since(read: &impl Read, licence: &Licence, decided_at: Timestamp) -> Result<bool, Failure> {
    let place = (licence.subject.tenant_id, licence.project_id);
    let later = read.scan(&LICENCES, Scan::prefix(&place).newest_first().limit(LATER_MAX))?;
    Ok(later.into_iter().any(|(_, row)| {
        row.state == LicenceState::SampleFailed && row.locale == licence.row.locale && row.created_at > decided_at
    }))
}
