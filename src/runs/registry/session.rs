//! One pull's conversation with a registry: requests that are shown to be allowed, redirects, limits of time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, LOCATION, RANGE};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use quintet_platform::egress::{Egress, EgressBody, EgressError, Party};
use quintet_platform::http::bearer::bearer_field;
use quintet_platform::secrets::Secret;
use serde::Deserialize;
use tokio::time::Instant;

use super::access::{Challenge, Registries, challenge, escaped};
use super::model::{PullError, PullLimits};
use super::reference::Reference;

/// Redirects that are followed, one after the other.
const REDIRECTS_MAX: u32 = 5;
/// The longest answer of a token server, in bytes.
const TOKEN_BYTES_MAX: usize = 64 * 1024;
/// How often somebody is asked whether the pull was called off.
const CANCEL_POLL: Duration = Duration::from_millis(50);
/// The pause before a second attempt; it doubles with each.
const PAUSE: Duration = Duration::from_millis(100);

/// A conversation about one repository of one registry.
pub(super) struct Session<'a> {
    egress: &'a Egress,
    registries: &'a Registries,
    limits: &'a PullLimits,
    reference: &'a Reference,
    cancelled: &'a AtomicBool,
    deadline: Instant,
    /// What requests to the registry itself carry. It goes nowhere else.
    authorization: Option<HeaderValue>,
}

/// What a request came to that got no useful answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It may pass: try again.
    Passing(PullError),
    /// It will not.
    Final(PullError),
}

impl Trouble {
    fn unreachable(reason: impl Into<String>) -> Trouble {
        Trouble::Final(PullError::Unreachable(reason.into()))
    }

    pub fn into_error(self) -> PullError {
        match self {
            Trouble::Passing(error) | Trouble::Final(error) => error,
        }
    }
}

impl From<EgressError> for Trouble {
    fn from(error: EgressError) -> Self {
        let told = PullError::Unreachable(error.to_string());
        match error {
            EgressError::Broken | EgressError::NoTls | EgressError::TimedOut => Trouble::Passing(told),
            _ => Trouble::Final(told),
        }
    }
}

impl From<PullError> for Trouble {
    fn from(error: PullError) -> Self {
        Trouble::Final(error)
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub accept: Option<&'a str>,
    /// The first byte wanted.
    pub from: u64,
}

impl<'a> Session<'a> {
    pub fn new(
        egress: &'a Egress,
        registries: &'a Registries,
        limits: &'a PullLimits,
        reference: &'a Reference,
        cancelled: &'a AtomicBool,
    ) -> Session<'a> {
        let deadline = Instant::now() + limits.time;
        Session { egress, registries, limits, reference, cancelled, deadline, authorization: None }
    }

    /// The address of something in the repository.
    fn address(&self, rest: &str) -> String {
        let scheme = if self.registries.is_plain(self.reference.host()) { "http" } else { "https" };
        format!("{scheme}://{}/v2/{}/{rest}", self.reference.api_authority(), self.reference.path())
    }

    /// Gets something of the repository, however often it takes within reason, and reads it whole.
    pub async fn document(&mut self, rest: &str, accept: Option<&str>) -> Result<Response<Bytes>, PullError> {
        let mut attempt = 0;
        loop {
            let answered = async {
                let (parts, mut body) = self.get(rest, Ask { accept, from: 0 }).await?.into_parts();
                let mut content = Vec::new();
                while let Some(bytes) = self.next(&mut body).await? {
                    if content.len() + bytes.len() > self.limits.document_bytes {
                        return Err(Trouble::Final(PullError::BadImage("one of its documents is too long".into())));
                    }
                    content.extend_from_slice(&bytes);
                }
                Ok(Response::from_parts(parts, Bytes::from(content)))
            };
            match answered.await {
                Ok(response) => return Ok(response),
                Err(Trouble::Passing(_)) if attempt + 1 < self.limits.attempts => attempt += 1,
                Err(trouble) => return Err(trouble.into_error()),
            }
            self.pause(attempt).await?;
        }
    }

    /// Waits a little before another attempt.
    pub async fn pause(&self, attempt: u32) -> Result<(), PullError> {
        let pause = PAUSE.saturating_mul(1 << attempt.min(6));
        let waited = self.within(pause.saturating_mul(2), async {
            tokio::time::sleep(pause).await;
            Ok(())
        });
        waited.await.map_err(Trouble::into_error)
    }

    /// The next bytes of an answer.
    pub async fn next(&self, body: &mut EgressBody) -> Result<Option<Bytes>, Trouble> {
        self.within(self.limits.idle, body.next()).await
    }

    /// Gets something of the repository: the head of an answer 200 or 206.
    pub async fn get(&mut self, rest: &str, ask: Ask<'_>) -> Result<Response<EgressBody>, Trouble> {
        let address = self.address(rest);
        let mut was_shown = false;
        loop {
            let response = self.follow(&address, ask).await?;
            let status = response.status();
            match status {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT => return Ok(response),
                // Once more: a token may have run out, or there was none.
                StatusCode::UNAUTHORIZED if !was_shown => {
                    was_shown = true;
                    self.authorize(response.headers()).await?;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(PullError::Denied.into()),
                StatusCode::NOT_FOUND => return Err(PullError::NotFound.into()),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => return Err(passing(status)),
                _ if status.is_server_error() => return Err(passing(status)),
                _ => return Err(Trouble::unreachable(said(status))),
            }
        }
    }

    /// Sends a request wherever redirects lead. The credential goes to the registry itself alone.
    async fn follow(&self, address: &str, ask: Ask<'_>) -> Result<Response<EgressBody>, Trouble> {
        let own = origin(&parsed(address)?);
        let mut address = address.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let uri = parsed(&address)?;
            self.check_scheme(&uri)?;
            let mut request = Request::get(&address);
            if let Some(accept) = ask.accept {
                request = request.header(ACCEPT, accept);
            }
            if ask.from > 0 {
                request = request.header(RANGE, format!("bytes={}-", ask.from));
            }
            if let Some(authorization) = self.authorization.as_ref().filter(|_| origin(&uri) == own) {
                request = request.header(AUTHORIZATION, authorization);
            }
            let request = request.extension(Party::REGISTRIES).body(Bytes::new()).map_err(|_| unusable())?;
            let response = self.within(self.limits.idle, self.egress.open(request)).await?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                let is_foreign = origin(&uri) != own;
                // Elsewhere nobody is asked to show anything: what is asked for there would be for somebody else.
                return match response.status() {
                    StatusCode::UNAUTHORIZED if is_foreign => Err(PullError::Denied.into()),
                    _ => Ok(response),
                };
            }
            let location =
                response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).ok_or_else(unusable)?;
            address = next_address(&uri, location).ok_or_else(unusable)?;
        }
        Err(Trouble::unreachable("it redirects in a circle"))
    }

    /// Plain HTTP is for the hosts that are configured so.
    fn check_scheme(&self, uri: &Uri) -> Result<(), Trouble> {
        let authority = uri.authority().ok_or_else(unusable)?;
        if authority.as_str().contains('@') {
            return Err(unusable());
        }
        match uri.scheme_str() {
            Some("https") => Ok(()),
            Some("http") if self.registries.is_plain(authority.as_str()) => Ok(()),
            _ => Err(Trouble::unreachable("it is not encrypted there; plain_http in runs.registries allows that")),
        }
    }

    /// Does what a challenge asks for.
    async fn authorize(&mut self, headers: &http::HeaderMap) -> Result<(), Trouble> {
        let basic = self.registries.basic(self.reference.host());
        match challenge(headers) {
            Some(Challenge::Basic) => {
                self.authorization = Some(basic.ok_or(PullError::Denied)?);
                Ok(())
            }
            Some(Challenge::Bearer { realm, service }) => {
                // A second time means that the first token ran out.
                self.authorization = None;
                self.authorization = Some(self.token(&realm, service.as_deref(), basic).await?);
                Ok(())
            }
            None => Err(PullError::Denied.into()),
        }
    }

    /// Asks a token server for the one thing that is needed, whatever the challenge would have had asked for: reading
    /// this repository.
    async fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        basic: Option<HeaderValue>,
    ) -> Result<HeaderValue, Trouble> {
        let uri = parsed(realm)?;
        self.check_scheme(&uri)?;
        let scope = format!("repository:{}:pull", self.reference.path());
        let separator = if uri.query().is_some() { '&' } else { '?' };
        let mut address = format!("{realm}{separator}scope={}", escaped(&scope));
        if let Some(service) = service {
            address.push_str("&service=");
            address.push_str(&escaped(service));
        }
        let mut request = Request::get(&address);
        if let Some(basic) = basic {
            request = request.header(AUTHORIZATION, basic);
        }
        let request = request.extension(Party::REGISTRIES).body(Bytes::new()).map_err(|_| unusable())?;
        let (parts, mut body) = self.within(self.limits.idle, self.egress.open(request)).await?.into_parts();
        match parts.status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(PullError::Denied.into()),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                return Err(passing(status));
            }
            status => return Err(Trouble::unreachable(format!("its token server: {}", said(status)))),
        }
        let content = self.within(self.limits.idle, body.whole(TOKEN_BYTES_MAX)).await?;
        #[derive(Deserialize)]
        struct Answer {
            token: Option<String>,
            access_token: Option<String>,
        }
        let no_token = || Trouble::unreachable("its token server answers no token");
        let answer: Answer = serde_json::from_slice(&content).map_err(|_| no_token())?;
        let token = answer.token.filter(|token| !token.is_empty()).or(answer.access_token);
        let token = token.filter(|token| !token.is_empty()).ok_or_else(no_token)?;
        bearer_field(&Secret::new(token)).ok_or_else(no_token)
    }

    /// Waits for something, so long at most, and not beyond the end of all time that there is.
    async fn within<T>(
        &self,
        at_most: Duration,
        work: impl Future<Output = Result<T, EgressError>>,
    ) -> Result<T, Trouble> {
        let cancelled = async {
            while !self.cancelled.load(Ordering::Relaxed) {
                tokio::time::sleep(CANCEL_POLL).await;
            }
        };
        let until = self.deadline.min(Instant::now() + at_most);
        tokio::select! {
            biased;
            () = cancelled => Err(PullError::Cancelled.into()),
            worked = tokio::time::timeout_at(until, work) => match worked {
                Ok(worked) => Ok(worked?),
                Err(_) if Instant::now() >= self.deadline => Err(PullError::TooLong.into()),
                Err(_) => Err(EgressError::TimedOut.into()),
            },
        }
    }
}

fn said(status: StatusCode) -> String {
    format!("it answers {}", status.as_u16())
}

fn passing(status: StatusCode) -> Trouble {
    Trouble::Passing(PullError::Unreachable(said(status)))
}

fn unusable() -> Trouble {
    Trouble::unreachable("it leads to an address that cannot be used")
}

fn parsed(address: &str) -> Result<Uri, Trouble> {
    address.parse().map_err(|_| unusable())
}

/// Scheme, host and port: who is spoken to.
fn origin(uri: &Uri) -> (String, String, Option<u16>) {
    let scheme = uri.scheme_str().unwrap_or_default().to_owned();
    let port = uri.port_u16().or(match scheme.as_str() {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    });
    (scheme, uri.host().unwrap_or_default().to_ascii_lowercase(), port)
}

/// Where a redirect leads.
fn next_address(from: &Uri, location: &str) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    if location.starts_with("//") {
        return Some(format!("{}:{location}", from.scheme_str()?));
    }
    if location.starts_with('/') {
        return Some(format!("{}://{}{location}", from.scheme_str()?, from.authority()?));
    }
    location.contains("://").then(|| location.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_lead_where_they_say() {
        let from: Uri = "https://a:5000/v2/x?y".parse().unwrap();
        for (location, expected) in [
            ("https://b/z?q#f", Some("https://b/z?q")),
            ("/z", Some("https://a:5000/z")),
            ("//b:1/z", Some("https://b:1/z")),
            ("z", None),
            ("", None),
        ] {
            assert_eq!(next_address(&from, location).as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let of = |text: &str| origin(&text.parse().unwrap());
        assert_eq!(of("https://A/x"), of("https://a:443/y"));
        for other in ["http://a/x", "https://a:444/x", "https://b/x"] {
            assert_ne!(of("https://a/x"), of(other));
        }
    }
}
