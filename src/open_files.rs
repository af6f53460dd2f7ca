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

/// How many connections each of several listeners may serve, in the order of their ceilings as they were given. All have
/// the same share, and what one does not need, for its ceiling is lower, goes to the others: whoever asks for many takes
/// nothing from those who ask for few. Where they are encrypted, a quarter as many again may be on their way there
/// (`Connections::handshakes_max`).
#[must_use]
pub fn connections_of(limit: u64, ceilings: &[u32], is_encrypted: bool) -> Vec<u32> {
    let files = limit - KEPT.min(limit / 2);
    let mut left = if is_encrypted { files / 5 * 4 } else { files };
    let mut listeners: Vec<(usize, u32)> = ceilings.iter().copied().enumerate().collect();
    // Those who need least first, so that what they leave is known before the others are given theirs.
    listeners.sort_by_key(|(_, ceiling)| *ceiling);
    let mut waiting = ceilings.len() as u64;
    let mut granted = Vec::new();
    for (place, ceiling) in listeners {
        let share = left / waiting;
        let own = u32::try_from(share).unwrap_or(u32::MAX).min(ceiling);
        granted.push((place, own));
        left -= u64::from(own);
        waiting -= 1;
    }
    granted.sort_unstable();
    granted.into_iter().map(|(_, own)| own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::listener::{Capacity, Connections};

    /// Five listeners that are soon done with their requests, and one for streams.
    const HOUSE: [u32; 6] = [4_096, 4_096, 16_384, 4_096, 4_096, 4_096];

    #[test]
    fn storage_keeps_its_part() {
        assert_eq!(connections_of(512, &[4_096; 2], false), [128; 2]);
        assert_eq!(connections_of(2_048, &[4_096; 2], false), [512; 2]);
        assert_eq!(connections_of(20_000, &[4_096; 6], false), [3_162, 3_162, 3_163, 3_163, 3_163, 3_163]);
        assert_eq!(connections_of(u64::MAX, &[u32::MAX], false), [u32::MAX]);
        assert!(connections_of(4_096, &[], false).is_empty());
        let served = connections_of(2_048, &[4_096; 2], true);
        assert_eq!(served, [408, 408]);
        let handshakes = |served| Connections::new(Capacity::USUAL, served).handshakes_max();
        assert!(served.iter().map(|served| served + handshakes(*served)).sum::<u32>() <= 1_024);
    }

    #[test]
    fn whoever_asks_for_many_takes_nothing_from_the_others() {
        // Little: the same for all.
        assert_eq!(connections_of(4_096, &HOUSE, false), [512; 6]);
        assert_eq!(connections_of(1_024, &HOUSE, false).iter().min(), Some(&85));
        // More than the others need: they have all they ask for, and the streams what is left.
        assert_eq!(connections_of(32_768, &HOUSE, false), [4_096, 4_096, 11_264, 4_096, 4_096, 4_096]);
        // As the unit has it (LimitNOFILE), encrypted: all have all.
        assert_eq!(connections_of(65_536, &HOUSE, true), HOUSE);
        for limit in (512..70_000).step_by(61) {
            for is_encrypted in [false, true] {
                let granted = connections_of(limit, &HOUSE, is_encrypted);
                let alike = connections_of(limit, &[4_096; 6], is_encrypted);
                for place in [0, 1, 3, 4, 5] {
                    assert!(granted[place].abs_diff(alike[place]) <= 1, "{limit}: {granted:?}, {alike:?}");
                }
                let files = granted.iter().map(|served| u64::from(served + if is_encrypted { served / 4 } else { 0 }));
                assert!(files.sum::<u64>() + KEPT.min(limit / 2) <= limit, "{limit}: {granted:?}");
            }
        }
    }
}
