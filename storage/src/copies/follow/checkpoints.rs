//! The checkpoints of a directory that follows: taken over from the data directory, and pruned by age with the log below.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::former;
use crate::copies::checkpoint;
use crate::copies::making::{CopyError, io_error};
use crate::copies::manifest::{Entry, MANIFEST_FILE, Manifest};
use crate::env::real::{ReadOnlyDisk, copy_file, make_private_directory, open_regular, replace_file, sync_directory};
use crate::hex::hexadecimal;
use crate::log::{self, recovery, segment_name};
use crate::time::{Lsn, Timestamp};
use sha2::{Digest, Sha256};

/// How long a file that was found to be sound is taken for it, in seconds.
const CHECKED_SECONDS: i64 = 86_400;
/// Of those who take a checkpoint over and those who prune one at a time: both clear away what was never finished.
static TURN: Mutex<()> = Mutex::new(());
/// A checkpoint in the making.
const MAKING: &str = "making";
/// In a checkpoint's directory: what it holds at the most, and when it was taken.
const BOUND_FILE: &str = "FOLLOWED";

/// Cares for the checkpoints of a directory that follows.
pub struct Checkpoints {
    data: PathBuf,
    place: PathBuf,
    directory_id: Uuid,
    /// When a file here was last read and found to be what it must be, by its digest.
    checked: Mutex<BTreeMap<String, Timestamp>>,
}

/// A checkpoint that was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Everything up to this transaction is in it.
    pub lsn: Lsn,
    /// Bytes that had to be copied; the others were there.
    pub bytes: u64,
}

/// What is known of a checkpoint here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// No later transaction is in it. A checkpoint may hold more than its number says.
    pub(super) lsn: Lsn,
    /// When it was taken.
    pub(super) at: Timestamp,
}

impl Bound {
    pub(super) fn read(checkpoint: &Path) -> Option<Bound> {
        let text = fs::read_to_string(checkpoint.join(BOUND_FILE)).ok()?;
        let mut words = text.split_whitespace();
        let (lsn, at) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Bound { lsn, at: Timestamp::from_micros(at) })
    }

    fn write(self, checkpoint: &Path) -> io::Result<()> {
        replace_file(&checkpoint.join(BOUND_FILE), format!("{} {}\n", self.lsn, self.at.as_micros()).as_bytes())
    }
}

impl Checkpoints {
    pub(super) fn new(data: &Path, place: &Path, directory_id: Uuid) -> Checkpoints {
        Checkpoints { data: data.into(), place: place.into(), directory_id, checked: Mutex::default() }
    }

    /// When the newest one was taken.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn newest(&self) -> Result<Option<Timestamp>, CopyError> {
        let listed = checkpoint::list(&self.place).map_err(io_error("listing the checkpoints of", &self.place))?;
        Ok(listed.iter().find_map(|(_, path)| Bound::read(path)).map(|bound| bound.at))
    }

    /// Takes over the newest checkpoint of the data directory, unless it is there; `None` if there is none yet, or the
    /// appliance let it go meanwhile: then it is to be tried again. `progress` is told the bytes copied.
    ///
    /// # Errors
    /// A file is not what its manifest says, or the operating system refused.
    pub fn take(&self, now: Timestamp, progress: &mut dyn FnMut(u64)) -> Result<Option<Taken>, CopyError> {
        let listed = checkpoint::list(&self.data).map_err(io_error("listing the checkpoints of", &self.data))?;
        let Some((lsn, from)) = listed.into_iter().next() else { return Ok(None) };
        let manifest = match Manifest::read(&from) {
            Ok(Some(manifest)) if manifest.directory_id == self.directory_id => manifest,
            Ok(_) => return Ok(None),
            Err(mismatch) => return Err(CopyError::Damaged { file: mismatch.file, reason: mismatch.reason }),
        };
        // It is complete by now, so that it holds nothing that was synced later.
        let disk = ReadOnlyDisk { directory: self.data.join(log::DIRECTORY) };
        let synced = recovery::read_watermark(&disk, *self.directory_id.as_bytes()).map_err(CopyError::Source)?;
        let bound = Bound { lsn: synced.max(lsn), at: now };
        let to = checkpoint::path_of(&self.place, lsn);
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if to.exists() {
            if self.is_whole(&to, &manifest, now) {
                bound_again(&to, bound).map_err(io_error("writing", &to))?;
                return Ok(Some(Taken { lsn, bytes: 0 }));
            }
            // It has decayed, and the appliance still has it.
            checkpoint::remove(&to).map_err(io_error("removing", &to))?;
        }
        match self.copy(&from, &to, &manifest, bound, progress) {
            Err(CopyError::Io { kind: io::ErrorKind::NotFound, .. }) if !from.exists() => Ok(None),
            Err(error) => Err(error),
            Ok(bytes) => Ok(Some(Taken { lsn, bytes })),
        }
    }

    /// Copies the files that no checkpoint here has, links the others, and gives the whole its name.
    fn copy(
        &self,
        from: &Path,
        to: &Path,
        manifest: &Manifest,
        bound: Bound,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, CopyError> {
        let making = to.with_extension(MAKING);
        let failed = io_error("writing", &making);
        self.clear().map_err(&failed)?;
        make_private_directory(&making).map_err(&failed)?;
        let listed = checkpoint::list(&self.place).map_err(io_error("listing the checkpoints of", &self.place))?;
        let known: Vec<(PathBuf, Manifest)> = listed
            .into_iter()
            .filter_map(|(_, path)| Manifest::read(&path).ok().flatten().map(|manifest| (path, manifest)))
            .collect();
        let mut copied = 0;
        for entry in &manifest.entries {
            let same = known.iter().find(|(_, manifest)| manifest.entries.contains(entry));
            let target = making.join(&entry.name);
            // One that has decayed here is copied anew: otherwise it would be linked on and on.
            let is_sound = |path: &Path| self.is_sound(&path.join(&entry.name), entry, bound.at);
            let same = same.filter(|(path, _)| is_sound(path));
            if same.is_some_and(|(path, _)| fs::hard_link(path.join(&entry.name), &target).is_ok()) {
                continue;
            }
            copied += copy_checked(&from.join(&entry.name), &target, entry, progress)?;
        }
        manifest.write(&making).map_err(&failed)?;
        bound.write(&making).map_err(&failed)?;
        let named = sync_directory(&making)
            .and_then(|()| fs::rename(&making, to))
            .and_then(|()| sync_directory(&self.place.join(checkpoint::DIRECTORY)));
        named.map_err(failed)?;
        Ok(copied)
    }

    /// Removes what attempts have left that were killed, or had no room.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.place.join(checkpoint::DIRECTORY))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == MAKING) {
                fs::remove_dir_all(path)?;
            }
        }
        Ok(())
    }

    /// Whether a file here is what it must be. Each is read once a day.
    fn is_sound(&self, file: &Path, entry: &Entry, now: Timestamp) -> bool {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.get(&entry.sha256).is_some_and(|at| now < at.plus_seconds(CHECKED_SECONDS)) {
            return true;
        }
        let is_sound = read_digest(file).is_ok_and(|digest| digest == entry.sha256);
        match is_sound {
            true => checked.insert(entry.sha256.clone(), now),
            false => checked.remove(&entry.sha256),
        };
        is_sound
    }

    /// Whether all files of a checkpoint here are what they must be.
    fn is_whole(&self, checkpoint: &Path, manifest: &Manifest, now: Timestamp) -> bool {
        manifest.entries.iter().all(|entry| self.is_sound(&checkpoint.join(&entry.name), entry, now))
    }

    /// Lets go what no restore to an instant from `oldest` on needs: checkpoints older than the last sound one before it,
    /// and the log below.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn prune(&self, now: Timestamp, oldest: Timestamp) -> Result<(), CopyError> {
        let failed = io_error("pruning", &self.place);
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        self.clear().and_then(|()| former::prune(&self.place, oldest)).map_err(&failed)?;
        let listed = checkpoint::list(&self.place).map_err(&failed)?;
        let is_old = |path: &Path| Bound::read(path).is_some_and(|bound| bound.at <= oldest);
        let is_whole = |path: &Path| {
            let manifest = Manifest::read(path).ok().flatten();
            manifest.is_some_and(|manifest| self.is_whole(path, &manifest, now))
        };
        let is_base = |(_, path): &(Lsn, PathBuf)| is_old(path) && is_whole(path);
        let Some(base) = listed.iter().position(is_base) else { return Ok(()) };
        let Some((lsn, _)) = listed.get(base) else { return Ok(()) };
        for (_, path) in listed.get(base + 1..).unwrap_or_default() {
            checkpoint::remove(path).map_err(&failed)?;
        }
        let disk = ReadOnlyDisk { directory: self.place.join(log::DIRECTORY) };
        let found = recovery::find_copied_segments(&disk, *self.directory_id.as_bytes());
        let (stale, segments) = found.map_err(CopyError::Source)?;
        let over = segments.iter().filter(|segment| segment.end_lsn.is_some_and(|end| end <= lsn + 1));
        let over = over.map(|segment| segment.header.number);
        // A row before a gap is of use only with a checkpoint of its own.
        let is_first_of_row = segments.first().is_some_and(|first| first.header.first_lsn <= lsn + 1);
        let stale = stale.into_iter().filter(|_| is_first_of_row);
        for number in stale.chain(over) {
            fs::remove_file(disk.directory.join(segment_name(number))).map_err(&failed)?;
        }
        sync_directory(&disk.directory).map_err(failed)
    }
}

/// The same checkpoint is the newest for long: it was taken then, and is as good as one that is taken now, as long as
/// nothing was written.
fn bound_again(checkpoint: &Path, bound: Bound) -> io::Result<()> {
    match Bound::read(checkpoint) {
        Some(_) => Ok(()),
        None => bound.write(checkpoint),
    }
}

/// The digest of a file, in hex.
fn read_digest(file: &Path) -> io::Result<String> {
    let (mut source, mut digest, mut buffer) = (open_regular(file)?, Sha256::new(), vec![0; 1 << 20]);
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&digest.finalize())),
            count => digest.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

fn copy_checked(from: &Path, to: &Path, entry: &Entry, progress: &mut dyn FnMut(u64)) -> Result<u64, CopyError> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    copy_file(from, to, &mut |piece| {
        digest.update(piece);
        bytes += piece.len() as u64;
        progress(piece.len() as u64);
        Ok(())
    })
    .map_err(io_error("copying", from))?;
    if (bytes, hexadecimal(&digest.finalize())) == (entry.bytes, entry.sha256.clone()) {
        return Ok(bytes);
    }
    let reason = format!("its content is not what {MANIFEST_FILE} says");
    Err(CopyError::Damaged { file: from.into(), reason })
}
