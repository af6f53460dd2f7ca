//! The rooms as pages ask them: by the routes that everybody asks, within the process, as the member who looks. So what a
//! member may, what is refused and what is recorded is the same as for its keys; nothing is decided here.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, IF_MATCH};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use quintet_platform::http::request_id::RequestId;
use quintet_platform::vouched::Vouched;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt as _;

use super::notice::Notice;
use crate::app::App;

/// The longest answer that is read whole, in bytes. Pages ask for lists by the page.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// The rooms that pages ask. Clones share them.
#[derive(Clone)]
pub struct Rooms {
    localization: Router,
    runs: Router,
    ledger: Router,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// String files and their translations.
    Localization,
    /// Containers and workflows.
    Runs,
    /// Books.
    Ledger,
}

impl Rooms {
    /// Made once.
    pub fn of(app: &App) -> Rooms {
        Rooms {
            localization: quintet_localization::routes(app.localization.clone()).with_state(()),
            runs: quintet_runs::routes(app.runs.clone()).with_state(()),
            ledger: quintet_ledger::routes_within(&app.ledger).with_state(()),
        }
    }

    fn of_room(&self, room: Room) -> Router {
        match room {
            Room::Localization => self.localization.clone(),
            Room::Runs => self.runs.clone(),
            Room::Ledger => self.ledger.clone(),
        }
    }
}

/// A room, asked as a member.
#[derive(Clone)]
pub struct Asking {
    rooms: Rooms,
    vouched: Vouched,
}

/// What is asked for besides a method and an address.
#[derive(Default)]
pub struct With {
    body: Option<(HeaderValue, Bytes)>,
    fields: Vec<(HeaderName, HeaderValue)>,
}

impl With {
    /// A body of JSON.
    pub fn json(value: &Value) -> With {
        With::body(HeaderValue::from_static("application/json"), value.to_string().into())
    }

    /// A body of whatever kind.
    pub fn body(media_type: HeaderValue, bytes: Bytes) -> With {
        With { body: Some((media_type, bytes)), fields: Vec::new() }
    }

    /// What makes it one change, however often the form is sent: what stands hidden in it.
    pub fn once(self, key: &str) -> With {
        self.field(HeaderName::from_static("idempotency-key"), key)
    }

    /// The revision that may be replaced.
    pub fn replacing(self, revision: u64) -> With {
        self.field(IF_MATCH, &format!("\"{revision}\""))
    }

    fn field(mut self, name: HeaderName, text: &str) -> With {
        // What is no field's value goes along as none, which the room then misses.
        self.fields.extend(HeaderValue::from_str(text).ok().map(|value| (name, value)));
        self
    }
}

/// Why a room did not do what was asked: what its interface says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// The code that the interface's documents explain.
    pub code: String,
    /// A sentence.
    pub title: String,
    /// More of it.
    pub detail: Option<String>,
}

impl Asking {
    /// As the member with this session.
    pub fn new(rooms: &Rooms, vouched: Vouched) -> Asking {
        Asking { rooms: rooms.clone(), vouched }
    }

    /// The member, for verbs that no route has.
    pub fn vouched(&self) -> &Vouched {
        &self.vouched
    }

    /// The answer as it is sent: for whatever is passed on.
    ///
    /// # Errors
    /// The address makes no sense.
    pub async fn response(&self, room: Room, method: Method, address: &str, with: With) -> Result<Response, Notice> {
        let mut request = Request::builder().method(method).uri(address);
        let body = match with.body {
            Some((media_type, bytes)) => {
                request = request.header(CONTENT_TYPE, media_type);
                Body::from(bytes)
            }
            None => Body::empty(),
        };
        for (name, value) in with.fields {
            request = request.header(name, value);
        }
        let mut request = request.body(body).map_err(|_| Notice::Malformed)?;
        let request_id = RequestId::of(request.headers());
        request.extensions_mut().insert(request_id);
        request.extensions_mut().insert(self.vouched.clone());
        match self.rooms.of_room(room).oneshot(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }

    /// What a room says to something that may be refused, which the page then tells.
    ///
    /// # Errors
    /// As [`Asking::get`], but for what a page can tell of.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        room: Room,
        method: Method,
        address: &str,
        with: With,
    ) -> Result<Result<T, Refused>, Notice> {
        let body = match self.body(room, method, address, with).await? {
            Ok(body) => body,
            Err(refused) => return Ok(Err(refused)),
        };
        let read = serde_json::from_slice(&body).map_err(|error| {
            tracing::error!(%error, "a page of the console could not read what a room answered");
            Notice::Unavailable
        });
        Ok(Ok(read?))
    }

    /// Has a room change something, whatever it answers to that.
    ///
    /// # Errors
    /// As [`Asking::ask`].
    pub async fn change(
        &self,
        room: Room,
        method: Method,
        address: &str,
        with: With,
    ) -> Result<Result<(), Refused>, Notice> {
        Ok(self.body(room, method, address, with).await?.map(drop))
    }

    async fn body(
        &self,
        room: Room,
        method: Method,
        address: &str,
        with: With,
    ) -> Result<Result<Bytes, Refused>, Notice> {
        let response = self.response(room, method, address, with).await?;
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), ANSWER_BYTES_MAX).await;
        let body = body.map_err(|_| Notice::Unavailable)?;
        Ok(if status.is_success() { Ok(body) } else { Err(refused(status, &body)) })
    }

    /// What a room shows.
    ///
    /// # Errors
    /// [`Notice::NotFound`] for whatever is not there or not the member's to see, [`Notice::Malformed`] for what the address
    /// of the page must not say, [`Notice::Unavailable`].
    pub async fn get<T: DeserializeOwned>(&self, room: Room, address: &str) -> Result<T, Notice> {
        self.ask(room, Method::GET, address, With::default()).await?.map_err(Notice::from)
    }
}

/// Problems (RFC 9457), or the ledger's envelope.
fn refused(status: StatusCode, body: &[u8]) -> Refused {
    #[derive(Deserialize)]
    struct Envelope {
        error: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        code: String,
        message: String,
    }
    if let Ok(Envelope { error }) = serde_json::from_slice(body) {
        return Refused { status: status.as_u16(), code: error.code, title: error.message, detail: None };
    }
    Refused { status: status.as_u16(), ..serde_json::from_slice(body).unwrap_or_default() }
}

impl From<Refused> for Notice {
    fn from(refused: Refused) -> Notice {
        match refused.status {
            401 | 403 | 404 | 410 => Notice::NotFound,
            413 => Notice::TooLarge,
            400..=499 => Notice::Malformed,
            _ => Notice::Unavailable,
        }
    }
}
