//! Rows of webhooks: a webhook, what finds it by its target, and what its workspace's events are told by are written together.

use quintet_platform::access::Service;
use quintet_platform::deliveries::Outbox;
use quintet_platform::secrets::Secret;
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Uuid, WriteTx};

use super::model::{Event, Standing, Webhook, WebhookId, WebhookKey};
use super::tables::{
    LISTENERS, ListenerRow, ListenersRow, STANDINGS, StandingRow, TARGETS, TargetRow, WEBHOOKS, WebhookRow,
};
use crate::identity::Workspace;
use crate::model::{AgentKey, WorkspaceNo};

/// Webhooks that are looked at in one step, where all of the appliance are.
const PAGE_ROWS: usize = 256;

/// The deliveries of a tenant.
pub(crate) const fn outbox(tenant_id: Uuid) -> Outbox {
    Outbox { tenant_id, service: Service::Messaging }
}

/// A webhook.
pub(crate) fn find(read: &impl Read, key: WebhookKey) -> Result<Option<Webhook>, Failure> {
    Ok(read.get(&WEBHOOKS, &key)?.map(WebhookRow::into_webhook))
}

/// All of a workspace, the oldest first: there are few.
pub(crate) fn all(read: &impl Read, workspace: WorkspaceNo) -> Result<Vec<(WebhookId, Webhook)>, Failure> {
    let rows = read.scan(&WEBHOOKS, Scan::prefix(&(workspace,)))?;
    Ok(rows.into_iter().map(|((_, id), row)| (id, row.into_webhook())).collect())
}

/// Looks at the webhooks of all workspaces.
pub(crate) fn each(read: &impl Read, mut see: impl FnMut(WebhookKey, Webhook)) -> Result<(), Failure> {
    let mut after: Option<WebhookKey> = None;
    loop {
        let scan = after.iter().fold(Scan::all(), |scan, last| scan.after(last));
        let rows = read.scan(&WEBHOOKS, scan.limit(PAGE_ROWS))?;
        let is_last = rows.len() < PAGE_ROWS;
        after = rows.last().map(|(key, _)| *key);
        for (key, row) in rows {
            see(key, row.into_webhook());
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Whose deliveries are found by a target.
pub(crate) fn by_target(read: &impl Read, target: Uuid) -> Result<Option<WebhookKey>, Failure> {
    let row = read.get(&TARGETS, &target)?;
    Ok(row.map(|row| (row.workspace, WebhookId(Uuid::from_bytes(row.id)))))
}

/// The bytes that sign what a webhook is told; `None`: it is not there, or its tenant has been erased.
pub(crate) fn secret(read: &impl Read, tenant_id: Uuid, key: WebhookKey) -> Result<Option<Secret<Vec<u8>>>, Failure> {
    let Some(row) = read.get(&WEBHOOKS, &key)? else { return Ok(None) };
    match seal::open(read, KeyOwner::Tenant(tenant_id), &WEBHOOKS, &key, &row.secret) {
        Ok(bytes) => Ok(Some(Secret::new(bytes.to_vec()))),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// What has come of what a webhook was told.
pub(crate) fn standing(read: &impl Read, key: WebhookKey) -> Result<Standing, Failure> {
    Ok(read.get(&STANDINGS, &key)?.map_or_else(Standing::default, |StandingRow(standing)| standing))
}

/// Keeps that.
pub(crate) fn put_standing(tx: &mut WriteTx<'_>, key: WebhookKey, standing: Standing) -> Result<(), Failure> {
    tx.put(&STANDINGS, &key, &StandingRow(standing))
}

/// Keeps a new webhook with the bytes that sign what it is told.
pub(crate) fn put_new(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    id: WebhookId,
    webhook: &Webhook,
    secret: &[u8],
) -> Result<(), Failure> {
    let key = (workspace.no, id);
    let sealed = seal::seal(tx, KeyOwner::Tenant(workspace.tenant_id), &WEBHOOKS, &key, secret);
    let sealed = sealed.map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        // Whoever still has a key of an erased tenant is turned away before this.
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    })?;
    tx.put(&WEBHOOKS, &key, &WebhookRow::of(webhook, sealed))?;
    put_standing(tx, key, Standing::default())?;
    listen(tx, workspace, id, Some(webhook))
}

/// Keeps what has changed of a webhook; what finds it by the target that it had goes.
pub(crate) fn put(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    id: WebhookId,
    webhook: &Webhook,
) -> Result<(), Failure> {
    let key = (workspace.no, id);
    let Some(before) = tx.get(&WEBHOOKS, &key)? else { return Ok(()) };
    let secret = before.secret.clone();
    tx.delete(&TARGETS, &before.into_webhook().target);
    tx.put(&WEBHOOKS, &key, &WebhookRow::of(webhook, secret))?;
    listen(tx, workspace, id, Some(webhook))
}

/// Takes a webhook away.
pub(crate) fn remove(tx: &mut WriteTx<'_>, workspace: &Workspace, id: WebhookId) -> Result<(), Failure> {
    let key = (workspace.no, id);
    if let Some(row) = tx.get(&WEBHOOKS, &key)? {
        tx.delete(&TARGETS, &row.into_webhook().target);
    }
    tx.delete(&WEBHOOKS, &key);
    tx.delete(&STANDINGS, &key);
    listen(tx, workspace, id, None)
}

/// Has a webhook be told what happens, if it is enabled, and found by its target.
fn listen(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    id: WebhookId,
    webhook: Option<&Webhook>,
) -> Result<(), Failure> {
    if let Some(webhook) = webhook {
        let row = TargetRow { workspace: workspace.no, id: id.0.into_bytes() };
        tx.put(&TARGETS, &webhook.target, &row)?;
    }
    let mut row = tx.get(&LISTENERS, &workspace.no)?.unwrap_or_else(|| ListenersRow {
        tenant_id: workspace.tenant_id.into_bytes(),
        slug: workspace.slug.clone(),
        all: Vec::new(),
    });
    row.all.retain(|one| one.id != id.0.into_bytes());
    row.all.extend(webhook.filter(|webhook| webhook.disabled_at.is_none()).map(|one| ListenerRow::of(id, one)));
    if row.all.is_empty() {
        tx.delete(&LISTENERS, &workspace.no);
        return Ok(());
    }
    tx.put(&LISTENERS, &workspace.no, &row)
}

/// Of each of several agents of one workspace, whether an enabled webhook is told when a message comes for it
/// (6-messaging.md, W2): one look for all of them.
pub(crate) fn covered(read: &impl Read, agents: &[AgentKey]) -> Result<Vec<bool>, Failure> {
    let Some((workspace, _)) = agents.first() else { return Ok(Vec::new()) };
    let Some(row) = read.get(&LISTENERS, workspace)? else { return Ok(vec![false; agents.len()]) };
    let tells = |one: &&ListenerRow| one.events.is_none_or(|events| events & Event::Delivered.bit() != 0);
    let told: Vec<_> = row.all.iter().filter(tells).map(|one| one.agent).collect();
    Ok(agents.iter().map(|(_, no)| told.iter().any(|agent| agent.is_none_or(|agent| agent == *no))).collect())
}
