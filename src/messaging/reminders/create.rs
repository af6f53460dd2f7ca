//! Making a reminder.

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::model::{Begins, KEPT_MAX, NewReminder, Reminder, ReminderKey, SCHEDULED_LIMIT, SCHEDULED_MAX, State};
use super::rows::{counts, find, forget, put_new};
use super::rule::{NoRule, Rule};
use crate::blocks;
use crate::identity::{Workspace, agents, mailboxes};
use crate::model::{AgentKey, AgentNo};
use crate::refusal::{Bad, Refusal};

/// Makes a reminder. `ended`: some of the author's that have ended, the oldest first, one of which makes room where there are
/// as many as are kept. `None`, and nothing is done: there is no room, and none of them is there any more.
///
/// # Errors
/// What it says of time cannot be, whom it is for is unknown or has blocked its author, or there are as many as there may be.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    author: AgentKey,
    new: NewReminder,
    ended: &[ReminderKey],
) -> Result<Option<(ReminderKey, Reminder)>, Abort<Refusal>> {
    let (due_at, rule) = timing(now, &new)?;
    if new.expires_at.is_some_and(|expires_at| expires_at <= due_at) {
        return Err(Refusal::field("expires_at", "must lie behind the instant at which it fires first").into());
    }
    let target = target(tx, now, author, new.target.as_deref())?;
    let before = counts(tx, author)?;
    if before.scheduled >= SCHEDULED_MAX {
        return Err(Refusal::LimitReached(SCHEDULED_LIMIT, SCHEDULED_MAX.into()).into());
    }
    if before.kept >= KEPT_MAX && !forget_first(tx, ended)? {
        return Ok(None);
    }
    let key = (author.0, author.1, before.last + 1);
    let reminder = Reminder {
        subject: new.subject,
        target,
        attestation: new.attestation,
        key_id: Some(new.key_id),
        state: State::Scheduled,
        due_at: Some(due_at),
        expires_at: new.expires_at,
        rule,
        timezone: new.timezone,
        thread: None,
        is_sealed: new.is_sealed,
        created_at: now,
        looked_at: due_at,
    };
    put_new(tx, workspace, key, reminder.clone(), &new.text)?;
    Ok(Some((key, reminder)))
}

/// When it fires first, and by what again.
fn timing(now: Timestamp, new: &NewReminder) -> Result<(Timestamp, Option<Rule>), Refusal> {
    let given = match new.begins {
        Begins::After(seconds) => Some(now.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX))),
        Begins::At(at) if at <= now => return Err(Refusal::field("due_at", "must lie ahead")),
        Begins::At(at) => Some(at),
        Begins::ByRule => None,
    };
    let rule = new.repeat.as_ref().map(|repeat| Rule {
        repeat: repeat.clone(),
        timezone: new.timezone.clone(),
        anchor: given.unwrap_or(now),
    });
    // A rule is tried even where the first fire does not come from it.
    let by_rule = rule.as_ref().map(|rule| rule.next_after(now)).transpose().map_err(refused)?.flatten();
    let due_at = given.or(by_rule).ok_or_else(|| Refusal::field("repeat", "never comes"))?;
    Ok((due_at, rule))
}

fn refused(no_rule: NoRule) -> Refusal {
    match no_rule {
        NoRule::Repeat(why) => {
            Refusal::field("repeat", format!("must be daily, weekly, monthly or a pattern of five fields: {why}"))
        }
        NoRule::Timezone => {
            Refusal::field("timezone", "must be UTC or a name of the IANA database with a slash, such as Europe/Berlin")
        }
    }
}

fn target(read: &impl Read, now: Timestamp, author: AgentKey, name: Option<&str>) -> Result<AgentNo, Abort<Refusal>> {
    let Some(name) = name else { return Ok(author.1) };
    let bad = |message: &str| vec![Bad { at: name.to_owned(), message: message.to_owned() }];
    let unknown = || Abort::Refused(Refusal::UnknownRecipient(bad("there is no such agent")));
    let no = agents::by_name(read, author.0, name)?.ok_or_else(unknown)?;
    if mailboxes::get(read, (author.0, no))?.is_retired {
        return Err(unknown());
    }
    if blocks::blockers_of(read, author, now)?.contains(&no) {
        return Err(Refusal::Blocked(bad("has blocked this agent")).into());
    }
    Ok(no)
}

/// Makes room for one more: the first of these that is still there goes before its time. `false`: none is.
fn forget_first(tx: &mut WriteTx<'_>, ended: &[ReminderKey]) -> Result<bool, Failure> {
    for key in ended {
        let Some(reminder) = find(tx, *key)?.filter(|reminder| reminder.state != State::Scheduled) else { continue };
        forget(tx, *key, &reminder)?;
        return Ok(true);
    }
    Ok(false)
}
