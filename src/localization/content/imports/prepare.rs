//! Reads an upload, compares it with what is at its path, and stores what the last transaction publishes.

use std::time::{Duration, Instant};

use quintet_platform::secrets::Digest;
use quintet_storage::large::{LargeValue, StagedValue};
use quintet_storage::{Abort, Read, Store};

use super::compare::{Counts, compare};
use super::latest::{Latest, check_format, find_latest};
use super::manifest::{encode_changes, manifest_digest};
use super::publish::{PublishImport, Root};
use super::receive::Original;
use crate::content::catalogue::{self, Encoded};
use crate::content::key_ids::key_prefix;
use crate::content::model::{FileId, FileVersion, Format};
use crate::content::sealed;
use crate::content::words::active_words;
use crate::context::{Context, WRITER_TIME};
use crate::formats::{self, Code, Document, READING_SECONDS_MAX, ReaderRefusal};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::Project;

/// How large the list of a file's keys may become, in bytes, with all that were ever in it: whoever uploads or exports
/// the file holds it in memory.
const CATALOGUE_BYTES_MAX: usize = 256 << 20;
/// What a key takes in memory besides its texts, about: as a unit, in the list of keys, and as what changed.
const KEY_BYTES: usize = 400;

/// Uploads a file: as a new version if its path is known.
#[derive(Clone, Debug)]
pub struct ImportFile {
    /// In which project.
    pub project: Project,
    /// At which path.
    pub path: String,
    /// What kind of file it is.
    pub format: Format,
    /// The root key of a rails file; `None`: the source locale in any spelling.
    pub root_locale: Option<String>,
    /// Its bytes.
    pub original: Original,
}

/// Reads an upload and stores what it changes: until that is published, or the values are dropped that come with it.
///
/// # Errors
/// In this order: [`Refusal::Reader`]; [`Refusal::FormatMismatch`] if the path holds another kind of file;
/// [`Refusal::UploadExpired`] if it took longer than its bytes are kept.
pub async fn prepare_import(
    context: &Context,
    tenant_id: TenantId,
    command: ImportFile,
) -> Result<(PublishImport, [StagedValue; 2]), Abort<Refusal>> {
    let project_id = command.project.project_id;
    let latest = find_latest(&context.store.read(), tenant_id, project_id, &command.path)?;
    let new_id = match &latest {
        Some(latest) => latest.file.file_id,
        None => mint_file_id(&context.store).await?,
    };
    let (path, format, original) = (command.path.clone(), command.format, command.original.clone());
    let room = context.room(tenant_id, bytes_max(&original, latest.as_ref())).await?;
    let compared = context.in_turn(tenant_id, move |store| {
        let read = store.read();
        // Again: others may have had their turn meanwhile.
        let latest = find_latest(&read, tenant_id, project_id, &command.path)?;
        let compared = compared(&read, &command, latest, new_id)?;
        // Who leaves meanwhile gives back what it takes once it is done with.
        Ok((compared, room))
    });
    let (compared, room) = compared.await?;
    let (catalogue, changes) = tokio::join!(
        sealed::store_value(&context.store, tenant_id, &compared.encoded.bytes),
        sealed::store_value(&context.store, tenant_id, &compared.changes),
    );
    let (catalogue, changes) = (catalogue?, changes?);
    let import = PublishImport {
        project_id,
        path,
        format,
        root: compared.root,
        file_id: compared.file_id,
        base_version: compared.base_version,
        original,
        catalogue: catalogue.value().clone(),
        pages: compared.encoded.pages,
        next_number: compared.next_number,
        keys: compared.keys,
        words: compared.words,
        changes: changes.value().clone(),
        counts: compared.counts,
        manifest_sha256: compared.manifest_sha256,
    };
    drop(room);
    Ok((import, [catalogue, changes]))
}

/// What reading an upload and comparing it with what there was takes in memory, at most: first its bytes and what they say,
/// then the list of keys and the same as it is stored.
fn bytes_max(original: &Original, latest: Option<&Latest>) -> usize {
    let texts = |value: &LargeValue| usize::try_from(value.size_bytes).unwrap_or(usize::MAX);
    let known = latest.map_or(0, |latest| texts(&latest.catalogue.value));
    let keys_known = latest.map_or(0, |latest| usize::try_from(latest.catalogue.next_number).unwrap_or(usize::MAX));
    let keys = original.units_max.saturating_add(keys_known).saturating_mul(KEY_BYTES);
    texts(&original.value).saturating_add(known).saturating_mul(2).saturating_add(keys)
}

/// Ids are given by the writer alone.
async fn mint_file_id(store: &Store) -> Result<FileId, Abort<Refusal>> {
    store.write(Instant::now() + WRITER_TIME, |tx, _| Ok::<_, Abort<Refusal>>(FileId(tx.new_id()))).await
}

/// An upload, read and compared.
struct Compared {
    root: Root,
    file_id: FileId,
    base_version: FileVersion,
    encoded: Encoded,
    next_number: u64,
    keys: u32,
    words: u64,
    counts: Counts,
    changes: Vec<u8>,
    manifest_sha256: Digest,
}

fn compared(
    read: &impl Read,
    command: &ImportFile,
    latest: Option<Latest>,
    new_id: FileId,
) -> Result<Compared, Abort<Refusal>> {
    let known_root = latest.as_ref().map(|latest| latest.file.root_locale.as_str());
    let bytes = sealed::read_all(read, &command.original.value)?;
    let (root, document) = read_upload(command, known_root, &bytes)?;
    let units = document.into_units();
    drop(bytes);
    let (file_id, base_version, next_number, old) = match &latest {
        None => (new_id, 0, 1, Vec::new()),
        Some(latest) => {
            check_format(latest, command.format, root.locale(known_root, &command.project.source.roots)?)?;
            let old = catalogue::read_entries(read, &latest.catalogue)?;
            (latest.file.file_id, latest.file.version, latest.catalogue.next_number, old)
        }
    };
    let comparison = compare(old, next_number, base_version + 1, units);
    let encoded = catalogue::encode(&comparison.entries)?;
    check_size(&encoded, CATALOGUE_BYTES_MAX)?;
    Ok(Compared {
        root,
        file_id,
        base_version,
        encoded,
        next_number: comparison.next_number,
        keys: comparison.active,
        words: active_words(&comparison.entries),
        counts: comparison.counts(),
        changes: encode_changes(&comparison.changes)?,
        manifest_sha256: manifest_digest(key_prefix(file_id), &comparison.changes),
    })
}

fn check_size(encoded: &Encoded, bytes_max: usize) -> Result<(), Refusal> {
    let exceeds = encoded.bytes.len() > bytes_max;
    if exceeds { Err(Refusal::Reader { code: Code::TooManyUnits.as_str(), line: 0, column: 0 }) } else { Ok(()) }
}

/// Reads an upload under the root key that it has, of those it may have.
fn read_upload<'b>(
    command: &ImportFile,
    known_root: Option<&str>,
    bytes: &'b [u8],
) -> Result<(Root, Document<'b>), Refusal> {
    let deadline = Instant::now() + Duration::from_secs(READING_SECONDS_MAX);
    let given = match (command.format, &command.root_locale) {
        (Format::YamlRails, named) => named.as_deref(),
        _ => Some(""),
    };
    if let Some(root) = given {
        let document = formats::read(command.format.kind(root), bytes, deadline).map_err(reader_refusal)?;
        return Ok((Root::Given(root.to_owned()), document));
    }
    let mut roots: Vec<&str> = command.project.source.roots.iter().map(String::as_str).collect();
    roots.sort_by_key(|root| Some(*root) != known_root);
    let mut furthest: Option<ReaderRefusal> = None;
    for root in roots {
        match formats::read(command.format.kind(root), bytes, deadline) {
            Ok(document) => {
                let place = document.root_place();
                return Ok((place.map_or(Root::Missing, |place| Root::Found(root.to_owned(), place)), document));
            }
            // Under another root than its own a file is refused right there: what is refused further on is its own.
            Err(refusal) => {
                let place = |refusal: &ReaderRefusal| (refusal.line, refusal.column);
                if furthest.as_ref().is_none_or(|known| place(known) < place(&refusal)) {
                    furthest = Some(refusal);
                }
            }
        }
    }
    // A project has a source locale in one spelling at least.
    Err(furthest.map_or(Refusal::NotFound, reader_refusal))
}

fn reader_refusal(refusal: ReaderRefusal) -> Refusal {
    Refusal::Reader { code: refusal.code.as_str(), line: refusal.line, column: refusal.column }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Kind;

    #[test]
    fn a_list_of_keys_does_not_grow_for_ever() {
        let document = formats::read(Kind::Json, b"{\"a\":\"x\"}", Instant::now() + WRITER_TIME).unwrap();
        let encoded = catalogue::encode(&compare(Vec::new(), 1, 1, document.into_units()).entries).unwrap();
        let needed = encoded.bytes.len();
        assert_eq!(check_size(&encoded, needed), Ok(()));
        let Err(Refusal::Reader { code, .. }) = check_size(&encoded, needed - 1) else { panic!() };
        assert_eq!(code, "too_many_units");
    }
}
