//! The operator's side of runs: quotas of tenants, what keys allow, the schedules of all, [`webhooks`] and
//! [`workflows`].

use quintet_platform::json::{Limits, parse};
use quintet_platform::service::{Fault, Problem};
use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};
use serde_json::{Map, Value, json};

use crate::alarms::wire::millis;
use crate::allowances::model::{QUOTA_KINDS, QuotaKind, SetQuotas};
use crate::allowances::{Ceilings, meters, quotas, terms};
use crate::containers::hours;
use crate::context::Context;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::tenant::form::read_quotas;
use crate::tenant::wire::write_quotas;

pub use crate::allowances::KeyTerms;
pub use crate::schedules::operator::{ScheduleStanding, schedules};
pub use crate::webhooks::operator::webhooks;
pub use crate::workflows::operator as workflows;

/// What a key allows, and how much of it is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStanding {
    /// What the operator said when it was issued.
    pub terms: KeyTerms,
    /// How many of its seconds are left; none: it is not metered.
    pub remaining_seconds: Option<u64>,
}

/// An instant of a schedule, as its tenant sees it: with milliseconds.
#[must_use]
pub fn schedule_instant(at: Timestamp) -> String {
    millis(at).as_str().unwrap_or_default().to_owned()
}

/// Checks what a key is to allow.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_terms(terms: &KeyTerms) -> Result<(), String> {
    terms::check(terms)
}

/// Notes what a key allows, in the transaction that issues it.
///
/// # Errors
/// The store's failures.
pub fn give_terms(tx: &mut WriteTx<'_>, key_id: &str, given: &KeyTerms) -> Result<(), Failure> {
    terms::give(tx, key_id, given)
}

/// What a key allows; none if nothing was said of it.
///
/// # Errors
/// The store's failures.
pub fn key_standing(read: &impl Read, key_id: &str) -> Result<Option<KeyStanding>, Failure> {
    let terms = terms::of(read, key_id)?;
    if terms == KeyTerms::default() {
        return Ok(None);
    }
    let spent_seconds = meters::meter(read, key_id)?.spent_seconds();
    let remaining_seconds = terms.metered_seconds.map(|most| most.saturating_sub(spent_seconds));
    Ok(Some(KeyStanding { terms, remaining_seconds }))
}

/// The names of the quotas that are numbers, in the order of the documentation.
pub fn quota_names() -> impl Iterator<Item = &'static str> {
    QUOTA_KINDS.iter().map(|kind| kind.name)
}

/// The quotas of a tenant, as `GET /api/v1/tenant/quotas` tells them.
///
/// # Errors
/// The store's failures.
pub fn quotas(context: &Context, tenant_id: Uuid) -> Result<Value, Failure> {
    let (read, now) = context.store.read_now(context.clock.now());
    Ok(write_quotas(now, &quotas::effective(&read, TenantId(tenant_id), &context.settings.ceilings)?))
}

/// What no tenant may exceed, by the names of the quotas; processor time in cores. What is not limited is absent.
#[must_use]
pub fn ceilings(context: &Context) -> Value {
    let shown = |most: u64, is_cores: bool| if is_cores { json!(most as f64 / 1000.0) } else { json!(most) };
    let most = |kind: &QuotaKind| {
        let most = context.settings.ceilings.of(kind.name)?;
        Some((kind.name.to_owned(), shown(most, kind.is_cores)))
    };
    Value::Object(QUOTA_KINDS.iter().filter_map(most).collect::<Map<_, _>>())
}

/// A change of quotas that can be made.
#[derive(Clone, Debug)]
pub struct QuotaChange(SetQuotas);

impl QuotaChange {
    /// Reads a change: an object such as `PUT /api/v1/tenant/quotas` takes. The operator is held to the same ceilings
    /// as a tenant: they are his own, and are changed in the configuration.
    ///
    /// # Errors
    /// What is wrong, as a sentence.
    pub fn read(context: &Context, change: &Value) -> Result<QuotaChange, String> {
        let body = parse(change.to_string().as_bytes(), Limits::default()).map_err(|error| error.to_string())?;
        read_quotas(body, &context.settings.ceilings).map(QuotaChange).map_err(|refusal| match refusal {
            Refusal::AboveCeiling(name, most) => {
                format!("{name} can be {most} at most: that is runs.ceilings.{}", Ceilings::name_for(name))
            }
            Refusal::InvalidWorkingHours(fault) => format!("the working hours: {}", fault.detail),
            Refusal::Fault(Fault::Shape(problems)) => {
                let told = |Problem { field, problem }| format!("{field} {problem}").trim_start().to_owned();
                problems.into_iter().map(told).collect::<Vec<_>>().join("; ")
            }
            other => format!("{other:?}"),
        })
    }

    /// The names of the quotas that are to change.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let hours = self.0.working_hours_tjp.as_ref().map(|_| "working_hours_tjp");
        self.0.numbers.iter().map(|(name, _)| *name).chain(hours).collect()
    }
}

/// Changes the quotas of a tenant.
///
/// # Errors
/// The store's failures.
pub fn set_quotas(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    QuotaChange(asked): QuotaChange,
) -> Result<(), Failure> {
    hours::set_quotas(tx, now, TenantId(tenant_id), asked)
}
