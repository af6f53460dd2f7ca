//! A connection as it was accepted, below encryption: its stream, and where the site asks for it, how far its other end
//! has taken what was written.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use quintet_platform::http::outgoing::Outgoing;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::unacknowledged::unacknowledged_bytes;

/// The stream.
pub(super) struct Accepted {
    stream: TcpStream,
    // Most sites do not ask; theirs take no room for it.
    written: Option<Box<Written>>,
}

/// What was written, and what of it has arrived.
struct Written {
    bytes: u64,
    /// How much it was at one instant: once all of that has arrived, that instant is what is told.
    mark: (Instant, u64),
    outgoing: Outgoing,
}

impl Written {
    fn new(now: Instant) -> Written {
        Written { bytes: 0, mark: (now, 0), outgoing: Outgoing::new(now) }
    }

    /// Where the kernel has so many bytes left that the other end has not acknowledged.
    fn look(&mut self, now: Instant, unacknowledged_bytes: u32) {
        let (marked_at, marked_bytes) = self.mark;
        if self.bytes.saturating_sub(u64::from(unacknowledged_bytes)) < marked_bytes {
            return;
        }
        self.outgoing.note_taken(if unacknowledged_bytes == 0 { now } else { marked_at });
        self.mark = (now, self.bytes);
    }
}

impl Accepted {
    /// With `taking_timeout` the kernel gives the connection up when nothing of what was written is acknowledged for so
    /// long (RFC 5482), and [`Accepted::outgoing`] tells how far it has come.
    pub(super) fn new(stream: TcpStream, taking_timeout: Option<Duration>) -> Accepted {
        // Answers are small and whole: waiting to fill a segment only adds latency.
        let _ = stream.set_nodelay(true);
        let written = taking_timeout.map(|timeout| {
            let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
            if let Err(error) = set_tcp_user_timeout(&stream, millis) {
                tracing::debug!(%error, "a connection is given up later than its site asks for");
            }
            Box::new(Written::new(Instant::now()))
        });
        Accepted { stream, written }
    }

    /// How far the other end has taken what was written; none where the site does not ask.
    pub(super) fn outgoing(&self) -> Option<Outgoing> {
        self.written.as_ref().map(|written| written.outgoing.clone())
    }

    /// The first bytes that came, which stay to be read.
    pub(super) async fn peek(&self, first: &mut [u8]) -> io::Result<usize> {
        self.stream.peek(first).await
    }

    /// Writes, and looks before that: what is written now cannot have arrived.
    fn write(
        mut self: Pin<&mut Self>,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Accepted { stream, written } = &mut *self;
        if let Some(written) = written
            && let Some(unacknowledged_bytes) = unacknowledged_bytes(&*stream)
        {
            written.look(Instant::now(), unacknowledged_bytes);
        }
        let count = ready!(write(Pin::new(stream)))?;
        if let Some(written) = written {
            written.bytes += count as u64;
        }
        Poll::Ready(Ok(count))
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(|stream| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(|stream| stream.poll_write_vectored(context, slices))
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
    use super::*;

    #[test]
    fn what_has_arrived_is_told_by_when_it_was_written() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut written = Written::new(start);
        // A write of 100 bytes, before which so many were still under way; when everything had arrived as far as is known.
        for (seconds, unacknowledged, taken_at) in [
            (10, 0, 10),
            (20, 0, 20),
            // What was written at 20 stays under way, then it arrives.
            (30, 100, 20),
            (40, 200, 20),
            (99, 300, 20),
            (110, 0, 110),
            // Something is always under way, but it gets on.
            (120, 100, 110),
            (130, 100, 120),
            (140, 100, 130),
            (150, 100, 140),
            // Now more than what was written last: what had been written by 150 has not arrived before 170.
            (160, 200, 140),
            (170, 200, 150),
        ] {
            written.look(at(seconds), unacknowledged);
            assert_eq!(written.outgoing.taken_at(), at(taken_at), "at {seconds}");
            written.bytes += 100;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test's own connection to itself")]
    async fn pair(taking_timeout: Option<Duration>) -> (Accepted, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Accepted::new(listener.accept().await.unwrap().0, taking_timeout), client)
    }

    #[tokio::test]
    async fn a_site_that_asks_learns_what_arrives() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (plain, _client) = pair(None).await;
        assert!(plain.outgoing().is_none());
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&plain.stream), Ok(0));

        let (mut watched, mut client) = pair(Some(Duration::from_secs(60))).await;
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&watched.stream), Ok(60_000));
        let outgoing = watched.outgoing().unwrap();
        let before = Instant::now();
        watched.write_all(b"one").await.unwrap();
        assert!(outgoing.taken_at() >= before, "nothing was under way before it");
        client.read_exact(&mut [0; 3]).await.unwrap();
        // Whoever reads nothing lets the buffers fill; from then on nothing arrives.
        let chunk = vec![7; 1 << 20];
        while let Ok(Ok(())) = tokio::time::timeout(Duration::from_millis(200), watched.write_all(&chunk)).await {}
        let stuck_at = Instant::now();
        let _ = tokio::time::timeout(Duration::from_millis(20), watched.write_all(&chunk)).await;
        assert!(outgoing.taken_at() < stuck_at && unacknowledged_bytes(&watched.stream).unwrap() > 0);
    }
}
