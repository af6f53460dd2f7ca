//! Key context: what translators are told of a file's keys. It belongs to paths and survives uploads.
//!
//! All of a file's context is one large value. Who sets some of it reads all, writes all with the change in it, and
//! publishes that in one small transaction, if nobody else has done so in between: a request of any size is seen whole
//! or not at all.

use std::collections::BTreeMap;

use quintet_platform::json::Json;
use quintet_storage::large::{self, LargeValue, UploadRefusal};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx, decode_plain, encode_plain};

use crate::audit::{self, Actor, Event};
use crate::catalogue::read_all;
use crate::model::{FileId, FileVersion, ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::tables::{FILES, KEY_CONTEXTS, KeyContext, KeyContextsRow};

/// How much context a file may have, in bytes as it is stored: several requests of the largest kind. Whoever reads or
/// sets some of it holds all of it in memory.
const FILE_BYTES_MAX: usize = 64 << 20;

/// What is told of a file's keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contexts {
    /// How often it was set.
    pub version: u64,
    /// In the order of paths.
    pub all: Vec<KeyContext>,
}

/// Everything told of a file's keys.
///
/// # Errors
/// Only the store's.
pub fn get_contexts(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<Contexts, Failure> {
    let Some(row) = read.get(&KEY_CONTEXTS, &(tenant_id, file_id))? else { return Ok(Contexts::default()) };
    Ok(Contexts { version: row.version, all: decode_plain(&read_all(read, &row.value)?)? })
}

/// All context as it is stored, with some of it replaced or added.
///
/// # Errors
/// [`Refusal::PayloadTooLarge`] if it would be more than a file may have.
pub fn merged<'c>(old: Vec<KeyContext>, new: impl Iterator<Item = &'c KeyContext>) -> Result<Vec<u8>, Abort<Refusal>> {
    let mut by_path: BTreeMap<String, KeyContext> =
        old.into_iter().map(|context| (context.path.clone(), context)).collect();
    by_path.extend(new.map(|context| (context.path.clone(), context.clone())));
    let bytes = encode_plain(&by_path.into_values().collect::<Vec<_>>())?;
    if bytes.len() > FILE_BYTES_MAX { Err(Refusal::PayloadTooLarge.into()) } else { Ok(bytes) }
}

/// Sets what is told of some keys.
#[derive(Clone, Debug)]
pub struct PutContexts {
    /// In which project.
    pub project_id: ProjectId,
    /// Of which file.
    pub file_id: FileId,
    /// The version of the file in which all paths were found to be active.
    pub file_version: FileVersion,
    /// The version of the contexts that `value` was made from.
    pub base_version: u64,
    /// All of the file's context, with the change in it.
    pub value: LargeValue,
    /// How many keys the request tells something of.
    pub count: usize,
}

/// Sets what is told of some keys. `None`: there is another version of the file or of its context by now; look again.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::RequestTimeout`] if it took so long that the value was collected.
pub fn put_contexts(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: &PutContexts,
) -> Result<Option<()>, Abort<Refusal>> {
    let PutContexts { project_id, file_id, .. } = *command;
    let place = (actor.tenant_id, file_id);
    let file = tx.get(&FILES, &(actor.tenant_id, project_id, file_id))?.ok_or(Refusal::NotFound)?;
    let old = tx.get(&KEY_CONTEXTS, &place)?;
    let version = old.as_ref().map_or(0, |row| row.version);
    if file.version != command.file_version || version != command.base_version {
        return Ok(None);
    }
    large::adopt(tx, now, &command.value).map_err(|abort| match abort {
        Abort::Refused(UploadRefusal::Expired) => Abort::Refused(Refusal::RequestTimeout),
        Abort::Refused(UploadRefusal::Erased) => Abort::Failed(Failure::Io("the tenant has been erased".to_owned())),
        Abort::Failed(failure) => Abort::Failed(failure),
    })?;
    if let Some(old) = old {
        large::release(tx, now, &old.value)?;
    }
    tx.put(&KEY_CONTEXTS, &place, &KeyContextsRow { version: version + 1, value: command.value.clone() })?;
    let event = Event::about("key_context.set", "file", file_id.0)
        .with([("project_id", Json::from(project_id.0.to_string())), ("count", Json::from(command.count))]);
    audit::record(tx, now, actor, event)?;
    Ok(Some(()))
}
