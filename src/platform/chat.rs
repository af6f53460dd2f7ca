//! Chat completions: asking an engine that speaks OpenAI's interface, as most do.
//!
//! What it says is as untrusted as anything else from outside: one bounded answer, of which only the text is taken.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, Uri};
use serde_json::{Map, Value, json};

use crate::egress::{Egress, EgressError};
use crate::http::bearer::bearer_field;
use crate::json::{Json, Limits, parse};
use crate::secrets::Secret;

/// What an OpenAI-compatible base address continues with.
const CHAT_PATH: &str = "/chat/completions";
/// How deep the parts of a completion may nest; real ones do to about eight levels.
const DEPTH_MAX: usize = 32;

/// An engine.
pub struct ChatEngine {
    egress: Egress,
    url: Uri,
    model: String,
    /// `Authorization`, if there is a key.
    credential: Option<HeaderValue>,
}

impl fmt::Debug for ChatEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatEngine").field("model", &self.model).finish_non_exhaustive()
    }
}

/// The address of the engine is none, or its key cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address that requests can be sent to, or a key that none can carry")]
pub struct NoAddress;

impl ChatEngine {
    /// An engine at `url`: the base address of the interface (`https://host/v1`), or the whole address of its chat
    /// completions. Without a model none is named, and an empty key is not sent.
    ///
    /// # Errors
    /// [`NoAddress`]
    pub fn new(egress: Egress, url: &str, model: &str, api_key: &Secret) -> Result<ChatEngine, NoAddress> {
        let base = url.trim_end_matches('/');
        let whole = if base.ends_with(CHAT_PATH) { base.to_owned() } else { format!("{base}{CHAT_PATH}") };
        let url = whole.parse().map_err(|_| NoAddress)?;
        let credential = match api_key.expose().as_str() {
            "" => None,
            _ => Some(bearer_field(api_key).ok_or(NoAddress)?),
        };
        Ok(ChatEngine { egress, url, model: model.to_owned(), credential })
    }

    /// Asks, within `time`: what was said until now, each with the role of who said it; `body` has what else is asked for.
    ///
    /// # Errors
    /// See [`EgressError`].
    pub async fn ask(
        &self,
        messages: &[(&str, &str)],
        mut body: Map<String, Value>,
        time: Duration,
    ) -> Result<Response<Bytes>, EgressError> {
        let message = |(role, content): &(&str, &str)| json!({"role": role, "content": content});
        body.insert("messages".to_owned(), messages.iter().map(message).collect());
        if !self.model.is_empty() {
            body.insert("model".to_owned(), json!(self.model));
        }
        let mut request = Request::new(Bytes::from(Value::Object(body).to_string()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(credential) = &self.credential {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        self.egress.send(request, time).await
    }
}

/// `choices[0].message.content` of a chat completion; `None` for everything that is none. An answer may have a megabyte:
/// nothing for a thread that serves everybody.
#[must_use]
pub fn content(answer: &Response<Bytes>) -> Option<String> {
    let is_plain = answer.headers().get_all(CONTENT_ENCODING).iter().all(|coding| coding == "identity");
    let completion = parse(answer.body(), Limits { max_depth: DEPTH_MAX }).ok().filter(|_| is_plain)?;
    let Json::Array(choices) = completion.get("choices")? else { return None };
    Some(choices.first()?.get("message")?.get("content")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_base_or_the_whole() {
        let made =
            |url: &str, key: &str| ChatEngine::new(Egress::new(|_| true), url, "m", &Secret::new(key.to_owned()));
        for text in ["https://h/v1", "https://h/v1/", "https://h/v1/chat/completions"] {
            assert_eq!(made(text, "k").unwrap().url, "https://h/v1/chat/completions");
        }
        assert_eq!(made("https://h h", "").err(), Some(NoAddress));
        assert_eq!(made("https://h/v1", "a\nb").err(), Some(NoAddress));
    }

    #[test]
    fn only_a_chat_completion_has_content() {
        let said = |body: &[u8]| content(&Response::new(Bytes::copy_from_slice(body)));
        let completion = r#"{"id": "x", "choices": [{"message": {"role": "assistant", "content": "{}"}}]}"#;
        assert_eq!(said(completion.as_bytes()).as_deref(), Some("{}"));
        let deep = format!(r#"{{"choices": {}"#, "[".repeat(100_000));
        for other in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"choices": []}"#,
            r#"{"choices": {}}"#,
            r#"{"choices": [{"message": {"content": null}}]}"#,
            r#"{"choices": [{"message": {"content": 7}}]}"#,
            r#"{"choices": [{"message": {"content": "{}"}}"#,
            "<html></html>",
            "\u{0}",
            &deep,
        ] {
            assert_eq!(said(other.as_bytes()), None, "{other:.40}");
        }
        assert_eq!(said(b"\x1f\x8b\x08\x00"), None, "what is compressed is not unpacked");
        let mut coded = Response::new(Bytes::from_static(completion.as_bytes()));
        coded.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(content(&coded), None);
    }
}
