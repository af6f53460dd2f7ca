//! What is known of an agent's attendance, and what follows from it.

use quintet_storage::Timestamp;

/// An echo makes an agent responsive for so long, in seconds.
const RESPONSIVE_SECONDS: i64 = 180;
/// A request makes an agent reachable for so long, in seconds.
const REACHABLE_SECONDS: i64 = 900;

/// Whether somebody is there (6-messaging.md, W1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It has echoed a challenge with a key of its own.
    Responsive,
    /// It has asked for something, or has a stream open.
    Reachable,
    /// Nothing was heard of it for a while.
    Idle,
    /// It is retired.
    Retired,
}

impl Presence {
    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Presence::Responsive => "responsive",
            Presence::Reachable => "reachable",
            Presence::Idle => "idle",
            Presence::Retired => "retired",
        }
    }
}

/// What is known of an agent's attendance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// When it last asked for something, or had a stream open.
    pub(crate) last_seen_at: Option<Timestamp>,
    /// When it last echoed a challenge with a key that is bound to it alone.
    pub(crate) last_pong_at: Option<Timestamp>,
    /// How long that echo took, in milliseconds.
    pub(crate) echo_delay_ms: Option<i64>,
    /// When a stream of it was last opened.
    pub(crate) attached_at: Option<Timestamp>,
    /// When a stream of it last ended.
    pub(crate) detached_at: Option<Timestamp>,
}

impl Sighting {
    /// What follows from it for an agent that is not retired.
    pub(crate) fn presence(&self, has_stream: bool, now: Timestamp) -> Presence {
        let is_within = |at: Option<Timestamp>, seconds: i64| at.is_some_and(|at| now <= at.plus_seconds(seconds));
        if is_within(self.last_pong_at, RESPONSIVE_SECONDS) {
            Presence::Responsive
        } else if has_stream || is_within(self.last_seen_at, REACHABLE_SECONDS) {
            Presence::Reachable
        } else {
            Presence::Idle
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence_fades() {
        let start = Timestamp::from_micros(1_764_000_000_000_000);
        let seen = Sighting { last_seen_at: Some(start), last_pong_at: Some(start), ..Sighting::default() };
        let after = |seconds| seen.presence(false, start.plus_seconds(seconds));
        assert_eq!(
            [after(0), after(180), after(181)],
            [Presence::Responsive, Presence::Responsive, Presence::Reachable]
        );
        assert_eq!([after(900), after(901)], [Presence::Reachable, Presence::Idle]);
        assert_eq!(seen.presence(true, start.plus_seconds(9_000)), Presence::Reachable);
        assert_eq!(Sighting::default().presence(false, start), Presence::Idle);
    }
}
