//! Running a template.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::definition::render;
use super::model::{NO_TEMPLATE, NO_VERSION};
use super::params::{Patience, is_secret, resolve};
use super::rows::{content, find, version};
use crate::containers::model::Webhook;
use crate::form::TAGS_MAX;
use crate::model::{TemplateKey, WorkflowId};
use crate::refusal::Refusal;
use crate::workflows::create;
use crate::workflows::model::{NewWorkflow, Origin};

/// What somebody who runs a template says of it.
pub(super) struct Wanted {
    /// Values of parameters.
    pub(super) given: Vec<(String, Json)>,
    /// Those of them that were given as secrets some time ago, and must be secrets still.
    pub(super) secrets: Vec<String>,
    /// None: the latest.
    pub(super) version: Option<u64>,
    /// Instead of the definition's.
    pub(super) name: Option<String>,
    /// Behind the definition's.
    pub(super) tags: Vec<String>,
    pub(super) scheduled_start: Option<Timestamp>,
    /// Instead of the definition's.
    pub(super) webhook: Option<(Webhook, Option<String>)>,
    /// The key that asks.
    pub(super) key_id: String,
    /// How long values may be held against their patterns.
    pub(super) patience: Patience,
}

/// The workflow that a template is for those who want it so, and of which version it is. What a version says never changes,
/// so that this needs no transaction.
pub(super) fn prepare(
    read: &impl Read,
    key: TemplateKey,
    wanted: Wanted,
) -> Result<(NewWorkflow, u64), Abort<Refusal>> {
    let template = find(read, key)?.ok_or(NO_TEMPLATE)?;
    let number = wanted.version.unwrap_or(template.latest_version);
    version(read, (key.0, key.1, number))?.ok_or(NO_VERSION)?;
    let damaged = || Failure::Damaged(format!("version {number} of template {} cannot be read", key.1));
    let said = content(read, (key.0, key.1, number))?.ok_or_else(damaged)?;
    if let Some(name) = wanted.secrets.iter().find(|name| !is_secret(&said.params, name)) {
        let problem = "was given as a secret, and is none in this version: give it again";
        return Err(Refusal::InvalidParams(format!("params.{name}"), problem.to_owned()).into());
    }
    let values = resolve(&said.params, wanted.given, wanted.patience)?;
    let mut new = render(&said.definition, &said.params, &values, wanted.key_id)?;
    for tag in wanted.tags {
        if !new.tags.contains(&tag) {
            new.tags.push(tag);
        }
    }
    if new.tags.len() > TAGS_MAX {
        return Err(Refusal::field("tags", format!("must be at most {TAGS_MAX} with the definition's")).into());
    }
    new.name = wanted.name.or(new.name);
    new.webhook = wanted.webhook.or(new.webhook);
    new.scheduled_start = wanted.scheduled_start;
    new.origin = Origin { template_id: Some(key.1.0.into_bytes()), template_version: Some(number), trigger_id: None };
    Ok((new, number))
}

/// Launches what was prepared, unless the template has been taken away meanwhile.
pub(super) fn launch(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TemplateKey,
    new: NewWorkflow,
) -> Result<WorkflowId, Abort<Refusal>> {
    find(tx, key)?.ok_or(NO_TEMPLATE)?;
    create::create(tx, now, key.0, new)
}
