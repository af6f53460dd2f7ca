//! Bodies that are documents, taken in as they arrive.

use std::time::Duration;

use axum::body::Body;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use quintet_platform::http::body::media_type;
use quintet_platform::service::{Fault, refusal_of};

use crate::content::imports::{Arrived, Receiver};
use crate::formats::FILE_BYTES_MAX;
use crate::http::Call;
use crate::refusal::Refusal;

/// How long the body of an upload may take to arrive.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// How long a body that is refused unread may go on arriving, so that its sender gets to read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(20);

/// Takes a body in as it arrives, size first, then media type, one of `media_types`: sealed if it is kept, else to know what
/// it is.
///
/// # Errors
/// [`Refusal::UploadTooLarge`]; that the media type is none of those; what becomes of bodies that do not arrive.
pub async fn receive(call: &Call, mut body: Body, is_kept: bool, media_types: &[&str]) -> Result<Arrived, Refusal> {
    if claimed_bytes(call.headers()).is_some_and(|bytes| bytes > FILE_BYTES_MAX as u64) {
        drain(body).await;
        return Err(Refusal::UploadTooLarge);
    }
    if let Err(refusal) = check_media_type(call, media_types) {
        return Err(match drain(body).await {
            Drained::All(bytes) if bytes > FILE_BYTES_MAX => Refusal::UploadTooLarge,
            Drained::More => Refusal::UploadTooLarge,
            Drained::All(_) | Drained::Broken => refusal,
        });
    }
    let mut receiver = match is_kept {
        true => Receiver::begin(&call.foundation().store, call.caller.tenant_id()).await.map_err(refusal_of)?,
        false => Receiver::passing_over(),
    };
    let arriving = async {
        while let Some(frame) = body.frame().await {
            let Ok(chunk) = frame.map_err(|_| Fault::BodyBroken)?.into_data() else { continue };
            receiver.push(&chunk).await.map_err(refusal_of)?;
        }
        Ok(())
    };
    match tokio::time::timeout(UPLOAD_TIME, arriving).await {
        Ok(Ok(())) => {}
        Ok(Err(refusal)) => {
            if refusal == Refusal::UploadTooLarge {
                drain(body).await;
            }
            return Err(refusal);
        }
        Err(_) => return Err(Fault::BodyTimedOut.into()),
    }
    receiver.finish().await.map_err(refusal_of)
}

/// A body must be a document as it is: of a media type that such documents have, and not coded.
fn check_media_type(call: &Call, media_types: &[&str]) -> Result<(), Refusal> {
    match media_type(call.headers()) {
        Some(found) if media_types.contains(&found.as_str()) => call.check_coding(),
        _ => Err(Fault::MediaTypeUnsupported.into()),
    }
}

fn claimed_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// What was left of a body.
enum Drained {
    /// So many bytes, and then its end.
    All(usize),
    /// More than twice of what is allowed, or for too long.
    More,
    /// It broke off.
    Broken,
}

/// Reads a body and forgets it: who is still sending does not read the answer.
async fn drain(mut body: Body) -> Drained {
    let mut bytes = 0;
    let draining = async {
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, bytes::Bytes::len),
                Err(_) => return Drained::Broken,
            }
            if bytes > 2 * FILE_BYTES_MAX {
                return Drained::More;
            }
        }
        Drained::All(bytes)
    };
    tokio::time::timeout(DRAIN_TIME, draining).await.unwrap_or(Drained::More)
}
