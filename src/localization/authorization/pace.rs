//! How often the authorization system is asked: 50 times a second, and no more (localization, S4).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many calls a second there may be, and at once after a rest.
const CALLS_PER_SECOND: u32 = 50;
/// How many calls are left for requests, whom somebody waits for.
const KEPT_FOR_REQUESTS: u32 = 10;
/// How long those who have time wait before they look again.
const WAIT: Duration = Duration::from_millis(20);

/// The calls of the last second.
#[derive(Debug)]
pub struct Pace {
    state: Mutex<Second>,
}

/// A second that has begun.
#[derive(Debug)]
struct Second {
    begun: Instant,
    calls: u32,
}

impl Pace {
    /// Nobody has called yet.
    #[must_use]
    pub fn new() -> Pace {
        Pace { state: Mutex::new(Second { begun: Instant::now(), calls: 0 }) }
    }

    /// Takes a call, if there is one left.
    pub fn take(&self) -> bool {
        self.take_up_to(CALLS_PER_SECOND, Instant::now())
    }

    fn take_up_to(&self, most: u32, now: Instant) -> bool {
        let mut second = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(second.begun) >= Duration::from_secs(1) {
            *second = Second { begun: now, calls: 0 };
        }
        let may = second.calls < most;
        second.calls += u32::from(may);
        may
    }

    /// Whether more than those for requests are left.
    fn has_spare(&self, now: Instant) -> bool {
        let second = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(second.begun) >= Duration::from_secs(1)
            || second.calls + KEPT_FOR_REQUESTS < CALLS_PER_SECOND
    }

    /// Waits until more than those for requests are left.
    pub async fn wait(&self) {
        while !self.has_spare(Instant::now()) {
            tokio::time::sleep(WAIT).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_calls_in_a_second() {
        let pace = Pace::new();
        let begun = Instant::now() + Duration::from_secs(2);
        let taken = (0..100).filter(|_| pace.take_up_to(CALLS_PER_SECOND, begun)).count();
        assert_eq!(taken, 50);
        assert!(!pace.take_up_to(CALLS_PER_SECOND, begun + Duration::from_millis(999)));
        assert!(!pace.has_spare(begun + Duration::from_millis(999)));
        assert!(pace.has_spare(begun + Duration::from_secs(1)));
        assert!(pace.take_up_to(CALLS_PER_SECOND, begun + Duration::from_secs(1)));
        let again = (0..100).take_while(|_| pace.has_spare(begun + Duration::from_secs(1)));
        let spare = again.filter(|_| pace.take_up_to(CALLS_PER_SECOND, begun + Duration::from_secs(1))).count();
        assert_eq!(spare, 39, "ten are left for requests");
    }
}
