//! The desk's webhook: sent over HTTP to this service's own listener, at once and until it is answered with 200
//! (localization, W5).

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request};
use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_platform::json::{Json, to_canonical};
use quintet_platform::secrets::Secret;
use quintet_storage::{Abort, Failure, Read, Scan, Store, TimeSource, Timestamp, Uuid, WriteTx};
use tokio::task::JoinSet;

use super::tables::{DESK_CALLS, DESK_DECISIONS, DeskCallRow};
use crate::decisions::{EVENT_ID, SIGNATURE, TIMESTAMP, sign};
use crate::refusal::Refusal;

/// How long writing down may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// How long a webhook may take to be answered: as long as reading the decision, and settling it.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Calls made at a time.
const CALLS_AT_ONCE: usize = 16;
/// What is waited after the first call that was in vain, the second, and so on; the last one for all that follow.
const PAUSES_SECONDS: [i64; 6] = [1, 5, 30, 120, 600, 3_600];

/// The way to this service's own listener, wherever it listens.
pub trait OwnListener: Send + Sync {
    /// Sends a request to a path of it; the status of the answer, if one comes within `time`.
    fn send(&self, request: Request<Bytes>, time: Duration) -> BoxFuture<'_, Option<u16>>;
}

/// Calls that are to be made.
pub struct Calls {
    store: Store,
    clock: Arc<dyn TimeSource>,
    secret: Option<Secret>,
    /// Where they go, once it is known: an appliance that does not listen makes none.
    listener: OnceLock<Arc<dyn OwnListener>>,
}

/// A call, put together.
struct Prepared {
    place: (Timestamp, Uuid),
    row: DeskCallRow,
    request: Option<Request<Bytes>>,
}

impl Calls {
    /// Calls that are signed with a secret.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn TimeSource>, secret: Option<Secret>) -> Calls {
        Calls { store, clock, secret, listener: OnceLock::new() }
    }

    /// Says where the service listens.
    pub fn listens_at(&self, listener: Arc<dyn OwnListener>) {
        // A second one finds the first: both are the same.
        let _ = self.listener.set(listener);
    }

    fn prepare(&self, read: &impl Read, now: Timestamp) -> Result<Vec<Prepared>, Failure> {
        let mut prepared = Vec::new();
        for ((at, decision_id), row) in read.scan(&DESK_CALLS, Scan::all().limit(CALLS_AT_ONCE))? {
            if at > now {
                break;
            }
            let decision = read.get(&DESK_DECISIONS, &decision_id)?;
            let event_id = decision.as_ref().and_then(|decision| decision.event_id).map(Uuid::from_bytes);
            let request = decision.zip(event_id).zip(self.secret.as_ref()).map(|((decision, event_id), secret)| {
                let body = to_canonical(&Json::object([
                    ("decision_id", Json::from(decision_id.to_string())),
                    ("status", Json::from(decision.status.name())),
                ]));
                request(secret, now, event_id, body)
            });
            prepared.push(Prepared { place: (at, decision_id), row, request });
        }
        Ok(prepared)
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        let Some(listener) = self.listener.get() else { return Ok(Progress::Rest) };
        let prepared = self.prepare(&self.store.read(), self.clock.now())?;
        if prepared.is_empty() {
            return Ok(Progress::Rest);
        }
        let mut calling = JoinSet::new();
        for Prepared { place, row, request } in prepared {
            let listener = Arc::clone(listener);
            calling.spawn(async move {
                let status = match request {
                    Some(request) => listener.send(request, ANSWER_TIME).await,
                    None => None,
                };
                (place, row, status == Some(200))
            });
        }
        let mut made = Vec::new();
        while let Some(ended) = calling.join_next().await {
            // What panicked is made again.
            made.extend(ended);
        }
        let noted = self.store.write(Instant::now() + WRITER_TIME, move |tx, now| {
            made.iter().try_for_each(|(place, row, was_taken)| note(tx, now, *place, *row, *was_taken))?;
            Ok::<_, Abort<Refusal>>(())
        });
        match noted.await {
            Ok(()) => Ok(Progress::More),
            Err(Abort::Failed(failure)) => Err(failure),
            Err(Abort::Refused(refusal)) => Err(Failure::Damaged(format!("{refusal:?}"))),
        }
    }
}

/// The signed webhook.
fn request(secret: &Secret, now: Timestamp, event_id: Uuid, body: String) -> Request<Bytes> {
    let timestamp = now.as_micros().div_euclid(1_000_000).to_string();
    let signature = sign(secret, &timestamp, body.as_bytes());
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in [(TIMESTAMP, timestamp), (SIGNATURE, signature), (EVENT_ID, event_id.to_string())] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    request
}

/// Writes down what came of a call.
fn note(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    place: (Timestamp, Uuid),
    row: DeskCallRow,
    was_taken: bool,
) -> Result<(), Failure> {
    tx.delete(&DESK_CALLS, &place);
    if was_taken {
        return Ok(());
    }
    let pause = usize::try_from(row.attempts).ok().and_then(|attempts| PAUSES_SECONDS.get(attempts));
    let at = now.plus_seconds(pause.or(PAUSES_SECONDS.last()).copied().unwrap_or_default());
    tx.put(&DESK_CALLS, &(at, place.1), &DeskCallRow { attempts: row.attempts.saturating_add(1) })?;
    tx.falls_due(DESK_CALLS.spec().tag, at);
    Ok(())
}

impl Job for Calls {
    fn name(&self) -> &'static str {
        "localization.desk_calls"
    }

    fn agenda(&self) -> Option<u16> {
        Some(DESK_CALLS.spec().tag)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        if self.listener.get().is_none() {
            return Ok(None);
        }
        let first = self.store.read().scan(&DESK_CALLS, Scan::all().limit(1))?;
        Ok(first.first().map(|((at, _), _)| *at))
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.run_slice())
    }
}
