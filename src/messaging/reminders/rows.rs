//! Rows of reminders: finding them, and keeping what changes with their counts and with what falls due.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{Reminder, ReminderKey, State};
use super::tables::{COUNTS, CountsRow, REMINDERS, ReminderRow, TEXTS, TextRow};
use crate::due::{self, Due};
use crate::identity::Workspace;
use crate::model::AgentKey;

/// So many are read at a time.
const SLICE: usize = 64;

/// A reminder.
pub(super) fn find(read: &impl Read, key: ReminderKey) -> Result<Option<Reminder>, Failure> {
    Ok(read.get(&REMINDERS, &key)?.map(ReminderRow::into_reminder))
}

/// All reminders of an agent, the newest first. There are so few that they are read at once.
pub(super) fn of_agent(read: &impl Read, agent: AgentKey) -> Result<Vec<(ReminderKey, Reminder)>, Failure> {
    let rows = read.scan(&REMINDERS, Scan::prefix(&(agent.0, agent.1)).newest_first())?;
    Ok(rows.into_iter().map(|(key, row)| (key, row.into_reminder())).collect())
}

/// The oldest of an agent's that have ended, `most` at the most. Those that are scheduled may all lie before them: they are
/// looked for before a transaction.
pub(super) fn oldest_ended(read: &impl Read, agent: AgentKey, most: usize) -> Result<Vec<ReminderKey>, Failure> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let scan = Scan::prefix(&(agent.0, agent.1)).limit(SLICE);
        let scan = after.iter().fold(scan, |scan, after| scan.after(after));
        let rows = read.scan(&REMINDERS, scan)?;
        let (is_last, last) = (rows.len() < SLICE, rows.last().map(|(key, _)| *key));
        let ended = rows.into_iter().map(|(key, row)| (key, row.into_reminder()));
        found.extend(ended.filter(|(_, reminder)| reminder.state != State::Scheduled).map(|(key, _)| key));
        if is_last || found.len() >= most {
            found.truncate(most);
            return Ok(found);
        }
        after = last;
    }
}

/// How many reminders an agent has.
pub(super) fn counts(read: &impl Read, agent: AgentKey) -> Result<CountsRow, Failure> {
    Ok(read.get(&COUNTS, &agent)?.unwrap_or_default())
}

/// When something is to be done with a reminder, if there is one.
pub(crate) fn falls_due_at(read: &impl Read, key: ReminderKey) -> Result<Option<Timestamp>, Failure> {
    Ok(find(read, key)?.map(|reminder| reminder.looked_at))
}

/// Keeps a new reminder, with what it says.
pub(super) fn put_new(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    key: ReminderKey,
    reminder: Reminder,
    text: &str,
) -> Result<(), Failure> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    let sealed = seal::seal(tx, owner, &TEXTS, &key, text.as_bytes()).map_err(unerased)?;
    tx.put(&TEXTS, &key, &TextRow(sealed))?;
    let agent = (key.0, key.1);
    let counts = counts(tx, agent)?;
    let counts = CountsRow { last: key.2, scheduled: counts.scheduled + 1, kept: counts.kept + 1 };
    tx.put(&COUNTS, &agent, &counts)?;
    due::put(tx, reminder.looked_at, Due::Remind(key))?;
    tx.put(&REMINDERS, &key, &ReminderRow::of(reminder))
}

/// Keeps what has changed of a reminder. What falls due of it is put where the reminder says.
pub(super) fn put(
    tx: &mut WriteTx<'_>,
    key: ReminderKey,
    before: &Reminder,
    reminder: Reminder,
) -> Result<(), Failure> {
    due::clear(tx, before.looked_at, Due::Remind(key));
    due::put(tx, reminder.looked_at, Due::Remind(key))?;
    if before.state == State::Scheduled && reminder.state != State::Scheduled {
        let agent = (key.0, key.1);
        let mut counts = counts(tx, agent)?;
        counts.scheduled = counts.scheduled.saturating_sub(1);
        tx.put(&COUNTS, &agent, &counts)?;
    }
    tx.put(&REMINDERS, &key, &ReminderRow::of(reminder))
}

/// Forgets a reminder that has ended.
pub(super) fn forget(tx: &mut WriteTx<'_>, key: ReminderKey, reminder: &Reminder) -> Result<(), Failure> {
    due::clear(tx, reminder.looked_at, Due::Remind(key));
    tx.delete(&REMINDERS, &key);
    tx.delete(&TEXTS, &key);
    let agent = (key.0, key.1);
    let mut counts = counts(tx, agent)?;
    counts.kept = counts.kept.saturating_sub(1);
    tx.put(&COUNTS, &agent, &counts)
}

/// What a reminder says; nothing, of an erased tenant's.
pub(super) fn text(read: &impl Read, workspace: &Workspace, key: ReminderKey) -> Result<String, Failure> {
    let Some(TextRow(sealed)) = read.get(&TEXTS, &key)? else { return Ok(String::new()) };
    match seal::open(read, KeyOwner::Tenant(workspace.tenant_id), &TEXTS, &key, &sealed) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(Abort::Refused(Erased)) => Ok(String::new()),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// Who still has a key of an erased tenant is turned away before this.
fn unerased(abort: Abort<Erased>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Io("the tenant has been erased".to_owned()),
    }
}
