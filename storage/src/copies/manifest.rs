//! Manifests: which files a checkpoint or a backup consists of, with their lengths and SHA-256 digests.
//!
//! A manifest is written last and read first: files without one are no checkpoint. It is text, so that a person can
//! check it with `sha256sum`.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::env::real::{open_regular, replace_file};
use crate::hex::hexadecimal;
use crate::time::Lsn;

/// The manifest's name in the directory it describes.
pub(crate) const MANIFEST_FILE: &str = "QUINTET-MANIFEST";
const TITLE: &str = "quintet manifest 1";
/// How much of a file is read at once.
const READ_BYTES: usize = 1 << 20;
/// More than any manifest has.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// One file of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path below the directory.
    pub(crate) name: String,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub(crate) sha256: String,
}

/// The files of one directory at one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The data directory it belongs to.
    pub(crate) directory_id: Uuid,
    /// Everything up to this transaction is in the files, perhaps more.
    pub(crate) lsn: Lsn,
    /// The files, by name.
    pub(crate) entries: Vec<Entry>,
}

/// Why the files are not what a manifest says.
#[derive(Debug)]
pub(crate) struct Mismatch {
    /// The file.
    pub(crate) file: PathBuf,
    /// What is wrong with it.
    pub(crate) reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.reason)
    }
}

/// Told of each stretch of bytes that was read; an error ends the reading.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(u64) -> io::Result<()>;

impl Manifest {
    /// Describes the files of `directory`. A file that is the very one an `earlier` manifest describes in its
    /// directory (a hard link) is not read again.
    pub(crate) fn of(
        directory: &Path,
        directory_id: Uuid,
        lsn: Lsn,
        earlier: Option<(&Path, &Manifest)>,
        progress: Progress<'_>,
    ) -> io::Result<Manifest> {
        let mut entries = Vec::new();
        for name in names_in(directory)? {
            let path = directory.join(&name);
            let known = earlier.and_then(|(place, manifest)| manifest.entry_of_same_file(place, &name, &path));
            entries.push(match known {
                Some(entry) => entry.clone(),
                None => {
                    let (bytes, sha256) = digest_of(&path, u64::MAX, progress)?;
                    Entry { name, bytes, sha256 }
                }
            });
        }
        Ok(Manifest { directory_id, lsn, entries })
    }

    fn entry_of_same_file(&self, place: &Path, name: &str, path: &Path) -> Option<&Entry> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let (here, there) = (fs::metadata(path).ok()?, fs::metadata(place.join(name)).ok()?);
        let is_same = (here.dev(), here.ino(), here.len()) == (there.dev(), there.ino(), entry.bytes);
        is_same.then_some(entry)
    }

    /// All files together, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    fn text(&self) -> String {
        let mut text = format!("{TITLE}\ndirectory_id {}\nlsn {}\n", self.directory_id, self.lsn);
        for Entry { name, bytes, sha256 } in &self.entries {
            text.push_str(&format!("file {sha256} {bytes} {name}\n"));
        }
        text.push_str(&format!("end {}\n", hexadecimal(&Sha256::digest(text.as_bytes()))));
        text
    }

    fn parse(text: &str) -> Option<Manifest> {
        let (body, end) = text.rsplit_once("end ")?;
        if end.trim_end() != hexadecimal(&Sha256::digest(body.as_bytes())) {
            return None;
        }
        let mut lines = body.lines();
        (lines.next()? == TITLE).then_some(())?;
        let directory_id = lines.next()?.strip_prefix("directory_id ")?.parse().ok()?;
        let lsn = lines.next()?.strip_prefix("lsn ")?.parse().ok()?;
        let mut entries = Vec::new();
        for line in lines {
            let mut words = line.strip_prefix("file ")?.splitn(3, ' ');
            let (sha256, bytes, name) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
            // What is checked and copied by a manifest stays below its directory.
            let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            is_below.then_some(())?;
            entries.push(Entry { name: name.to_owned(), bytes, sha256: sha256.to_owned() });
        }
        Some(Manifest { directory_id, lsn, entries })
    }

    /// Writes the manifest into the directory it describes, durably.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        replace_file(&directory.join(MANIFEST_FILE), self.text().as_bytes())
    }

    /// Reads a directory's manifest without looking at its files; `None` if there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Manifest>, Mismatch> {
        let file = directory.join(MANIFEST_FILE);
        let mut text = String::new();
        let opened = open_regular(&file).and_then(|open| open.take(MANIFEST_BYTES_MAX).read_to_string(&mut text));
        match opened {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Mismatch { file, reason: e.to_string() }),
            Ok(_) => {}
        }
        match Manifest::parse(&text) {
            Some(manifest) => Ok(Some(manifest)),
            None => Err(Mismatch { file, reason: "the manifest is cut off or changed".to_owned() }),
        }
    }

    /// Reads every file and compares it; the first difference is the error.
    pub(crate) fn check(&self, directory: &Path, progress: Progress<'_>) -> Result<(), Mismatch> {
        match self.mismatches(directory, 1, progress).pop() {
            None => Ok(()),
            Some(mismatch) => Err(mismatch),
        }
    }

    /// Reads every file and compares it; the first `limit` differences.
    pub(crate) fn mismatches(&self, directory: &Path, limit: usize, progress: Progress<'_>) -> Vec<Mismatch> {
        let mut found = Vec::new();
        for entry in &self.entries {
            if found.len() >= limit {
                break;
            }
            let file = directory.join(&entry.name);
            let reason = match digest_of(&file, entry.bytes, progress) {
                Ok((bytes, _)) if bytes > entry.bytes => format!("it has more than the {} bytes written", entry.bytes),
                Ok((bytes, _)) if bytes < entry.bytes => {
                    format!("it has {bytes} bytes, {} were written", entry.bytes)
                }
                Ok((_, sha256)) if sha256 != entry.sha256 => "its content is not what was written".to_owned(),
                Ok(_) => continue,
                Err(e) => e.to_string(),
            };
            found.push(Mismatch { file, reason });
        }
        found
    }
}

/// The files of a directory but its manifest, by name.
fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("a file name is not text"))?;
        if name != MANIFEST_FILE && entry.file_type()?.is_file() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A file's length and SHA-256; no more is read than a byte behind `bytes_max`.
pub(crate) fn digest_of(path: &Path, bytes_max: u64, progress: Progress<'_>) -> io::Result<(u64, String)> {
    let mut file = open_regular(path)?.take(bytes_max.saturating_add(1));
    let mut digest = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut bytes = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        digest.update(buffer.get(..count).unwrap_or_default());
        bytes += count as u64;
        progress(count as u64)?;
    }
    Ok((bytes, hexadecimal(&digest.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent() -> impl FnMut(u64) -> io::Result<()> {
        |_| Ok(())
    }

    #[test]
    fn every_changed_bit_missing_file_and_cut_manifest_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        fs::write(place.join("a.sst"), [7; 5000]).unwrap();
        fs::write(place.join("CURRENT"), "MANIFEST-000001\n").unwrap();
        let manifest = Manifest::of(place, Uuid::from_u128(7), 42, None, &mut silent()).unwrap();
        manifest.write(place).unwrap();
        assert_eq!(Manifest::read(place).unwrap().as_ref(), Some(&manifest));
        manifest.check(place, &mut silent()).unwrap();

        fs::write(place.join("a.sst"), [[7; 4999].as_slice(), &[6]].concat()).unwrap();
        assert!(manifest.check(place, &mut silent()).unwrap_err().to_string().contains("a.sst: its content"));
        fs::write(place.join("a.sst"), [7; 4999]).unwrap();
        assert!(manifest.check(place, &mut silent()).unwrap_err().reason.contains("5000 were written"));
        fs::remove_file(place.join("a.sst")).unwrap();
        assert!(manifest.check(place, &mut silent()).is_err());

        let text = fs::read(place.join(MANIFEST_FILE)).unwrap();
        for at in 0..text.len() {
            let mut flipped = text.clone();
            flipped[at] ^= 1;
            fs::write(place.join(MANIFEST_FILE), &flipped).unwrap();
            // The line's end behind the digest may be anything that is no digit.
            let read = Manifest::read(place);
            assert!(read.is_err() || at == text.len() - 1, "byte {at} flipped");
            fs::write(place.join(MANIFEST_FILE), &text[..at]).unwrap();
            assert!(Manifest::read(place).is_err() || at == text.len() - 1, "cut to {at} bytes");
        }
        fs::remove_file(place.join(MANIFEST_FILE)).unwrap();
        assert!(Manifest::read(place).unwrap().is_none());
    }

    #[test]
    fn a_manifest_never_points_out_of_its_directory() {
        for name in ["../x", "/etc/passwd", "a/../../b"] {
            let entry = Entry { name: name.to_owned(), bytes: 1, sha256: "00".to_owned() };
            let manifest = Manifest { directory_id: Uuid::nil(), lsn: 1, entries: vec![entry] };
            assert_eq!(Manifest::parse(&manifest.text()), None, "{name}");
        }
    }

    #[test]
    fn only_the_same_file_is_taken_over_from_an_earlier_manifest() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        fs::create_dir(&old).unwrap();
        fs::create_dir(&new).unwrap();
        fs::write(old.join("1.sst"), "same").unwrap();
        fs::write(old.join("2.sst"), "old!").unwrap();
        fs::hard_link(old.join("1.sst"), new.join("1.sst")).unwrap();
        fs::write(new.join("2.sst"), "new!").unwrap();
        let earlier = Manifest::of(&old, Uuid::nil(), 1, None, &mut silent()).unwrap();
        let mut read = 0;
        let later = Manifest::of(&new, Uuid::nil(), 2, Some((&old, &earlier)), &mut |bytes| {
            read += bytes;
            Ok(())
        });
        assert_eq!(read, 4, "only the file of the same name and length that is another one");
        later.unwrap().check(&new, &mut silent()).unwrap();
    }
}
