//! What webhooks are told of mail (6-messaging.md, O3): what it is about and who wrote it, and nothing that it says.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::Json;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::messages;
use super::model::{Pause, Sender, Thread};
use crate::identity::Mailbox;
use crate::model::{AgentKey, AgentNo, DeliveryId, MessageId, ThreadKey};
use crate::telling::{Event, Happened, tell, who};

/// A message that has come into an inbox; the last of several that were released at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// Which.
    pub(super) message: MessageId,
    /// At which place.
    pub(super) seq: u64,
    /// With how many others, itself included, where it was held before; 0: it was not.
    pub(super) released: u32,
}

/// Tells that mail has come into an inbox.
pub(super) fn came(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    mailbox: &Mailbox,
    came: Came,
) -> Result<(), Failure> {
    let event = if came.released == 0 { Event::Delivered } else { Event::Released };
    let Some(mut listeners) = who(tx, agent.0, event, &[agent.1])? else { return Ok(()) };
    let message = messages::get(tx, (agent.0, came.message))?;
    if matches!(message.sender, Sender::Ingress(_)) {
        listeners = listeners.outside();
    }
    let delivery_id = ulid(DeliveryId { arrived_at: now, agent: agent.1, seq: came.seq }.to_uuid());
    let message_id = ulid(came.message.0);
    let mut data = vec![
        ("delivery_id", Json::from(delivery_id)),
        ("message_id", message_id.as_str().into()),
        ("thread_id", ulid(message.thread.0).into()),
        ("agent_seq", came.seq.into()),
        ("subject", message.subject.into()),
        ("sender", message.sender_name.into()),
        ("priority", message.priority.name().into()),
        ("direction", message.sender.direction().into()),
    ];
    if came.released > 0 {
        data.push(("released", came.released.into()));
    }
    tell(tx, now, listeners, Happened { agent: Some(mailbox.name.clone()), resource: message_id, data })
}

/// Tells that a thread is paused: whoever is told of one who takes part.
pub(super) fn paused(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ThreadKey,
    thread: &Thread,
    participants: &[AgentNo],
) -> Result<(), Failure> {
    let Some(listeners) = who(tx, key.0, Event::Paused, participants)? else { return Ok(()) };
    let id = ulid(key.1.0);
    let resumes_at = thread.pause.map(|Pause { resumes_at, .. }| rfc3339(resumes_at));
    let data = vec![
        ("thread_id", Json::from(id.as_str())),
        ("subject", thread.subject.as_str().into()),
        ("message_count", thread.message_count.into()),
        ("resumes_at", resumes_at.into()),
    ];
    tell(tx, now, listeners, Happened { agent: None, resource: id, data })
}
