//! Where an image is read from: an open directory, or an open tar. Both are a set of named files that may change under
//! the reader; what is read is trusted only after its digest was checked.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{FileType, OFlags};

use super::layer::{LOOK_BYTES, free_bytes, open_file_below};
use super::tar::{Archive, Kind};
use super::{ImageError, ImageLimits};

/// An image's files.
pub(super) enum Source {
    Directory(OwnedFd),
    Archive { file: File, index: BTreeMap<String, (u64, u64)> },
}

/// Files in the tar of an image, symbolic links included: a few for each layer.
const FILES_MAX: usize = 10_000;
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

impl Source {
    /// Looks at what a client has opened. `spool` makes an empty file for an archive that is compressed as a whole.
    pub fn open(
        opened: OwnedFd,
        limits: &ImageLimits,
        spool: impl FnOnce() -> io::Result<File>,
    ) -> Result<Source, ImageError> {
        // Of what a client may open but not read, a descriptor says no more than where it is.
        if rustix::fs::fcntl_getfl(&opened)?.contains(OFlags::PATH) {
            return Err(ImageError::Bad("it was not opened for reading".into()));
        }
        let found = rustix::fs::fstat(&opened)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Ok(Source::Directory(opened)),
            FileType::RegularFile => {
                let mut file = File::from(opened);
                let mut magic = [0; 2];
                let compressed = file.read_exact_at(&mut magic, 0).is_ok() && magic == GZIP;
                if compressed {
                    let mut spooled = spool()?;
                    let whole = Part { file: &file, offset: 0, end: u64::MAX };
                    let plain = flate2::read::MultiGzDecoder::new(io::BufReader::new(whole));
                    let room = free_bytes(&spooled, limits.disk_reserve_bytes)?;
                    let most = limits.image_bytes.min(room);
                    let mut plain = plain.take(most + 1);
                    // Others write meanwhile: the disk is looked at on the way.
                    while io::copy(&mut (&mut plain).take(LOOK_BYTES), &mut spooled).map_err(gzip_error)? == LOOK_BYTES
                    {
                        free_bytes(&spooled, limits.disk_reserve_bytes)?;
                    }
                    let written = spooled.metadata()?.len();
                    if written > limits.image_bytes {
                        return Err(ImageError::Bad("it unpacks to more than allowed".into()));
                    }
                    if written > most {
                        return Err(io::Error::from(io::ErrorKind::StorageFull).into());
                    }
                    file = spooled;
                }
                let index = index_of(&file)?;
                Ok(Source::Archive { file, index })
            }
            _ => Err(ImageError::Bad("neither a file nor a directory".into())),
        }
    }

    /// Opens one of its files; none if there is no such file.
    pub fn file(&self, name: &str) -> Result<Option<Box<dyn Read + '_>>, ImageError> {
        match self {
            Source::Directory(directory) => match open_file_below(directory, name) {
                Ok(file) => Ok(Some(Box::new(file))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(ImageError::Bad(format!("{}: {error}", name.escape_debug()))),
            },
            Source::Archive { file, index } => Ok(index.get(name).map(|(offset, size)| {
                let part = Part { file, offset: *offset, end: offset + size };
                Box::new(part) as Box<dyn Read>
            })),
        }
    }

    /// How long one of its files is, in bytes.
    pub fn size(&self, name: &str) -> Result<Option<u64>, ImageError> {
        match self {
            Source::Directory(directory) => match open_file_below(directory, name) {
                Ok(file) => Ok(Some(file.metadata()?.len())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(ImageError::Bad(format!("{}: {error}", name.escape_debug()))),
            },
            Source::Archive { index, .. } => Ok(index.get(name).map(|(_, size)| *size)),
        }
    }

    /// A whole small file.
    pub fn document(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, ImageError> {
        let Some(file) = self.file(name)? else { return Ok(None) };
        let mut content = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut content)?;
        if content.len() as u64 > bytes_max {
            return Err(ImageError::Bad(format!("{} is longer than any", name.escape_debug())));
        }
        Ok(Some(content))
    }
}

/// What a decompressor says about damage is about the image, not about this machine.
pub(super) fn gzip_error(error: io::Error) -> ImageError {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            ImageError::Bad(format!("its compression is damaged: {error}"))
        }
        _ => error.into(),
    }
}

/// Where each file of an archive begins, and how long it is. Old docker-archives name a layer twice by a symbolic link.
fn index_of(file: &File) -> Result<BTreeMap<String, (u64, u64)>, ImageError> {
    let whole = Part { file, offset: 0, end: u64::MAX };
    let mut archive = Archive::new(io::BufReader::new(whole));
    let mut index = BTreeMap::new();
    let mut links = Vec::new();
    let mut entries = 0;
    while let Some(entry) = archive.next()? {
        entries += 1;
        if entries > FILES_MAX {
            return Err(ImageError::Bad("more files than an image has".into()));
        }
        let Ok(path) = String::from_utf8(entry.path) else { continue };
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        match entry.kind {
            Kind::File => {
                index.insert(path, (archive.position(), entry.size));
            }
            Kind::SymbolicLink => links.push((path, String::from_utf8_lossy(&entry.link).into_owned())),
            _ => {}
        }
    }
    for (path, link) in links {
        // `<id>/layer.tar` points to `../<other id>/layer.tar`.
        if let Some(found) = link.strip_prefix("../").and_then(|other| index.get(other).copied()) {
            index.insert(path, found);
        }
    }
    Ok(index)
}

/// A part of a file, read by offset: the file's own position is shared with whoever opened it.
struct Part<'a> {
    file: &'a File,
    offset: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// An empty file that has no name and is gone when it is closed.
pub(super) fn nameless(directory: &OwnedFd) -> io::Result<File> {
    use rustix::fs::Mode;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?.into())
}
