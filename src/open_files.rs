//! How many files the process may open, and how many of them connections may take: whatever clients do, storage finds
//! a file descriptor when it needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::start_error::StartError;

/// What storage and everything else but connections is sure to have. The log, the tables and their compactions take
/// some dozens; the rest is room for tables to come.
pub const KEPT: u64 = 1_024;

/// With fewer the appliance does not start: half of them would be too few for storage.
pub const NEEDED: u64 = 512;

/// Raises the limit as far as this process may, and says how far that is.
///
/// # Errors
/// [`StartError::TooFewFiles`]
pub fn raise_limit() -> Result<u64, StartError> {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if limit < NEEDED { Err(StartError::TooFewFiles { limit, needed: NEEDED }) } else { Ok(limit) }
}

/// How far a process of this user may raise the limit.
#[must_use]
pub fn highest_limit() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// How many connections each of so many listeners may serve. Where they are encrypted, a quarter as many again may be on
/// their way there (`Connections::handshakes_max`).
#[must_use]
pub fn connections_each(limit: u64, listeners: usize, is_encrypted: bool) -> u32 {
    let kept = KEPT.min(limit / 2);
    let shared = (limit - kept) / (listeners.max(1) as u64);
    let served = if is_encrypted { shared / 5 * 4 } else { shared };
    u32::try_from(served).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_keeps_its_part() {
        assert_eq!(connections_each(512, 2, false), 128);
        assert_eq!(connections_each(2_048, 2, false), 512);
        assert_eq!(connections_each(20_000, 6, false), 3_162);
        assert_eq!(connections_each(u64::MAX, 1, false), u32::MAX);
        assert_eq!(connections_each(4_096, 0, false), 3_072);
        let served = connections_each(2_048, 2, true);
        assert_eq!(served, 408);
        assert!(served + crate::listener::Connections::new(served).handshakes_max() <= 512);
    }
}
