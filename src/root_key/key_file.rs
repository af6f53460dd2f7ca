//! `file:PATH`: the root key in hexadecimal, on a line of its own; during a rotation the one before it on the next.
//!
//! Only its owner reads the file. It is never written in place: what is to be in it is written and synced under
//! another name, which then replaces it, so that at every instant one of the two is there, whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use quintet_platform::secrets;
use quintet_storage::seal::RootKey;
use rustix::fs::{Access, CWD, RenameFlags};
use zeroize::Zeroizing;

use crate::start_error::StartError;

/// The key's length.
const KEY_BYTES: usize = 32;

/// A key's line: its text and the end of the line.
const LINE_BYTES: usize = 2 * KEY_BYTES + 1;

/// More than a file with two keys has, by one byte, by which a longer file shows.
const FILE_BYTES_MAX: u64 = 2 * LINE_BYTES as u64 + 1;

/// Random bytes in the name of a file in the making.
const NAME_BYTES: usize = 8;

/// A key as the file holds it.
pub(super) type Bytes = Zeroizing<[u8; KEY_BYTES]>;

/// A new key.
pub(super) fn draw() -> Bytes {
    Zeroizing::new(secrets::random_bytes())
}

/// The keys of a file: the current one and, during a rotation, the one before it.
pub(super) struct Keys {
    pub(super) current: Bytes,
    pub(super) previous: Option<Bytes>,
}

impl Keys {
    pub(super) fn current_key(&self) -> RootKey {
        RootKey::new(self.current.clone())
    }

    pub(super) fn previous_key(&self) -> Option<RootKey> {
        self.previous.clone().map(RootKey::new)
    }

    fn text(&self) -> Zeroizing<Vec<u8>> {
        // With its full length from the start it is never moved.
        let mut text = Zeroizing::new(Vec::with_capacity(2 * LINE_BYTES));
        for key in [Some(&self.current), self.previous.as_ref()].into_iter().flatten() {
            text.extend_from_slice(Zeroizing::new(HEXLOWER.encode(key.as_slice())).as_bytes());
            text.push(b'\n');
        }
        text
    }

    fn parse(text: &[u8]) -> Option<Keys> {
        let mut lines = text.trim_ascii_end().split(|byte| *byte == b'\n');
        let current = parse_key(lines.next()?)?;
        let previous = match lines.next() {
            None => None,
            Some(line) => Some(parse_key(line)?),
        };
        let is_whole = lines.next().is_none() && previous.as_ref().is_none_or(|previous| *previous != current);
        is_whole.then_some(Keys { current, previous })
    }
}

/// A key in hexadecimal, alone.
pub(super) fn parse_key(line: &[u8]) -> Option<Bytes> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    if HEXLOWER.decode_len(line.len()) != Ok(KEY_BYTES) {
        return None;
    }
    HEXLOWER.decode_mut(line, key.as_mut_slice()).ok()?;
    Some(key)
}

/// Where a key's file lies, or will lie.
#[derive(Clone, Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    pub(super) fn new(path: PathBuf) -> KeyFile {
        KeyFile { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a key can be made there. About the data directory itself the store decides, which comes first.
    pub(super) fn check_directory(&self, data_dir: &Path) -> Result<(), StartError> {
        let directory = directory_of(&self.path);
        if directory == data_dir {
            return Ok(());
        }
        rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| StartError::RootKeyDirectory { path: self.path.clone(), error: error.into() })
    }

    /// Reads the keys.
    pub(super) fn read(&self) -> Result<Keys, StartError> {
        let path = &self.path;
        let reading = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => StartError::RootKeyMissing(path.clone()),
            _ => StartError::io("reading the root key", path, error),
        };
        let damaged = || StartError::RootKeyDamaged { path: path.clone() };
        let found = fs::metadata(path).map_err(reading)?;
        if !found.is_file() {
            return Err(damaged());
        }
        let mut text = Zeroizing::new(Vec::with_capacity(2 * LINE_BYTES + 32));
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut text)).map_err(reading)?;
        if found.mode() & 0o077 != 0 {
            tracing::warn!(path = %path.display(), "other users may read the root key; `chmod 600` it");
        }
        Keys::parse(&text).ok_or_else(damaged)
    }

    /// Makes the file with a new key; one that exists, whatever it holds, is left alone.
    pub(super) fn make(&self) -> Result<(), StartError> {
        let keys = Keys { current: draw(), previous: None };
        self.place(&self.path, &keys, rename_unless_taken)
            .map_err(|error| StartError::io("writing the root key", &self.path, error))
    }

    /// Replaces the file. When this returns, the new keys survive a power cut.
    pub(super) fn replace(&self, keys: &Keys) -> io::Result<()> {
        // Of a name that leads elsewhere, the file it leads to is replaced.
        let path = fs::canonicalize(&self.path)?;
        self.place(&path, keys, |from, to| fs::rename(from, to))
    }

    fn place(&self, path: &Path, keys: &Keys, rename: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.tmp", HEXLOWER.encode(&secrets::random_bytes::<NAME_BYTES>())));
        let temporary = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary);
        let placed = file.and_then(|mut file| {
            file.write_all(&keys.text())?;
            file.sync_all()?;
            rename(&temporary, path)
        });
        if placed.is_err() {
            // What is left of it is a key that nobody uses.
            let _ = fs::remove_file(&temporary);
        }
        placed?;
        // The name must survive a power cut, too.
        File::open(directory_of(path))?.sync_all()
    }

    /// Removes what a start or a rotation that was cut off may have left beside the file. The caller holds the data
    /// directory's lock.
    pub(super) fn remove_leftovers(&self) {
        let Ok(path) = fs::canonicalize(&self.path) else { return };
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
        let Ok(entries) = fs::read_dir(directory_of(&path)) else { return };
        for entry in entries.flatten() {
            let found = entry.file_name();
            let middle = found.to_str().and_then(|found| found.strip_prefix(name)?.strip_prefix('.'));
            let middle = middle.and_then(|rest| rest.strip_suffix(".tmp"));
            if middle.is_some_and(|middle| HEXLOWER.decode_len(middle.len()) == Ok(NAME_BYTES))
                && fs::remove_file(entry.path()).is_ok()
            {
                tracing::info!(path = %entry.path().display(), "removed what was left of a key that was not finished");
            }
        }
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file its name for good; never takes it from another.
fn rename_unless_taken(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot say "unless"; a second name for the same file says it as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_taken_from_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("root.key");
        fs::write(&path, "precious").unwrap();
        let file = KeyFile::new(path.clone());
        assert!(
            matches!(file.make(), Err(StartError::Io { error, .. }) if error.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left behind");
        fs::remove_file(&path).unwrap();
        file.make().unwrap();
        assert!(file.read().unwrap().previous.is_none());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_keys_replace_one_and_one_replaces_two() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("root.key");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let file = KeyFile::new(link.clone());
        KeyFile::new(target.clone()).make().unwrap();
        let old = file.read().unwrap();
        file.replace(&Keys { current: draw(), previous: Some(old.current.clone()) }).unwrap();
        let both = file.read().unwrap();
        assert_eq!(both.previous_key().unwrap().id(), old.current_key().id());
        file.replace(&Keys { current: both.current.clone(), previous: None }).unwrap();
        assert_eq!(file.read().unwrap().current_key().id(), both.current_key().id());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the link stays");
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o600);

        fs::write(directory.path().join("root.key.0123456789abcdef.tmp"), "half").unwrap();
        fs::write(directory.path().join("root.key.mine.tmp"), "not ours").unwrap();
        file.remove_leftovers();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_is_no_key_is_damage() {
        let (one, two) = ("11".repeat(32), "22".repeat(32));
        let is_read = |text: String| Keys::parse(text.as_bytes()).map(|keys| keys.previous.is_some());
        assert_eq!(is_read(one.clone()), Some(false));
        assert_eq!(is_read(format!("{one}\n")), Some(false));
        assert_eq!(is_read(format!("{one}\n{two}\n")), Some(true));
        for wrong in [
            String::new(),
            "\n".into(),
            one[1..].into(),
            format!("{one}1"),
            format!("{one}\n{one}\n"),
            format!("{one}\n{two}\n{one}\n"),
            format!("{one}\n\n{two}\n"),
            format!("{one} {two}"),
            "zz".repeat(32),
        ] {
            assert_eq!(is_read(wrong.clone()), None, "{wrong:?}");
        }
    }
}
