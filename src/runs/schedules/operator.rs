//! The schedules of all tenants, for the operator.

use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid};

use super::model::Schedule;
use super::tables::SCHEDULES;
use crate::model::{ScheduleId, TenantId};

/// How a schedule stands, without what its tenant alone may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleStanding {
    /// Whose.
    pub tenant_id: Uuid,
    /// Callers know it in the form of a ULID.
    pub schedule_id: Uuid,
    /// Its name.
    pub name: Option<String>,
    /// Its pattern.
    pub cron: String,
    /// Its time zone.
    pub timezone: String,
    /// Where it is told.
    pub url: String,
    /// What is made of missed instants: `fire_once` or `skip`.
    pub misfire: &'static str,
    /// Whether it is not paused.
    pub is_enabled: bool,
    /// When it fires next.
    pub next_fire_at: Option<Timestamp>,
    /// When it last fired.
    pub last_fire_at: Option<Timestamp>,
    /// How often it has fired.
    pub fire_count: u64,
    /// How many instants nobody fired for in time.
    pub missed_count: u64,
}

/// The schedules of a tenant, or of all: the first `most` behind one (its tenant and its id), in the order of tenants and
/// then as they were made.
///
/// # Errors
/// The store cannot be read.
pub fn schedules(
    read: &impl Read,
    tenant_id: Option<Uuid>,
    after: Option<(Uuid, Uuid)>,
    most: usize,
) -> Result<Vec<ScheduleStanding>, Failure> {
    let scan = tenant_id.map_or_else(Scan::all, |tenant_id| Scan::prefix(&(TenantId(tenant_id),)));
    let after = after.map(|(tenant_id, schedule_id)| (TenantId(tenant_id), ScheduleId(schedule_id)));
    let scan = after.iter().fold(scan, Scan::after).limit(most);
    let rows = read.scan(&SCHEDULES, scan)?;
    Ok(rows.into_iter().map(|(key, row)| standing(key, row.into())).collect())
}

fn standing((tenant_id, schedule_id): (TenantId, ScheduleId), schedule: Schedule) -> ScheduleStanding {
    ScheduleStanding {
        tenant_id: tenant_id.0,
        schedule_id: schedule_id.0,
        name: schedule.name,
        cron: schedule.timing.cron,
        timezone: schedule.timing.timezone,
        url: schedule.address.url,
        misfire: schedule.misfire.name(),
        is_enabled: schedule.is_enabled,
        next_fire_at: schedule.next_fire_at,
        last_fire_at: schedule.last_fire_at,
        fire_count: schedule.fire_count,
        missed_count: schedule.missed_count,
    }
}
