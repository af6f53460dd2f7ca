//! Schedules of all tenants, for the operator. The list comes in pages; the command line asks for one after the other.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use quintet_platform::http::query::Query;
use quintet_platform::ids::{parse_ulid, parse_uuid, ulid};
use quintet_runs::operator::{ScheduleStanding, schedule_instant, schedules};
use quintet_storage::Uuid;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::task::{PAGE_ROWS, TaskError};
use super::tenants;
use crate::app::App;

/// A page of the schedules of a tenant, or of all; `tenant`, `from`.
pub const LIST: Call<(), SchedulesView> = Call::look("/schedules");

/// A page of schedules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SchedulesView {
    /// In the order of tenants, and then as they were made.
    pub items: Vec<ScheduleView>,
    /// Where the next page begins; absent at the end.
    pub next: Option<String>,
}

/// How a schedule stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleView {
    /// The tenant's id.
    pub tenant_id: String,
    /// The tenant's name.
    pub tenant_name: String,
    /// Its id.
    pub schedule_id: String,
    /// Its name.
    pub name: Option<String>,
    /// Its pattern.
    pub cron: String,
    /// Its time zone.
    pub timezone: String,
    /// Where it is told.
    pub url: String,
    /// What is made of missed instants: `fire_once` or `skip`.
    pub misfire: String,
    /// Whether it is not paused.
    pub enabled: bool,
    /// When it fires next; RFC 3339.
    pub next_fire_at: Option<String>,
    /// When it last fired; RFC 3339.
    pub last_fire_at: Option<String>,
    /// How often it has fired.
    pub fire_count: u64,
    /// How many instants nobody fired for in time.
    pub missed_count: u64,
}

pub(super) fn routes(app: App) -> Router {
    LIST.served_by(list).with_state(app)
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut query = Query::parse(raw.as_deref()).map_err(|error| TaskError::Unusable(error.to_string()))?;
    let read = app.store.read();
    let tenant = query.take("tenant").map(|wanted| tenants::resolve(&read, &wanted)).transpose()?;
    let from = query.take("from").map(|text| place(&text)).transpose()?;
    let tenant_id = tenant.as_ref().map(|tenant| tenant.tenant_id);
    let found = schedules(&read, tenant_id, from, PAGE_ROWS)?;
    let last = found.last().filter(|_| found.len() == PAGE_ROWS);
    let next = last.map(|last| format!("{}/{}", last.tenant_id, ulid(last.schedule_id)));
    let all = tenant.map_or_else(|| tenants::all(&read), |tenant| Ok(vec![tenant]))?;
    let names: BTreeMap<Uuid, String> = all.into_iter().map(|tenant| (tenant.tenant_id, tenant.name)).collect();
    LIST.answer(&SchedulesView { items: found.into_iter().map(|one| view(&names, one)).collect(), next })
}

/// Where a page begins.
fn place(text: &str) -> Result<(Uuid, Uuid), TaskError> {
    let ids = text.split_once('/').and_then(|(tenant, schedule)| Some((parse_uuid(tenant)?, parse_ulid(schedule)?)));
    ids.ok_or_else(|| TaskError::Unusable(format!("{text:?} is no place in a list")))
}

fn view(names: &BTreeMap<Uuid, String>, schedule: ScheduleStanding) -> ScheduleView {
    ScheduleView {
        tenant_id: schedule.tenant_id.to_string(),
        tenant_name: names.get(&schedule.tenant_id).cloned().unwrap_or_default(),
        schedule_id: ulid(schedule.schedule_id),
        name: schedule.name,
        cron: schedule.cron,
        timezone: schedule.timezone,
        url: schedule.url,
        misfire: schedule.misfire.to_owned(),
        enabled: schedule.is_enabled,
        next_fire_at: schedule.next_fire_at.map(schedule_instant),
        last_fire_at: schedule.last_fire_at.map(schedule_instant),
        fire_count: schedule.fire_count,
        missed_count: schedule.missed_count,
    }
}
