//! Whether a caller takes what is written to him: for streams that say how they stand.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What the other end of a connection has taken of what was written to it. The listener puts one into the extensions of
/// requests to sites that ask for it (the time until which a caller must have taken what was written is theirs to say).
/// Clones share it.
///
/// The listener looks whenever something is written. So a stream that has little to say writes a comment now and then, and
/// what is told here is as old as its last one.
#[derive(Clone, Debug)]
pub struct Outgoing(Arc<Mutex<Instant>>);

impl Outgoing {
    /// Of a connection that began at this instant.
    #[must_use]
    pub fn new(began_at: Instant) -> Outgoing {
        Outgoing(Arc::new(Mutex::new(began_at)))
    }

    /// The last instant of which is known that everything written before it has arrived at the other end: its kernel has
    /// acknowledged it. How long ago that is, is for how long at most bytes have been under way.
    #[must_use]
    pub fn taken_at(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that everything has arrived that was written before this instant.
    pub fn note_taken(&self, at: Instant) {
        let mut taken_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *taken_at = at.max(*taken_at);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_taken_stays_so() {
        let began_at = Instant::now();
        let outgoing = Outgoing::new(began_at);
        assert_eq!(outgoing.clone().taken_at(), began_at);
        let later = began_at + Duration::from_secs(20);
        outgoing.clone().note_taken(later);
        outgoing.note_taken(began_at);
        assert_eq!(outgoing.taken_at(), later);
    }
}
