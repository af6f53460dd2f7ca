//! The switch that stops approval by policy in a locale.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::tables::{POLICY_SWITCHES, PolicySwitchRow};
use crate::audit::{self, Actor, Event};
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// Sets a switch.
#[derive(Clone, Debug)]
pub struct SetSwitch {
    /// In which project.
    pub project_id: ProjectId,
    /// The canonical tag of the locale.
    pub locale: String,
    /// Whether policy approves.
    pub enabled: bool,
}

/// Whether policy approves in a locale; it does where nobody has said anything.
///
/// # Errors
/// Only the store's.
pub fn is_enabled(read: &impl Read, tenant_id: TenantId, project_id: ProjectId, locale: &str) -> Result<bool, Failure> {
    let row = read.get(&POLICY_SWITCHES, &(tenant_id, project_id, locale.to_owned()))?;
    Ok(row.is_none_or(|row| row.enabled))
}

/// Sets a switch.
///
/// # Errors
/// Only the store's.
pub fn set_switch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: &SetSwitch,
) -> Result<(), Abort<Refusal>> {
    let SetSwitch { project_id, locale, enabled } = command;
    let place = (actor.tenant_id, *project_id, locale.clone());
    tx.put(&POLICY_SWITCHES, &place, &PolicySwitchRow { enabled: *enabled })?;
    let event = Event::about("policy_switch.set", "project", project_id.0)
        .with([("locale", Json::from(locale.as_str())), ("enabled", Json::from(*enabled))]);
    audit::record(tx, now, actor, event)?;
    Ok(())
}
