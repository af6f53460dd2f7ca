//! Asking a provider: its document and keys, which are kept for a while, tokens for a code, an address it tells of somebody.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use data_encoding::BASE64;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use tokio::sync::Semaphore;

use super::claims::{Email, Expected, IdToken, LogoutToken};
use super::document::{ClientProof, Document, form, with_parameters};
use super::fetched::{Fetched, Unavailable};
use super::jose::{Token, TokenFault};
use super::key_set::KeySet;
use super::login::Login;
use crate::clock::Clock;
use crate::egress::{Egress, EgressError};
use crate::http::bearer::bearer_field;
use crate::http::query::encode_segment;
use crate::json::{Json, Limits, parse};
use crate::secrets::Secret;

/// Where the document lies below the issuer (OpenID Connect Discovery 1.0, 4).
const DOCUMENT_PATH: &str = "/.well-known/openid-configuration";
/// What is asked for (4-localization.md, N1).
const SCOPE: &str = "openid email profile";
/// How long document and keys are kept, in seconds (N1).
const KEPT_SECONDS: i64 = 3_600;
/// How old keys must be to be fetched anew for a name that is not among them, in seconds (N1).
const UNKNOWN_KEY_SECONDS: i64 = 60;
/// The largest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// How long one answer may take, waiting for others' among it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many requests that strangers can cause as they like, with codes of their own making, are made at a time.
const CODES_MAX: usize = 32;
/// How many others are, which sign-in as a whole needs: document and keys.
const CALLS_MAX: usize = 8;

/// Which provider, and what we are called there.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its issuer, exactly as its tokens name it.
    pub issuer: String,
    /// What we are called there.
    pub client_id: String,
    /// What we prove that with; empty: nothing, as a public client.
    pub client_secret: Secret,
}

/// Why a code brought nobody in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeFailure {
    /// The provider gives no answer of use.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// It does not take the code, or answers without tokens.
    #[error("the provider gives no tokens for the code")]
    Refused,
    /// The token it gives is not taken.
    #[error("the ID token is refused: {0}")]
    Token(#[from] TokenFault),
}

/// What came for a code.
pub struct Signed {
    /// What the ID token says.
    pub id: IdToken,
    /// The ID token itself, by which the provider knows the session again.
    pub id_token: Secret,
    /// With this the provider tells more.
    access_token: Option<Secret>,
}

/// A provider.
pub struct Provider {
    egress: Egress,
    clock: Clock,
    settings: Settings,
    document: Fetched<Document>,
    keys: Fetched<KeySet>,
    /// Places of requests for what comes of a code.
    codes: Semaphore,
    /// Places of all others.
    calls: Semaphore,
}

impl Provider {
    /// A provider that was not asked anything yet.
    #[must_use]
    pub fn new(egress: Egress, clock: Clock, settings: Settings) -> Provider {
        let (document, keys) = (Fetched::default(), Fetched::default());
        let (codes, calls) = (Semaphore::new(CODES_MAX), Semaphore::new(CALLS_MAX));
        Provider { egress, clock, settings, document, keys, codes, calls }
    }

    /// Its issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// What logins are sealed for: no other provider's, and no other client's.
    #[must_use]
    pub fn party(&self) -> String {
        format!("{}\n{}", self.settings.issuer, self.settings.client_id)
    }

    /// What it says of itself, at most an hour old.
    ///
    /// # Errors
    /// [`Unavailable`]
    pub async fn document(&self) -> Result<Arc<Document>, Unavailable> {
        const WHAT: &str = "its document";
        let fetch = async {
            let uri = format!("{}{DOCUMENT_PATH}", self.settings.issuer.trim_end_matches('/'));
            let uri = uri.parse().map_err(|_| Unavailable::new(WHAT, "its issuer is no address"))?;
            let body = self.read(WHAT, &uri).await?;
            let document = Document::read(&body, &self.settings.issuer);
            document.ok_or_else(|| Unavailable::new(WHAT, "no OpenID Connect document of this issuer"))
        };
        self.document.get(KEPT_SECONDS, || self.clock.pacing_now(), fetch).await
    }

    /// Where a login begins: the address that the browser is sent to, which comes back to `redirect_uri`.
    ///
    /// # Errors
    /// [`Unavailable`]
    pub async fn authorization_url(&self, login: &Login, redirect_uri: &str) -> Result<String, Unavailable> {
        let document = self.document().await?;
        let (state, nonce, challenge) = (login.state(), login.nonce(), login.challenge());
        let parameters = [
            ("response_type", "code"),
            ("client_id", self.settings.client_id.as_str()),
            ("redirect_uri", redirect_uri),
            ("scope", SCOPE),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        Ok(with_parameters(&document.authorization, &parameters))
    }

    /// Where somebody signs out who came with this ID token, and is then sent to `then`; `None`: nowhere.
    ///
    /// # Errors
    /// [`Unavailable`]
    pub async fn logout_url(&self, id_token: &Secret, then: &str) -> Result<Option<String>, Unavailable> {
        let document = self.document().await?;
        let parameters = [
            ("id_token_hint", id_token.expose().as_str()),
            ("client_id", self.settings.client_id.as_str()),
            ("post_logout_redirect_uri", then),
        ];
        Ok(document.end_session.as_ref().map(|address| with_parameters(address, &parameters)))
    }

    /// Whether a callback that says this `iss` can be of this provider (RFC 9207, 2.4): it must say the right one, or none
    /// where none is promised.
    ///
    /// # Errors
    /// [`Unavailable`]
    pub async fn is_answering(&self, issuer: Option<&str>) -> Result<bool, Unavailable> {
        let document = self.document().await?;
        Ok(issuer.map_or(!document.promises_issuer, |issuer| issuer == self.settings.issuer))
    }

    /// Makes of a code who has signed in: the request for tokens, and the checks of the ID token.
    ///
    /// # Errors
    /// [`ExchangeFailure`]
    pub async fn exchange(&self, login: &Login, code: &str, redirect_uri: &str) -> Result<Signed, ExchangeFailure> {
        const WHAT: &str = "tokens";
        let document = self.document().await?;
        let request = self.token_request(&document, login, code, redirect_uri)?;
        let answer = self.send(&self.codes, WHAT, request).await?;
        let status = answer.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(Unavailable::new(WHAT, format_args!("it answers {status}")).into());
        }
        let json = parse(answer.body(), Limits { max_depth: 16 }).unwrap_or(Json::Null);
        let text = |name: &str| json.get(name).and_then(Json::as_str).map(|text| Secret::new(text.to_owned()));
        if status != StatusCode::OK {
            if json.get("error").and_then(Json::as_str) == Some("invalid_client") {
                tracing::warn!("the identity provider refuses localization.identity.client_id or its secret");
            }
            return Err(ExchangeFailure::Refused);
        }
        let id_token = text("id_token").ok_or(ExchangeFailure::Refused)?;
        let token = Token::read(id_token.expose())?;
        let claims = self.checked(&token).await?;
        let id = IdToken::of(&claims, &self.expected(), &login.nonce())?;
        Ok(Signed { id, access_token: text("access_token"), id_token })
    }

    /// The address of who has signed in: what the ID token says, else what the provider tells when asked.
    ///
    /// # Errors
    /// [`Unavailable`]
    pub async fn email_of(&self, signed: &Signed) -> Result<Option<Email>, Unavailable> {
        const WHAT: &str = "userinfo";
        if signed.id.email.is_some() {
            return Ok(signed.id.email.clone());
        }
        let document = self.document().await?;
        let (Some(uri), Some(access_token)) = (&document.userinfo, &signed.access_token) else { return Ok(None) };
        let Some(bearer) = bearer_field(access_token) else { return Ok(None) };
        let mut request = get(uri);
        request.headers_mut().insert(AUTHORIZATION, bearer);
        let answer = self.send(&self.codes, WHAT, request).await?;
        if answer.status().is_server_error() {
            return Err(Unavailable::new(WHAT, format_args!("it answers {}", answer.status())));
        }
        let told = parse(answer.body(), Limits { max_depth: 16 }).ok().filter(|_| answer.status() == StatusCode::OK);
        // OpenID Connect Core 1.0, 5.3.2: what is told of somebody else must not be used.
        let own = told.filter(|told| told.get("sub").and_then(Json::as_str) == Some(&signed.id.subject));
        Ok(own.and_then(|told| Email::of(&told)))
    }

    /// Checks a logout token.
    ///
    /// # Errors
    /// As of [`Provider::exchange`], the code apart.
    pub async fn logout_token(&self, text: &str) -> Result<LogoutToken, ExchangeFailure> {
        let token = Token::read(text)?;
        let claims = self.checked(&token).await?;
        Ok(LogoutToken::of(&claims, &self.expected())?)
    }

    fn expected(&self) -> Expected<'_> {
        let Settings { issuer, client_id, .. } = &self.settings;
        Expected { issuer, client_id, now: self.clock.now() }
    }

    /// What a token says, once one of the provider's keys was found to have signed it. For a name that is not known the keys
    /// are fetched anew.
    async fn checked(&self, token: &Token<'_>) -> Result<Json, ExchangeFailure> {
        let known = match self.keys(KEPT_SECONDS).await?.check(token) {
            Err(TokenFault::UnknownKey) => self.keys(UNKNOWN_KEY_SECONDS).await?.check(token),
            outcome => outcome,
        };
        known?;
        Ok(token.claims()?)
    }

    async fn keys(&self, seconds_max: i64) -> Result<Arc<KeySet>, Unavailable> {
        const WHAT: &str = "its keys";
        let fetch = async {
            let document = self.document().await?;
            let body = self.read(WHAT, &document.keys).await?;
            KeySet::read(&body).ok_or_else(|| Unavailable::new(WHAT, "no key set"))
        };
        self.keys.get(seconds_max, || self.clock.pacing_now(), fetch).await
    }

    fn token_request(
        &self,
        document: &Document,
        login: &Login,
        code: &str,
        redirect_uri: &str,
    ) -> Result<Request<Bytes>, Unavailable> {
        let Settings { client_id, client_secret, .. } = &self.settings;
        let verifier = login.verifier();
        let mut pairs = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier.expose().as_str()),
        ];
        let secret = client_secret.expose().as_str();
        let is_in_head = !secret.is_empty() && document.takes == ClientProof::Basic;
        if !is_in_head {
            pairs.push(("client_id", client_id));
        }
        if !secret.is_empty() && !is_in_head {
            pairs.push(("client_secret", secret));
        }
        let mut request = get(&document.token);
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if is_in_head {
            // RFC 6749, 2.3.1: both are escaped as in a form, then joined.
            let joined = format!("{}:{}", encode_segment(client_id), encode_segment(secret));
            let field = secret_field(&format!("Basic {}", BASE64.encode(joined.as_bytes())));
            headers
                .insert(AUTHORIZATION, field.ok_or_else(|| Unavailable::new("tokens", "the secret cannot be sent"))?);
        }
        *request.body_mut() = form(&pairs).into();
        Ok(request)
    }

    /// What lies at an address of the provider.
    async fn read(&self, what: &'static str, uri: &Uri) -> Result<Bytes, Unavailable> {
        let answer = self.send(&self.calls, what, get(uri)).await?;
        match answer.status() {
            StatusCode::OK => Ok(answer.into_body()),
            status => Err(Unavailable::new(what, format_args!("it answers {status}"))),
        }
    }

    async fn send(
        &self,
        places: &Semaphore,
        what: &'static str,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, Unavailable> {
        let exchange = async {
            let _place = places.acquire().await.map_err(|_| EgressError::Broken)?;
            let (parts, mut body) = self.egress.open(request).await?.into_parts();
            Ok(Response::from_parts(parts, body.whole(ANSWER_BYTES_MAX).await?))
        };
        let outcome = tokio::time::timeout(PATIENCE, Box::pin(exchange)).await;
        outcome.unwrap_or(Err(EgressError::TimedOut)).map_err(|error| Unavailable::new(what, error))
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.settings.issuer).finish_non_exhaustive()
    }
}

fn get(uri: &Uri) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri.clone();
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request
}

fn secret_field(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
