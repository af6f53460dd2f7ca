//! What an approval is, how it may end, and the rules that need nothing else.

use bincode::{Decode, Encode};
use quintet_platform::secrets::Digest;
use quintet_storage::Timestamp;

use crate::identity::Attestation;
use crate::model::{AgentNo, ApprovalKey, ThreadId};
use crate::refusal::Refusal;

/// The kind that every workspace has (P1).
pub(crate) const GENERIC: &str = "generic";
/// Characters of a title (P2).
pub(crate) const TITLE_CHARS_MAX: usize = 200;
/// Characters of a summary (P2).
pub(crate) const SUMMARY_CHARS_MAX: usize = 4_000;
/// Characters of a reason.
pub(crate) const REASON_CHARS_MAX: usize = 2_000;
/// Characters of the name of whoever decides.
pub(crate) const NAME_CHARS_MAX: usize = 200;
/// Bytes of what is proposed together with its context (P2).
pub(crate) const ACTION_BYTES_MAX: usize = 64 << 10;
/// How long an approval waits if nobody says, in minutes (P2).
pub(crate) const EXPIRES_MINUTES: i64 = 1_440;
/// The longest that it may wait, in minutes (P2).
pub(crate) const EXPIRES_MINUTES_MAX: i64 = 10_080;

/// How an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Status {
    /// Nobody has decided yet.
    Pending,
    /// A person said yes.
    Approved,
    /// A person said no.
    Rejected,
    /// Nobody said anything in time.
    TimedOut,
    /// It is not asked for any more.
    Cancelled,
}

impl Status {
    /// All of them.
    pub(crate) const ALL: [Status; 5] =
        [Status::Pending, Status::Approved, Status::Rejected, Status::TimedOut, Status::Cancelled];

    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::TimedOut => "timed_out",
            Status::Cancelled => "cancelled",
        }
    }

    /// As people read it.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Status::TimedOut => "timed out",
            other => other.name(),
        }
    }

    /// The status with a name.
    pub(crate) fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Its number in keys of rows; never changes.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Status::Pending => 0,
            Status::Approved => 1,
            Status::Rejected => 2,
            Status::TimedOut => 3,
            Status::Cancelled => 4,
        }
    }
}

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

impl Choice {
    /// As commands and forms write it.
    pub(crate) fn named(name: &str) -> Option<Choice> {
        match name {
            "approved" => Some(Choice::Approve),
            "rejected" => Some(Choice::Reject),
            _ => None,
        }
    }
}

/// Where a person decided (P4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum How {
    /// At the command line of the appliance.
    Cli,
    /// On the page of a link.
    Page,
    /// In the console.
    Console,
}

impl How {
    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            How::Cli => "cli",
            How::Page => "page",
            How::Console => "console",
        }
    }
}

/// What a person did: without one nothing is approved or rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    /// Who.
    pub(crate) by: String,
    /// Where.
    pub(crate) how: How,
    /// From which address; at the command line, which user of the system.
    pub(crate) source: String,
    /// Why, for whoever asked; empty: nothing was said.
    pub(crate) reason: String,
}

impl Act {
    /// Whether it can be recorded: whoever says no says why (the command line of 6-messaging.md).
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn check(&self, choice: Choice) -> Result<(), Refusal> {
        if self.by.is_empty() || self.by.chars().count() > NAME_CHARS_MAX || self.by.chars().any(char::is_control) {
            return Err(Refusal::field("by", format!("must be a name of at most {NAME_CHARS_MAX} characters")));
        }
        if self.reason.chars().count() > REASON_CHARS_MAX {
            return Err(Refusal::field("reason", format!("must have at most {REASON_CHARS_MAX} characters")));
        }
        if choice == Choice::Reject && self.reason.trim().is_empty() {
            return Err(Refusal::field("reason", "is required to reject: it is what the agent goes on with"));
        }
        Ok(())
    }
}

/// How an approval ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A person decided.
    Decided(Choice, Act),
    /// Nobody did in time.
    TimedOut,
    /// It is not asked for any more; says who said so.
    Cancelled(String),
}

impl End {
    /// How the approval stands then.
    pub(super) const fn status(&self) -> Status {
        match self {
            End::Decided(Choice::Approve, _) => Status::Approved,
            End::Decided(Choice::Reject, _) => Status::Rejected,
            End::TimedOut => Status::TimedOut,
            End::Cancelled(_) => Status::Cancelled,
        }
    }
}

/// An approval, all but what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Approval {
    /// What it is called.
    pub(crate) title: String,
    /// Its kind.
    pub(crate) kind: String,
    /// The thread that its verdict goes to; `None`: one of its own.
    pub(crate) thread: Option<ThreadId>,
    /// Who raised it.
    pub(crate) requester: AgentNo,
    /// What that one was called then.
    pub(crate) requested_by: String,
    /// What was known of it by its key.
    pub(crate) attestation: Attestation,
    /// SHA-256 of the canonical form of what is proposed.
    pub(crate) action_sha256: Digest,
    /// When it was raised.
    pub(crate) created_at: Timestamp,
    /// From when on nobody can decide it.
    pub(crate) expires_at: Timestamp,
    /// How it stands, but for the time that may have run out: see [`Approval::status_at`].
    pub(crate) status: Status,
    /// When it got its verdict.
    pub(crate) decided_at: Option<Timestamp>,
}

impl Approval {
    /// How it stands at an instant: one whose time is over has timed out, whether or not that was seen to.
    pub(crate) fn status_at(&self, now: Timestamp) -> Status {
        match self.status {
            Status::Pending if self.expires_at <= now => Status::TimedOut,
            status => status,
        }
    }

    /// When it got its verdict, the same way.
    pub(crate) fn decided_by(&self, now: Timestamp) -> Option<Timestamp> {
        match (self.status, self.status_at(now)) {
            (Status::Pending, Status::TimedOut) => Some(self.expires_at),
            _ => self.decided_at,
        }
    }

    /// Whether it can get a verdict.
    ///
    /// # Errors
    /// It has one.
    pub(crate) fn check_pending(&self, now: Timestamp) -> Result<(), Refusal> {
        match self.status_at(now) {
            Status::Pending => Ok(()),
            status => Err(Refusal::AlreadyDecided(status.name())),
        }
    }
}

/// What was recorded of how an approval ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// How it ended.
    pub(crate) status: Status,
    /// When.
    pub(crate) at: Timestamp,
    /// Who did that; nobody, where time ran out.
    pub(crate) by: String,
    /// Where; `None`: no person decided.
    pub(crate) how: Option<How>,
    /// From which address.
    pub(crate) source: String,
    /// Why.
    pub(crate) reason: String,
}

/// For whom a link is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Person {
    /// An approver of the kind, by the address of mail.
    Approver(String),
    /// Whoever made it at the command line, by the name that the system knows.
    Operator(String),
}

impl Person {
    /// As records write it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Person::Approver(name) | Person::Operator(name) => name,
        }
    }
}

/// Whether a text can be a kind's name.
///
/// # Errors
/// It cannot.
pub(crate) fn check_kind(name: &str) -> Result<(), Refusal> {
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    match begins && name.len() <= 64 && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(Refusal::field("kind", "must match [a-z0-9][a-z0-9._-]{0,63}")),
    }
}

/// Whether an approval may wait for so many minutes.
///
/// # Errors
/// It may not.
pub(crate) fn check_minutes(minutes: i64) -> Result<(), Refusal> {
    match (1..=EXPIRES_MINUTES_MAX).contains(&minutes) {
        true => Ok(()),
        false => {
            Err(Refusal::field("expires_in_minutes", format!("must be an integer from 1 to {EXPIRES_MINUTES_MAX}")))
        }
    }
}

/// What is told of an approval, as the store names it: the end of its number, which is drawn at random.
pub(crate) fn told_as((_, id): ApprovalKey) -> u64 {
    u64::try_from(id.0.as_u128() & u128::from(u64::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for (code, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!((Status::named(status.name()), usize::from(status.code())), (Some(status), code));
        }
        assert_eq!(Choice::named("approved"), Some(Choice::Approve));
        assert_eq!((Choice::named("approve"), Choice::named("timed_out")), (None, None));
    }

    #[test]
    fn kinds_are_plain_words() {
        for good in ["generic", "deploy-prod", "0", "a.b_c", &"k".repeat(64)] {
            assert_eq!(check_kind(good), Ok(()), "{good}");
        }
        for bad in ["", "Deploy", "-a", "a b", "a/b", "ä", &"k".repeat(65)] {
            assert!(check_kind(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_act_has_a_name_and_a_no_has_a_reason() {
        let act = |by: &str, reason: &str| Act {
            by: by.to_owned(),
            how: How::Cli,
            source: String::new(),
            reason: reason.to_owned(),
        };
        assert_eq!(act("ann", "").check(Choice::Approve), Ok(()));
        assert_eq!(act("ann", "too soon").check(Choice::Reject), Ok(()));
        assert!(act("ann", " \n").check(Choice::Reject).is_err());
        assert!(act("", "x").check(Choice::Approve).is_err());
        assert!(act("a\nb", "x").check(Choice::Approve).is_err());
        assert!(act("ann", &"x".repeat(REASON_CHARS_MAX + 1)).check(Choice::Approve).is_err());
    }
}
