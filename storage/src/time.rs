//! The two ways to say when: instants, with the narrow door through which time enters this crate, and the numbers of
//! transactions.

use bincode::{Decode, Encode};

/// A transaction's number in the log, counted from 1; 0 stands for "none yet".
pub type Lsn = u64;

/// An instant: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Timestamp = Timestamp(0);
    /// The last instant that can be written down.
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// From microseconds since the Unix epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Timestamp(micros)
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This instant moved by `seconds` (negative: earlier); stops at the ends of the range.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Timestamp(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// This instant moved by `micros` (negative: earlier); stops at the ends of the range.
    #[must_use]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Timestamp(self.0.saturating_add(micros))
    }

    /// Microseconds from `earlier` to this instant; negative if `earlier` is later.
    #[must_use]
    pub const fn micros_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Where the writer gets the time from. The appliance ties its one clock to this.
pub trait TimeSource: Send + Sync + 'static {
    /// The present instant. It may stand still or jump back; the writer never does.
    fn now(&self) -> Timestamp;
}
