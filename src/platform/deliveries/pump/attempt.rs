//! One attempt: what is sent is read, put together and signed, and the answer judged.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use quintet_storage::{Failure, Read as _};

use super::super::model::{Attempted, Delivery, LastError, Outbox, Target};
use super::super::redeliver::contents;
use super::super::room::{Attempt, DeliveryRoom, Destination};
use super::super::settle::Finished;
use super::super::tables::DELIVERIES;
use super::Inner;
use super::waiting::Taken;
use crate::egress::{EgressError, Party, PublicPort, Repeatable};
use crate::secrets::{Secret, random_bytes};

/// What an attempt is made with.
struct Prepared {
    number: u32,
    url: String,
    request: Request<Bytes>,
}

/// What came of preparing one.
enum Preparing {
    Ready(Box<Prepared>),
    /// There is nobody to make it to.
    Nobody(u32, LastError),
}

impl Inner {
    /// Makes an attempt. None if there is nothing to be written down: the delivery is gone, or its room is.
    pub(super) async fn attempt(&self, taken: &Taken) -> Result<Option<Finished>, Failure> {
        let (outbox_key, id) = (taken.lane.0, taken.due.3);
        let outbox = Outbox::of(outbox_key)?;
        let Some(room) = self.rooms.get(&outbox.service) else { return Ok(None) };
        let Some(prepared) = self.prepare(room.as_ref(), outbox, id)? else { return Ok(None) };
        let [low, high] = random_bytes();
        let jitter_permille = i32::from(u16::from_le_bytes([low, high]) % 2001) - 1000;
        let finished = |number, url, attempted| Finished { outbox, id, number, url, attempted, jitter_permille };
        let Prepared { number, url, request } = match prepared {
            Preparing::Nobody(number, error) => {
                return Ok(Some(finished(number, None, Attempted::Undeliverable(error))));
            }
            Preparing::Ready(prepared) => *prepared,
        };
        let policy = room.policy();
        let answer = self.egress.tell(request, policy.connect_time, policy.whole_time).await;
        let attempted = match answer {
            Ok(answer) => answered(&answer, self.clock.now().as_micros() / 1_000_000),
            Err(error) => Attempted::Failed(fault(error)),
        };
        Ok(Some(finished(number, Some(url), attempted)))
    }

    fn prepare(&self, room: &dyn DeliveryRoom, outbox: Outbox, id: u64) -> Result<Option<Preparing>, Failure> {
        let read = self.store.read();
        let Some(mut row) = read.get(&DELIVERIES, &outbox.place(id))? else { return Ok(None) };
        let sealed = row.sealed.take();
        let delivery = row.into_delivery(id);
        if delivery.end.is_some() {
            return Ok(None);
        }
        let number = delivery.attempts + 1;
        let endpoint = match delivery.target {
            Target::Inline => None,
            Target::Endpoint(endpoint_id) => match room.destination(&read, outbox, endpoint_id)? {
                Destination::At { url, key } => Some((url, key)),
                Destination::Inactive => return Ok(Some(Preparing::Nobody(number, LastError::EndpointDisabled))),
                Destination::Gone => return Ok(Some(Preparing::Nobody(number, LastError::EndpointDeleted))),
            },
        };
        let Some(contents) = contents(&read, outbox, id, sealed)? else {
            return Ok(Some(Preparing::Nobody(number, LastError::EndpointDeleted)));
        };
        let inline = || (delivery.url.clone().unwrap_or_default(), contents.key.map(Secret::new));
        let (url, key) = endpoint.unwrap_or_else(inline);
        let key = key.as_ref().map(|key| key.expose().as_slice());
        let request = self.request(room, (outbox, &delivery, number), &url, key, contents.body);
        Ok(Some(Preparing::Ready(Box::new(Prepared { number, url, request }))))
    }

    fn request(
        &self,
        room: &dyn DeliveryRoom,
        (outbox, delivery, number): (Outbox, &Delivery, u32),
        url: &str,
        key: Option<&[u8]>,
        body: Vec<u8>,
    ) -> Request<Bytes> {
        let timestamp = self.clock.now().as_micros().div_euclid(1_000_000);
        let head: HeaderMap = room.head(&Attempt { outbox, delivery, number, timestamp, body: &body, key });
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = http::Method::POST;
        // What is no address is told as one that must not be called.
        *request.uri_mut() = url.parse::<Uri>().unwrap_or_default();
        *request.headers_mut() = head;
        request.headers_mut().entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        // Whoever gets it tells by its event's id what it has had.
        request.extensions_mut().insert(Repeatable);
        request.extensions_mut().insert(Party(outbox.tenant_id));
        if let Some(port) = room.policy().public_port {
            request.extensions_mut().insert(PublicPort(port));
        }
        request
    }
}

fn answered(answer: &Response<()>, now_seconds: i64) -> Attempted {
    let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after_seconds = retry_after.and_then(|text| seconds(text.trim(), now_seconds));
    Attempted::Answered { status: answer.status().as_u16(), retry_after_seconds }
}

/// A `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
fn seconds(text: &str, now_seconds: i64) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(u64::MAX));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(u64::try_from(date.as_second().saturating_sub(now_seconds)).unwrap_or(0))
}

fn fault(error: EgressError) -> LastError {
    match error {
        EgressError::Unusable | EgressError::Forbidden | EgressError::Plain | EgressError::WrongPort => {
            LastError::UrlNotAllowed
        }
        EgressError::Unresolved => LastError::NameNotResolved,
        EgressError::Untrusted | EgressError::NoTls => LastError::TlsFailed,
        EgressError::TimedOut => LastError::TimedOut,
        EgressError::Broken => LastError::ConnectionFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
        for (text, expected) in [
            ("0", Some(0)),
            ("120", Some(120)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", Some(0)),
            ("", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(text, now), expected, "{text}");
        }
    }
}
