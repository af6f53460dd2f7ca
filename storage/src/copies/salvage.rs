//! Salvage: from a damaged directory to a new one that holds everything that is sound, and a list of what is not.
//!
//! The first choice loses nothing: a checkpoint made before the damage, with all of the log above it. Where there is
//! none, every row that can still be read is taken; what lies in unreadable stretches of a table file, and transactions
//! behind a damaged place of the log, are named as lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::checkpoint::{self, Keeper, Rules};
use super::making::{CopyError, InTheMaking};
use super::manifest::Manifest;
use super::verify::Finding;
use crate::directory::format::{FIRST_VERSION, FORMAT_FILE, FORMAT_VERSION, Format, read_format, write_format};
use crate::directory::identity::{self, Provenance, provenance};
use crate::directory::lock::LockedDirectory;
use crate::env::Disk;
use crate::env::real::{ReadOnlyDisk, RealDisk, copy_file};
use crate::error::{Failure, OpenError};
use crate::hex::hexadecimal;
use crate::log::format::Op;
use crate::log::writer::LogWriter;
use crate::log::{self, LogPosition, SEGMENT_BYTES, Trust, recovery};
use crate::tables::family::Family;
use crate::tables::projection::{Application, Applied, KeyRange, LIVE, Projection, ProjectionRead};
use crate::tables::registry::Registry;
use crate::tables::rocks::{RocksOptions, RocksProjection};
use crate::tables::table::TableSpec;
use crate::time::Lsn;
use crate::view::overlay::Overlay;

/// Rows written to the new tables at once.
const ROWS_AT_ONCE: usize = 1000;
/// How finely an unreadable stretch of keys is narrowed down, in halvings.
const HALVINGS: u32 = 128;
/// Bytes of a key behind the common prefix that narrowing looks at.
const KEY_BYTES: usize = 16;
/// Unreadable stretches after which a family is given up: each costs some hundred reads.
const STRETCHES_MAX: usize = 10_000;

/// What was saved and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// What the rows were taken from.
    pub source: String,
    /// The last transaction that they include.
    pub lsn: Lsn,
    /// Rows saved.
    pub rows: u64,
    /// Everything that was lost, and where.
    pub lost: Vec<Finding>,
}

/// One way to read the directory: tables, and as much of the log above them as is sound.
struct View {
    name: String,
    overlay: Overlay,
    lost: Vec<Finding>,
}

/// Writes everything sound of a stopped directory into a new one at `destination`.
///
/// # Errors
/// The source is in use or no data directory, nothing of it can be read, or the destination cannot be written.
pub fn salvage(
    data: &Path,
    destination: &Path,
    extra: &[(PathBuf, String)],
    tables: &[&[TableSpec]],
    progress: &mut dyn FnMut(&str, u64),
) -> Result<Salvaged, CopyError> {
    let registry = Registry::new(tables).map_err(CopyError::Source)?;
    let (format, note) = match read_format(data) {
        Ok(Some(format)) => (format, None),
        // It is small, and what it says stands elsewhere, too.
        _ => {
            (guess_format(data)?, Some("the FORMAT file is lost; it is made from what the log and the checkpoints say"))
        }
    };
    let _lock = LockedDirectory::take(data).map_err(CopyError::Source)?;
    let making = InTheMaking::new(destination)?;
    let view = best_view(data, &format, &registry, progress)?;
    let mut salvaged = Salvaged { source: view.name, lost: view.lost, ..Salvaged::default() };
    let applied = view.overlay.applied();
    salvaged.lsn = applied.lsn;
    write_directory(&making.place, &format, &registry, &view.overlay, applied, &mut salvaged, progress)
        .map_err(CopyError::Source)?;
    for (from, name) in extra {
        let copied = copy_file(from, &making.place.join(name), &mut |_| Ok(()));
        copied.map_err(|e| CopyError::io(format!("copying {}", from.display()), &e))?;
    }
    let note = note.map_or(String::new(), |note| format!("{note}\n"));
    let report: String = salvaged.lost.iter().map(|finding| format!("{finding}\n")).collect();
    let report = format!("salvaged from {}: {}\n{note}{report}", data.display(), salvaged.source);
    std::fs::write(making.place.join("SALVAGE"), report).map_err(|e| CopyError::io("writing the report", &e))?;
    making.keep()?;
    Ok(salvaged)
}

/// What FORMAT said, from a checkpoint's manifest or a segment's header. Under which clock the directory lived is read
/// from what is left of the file; without a word the clock is the real one.
fn guess_format(data: &Path) -> Result<Format, CopyError> {
    let no_directory = || CopyError::Source(OpenError::NotADataDirectory(data.into()));
    let checkpoints = checkpoint::list(data).unwrap_or_default();
    let of_checkpoint = checkpoints.iter().find_map(|(_, path)| Some(Manifest::read(path).ok()??.directory_id));
    let directory_id = match of_checkpoint {
        Some(id) => id,
        None => {
            let disk = ReadOnlyDisk { directory: data.join(log::DIRECTORY) };
            Uuid::from_bytes(recovery::directory_id(&disk).ok_or_else(no_directory)?)
        }
    };
    let rest = std::fs::read(data.join(FORMAT_FILE)).unwrap_or_default();
    let rehearsal = String::from_utf8_lossy(&rest).contains("rehearsal = true");
    // A migration leaves rows alone that have its new form already.
    Ok(Format { version: FORMAT_VERSION, directory_id, rehearsal, complete: true, made: FIRST_VERSION })
}

/// The view that loses nothing, or else the one that reaches farthest.
fn best_view(
    data: &Path,
    format: &Format,
    registry: &Registry,
    progress: &mut dyn FnMut(&str, u64),
) -> Result<View, CopyError> {
    let trust = if matches!(provenance(data), Provenance::Copy(_)) { Trust::Copy } else { Trust::Original };
    let mut places: Vec<(String, Option<PathBuf>)> = Vec::new();
    if trust == Trust::Original {
        places.push(("live/".to_owned(), Some(data.join(LIVE))));
    }
    let found = checkpoint::list(data).map_err(|e| CopyError::io("listing the checkpoints", &e))?;
    places.extend(found.into_iter().map(|(lsn, path)| (format!("checkpoint {lsn} and the log above it"), Some(path))));
    places.push(("the log alone".to_owned(), None));
    if trust == Trust::Copy {
        // The last resort: what the copier made of the tables.
        places.push(("the copied live/".to_owned(), Some(data.join(LIVE))));
    }
    let mut best: Option<View> = None;
    let mut faults = Vec::new();
    for (name, path) in places {
        progress(&name, 0);
        match look(data, format, registry, trust, name, path.as_deref()) {
            Ok(view) if view.lost.is_empty() && is_readable(&view.overlay) => return Ok(view),
            Ok(view) => {
                let is_better =
                    best.as_ref().is_none_or(|best| view.overlay.applied().lsn > best.overlay.applied().lsn);
                if is_better {
                    best = Some(view);
                }
            }
            Err(error) => faults.push(error.to_string()),
        }
    }
    best.ok_or_else(|| CopyError::Damaged { file: data.into(), reason: faults.join("; ") })
}

fn look(
    data: &Path,
    format: &Format,
    registry: &Registry,
    trust: Trust,
    name: String,
    tables: Option<&Path>,
) -> Result<View, OpenError> {
    let mut overlay = tables.map_or_else(|| Ok(Overlay::empty()), Overlay::open)?;
    let disk = ReadOnlyDisk { directory: data.join(log::DIRECTORY) };
    let mut lost = Vec::new();
    // What was laid over the tables before the damaged place counts: it is a state that there once was.
    if let Err(error) = overlay.replay(&disk, *format.directory_id.as_bytes(), trust, registry) {
        if tables.is_none() && overlay.applied().lsn == 0 {
            return Err(error);
        }
        let reached = overlay.applied().lsn;
        lost.push(match error {
            OpenError::Damaged { file, offset, reason } => Finding {
                file: data.join(file),
                offset: Some(offset),
                reason: format!("{reason}; every transaction after {reached} is lost"),
            },
            other => Finding { file: data.join(log::DIRECTORY), offset: None, reason: other.to_string() },
        });
    }
    Ok(View { name, overlay, lost })
}

fn everything(lower: Vec<u8>) -> KeyRange {
    KeyRange { lower, upper: None, descending: false }
}

fn is_readable(view: &Overlay) -> bool {
    view.families().into_iter().all(|family| view.scan(family, &everything(Vec::new()), &mut |_, _| true).is_ok())
}

/// Makes a data directory of the view's readable rows.
fn write_directory(
    place: &Path,
    format: &Format,
    registry: &Registry,
    view: &Overlay,
    applied: Applied,
    salvaged: &mut Salvaged,
    progress: &mut dyn FnMut(&str, u64),
) -> Result<(), OpenError> {
    let options = RocksOptions { write_buffer_bytes: 64 << 20, block_cache_bytes: 16 << 20 };
    let families = &registry.families() | &view.families();
    let tables = Arc::new(RocksProjection::open(&place.join(LIVE), families.clone(), options)?);
    let failed = |failure: Failure| OpenError::io("writing the new tables", failure);
    for family in families {
        let mut batch: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut lower = Vec::new();
        for _ in 0..STRETCHES_MAX {
            let mut last = lower.clone();
            let mut fault = None;
            let read = view.scan(family, &everything(lower.clone()), &mut |key, value| {
                last = key.to_vec();
                batch.push((key.to_vec(), value.to_vec()));
                salvaged.rows += 1;
                if batch.len() >= ROWS_AT_ONCE {
                    fault = write_rows(&tables, family, &mut batch, applied).err();
                    progress("rows", salvaged.rows);
                }
                fault.is_none()
            });
            fault.map_or(Ok(()), Err).map_err(failed)?;
            let Err(reason) = read else { break };
            let next = next_readable(view, family, &last);
            salvaged.lost.push(lost_stretch(registry, family, &last, next.as_deref(), &reason));
            match next {
                Some(next) => lower = next,
                None => break,
            }
        }
        write_rows(&tables, family, &mut batch, applied).map_err(failed)?;
    }
    tables.flush().map_err(failed)?;
    let io = |what: &'static str| move |e: std::io::Error| OpenError::io(what, e);
    let disk: Arc<dyn Disk> =
        Arc::new(RealDisk::new(&place.join(log::DIRECTORY)).map_err(io("making the log directory"))?);
    let position = LogPosition { segment: 0, last_lsn: applied.lsn, checksum: 0 };
    LogWriter::start(disk, *format.directory_id.as_bytes(), SEGMENT_BYTES, position, Vec::new(), Trust::Original)
        .map_err(io("starting the log"))?;
    let rules = Rules { window: Duration::from_secs(60), bytes_max: u64::MAX };
    let mut keeper = Keeper::new(place, format.directory_id, Box::new(Arc::clone(&tables)), rules, Instant::now())
        .map_err(io("making a checkpoint"))?;
    keeper.make(applied.lsn, Instant::now(), &|| false).map_err(io("making a checkpoint"))?;
    write_format(place, &Format { complete: true, ..format.clone() })?;
    identity::write(place).map_err(io("writing the IDENTITY file"))
}

fn write_rows(
    tables: &RocksProjection,
    family: Family,
    batch: &mut Vec<(Vec<u8>, Vec<u8>)>,
    applied: Applied,
) -> Result<(), Failure> {
    let mut ops = batch.iter().map(|(key, value)| (family, Op::Put { key, value }));
    tables.apply(Application { ops: &mut ops, applied })?;
    batch.clear();
    Ok(())
}

fn lost_stretch(registry: &Registry, family: Family, last: &[u8], next: Option<&[u8]>, reason: &Failure) -> Finding {
    let place = |key: &[u8]| match registry.table_of(key) {
        Some(table) => format!("{} {}", table.name, hexadecimal(key.get(2..).unwrap_or_default())),
        None => "the beginning".to_owned(),
    };
    let until = next.map_or("the end".to_owned(), |next| format!("about {}", place(next)));
    let family = family.name();
    let reason = format!("family {family}: rows behind {} up to {until} cannot be read ({reason})", place(last));
    Finding { file: PathBuf::from(LIVE), offset: None, reason }
}

/// The least key, as nearly as halving finds it, from which on rows can be read again; `None` if there is none.
fn next_readable(view: &Overlay, family: Family, last: &[u8]) -> Option<Vec<u8>> {
    let reads = |lower: &[u8]| view.scan(family, &everything(lower.to_vec()), &mut |_, _| false).is_ok();
    // The ends of table files are where reading can begin anew at the latest.
    let ends = view.file_ends(family).into_iter().filter(|end| end.as_slice() > last);
    let mut good = ends.map(|mut end| {
        end.push(0);
        end
    });
    let mut good = good.find(|end| reads(end))?;
    let mut bad = last.to_vec();
    bad.push(0);
    for _ in 0..HALVINGS {
        let Some(middle) = between(&bad, &good) else { break };
        if reads(&middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

/// A key about half-way between two, if there is one that differs within some bytes of where they part.
fn between(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0_u8; KEY_BYTES];
        for (slot, byte) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *slot = *byte;
        }
        u128::from_be_bytes(bytes)
    };
    let (low_number, high_number) = (number(low), number(high));
    let middle = low_number + high_number.checked_sub(low_number)? / 2;
    let mut key = low.get(..common)?.to_vec();
    key.extend_from_slice(&middle.to_be_bytes());
    (key.as_slice() > low && key.as_slice() < high).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_comes_to_an_end_between_any_two_keys() {
        for (low, high) in [("a", "b"), ("a", "a\0"), ("abc", "abd"), ("", "zzzz"), ("same prefix 1", "same prefix 9")]
        {
            let (mut low, high) = (low.as_bytes().to_vec(), high.as_bytes().to_vec());
            let mut steps = 0;
            while let Some(middle) = between(&low, &high) {
                assert!(middle > low && middle < high);
                low = middle;
                steps += 1;
                assert!(steps < 1000, "it does not end");
            }
        }
    }
}
