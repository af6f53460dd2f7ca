//! Key context: what translators are told of a file's keys. It belongs to paths and survives uploads.
//!
//! All of a file's context is one large value, for one request may set 12 MB of it ([`context_pages`](super::context_pages)
//! says how it lies there). Who sets some of it reads all, writes all with the change in it, and publishes that in one
//! small transaction, if nobody else has done so in between: a request of any size is seen whole or not at all.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use quintet_platform::json::Json;
use quintet_storage::large::{self, LargeValue, StagedValue};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::catalogue::{get_catalogue, read_entries};
use super::context_pages::{self, Encoded, encode};
use super::files::get_file;
use super::model::{FileId, KeyContext, KeyEntry};
use super::rejudge::{self, Cause};
use super::sealed;
use super::tables::{ContextPageRow, KEY_CONTEXTS, KeyContextsRow};
use crate::audit::{self, Actor, Event};
use crate::census;
use crate::context::Context;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::ProjectId;

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

impl Contexts {
    /// What is told of a path.
    #[must_use]
    pub fn of(&self, path: &str) -> Option<&KeyContext> {
        let place = self.all.binary_search_by(|known| known.path.as_str().cmp(path)).ok();
        place.and_then(|place| self.all.get(place))
    }
}

/// Everything told of a file's keys.
///
/// # Errors
/// Only the store's.
pub fn get_contexts(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<Contexts, Failure> {
    let Some(row) = read.get(&KEY_CONTEXTS, &(tenant_id, file_id))? else { return Ok(Contexts::default()) };
    Ok(Contexts { version: row.version, all: context_pages::read_all(read, &row)? })
}

/// Which state of what is told of a file's keys this is; 0: nothing was ever set.
///
/// # Errors
/// Only the store's.
pub fn contexts_version(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<u64, Failure> {
    Ok(read.get(&KEY_CONTEXTS, &(tenant_id, file_id))?.map_or(0, |row| row.version))
}

/// What is told of one key: its class, its context, the lengths of its translations. `None`: nothing was ever set.
///
/// # Errors
/// Only the store's.
pub fn find_context(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    file_id: FileId,
    path: &str,
) -> Result<Option<KeyContext>, Failure> {
    let Some(row) = read.get(&KEY_CONTEXTS, &(tenant_id, file_id))? else { return Ok(None) };
    context_pages::find(read, shelf, &row, path)
}

/// The rules that need the file: for each entry in turn, that its path is an active key, the range of its lengths, the
/// ends of its context.
fn check(wished: &[KeyContext], active: &HashSet<&str>) -> Result<(), Refusal> {
    for (index, context) in wished.iter().enumerate() {
        let place = |name: &str| format!("keys[{index}].{name}");
        if !active.contains(context.path.as_str()) {
            return Err(Refusal::KeyUnknown(place("path")));
        }
        if context.min_length.zip(context.max_length).is_some_and(|(min, max)| min > max) {
            return Err(Refusal::LengthRange(place("min_length")));
        }
        if context.context.as_deref().is_some_and(|text| text.trim() != text) {
            return Err(Refusal::ContextInvalid(place("context")));
        }
    }
    Ok(())
}

/// All context as it is stored, with some of it replaced or added.
fn merged(old: Vec<KeyContext>, new: &[KeyContext]) -> Result<Encoded, Abort<Refusal>> {
    let mut by_path: BTreeMap<String, KeyContext> =
        old.into_iter().map(|context| (context.path.clone(), context)).collect();
    by_path.extend(new.iter().map(|context| (context.path.clone(), context.clone())));
    let encoded = encode(by_path.into_values().collect())?;
    if encoded.bytes.len() > FILE_BYTES_MAX { Err(Refusal::ContextTooLarge.into()) } else { Ok(encoded) }
}

/// The keys whose limits become others, by number, in ascending order. A key of a path keeps its number for good.
fn relimited(entries: &[KeyEntry], old: &Contexts, new: &[KeyContext]) -> Vec<u64> {
    let limits = |context: &KeyContext| (context.min_length, context.max_length);
    let changes = |wish: &&KeyContext| old.of(&wish.path).map_or((None, None), limits) != limits(wish);
    let paths: HashSet<&str> = new.iter().filter(changes).map(|wish| wish.path.as_str()).collect();
    entries.iter().filter(|entry| paths.contains(entry.path.as_str())).map(|entry| entry.number).collect()
}

/// Sets what is told of some keys.
#[derive(Clone, Debug)]
pub struct PutContexts {
    /// In which project.
    pub project_id: ProjectId,
    /// Of which file.
    pub file_id: FileId,
    /// How often the file's context had been set.
    base_version: u64,
    /// All of it, with the change in it.
    value: LargeValue,
    pages: Vec<ContextPageRow>,
    /// How many keys the request tells something of.
    count: usize,
    /// The keys whose limits it changes, by number.
    relimited: Vec<u64>,
}

/// Reads all context of a file and stores it anew with some of it replaced or added, until that is set, or the value is
/// dropped that comes with it. Paths are judged by the version of the file that is the latest now: context belongs to paths,
/// whatever versions come.
///
/// # Errors
/// In this order: [`Refusal::NotFound`]; for the first entry at fault [`Refusal::KeyUnknown`], [`Refusal::LengthRange`],
/// [`Refusal::ContextInvalid`]; [`Refusal::ContextTooLarge`] if it would be more than a file may have.
pub async fn prepare_contexts(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
    file_id: FileId,
    wished: Arc<Vec<KeyContext>>,
) -> Result<(PutContexts, StagedValue), Abort<Refusal>> {
    let count = wished.len();
    let prepared = context.in_turn(tenant_id, move |store| {
        let read = store.read();
        get_file(&read, tenant_id, project_id, file_id)?;
        let entries = read_entries(&read, &get_catalogue(&read, tenant_id, file_id)?)?;
        let active = entries.iter().filter(|entry| !entry.is_obsolete).map(|entry| entry.path.as_str());
        check(&wished, &active.collect())?;
        let old = get_contexts(&read, tenant_id, file_id)?;
        let relimited = relimited(&entries, &old, &wished);
        Ok((old.version, relimited, merged(old.all, &wished)?))
    });
    let (base_version, relimited, Encoded { bytes, pages }) = prepared.await?;
    let staged = sealed::store_value(&context.store, tenant_id, &bytes).await?;
    let value = staged.value().clone();
    Ok((PutContexts { project_id, file_id, base_version, value, pages, count, relimited }, staged))
}

/// Sets what is told of some keys. `None`: somebody else has done so in between; prepare it anew.
///
/// # Errors
/// [`Refusal::UploadExpired`] if it took so long that the value was collected.
pub fn put_contexts(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: &PutContexts,
) -> Result<Option<()>, Abort<Refusal>> {
    let place = (actor.tenant_id, command.file_id);
    let old = tx.get(&KEY_CONTEXTS, &place)?;
    let version = old.as_ref().map_or(0, |row| row.version);
    if version != command.base_version {
        return Ok(None);
    }
    sealed::adopt(tx, now, &command.value)?;
    if let Some(old) = old {
        large::release(tx, now, &old.value)?;
    }
    let PutContexts { value, pages, .. } = command.clone();
    tx.put(&KEY_CONTEXTS, &place, &KeyContextsRow { version: version + 1, value, pages })?;
    if !command.relimited.is_empty() {
        let cause = Cause::Keys { file_id: command.file_id, numbers: command.relimited.clone() };
        rejudge::note(tx, now, actor.tenant_id, command.project_id, cause)?;
    }
    let classes = census::Change::ClassesOf { file_id: command.file_id.0.into_bytes() };
    census::note(tx, now, actor.tenant_id, command.project_id, classes)?;
    let event = Event::about("key_context.set", "file", command.file_id.0)
        .with([("project_id", Json::from(command.project_id.0.to_string())), ("count", Json::from(command.count))]);
    audit::record(tx, now, actor, event)?;
    Ok(Some(()))
}
