//! Room for large bodies: only so many are read, held and worked on at a time (6-messaging.md, E4).

use std::time::Duration;

use http::Version;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use quintet_platform::json::Fields;
use quintet_platform::service::{Change, Turn};

use crate::dialect::{BODY_BYTES_MAX, Call, Messaging};
use crate::form::members;
use crate::refusal::Refusal;

/// A body of more bytes is a large one.
const LARGE_BODY_BYTES: u64 = 1 << 20;
/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// A body of more bytes is looked at off the threads that serve everybody.
const SMALL_BODY_BYTES: u64 = 32 << 10;

/// A request with a body that may be large, taken in; what it holds as long as that is worked on.
pub(super) struct Taken {
    pub(super) change: Change<Messaging>,
    pub(super) turn: Option<Turn>,
    is_small: bool,
}

/// Takes a body in.
///
/// # Errors
/// It is too large, or broken; or others had their turn for too long.
pub(super) async fn take(call: Call) -> Result<Taken, Refusal> {
    let headers = call.headers();
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.trim().parse::<u64>().ok());
    let is_endless =
        length.is_none() && (headers.contains_key(TRANSFER_ENCODING) || call.parts.version > Version::HTTP_11);
    let is_large = is_endless || length.is_some_and(|length| length > LARGE_BODY_BYTES);
    let is_refused = length.is_some_and(|length| length > BODY_BYTES_MAX as u64);
    let turn = match is_large && !is_refused {
        true => Some(call.context.large_bodies.hold(call.caller.workspace.tenant_id, 1, PATIENCE).await?),
        false => None,
    };
    let is_small = !is_endless && length.is_none_or(|length| length <= SMALL_BODY_BYTES);
    Ok(Taken { change: call.change_of(BODY_BYTES_MAX).await?, turn, is_small })
}

impl Taken {
    /// Reads its members: where they may be many bytes, off the threads that serve everybody.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) async fn read<T: Send + 'static>(
        &mut self,
        read: impl FnOnce(&mut Fields) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let mut fields = members(&mut self.change)?;
        if self.is_small {
            return read(&mut fields);
        }
        let call = &self.change.call;
        call.context.lookers.take(call.caller.workspace.tenant_id, move || read(&mut fields)).await?
    }
}
