//! Settling a licence by its decision (localization, P2).

use quintet_storage::{Abort, Read, Timestamp, Uuid, WriteTx};

use super::lapse::{active_licence, get_licence, lapse};
use super::model::expiry;
use super::prose;
use super::request::told;
use super::states::{Happening, LapseReason, LicenceState};
use super::tables::{LICENCE_EXPIRIES, LICENCE_HEADS, LICENCES, LicenceMarkRow};
use crate::audit::{self, Actor};
use crate::census::{self, Mark, mark};
use crate::decisions::{Reading, Settled, unwatch};
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::spaces::get_project;

/// Settles a licence.
#[derive(Clone, Debug)]
pub struct Settle {
    tenant_id: TenantId,
    project_id: ProjectId,
    id: Uuid,
    reading: Reading,
    prose_keys: u64,
    seen: Mark,
}

impl Settle {
    /// What a decision makes of a licence, with the prose keys there are now.
    ///
    /// # Errors
    /// Only the store's.
    pub fn new(
        read: &impl Read,
        tenant_id: TenantId,
        project_id: ProjectId,
        id: Uuid,
        reading: Reading,
    ) -> Result<Settle, Abort<Refusal>> {
        let seen = mark(read, tenant_id, project_id)?;
        let project = get_project(read, tenant_id, project_id)?;
        let prose_keys = prose::count(read, tenant_id, &project)?;
        Ok(Settle { tenant_id, project_id, id, reading, prose_keys, seen })
    }
}

/// Settles a licence: one that becomes active takes the place of the one there was.
///
/// # Errors
/// Only the store's.
pub fn settle(tx: &mut WriteTx<'_>, now: Timestamp, command: Settle) -> Result<Settled, Abort<Refusal>> {
    let Settle { tenant_id, project_id, id, reading, prose_keys, seen } = command;
    let Some(mut licence) = get_licence(tx, tenant_id, project_id, id)? else { return Ok(Settled::Before) };
    if licence.row.state != LicenceState::Requested {
        return Ok(Settled::Before);
    }
    let Some(state) = licence.row.state.after(Happening::Read(reading.status)) else { return Ok(Settled::NotYet) };
    if mark(tx, tenant_id, project_id)? != seen {
        return Ok(Settled::Again);
    }
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
    row.decided_at = Some(reading.decided_at.unwrap_or(now).clamp(row.created_at, now.max(row.created_at)));
    let place = (tenant_id, project_id, row.locale.clone());
    let mut head = tx.get(&LICENCE_HEADS, &place)?.unwrap_or_default();
    head.requested = None;
    if state == LicenceState::Active {
        row.prose_keys = prose_keys;
        row.prose_changed = 0;
        let expires_at = row.decided_at.map_or(now, expiry);
        row.expires_at = Some(expires_at);
        row.decided_seq = Some(audit::record(tx, now, &actor, told("licence.activated", project_id, id, row))?);
        head.active = Some(id.into_bytes());
        tx.put(&LICENCE_EXPIRIES, &(expires_at, tenant_id, project_id, id), &LicenceMarkRow)?;
        tx.falls_due(LICENCE_EXPIRIES.spec().tag, expires_at);
        census::count_active(tx, tenant_id, project_id, 1)?;
    } else {
        audit::record(tx, now, &actor, told("licence.refused", project_id, id, row))?;
    }
    tx.put(&LICENCE_HEADS, &place, &head)?;
    tx.put(&LICENCES, &(tenant_id, project_id, id), row)?;
    unwatch(tx, &licence.subject)?;
    Ok(Settled::Now)
}
