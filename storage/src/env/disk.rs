//! What the log asks of a disk: one directory of files.

use std::io;

/// One directory of files. Names are plain file names without separators.
pub(crate) trait Disk: Send + Sync {
    /// Makes an empty file, or empties an existing one, and opens it for reading and writing.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Gives a file another name, replacing what bore it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file's name.
    fn unlink(&self, name: &str) -> io::Result<()>;
    /// The names in the directory, sorted.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes creations, renames and removals so far durable.
    fn sync_directory(&self) -> io::Result<()>;
}

/// One open file.
pub(crate) trait DiskFile: Send {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Fills `buffer` from `offset`; how many bytes there were before the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Makes the file's content and length durable.
    fn sync_data(&self) -> io::Result<()>;
}
