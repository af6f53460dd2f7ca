//! What is known of an agent's attendance, and what follows from it.

use std::time::Duration;

use quintet_storage::Timestamp;

/// An echo makes an agent responsive for so long, in seconds.
const RESPONSIVE_SECONDS: i64 = 180;
/// A request makes an agent reachable for so long, in seconds.
pub(super) const REACHABLE_SECONDS: i64 = 900;
/// A stream is taken as long as nothing of it is under way for longer.
pub(crate) const TAKEN_WITHIN: Duration = Duration::from_secs(60);

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

/// Whether a message starts a turn of an agent (6-messaging.md, W2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeChannel {
    /// A wake-capable stream is open, and taken.
    Live,
    /// There is none, and an enabled webhook is told when a message comes.
    Webhook,
    /// One is open, and nobody takes what it says.
    Stale,
    /// There is none.
    None,
}

impl WakeChannel {
    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            WakeChannel::Live => "live",
            WakeChannel::Webhook => "webhook",
            WakeChannel::Stale => "stale",
            WakeChannel::None => "none",
        }
    }
}

/// An open stream: whether it is wake-capable, and for how long at most it has not been taken.
pub(super) type OpenStream = (bool, Duration);

/// What is known of an agent's attendance, all in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attended {
    /// When it was seen.
    pub(crate) sighting: Sighting,
    pub(super) streams: Vec<OpenStream>,
    /// Whether an enabled webhook is told when a message comes for it.
    pub(super) has_webhook: bool,
}

impl Attended {
    /// Whether somebody is there.
    pub(crate) fn presence(&self, is_retired: bool, now: Timestamp) -> Presence {
        if is_retired { Presence::Retired } else { self.sighting.presence(self.has_stream(), now) }
    }

    /// Whether a stream of it is open, taken or not.
    pub(crate) fn has_stream(&self) -> bool {
        !self.streams.is_empty()
    }

    /// How many are open.
    pub(crate) fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Whether a message starts a turn of it.
    pub(crate) fn wake_channel(&self) -> WakeChannel {
        let mut capable = self.streams.iter().filter(|(is_wake_capable, _)| *is_wake_capable).peekable();
        let has_one = capable.peek().is_some();
        match (capable.any(|(_, age)| *age <= TAKEN_WITHIN), self.has_webhook, has_one) {
            (true, ..) => WakeChannel::Live,
            (false, true, _) => WakeChannel::Webhook,
            (false, false, true) => WakeChannel::Stale,
            (false, false, false) => WakeChannel::None,
        }
    }

    /// Whether anybody takes what any of its streams says.
    pub(crate) fn is_watched(&self) -> bool {
        self.streams.iter().any(|(_, age)| *age <= TAKEN_WITHIN)
    }

    /// How long ago any of its streams was last known to be taken; `None`: it has none.
    pub(crate) fn keepalive_age(&self) -> Option<Duration> {
        self.streams.iter().map(|(_, age)| *age).min()
    }
}

/// When an agent was seen.
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

    /// The newer of what two of them say.
    pub(super) fn merged(self, other: Sighting) -> Sighting {
        let newer_pong = if other.last_pong_at > self.last_pong_at { other } else { self };
        Sighting {
            last_seen_at: self.last_seen_at.max(other.last_seen_at),
            last_pong_at: newer_pong.last_pong_at,
            echo_delay_ms: newer_pong.echo_delay_ms,
            attached_at: self.attached_at.max(other.attached_at),
            detached_at: self.detached_at.max(other.detached_at),
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
        assert_eq!(Attended::default().presence(true, start), Presence::Retired);
    }

    /// 6-messaging.md, W2: open streams, each wake-capable or not and not taken for so many seconds; without a webhook, and
    /// with one.
    #[test]
    fn a_wake_channel_is_what_its_streams_and_webhooks_are() {
        use WakeChannel::{Live, None as No, Stale, Webhook};
        for (streams, channels, is_watched) in [
            (&[][..], [No, Webhook], false),
            (&[(false, 0)], [No, Webhook], true),
            (&[(false, 61)], [No, Webhook], false),
            (&[(true, 0)], [Live, Live], true),
            (&[(true, 60)], [Live, Live], true),
            (&[(true, 61)], [Stale, Webhook], false),
            (&[(true, 61), (false, 0)], [Stale, Webhook], true),
            (&[(true, 61), (true, 2)], [Live, Live], true),
            (&[(false, 90), (false, 70)], [No, Webhook], false),
        ] {
            let streams: Vec<OpenStream> =
                streams.iter().map(|(is_capable, age)| (*is_capable, Duration::from_secs(*age))).collect();
            for (has_webhook, channel) in [false, true].into_iter().zip(channels) {
                let attended = Attended { sighting: Sighting::default(), streams: streams.clone(), has_webhook };
                assert_eq!((attended.wake_channel(), attended.is_watched()), (channel, is_watched), "{attended:?}");
                assert_eq!(attended.keepalive_age(), attended.streams.iter().map(|(_, age)| *age).min());
            }
        }
    }

    #[test]
    fn what_is_newer_counts() {
        let at = |seconds| Some(Timestamp::EPOCH.plus_seconds(seconds));
        let one = Sighting { last_seen_at: at(5), last_pong_at: at(3), echo_delay_ms: Some(30), ..Sighting::default() };
        let other = Sighting {
            last_seen_at: at(4),
            last_pong_at: at(4),
            echo_delay_ms: Some(40),
            attached_at: at(1),
            detached_at: None,
        };
        let both = Sighting {
            last_seen_at: at(5),
            last_pong_at: at(4),
            echo_delay_ms: Some(40),
            attached_at: at(1),
            detached_at: None,
        };
        assert_eq!((one.merged(other), other.merged(one)), (both, both));
    }
}
