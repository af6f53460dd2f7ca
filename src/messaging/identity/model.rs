//! Workspaces, keys, agents and mailboxes, and the rules that need nothing else.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid};

use crate::limits::Limit;
use crate::model::WorkspaceNo;

/// Whether a workspace serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Status {
    /// It does.
    Active,
    /// Until the operator activates it, everybody is turned away.
    Suspended,
    /// For good.
    Deleted,
}

impl Status {
    /// As commands write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Suspended => "suspended",
            Status::Deleted => "deleted",
        }
    }
}

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// Its number in keys of rows.
    pub(crate) no: WorkspaceNo,
    /// Its identifier, as a ULID.
    pub(crate) id: Uuid,
    /// Its name in addresses and commands, unique in the appliance.
    pub(crate) slug: String,
    /// Its name for people.
    pub(crate) name: String,
    /// Whose it is.
    pub(crate) tenant_id: Uuid,
    /// Whether bodies must arrive sealed; for good.
    pub(crate) is_encrypted: bool,
    /// Whether mail from outside is taken.
    pub(crate) is_ingress_open: bool,
    /// Whether it serves.
    pub(crate) status: Status,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// Limits that the operator has set: the limit's number, and how much; `None`: unlimited.
    pub(crate) limits: Vec<(u8, Option<u64>)>,
}

impl Workspace {
    /// How much a limit is here.
    pub(crate) fn limit(&self, limit: Limit) -> u64 {
        let set = self.limits.iter().find(|(code, _)| *code == limit.code);
        set.map_or(limit.usual, |(_, max)| max.unwrap_or(u64::MAX))
    }
}

/// How many there are of what a workspace has limits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Agents ever made; the last one's number.
    pub(crate) agents_ever: u32,
    /// Agents that are not retired.
    pub(crate) active_agents: u32,
    /// Keys that are bound to no agent and not revoked.
    pub(crate) operator_keys: u32,
    /// Keys that are bound to agents and not revoked.
    pub(crate) bound_keys: u32,
}

/// What a key allows; each scope allows what those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Scope {
    /// Reading, which marks nothing read.
    Read,
    /// What an agent does for itself.
    Send,
    /// Registering agents, making keys and invites, acting as any agent.
    Full,
    /// Everything in the workspace.
    Admin,
}

impl Scope {
    /// All of them, the least first.
    pub(crate) const ALL: [Scope; 4] = [Scope::Read, Scope::Send, Scope::Full, Scope::Admin];

    /// As answers and routes write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Send => "send",
            Scope::Full => "full",
            Scope::Admin => "admin",
        }
    }

    /// The scope with a name.
    pub(crate) fn named(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A key, as far as it is known after it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its id: 10 characters.
    pub(crate) id: String,
    /// Where it opens something.
    pub(crate) workspace: WorkspaceNo,
    /// What it allows.
    pub(crate) scope: Scope,
    /// The agents it is bound to; none: it acts as any that its scope allows.
    pub(crate) agents: Vec<String>,
    /// What people call it.
    pub(crate) label: String,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it was revoked.
    pub(crate) revoked_at: Option<Timestamp>,
}

impl Key {
    /// Whether it is bound to agents.
    pub(crate) fn is_bound(&self) -> bool {
        !self.agents.is_empty()
    }

    /// The agent that it acts as where nobody is named: the one that it is bound to, if to one alone.
    pub(crate) fn only_agent(&self) -> Option<&str> {
        if self.agents.len() == 1 { self.agents.first().map(String::as_str) } else { None }
    }

    /// What it proves of who acts as an agent.
    pub(crate) fn attestation(&self) -> Attestation {
        if self.agents.len() == 1 { Attestation::Platform } else { Attestation::Workspace }
    }
}

/// What is known of a sender by the key that was used (6-messaging.md, Q3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Attestation {
    /// The key is bound to that one agent.
    Platform,
    /// A key of the workspace says so.
    Workspace,
    /// Somebody outside says so.
    External,
    /// The platform itself.
    System,
}

impl Attestation {
    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Attestation::Platform => "platform_attested",
            Attestation::Workspace => "workspace_asserted",
            Attestation::External => "external_unverified",
            Attestation::System => "system",
        }
    }
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    /// Its identifier, as a ULID.
    pub(crate) id: Uuid,
    /// Its name, which it keeps for good.
    pub(crate) name: String,
    /// What it does: the first part of a name that was made for it.
    pub(crate) role: Option<String>,
    /// Where it works, as far as that is told: 16 hexadecimal digits.
    pub(crate) session_key: Option<String>,
    /// SHA-256 of its device's id, in hexadecimal.
    pub(crate) device_hash: Option<String>,
    /// Of its repository's address: 12 hexadecimal digits.
    pub(crate) repo_fingerprint: Option<String>,
    /// What it says it can.
    pub(crate) capabilities: Vec<String>,
    /// Labels, by key and in its order.
    pub(crate) labels: Vec<(String, String)>,
    /// What an admin's key says it is.
    pub(crate) persona: Option<String>,
    /// Whether it stays out of the phonebook and of tags.
    pub(crate) is_unlisted: bool,
    /// Whether it retires after hours instead of weeks.
    pub(crate) is_ephemeral: bool,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it was retired, if it is.
    pub(crate) retired_at: Option<Timestamp>,
    /// When it is looked whether nobody has heard of it for too long; never, once it is retired.
    pub(crate) idle_look_at: Option<Timestamp>,
}

/// How urgent a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Priority {
    /// When there is time.
    Background,
    /// As usual.
    Normal,
    /// It passes all but `offline`.
    Urgent,
}

impl Priority {
    /// All of them, the least first.
    pub(crate) const ALL: [Priority; 3] = [Priority::Background, Priority::Normal, Priority::Urgent];

    /// As requests write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Priority::Background => "background",
            Priority::Normal => "normal",
            Priority::Urgent => "urgent",
        }
    }

    /// The priority with a name.
    pub(crate) fn named(name: &str) -> Option<Priority> {
        Priority::ALL.into_iter().find(|priority| priority.name() == name)
    }
}

/// Whether an agent takes mail, as it has declared (6-messaging.md, A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Availability {
    /// It does.
    Online,
    /// Not for a while.
    Busy,
    /// It is not there.
    Away,
    /// It does not want to be disturbed.
    Dnd,
    /// It takes nothing at all.
    Offline,
}

impl Availability {
    /// All of them.
    pub(crate) const ALL: [Availability; 5] =
        [Availability::Online, Availability::Busy, Availability::Away, Availability::Dnd, Availability::Offline];

    /// As requests write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Availability::Online => "online",
            Availability::Busy => "busy",
            Availability::Away => "away",
            Availability::Dnd => "dnd",
            Availability::Offline => "offline",
        }
    }

    /// The availability with a name.
    pub(crate) fn named(name: &str) -> Option<Availability> {
        Availability::ALL.into_iter().find(|availability| availability.name() == name)
    }
}

/// Below which priority an agent that withholds its mail has it held.
pub(crate) type HoldBelow = Priority;

/// What an agent has declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Whether it takes mail.
    pub(crate) availability: Availability,
    /// Until when; `None`: it is online.
    pub(crate) until: Option<Timestamp>,
    /// Why, in its own words.
    pub(crate) reason: Option<String>,
    /// What is below that is held.
    pub(crate) hold_below: HoldBelow,
}

impl Standing {
    /// Takes everything.
    pub(crate) const ONLINE: Standing =
        Standing { availability: Availability::Online, until: None, reason: None, hold_below: Priority::Urgent };

    /// Whether its time is over at an instant: it counts as online from then on, whether or not that was swept up.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Whether it withholds anything at an instant.
    pub(crate) fn is_withholding(&self, now: Timestamp) -> bool {
        !self.is_over(now) && self.holds_from().is_some()
    }

    /// Whether a message of this priority is held at an instant.
    pub(crate) fn holds(&self, priority: Priority, now: Timestamp) -> bool {
        !self.is_over(now) && self.holds_from().is_some_and(|highest| priority <= highest)
    }

    /// The highest priority that is held: nothing where it is online, or holds what is below `background`.
    pub(crate) fn holds_from(&self) -> Option<Priority> {
        match (self.availability, self.hold_below) {
            (Availability::Online, _) => None,
            (Availability::Offline, _) => Some(Priority::Urgent),
            (_, Priority::Urgent) => Some(Priority::Normal),
            (_, Priority::Normal) => Some(Priority::Background),
            (_, Priority::Background) => None,
        }
    }
}

/// What deliveries need to know of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mailbox {
    /// Its name, as in its own row.
    pub(crate) name: String,
    /// Whether it is retired, as in its own row.
    pub(crate) is_retired: bool,
    /// Whether it stays out of the phonebook and of tags, as in its own row.
    pub(crate) is_unlisted: bool,
    /// What it has declared.
    pub(crate) standing: Standing,
    /// The last place of its inbox; 0: it is empty.
    pub(crate) last_seq: u64,
    /// From this place on everything is unread; what is unread before that has rows of its own.
    pub(crate) unread_from: u64,
    /// How much is unread in all.
    pub(crate) unread_count: u64,
    /// How much is held for it.
    pub(crate) held_count: u32,
    /// The number of what was held last.
    pub(crate) last_held: u64,
    /// The number of what it sent last.
    pub(crate) last_sent: u64,
}

impl Mailbox {
    /// An empty one.
    pub(crate) fn new(name: String, is_unlisted: bool) -> Mailbox {
        Mailbox {
            name,
            is_retired: false,
            is_unlisted,
            standing: Standing::ONLINE,
            last_seq: 0,
            unread_from: 1,
            unread_count: 0,
            held_count: 0,
            last_held: 0,
            last_sent: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 6-messaging.md, A2: what is held, by what is declared and below which priority.
    #[test]
    fn what_an_agent_withholds() {
        let (urgent, normal, background) = (Priority::Urgent, Priority::Normal, Priority::Background);
        let now = Timestamp::from_micros(1_000);
        for availability in Availability::ALL {
            for hold_below in Priority::ALL {
                let until = Some(now.plus_seconds(1));
                let standing = Standing { availability, until, reason: None, hold_below };
                let held: Vec<Priority> = Priority::ALL.into_iter().filter(|one| standing.holds(*one, now)).collect();
                let expected = match (availability, hold_below) {
                    (Availability::Online, _) => vec![],
                    (Availability::Offline, _) => vec![background, normal, urgent],
                    (_, Priority::Urgent) => vec![background, normal],
                    (_, Priority::Normal) => vec![background],
                    (_, Priority::Background) => vec![],
                };
                assert_eq!(held, expected, "{availability:?} {hold_below:?}");
                assert_eq!(standing.holds_from(), expected.last().copied());
                assert!(!standing.is_withholding(now.plus_seconds(1)), "its time is over at the instant itself");
            }
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        assert!(Scope::ALL.into_iter().all(|scope| Scope::named(scope.name()) == Some(scope)));
        assert!(Priority::ALL.into_iter().all(|one| Priority::named(one.name()) == Some(one)));
        assert!(Availability::ALL.into_iter().all(|one| Availability::named(one.name()) == Some(one)));
        assert_eq!(Scope::named("owner"), None);
    }

    #[test]
    fn limits_are_the_usual_ones_until_somebody_says_otherwise() {
        let workspace = Workspace {
            no: WorkspaceNo(1),
            id: Uuid::nil(),
            slug: "acme".to_owned(),
            name: String::new(),
            tenant_id: Uuid::nil(),
            is_encrypted: false,
            is_ingress_open: true,
            status: Status::Active,
            created_at: Timestamp::EPOCH,
            limits: vec![(crate::limits::WEBHOOKS.code, Some(3)), (crate::limits::MESSAGES_PER_DAY.code, None)],
        };
        assert_eq!(workspace.limit(crate::limits::WEBHOOKS), 3);
        assert_eq!(workspace.limit(crate::limits::MESSAGES_PER_DAY), u64::MAX);
        assert_eq!(workspace.limit(crate::limits::ACTIVE_AGENTS), 100);
    }
}
