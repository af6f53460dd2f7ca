//! A simulated disk that forgets what was not synced: whole writes, single sectors, names, in any combination.
//!
//! It counts its calls and can fail from the n-th on, as a machine does that loses power there: the call may
//! have had its effect or not. [`SimDisk::crash`] then makes the disk that a restart finds.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::{Disk, DiskFile};

/// A write is torn at this granularity; each sector is old or new, never a mixture (DESIGN.md, assumptions).
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug, Default)]
struct SimFile {
    durable: Vec<u8>,
    volatile: Vec<u8>,
    /// Writes since the last sync: offset and bytes.
    unsynced: Vec<(usize, Vec<u8>)>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Bind(String, usize),
    Unbind(String),
}

#[derive(Clone, Debug, Default)]
struct State {
    files: Vec<SimFile>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<NameChange>,
    calls: u64,
    fails_from: Option<u64>,
}

impl State {
    /// Counts a call; `Err` if the power is already gone, `Ok(true)` if it goes with this very call.
    fn count(&mut self) -> io::Result<bool> {
        self.calls += 1;
        match self.fails_from {
            Some(n) if self.calls > n => Err(io::Error::other("simulated power loss")),
            Some(n) => Ok(self.calls == n),
            None => Ok(false),
        }
    }

    fn change_name(&mut self, change: NameChange) {
        apply_name(&mut self.names, &change);
        self.unsynced_names.push(change);
    }
}

fn apply_name(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Bind(name, file) => {
            names.insert(name.clone(), *file);
        }
        NameChange::Unbind(name) => {
            names.remove(name);
        }
    }
}

/// What a call that loses the power answers: an error, whether or not it had its effect.
fn lost(powerless: bool) -> io::Result<()> {
    if powerless { Err(io::Error::other("simulated power loss")) } else { Ok(()) }
}

/// The simulated disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the power fail with the call that brings the count to `calls`.
    pub(crate) fn fail_from(&self, calls: u64) {
        self.state().fails_from = Some(calls);
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// The disk a restart finds: of everything unsynced, an arbitrary part, by sectors and by names.
    pub(crate) fn crash(&self, random: &mut fastrand::Rng) -> SimDisk {
        let state = self.state();
        let files = state.files.iter().map(|file| settle(file, random)).collect();
        let mut names = state.durable_names.clone();
        // A directory's changes are journaled in order by the file systems this runs on: a prefix survives.
        let kept = random.usize(0..=state.unsynced_names.len());
        for change in state.unsynced_names.iter().take(kept) {
            apply_name(&mut names, change);
        }
        let fresh = State { files, durable_names: names.clone(), names, ..State::default() };
        SimDisk { state: Arc::new(Mutex::new(fresh)) }
    }

    /// The process dies but the machine goes on: everything written is still there.
    pub(crate) fn kill(&self) -> SimDisk {
        let mut state = self.state().clone();
        state.fails_from = None;
        state.calls = 0;
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Flips one bit of a file's durable and volatile content.
    pub(crate) fn flip(&self, name: &str, byte: usize, bit: u8) {
        let mut state = self.state();
        let Some(&file) = state.names.get(name) else { return };
        let file = &mut state.files[file];
        for content in [&mut file.durable, &mut file.volatile] {
            if let Some(byte) = content.get_mut(byte) {
                *byte ^= 1 << bit;
            }
        }
    }

    /// A file's content as a reader sees it.
    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        state.names.get(name).map(|&file| state.files[file].volatile.clone()).unwrap_or_default()
    }
}

/// What is left of a file: its synced bytes and some sectors of some of the writes after them.
fn settle(file: &SimFile, random: &mut fastrand::Rng) -> SimFile {
    let mut content = file.durable.clone();
    // One crash in three keeps whole writes only, one drops and tears freely, one tears the last write alone.
    let mode = random.u8(0..3);
    let last = file.unsynced.len().saturating_sub(1);
    for (index, (offset, bytes)) in file.unsynced.iter().enumerate() {
        let torn = mode == 1 || (mode == 2 && index == last);
        if !torn && mode == 0 && random.bool() {
            continue;
        }
        for (nth, sector) in bytes.chunks(SECTOR_BYTES).enumerate() {
            if !torn || random.bool() {
                write_into(&mut content, offset + nth * SECTOR_BYTES, sector);
            }
        }
    }
    SimFile { durable: content.clone(), volatile: content, unsynced: Vec::new() }
}

fn write_into(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

impl Disk for SimDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let powerless = state.count()?;
        let file = state.files.len();
        state.files.push(SimFile::default());
        state.change_name(NameChange::Bind(name.to_owned(), file));
        lost(powerless)?;
        Ok(Box::new(SimHandle { disk: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let powerless = state.count()?;
        lost(powerless)?;
        match state.names.get(name) {
            Some(&file) => Ok(Box::new(SimHandle { disk: self.clone(), file })),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        let powerless = state.count()?;
        let file = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        // One step of the journal: both names change together.
        state.names.remove(from);
        state.names.insert(to.to_owned(), file);
        state.unsynced_names.push(NameChange::Bind(to.to_owned(), file));
        state.unsynced_names.push(NameChange::Unbind(from.to_owned()));
        lost(powerless)
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        let powerless = state.count()?;
        if !state.names.contains_key(name) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        state.change_name(NameChange::Unbind(name.to_owned()));
        lost(powerless)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        let powerless = state.count()?;
        lost(powerless)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.state();
        let powerless = state.count()?;
        lost(powerless)?;
        state.durable_names = state.names.clone();
        state.unsynced_names.clear();
        Ok(())
    }
}

struct SimHandle {
    disk: SimDisk,
    file: usize,
}

impl DiskFile for SimHandle {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        let powerless = state.count()?;
        let file = &mut state.files[self.file];
        write_into(&mut file.volatile, offset as usize, bytes);
        file.unsynced.push((offset as usize, bytes.to_vec()));
        lost(powerless)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let powerless = state.count()?;
        lost(powerless)?;
        let content = &state.files[self.file].volatile;
        let rest = content.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.file].volatile.len() as u64)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let powerless = state.count()?;
        lost(powerless)?;
        let file = &mut state.files[self.file];
        file.durable = file.volatile.clone();
        file.unsynced.clear();
        Ok(())
    }
}
