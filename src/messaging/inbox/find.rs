//! What an id in a path names for an agent.

use quintet_storage::{Failure, Read};

use crate::identity::mailboxes;
use crate::mail::deliver;
use crate::mail::messages;
use crate::mail::model::{Delivery, Message};
use crate::mail::whereabouts::{delivery_of, is_from};
use crate::model::{AgentKey, MailId, MessageId};

/// A message that an agent got or sent.
#[derive(Clone, Debug)]
pub(crate) struct Mine {
    /// Its delivery to the agent, with its place; `None`: the agent sent it, and did not get it.
    pub(crate) delivered: Option<(u64, Delivery)>,
    /// Which message.
    pub(crate) id: MessageId,
    /// The message.
    pub(crate) message: Message,
}

/// What an id names: a delivery to the agent, or a message that it got or sent. `None`: nothing that is for it.
pub(crate) fn find(read: &impl Read, agent: AgentKey, id: MailId) -> Result<Option<Mine>, Failure> {
    match id {
        MailId::Delivery { agent: no, seq, millis } => {
            let delivery = if no == agent.1 { deliver::find(read, agent, seq)? } else { None };
            let is_it = |delivery: &Delivery| delivery.arrived_at.as_micros().div_euclid(1_000) == millis;
            let Some(delivery) = delivery.filter(is_it) else { return Ok(None) };
            let id = delivery.message;
            let message = messages::get(read, (agent.0, id))?;
            Ok(Some(Mine { delivered: Some((seq, delivery)), id, message }))
        }
        MailId::Message(id) => {
            let Some(message) = messages::find(read, (agent.0, id))? else { return Ok(None) };
            let mailbox = mailboxes::get(read, agent)?;
            let delivered = delivery_of(read, agent, &mailbox, (id, &message))?;
            if delivered.is_none() && !is_from(&message, agent.1) {
                return Ok(None);
            }
            Ok(Some(Mine { delivered, id, message }))
        }
    }
}
