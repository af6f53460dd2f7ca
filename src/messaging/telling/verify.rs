//! What contradicts itself in the rows of webhooks.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read, Uuid};

use super::model::WebhookId;
use super::rows;
use super::tables::{LISTENERS, ListenerRow, STANDINGS, TARGETS, WEBHOOKS};
use super::tell::WAITING_MAX;
use crate::identity::{agents, workspaces};

/// Everything that does: each webhook is found by its target, told what happens exactly if it is enabled, and is for an agent
/// that there is; and of none waits more than may.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &WEBHOOKS, findings, |key, row, findings| {
        let webhook = row.into_webhook();
        if rows::by_target(read, webhook.target)? != Some(key) {
            findings.push(format!("deliveries of the webhook {key:?} do not lead to it"));
        }
        let listeners = read.get(&LISTENERS, &key.0)?.map_or_else(Vec::new, |row| row.all);
        let found: Vec<_> = listeners.into_iter().filter(|one| one.id == key.1.0.into_bytes()).collect();
        let is_enabled = webhook.disabled_at.is_none();
        let expected: Vec<_> = is_enabled.then(|| ListenerRow::of(key.1, &webhook)).into_iter().collect();
        if found != expected {
            findings.push(format!("what the webhook {key:?} asks for and what it is told do not agree"));
        }
        for agent in webhook.agent.into_iter().chain(webhook.made_by) {
            if agents::find(read, (key.0, agent))?.is_none() {
                findings.push(format!("the webhook {key:?} is for {agent:?}, which is not there"));
            }
        }
        if !read.contains(&STANDINGS, &key)? {
            findings.push(format!("nothing is counted of the webhook {key:?}"));
        }
        Ok(())
    })?;
    each(read, &LISTENERS, findings, |workspace, row, findings| {
        let found = workspaces::find(read, workspace)?;
        if found.is_none_or(|found| (found.tenant_id.into_bytes(), &found.slug) != (row.tenant_id, &row.slug)) {
            findings.push(format!("webhooks are told of {workspace:?} what it is not"));
        }
        for one in row.all {
            if !read.contains(&WEBHOOKS, &(workspace, WebhookId(Uuid::from_bytes(one.id))))? {
                findings.push(format!("{workspace:?} tells a webhook that is not there"));
            }
        }
        Ok(())
    })?;
    each(read, &TARGETS, findings, |target, row, findings| {
        let key = (row.workspace, WebhookId(Uuid::from_bytes(row.id)));
        if rows::find(read, key)?.is_none_or(|webhook| webhook.target != target) {
            findings.push(format!("a target leads to the webhook {key:?}, which it is not of"));
        }
        Ok(())
    })?;
    each(read, &STANDINGS, findings, |key, row, findings| {
        if !read.contains(&WEBHOOKS, &key)? {
            findings.push(format!("something is counted of the webhook {key:?}, which is not there"));
        }
        if row.0.waiting > WAITING_MAX {
            findings.push(format!("for the webhook {key:?} wait {}", row.0.waiting));
        }
        Ok(())
    })
}
