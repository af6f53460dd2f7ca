//! Reading and changing what a tenant has set.

use quintet_platform::json::Json;
use quintet_storage::{Failure, Read, Timestamp, WriteTx};

use super::model::Settings;
use super::tables::{SETTINGS, SettingsRow};
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;

/// What a tenant has set.
///
/// # Errors
/// Only the store's.
pub fn get_settings(read: &impl Read, tenant_id: TenantId) -> Result<Settings, Failure> {
    let SettingsRow { display_name, legal_approval_quorum } = read.get(&SETTINGS, &tenant_id)?.unwrap_or_default();
    Ok(Settings { display_name, legal_approval_quorum })
}

/// Sets what is given, and leaves the rest; what is set now.
///
/// # Errors
/// Only the store's.
pub fn patch_settings(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    wanted: Settings,
) -> Result<Settings, Failure> {
    let mut row = tx.get(&SETTINGS, &actor.tenant_id)?.unwrap_or_default();
    let event = Event::about("settings.update", "tenant", actor.tenant_id.0).with([
        ("display_name", Json::from(wanted.display_name.is_some())),
        ("legal_approval_quorum", Json::from(wanted.legal_approval_quorum)),
    ]);
    row.display_name = wanted.display_name.or(row.display_name);
    row.legal_approval_quorum = wanted.legal_approval_quorum.or(row.legal_approval_quorum);
    tx.put(&SETTINGS, &actor.tenant_id, &row)?;
    audit::record(tx, now, actor, event)?;
    let SettingsRow { display_name, legal_approval_quorum } = row;
    Ok(Settings { display_name, legal_approval_quorum })
}
