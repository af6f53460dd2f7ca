//! What is written of a release, piece by piece, on its way from the thread that makes it to the store.

use quintet_platform::secrets::Digest;
use quintet_storage::{Abort, Failure};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::manifest::PageWriter;
use super::model::Entry;
use super::zip::TooLarge;
use crate::refusal::Refusal;

/// How long a piece is, in bytes.
const PIECE_BYTES: usize = 256 << 10;
/// How many pieces wait to be stored.
const PIECES: usize = 4;

/// A piece of a release.
#[derive(Debug)]
pub enum Piece {
    /// Of its archive.
    Archive(Vec<u8>),
    /// Of its manifest.
    Manifest(Vec<u8>),
}

/// Why making a release ends early.
#[derive(Debug)]
pub enum Halt {
    /// It takes longer than the state can be looked at that it is read from.
    StateGone,
    /// Nobody takes it any more.
    Abandoned,
    /// Something is refused, or has failed.
    Aborted(Abort<Refusal>),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Halt {
        Halt::Aborted(Abort::Failed(failure))
    }
}

impl From<Abort<Refusal>> for Halt {
    fn from(abort: Abort<Refusal>) -> Halt {
        Halt::Aborted(abort)
    }
}

impl From<TooLarge> for Halt {
    fn from(TooLarge: TooLarge) -> Halt {
        Halt::Aborted(Abort::Refused(Refusal::ReleaseTooLarge))
    }
}

/// Where pieces are taken from.
pub type Pieces = mpsc::Receiver<Piece>;

/// Where pieces go.
#[derive(Clone)]
pub struct Way(mpsc::Sender<Piece>);

/// A way for pieces, and its end.
pub fn way() -> (Way, Pieces) {
    let (sender, pieces) = mpsc::channel(PIECES);
    (Way(sender), pieces)
}

impl Way {
    /// Sends a piece, once there is room.
    fn send(&self, piece: Piece) -> Result<(), Halt> {
        self.0.blocking_send(piece).map_err(|_| Halt::Abandoned)
    }
}

/// An archive that is being written.
pub struct Archive {
    buffer: Vec<u8>,
    hash: Sha256,
}

impl Archive {
    /// Nothing is written yet.
    pub fn new() -> Archive {
        Archive { buffer: Vec::with_capacity(PIECE_BYTES), hash: Sha256::new() }
    }

    /// Writes some bytes.
    ///
    /// # Errors
    /// [`Halt::Abandoned`]
    pub fn write(&mut self, way: &Way, mut bytes: &[u8]) -> Result<(), Halt> {
        self.hash.update(bytes);
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.buffer.len()));
            self.buffer.extend_from_slice(head);
            bytes = rest;
            if self.buffer.len() == PIECE_BYTES {
                let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE_BYTES));
                way.send(Piece::Archive(full))?;
            }
        }
        Ok(())
    }

    /// Writes what is left; SHA-256 of all.
    ///
    /// # Errors
    /// [`Halt::Abandoned`]
    pub fn finish(self, way: &Way) -> Result<Digest, Halt> {
        way.send(Piece::Archive(self.buffer))?;
        Ok(self.hash.finalize().into())
    }
}

/// A manifest that is being written.
#[derive(Default)]
pub struct Manifest(PageWriter);

impl Manifest {
    /// Writes an entry.
    ///
    /// # Errors
    /// [`Halt::Abandoned`]
    pub fn write(&mut self, way: &Way, entry: Entry) -> Result<(), Halt> {
        match self.0.add(entry)? {
            Some(page) => way.send(Piece::Manifest(page)),
            None => Ok(()),
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// [`Halt::Abandoned`]
    pub fn finish(mut self, way: &Way) -> Result<(), Halt> {
        match self.0.page()? {
            Some(page) => way.send(Piece::Manifest(page)),
            None => Ok(()),
        }
    }
}
