//! How large a file may be, and how deep, and how long it may take to read.

/// The largest file that is read, in bytes (contract, "Limits").
pub const FILE_BYTES_MAX: usize = 52_428_800;
/// The deepest nesting of mappings and sequences; the root is the first level.
pub const DEPTH_MAX: usize = 64;
/// The most string values in one file; a plural counts once for each of its forms.
pub const UNITS_MAX: usize = 200_000;
/// The most values of any kind in one file, those that are no strings included; more are refused as too many units.
/// It bounds what reading a file of 50 MiB takes in memory.
pub const VALUES_MAX: usize = 1_000_000;
/// The most bytes that the paths of all string values may have together; more are refused as too many units. A path
/// repeats the names of all that it lies in, so that a small file could have paths of a gigabyte.
pub const PATHS_BYTES_MAX: usize = 64 << 20;
/// The longest key path, in characters (Unicode scalar values).
pub const PATH_CHARACTERS_MAX: usize = 1_024;
/// How long reading may take: the deadline to pass to [`read`](super::read) is now and this.
pub const READING_SECONDS_MAX: u64 = 10;
