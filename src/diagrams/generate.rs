//! DOT from a sentence: asks the configured engine, an OpenAI-compatible chat endpoint, and takes nothing from it that
//! is not valid DOT.
//!
//! The engine is another system, so what it says is as untrusted as anything else from outside: its answer is bounded,
//! the DOT is cut out of whatever stands around it and validated, and an invalid one is sent back once, with the
//! error. Neither the prompt nor the answer is stored or logged.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use quintet_platform::egress::Egress;
use quintet_platform::json::{Json, Limits, parse};
use quintet_platform::secrets::Secret;
use quintet_platform::service::Fault;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::refusal::Refusal;

/// The longest prompt, in bytes.
pub const PROMPT_BYTES_MAX: usize = 16 << 10;
/// How long the engine may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests to the engine at once; more are asked to come back.
const AT_ONCE: usize = 8;
/// What an OpenAI-compatible base address continues with.
const CHAT_PATH: &str = "/chat/completions";
/// The longest DOT that is sent back with its error, in bytes.
const ECHO_BYTES_MAX: usize = 64 << 10;

/// What the engine is told before the prompt.
const INSTRUCTIONS: &str = "You write diagrams in the DOT language of Graphviz. Answer with exactly one complete graph \
    or digraph in DOT, in a fenced code block, and nothing else. Quote every identifier that is not a plain word. Do \
    not refer to images, files or fonts.";

/// The configured engine.
pub struct Generator {
    egress: Egress,
    url: Uri,
    model: String,
    api_key: Secret,
    places: Semaphore,
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("model", &self.model).finish_non_exhaustive()
    }
}

/// The address of the engine is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddress;

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an address that requests can be sent to")
    }
}

impl std::error::Error for NoAddress {}

impl Generator {
    /// An engine at `url`: the base address of an OpenAI-compatible interface (`https://host/v1`), or the whole address
    /// of its chat completions. An empty key is not sent.
    ///
    /// # Errors
    /// [`NoAddress`].
    pub fn new(egress: Egress, url: &str, model: &str, api_key: Secret) -> Result<Generator, NoAddress> {
        let base = url.trim_end_matches('/');
        let whole = if base.ends_with(CHAT_PATH) { base.to_owned() } else { format!("{base}{CHAT_PATH}") };
        let url = whole.parse().map_err(|_| NoAddress)?;
        Ok(Generator { egress, url, model: model.to_owned(), api_key, places: Semaphore::new(AT_ONCE) })
    }

    /// Asks for DOT; `check` says what is wrong with one.
    ///
    /// # Errors
    /// [`Fault::Busy`] if too many ask at once; [`Refusal::EngineFailed`] if the engine cannot be reached, answers no
    /// chat completion, or gives DOT that is invalid twice; whatever `check` cannot decide.
    pub async fn generate<F>(&self, prompt: &str, check: impl Fn(String) -> F) -> Result<String, Refusal>
    where
        F: Future<Output = Result<Result<(), String>, Refusal>>,
    {
        let Ok(_place) = self.places.try_acquire() else { return Err(Fault::Busy.into()) };
        let mut messages =
            vec![json!({"role": "system", "content": INSTRUCTIONS}), json!({"role": "user", "content": prompt})];
        let mut wrong = String::new();
        for _ in 0..2 {
            let said = self.ask(&messages).await?;
            let Some(dot) = extract(&said) else {
                wrong = "the answer holds no graph".to_owned();
                messages.push(json!({"role": "assistant", "content": head(&said)}));
                messages
                    .push(json!({"role": "user", "content": "That is no DOT. Answer with one complete graph in DOT."}));
                continue;
            };
            match check(dot.to_owned()).await? {
                Ok(()) => return Ok(dot.to_owned()),
                Err(error) => {
                    let ask = format!("Graphviz rejects that: {error}. Answer with the whole graph, corrected.");
                    messages.push(json!({"role": "assistant", "content": head(dot)}));
                    messages.push(json!({"role": "user", "content": ask}));
                    wrong = error;
                }
            }
        }
        Err(Refusal::EngineFailed(format!("the AI engine gave no valid DOT, twice: {wrong}")))
    }

    /// One exchange; what the engine said.
    async fn ask(&self, messages: &[serde_json::Value]) -> Result<String, Refusal> {
        let failed = |how: &str| Refusal::EngineFailed(format!("the AI engine failed: {how}"));
        let mut body = json!({"messages": messages, "stream": false});
        if let (false, Some(members)) = (self.model.is_empty(), body.as_object_mut()) {
            members.insert("model".to_owned(), json!(self.model));
        }
        let mut request = Request::new(Bytes::from(body.to_string()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        if !self.api_key.expose().is_empty() {
            let bearer = format!("Bearer {}", self.api_key.expose());
            let mut value = HeaderValue::from_str(&bearer).map_err(|_| failed("ai.api_key cannot be sent"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let answer = self.egress.send(request, PATIENCE).await.map_err(|error| {
            tracing::warn!(%error, "the AI engine could not be asked");
            failed(&error.to_string())
        })?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                tracing::warn!(status = answer.status().as_u16(), "the AI engine refuses ai.api_key");
                return Err(failed("it refuses the appliance's key"));
            }
            other => {
                tracing::warn!(status = other.as_u16(), "the AI engine failed");
                return Err(failed(&format!("it answered with status {}", other.as_u16())));
            }
        }
        content(answer.body()).ok_or_else(|| failed("its answer is no chat completion"))
    }
}

/// `choices[0].message.content` of a chat completion.
fn content(body: &[u8]) -> Option<String> {
    let completion = parse(body, Limits { max_depth: 32 }).ok()?;
    let Json::Array(choices) = completion.get("choices")? else { return None };
    Some(choices.first()?.get("message")?.get("content")?.as_str()?.to_owned())
}

/// The DOT in what an engine said: the first fenced block that holds a graph, else everything from the first word that
/// begins one to the last closing brace.
fn extract(said: &str) -> Option<&str> {
    let mut rest = said;
    while let Some((_, behind)) = rest.split_once("```") {
        // The fence's line may name a language.
        let inside = behind.split_once('\n').map_or(behind, |(_, inside)| inside);
        let (block, behind) = inside.split_once("```").unwrap_or((inside, ""));
        if let Some(graph) = graph_in(block) {
            return Some(graph);
        }
        rest = behind;
    }
    graph_in(said)
}

fn graph_in(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &&str| {
        lower.match_indices(*word).map(|(place, _)| place).find(|place| {
            let before = lower.get(..*place).and_then(|before| before.chars().next_back());
            let behind = lower.get(place + word.len()..).unwrap_or_default();
            // A graph begins at the start of a line, and its brace is not far.
            before.is_none_or(|before| before == '\n') && behind.split('\n').take(3).any(|line| line.contains('{'))
        })
    };
    let start = ["strict", "digraph", "graph"].iter().filter_map(begins).min()?;
    let end = text.rfind('}').filter(|end| *end > start)?;
    text.get(start..=end)
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(ECHO_BYTES_MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_is_cut_out_of_whatever_stands_around_it() {
        for (said, expected) in [
            ("digraph { a -> b }", Some("digraph { a -> b }")),
            ("```dot\ndigraph { a }\n```", Some("digraph { a }")),
            ("Here it is:\n```\ngraph g {\n}\n```\nEnjoy {it}!", Some("graph g {\n}")),
            ("```json\n{}\n```\n```dot\nstrict graph { a }\n```", Some("strict graph { a }")),
            ("Sure, a graph of it:\n\nDigraph G\n{ a }\nHope that helps.", Some("Digraph G\n{ a }")),
            ("```dot\ndigraph { a -> { b } }", Some("digraph { a -> { b } }")),
            ("I cannot draw a graph { of that }", None),
            ("digraph", None),
            ("}\ngraph {", None),
            ("", None),
            ("```", None),
        ] {
            assert_eq!(extract(said), expected, "{said:?}");
        }
    }

    #[test]
    fn only_a_chat_completion_is_one() {
        let completion = r#"{"id": "x", "choices": [{"message": {"role": "assistant", "content": "digraph {}"}}]}"#;
        assert_eq!(content(completion.as_bytes()).as_deref(), Some("digraph {}"));
        for other in ["", "{}", "[]", r#"{"choices": []}"#, r#"{"choices": [{"message": {"content": null}}]}"#, "\u{0}"]
        {
            assert_eq!(content(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_address_is_the_base_or_the_whole() {
        let url = |text: &str| {
            Generator::new(Egress::new(|_| true), text, "m", Secret::default()).map(|made| made.url.to_string())
        };
        for text in ["https://h/v1", "https://h/v1/", "https://h/v1/chat/completions"] {
            assert_eq!(url(text).as_deref(), Ok("https://h/v1/chat/completions"));
        }
        assert_eq!(url("https://h h"), Err(NoAddress));
    }
}
