//! Makes the entries of a release, one after another, out of one state of the store.

use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, LongView, Scan, Snapshot, Store};

use super::model::Entry;
use super::output::{Archive, Halt, Manifest, Way};
use super::survey::Survey;
use super::zip::{ARCHIVE_BYTES_MAX, Layout, TooLarge, local_header};
use crate::content::{Base, FILE_PATHS, Fallback, FileId, TRANSLATIONS_BYTES_MAX, Wish, get_file};
use crate::formats::Document;
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::rows;
use quintet_platform::secrets::digest;

/// For how long a state is used that can be looked at for half a minute.
const STATE_TIME: Duration = Duration::from_secs(25);
/// For how long a checkpoint is used: whoever waits has given up by then.
const VIEW_TIME: Duration = Duration::from_secs(20 * 60);
/// How many bytes of files are kept read from one locale to the next, about.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The state that a release is read from.
enum State {
    /// The newest, for a while.
    Newest(Snapshot),
    /// A checkpoint of it, for a long while.
    Checkpoint(LongView),
}

/// What entries are made from and written to.
struct Maker<'m> {
    read: &'m Snapshot,
    tenant_id: TenantId,
    project_id: ProjectId,
    way: &'m Way,
    layout: Layout,
    archive: Archive,
    manifest: Manifest,
    /// Until when the state can be looked at.
    until: Instant,
}

/// The entries of a release, written.
pub struct Entries {
    /// The archive up to its directory.
    pub archive: Archive,
    /// What it was made from.
    pub survey: Survey,
    /// How many there are.
    pub count: u64,
}

/// Writes the entries of a release of a project: the archive up to its directory, and the manifest.
///
/// # Errors
/// [`Halt::StateGone`]: it takes longer; a long one is read from a checkpoint. [`Refusal::ReleaseTooLarge`]; the store's.
pub fn write_entries(
    store: &Store,
    (tenant_id, project_id): (TenantId, ProjectId),
    is_long: bool,
    way: &Way,
) -> Result<Entries, Halt> {
    let (state, time) = match is_long {
        false => (State::Newest(store.read()), STATE_TIME),
        true => (State::Checkpoint(store.long_view().map_err(Failure::Io)?), VIEW_TIME),
    };
    let until = Instant::now() + time;
    let read = match &state {
        State::Newest(read) => read,
        State::Checkpoint(view) => view.snapshot(),
    };
    let survey = Survey::of(read, tenant_id, project_id)?;
    if survey.is_too_large(read, tenant_id, project_id, ARCHIVE_BYTES_MAX)? {
        return Err(TooLarge.into());
    }
    if survey.is_long() && !is_long {
        return Err(Halt::StateGone);
    }
    let (layout, archive, manifest) = (Layout::new(ARCHIVE_BYTES_MAX), Archive::new(), Manifest::default());
    let mut maker = Maker { read, tenant_id, project_id, way, layout, archive, manifest, until };
    let written = maker.write_all(&survey.locales);
    // What the state's end looks like to whoever reads from it is no failure of the store's.
    if written.is_err() && Instant::now() > until {
        return Err(Halt::StateGone);
    }
    written?;
    maker.manifest.finish(way)?;
    Ok(Entries { archive: maker.archive, survey, count: maker.layout.entries() })
}

impl Maker<'_> {
    /// Every file in every locale, in the order of names. The first files are kept as they were read, for the next locale.
    fn write_all(&mut self, locales: &[Locale]) -> Result<(), Halt> {
        let kept = if locales.len() > 1 { self.read_first()? } else { Vec::new() };
        let documents = kept.iter().map(Base::document).collect::<Result<Vec<_>, _>>()?;
        for locale in locales {
            let wish = Wish { locale: locale.clone(), fallback: Fallback::Source, approved_only: true };
            let mut place = 0;
            self.each_file(|maker, file_id| {
                match (kept.get(place), documents.get(place)) {
                    (Some(base), Some(document)) => maker.write(base, document, &wish)?,
                    _ => {
                        let base = maker.read_file(file_id)?;
                        maker.write(&base, &base.document()?, &wish)?;
                    }
                }
                place += 1;
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// The files of the project in the order of their paths, for as long as `look` says so.
    fn each_file(&mut self, mut look: impl FnMut(&mut Self, FileId) -> Result<bool, Halt>) -> Result<(), Halt> {
        let read = self.read;
        let files = (self.tenant_id, self.project_id);
        rows::each_while(
            read,
            &FILE_PATHS,
            || Scan::prefix(&files),
            |_, row| {
                if Instant::now() > self.until {
                    return Err(Halt::StateGone);
                }
                look(self, row.file_id)
            },
        )?;
        Ok(())
    }

    fn read_file(&self, file_id: FileId) -> Result<Base, Halt> {
        let file = get_file(self.read, self.tenant_id, self.project_id, file_id)?;
        Ok(Base::read(self.read, self.tenant_id, file, true)?)
    }

    /// The first files, as many as may be kept.
    fn read_first(&mut self) -> Result<Vec<Base>, Halt> {
        let (mut kept, mut bytes) = (Vec::new(), 0);
        self.each_file(|maker, file_id| {
            let base = maker.read_file(file_id)?;
            bytes += base.memory_bytes();
            if bytes > KEPT_BYTES_MAX {
                return Ok(false);
            }
            kept.push(base);
            Ok(true)
        })?;
        Ok(kept)
    }

    /// A file in a locale, by what exports are made with.
    fn write(&mut self, base: &Base, document: &Document<'_>, wish: &Wish) -> Result<(), Halt> {
        let gathered = base.gather(self.read, self.tenant_id, Some(&wish.locale), TRANSLATIONS_BYTES_MAX);
        let material = gathered.map_err(too_large)?;
        let bytes = material.file_of(document, wish)?;
        let entry = Entry {
            name: format!("{}/{}", wish.locale.canonical(), base.file.path),
            sha256: digest(&bytes),
            crc32: crc32fast::hash(&bytes),
            size_bytes: bytes.len() as u64,
            file_id: base.file.file_id,
            version: base.file.version,
            revision: material.revision,
        };
        drop(material);
        self.layout.add(&entry.name, entry.size_bytes)?;
        self.archive.write(self.way, &local_header(&entry))?;
        self.archive.write(self.way, &bytes)?;
        self.manifest.write(self.way, entry)
    }
}

/// A file whose translations are more than an export may hold is too large for a release, too.
fn too_large(abort: Abort<Refusal>) -> Abort<Refusal> {
    match abort {
        Abort::Refused(Refusal::ValueTooLong) => Abort::Refused(Refusal::ReleaseTooLarge),
        other => other,
    }
}
