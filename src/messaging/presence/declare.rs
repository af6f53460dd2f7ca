//! What an agent says of itself: whether it takes mail, until when, and what passes (6-messaging.md, A).

use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::identity::{Availability, HoldBelow, Mailbox, Priority, Standing, mailboxes};
use crate::mail::deliver;
use crate::model::AgentKey;
use crate::refusal::Refusal;

/// How long an agent withholds that does not say, in seconds.
pub(super) const USUAL_SECONDS: u64 = 3_600;
/// How long an agent withholds at most, in seconds.
const SECONDS_MAX: u64 = 86_400;

/// What an agent declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) availability: Availability,
    pub(super) seconds: Option<u64>,
    pub(super) reason: Option<String>,
    pub(super) hold_below: Option<HoldBelow>,
}

impl Declared {
    /// How it stands from an instant on.
    fn standing(self, now: Timestamp) -> Standing {
        if self.availability == Availability::Online {
            return Standing::ONLINE;
        }
        Standing {
            availability: self.availability,
            until: Some(now.plus_seconds(seconds(self.seconds))),
            reason: self.reason,
            hold_below: self.hold_below.unwrap_or(Priority::Urgent),
        }
    }
}

fn seconds(asked: Option<u64>) -> i64 {
    i64::try_from(asked.unwrap_or(USUAL_SECONDS).min(SECONDS_MAX)).unwrap_or(0)
}

/// Has an agent declare something; its mailbox as it is then, and how much was released.
pub(super) fn declare(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    declared: Declared,
) -> Result<(Mailbox, u32), Abort<Refusal>> {
    let released = deliver::declare(tx, now, agent, declared.standing(now))?;
    Ok((mailboxes::get(tx, agent)?, released))
}

/// Has an agent be busy for so many seconds; none at all end that, and nothing else.
pub(super) fn be_busy(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    seconds: Option<u64>,
    reason: Option<String>,
) -> Result<Mailbox, Abort<Refusal>> {
    let declared = |availability| Declared { availability, seconds, reason, hold_below: None };
    if seconds != Some(0) {
        return Ok(declare(tx, now, agent, declared(Availability::Busy))?.0);
    }
    let mailbox = mailboxes::get(tx, agent)?;
    match mailbox.standing.availability {
        Availability::Busy => Ok(declare(tx, now, agent, declared(Availability::Online))?.0),
        _ => Ok(mailbox),
    }
}
