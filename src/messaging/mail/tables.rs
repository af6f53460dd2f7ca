//! What is stored of messages, deliveries and threads.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x051A | mail labels | workspace, label | how many deliveries have it |
//! | 0x0520 | messages | workspace, message | a message; what it says is sealed |
//! | 0x0521 | inbox | workspace, agent, place | a delivery |
//! | 0x0522 | unread | workspace, agent, first place | the last place of a stretch of unread ones before the mailbox's `unread_from` |
//! | 0x0523 | held mail | workspace, agent, number | what waits until the agent takes mail |
//! | 0x0524 | threads | workspace, thread | how a thread stands |
//! | 0x0525 | thread messages | workspace, thread, message | |
//! | 0x0526 | participants | workspace, thread | the agents that take part in it |
//! | 0x0527 | thread held | workspace, thread, number | deliveries that wait until the thread goes on |
//! | 0x0528 | sent | workspace, agent, number | a message that the agent sent |
//! | 0x052A | late mail | workspace, agent, message | the place of a delivery that was held before |
//! | 0x052B | labelled mail | workspace, agent, label, place | |
//! | 0x052C | expected participants | workspace, thread, agent | all that was sent to a participant there is held |
//! | 0x0578 | origins | workspace, message | where mail from outside came from, and what came, sealed |
//! | 0x0579 | outside ids | workspace, digest of a message id of somebody else's, message | |

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Row, Table, TableSpec, Timestamp, Uuid, decode_plain};

use super::model::{Attachment, Delivery, Kept, Message, Origin, Pause, Role, Sender, Thread, Verdicts};
use crate::identity::{Attestation, Priority};
use crate::model::{AgentNo, FAMILY, Mark, MessageId, MessageKey, ThreadId, ThreadKey, WorkspaceNo};

pub(super) const MESSAGES: Table<MessageKey, MessageRow> = Table::new(0x0520, FAMILY, "messaging_messages");
pub(super) const INBOX: Table<(WorkspaceNo, AgentNo, u64), DeliveryRow> = Table::new(0x0521, FAMILY, "messaging_inbox");
pub(super) const UNREAD: Table<(WorkspaceNo, AgentNo, u64), UnreadRow> = Table::new(0x0522, FAMILY, "messaging_unread");
pub(super) const HELD: Table<(WorkspaceNo, AgentNo, u64), HeldRow> = Table::new(0x0523, FAMILY, "messaging_held_mail");
pub(super) const THREADS: Table<ThreadKey, ThreadRow> = Table::new(0x0524, FAMILY, "messaging_threads").hot();
pub(super) const THREAD_MESSAGES: Table<(WorkspaceNo, ThreadId, MessageId), Mark> =
    Table::new(0x0525, FAMILY, "messaging_thread_messages");
pub(super) const PARTICIPANTS: Table<ThreadKey, ParticipantsRow> =
    Table::new(0x0526, FAMILY, "messaging_participants").hot();
pub(super) const THREAD_HELD: Table<(WorkspaceNo, ThreadId, u64), ThreadHeldRow> =
    Table::new(0x0527, FAMILY, "messaging_thread_held");
pub(super) const SENT: Table<(WorkspaceNo, AgentNo, u64), SentRow> = Table::new(0x0528, FAMILY, "messaging_sent");
/// Deliveries that came later than they were sent: what came at once is found by its instant.
pub(super) const LATE: Table<(WorkspaceNo, AgentNo, MessageId), PlaceRow> =
    Table::new(0x052A, FAMILY, "messaging_late_mail");

/// Few participants have a row: whoever has something of the thread has none.
pub(super) const EXPECTED: Table<(WorkspaceNo, ThreadId, AgentNo), Mark> =
    Table::new(0x052C, FAMILY, "messaging_expected_participants");

pub(super) const LABELS: Table<(WorkspaceNo, String), LabelRow> = Table::new(0x051A, FAMILY, "messaging_mail_labels");
pub(super) const LABELLED: Table<(WorkspaceNo, AgentNo, String, u64), Mark> =
    Table::new(0x052B, FAMILY, "messaging_labelled_mail");

pub(super) const ORIGINS: Table<MessageKey, OriginRow> = Table::new(0x0578, FAMILY, "messaging_origins");
/// By what others call a message in `References`; the digest is as long as it is hard to find two that share one.
pub(super) const OUTSIDE_IDS: Table<(WorkspaceNo, Uuid, MessageId), Mark> =
    Table::new(0x0579, FAMILY, "messaging_outside_ids");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[
    MESSAGES.spec(),
    INBOX.spec(),
    UNREAD.spec(),
    HELD.spec(),
    THREADS.spec(),
    THREAD_MESSAGES.spec(),
    PARTICIPANTS.spec(),
    THREAD_HELD.spec(),
    SENT.spec(),
    LATE.spec(),
    EXPECTED.spec(),
    LABELS.spec(),
    LABELLED.spec(),
    ORIGINS.spec(),
    OUTSIDE_IDS.spec(),
];

/// See [`Message`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct MessageRow {
    thread: ThreadId,
    in_reply_to: Option<MessageId>,
    sender: Sender,
    sender_name: String,
    sender_address: String,
    lane: Option<String>,
    attestation: Attestation,
    subject: String,
    to: Vec<String>,
    cc: Vec<String>,
    recipients: Vec<(String, Role)>,
    priority: Priority,
    created_at: Timestamp,
    is_sealed: bool,
    is_signed: bool,
    has_claim: bool,
    attachments: Vec<Attachment>,
    kept: Kept,
}
impl Row for MessageRow {}

impl MessageRow {
    pub(super) fn of(message: Message) -> MessageRow {
        MessageRow {
            thread: message.thread,
            in_reply_to: message.in_reply_to,
            sender: message.sender,
            sender_name: message.sender_name,
            sender_address: message.sender_address,
            lane: message.lane,
            attestation: message.attestation,
            subject: message.subject,
            to: message.to,
            cc: message.cc,
            recipients: message.recipients,
            priority: message.priority,
            created_at: message.created_at,
            is_sealed: message.is_sealed,
            is_signed: message.is_signed,
            has_claim: message.has_claim,
            attachments: message.attachments,
            kept: message.kept,
        }
    }

    pub(super) fn into_message(self) -> Message {
        Message {
            thread: self.thread,
            in_reply_to: self.in_reply_to,
            sender: self.sender,
            sender_name: self.sender_name,
            sender_address: self.sender_address,
            lane: self.lane,
            attestation: self.attestation,
            subject: self.subject,
            to: self.to,
            cc: self.cc,
            recipients: self.recipients,
            priority: self.priority,
            created_at: self.created_at,
            is_sealed: self.is_sealed,
            is_signed: self.is_signed,
            has_claim: self.has_claim,
            attachments: self.attachments,
            kept: self.kept,
        }
    }
}

/// See [`Delivery`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct DeliveryRow {
    message: MessageId,
    role: Role,
    arrived_at: Timestamp,
    released: u32,
    read_at: Option<Timestamp>,
    acked_at: Option<Timestamp>,
    labels: Vec<String>,
}
impl Row for DeliveryRow {}

impl DeliveryRow {
    pub(super) fn of(delivery: Delivery) -> DeliveryRow {
        let Delivery { message, role, arrived_at, released, read_at, acked_at, labels } = delivery;
        DeliveryRow { message, role, arrived_at, released, read_at, acked_at, labels }
    }

    pub(super) fn into_delivery(self) -> Delivery {
        let DeliveryRow { message, role, arrived_at, released, read_at, acked_at, labels } = self;
        Delivery { message, role, arrived_at, released, read_at, acked_at, labels }
    }
}

/// How many deliveries have a label.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct LabelRow(pub(super) u64);
impl Row for LabelRow {}

/// The place of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct PlaceRow(pub(super) u64);
impl Row for PlaceRow {}

/// The last place of a stretch of unread deliveries.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct UnreadRow(pub(super) u64);
impl Row for UnreadRow {}

/// A delivery that waits until its agent takes mail.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct HeldRow {
    pub(super) message: MessageId,
    pub(super) role: Role,
    pub(super) priority: Priority,
    /// The message's thread; `None`: it was held by an earlier version.
    pub(super) thread: Option<ThreadId>,
}

impl Row for HeldRow {
    const VERSION: u8 = 2;

    /// Version 1 ended before the last member: a byte more says that there is none.
    fn migrate(version: u8, bytes: &[u8]) -> Result<HeldRow, Failure> {
        match version {
            1 => decode_plain(&[bytes, &[0]].concat()),
            _ => Err(Failure::Damaged(format!("what is held has unknown version {version}"))),
        }
    }
}

/// A delivery that waits until its thread goes on.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ThreadHeldRow {
    pub(super) agent: AgentNo,
    pub(super) message: MessageId,
    pub(super) role: Role,
    pub(super) priority: Priority,
}
impl Row for ThreadHeldRow {}

/// See [`Thread`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ThreadRow {
    subject: String,
    message_count: u64,
    last_message_at: Timestamp,
    counted: Vec<Timestamp>,
    pause: Option<Pause>,
    resumed_at: Option<Timestamp>,
    held_count: u32,
    last_held: u64,
}
impl Row for ThreadRow {}

impl ThreadRow {
    pub(super) fn of(thread: &Thread) -> ThreadRow {
        ThreadRow {
            subject: thread.subject.clone(),
            message_count: thread.message_count,
            last_message_at: thread.last_message_at,
            counted: thread.counted.clone(),
            pause: thread.pause,
            resumed_at: thread.resumed_at,
            held_count: thread.held_count,
            last_held: thread.last_held,
        }
    }

    pub(super) fn into_thread(self) -> Thread {
        Thread {
            subject: self.subject,
            message_count: self.message_count,
            last_message_at: self.last_message_at,
            counted: self.counted,
            pause: self.pause,
            resumed_at: self.resumed_at,
            held_count: self.held_count,
            last_held: self.last_held,
        }
    }
}

/// Agents, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ParticipantsRow(pub(super) Vec<AgentNo>);
impl Row for ParticipantsRow {}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct SentRow(pub(super) MessageId);
impl Row for SentRow {}

/// See [`Origin`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct OriginRow {
    message_id: Option<String>,
    is_automatic: bool,
    spf: String,
    dkim: String,
    dmarc: String,
    source: String,
    raw: Kept,
}
impl Row for OriginRow {}

impl OriginRow {
    pub(super) fn of(origin: Origin, raw: Kept) -> OriginRow {
        let Origin { message_id, is_automatic, verdicts: Verdicts { spf, dkim, dmarc, source } } = origin;
        OriginRow { message_id, is_automatic, spf, dkim, dmarc, source, raw }
    }

    /// What is known of it, and all that came.
    pub(super) fn into_parts(self) -> (Origin, Kept) {
        let OriginRow { message_id, is_automatic, spf, dkim, dmarc, source, raw } = self;
        (Origin { message_id, is_automatic, verdicts: Verdicts { spf, dkim, dmarc, source } }, raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{Availability, Standing};
    use crate::mail::deliver::{declare, find};
    use crate::testing::Bench;

    /// A row as it was before it said which thread the message is in.
    #[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
    struct FirstRow {
        message: MessageId,
        role: Role,
        priority: Priority,
    }
    impl Row for FirstRow {}

    /// It lies in the message as well: what is released is arrived all the same.
    #[test]
    fn what_an_earlier_version_held_is_released() {
        const FIRST: Table<(WorkspaceNo, AgentNo, u64), FirstRow> = Table::new(0x0523, FAMILY, "messaging_held_mail");
        let bench = Bench::new();
        let (ann, _) = (bench.agent("ann"), bench.agent("ben"));
        let until = Some(bench.now().plus_seconds(60));
        let dnd = Standing { availability: Availability::Dnd, until, ..Standing::ONLINE };
        bench.run(move |tx, now| Ok(declare(tx, now, ann, dnd)?)).unwrap();
        let posted = bench.post("ben", &["ann"], "held", |_| {});
        let row = FirstRow { message: posted.message, role: Role::To, priority: Priority::Normal };
        bench.run(move |tx, _| Ok(tx.put(&FIRST, &(ann.0, ann.1, 1), &row)?)).unwrap();
        assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
        bench.run(move |tx, now| Ok(declare(tx, now, ann, Standing::ONLINE)?)).unwrap();
        let delivery = find(&bench.context.store.read(), ann, 1).unwrap().unwrap();
        assert_eq!(delivery.message, posted.message);
        assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
    }
}
