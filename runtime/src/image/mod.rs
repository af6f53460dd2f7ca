//! Images: taken in from OCI layouts and docker-archives, checked against their digests, their layers unpacked once.
//!
//! What is kept of an image is what a container needs: the unpacked layers, one directory each under `layers/`, named
//! by the digest of the uncompressed archive and shared by all images that have it; and a record. The archives
//! themselves are not kept. A layer is unpacked under `staging/` and gets its name once every digest was found right,
//! so a name says that what lies there is whole; `staging/` is emptied at every start.

mod layer;
mod manifest;
mod source;
mod store;
mod tar;

#[cfg(test)]
mod tests;

use std::io;

use crate::records::RecordsError;

pub(crate) use layer::{IDS, ROOT_IS_SAID, open_directory};
pub(crate) use source::{Given, open_of_layout};
pub(crate) use store::{Images, Removed, make_private_directory, remove_tree};

/// What an image may be. What exceeds it is refused.
#[derive(Clone, Debug)]
pub struct ImageLimits {
    /// Bytes of one layer, unpacked.
    pub layer_bytes: u64,
    /// Bytes of all layers of an image, unpacked.
    pub image_bytes: u64,
    /// Files and directories of one layer.
    pub entries: u64,
    /// Directories within each other.
    pub depth: usize,
    /// Layers of an image. Overlayfs takes 500; image tools stop at 127.
    pub layers: usize,
    /// What a layer may be unpacked whatever its compressed size, in bytes, archive headers included.
    pub expansion_free_bytes: u64,
    /// How many times its compressed size a layer may be beyond that.
    pub expansion: u64,
    /// Free space that an import leaves on the disk where its caller does not say, in bytes.
    pub disk_reserve_bytes: u64,
}

impl Default for ImageLimits {
    fn default() -> ImageLimits {
        ImageLimits {
            layer_bytes: 16 << 30,
            image_bytes: 32 << 30,
            entries: 1_000_000,
            depth: 128,
            layers: 127,
            expansion_free_bytes: 100 << 20,
            expansion: 200,
            disk_reserve_bytes: 512 << 20,
        }
    }
}

/// An import came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// The image is at fault.
    #[error("{0}")]
    Bad(String),
    /// A layer takes more than it was given.
    #[error("it unpacks to more than allowed")]
    TooMuch,
    /// All layers take more than the caller gave: this many bytes.
    #[error("it takes more than {0} bytes unpacked")]
    TooLarge(u64),
    /// This machine is.
    #[error(transparent)]
    Io(io::Error),
    /// The records are.
    #[error("the runner's records: {0}")]
    Records(String),
}

/// A fault of the image's that is met by whoever reads its bytes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Fault(String);

/// Says through a reader that the image is at fault. Any other error that comes out of a reader or of what is done with
/// the bytes is this machine's.
fn fault(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Fault(reason.to_owned()))
}

impl From<io::Error> for ImageError {
    fn from(error: io::Error) -> Self {
        match error.get_ref() {
            Some(fault) if fault.is::<Fault>() => ImageError::Bad(fault.to_string()),
            _ => ImageError::Io(error),
        }
    }
}

impl From<RecordsError> for ImageError {
    fn from(error: RecordsError) -> Self {
        ImageError::Records(error.reason)
    }
}

impl From<rustix::io::Errno> for ImageError {
    fn from(error: rustix::io::Errno) -> Self {
        ImageError::Io(error.into())
    }
}
