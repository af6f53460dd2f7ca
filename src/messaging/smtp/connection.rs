//! One connection: lines in, replies out, mails read within bounds of time and memory.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use bytes::BytesMut;
use quintet_platform::limits::source_key;
use quintet_platform::service::Turn;
use quintet_storage::Uuid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::body::{Body, Read};
use super::lines::{Line, Lines};
use super::places::Place;
use super::reply::Reply;
use super::session::{Directory, Session, Step};
use crate::context::Context;
use crate::intake::{self, Arrived, Envelope, Found, NotTaken, SIZE_MAX};

/// How long a client may be silent (6-messaging.md, M2).
const IDLE_TIME: Duration = Duration::from_secs(300);
/// How long it may take to encrypt.
const HANDSHAKE_TIME: Duration = Duration::from_secs(30);
/// What is read at a time, in bytes.
const READ_BYTES: usize = 16 << 10;
/// So much of a mail is held without a turn, in bytes; and how long one is waited for.
const FREE_BYTES: usize = 256 << 10;
const TURN_TIME: Duration = Duration::from_secs(60);
/// A mail has this time, and what its bytes take at this pace, in bytes a second; with a turn this much less, for who
/// trickles keeps others waiting.
const MAIL_TIME: Duration = Duration::from_secs(300);
const PACE_BYTES: u64 = 16 << 10;
const TURN_MAIL_TIME: Duration = Duration::from_secs(30);
const TURN_PACE_BYTES: u64 = 64 << 10;

/// Whatever a client is connected by.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

/// What a connection is served with.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) context: Context,
    /// What encrypts, if anything does.
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) source: IpAddr,
}

impl Directory for Context {
    fn find(&self, address: &str) -> Found {
        intake::find(self, address)
    }
}

/// A client.
struct Client {
    wire: Box<dyn Wire>,
    /// What has come and is not read yet.
    came: BytesMut,
    /// What is not sent yet.
    out: Vec<u8>,
}

/// Why a client is left.
enum Left {
    /// It is gone, or silent.
    Gone,
    /// The appliance stops.
    Stopping,
}

impl From<io::Error> for Left {
    fn from(_: io::Error) -> Left {
        Left::Gone
    }
}

/// Serves a client to its end. `place`: is given back with its goodbye, so that it may come again as soon as it has ours.
pub(super) async fn serve(wire: Box<dyn Wire>, served: Served, mut place: Option<Place>) {
    let mut client = Client { wire, came: BytesMut::new(), out: Vec::new() };
    let domain = served.context.domain().to_owned();
    let mut session = Session::new(&domain, served.acceptor.is_some());
    match client.converse(&mut session, &served).await {
        Ok(()) => drop(place.take()),
        Err(Left::Stopping) => client.say(&Reply::new(421, "4.3.2", format!("{domain} stops; come back"))),
        Err(Left::Gone) => {}
    }
    // Who does not read his last reply does without.
    let _ = timeout(Duration::from_secs(5), client.flush()).await;
    let _ = timeout(Duration::from_secs(5), client.wire.shutdown()).await;
}

impl Client {
    async fn converse(&mut self, session: &mut Session, served: &Served) -> Result<(), Left> {
        self.say(&session.banner());
        let mut lines = Lines::default();
        loop {
            let line = self.line(&mut lines, served).await?;
            let mut step = match line {
                Line::Whole(line) => session.command(&line, &served.context),
                Line::Bare => session.answered(Reply::new(550, "5.6.0", "a CR or LF by itself: lines end with CR LF")),
                Line::TooLong => session.answered(Reply::new(500, "5.5.2", "the line is too long")),
            };
            if let Step::Read(reply) = &step {
                let Some(envelope) = session.take_envelope() else { continue };
                self.say(reply);
                let reply = self.mail(session, served, envelope).await?;
                step = session.answered(reply);
            }
            match step {
                Step::Say(reply) => self.say(&reply),
                Step::Leave(reply) => {
                    self.say(&reply);
                    return Ok(());
                }
                Step::Encrypt(reply) => {
                    self.say(&reply);
                    self.encrypt(served).await?;
                    session.encrypted();
                }
                // It has become what is answered to the mail.
                Step::Read(_) => {}
            }
        }
    }

    /// The next line. What was said is sent before anything is waited for, and not before: of commands that come at once
    /// the replies go at once.
    async fn line(&mut self, lines: &mut Lines, served: &Served) -> Result<Line, Left> {
        loop {
            if let Some(line) = lines.next(&mut self.came) {
                return Ok(line);
            }
            self.flush().await?;
            self.more(Instant::now() + IDLE_TIME, served).await?;
        }
    }

    /// Reads more, until then.
    async fn more(&mut self, until: Instant, served: &Served) -> Result<(), Left> {
        self.came.reserve(READ_BYTES);
        let reading = timeout_at(until, self.wire.read_buf(&mut self.came));
        let read = tokio::select! {
            read = reading => read,
            () = served.context.stopped() => return Err(Left::Stopping),
        };
        match read {
            Ok(Ok(0)) | Err(_) => Err(Left::Gone),
            Ok(read) => Ok(read.map(drop)?),
        }
    }

    fn say(&mut self, reply: &Reply) {
        reply.write(&mut self.out);
    }

    async fn flush(&mut self) -> Result<(), Left> {
        if !self.out.is_empty() {
            let sending = async {
                self.wire.write_all(&self.out).await?;
                self.wire.flush().await
            };
            timeout(IDLE_TIME, sending).await.map_err(|_| Left::Gone)??;
            self.out.clear();
        }
        Ok(())
    }

    /// Encrypts from now on. What came before that is nobody's any more: somebody in between could have put it there.
    async fn encrypt(&mut self, served: &Served) -> Result<(), Left> {
        self.flush().await?;
        self.came.clear();
        let Some(acceptor) = &served.acceptor else { return Err(Left::Gone) };
        let wire = std::mem::replace(&mut self.wire, Box::new(tokio::io::empty()));
        let encrypted = timeout(HANDSHAKE_TIME, acceptor.accept(wire)).await.map_err(|_| Left::Gone)??;
        self.wire = Box::new(encrypted);
        Ok(())
    }

    /// Reads a mail and takes it in; the reply to it.
    async fn mail(&mut self, session: &Session, served: &Served, envelope: Envelope) -> Result<Reply, Left> {
        self.flush().await?;
        let (read, turn) = self.body(served).await?;
        let (helo, is_extended) = session.greeted().unwrap_or(("unknown", true));
        let protocol = match (is_extended, session.is_encrypted()) {
            (false, _) => "SMTP",
            (true, false) => "ESMTP",
            (true, true) => "ESMTPS",
        };
        let arrived =
            |bytes| Arrived { envelope, source: served.source.to_canonical(), helo: helo.to_owned(), protocol, bytes };
        let outcome = match read {
            Read::Whole(bytes) => intake::take(&served.context, arrived(bytes)).await,
            Read::Bare(begin) => {
                intake::refused(&served.context, &arrived(begin), NotTaken::BareEnds).await;
                Err(NotTaken::BareEnds)
            }
            Read::TooLarge(begin) => {
                intake::refused(&served.context, &arrived(begin), NotTaken::TooLarge).await;
                Err(NotTaken::TooLarge)
            }
        };
        drop(turn);
        Ok(match outcome {
            Ok(id) => Reply::new(250, "2.0.0", format!("taken as {id}")),
            Err(why) => {
                let (code, status, words) = why.reply();
                Reply::new(code, status, words)
            }
        })
    }

    /// Reads a mail to its end. One that is large has its turn before it becomes so.
    async fn body(&mut self, served: &Served) -> Result<(Read, Option<Turn>), Left> {
        let (mut body, mut begun) = (Body::new(SIZE_MAX), Instant::now());
        let mut turn: Option<Turn> = None;
        loop {
            if let Some(used) = body.read(&self.came) {
                let _ = self.came.split_to(used);
                return Ok((body.end(), turn));
            }
            self.came.clear();
            if turn.is_none() && body.held() > FREE_BYTES && !body.is_spoilt() {
                turn = Some(self.turn(served).await?);
                begun = Instant::now();
            }
            let (time, pace) = if turn.is_some() { (TURN_MAIL_TIME, TURN_PACE_BYTES) } else { (MAIL_TIME, PACE_BYTES) };
            let until = (begun + time + Duration::from_secs(body.came() / pace)).min(Instant::now() + IDLE_TIME);
            self.more(until, served).await?;
        }
    }

    /// Sources take turns, and none has all of them.
    async fn turn(&mut self, served: &Served) -> Result<Turn, Left> {
        match served.context.large_mails.hold(Uuid::from_u128(source_key(served.source)), 1, TURN_TIME).await {
            Ok(turn) => Ok(turn),
            Err(_) => {
                // The mail goes on to come, and is not read: there is no other way to say so.
                self.say(&Reply::new(421, "4.3.2", "too many large mails at a time; try again later"));
                self.flush().await?;
                Err(Left::Gone)
            }
        }
    }
}
