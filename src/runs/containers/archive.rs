//! What is kept of a run's container: samples and lines, as one compressed text.
//!
//! Zlib over lines of JSON: first an array of samples, then one object a line of log, standard output before standard
//! error, each in its own order. Written and read as a stream, so that neither takes more memory than a line.

use std::io::{self, BufRead as _, BufReader, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use quintet_runtime::{LogLine, Sample, Stream};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read as _, Snapshot, Timestamp, WriteTx, large};
use serde::{Deserialize, Serialize};

use super::changes::find;
use super::sealing;
use super::tables::{ARCHIVES, ArchiveRow, CONTAINERS};
use crate::model::RunKey;

/// A line as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    stream: Stream,
    line: LogLine,
}

/// What is kept of a container's logs and samples, compressed.
#[derive(Clone, Debug)]
pub(super) enum Archive {
    /// A small one.
    Small(Vec<u8>),
    /// A large one, which the row adopts.
    Large(large::LargeValue),
    /// There is none: what had it is gone.
    Lost,
}

/// Keeps the archive of an ended run; its container itself can go then. None: there never was one.
pub(super) fn keep(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    archive: Option<&Archive>,
) -> Result<(), Failure> {
    tx.delete(&CONTAINERS, &run_key.1);
    // A run that was deleted meanwhile leaves nothing; a large value that nobody adopts is collected.
    let is_wanted =
        find(tx, run_key)?.is_some_and(|run| run.state.is_terminal()) && !tx.contains(&ARCHIVES, &run_key)?;
    let Some(archive) = archive.filter(|_| is_wanted) else { return Ok(()) };
    let row = match archive {
        Archive::Lost => ArchiveRow::Lost,
        Archive::Large(value) => match large::adopt(tx, now, value) {
            Ok(()) => ArchiveRow::Large(value.clone()),
            Err(Abort::Refused(_)) => ArchiveRow::Lost,
            Err(Abort::Failed(failure)) => return Err(failure),
        },
        Archive::Small(bytes) => {
            sealing::seal(tx, &ARCHIVES, run_key, bytes)?.map_or(ArchiveRow::Lost, ArchiveRow::Here)
        }
    };
    tx.put(&ARCHIVES, &run_key, &row)
}

/// Lets go of what is kept of a run.
pub(super) fn release(tx: &mut WriteTx<'_>, now: Timestamp, run_key: RunKey) -> Result<(), Failure> {
    if let Some(ArchiveRow::Large(value)) = tx.get(&ARCHIVES, &run_key)? {
        large::release(tx, now, &value)?;
    }
    tx.delete(&ARCHIVES, &run_key);
    Ok(())
}

/// Whether something is kept of a run.
pub(super) fn is_kept(read: &Snapshot, run_key: RunKey) -> Result<bool, Failure> {
    read.contains(&ARCHIVES, &run_key)
}

/// Whether what is kept of a run is as it was kept.
pub(super) fn is_sound(read: &Snapshot, run_key: RunKey) -> Result<bool, Failure> {
    match read.get(&ARCHIVES, &run_key)? {
        Some(ArchiveRow::Large(value)) => large::is_sound(read, &value),
        _ => Ok(true),
    }
}

/// Writes an archive.
pub(super) struct Writer(ZlibEncoder<Vec<u8>>);

impl Writer {
    pub(super) fn new(samples: &[Sample]) -> io::Result<Writer> {
        let mut writer = Writer(ZlibEncoder::new(Vec::new(), Compression::fast()));
        writer.put(&samples)?;
        Ok(writer)
    }

    fn put(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, value)?;
        self.0.write_all(b"\n")
    }

    pub(super) fn line(&mut self, stream: Stream, line: &LogLine) -> io::Result<()> {
        self.put(&Kept { stream, line: line.clone() })
    }

    /// How many bytes wait to be taken.
    pub(super) fn ready_bytes(&self) -> usize {
        self.0.get_ref().len()
    }

    /// Takes what is ready.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.0.get_mut())
    }

    /// What is left.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        self.0.finish()
    }
}

/// Reads an archive.
pub(super) struct Reader {
    text: BufReader<ZlibDecoder<Box<dyn io::Read + Send>>>,
    samples: Vec<Sample>,
}

impl Reader {
    /// The archive of a run; none if nothing is kept.
    pub(super) fn open(read: &Snapshot, run_key: RunKey) -> Result<Option<Reader>, Failure> {
        let source: Box<dyn io::Read + Send> = match read.get(&ARCHIVES, &run_key)? {
            None | Some(ArchiveRow::Lost) => return Ok(None),
            Some(ArchiveRow::Here(sealed)) => match sealing::open(read, &ARCHIVES, run_key, &sealed)? {
                Some(bytes) => Box::new(io::Cursor::new(bytes.to_vec())),
                None => return Ok(None),
            },
            Some(ArchiveRow::Large(value)) => Box::new(Chunks::of(read.clone(), value)),
        };
        Reader::new(source).map(Some).map_err(|error| damaged(&error))
    }

    fn new(source: Box<dyn io::Read + Send>) -> io::Result<Reader> {
        let mut text = BufReader::new(ZlibDecoder::new(source));
        let mut first = String::new();
        text.read_line(&mut first)?;
        Ok(Reader { samples: serde_json::from_str(&first)?, text })
    }

    /// What the container used.
    pub(super) fn samples(self) -> Vec<Sample> {
        self.samples
    }

    /// The next line.
    pub(super) fn next(&mut self) -> Result<Option<(Stream, LogLine)>, Failure> {
        let mut text = String::new();
        let read = self.text.read_line(&mut text).map_err(|error| damaged(&error))?;
        if read == 0 {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_str(&text).map_err(|error| damaged(&error.into()))?;
        Ok(Some((kept.stream, kept.line)))
    }
}

fn damaged(error: &io::Error) -> Failure {
    Failure::Damaged(format!("the archive of a run: {error}"))
}

/// A large value as a stream.
struct Chunks {
    read: Snapshot,
    value: large::LargeValue,
    next: u32,
    bytes: Vec<u8>,
    place: usize,
}

impl Chunks {
    fn of(read: Snapshot, value: large::LargeValue) -> Chunks {
        Chunks { read, value, next: 0, bytes: Vec::new(), place: 0 }
    }
}

impl io::Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.place == self.bytes.len() {
            match large::read_chunk(&self.read, &self.value, self.next) {
                Ok(None) => return Ok(0),
                Ok(Some(chunk)) => (self.bytes, self.place) = (chunk.to_vec(), 0),
                Err(Abort::Refused(Erased)) => return Ok(0),
                Err(Abort::Failed(failure)) => return Err(io::Error::other(failure.to_string())),
            }
            self.next += 1;
        }
        let rest = self.bytes.get(self.place..).unwrap_or_default();
        let count = rest.len().min(into.len());
        for (to, from) in into.iter_mut().zip(rest) {
            *to = *from;
        }
        self.place += count;
        Ok(count)
    }
}

/// Whether a text is JSON, without building what it says.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let sample = Sample {
            at_micros: 5,
            paused: true,
            cpu_percent: 12.5,
            memory_bytes: 1,
            memory_limit_bytes: 2,
            pids: 3,
            io_read_bytes: 4,
            io_write_bytes: 5,
        };
        let line = |number: u64, text: &str| LogLine { number, at_micros: 7, text: text.into(), continues: false };
        let mut writer = Writer::new(&[sample]).unwrap();
        writer.line(Stream::Stdout, &line(0, "a \u{fffd} \"quoted\"")).unwrap();
        let mut bytes = writer.take();
        writer.line(Stream::Stderr, &line(9, "")).unwrap();
        bytes.extend(writer.finish().unwrap());
        let open = || Reader::new(Box::new(io::Cursor::new(bytes.clone()))).unwrap();
        assert_eq!(open().samples(), [sample]);
        let mut reader = open();
        assert_eq!(reader.next().unwrap(), Some((Stream::Stdout, line(0, "a \u{fffd} \"quoted\""))));
        assert_eq!(reader.next().unwrap(), Some((Stream::Stderr, line(9, ""))));
        assert_eq!(reader.next().unwrap(), None);
    }
}
