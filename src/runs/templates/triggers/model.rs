//! The words of triggers.

use bincode::{Decode, Encode};
use quintet_storage::Timestamp;

use super::super::launch::Wanted;
use super::super::params::Patience;
use crate::containers::model::Webhook;
use crate::refusal::Refusal;
use crate::schedules::model::{Misfire, Timing};

/// Triggers of a template, at most: deleting it takes them all in one transaction.
pub(in super::super) const TRIGGERS_MAX: usize = 100;

/// What there is none of.
pub(in super::super) const NO_TRIGGER: Refusal = Refusal::NoSuch("the template has no such trigger");

/// Whether a trigger launches another workflow while the last one is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(in super::super) enum Overlap {
    Skip,
    Allow,
}

/// The names of both.
pub(in super::super) const OVERLAP_NAMES: [&str; 2] = ["skip", "allow"];

impl Overlap {
    /// Its name in bodies.
    pub(in super::super) const fn name(self) -> &'static str {
        let [skip, allow] = OVERLAP_NAMES;
        match self {
            Overlap::Skip => skip,
            Overlap::Allow => allow,
        }
    }

    /// The one of that name.
    pub(in super::super) fn named(name: &str) -> Option<Overlap> {
        [Overlap::Skip, Overlap::Allow].into_iter().find(|overlap| overlap.name() == name)
    }
}

/// Why the last fire launched nothing.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(in super::super) struct LastError {
    /// A code of the documentation.
    pub(in super::super) code: String,
    pub(in super::super) at: Timestamp,
}

/// A trigger, but for the values of its parameters and its webhook's secret.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(in super::super) struct Trigger {
    pub(in super::super) name: Option<String>,
    pub(in super::super) timing: Timing,
    /// None: the latest when it fires.
    pub(in super::super) version: Option<u64>,
    pub(in super::super) workflow_name: Option<String>,
    pub(in super::super) tags: Vec<String>,
    /// Address and events of the webhook instead of the definition's.
    pub(in super::super) webhook: Option<(String, Vec<String>)>,
    pub(in super::super) overlap: Overlap,
    pub(in super::super) misfire: Misfire,
    pub(in super::super) is_enabled: bool,
    /// The first instant that it has not been seen to; none: it is paused, or there is none.
    pub(in super::super) next_fire_at: Option<Timestamp>,
    /// The last instant that it was seen to, fired for or not.
    pub(in super::super) seen_to: Option<Timestamp>,
    pub(in super::super) last_fire_at: Option<Timestamp>,
    pub(in super::super) last_workflow_id: Option<[u8; 16]>,
    pub(in super::super) last_error: Option<LastError>,
    pub(in super::super) fire_count: u64,
    pub(in super::super) missed_count: u64,
    pub(in super::super) skipped_count: u64,
    pub(in super::super) created_at: Timestamp,
    pub(in super::super) updated_at: Timestamp,
    /// The key that made it, whose terms hold for what it launches.
    pub(in super::super) key_id: String,
}

/// What of a trigger must not lie about in the clear. It is sealed in this shape.
#[derive(Clone, Default, PartialEq, Eq, Encode, Decode)]
pub(in super::super) struct Held {
    /// Values of parameters.
    pub(in super::super) params: Vec<(String, String)>,
    /// The names of those that were given as secrets. They stay so, whatever a later version declares.
    pub(in super::super) secrets: Vec<String>,
    pub(in super::super) webhook_secret: Option<String>,
}

impl Trigger {
    /// What it runs its template with.
    pub(in super::super) fn wanted(&self, held: Held) -> Wanted {
        let webhook = self.webhook.clone().map(|(url, events)| {
            let webhook = Webhook { url, events, has_secret: held.webhook_secret.is_some() };
            (webhook, held.webhook_secret)
        });
        Wanted {
            given: held.params.into_iter().map(|(name, value)| (name, value.into())).collect(),
            secrets: held.secrets,
            version: self.version,
            name: self.workflow_name.clone(),
            tags: self.tags.clone(),
            scheduled_start: None,
            webhook,
            key_id: self.key_id.clone(),
            patience: Patience::Writer,
        }
    }
}

/// A trigger as it is asked for.
#[derive(Clone)]
pub(in super::super) struct NewTrigger {
    pub(in super::super) name: Option<String>,
    pub(in super::super) timing: Timing,
    pub(in super::super) version: Option<u64>,
    pub(in super::super) workflow_name: Option<String>,
    pub(in super::super) tags: Vec<String>,
    pub(in super::super) webhook: Option<(Webhook, Option<String>)>,
    pub(in super::super) params: Vec<(String, String)>,
    pub(in super::super) overlap: Overlap,
    pub(in super::super) misfire: Misfire,
    pub(in super::super) is_enabled: bool,
    /// The key that asks.
    pub(in super::super) key_id: String,
}

impl NewTrigger {
    /// As it is made now, its first instant left out; and what it holds.
    pub(in super::super) fn into_parts(self, now: Timestamp) -> (Trigger, Held) {
        let (webhook, webhook_secret) = match self.webhook {
            Some((webhook, secret)) => (Some((webhook.url, webhook.events)), secret),
            None => (None, None),
        };
        let trigger = Trigger {
            name: self.name,
            timing: self.timing,
            version: self.version,
            workflow_name: self.workflow_name,
            tags: self.tags,
            webhook,
            overlap: self.overlap,
            misfire: self.misfire,
            is_enabled: self.is_enabled,
            next_fire_at: None,
            seen_to: None,
            last_fire_at: None,
            last_workflow_id: None,
            last_error: None,
            fire_count: 0,
            missed_count: 0,
            skipped_count: 0,
            created_at: now,
            updated_at: now,
            key_id: self.key_id,
        };
        (trigger, Held { params: self.params, secrets: Vec::new(), webhook_secret })
    }
}

/// What is changed of a trigger; what is not given stays, null takes away what may be absent.
#[derive(Clone, Default)]
pub(in super::super) struct TriggerChange {
    pub(in super::super) name: Option<Option<String>>,
    pub(in super::super) cron: Option<String>,
    pub(in super::super) timezone: Option<String>,
    pub(in super::super) version: Option<Option<u64>>,
    pub(in super::super) workflow_name: Option<Option<String>>,
    pub(in super::super) tags: Option<Vec<String>>,
    pub(in super::super) webhook: Option<Option<(Webhook, Option<String>)>>,
    pub(in super::super) params: Option<Vec<(String, String)>>,
    pub(in super::super) overlap: Option<Overlap>,
    pub(in super::super) misfire: Option<Misfire>,
    pub(in super::super) is_enabled: Option<bool>,
}

impl TriggerChange {
    /// Puts it into a trigger and what that holds, but for its instants.
    pub(in super::super) fn put_into(self, trigger: &mut Trigger, held: &mut Held) {
        if let Some(name) = self.name {
            trigger.name = name;
        }
        if let Some(cron) = self.cron {
            trigger.timing.cron = cron;
        }
        if let Some(timezone) = self.timezone {
            trigger.timing.timezone = timezone;
        }
        if let Some(version) = self.version {
            trigger.version = version;
        }
        if let Some(name) = self.workflow_name {
            trigger.workflow_name = name;
        }
        if let Some(tags) = self.tags {
            trigger.tags = tags;
        }
        if let Some(webhook) = self.webhook {
            let (webhook, secret) = webhook.map_or((None, None), |(webhook, secret)| (Some(webhook), secret));
            trigger.webhook = webhook.map(|webhook| (webhook.url, webhook.events));
            held.webhook_secret = secret;
        }
        if let Some(params) = self.params {
            held.params = params;
            held.secrets = Vec::new();
        }
        trigger.overlap = self.overlap.unwrap_or(trigger.overlap);
        trigger.misfire = self.misfire.unwrap_or(trigger.misfire);
        trigger.is_enabled = self.is_enabled.unwrap_or(trigger.is_enabled);
    }
}
