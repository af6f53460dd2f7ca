//! What a workspace does with its webhooks.

use quintet_platform::deliveries::drop_target;
use quintet_platform::secrets::Secret;
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use crate::identity::{Workspace, workspaces};
use crate::limits::WEBHOOKS;
use crate::model::AgentNo;
use crate::refusal::Refusal;
use crate::telling::{Standing, Webhook, WebhookId, rows};

/// There are never more of a workspace, whatever the operator allows: each is told in the transaction of what happens.
const WEBHOOKS_MAX: u64 = 100;

/// A webhook that is to be made.
pub(super) struct NewWebhook {
    pub(super) url: String,
    pub(super) events: Option<u32>,
    pub(super) agent: Option<AgentNo>,
    pub(super) made_by: Option<AgentNo>,
    pub(super) is_inside: bool,
    pub(super) secret: Secret<Vec<u8>>,
}

/// Makes a webhook, where there may be one more.
///
/// # Errors
/// There are as many as there may be.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    new: NewWebhook,
) -> Result<(WebhookId, Webhook), Abort<Refusal>> {
    let max = workspaces::limit(tx, workspace.no, WEBHOOKS)?.min(WEBHOOKS_MAX);
    let count = u64::try_from(rows::all(tx, workspace.no)?.len()).unwrap_or(u64::MAX);
    if count >= max {
        return Err(Refusal::LimitReached(WEBHOOKS.name, max).into());
    }
    let NewWebhook { url, events, agent, made_by, is_inside, secret } = new;
    let (id, target) = (WebhookId(tx.new_id()), tx.new_id());
    let webhook = Webhook { url, events, agent, made_by, is_inside, target, created_at: now, disabled_at: None };
    rows::put_new(tx, workspace, id, &webhook, secret.expose())?;
    Ok((id, webhook))
}

/// Enables a webhook, with what it is counted by anew, or disables it.
pub(super) fn set_enabled(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    (id, mut webhook): (WebhookId, Webhook),
    is_enabled: bool,
) -> Result<(Webhook, Standing), Failure> {
    let key = (workspace.no, id);
    match (is_enabled, webhook.disabled_at) {
        (true, Some(_)) => {
            webhook.disabled_at = None;
            // What waited for it may still be going.
            webhook.target = tx.new_id();
            rows::put(tx, workspace, id, &webhook)?;
        }
        (false, None) => webhook = disable(tx, now, workspace, (id, webhook))?,
        (true, None) | (false, Some(_)) => {}
    }
    let mut standing = rows::standing(tx, key)?;
    if is_enabled {
        standing.consecutive_failures = 0;
        rows::put_standing(tx, key, standing)?;
    }
    Ok((webhook, standing))
}

/// Has a webhook be told nothing any more; what waits for it goes.
pub(super) fn disable(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    (id, mut webhook): (WebhookId, Webhook),
) -> Result<Webhook, Failure> {
    let key = (workspace.no, id);
    webhook.disabled_at = Some(now);
    rows::put(tx, workspace, id, &webhook)?;
    drop_target(tx, now, rows::outbox(workspace.tenant_id), webhook.target)?;
    let standing = rows::standing(tx, key)?;
    rows::put_standing(tx, key, Standing { waiting: 0, ..standing })?;
    Ok(webhook)
}

/// Takes a webhook away, and its deliveries.
pub(super) fn remove(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    (id, webhook): (WebhookId, Webhook),
) -> Result<(), Failure> {
    rows::remove(tx, workspace, id)?;
    drop_target(tx, now, rows::outbox(workspace.tenant_id), webhook.target)
}
