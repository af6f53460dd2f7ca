//! Bodies that are made piece by piece, as they are sent: they take no more memory than a piece, and others have their
//! turns between two.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use quintet_platform::service::refusal_of;
use quintet_storage::{Abort, Snapshot};

use super::dialect::Caller;
use crate::context::Context;
use crate::refusal::Refusal;

/// What makes the next piece of a document; `None` at its end.
pub type NextPiece<M, P> = fn(&Context, &mut M, &Snapshot) -> Result<Option<P>, Abort<Refusal>>;

/// A body that is made piece by piece, each piece when the one before it has been taken; the first is there already. It ends
/// where its reader may not read it any more.
pub fn body_of<M: Send + 'static, P: Into<Bytes> + Send + 'static>(
    context: Context,
    caller: Caller,
    first: P,
    maker: M,
    next: NextPiece<M, P>,
) -> Body {
    let begun = (context, caller, Some(first), maker);
    let pieces = stream::try_unfold(begun, move |(context, caller, first, mut maker)| async move {
        if let Some(first) = first {
            return Ok::<_, io::Error>(Some((first.into(), (context, caller, None, maker))));
        }
        let with = context.clone();
        let made = context.aside(caller.tenant_id(), move |read| {
            caller.demand_again(read, with.clock.now())?;
            let piece = next(&with, &mut maker, read)?;
            Ok((piece, caller, maker))
        });
        // The status is gone: all that can be done is to break off.
        let (piece, caller, maker) = made.await.map_err(|abort| broken(&refusal_of(abort)))?;
        Ok(piece.map(|piece| (piece.into(), (context, caller, None, maker))))
    });
    Body::from_stream(pieces)
}

fn broken(refusal: &Refusal) -> io::Error {
    tracing::warn!(?refusal, "a document that was being sent breaks off");
    io::Error::other("the rest of the document could not be read")
}
