//! Who says what a credential is worth: the appliance itself, or an external authorization system.
//!
//! The external system answers token introspection (RFC 7662) at `{url}/introspect`, asked with the appliance's own
//! credential as a bearer token. What it must say of an active credential: `tenant_id` (a UUID), `scope` (permissions
//! separated by blanks), `jti` (the key's id, 1 to 255 characters); `sub` (a UUID) and `exp` if it likes. An inactive
//! one may say `"reason": "expired"`. Keys that the appliance issues are made known with PUT `{url}/keys/{key_id}`
//! and taken back with DELETE. Tenants, what they are provisioned for and whether they are suspended stay the
//! appliance's own business.
//!
//! Every request asks anew: what is revoked there is refused here at once. A system that cannot be reached leaves the
//! credential undetermined; one that refuses the appliance's own credential leaves all of them so.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use quintet_storage::{Abort, Failure, Store, Timestamp};
use uuid::Uuid;

use super::authenticate::{AuthRefusal, Caller, KnownKey, admit, authenticate, bearer};
use super::model::Service;
use crate::egress::{Egress, Repeatable};
use crate::http::bearer::bearer_field;
use crate::ids::parse_uuid;
use crate::json::{Json, Limits, parse, to_compact};
use crate::secrets::Secret;

/// How long the external system may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest credential that is passed on, in bytes.
const CREDENTIAL_LEN_MAX: usize = 1024;
/// The longest key id the external system may give, in bytes.
const KEY_ID_LEN_MAX: usize = 255;

/// Why a caller was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthFailure {
    /// The credential, its permissions or its tenant.
    Refused(AuthRefusal),
    /// The store could not be read.
    Store(Failure),
    /// The external system could not be asked, or did not answer properly.
    Unavailable,
    /// The external system refuses the appliance's own credential.
    CredentialRejected,
}

impl From<Abort<AuthRefusal>> for AuthFailure {
    fn from(abort: Abort<AuthRefusal>) -> Self {
        match abort {
            Abort::Refused(refusal) => AuthFailure::Refused(refusal),
            Abort::Failed(failure) => AuthFailure::Store(failure),
        }
    }
}

/// What was last seen of the appliance's own credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialState {
    /// The external system accepts it.
    Ok,
    /// The external system refuses it.
    Rejected,
    /// There is no external system, it was not asked yet, or it could not be reached.
    Unknown,
}

impl CredentialState {
    /// `ok`, `rejected` or `unknown`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            CredentialState::Ok => "ok",
            CredentialState::Rejected => "rejected",
            CredentialState::Unknown => "unknown",
        }
    }
}

/// The external system did not do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChangeFailure {
    /// It said no.
    Refused,
    /// It could not be asked; nothing is known.
    Unavailable,
    /// It refuses the appliance's own credential.
    CredentialRejected,
}

/// Who says what a credential is worth.
#[derive(Debug)]
pub enum Authority {
    /// The appliance itself.
    Embedded,
    /// An external system.
    External(ExternalAuthority),
}

/// An external authorization system.
pub struct ExternalAuthority {
    url: String,
    own_credential: Secret,
    egress: Egress,
    state: AtomicU8,
}

impl fmt::Debug for ExternalAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAuthority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Finds out who is calling a service and whether they may; see [`authenticate`].
    ///
    /// # Errors
    /// See [`AuthFailure`].
    pub async fn authenticate(
        &self,
        store: &Store,
        service: Service,
        authorization_header: Option<&str>,
        permission: Option<&str>,
        now: Timestamp,
    ) -> Result<Caller, AuthFailure> {
        match self {
            Authority::Embedded => Ok(authenticate(&store.read(), service, authorization_header, permission, now)?),
            Authority::External(external) => {
                let credential = authorization_header.and_then(bearer).filter(|text| is_credential(text));
                let credential = credential.ok_or(AuthFailure::Refused(AuthRefusal::Unauthenticated))?;
                let key = external.introspect(credential).await?;
                Ok(admit(&store.read(), service, key, permission, now)?)
            }
        }
    }

    /// What was last seen of the appliance's own credential. Calls nobody.
    #[must_use]
    pub fn credential_state(&self) -> CredentialState {
        match self {
            Authority::Embedded => CredentialState::Unknown,
            Authority::External(external) => external.state(),
        }
    }

    /// Makes a key known that the appliance is about to issue. Again: the same outcome.
    ///
    /// # Errors
    /// See [`KeyChangeFailure`].
    pub async fn announce_key(&self, key: &AnnouncedKey<'_>) -> Result<(), KeyChangeFailure> {
        let Authority::External(external) = self else { return Ok(()) };
        let permissions = key.permissions.join(" ");
        let body = Json::object([
            ("key", Json::from(key.api_key.expose().as_str())),
            ("tenant_id", Json::from(key.tenant_id.to_string())),
            ("label", Json::from(key.label)),
            ("scope", Json::from(permissions)),
            ("exp", Json::from(key.expires_at.map(|at| at.as_micros().div_euclid(1_000_000)))),
        ]);
        external.change_key(Method::PUT, key.key_id, to_compact(&body).into_bytes()).await
    }

    /// Has a key revoked. A key the external system does not know is as good as revoked.
    ///
    /// # Errors
    /// See [`KeyChangeFailure`].
    pub async fn revoke_key(&self, key_id: &str) -> Result<(), KeyChangeFailure> {
        let Authority::External(external) = self else { return Ok(()) };
        external.change_key(Method::DELETE, key_id, Vec::new()).await
    }
}

/// A key about to be issued.
#[derive(Debug)]
pub struct AnnouncedKey<'a> {
    /// Its id.
    pub key_id: &'a str,
    /// The key itself.
    pub api_key: &'a Secret,
    /// The tenant it acts for.
    pub tenant_id: Uuid,
    /// What people call it.
    pub label: &'a str,
    /// What it may do.
    pub permissions: &'a [String],
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
}

impl ExternalAuthority {
    /// `url` is the system's base address, `own_credential` what the appliance shows it.
    #[must_use]
    pub fn new(url: &str, own_credential: Secret, egress: Egress) -> ExternalAuthority {
        let url = url.trim_end_matches('/').to_owned();
        ExternalAuthority { url, own_credential, egress, state: AtomicU8::new(2) }
    }

    fn state(&self) -> CredentialState {
        match self.state.load(Ordering::Relaxed) {
            0 => CredentialState::Ok,
            1 => CredentialState::Rejected,
            _ => CredentialState::Unknown,
        }
    }

    fn see(&self, state: CredentialState) {
        let number = match state {
            CredentialState::Ok => 0,
            CredentialState::Rejected => 1,
            CredentialState::Unknown => 2,
        };
        if self.state.swap(number, Ordering::Relaxed) != number {
            tracing::info!(state = state.as_str(), "the authorization system's opinion of this appliance changed");
        }
    }

    async fn ask(&self, method: Method, path: &str, kind: &str, body: Vec<u8>) -> Result<Response<Bytes>, AuthFailure> {
        let bearer = bearer_field(&self.own_credential).ok_or(AuthFailure::CredentialRejected)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header(AUTHORIZATION, bearer)
            .header(CONTENT_TYPE, kind)
            .header(ACCEPT, "application/json")
            // Introspection changes nothing, and the others name what they put or delete.
            .extension(Repeatable)
            .body(Bytes::from(body))
            .map_err(|_| AuthFailure::Unavailable)?;
        let answer = self.egress.send(request, PATIENCE).await.map_err(|error| {
            tracing::warn!(%error, "the authorization system cannot be asked");
            self.see(CredentialState::Unknown);
            AuthFailure::Unavailable
        })?;
        if matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            self.see(CredentialState::Rejected);
            return Err(AuthFailure::CredentialRejected);
        }
        if !answer.status().is_server_error() {
            self.see(CredentialState::Ok);
        }
        Ok(answer)
    }

    async fn introspect(&self, credential: &str) -> Result<KnownKey, AuthFailure> {
        // A credential has no character that a form would have to escape.
        let form = format!("token={credential}&token_type_hint=access_token").into_bytes();
        let answer = self.ask(Method::POST, "/introspect", "application/x-www-form-urlencoded", form).await?;
        if answer.status() != StatusCode::OK {
            tracing::warn!(
                status = answer.status().as_u16(),
                "the authorization system did not answer an introspection"
            );
            return Err(AuthFailure::Unavailable);
        }
        let json = parse(answer.body(), Limits::default()).map_err(|_| AuthFailure::Unavailable)?;
        match json.get("active") {
            Some(Json::Bool(true)) => known_key(&json).ok_or_else(|| {
                tracing::warn!("the authorization system's answer lacks something");
                AuthFailure::Unavailable
            }),
            Some(Json::Bool(false)) if json.get("reason").and_then(Json::as_str) == Some("expired") => {
                Err(AuthFailure::Refused(AuthRefusal::CredentialExpired))
            }
            Some(Json::Bool(false)) => Err(AuthFailure::Refused(AuthRefusal::Unauthenticated)),
            _ => Err(AuthFailure::Unavailable),
        }
    }

    async fn change_key(&self, method: Method, key_id: &str, body: Vec<u8>) -> Result<(), KeyChangeFailure> {
        let is_removal = method == Method::DELETE;
        let answer = self.ask(method, &format!("/keys/{key_id}"), "application/json", body).await;
        match answer.map(|answer| answer.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(StatusCode::NOT_FOUND | StatusCode::GONE) if is_removal => Ok(()),
            Ok(status) if status.is_client_error() => Err(KeyChangeFailure::Refused),
            Err(AuthFailure::CredentialRejected) => Err(KeyChangeFailure::CredentialRejected),
            _ => Err(KeyChangeFailure::Unavailable),
        }
    }
}

/// `rak_` and what keys are made of: nothing that could be anything but a part of a form.
fn is_credential(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.len() <= CREDENTIAL_LEN_MAX && text.starts_with("rak_") && text.bytes().all(known)
}

fn known_key(json: &Json) -> Option<KnownKey> {
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    let key_id = text("jti").filter(|id| (1..=KEY_ID_LEN_MAX).contains(&id.len()))?;
    let tenant_id = text("tenant_id").and_then(parse_uuid)?;
    let mut permissions: Vec<String> = text("scope")?.split_ascii_whitespace().map(str::to_owned).collect();
    permissions.sort_unstable();
    permissions.dedup();
    let expires_at = match json.get("exp") {
        None | Some(Json::Null) => None,
        Some(Json::Number(seconds)) => Some(Timestamp::EPOCH.plus_seconds(seconds.as_i64()?)),
        Some(_) => return None,
    };
    let principal_id = text("sub").and_then(parse_uuid).unwrap_or(tenant_id);
    Some(KnownKey { key_id: key_id.to_owned(), tenant_id, principal_id, permissions, expires_at })
}
