//! An authorization system over HTTP.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use quintet_platform::egress::{Egress, EgressError};
use quintet_platform::http::bearer::bearer_field;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{Json, Limits, parse, to_compact};
use quintet_platform::secrets::Secret;
use quintet_storage::Uuid;

use super::pace::Pace;
use super::system::{AuthorizationSystem, SystemFailure, ToldIntent};

/// How long a call may take (localization, S4).
const PATIENCE: Duration = Duration::from_secs(2);

/// What a system says in `code`, under 404 or 410, of a principal that it does not know. No gateway says that by itself.
const UNKNOWN_PRINCIPAL: &str = "principal_not_found";

/// An authorization system over HTTP.
pub struct RemoteSystem {
    url: String,
    own_credential: Secret,
    egress: Egress,
    pace: Pace,
}

impl fmt::Debug for RemoteSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSystem").finish_non_exhaustive()
    }
}

impl RemoteSystem {
    /// `url` is the system's base address, `own_credential` what the appliance shows it.
    #[must_use]
    pub fn new(url: &str, own_credential: Secret, egress: Egress) -> RemoteSystem {
        let url = url.trim_end_matches('/').to_owned();
        RemoteSystem { url, own_credential, egress, pace: Pace::new() }
    }

    fn request(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Request<Bytes>, SystemFailure> {
        let bearer = bearer_field(&self.own_credential).ok_or(SystemFailure::Senseless)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/intents/{path}", self.url))
            .header(AUTHORIZATION, bearer)
            .header(ACCEPT, "application/json");
        let request = if body.is_empty() { request } else { request.header(CONTENT_TYPE, "application/json") };
        request.body(Bytes::from(body)).map_err(|_| SystemFailure::Senseless)
    }

    /// Tells it something; the status of its answer.
    async fn tell(&self, method: Method, path: &str, body: Vec<u8>) -> Result<StatusCode, SystemFailure> {
        if !self.pace.take() {
            return Err(SystemFailure::Paced);
        }
        let request = self.request(method, path, body)?;
        let answer = self.egress.tell(request, PATIENCE, PATIENCE).await;
        Ok(answer.map_err(away)?.status())
    }

    async fn ask(&self, principal_id: Uuid) -> Result<HashSet<Uuid>, SystemFailure> {
        if !self.pace.take() {
            return Err(SystemFailure::Paced);
        }
        let request = self.request(Method::GET, &principal_id.to_string(), Vec::new())?;
        let answer = self.egress.send(request, PATIENCE).await.map_err(away)?;
        match answer.status() {
            StatusCode::OK => ids_of(answer.body()).ok_or(SystemFailure::Senseless),
            status if is_unknown(status, answer.body()) => Ok(HashSet::new()),
            status => Err(refused(status)),
        }
    }
}

fn away(error: EgressError) -> SystemFailure {
    tracing::warn!(%error, "the authorization system cannot be asked");
    SystemFailure::Away
}

/// Whoever says that it cannot, or that somebody else should be asked first, is away.
fn refused(status: StatusCode) -> SystemFailure {
    match status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        true => SystemFailure::Away,
        false => SystemFailure::Refused(status.as_u16()),
    }
}

/// Whether the system says that it knows no such principal, which has nothing there, then. It says so by a code of its own:
/// a gateway that knows no such route takes nobody's grants, whether it says that as a page or as JSON.
fn is_unknown(status: StatusCode, body: &[u8]) -> bool {
    let says_so = || {
        let json = parse(body, Limits::default()).ok();
        json.is_some_and(|json| json.get("code").and_then(Json::as_str) == Some(UNKNOWN_PRINCIPAL))
    };
    matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) && says_so()
}

/// The ids in `{"intents": [{"intent_id", …}]}`. `None`: it says something else.
fn ids_of(body: &[u8]) -> Option<HashSet<Uuid>> {
    let json = parse(body, Limits::default()).ok()?;
    let Some(Json::Array(intents)) = json.get("intents") else { return None };
    intents.iter().map(|intent| intent.get("intent_id").and_then(Json::as_str).and_then(parse_uuid)).collect()
}

impl AuthorizationSystem for RemoteSystem {
    fn is_told(&self) -> bool {
        true
    }

    fn put<'a>(&'a self, intent: &'a ToldIntent) -> BoxFuture<'a, Result<(), SystemFailure>> {
        Box::pin(async {
            let permissions: Vec<Json> = intent.permissions.iter().map(|text| Json::from(text.as_str())).collect();
            let body = Json::object([
                ("tenant_id", Json::from(intent.tenant_id.to_string())),
                ("principal_id", Json::from(intent.principal_id.to_string())),
                ("intent_id", Json::from(intent.intent_id.to_string())),
                ("target", Json::from(intent.target.as_str())),
                ("permissions", Json::from(permissions)),
            ]);
            let path = format!("{}/{}", intent.principal_id, intent.intent_id);
            let status = self.tell(Method::PUT, &path, to_compact(&body).into_bytes()).await?;
            if status.is_success() { Ok(()) } else { Err(refused(status)) }
        })
    }

    fn delete(&self, principal_id: Uuid, intent_id: Uuid) -> BoxFuture<'_, Result<(), SystemFailure>> {
        Box::pin(async move {
            let status = self.tell(Method::DELETE, &format!("{principal_id}/{intent_id}"), Vec::new()).await?;
            let is_gone = status.is_success() || matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
            if is_gone { Ok(()) } else { Err(refused(status)) }
        })
    }

    fn intents_of(&self, principal_id: Uuid) -> BoxFuture<'_, Result<HashSet<Uuid>, SystemFailure>> {
        Box::pin(self.ask(principal_id))
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pace.wait())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_or_make_no_sense() {
        let id = Uuid::from_u128(7);
        let good = format!(r#"{{"intents":[{{"intent_id":"{id}","target":"org"}}],"more":1}}"#);
        assert_eq!(ids_of(good.as_bytes()), Some(HashSet::from([id])));
        assert_eq!(ids_of(br#"{"intents":[]}"#), Some(HashSet::new()));
        for bad in ["", "{}", "[]", r#"{"intents":{}}"#, r#"{"intents":[{}]}"#, r#"{"intents":[{"intent_id":"x"}]}"#] {
            assert_eq!(ids_of(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn whom_the_system_does_not_know_has_nothing_there() {
        for (status, body, is_meant) in [
            (404, r#"{"code":"principal_not_found","message":"nobody"}"#, true),
            (410, r#"{"code":"principal_not_found"}"#, true),
            (404, r#"{"code":"not_found"}"#, false),
            (404, r#"{"message":"no Route matched with those values"}"#, false),
            (404, r#"{"code":404}"#, false),
            (410, "{}", false),
            (404, "", false),
            (404, "<html>no such page</html>", false),
            (404, "[]", false),
            (403, r#"{"code":"principal_not_found"}"#, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_unknown(status, body.as_bytes()), is_meant, "{status} {body}");
        }
    }

    #[test]
    fn who_cannot_is_away() {
        assert_eq!(refused(StatusCode::SERVICE_UNAVAILABLE), SystemFailure::Away);
        assert_eq!(refused(StatusCode::TOO_MANY_REQUESTS), SystemFailure::Away);
        assert_eq!(refused(StatusCode::FORBIDDEN), SystemFailure::Refused(403));
    }
}
