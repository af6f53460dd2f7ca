//! A stream whose writes must make progress: a caller who asks and never reads must not hold a connection, and what
//! was made for it, for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::activity::Activity;

/// The stream; a write that is stuck for longer than the patience fails with [`io::ErrorKind::TimedOut`].
pub struct Progressing<S> {
    stream: S,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    is_stuck: bool,
    activity: Activity,
}

impl<S> Progressing<S> {
    /// A stream whose writes have so long to make progress; `activity` is told when they do not.
    pub fn new(stream: S, patience: Duration, activity: Activity) -> Progressing<S> {
        Progressing { stream, patience, deadline: Box::pin(tokio::time::sleep(patience)), is_stuck: false, activity }
    }

    /// Starts, stops or consults the deadline, according to what the stream answered.
    fn watch<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.is_stuck = false;
            self.activity.set_write_stuck(false);
            return polled;
        }
        if !self.is_stuck {
            self.is_stuck = true;
            self.activity.set_write_stuck(true);
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        self.deadline.as_mut().poll(context).map(|()| Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progressing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Progressing<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_stops_ends_the_connection_and_a_slow_one_does_not() {
        let (mut reader, writer) = tokio::io::duplex(10);
        let mut writer = Progressing::new(writer, Duration::from_secs(30), Activity::default());
        writer.write_all(&[1; 10]).await.unwrap();
        let slow = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(29)).await;
                reader.read_exact(&mut [0; 10]).await.unwrap();
            }
            reader
        });
        writer.write_all(&[2; 30]).await.unwrap();
        let _reader = slow.await.unwrap();
        let begun = Instant::now();
        let error = writer.write_all(&[3; 30]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), 30);
    }
}
