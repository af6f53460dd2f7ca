//! What is sent of an event: members in one order, without white space, and no longer than the tenant wants.

use quintet_storage::Timestamp;
use uuid::Uuid;

use super::room::Webhooks;
use crate::clock::rfc3339;
use crate::json::{Json, to_compact};

/// What the block of a delivery takes at most beside an id, a number of 20 digits among it.
const DELIVERY_BYTES_MAX: usize = 84;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// The same in every delivery of it.
    pub event_id: Uuid,
    /// `run.exited` for instance.
    pub name: String,
    /// When.
    pub occurred_at: Timestamp,
    /// Whose.
    pub tenant_id: Uuid,
    /// What kind of thing it happened to.
    pub resource_type: &'static str,
    /// Which.
    pub resource_id: String,
    /// An object.
    pub data: Json,
}

/// What is sent of an event, but for the block that tells of the delivery.
pub struct Envelope {
    head: String,
    tail: &'static str,
    write_id: fn(Uuid) -> String,
}

impl Webhooks {
    /// What is sent of an event in at most so many bytes: what is too long is shortened as the service does it.
    #[must_use]
    pub fn envelope(&self, event: &Event, bytes_max: usize) -> Envelope {
        let mut envelope = self.plain(event, &event.data, false);
        let block_bytes_max = DELIVERY_BYTES_MAX + (self.write_id)(Uuid::nil()).len();
        let mut shortened = None;
        loop {
            let length = envelope.head.len() + block_bytes_max + envelope.tail.len();
            if length <= bytes_max {
                return envelope;
            }
            let data = shortened.get_or_insert_with(|| event.data.clone());
            if !(self.shorten)(data, length - bytes_max) {
                return envelope;
            }
            envelope = self.plain(event, data, true);
        }
    }

    fn plain(&self, event: &Event, data: &Json, is_truncated: bool) -> Envelope {
        let text = |text: &str| to_compact(&text.into());
        let head = format!(
            r#"{{"event_id":"{}","event_type":{},"occurred_at":"{}","tenant_id":"{}","resource":{{"type":{},"id":{}}},"data":{}"#,
            (self.write_id)(event.event_id),
            text(&event.name),
            rfc3339(event.occurred_at),
            event.tenant_id,
            text(event.resource_type),
            text(&event.resource_id),
            to_compact(data),
        );
        let tail = if is_truncated { ",\"truncated\":true}" } else { ",\"truncated\":false}" };
        Envelope { head, tail, write_id: self.write_id }
    }
}

impl Envelope {
    /// With the block that tells of a delivery. Its `attempt` is 1: the live number is in a header.
    #[must_use]
    pub fn with_delivery(&self, delivery_id: u64, endpoint_id: Option<Uuid>) -> Vec<u8> {
        let endpoint = endpoint_id.map_or_else(|| "null".to_owned(), |id| format!("\"{}\"", (self.write_id)(id)));
        let block = format!(
            "{},\"delivery\":{{\"delivery_id\":{delivery_id},\"attempt\":1,\"endpoint_id\":{endpoint}}}{}",
            self.head, self.tail
        );
        block.into_bytes()
    }
}

/// The same body for another delivery of the event: only the number in its block is another.
#[must_use]
pub fn renumbered(body: &[u8], delivery_id: u64) -> Vec<u8> {
    const BLOCK: &[u8] = b",\"delivery\":{\"delivery_id\":";
    // The block stands behind the data, so that the last one is it.
    let place = body.windows(BLOCK.len()).rposition(|window| window == BLOCK);
    let Some((head, rest)) = place.and_then(|place| body.split_at_checked(place + BLOCK.len())) else {
        return body.to_vec();
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    [head, delivery_id.to_string().as_bytes(), rest.get(digits..).unwrap_or_default()].concat()
}
