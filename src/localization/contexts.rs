//! Key context: what translators are told of a key. It belongs to a path of a file and survives uploads.

use quintet_platform::http::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::model::{FileId, FileVersion, ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::tables::{FILES, KEY_CONTEXTS, KeyContextRow};

/// A path of a file and what is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyContext {
    /// The path.
    pub path: String,
    /// What is told.
    pub row: KeyContextRow,
}

/// Everything told of a file's keys, in the order of paths.
///
/// # Errors
/// Only the store's.
pub fn get_contexts(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<Vec<KeyContext>, Failure> {
    let rows = read.scan(&KEY_CONTEXTS, Scan::prefix(&(tenant_id, file_id)))?;
    Ok(rows.into_iter().map(|((.., path), row)| KeyContext { path, row }).collect())
}

/// Sets what is told of some keys.
#[derive(Clone, Debug)]
pub struct PutContexts {
    /// In which project.
    pub project_id: ProjectId,
    /// Of which file.
    pub file_id: FileId,
    /// The version in which all paths were found to be active.
    pub version: FileVersion,
    /// What is told.
    pub contexts: Vec<KeyContext>,
}

/// Sets what is told of some keys. `None`: there is another version by now; look again.
///
/// # Errors
/// Only the store's.
pub fn put_contexts(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: &PutContexts,
) -> Result<Option<()>, Abort<Refusal>> {
    let tenant_id = actor.tenant_id;
    let file = tx.get(&FILES, &(tenant_id, command.project_id, command.file_id))?.ok_or(Refusal::NotFound)?;
    if file.version != command.version {
        return Ok(None);
    }
    for context in &command.contexts {
        tx.put(&KEY_CONTEXTS, &(tenant_id, command.file_id, context.path.clone()), &context.row)?;
    }
    let event = Event::about("key_context.set", "file", command.file_id.0).with([
        ("project_id", Json::from(command.project_id.0.to_string())),
        ("count", Json::from(command.contexts.len())),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(Some(()))
}
