//! Files below one directory, and none elsewhere: every folder on the way is opened as what it is, never through a symbolic
//! link, so that no path leads out, whoever named it.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use quintet_platform::secrets;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::cli::{CliError, output};

/// The name of the map, which nothing is written to.
pub const MAP_NAME: &str = ".quintet-l10n.toml";
/// The most characters of a path.
const PATH_CHARS_MAX: usize = 1024;
/// The most bytes of a name: more no file system takes.
const NAME_BYTES_MAX: usize = 255;
/// The most files and folders that are looked at.
const ENTRIES_MAX: usize = 500_000;
/// The deepest folders.
const DEPTH_MAX: usize = 64;

/// A path of names below a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inside(String);

impl Inside {
    /// A path that leads nowhere else, into no folder of git's and not to the map; `None` for every other.
    pub fn parse(path: &str) -> Option<Inside> {
        let is_name = |name: &str| {
            !matches!(name, "" | "." | "..")
                && name.len() <= NAME_BYTES_MAX
                && !name.eq_ignore_ascii_case(".git")
                && !name.contains(|c: char| c.is_control() || c == '\\')
        };
        let fits = path.chars().count() <= PATH_CHARS_MAX && path.split('/').all(is_name) && path != MAP_NAME;
        fits.then(|| Inside(path.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folders on the way, and the name.
    fn parts(&self) -> (impl Iterator<Item = &str>, &str) {
        let (folders, name) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (folders.split('/').filter(|folder| !folder.is_empty()), name)
    }
}

/// The directory.
pub struct Tree(OwnedFd);

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn failed(path: &str, error: impl std::fmt::Display) -> CliError {
    CliError::failed(format!("{}: {error}", output::plain(path)))
}

/// What an entry of a folder is. Not every file system says so with the name.
fn kind_of(folder: &OwnedFd, entry: &rustix::fs::DirEntry) -> Result<FileType, Errno> {
    match entry.file_type() {
        FileType::Unknown => match rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(FileType::from_raw_mode(found.st_mode)),
            // It is gone by now.
            Err(Errno::NOENT) => Ok(FileType::Unknown),
            Err(error) => Err(error),
        },
        known => Ok(known),
    }
}

/// What the system says of a step on a path.
fn told(path: &str, error: Errno) -> CliError {
    match error {
        Errno::LOOP | Errno::NOTDIR => failed(path, "leads through a symbolic link, or through what is no directory")
            .hint("make it a real file in a real directory: links are not followed"),
        error => failed(path, std::io::Error::from(error)),
    }
}

impl Tree {
    /// Opens a directory.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(directory: &Path) -> Result<Tree, CliError> {
        let opened = rustix::fs::open(directory, FOLDER, Mode::empty());
        opened.map(Tree).map_err(|error| failed(&directory.display().to_string(), std::io::Error::from(error)))
    }

    /// The folder in which a file lies, which may be made on the way; `None`: there is none.
    fn folder_of(&self, path: &Inside, is_made: bool) -> Result<Option<OwnedFd>, CliError> {
        let mut folder = rustix::io::dup(&self.0).map_err(|error| told(path.as_str(), error))?;
        for name in path.parts().0 {
            let open = || rustix::fs::openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            let opened = match open() {
                Err(Errno::NOENT) if is_made => {
                    let made = rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777));
                    match made {
                        Ok(()) | Err(Errno::EXIST) => open(),
                        Err(error) => Err(error),
                    }
                }
                Err(Errno::NOENT) => return Ok(None),
                opened => opened,
            };
            folder = opened.map_err(|error| told(path.as_str(), error))?;
        }
        Ok(Some(folder))
    }

    /// What a file says; `None`: there is none.
    ///
    /// # Errors
    /// It is no ordinary file, has more than `bytes_max` bytes, or cannot be read.
    pub fn read(&self, path: &Inside, bytes_max: u64) -> Result<Option<Vec<u8>>, CliError> {
        let Some(folder) = self.folder_of(path, false)? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&folder, path.parts().1, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened.map_err(|error| told(path.as_str(), error))?),
        };
        let unreadable = |error: std::io::Error| failed(path.as_str(), error);
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(failed(path.as_str(), "is no ordinary file"));
        }
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > bytes_max {
            return Err(failed(path.as_str(), format!("has more than {bytes_max} bytes")));
        }
        Ok(Some(bytes))
    }

    /// Writes a file, so that whoever reads it meets all of the old or all of the new. Its folders are made; a file that
    /// is replaced keeps its mode.
    ///
    /// # Errors
    /// It cannot be written; what was there is still there.
    pub fn write(&self, path: &Inside, bytes: &[u8]) -> Result<(), CliError> {
        let Some(folder) = self.folder_of(path, true)? else { return Err(failed(path.as_str(), "has no folder")) };
        let (_, name) = path.parts();
        let broken = |error: Errno| told(path.as_str(), error);
        let old = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(old) if FileType::from_raw_mode(old.st_mode) != FileType::RegularFile => {
                return Err(failed(path.as_str(), "is no ordinary file; nothing was written there"));
            }
            Ok(old) => Some(Mode::from_raw_mode(old.st_mode)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(broken(error)),
        };
        let number = u64::from_be_bytes(secrets::random_bytes::<8>());
        let own = format!(".quintet-l10n-{number:016x}");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, own.as_str(), flags, Mode::from_raw_mode(0o666)).map_err(broken)?;
        let mut file = File::from(file);
        let written = old.map_or(Ok(()), |mode| rustix::fs::fchmod(&file, mode).map_err(std::io::Error::from));
        let written = written.and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_all());
        let placed =
            written.and_then(|()| rustix::fs::renameat(&folder, own.as_str(), &folder, name).map_err(Into::into));
        if let Err(error) = placed {
            // The first failure is the one to tell.
            let _ = rustix::fs::unlinkat(&folder, own.as_str(), AtFlags::empty());
            return Err(failed(path.as_str(), error));
        }
        rustix::fs::fsync(&folder).map_err(broken)
    }

    /// The paths of all ordinary files in a folder (empty, or with a slash at its end) and below, in order. What cannot
    /// be a path of [`Inside`] is passed over, as are links and folders whose names begin with a dot.
    ///
    /// # Errors
    /// A folder cannot be read, or there are too many files.
    pub fn files(&self, folder: &str) -> Result<Vec<Inside>, CliError> {
        let mut found = Vec::new();
        let mut looked = 0;
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            // Any name in it has the same folder.
            let Some(inside) = Inside::parse(&format!("{folder}x")) else { continue };
            let Some(directory) = self.folder_of(&inside, false)? else { continue };
            let entries = rustix::fs::Dir::read_from(&directory).map_err(|error| told(&folder, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| told(&folder, error))?;
                looked += 1;
                if looked > ENTRIES_MAX {
                    return Err(
                        failed(&folder, "holds too many files").hint("name a folder in the pattern of its source")
                    );
                }
                let Ok(name) = entry.file_name().to_str() else { continue };
                let path = format!("{folder}{name}");
                match kind_of(&directory, &entry).map_err(|error| told(&path, error))? {
                    FileType::Directory if !name.starts_with('.') && path.matches('/').count() < DEPTH_MAX => {
                        open.push(format!("{path}/"));
                    }
                    FileType::RegularFile => found.extend(Inside::parse(&path)),
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The text of a file in the directory or above, and the directory it lies in. Above, it must be the caller's own, root's,
/// or of whoever owns the directory: it says where the key is sent, and others may write into `/tmp`.
///
/// # Errors
/// There is none, it is somebody else's, or it cannot be read.
pub fn find_above(name: &str, start: &Path, bytes_max: u64) -> Result<(std::path::PathBuf, String), CliError> {
    let mut trusted = vec![0, rustix::process::geteuid().as_raw()];
    trusted.extend(std::fs::metadata(start).map(|start| start.uid()).ok());
    for directory in start.ancestors() {
        let path = directory.join(name);
        let opened = match File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened,
        };
        if directory != start && !opened.as_ref().is_ok_and(|opened| is_of(opened, &trusted)) {
            let shown = output::plain(&path.display().to_string());
            return Err(CliError::failed(format!("{shown}: is somebody else's, or cannot be read"))
                .hint("it says where the key is sent: name it with --map if you trust it")
                .code(CliError::USAGE));
        }
        return Ok((directory.to_path_buf(), text_of(&path, opened, bytes_max)?));
    }
    Err(CliError::failed(format!("there is no {name} here or above"))
        .hint("write one, or name it with --map; `quintet manual localization` has an example")
        .code(CliError::USAGE))
}

/// Whether a file is of one of these users.
fn is_of(file: &File, users: &[u32]) -> bool {
    file.metadata().is_ok_and(|known| users.contains(&known.uid()))
}

/// The text of a file that was just opened.
///
/// # Errors
/// It cannot be read, is too large or no text.
pub fn text_of(path: &Path, opened: std::io::Result<File>, bytes_max: u64) -> Result<String, CliError> {
    let unreadable =
        |error: std::io::Error| CliError::failed(format!("{}: {error}", path.display())).code(CliError::USAGE);
    let mut text = String::new();
    let file = opened.map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(std::io::Error::other("is no ordinary file")));
    }
    file.take(bytes_max + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > bytes_max {
        return Err(unreadable(std::io::Error::other(format!("has more than {bytes_max} bytes"))));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn inside(path: &str) -> Inside {
        Inside::parse(path).unwrap_or_else(|| panic!("{path}"))
    }

    #[test]
    fn hostile_paths_are_none() {
        let long = "x".repeat(256);
        let many = "x/".repeat(600) + "x";
        for hostile in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "a//b",
            "a/",
            ".",
            "./a",
            "a\\..\\b",
            "a\0b",
            "a\nb",
            "\u{1b}[2J",
            ".git/hooks/pre-commit",
            "sub/.GIT/config",
            ".quintet-l10n.toml",
            &long,
            &many,
        ] {
            assert_eq!(Inside::parse(hostile), None, "{hostile:?}");
        }
        for fine in ["a", "a/b", "…/ä b.json", "..a", "a..", ".hidden/x", ".github/x"] {
            assert_eq!(inside(fine).as_str(), fine);
        }
    }

    #[test]
    fn files_are_written_whole_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::open(directory.path()).unwrap();
        let path = inside("a/b/c.json");
        assert_eq!(tree.read(&path, 9).unwrap(), None);
        tree.write(&path, b"one").unwrap();
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(directory.path().join("a/b/c.json"), mode).unwrap();
        tree.write(&path, b"two").unwrap();
        assert_eq!(tree.read(&path, 9).unwrap().as_deref(), Some(b"two".as_slice()));
        let found = std::fs::metadata(directory.path().join("a/b/c.json")).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(directory.path().join("a/b")).unwrap().count(), 1, "nothing is left beside it");
        assert!(tree.read(&path, 2).unwrap_err().reason.contains("more than 2 bytes"));
        assert!(tree.write(&inside("a/b"), b"x").unwrap_err().reason.contains("no ordinary file"));
        assert!(tree.write(&inside("a/b/c.json/d"), b"x").is_err());
    }

    #[test]
    fn no_link_leads_out() {
        let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(elsewhere.path().join("secret"), "s").unwrap();
        symlink(elsewhere.path(), directory.path().join("link")).unwrap();
        symlink(elsewhere.path().join("secret"), directory.path().join("file")).unwrap();
        let tree = Tree::open(directory.path()).unwrap();
        for path in ["link/secret", "file"] {
            assert!(tree.read(&inside(path), 9).unwrap_err().hint.is_some(), "{path}");
            assert!(tree.write(&inside(path), b"x").is_err(), "{path}");
        }
        assert!(tree.write(&inside("link/new"), b"x").is_err());
        assert_eq!(std::fs::read(elsewhere.path().join("secret")).unwrap(), b"s");
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1);
        assert_eq!(tree.files("").unwrap(), []);
    }

    #[test]
    fn a_map_above_is_no_strangers() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("project/web");
        std::fs::create_dir_all(&inner).unwrap();
        let found = |start: &Path| find_above(MAP_NAME, start, 9);
        let map = directory.path().join(MAP_NAME);
        std::fs::write(&map, "map").unwrap();
        assert_eq!(found(&inner).unwrap(), (directory.path().to_path_buf(), "map".to_owned()));
        std::fs::write(&map, "0123456789").unwrap();
        assert!(found(&inner).unwrap_err().reason.contains("more than 9 bytes"), "half a map is none");
        std::fs::write(&map, "map").unwrap();
        // Only root can give files away; elsewhere there is nobody to mistrust here.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&map, Some(12_345), None).unwrap();
            assert!(found(&inner).unwrap_err().reason.contains("somebody else's"));
            assert!(found(directory.path()).is_ok(), "who stands beside it means it");
            std::os::unix::fs::chown(&inner, Some(12_345), None).unwrap();
            assert!(found(&inner).is_ok(), "a checkout of another user's, as builds have it");
        }
        std::fs::remove_file(&map).unwrap();
        std::fs::create_dir(&map).unwrap();
        assert!(found(&inner).unwrap_err().reason.contains("no ordinary file"));
    }

    #[test]
    fn files_are_found_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::open(directory.path()).unwrap();
        for path in ["b/x.json", "a.json", "b/c/y.json"] {
            tree.write(&inside(path), b"{}").unwrap();
        }
        std::fs::create_dir(directory.path().join(".cache")).unwrap();
        std::fs::write(directory.path().join(".cache/z.json"), "{}").unwrap();
        let found = |folder: &str| tree.files(folder).unwrap().iter().map(|path| path.0.clone()).collect::<Vec<_>>();
        assert_eq!(found(""), ["a.json", "b/c/y.json", "b/x.json"]);
        assert_eq!(found("b/c/"), ["b/c/y.json"]);
        assert_eq!(found("nowhere/"), [""; 0]);
    }
}
