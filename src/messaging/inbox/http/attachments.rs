//! The attachments of a delivery: sent as they are read, a piece after the other.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, X_CONTENT_TYPE_OPTIONS};
use quintet_platform::service::{Answer, Route, Segment, Shape, media};
use quintet_storage::large::{LargeValue, read_chunk};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure};
use tokio::task::spawn_blocking;

use super::deliveries::{DELIVERY, mine};
use crate::context::Context;
use crate::dialect::{ACTING, Answered, Call};
use crate::refusal::Refusal;

const INDEX: Segment = Segment::new("index", Shape::Integer { min: 0, max: 10_000, default: None });

pub(super) const GET: Route = Route::get("get_attachment", "/v1/deliveries/{delivery_id}/attachments/{index}")
    .permission("read")
    .marks(&[ACTING])
    .summary("The bytes of one attachment, counted from 0, as they came; marks nothing read")
    .segments(&[DELIVERY, INDEX])
    .successes(&[media(200, &[("application/octet-stream", r#"{"type":"string","format":"binary"}"#)])]);

/// What is no media type, or one that nobody can be told.
const UNKNOWN: HeaderValue = HeaderValue::from_static("application/octet-stream");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_STORE: HeaderValue = HeaderValue::from_static("private, no-store");

pub(super) async fn get(call: Call) -> Answered {
    let (_, mine) = mine(&call)?;
    let none = || Refusal::NotFound("attachment with this number".to_owned());
    let index: String = call.segment(INDEX.name).ok_or_else(none)?;
    let place = if INDEX.shape.fits(&index) { index.parse::<usize>().ok() } else { None };
    let attachment = place.and_then(|place| mine.message.attachments.into_iter().nth(place)).ok_or_else(none)?;
    let media_type = HeaderValue::try_from(attachment.content_type).unwrap_or(UNKNOWN);
    let length = attachment.value.size_bytes;
    let body = Body::from_stream(pieces(call.context.clone(), attachment.value));
    let answer = Answer::stream(200, media_type, body)
        .header(CONTENT_LENGTH, HeaderValue::from(length))
        .header(CONTENT_DISPOSITION, disposition(&attachment.filename))
        .header(X_CONTENT_TYPE_OPTIONS, NOSNIFF)
        .header(CACHE_CONTROL, NO_STORE);
    Ok(answer)
}

/// A value's pieces, each read when the one before it is sent. A sealed one must be opened, which is not done on the threads
/// that serve.
fn pieces(context: Context, value: LargeValue) -> impl stream::Stream<Item = Result<Bytes, io::Error>> {
    stream::try_unfold((context, value, 0), |(context, value, index)| async move {
        let reading = spawn_blocking(move || {
            let chunk = read_chunk(&context.store.read(), &value, index);
            (chunk, context, value)
        });
        let (chunk, context, value) = reading.await.map_err(io::Error::other)?;
        match chunk {
            Ok(chunk) => Ok(chunk.map(|chunk| (Bytes::copy_from_slice(&chunk), (context, value, index + 1)))),
            Err(abort) => Err(broken(&abort)),
        }
    })
}

/// The status is gone: all that can be done is to break off.
fn broken(abort: &Abort<Erased>) -> io::Error {
    if let Abort::Failed(failure @ (Failure::Damaged(_) | Failure::Io(_))) = abort {
        tracing::error!(%failure, "an attachment that was being sent breaks off");
    }
    io::Error::other("the rest of the attachment could not be read")
}

/// How a file is to be saved (RFC 6266): its name in ASCII, and as it is where that differs.
fn disposition(filename: &str) -> HeaderValue {
    let is_plain = |character: char| matches!(character, ' '..='~') && !matches!(character, '"' | '\\' | '/' | '%');
    let plain: String = filename.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    let encoded: String = filename.bytes().map(encoded).collect();
    let text = match plain == filename {
        true => format!("attachment; filename=\"{plain}\""),
        false => format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"),
    };
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("attachment"))
}

/// A byte of a name as RFC 8187 writes it.
fn encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_their_header() {
        for (name, expected) in [
            ("notes.txt", "attachment; filename=\"notes.txt\""),
            ("a b.txt", "attachment; filename=\"a b.txt\""),
            ("a\"b", "attachment; filename=\"a_b\"; filename*=UTF-8''a%22b"),
            ("..\\..\r\nx: y", "attachment; filename=\".._..__x: y\"; filename*=UTF-8''..%5C..%0D%0Ax%3A%20y"),
            ("\u{e9}.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%A9.txt"),
            ("", "attachment; filename=\"\""),
        ] {
            assert_eq!(disposition(name), expected, "{name:?}");
        }
    }
}
