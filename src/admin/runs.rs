//! Runs, for the operator: what keys allow of them, what their tenants may, and the workers.

use quintet_platform::access::{Service, Tenant};
use quintet_runs::operator::{self, KeyStanding, KeyTerms, QuotaChange};
use quintet_storage::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::task::TaskError;
use crate::app::App;

/// What a key is to allow of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTermsWish {
    /// What its terms are called; with the seconds.
    #[serde(default)]
    pub tier: Option<String>,
    /// How many seconds its runs may run in all; not metered if absent.
    #[serde(default)]
    pub metered_seconds: Option<u64>,
    /// The images that its runs may have; any if empty.
    #[serde(default)]
    pub allowed_images: Vec<String>,
    /// How long its ended runs are kept at most.
    #[serde(default)]
    pub retention_days: Option<u64>,
}

/// What a key allows of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTermsView {
    /// What its terms are called.
    pub tier: Option<String>,
    /// How many seconds its runs may run in all; null: not metered.
    pub metered_seconds: Option<u64>,
    /// How many of them are left.
    pub remaining_seconds: Option<u64>,
    /// The images that its runs may have; null: any.
    pub allowed_images: Option<Vec<String>>,
    /// How long its ended runs are kept at most; null: as long as the tenant's.
    pub retention_days: Option<u64>,
}

/// The workers of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkersView {
    /// Containers that hold a slot.
    pub busy: u64,
    /// Slots.
    pub total: u32,
    /// The runner: `up`, `down` (it does not answer) or `off` (there is to be none).
    pub runner: String,
    /// The runner's disk: `ample`, or `short` (runs wait for room on it).
    #[serde(default)]
    pub disk: String,
}

/// What a key is to allow of runs, if anything was said.
pub(super) fn terms(tenant: &Tenant, wish: Option<RunTermsWish>) -> Result<Option<KeyTerms>, TaskError> {
    let Some(wish) = wish else { return Ok(None) };
    let terms = KeyTerms {
        tier: wish.tier,
        metered_seconds: wish.metered_seconds,
        allowed_images: Some(wish.allowed_images).filter(|images| !images.is_empty()),
        retention_days: wish.retention_days,
    };
    if terms == KeyTerms::default() {
        return Ok(None);
    }
    if !tenant.services.contains(Service::Runs) {
        return Err(TaskError::Unusable("terms are of runs, which the tenant is not provisioned for".into()));
    }
    operator::check_terms(&terms).map_err(TaskError::Unusable)?;
    Ok(Some(terms))
}

pub(super) fn terms_view(standing: KeyStanding) -> RunTermsView {
    RunTermsView {
        tier: standing.terms.tier,
        metered_seconds: standing.terms.metered_seconds,
        remaining_seconds: standing.remaining_seconds,
        allowed_images: standing.terms.allowed_images,
        retention_days: standing.terms.retention_days,
    }
}

/// A change of the quotas of runs, held against the ceilings.
pub(super) fn quota_change(
    app: &App,
    tenant: &Tenant,
    service: Service,
    quotas: &Value,
) -> Result<QuotaChange, TaskError> {
    if service != Service::Runs {
        return Err(TaskError::Unusable(format!("these are quotas of runs; {service} has none but those of calls")));
    }
    if !tenant.services.contains(Service::Runs) {
        return Err(TaskError::Conflict("the tenant is not provisioned for runs".into()));
    }
    QuotaChange::read(&app.runs, quotas).map_err(TaskError::Unusable)
}

pub(super) fn workers(app: &App) -> Result<WorkersView, Failure> {
    let (busy, total) = app.runs.workers()?;
    let runner = match (app.runs.has_runner(), app.runs.is_engine_up()) {
        (false, _) => "off",
        (true, true) => "up",
        (true, false) => "down",
    };
    let disk = if app.runs.is_disk_short() { "short" } else { "ample" };
    Ok(WorkersView { busy, total, runner: runner.into(), disk: disk.into() })
}
