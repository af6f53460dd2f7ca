//! The words of outbound webhooks.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid, key_newtype};

use crate::model::{AgentNo, WorkspaceNo};

key_newtype!(
    /// A webhook; callers know it as its ULID.
    pub(crate) WebhookId(Uuid)
);

/// A webhook of a workspace.
pub(crate) type WebhookKey = (WorkspaceNo, WebhookId);

/// What a webhook can ask for (6-messaging.md, O1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A message has come into an inbox.
    Delivered,
    /// What was held has.
    Released,
    /// An approval has its verdict.
    Decided,
    /// A thread is paused.
    Paused,
}

impl Event {
    /// All of them, in the order of the documentation.
    pub(crate) const ALL: [Event; 4] = [Event::Delivered, Event::Released, Event::Decided, Event::Paused];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Event::Delivered => "message.delivered",
            Event::Released => "message.released",
            Event::Decided => "approval.decided",
            Event::Paused => "thread.paused",
        }
    }

    /// The event with a name.
    pub(crate) fn named(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Its bit in stored rows; never changes.
    pub(crate) const fn bit(self) -> u32 {
        match self {
            Event::Delivered => 1,
            Event::Released => 2,
            Event::Decided => 4,
            Event::Paused => 8,
        }
    }
}

/// A webhook, but for its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Webhook {
    /// Where it is.
    pub(crate) url: String,
    /// What it asks for, a bit for each event; `None`: for everything, also for what there will be.
    pub(crate) events: Option<u32>,
    /// Whose events it is told; `None`: all agents'.
    pub(crate) agent: Option<AgentNo>,
    /// The agent that made it, which hears of its end if it is for no agent of its own.
    pub(crate) made_by: Option<AgentNo>,
    /// Whether it is an inbound endpoint of this appliance: it is told of no calls, or they would go round for good.
    pub(crate) is_inside: bool,
    /// What its deliveries are found by.
    pub(crate) target: Uuid,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// Since when it is told nothing; `None`: it is enabled.
    pub(crate) disabled_at: Option<Timestamp>,
}

impl Webhook {
    /// Whether it asks for an event.
    pub(crate) fn asks_for(&self, event: Event) -> bool {
        self.events.is_none_or(|events| events & event.bit() != 0)
    }
}

/// What has come of what a webhook was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Standing {
    /// Attempts that failed since the last one that was taken, or since it was enabled.
    pub(crate) consecutive_failures: u64,
    /// Attempts that failed, ever.
    pub(crate) failures_total: u64,
    /// Deliveries that wait.
    pub(crate) waiting: u32,
    /// Events that it was not told of, because so many waited.
    pub(crate) missed_total: u64,
    /// When an attempt was last taken.
    pub(crate) last_delivered_at: Option<Timestamp>,
    /// When one last failed.
    pub(crate) last_failed_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_own_name_and_bit() {
        let mut bits = 0;
        for event in Event::ALL {
            assert_eq!(Event::named(event.name()), Some(event));
            assert_eq!((event.bit().count_ones(), bits & event.bit()), (1, 0), "{event:?}");
            bits |= event.bit();
        }
        assert_eq!(Event::named("message"), None);
    }
}
