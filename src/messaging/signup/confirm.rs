//! Confirming a sign-up: a tenant, its workspace and the first key, in one transaction.

use quintet_platform::access::{CreateTenant, Service, create_tenant};
use quintet_platform::secrets::{constant_time_eq, digest};
use quintet_platform::service::Fault;
use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::ask::expire;
use super::tables::{SIGN_UPS, SignUpRow};
use crate::identity::keys::{PreparedKey, token_place};
use crate::identity::{Scope, Workspace};
use crate::keys::{self, LABEL_CHARS_MAX, NewKey};
use crate::refusal::Refusal;
use crate::workspaces::{NewWorkspace, create};

/// What waits for whoever has this token, and its place.
///
/// # Errors
/// Nothing does: it was confirmed, or its time is over.
pub(super) fn waiting(read: &impl Read, now: Timestamp, token: &str) -> Result<(u128, SignUpRow), Abort<Refusal>> {
    let digest = digest(token.as_bytes());
    let place = token_place(&digest);
    let row = read.get(&SIGN_UPS, &place)?.filter(|row| constant_time_eq(&row.digest, &digest) && now < row.expires_at);
    Ok((place, row.ok_or_else(|| Refusal::NotFound("such sign-up".to_owned()))?))
}

/// Confirms it. The key's secret was drawn before; its label says who confirmed.
///
/// # Errors
/// As [`waiting`]; or the workspace's name was given meanwhile.
pub(super) fn confirm(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    token: &str,
    prepared: PreparedKey,
) -> Result<Workspace, Abort<Refusal>> {
    let (place, row) = waiting(tx, now, token)?;
    let SignUpRow { address, name, slug, .. } = row;
    let command = CreateTenant { id: None, name: name.clone(), services: Service::Messaging.into(), parent: None };
    let tenant = create_tenant(tx, now, command).map_err(|abort| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        // The name was looked at when it was asked for.
        Abort::Refused(_) => Refusal::Fault(Fault::Internal).into(),
    })?;
    let new = NewWorkspace { slug, name: Some(name), tenant_id: tenant.tenant_id, is_encrypted: false };
    let workspace = create(tx, now, new)?;
    let label = address.chars().take(LABEL_CHARS_MAX).collect();
    let new = NewKey { prepared, scope: Scope::Admin, agents: Vec::new(), label };
    keys::issue(tx, now, workspace.no, new)?;
    expire(tx, place)?;
    Ok(workspace)
}
