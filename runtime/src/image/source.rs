//! Where an image is read from: an open tar, or a layout whose files the caller opens as they are asked for. Both are a
//! set of named files that may change under the reader; what is read is trusted only after its digest was checked.
//!
//! Nothing is opened here by its path. The runner is root, and would open for its caller what that one may not read.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{FileType, OFlags};

use super::layer::{LOOK_BYTES, free_bytes, open_file_below};
use super::tar::{Archive, Kind};
use super::{ImageError, ImageLimits, fault};

/// Opens a file of a layout by its name below the layout, with the rights of whoever wants the image; none if there is
/// no such file.
pub(crate) type Opener<'a> = dyn Fn(&str) -> Result<Option<OwnedFd>, ImageError> + 'a;

/// What is to be taken in.
pub(crate) enum Given<'a> {
    /// A tar, which the caller has opened.
    Archive(OwnedFd),
    /// The files of an OCI layout.
    Layout(&'a Opener<'a>),
}

/// A file of an image, and its length in bytes.
type OpenFile<'a> = (Box<dyn Read + 'a>, u64);

/// An image's files.
pub(super) enum Source<'a> {
    Layout(&'a Opener<'a>),
    Archive { file: File, index: BTreeMap<String, (u64, u64)> },
}

/// Files in the tar of an image, symbolic links included: a few for each layer.
const FILES_MAX: usize = 10_000;
/// What an archive takes beside the layers in it: headers, documents, padding.
const ARCHIVE_SPARE_BYTES: u64 = 64 << 20;
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

impl<'a> Source<'a> {
    /// Looks at what a client gives. `spool` makes an empty file for an archive that is compressed as a whole.
    pub fn open(
        given: Given<'a>,
        limits: &ImageLimits,
        spool: impl FnOnce() -> io::Result<File>,
    ) -> Result<Source<'a>, ImageError> {
        let mut file = match given {
            Given::Layout(opener) => return Ok(Source::Layout(opener)),
            Given::Archive(opened) => readable(opened)?,
        };
        // One of holes costs its owner nothing, and whoever looks through it a day.
        if file.metadata()?.len() > limits.image_bytes.saturating_add(ARCHIVE_SPARE_BYTES) {
            return Err(ImageError::Bad("it is larger than allowed".into()));
        }
        let mut magic = [0; 2];
        let compressed = file.read_exact_at(&mut magic, 0).is_ok() && magic == GZIP;
        if compressed {
            let mut spooled = spool()?;
            let plain = Decompressed::new(io::BufReader::new(Part::whole(&file)));
            let room = free_bytes(&spooled, limits.disk_reserve_bytes)?;
            let most = limits.image_bytes.min(room);
            let mut plain = plain.take(most + 1);
            // Others write meanwhile: the disk is looked at on the way.
            while io::copy(&mut (&mut plain).take(LOOK_BYTES), &mut spooled)? == LOOK_BYTES {
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

    /// Opens one of its files, and says how long it is, in bytes; none if there is no such file.
    pub fn file(&self, name: &str) -> Result<Option<OpenFile<'_>>, ImageError> {
        match self {
            Source::Layout(opener) => {
                let Some(opened) = opener(name)? else { return Ok(None) };
                let file = readable(opened)?;
                let size = file.metadata()?.len();
                // What is written to it meanwhile is not waited for.
                Ok(Some((Box::new(Part { file, offset: 0, end: size }), size)))
            }
            Source::Archive { file, index } => Ok(index.get(name).map(|(offset, size)| {
                let part = Part { file, offset: *offset, end: offset + size };
                (Box::new(part) as Box<dyn Read>, *size)
            })),
        }
    }

    /// A whole small file.
    pub fn document(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, ImageError> {
        let Some((file, _)) = self.file(name)? else { return Ok(None) };
        let mut content = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut content)?;
        if content.len() as u64 > bytes_max {
            return Err(ImageError::Bad("one of its documents is longer than any".into()));
        }
        Ok(Some(content))
    }
}

/// A file that a client has opened for reading.
fn readable(opened: OwnedFd) -> Result<File, ImageError> {
    let found = rustix::fs::fstat(&opened)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(ImageError::Bad("what was passed is not a regular file".into()));
    }
    // Of what a client may open but not read, a descriptor says no more than where it is.
    let flags = rustix::fs::fcntl_getfl(&opened)?;
    if flags.contains(OFlags::PATH) || flags & OFlags::RWMODE == OFlags::WRONLY {
        return Err(ImageError::Bad("it was not opened for reading".into()));
    }
    Ok(opened.into())
}

/// Opens a file of a layout below its directory, with the rights of this process: a regular file, by no link.
pub(crate) fn open_of_layout(directory: impl AsFd, name: &str) -> io::Result<Option<OwnedFd>> {
    match open_file_below(directory, name) {
        Ok(file) => Ok(Some(file.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads what gzip has compressed. What the decompressor says about damage is a fault of the image's, and nothing else
/// that fails is told as damaged compression.
pub(super) struct Decompressed<R>(flate2::read::MultiGzDecoder<R>);

impl<R: Read> Decompressed<R> {
    pub fn new(inner: R) -> Decompressed<R> {
        Decompressed(flate2::read::MultiGzDecoder::new(inner))
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                fault(&format!("its compression is damaged: {error}"))
            }
            _ => error,
        })
    }
}

/// Where each file of an archive begins, and how long it is. Old docker-archives name a layer twice by a symbolic link.
fn index_of(file: &File) -> Result<BTreeMap<String, (u64, u64)>, ImageError> {
    let mut archive = Archive::new(io::BufReader::new(Part::whole(file)));
    let mut index = BTreeMap::new();
    let mut links = Vec::new();
    let mut entries = 0;
    while let Some(entry) = archive.next()? {
        entries += 1;
        if entries > FILES_MAX {
            return Err(ImageError::Bad("more files than an image has".into()));
        }
        let Ok(path) = String::from_utf8(entry.path) else { continue };
        let path = plain_name(&path).to_owned();
        match entry.kind {
            Kind::File => {
                index.insert(path, (archive.position(), entry.size));
            }
            // What has several names in the directory that was packed.
            Kind::HardLink => {
                let link = String::from_utf8_lossy(&entry.link);
                if let Some(found) = index.get(plain_name(&link)).copied() {
                    index.insert(path, found);
                }
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

/// The same name however an archive begins it.
fn plain_name(name: &str) -> &str {
    name.trim_start_matches("./").trim_start_matches('/')
}

/// A part of a file, read by offset: the file's own position is shared with whoever opened it.
struct Part<F> {
    file: F,
    offset: u64,
    end: u64,
}

impl<F: Borrow<File>> Part<F> {
    fn whole(file: F) -> Part<F> {
        Part { file, offset: 0, end: u64::MAX }
    }
}

impl<F: Borrow<File>> Read for Part<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.borrow().read_at(buffer.get_mut(..most).unwrap_or_default(), self.offset)?;
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
