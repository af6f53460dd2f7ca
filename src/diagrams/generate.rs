//! DOT from a sentence: asks the configured engine, an OpenAI-compatible chat endpoint, and takes nothing from it that
//! is not valid DOT.
//!
//! The engine is another system, so what it says is as untrusted as anything else from outside: its answer is bounded,
//! the DOT is cut out of whatever stands around it and validated, and an answer without a valid one is sent back once, with
//! what is wrong with it. Neither the prompt nor the answer is stored or logged.

use std::future::Future;
use std::time::Duration;

use http::StatusCode;
use quintet_platform::chat::{ChatEngine, content};
use quintet_platform::service::Fault;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::extract::{Found, graphs_in};
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
            let (answer, Found { graphs, is_cut_short }) = self.ask(&said).await?;
            let mut first_error = None;
            for graph in &graphs {
                match check(graph.clone()).await? {
                    Ok(()) => return Ok(graph.clone()),
                    Err(error) => _ = first_error.get_or_insert(error),
                }
            }
            let echo = graphs.first().unwrap_or(&answer);
            said.push(("assistant", head(echo).to_owned()));
            let (error, ask) = match (first_error, is_cut_short) {
                (Some(error), _) => {
                    let ask = format!("Graphviz rejects that: {error}. Answer with the whole graph, corrected.");
                    (error, ask)
                }
                (None, true) => told("the graph is not complete: its last brace is missing"),
                (None, false) => told("the answer holds no graph"),
            };
            said.push(("user", ask));
            wrong = error;
        }
        Err(Refusal::EngineFailed(format!("the AI engine gave no valid DOT, twice: {wrong}")))
    }

    /// One exchange; what the engine said, and the graphs in it.
    async fn ask(&self, said: &[(&str, String)]) -> Result<(String, Found), Refusal> {
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
        let read = move || {
            let text = content(&answer)?;
            let found = graphs_in(&text);
            Some((text, found))
        };
        tokio::task::spawn_blocking(read)
            .await
            .unwrap_or_default()
            .ok_or_else(|| failed("its answer is no chat completion"))
    }
}

/// What is wrong with an answer without a graph, and what the engine is told of it.
fn told(error: &str) -> (String, String) {
    (error.to_owned(), format!("That is no DOT: {error}. Answer with one complete graph in DOT."))
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(ECHO_BYTES_MAX)).unwrap_or_default()
}
