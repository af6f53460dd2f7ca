//! The end of a connection.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// How long, and for how many bytes, a connection is kept after an answer that did not wait for the body.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES_MAX: usize = 64 << 20;
/// What is dropped at once.
const SCRAP_BYTES: usize = 64 * 1024;

/// Ends a connection. If the answer came before the request's body was read (it was too large, say), what still
/// arrives is read and dropped for a while: closed at once, the kernel would answer it with a reset, and the client
/// might never see the answer.
pub(super) async fn close<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, is_body_unread: bool) {
    let _ = tokio::time::timeout(LINGER, farewell(stream, is_body_unread)).await;
}

async fn farewell<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, is_body_unread: bool) {
    let is_shut = stream.shutdown().await.is_ok();
    if !(is_shut && is_body_unread) {
        return;
    }
    let mut scrap = vec![0; SCRAP_BYTES];
    let mut left = LINGER_BYTES_MAX;
    while left > 0 {
        match stream.read(&mut scrap).await {
            Ok(length) if length > 0 => left = left.saturating_sub(length),
            _ => return,
        }
    }
}
