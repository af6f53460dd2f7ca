//! DOT from a sentence: asks the configured engine, an OpenAI-compatible chat endpoint, and takes nothing from it that
//! is not valid DOT.
//!
//! The engine is another system, so what it says is as untrusted as anything else from outside: its answer is bounded,
//! the DOT is cut out of whatever stands around it and validated, and an invalid one is sent back once, with the
//! error. Neither the prompt nor the answer is stored or logged.

use std::future::Future;
use std::time::Duration;

use http::StatusCode;
use quintet_platform::chat::{ChatEngine, content};
use quintet_platform::service::Fault;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::refusal::Refusal;

/// The longest prompt, in bytes.
pub const PROMPT_BYTES_MAX: usize = 16 << 10;
/// How long the engine may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests to the engine at once; more are asked to come back.
const AT_ONCE: usize = 8;
/// The longest DOT that is sent back with its error, in bytes.
const ECHO_BYTES_MAX: usize = 64 << 10;

/// What the engine is told before the prompt.
const INSTRUCTIONS: &str = "You write diagrams in the DOT language of Graphviz. Answer with exactly one complete graph \
    or digraph in DOT, in a fenced code block, and nothing else. Quote every identifier that is not a plain word. Do \
    not refer to images, files or fonts.";

/// The configured engine.
#[derive(Debug)]
pub struct Generator {
    engine: ChatEngine,
    places: Semaphore,
}

impl Generator {
    /// What asks this engine.
    #[must_use]
    pub fn new(engine: ChatEngine) -> Generator {
        Generator { engine, places: Semaphore::new(AT_ONCE) }
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
        let mut said: Vec<(&str, String)> = vec![("system", INSTRUCTIONS.to_owned()), ("user", prompt.to_owned())];
        let mut wrong = String::new();
        for _ in 0..2 {
            let answer = self.ask(&said).await?;
            let Some(dot) = extract(&answer) else {
                wrong = "the answer holds no graph".to_owned();
                said.push(("assistant", head(&answer).to_owned()));
                said.push(("user", "That is no DOT. Answer with one complete graph in DOT.".to_owned()));
                continue;
            };
            match check(dot.to_owned()).await? {
                Ok(()) => return Ok(dot.to_owned()),
                Err(error) => {
                    let ask = format!("Graphviz rejects that: {error}. Answer with the whole graph, corrected.");
                    said.push(("assistant", head(dot).to_owned()));
                    said.push(("user", ask));
                    wrong = error;
                }
            }
        }
        Err(Refusal::EngineFailed(format!("the AI engine gave no valid DOT, twice: {wrong}")))
    }

    /// One exchange; what the engine said.
    async fn ask(&self, said: &[(&str, String)]) -> Result<String, Refusal> {
        let failed = |how: &str| Refusal::EngineFailed(format!("the AI engine failed: {how}"));
        let messages: Vec<(&str, &str)> = said.iter().map(|(role, content)| (*role, content.as_str())).collect();
        let body = Map::from_iter([("stream".to_owned(), Value::Bool(false))]);
        let answer = self.engine.ask(&messages, body, PATIENCE).await.map_err(|error| {
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
        let content = tokio::task::spawn_blocking(move || content(&answer)).await.unwrap_or_default();
        content.ok_or_else(|| failed("its answer is no chat completion"))
    }
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
}
