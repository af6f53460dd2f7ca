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

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use quintet_platform::egress::{Egress, EgressError};
use quintet_platform::json::Json;
use quintet_platform::secrets::Secret;
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
/// What an OpenAI-compatible base address continues with.
const CHAT_PATH: &str = "/chat/completions";

/// The configured engine. Clones share it.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

struct Parts {
    egress: Egress,
    url: Uri,
    model: String,
    /// `Authorization`, if there is a key.
    credential: Option<HeaderValue>,
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
        f.debug_struct("Engine").field("model", &self.0.model).finish_non_exhaustive()
    }
}

/// The address of the engine is none, or its key cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address that requests can be sent to, or a key that none can carry")]
pub struct NoAddress;

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
    /// An engine at `url`: the base address of an OpenAI-compatible interface (`https://host/v1`), or the whole address
    /// of its chat completions. Without a model none is named, and an empty key is not sent.
    ///
    /// # Errors
    /// [`NoAddress`]
    pub fn new(egress: Egress, url: &str, model: &str, api_key: &Secret) -> Result<Engine, NoAddress> {
        Engine::with_waits(egress, url, model, api_key, Waits { answer: PATIENCE, second: Duration::from_secs(1) })
    }

    /// [`Engine::new`] with other waits.
    ///
    /// # Errors
    /// [`NoAddress`]
    pub(super) fn with_waits(
        egress: Egress,
        url: &str,
        model: &str,
        api_key: &Secret,
        waits: Waits,
    ) -> Result<Engine, NoAddress> {
        let base = url.trim_end_matches('/');
        let whole = if base.ends_with(CHAT_PATH) { base.to_owned() } else { format!("{base}{CHAT_PATH}") };
        let url = whole.parse().map_err(|_| NoAddress)?;
        let credential = match api_key.expose().as_str() {
            "" => None,
            key => {
                let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| NoAddress)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let (model, places, callers) = (model.to_owned(), Turns::new(AT_ONCE), Mutex::default());
        let formless_until = AtomicI64::new(i64::MIN);
        Ok(Engine(Arc::new(Parts { egress, url, model, credential, places, callers, formless_until, waits })))
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

    fn body(&self, ask: &Ask, with_format: bool) -> Value {
        let mut body = Map::new();
        if !self.0.model.is_empty() {
            body.insert("model".to_owned(), json!(self.0.model));
        }
        let messages = json!([{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}]);
        body.insert("messages".to_owned(), messages);
        if with_format {
            let schema = json!({"name": ask.shape, "strict": true, "schema": ask.schema});
            body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
        }
        Value::Object(body)
    }

    /// One request and its answer.
    async fn exchange<T: Send + 'static>(
        &self,
        tenant_id: Uuid,
        body: Bytes,
        read: impl FnOnce(Json) -> Option<T> + Send + 'static,
    ) -> Result<T, Missed> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.0.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(credential) = &self.0.credential {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        let Ok(_place) = self.0.places.hold(tenant_id, 1, TURN_TIME).await else { return Err(Missed::Lasting) };
        let answer = self.0.egress.send(request, self.0.waits.answer).await.map_err(|error| {
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
        let is_plain = answer.headers().get_all(CONTENT_ENCODING).iter().all(|coding| coding == "identity");
        let body = answer.into_body();
        // Up to a megabyte of what somebody else wrote: nothing for a thread that serves everybody.
        let reading = tokio::task::spawn_blocking(move || {
            let content = completion::content(&body).filter(|_| is_plain)?;
            read(completion::document(&content)?)
        });
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
            let body = Bytes::from(self.engine().body(ask, with_format).to_string());
            match self.engine().exchange(self.0.tenant_id, body, read.clone()).await {
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
