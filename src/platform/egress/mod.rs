//! The one way out: requests of the appliance to other systems.
//!
//! Names and addresses of other systems come from configuration or from tenants, so they are vetted where the socket is
//! opened, after the name was resolved: an address that is not of the public internet is refused unless the operator
//! allows its network (`egress.allow_private`), and one refused address spoils all of a name. Exactly a vetted address is
//! connected to; a connection kept from before is used only if its peer is among those just vetted. Redirects are not
//! followed, answers are bounded in size and in time.
//!
//! `https://` is for everybody: the certificate must be signed by an authority of the system's store, or of
//! `tls.extra_ca`. `http://` is for the networks that the operator allows, where he answers for the line.
//!
//! What the operator names himself and which speaks no HTTP is reached without vetting, and by name servers that he names.
//!
//! Reading order: `target` (who is called), `names` (where that is), `trust` (whom it must prove to be), `kept` (connections),
//! `inside` (who is reached without one), `place` (what the operator names), `resolver` (name servers), this file.

mod error;
mod inside;
mod kept;
mod names;
mod place;
mod resolver;
mod target;
mod trust;

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use inside::Tied;
use kept::{Connection, Kept, Moving};
use names::Lookups;
use target::{Host, Target};
use trust::Authorities;

pub use error::EgressError;
pub use inside::Inside;
pub use names::Party;
pub use place::{Place, Trust};
pub use resolver::{NameServers, NoNameServers, exchanges, resolver, texts};
pub use target::is_public;
pub use trust::NoCertificates;

/// The largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// How much of an answer is read of which only the head counts, so that its connection can be kept, in bytes; and how
/// long that may take.
const UNUSED_BYTES_MAX: usize = 4096;
const UNUSED_TIME: Duration = Duration::from_millis(500);
/// What is held of a connection at a time; the head of an answer must fit.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// How long somebody waits who asks whether an address may be called.
const VET_TIME: Duration = Duration::from_secs(2);
/// How long connecting may take where nobody says.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Opens outbound connections. Clones share it.
#[derive(Clone)]
pub struct Egress {
    allows: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    authorities: Arc<Authorities>,
    kept: Kept,
    lookups: Lookups,
    inside: Tied,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Egress")
    }
}

impl Egress {
    /// `allows` says which addresses outside the public internet may be called all the same.
    #[must_use]
    pub fn new(allows: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Egress {
        Egress {
            allows: Arc::new(allows),
            authorities: Arc::default(),
            kept: Kept::default(),
            lookups: Lookups::default(),
            inside: Tied::default(),
        }
    }

    /// Whether this address may be connected to, with TLS or without.
    #[must_use]
    pub fn allows_address(&self, address: IpAddr, is_tls: bool) -> bool {
        (self.allows)(address.to_canonical()) || (is_tls && is_public(address))
    }

    /// Also trusts the authorities whose certificates are in this text (PEM).
    ///
    /// # Errors
    /// [`NoCertificates`] if there is none in it, or one that is not well-formed.
    pub fn trusting(self, pem: &[u8]) -> Result<Egress, NoCertificates> {
        Ok(Egress { authorities: Arc::new(Authorities::with(pem)?), kept: Kept::default(), ..self })
    }

    /// Has what is told to addresses of the appliance's own answered within it. Clones made before know of it.
    pub fn tie(&self, inside: Arc<dyn Inside>) {
        self.inside.tie(inside);
    }

    /// Whether an address is one of the appliance's own.
    #[must_use]
    pub fn is_inside(&self, uri: &Uri) -> bool {
        self.inside.of(uri).is_some()
    }

    /// Sends a request and reads the whole answer, all within `time`.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn send(&self, request: Request<Bytes>, time: Duration) -> Result<Response<Bytes>, EgressError> {
        let exchange = async {
            let (parts, mut body) = self.open(request).await?.into_parts();
            Ok(Response::from_parts(parts, body.whole(ANSWER_BYTES_MAX).await?))
        };
        // Boxed, for it is large (names, TLS, two connections): whoever may have to call somebody would carry it along.
        within(time, Box::pin(exchange)).await
    }

    /// Sends a request of whose answer only the head counts, all within `whole`, of which connecting (with TLS) may take
    /// `connect`. Of the body at most 4 KiB are read, and none is kept. What goes to an address of the appliance's own is
    /// answered within it.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn tell(
        &self,
        request: Request<Bytes>,
        connect: Duration,
        whole: Duration,
    ) -> Result<Response<()>, EgressError> {
        if let Some(inside) = self.inside.of(request.uri()) {
            return within(whole, async { Ok(inside.answer(request).await) }).await;
        }
        let exchange = async {
            let (parts, mut body) = self.open_within(request, Some(connect)).await?.into_parts();
            // Whether it ends in time or not: what was to be known is known.
            let _ = within(UNUSED_TIME, body.whole(UNUSED_BYTES_MAX)).await;
            Ok(Response::from_parts(parts, ()))
        };
        within(whole, Box::pin(exchange)).await
    }

    /// Whether an address may be called, as far as its name tells now: a name that does not resolve may be called with TLS,
    /// for it is vetted again whenever it is. Waits two seconds at most. `party`: on whose account.
    ///
    /// # Errors
    /// [`EgressError::Unusable`], [`EgressError::Forbidden`], [`EgressError::Plain`].
    pub async fn vet(&self, uri: &Uri, party: Party) -> Result<(), EgressError> {
        self.vet_at(uri, party, None).await
    }

    /// The same where on the public internet one port alone may be called.
    ///
    /// # Errors
    /// As of [`Egress::vet`], and [`EgressError::WrongPort`].
    pub async fn vet_at(&self, uri: &Uri, party: Party, port: Option<PublicPort>) -> Result<(), EgressError> {
        match self.look_up_at(uri, party, port).await {
            // Whether it may be called there is known when it resolves.
            Err(EgressError::Unresolved | EgressError::TimedOut) if !may_be_public(&Target::of(uri)?, port) => {
                Err(EgressError::WrongPort)
            }
            Err(EgressError::Unresolved | EgressError::TimedOut) if Target::of(uri)?.is_tls => Ok(()),
            Err(EgressError::Unresolved | EgressError::TimedOut) => Err(EgressError::Plain),
            vetted => vetted,
        }
    }

    /// The same for whoever wants to know whether the name resolves: within two seconds, or not.
    ///
    /// # Errors
    /// As of [`Egress::vet`], and [`EgressError::Unresolved`], [`EgressError::TimedOut`].
    pub async fn look_up(&self, uri: &Uri, party: Party) -> Result<(), EgressError> {
        self.look_up_at(uri, party, None).await
    }

    async fn look_up_at(&self, uri: &Uri, party: Party, port: Option<PublicPort>) -> Result<(), EgressError> {
        if self.is_inside(uri) {
            return Ok(());
        }
        let target = Target::of(uri)?;
        let resolved = within(VET_TIME, self.resolve(&target, Some(party))).await?;
        self.vetted(&target, resolved, port).map(drop)
    }

    /// The addresses of a target, if they may be connected to.
    fn vetted(
        &self,
        target: &Target,
        resolved: Vec<SocketAddr>,
        port: Option<PublicPort>,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let vetted = target.vet(resolved, |address| (self.allows)(address))?;
        let is_allowed = |address: &SocketAddr| (self.allows)(address.ip().to_canonical());
        if !may_be_public(target, port) && !vetted.iter().all(is_allowed) {
            return Err(EgressError::WrongPort);
        }
        Ok(vetted)
    }

    /// Sends a request and hands its answer on as soon as its head is there. How large the body may be and how long it
    /// may take is the caller's to bound; whoever drops it before its end closes the connection.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn open(&self, request: Request<Bytes>) -> Result<Response<EgressBody>, EgressError> {
        self.open_within(request, None).await
    }

    async fn open_within(
        &self,
        request: Request<Bytes>,
        connect: Option<Duration>,
    ) -> Result<Response<EgressBody>, EgressError> {
        let (mut parts, body) = request.into_parts();
        let target = Target::of(&parts.uri)?;
        let host = HeaderValue::try_from(target.host_field()).map_err(|_| EgressError::Unusable)?;
        parts.headers.insert(HOST, host);
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = path.parse().map_err(|_| EgressError::Unusable)?;
        let party = parts.extensions.get::<Party>().copied();
        let port = parts.extensions.get::<PublicPort>().copied();
        let vetted = self.vetted(&target, self.resolve(&target, party).await?, port)?;
        let request = Request::from_parts(parts, Full::new(body));
        // The other side may close a kept connection just as a request goes out, which nobody can tell from one that was
        // read: only what may be sent twice is sent there.
        if may_be_repeated(&request)
            && let Some(connection) = self.kept.take(&target, &vetted)
        {
            match self.converse(&target, connection, request.clone()).await {
                Ok(answer) => return Ok(answer),
                // It was there, and has answered something.
                Err(error) if error.is_parse() => return Err(EgressError::Broken),
                Err(_) => {}
            }
        }
        let connection = match connect {
            Some(time) => within(time, self.connect(&target, &vetted, time)).await?,
            None => self.connect(&target, &vetted, CONNECT_TIME).await?,
        };
        self.converse(&target, connection, request).await.map_err(|_| EgressError::Broken)
    }

    /// The addresses of a target.
    async fn resolve(&self, target: &Target, party: Option<Party>) -> Result<Vec<SocketAddr>, EgressError> {
        match target.known() {
            Some(known) => Ok(known),
            None => self.lookups.ask(target.host.to_string(), target.port, party).await,
        }
    }

    async fn connect(&self, target: &Target, vetted: &[SocketAddr], time: Duration) -> Result<Connection, EgressError> {
        let stream = self.first_of(vetted, time).await.ok_or(EgressError::Broken)?;
        let peer = stream.peer_addr().map_err(|_| EgressError::Broken)?;
        if !target.is_tls {
            return begin(stream, peer).await;
        }
        let name = match &target.host {
            Host::Address(address) => ServerName::from(*address),
            host => ServerName::try_from(host.to_string()).map_err(|_| EgressError::Unusable)?,
        };
        match self.authorities.connector().connect(name, stream).await {
            Ok(stream) => begin(stream, peer).await,
            // What rustls refuses, it hands on as invalid data; a connection that breaks has other kinds.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Err(EgressError::Untrusted),
            Err(_) => Err(EgressError::NoTls),
        }
    }

    /// Connects to the first of these addresses that answers. Each has its share of the time: one that keeps silent leaves
    /// enough for the others.
    #[expect(clippy::disallowed_methods, reason = "the one place that opens outbound connections")]
    async fn first_of(&self, peers: &[SocketAddr], time: Duration) -> Option<TcpStream> {
        let share = time / u32::try_from(peers.len()).unwrap_or(u32::MAX).max(1);
        for peer in peers {
            if let Ok(Ok(stream)) = tokio::time::timeout(share, TcpStream::connect(peer)).await {
                return Some(stream);
            }
        }
        None
    }

    /// Connects to a place that the operator names, whichever network it lies in.
    ///
    /// # Errors
    /// [`EgressError::Unresolved`], [`EgressError::TimedOut`], [`EgressError::Broken`].
    pub async fn dial(&self, place: &Place, time: Duration) -> Result<TcpStream, EgressError> {
        let connecting = async {
            let known = place.host.parse().map(|address| vec![SocketAddr::new(address, place.port)]);
            let found = match known {
                Ok(known) => known,
                Err(_) => self.lookups.ask(place.host.clone(), place.port, None).await?,
            };
            self.first_of(&found, time).await.ok_or(EgressError::Broken)
        };
        within(time, Box::pin(connecting)).await
    }

    /// Begins to encrypt a connection that was made to a place.
    ///
    /// # Errors
    /// [`EgressError::Untrusted`], [`EgressError::NoTls`], [`EgressError::Unusable`].
    pub async fn encrypt<S>(&self, stream: S, place: &Place, trust: Trust) -> Result<TlsStream<S>, EgressError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(place.host.clone()).map_err(|_| EgressError::Unusable)?;
        let connector = match trust {
            Trust::Proven => self.authorities.connector(),
            Trust::Anybody => self.authorities.credulous(),
        };
        connector.connect(name, stream).await.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => EgressError::Untrusted,
            _ => EgressError::NoTls,
        })
    }

    /// One request and the head of its answer.
    async fn converse(
        &self,
        target: &Target,
        mut connection: Connection,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<EgressBody>, hyper::Error> {
        let (parts, body) = connection.sender.send_request(request).await?.into_parts();
        let held = Some((connection, target.clone(), self.kept.clone()));
        Ok(Response::from_parts(parts, EgressBody { body, held }))
    }
}

/// An extension of a request: sent twice, it does no more than once, though its method does not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeatable;

/// An extension of a request: on the public internet it goes to this port and no other. In the networks that the operator
/// allows, every port may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicPort(pub u16);

/// Whether a target may lie on the public internet, as far as its port goes.
fn may_be_public(target: &Target, port: Option<PublicPort>) -> bool {
    port.is_none_or(|PublicPort(port)| target.port == port)
}

fn may_be_repeated<B>(request: &Request<B>) -> bool {
    request.method().is_idempotent() || request.extensions().get::<Repeatable>().is_some()
}

/// Who would be called at an address, in one spelling: host and port. None if nobody can be.
#[must_use]
pub fn authority_of(uri: &Uri) -> Option<String> {
    Target::of(uri).ok().map(|target| target.to_string())
}

/// Begins to speak HTTP on a connection.
async fn begin(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: SocketAddr,
) -> Result<Connection, EgressError> {
    let mut builder = hyper::client::conn::http1::Builder::new();
    let handshake = builder.max_buf_size(BUFFER_BYTES_MAX).handshake(TokioIo::new(stream)).await;
    let (sender, moving) = handshake.map_err(|_| EgressError::Broken)?;
    let task = tokio::spawn(async move { drop(moving.await) });
    Ok(Connection { sender, peer, _task: Moving(task.abort_handle()) })
}

/// The body of an answer, as it arrives.
pub struct EgressBody {
    body: Incoming,
    /// Its connection, which is kept once the body has been read to its end, and closed by whoever gives up before.
    held: Option<(Connection, Target, Kept)>,
}

impl fmt::Debug for EgressBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EgressBody")
    }
}

impl EgressBody {
    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// [`EgressError::Broken`] if the connection ends before the body does.
    pub async fn next(&mut self) -> Result<Option<Bytes>, EgressError> {
        loop {
            match self.body.frame().await {
                None => {
                    self.give_back().await;
                    return Ok(None);
                }
                // Trailers say nothing that is asked for.
                Some(frame) => match frame.map_err(|_| EgressError::Broken)?.into_data() {
                    Ok(data) => return Ok(Some(data)),
                    Err(_) => continue,
                },
            }
        }
    }

    /// Gives the connection back for the next request, if it can take one.
    async fn give_back(&mut self) {
        let Some((mut connection, target, kept)) = self.held.take() else { return };
        if connection.sender.ready().await.is_ok() {
            kept.keep(target, connection);
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// [`EgressError::Broken`] also if there are more bytes than that.
    pub async fn whole(&mut self, bytes_max: usize) -> Result<Bytes, EgressError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            if whole.len() + bytes.len() > bytes_max {
                return Err(EgressError::Broken);
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.into())
    }
}

async fn within<T>(time: Duration, work: impl Future<Output = Result<T, EgressError>>) -> Result<T, EgressError> {
    tokio::time::timeout(time, work).await.unwrap_or(Err(EgressError::TimedOut))
}
