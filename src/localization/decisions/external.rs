//! A decision service of its own, over HTTP (localization, W1 and W2).

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use quintet_platform::clock::BoxFuture;
use quintet_platform::egress::Egress;
use quintet_platform::http::bearer::bearer_field;
use quintet_platform::http::query::encode_segment;
use quintet_platform::secrets::Secret;
use quintet_storage::Uuid;

use super::answers::{read_raised, read_reading};
use super::model::{Raise, Raised, Reading, Unavailable};
use super::service::DecisionService;

/// How long it may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How long one waits who only asks whether it answers.
const PROBE_TIME: Duration = Duration::from_secs(3);
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A decision service of its own.
pub struct External {
    egress: Egress,
    /// The base address; empty: nobody has said where it is.
    url: String,
    /// `Authorization`, if there is a key.
    credential: Option<HeaderValue>,
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The address is none, or the key cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address that requests can be sent to, or a key that none can carry")]
pub struct NoAddress;

impl External {
    /// The service at a base address; an empty one stands for a service that nobody has named, and an empty key is not sent.
    ///
    /// # Errors
    /// [`NoAddress`]
    pub fn new(egress: Egress, url: &str, api_key: &Secret) -> Result<External, NoAddress> {
        let url = url.trim_end_matches('/').to_owned();
        if !url.is_empty() {
            format!("{url}/v1/decisions").parse::<Uri>().map_err(|_| NoAddress)?;
        }
        let credential = match api_key.expose().as_str() {
            "" => None,
            _ => Some(bearer_field(api_key).ok_or(NoAddress)?),
        };
        Ok(External { egress, url, credential })
    }

    /// Sends a request to a path below the base address.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(Uuid, String)>,
        time: Duration,
    ) -> Result<Response<Bytes>, Unavailable> {
        if self.url.is_empty() {
            return Err(Unavailable("decision.url names none".to_owned()));
        }
        let uri = format!("{}{path}", self.url).parse::<Uri>();
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = method;
        *request.uri_mut() = uri.map_err(|_| Unavailable("its address is none".to_owned()))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(credential) = &self.credential {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        if let Some((key, body)) = body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if let Ok(key) = HeaderValue::from_str(&key.to_string()) {
                headers.insert(IDEMPOTENCY_KEY, key);
            }
            *request.body_mut() = Bytes::from(body);
        }
        self.egress.send(request, time).await.map_err(|error| Unavailable(error.to_string()))
    }

    async fn raise_there(&self, raise: Raise) -> Result<Raised, Unavailable> {
        let body = Some((raise.subject.id, raise.to_text()));
        let answer = self.send(Method::POST, "/v1/decisions", body, ANSWER_TIME).await?;
        match answer.status() {
            StatusCode::OK | StatusCode::CREATED => read_raised(answer.body()),
            status => Err(Unavailable(format!("it answered {status}"))),
        }
    }

    async fn look_there(&self, decision_id: &str) -> Result<Reading, Unavailable> {
        let path = format!("/v1/decisions/{}", encode_segment(decision_id));
        let answer = self.send(Method::GET, &path, None, ANSWER_TIME).await?;
        match answer.status() {
            StatusCode::OK => read_reading(answer.body(), decision_id),
            status => Err(Unavailable(format!("it answered {status}"))),
        }
    }

    /// Whoever answers that there is no such decision answers.
    async fn probe_there(&self) -> Result<(), Unavailable> {
        let path = format!("/v1/decisions/{}", Uuid::nil());
        let answer = self.send(Method::GET, &path, None, PROBE_TIME).await?;
        match answer.status() {
            StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::GONE => Ok(()),
            status => Err(Unavailable(format!("it answered {status}"))),
        }
    }
}

impl DecisionService for External {
    fn raise(&self, raise: Raise) -> BoxFuture<'_, Result<Raised, Unavailable>> {
        Box::pin(self.raise_there(raise))
    }

    fn look<'s>(&'s self, decision_id: &'s str) -> BoxFuture<'s, Result<Reading, Unavailable>> {
        Box::pin(self.look_there(decision_id))
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), Unavailable>> {
        Box::pin(self.probe_there())
    }
}
