//! The arguments of tools that are more than one route.

use axum::body::to_bytes;
use bytes::Bytes;
use quintet_platform::json::{self, Json, Limits};
use quintet_platform::service::{Answer, Fault};

use crate::refusal::Refusal;

/// What a tool attaches or shows of attachments has so many bytes at the most, as the body of a call does: larger ones go
/// by their routes.
pub(super) const FILES_BYTES_MAX: u64 = 2 << 20;

/// Arguments, each of which is known.
pub(super) struct Given(Vec<(String, Json)>);

impl Given {
    /// Takes the arguments of a tool that knows these.
    ///
    /// # Errors
    /// There are others.
    pub(super) fn of(arguments: Vec<(String, Json)>, known: &'static [&'static str]) -> Result<Given, Refusal> {
        match arguments.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(Refusal::field(name, "is not known here")),
            None => Ok(Given(arguments)),
        }
    }

    /// An argument; null is none.
    pub(super) fn take(&mut self, name: &str) -> Option<Json> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(place).1).filter(|value| *value != Json::Null)
    }

    /// An argument that is a text.
    ///
    /// # Errors
    /// It is something else.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::field(name, "must be a string")),
        }
    }

    /// An argument that is a whole number, or a text that says one.
    ///
    /// # Errors
    /// It is none, or out of the range.
    pub(super) fn number(&mut self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
        let number = match self.take(name) {
            None => return Ok(None),
            Some(Json::Number(number)) => number.as_u64(),
            Some(Json::String(text)) => text.parse().ok(),
            Some(_) => None,
        };
        let within = number.filter(|number| range.contains(number));
        let problem = || format!("must be an integer from {} to {}", range.start(), range.end());
        within.map(Some).ok_or_else(|| Refusal::field(name, problem()))
    }
}

/// An answer of a route as JSON, which all but attachments are.
pub(super) fn read(answer: &Answer) -> Result<Json, Refusal> {
    let limits = Limits { max_depth: Limits::DEPTH_MAX };
    json::parse(answer.body(), limits).map_err(|_| Fault::Internal.into())
}

/// A member of an object; null where there is none.
pub(super) fn member(object: &Json, name: &str) -> Json {
    object.get(name).cloned().unwrap_or(Json::Null)
}

/// All bytes of an answer that is sent as it is read.
pub(super) async fn bytes(answer: Answer) -> Result<Bytes, Refusal> {
    let most = usize::try_from(FILES_BYTES_MAX).unwrap_or(usize::MAX);
    let body = answer.into_response().into_body();
    to_bytes(body, most).await.map_err(|_| Fault::Unreadable.into())
}
