//! Asking the engine, and asking it again.
//!
//! What one request may end in, and what follows (localization, A4):
//!
//! | the engine | what follows |
//! |---|---|
//! | answers with the asked shape | done |
//! | answers 400 to a request with `response_format` | once more without it; if that is taken, none is sent for an hour |
//! | answers 429, 5xx, or what is no such answer, or breaks off | once more, `Retry-After` later (up to 10 s, else 1 s) |
//! | anything else, or a second time | [`Unavailable`] |

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use quintet_platform::chat::{ChatEngine, content};
use quintet_platform::egress::EgressError;
use quintet_platform::json::Json;
use quintet_platform::service::Turns;
use quintet_storage::{Timestamp, Uuid};
use serde_json::{Map, Value, json};

use super::completion;

/// How long the engine may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests to the engine at once, of all that ask. Tenants take turns.
const AT_ONCE: usize = 4;
/// How long a request may wait for its turn: as long as a call may take.
const TURN_TIME: Duration = Duration::from_secs(300);
/// Callers that may have requests waiting at once.
const CALLERS_MAX: usize = 16;
/// Those of one tenant: an engine may be slow, and nobody keeps all the others out meanwhile.
const CALLERS_OF_ONE: usize = 4;
/// The longest wait that the engine may ask for before it is asked again, in seconds.
const RETRY_SECONDS_MAX: u64 = 10;
/// How long one waits where it asks for nothing, in seconds.
const RETRY_SECONDS: u64 = 1;
/// How long it is remembered that the engine does not take `response_format`, in seconds.
const FORMAT_SECONDS: i64 = 3600;

/// The configured engine. Clones share it.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

struct Parts {
    engine: ChatEngine,
    places: Turns,
    /// How many callers each tenant has; none of those that have none.
    callers: Mutex<HashMap<Uuid, usize>>,
    /// Until when no `response_format` is sent, in microseconds since 1970.
    formless_until: AtomicI64,
    waits: Waits,
}

/// How long one waits for the engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// For one answer.
    pub answer: Duration,
    /// For each second before it is asked again.
    pub second: Duration,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.engine.fmt(f)
    }
}

/// The engine cannot be asked, or gives no answer of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the AI engine is not available")]
pub struct Unavailable;

/// What the engine is told, and which shape its answer must have.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What it is to do.
    pub system: String,
    /// With what.
    pub user: String,
    /// The name of the answer's shape.
    pub shape: &'static str,
    /// The JSON Schema of the answer.
    pub schema: Value,
}

/// Why one exchange brought nothing.
enum Missed {
    /// 400.
    Refused,
    /// It may go better so many seconds later.
    Passing(u64),
    /// It will not.
    Lasting,
}

impl Engine {
    /// What asks this engine.
    #[must_use]
    pub fn new(engine: ChatEngine) -> Engine {
        Engine::with_waits(engine, Waits { answer: PATIENCE, second: Duration::from_secs(1) })
    }

    /// [`Engine::new`] with other waits.
    #[must_use]
    pub(super) fn with_waits(engine: ChatEngine, waits: Waits) -> Engine {
        let (places, callers) = (Turns::new(AT_ONCE), Mutex::default());
        let formless_until = AtomicI64::new(i64::MIN);
        Engine(Arc::new(Parts { engine, places, callers, formless_until, waits }))
    }

    /// A tenant's caller, if it may have one more.
    #[must_use]
    pub fn enter(&self, tenant_id: Uuid) -> Option<Caller> {
        let mut callers = self.callers();
        let own = callers.get(&tenant_id).copied().unwrap_or(0);
        if own >= CALLERS_OF_ONE || callers.values().sum::<usize>() >= CALLERS_MAX {
            return None;
        }
        callers.insert(tenant_id, own + 1);
        drop(callers);
        Some(Caller(Arc::new(Entered { engine: self.clone(), tenant_id })))
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<Uuid, usize>> {
        self.0.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request and its answer.
    async fn exchange<T: Send + 'static>(
        &self,
        tenant_id: Uuid,
        ask: &Ask,
        with_format: bool,
        read: impl FnOnce(Json) -> Option<T> + Send + 'static,
    ) -> Result<T, Missed> {
        let mut body = Map::new();
        if with_format {
            let schema = json!({"name": ask.shape, "strict": true, "schema": ask.schema});
            body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
        }
        let Ok(_place) = self.0.places.hold(tenant_id, 1, TURN_TIME).await else { return Err(Missed::Lasting) };
        let messages = [("system", ask.system.as_str()), ("user", ask.user.as_str())];
        let answer = self.0.engine.ask(&messages, body, self.0.waits.answer).await.map_err(|error| {
            tracing::warn!(%error, "the AI engine could not be asked");
            match error {
                EgressError::Broken | EgressError::NoTls => Missed::Passing(RETRY_SECONDS),
                _ => Missed::Lasting,
            }
        })?;
        let status = answer.status();
        if status != StatusCode::OK {
            tracing::warn!(status = status.as_u16(), "the AI engine refused");
            return Err(match status {
                StatusCode::BAD_REQUEST => Missed::Refused,
                StatusCode::TOO_MANY_REQUESTS => Missed::Passing(retry_seconds(answer.headers())),
                _ if status.is_server_error() => Missed::Passing(retry_seconds(answer.headers())),
                _ => Missed::Lasting,
            });
        }
        let reading = tokio::task::spawn_blocking(move || read(completion::document(&content(&answer)?)?));
        let answer = reading.await.unwrap_or_default();
        answer.ok_or_else(|| {
            tracing::warn!("the AI engine's answer is none of the asked shape");
            Missed::Passing(RETRY_SECONDS)
        })
    }
}

/// A tenant's right to have requests waiting, until it and its clones are dropped.
#[derive(Clone)]
pub struct Caller(Arc<Entered>);

struct Entered {
    engine: Engine,
    tenant_id: Uuid,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut callers = self.engine.callers();
        match callers.get_mut(&self.tenant_id) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                callers.remove(&self.tenant_id);
            }
        }
    }
}

impl Caller {
    fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Asks, and asks again where that may help. `read` makes of the answer's document what was asked for; what it
    /// cannot be made of is no answer. It runs on a thread of its own.
    ///
    /// # Errors
    /// [`Unavailable`]
    pub async fn ask<T: Send + 'static>(
        &self,
        ask: &Ask,
        now: Timestamp,
        read: impl Fn(Json) -> Option<T> + Clone + Send + 'static,
    ) -> Result<T, Unavailable> {
        let parts = &self.engine().0;
        let mut with_format = now.as_micros() >= parts.formless_until.load(Ordering::Relaxed);
        let mut was_refused = false;
        let mut is_second = false;
        loop {
            match self.engine().exchange(self.0.tenant_id, ask, with_format, read.clone()).await {
                Ok(answer) => {
                    if was_refused {
                        let until = now.plus_seconds(FORMAT_SECONDS).as_micros();
                        parts.formless_until.store(until, Ordering::Relaxed);
                    }
                    return Ok(answer);
                }
                Err(Missed::Refused) if with_format => (with_format, was_refused) = (false, true),
                Err(Missed::Passing(seconds)) if !is_second => {
                    is_second = true;
                    tokio::time::sleep(parts.waits.second.saturating_mul(u32::try_from(seconds).unwrap_or(1))).await;
                }
                Err(_) => return Err(Unavailable),
            }
        }
    }
}

/// How long the engine asks to wait, as far as it is waited for.
fn retry_seconds(headers: &HeaderMap) -> u64 {
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    asked.unwrap_or(RETRY_SECONDS).min(RETRY_SECONDS_MAX)
}
