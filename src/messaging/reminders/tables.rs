//! What is stored of reminders.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0544 | reminders | workspace, author, number | a reminder, all but what it says |
//! | 0x0545 | reminder texts | workspace, author, number | what it says, sealed |
//! | 0x0546 | reminder counts | workspace, author | the number of the last one, and how many there are |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Failure, Row, Table, TableSpec, Timestamp, decode_plain};

use super::model::{Reminder, ReminderKey, State};
use super::rule::Rule;
use crate::identity::Attestation;
use crate::model::{AgentKey, AgentNo, FAMILY, ThreadId};

pub(super) const REMINDERS: Table<ReminderKey, ReminderRow> = Table::new(0x0544, FAMILY, "messaging_reminders");
pub(super) const TEXTS: Table<ReminderKey, TextRow> = Table::new(0x0545, FAMILY, "messaging_reminder_texts");
pub(super) const COUNTS: Table<AgentKey, CountsRow> = Table::new(0x0546, FAMILY, "messaging_reminder_counts");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[REMINDERS.spec(), TEXTS.spec(), COUNTS.spec()];

/// See [`Reminder`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ReminderRow {
    subject: String,
    target: AgentNo,
    attestation: Attestation,
    state: State,
    due_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    rule: Option<Rule>,
    timezone: String,
    thread: Option<ThreadId>,
    is_sealed: bool,
    created_at: Timestamp,
    looked_at: Timestamp,
    key_id: Option<String>,
}

impl Row for ReminderRow {
    const VERSION: u8 = 2;

    /// Version 1 ended before the last member: a byte more says that there is none.
    fn migrate(version: u8, bytes: &[u8]) -> Result<ReminderRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("a reminder has unknown version {version}"))),
        }
    }
}

impl ReminderRow {
    pub(super) fn of(reminder: Reminder) -> ReminderRow {
        ReminderRow {
            subject: reminder.subject,
            target: reminder.target,
            attestation: reminder.attestation,
            state: reminder.state,
            due_at: reminder.due_at,
            expires_at: reminder.expires_at,
            rule: reminder.rule,
            timezone: reminder.timezone,
            thread: reminder.thread,
            is_sealed: reminder.is_sealed,
            created_at: reminder.created_at,
            looked_at: reminder.looked_at,
            key_id: reminder.key_id,
        }
    }

    pub(super) fn into_reminder(self) -> Reminder {
        Reminder {
            subject: self.subject,
            target: self.target,
            attestation: self.attestation,
            state: self.state,
            due_at: self.due_at,
            expires_at: self.expires_at,
            rule: self.rule,
            timezone: self.timezone,
            thread: self.thread,
            is_sealed: self.is_sealed,
            created_at: self.created_at,
            looked_at: self.looked_at,
            key_id: self.key_id,
        }
    }
}

/// What a reminder says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct TextRow(pub(super) Sealed);
impl Row for TextRow {}

/// How many reminders an agent has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct CountsRow {
    pub(super) last: u64,
    pub(super) scheduled: u32,
    pub(super) kept: u32,
}
impl Row for CountsRow {}

#[cfg(test)]
mod tests {
    use quintet_support::Bench;

    use super::*;
    use crate::refusal::Refusal;

    /// A row as it was before it said which key made it.
    #[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
    struct FirstRow {
        subject: String,
        target: AgentNo,
        attestation: Attestation,
        state: State,
        due_at: Option<Timestamp>,
        expires_at: Option<Timestamp>,
        rule: Option<Rule>,
        timezone: String,
        thread: Option<ThreadId>,
        is_sealed: bool,
        created_at: Timestamp,
        looked_at: Timestamp,
    }
    impl Row for FirstRow {}

    #[test]
    fn rows_of_the_first_version_know_no_key() {
        const FIRST: Table<ReminderKey, FirstRow> = Table::new(0x0544, FAMILY, "messaging_reminders");
        let bench: Bench<Refusal> = Bench::new(crate::TABLES, 1_764_000_000_000_000);
        let (key, at) = ((crate::model::WorkspaceNo(1), AgentNo(2), 3), Timestamp::from_micros(7));
        let row = FirstRow {
            subject: "tea".to_owned(),
            target: AgentNo(4),
            attestation: Attestation::Platform,
            state: State::Scheduled,
            due_at: Some(at),
            expires_at: None,
            rule: None,
            timezone: "UTC".to_owned(),
            thread: None,
            is_sealed: false,
            created_at: at,
            looked_at: at,
        };
        bench.run(move |tx, _| Ok(tx.put(&FIRST, &key, &row)?)).unwrap();
        let read = super::super::rows::find(&bench.store.read(), key).unwrap().unwrap();
        assert_eq!((read.subject.as_str(), read.looked_at, read.key_id), ("tea", at, None));
    }
}
