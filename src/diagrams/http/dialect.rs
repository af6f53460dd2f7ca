//! The diagrams' dialect: `{error}` with a place in the source, keys only where they are required, and what answers have
//! besides.

use std::time::Duration;

use axum::response::Response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use quintet_platform::Foundation;
use quintet_platform::access::{Basis, Service, authorization};
use quintet_platform::http::web_origin::is_from_elsewhere;
use quintet_platform::idempotency::KEPT_SECONDS;
use quintet_platform::json::{Json, Limits, to_compact};
use quintet_platform::service::{self, Demands, Dialect, Fault, Interface, JSON, Recognized, Route, Turns, Verdict};
use quintet_storage::Uuid;
use serde_json::{Map, Value, json};

use super::limits::limits;
use crate::context::Context;
use crate::refusal::{CODES, Refusal, sentence};

/// A request of a route that is open to everybody.
pub(super) type Visit = service::Visit<Diagrams>;
/// A request that was let in.
pub(super) type Call = service::Call<Diagrams>;
/// How a handler ends.
pub(super) type Answered = service::Answered<Diagrams>;

/// What a key must be allowed.
pub const PERMISSION: &str = "diagrams_render";
/// The mark of routes whose refusals stand on a page.
pub(super) const PAGE: &str = "page";

/// The diagrams' dialect.
pub struct Diagrams;

impl Dialect for Diagrams {
    type Context = Context;
    /// Who draws does not matter.
    type Caller = ();
    type Refusal = Refusal;

    const SERVICE: Service = Service::Diagrams;
    const DEMANDS: Demands = Demands {
        body_bytes_max: 64 << 10,
        body_time: Duration::from_secs(30),
        writer_time: Duration::from_secs(5),
        // No request needs more than one level.
        json: Limits { max_depth: 16 },
        wants_media_type: false,
        key_chars_max: 255,
        key_kept_seconds: KEPT_SECONDS,
        remembers_refusals: false,
    };
    const INTERFACE: Interface = Interface {
        title: "Diagrams",
        version: "1.0.0",
        description: "Draws DOT source as SVG or PNG. /api/docs tells the same in short, /llms.txt for agents. Branch on \
            the status; x-codes names its reasons.",
        guide: include_str!("guide.md"),
        schemas: &[include_str!("schemas.json")],
        codes: CODES,
        error: ("application/json", "Error"),
    };

    fn foundation(context: &Context) -> &Foundation {
        context
    }

    fn turns(context: &Context) -> Option<&Turns> {
        Some(&context.readers)
    }

    async fn admit(context: &Context, route: &'static Route, parts: &Parts) -> Result<(), Refusal> {
        debug_assert_eq!(route.permission, PERMISSION, "there is no other");
        match context.requires_key {
            true => let_in(context, authorization(&parts.headers)).await,
            false => Ok(()),
        }
    }

    /// Where no key is required, whoever asks is nobody in particular.
    async fn recognize(context: &Context, parts: &Parts) -> Result<Recognized, Refusal> {
        if !context.requires_key {
            return Ok(Recognized { tenant_id: Uuid::nil(), name: None });
        }
        let caller = context.recognize(Service::Diagrams, authorization(&parts.headers)).await;
        let caller = caller.map_err(|not| Refusal::from(Fault::of_admission(not)))?;
        Ok(Recognized { tenant_id: caller.tenant_id, name: None })
    }

    fn from_elsewhere() -> Refusal {
        Refusal::FromElsewhere
    }

    /// Nothing is done in anybody's name.
    /// Nothing of it changes anything.
    fn basis((): &()) -> Option<Basis> {
        None
    }

    fn tenant_id((): &()) -> Uuid {
        Uuid::nil()
    }

    fn write(verdict: &Verdict, _request_id: &str) -> (HeaderValue, Vec<u8>) {
        let error = ("error", Json::from(sentence(verdict)));
        let members = std::iter::once(error).chain(verdict.members.iter().cloned());
        (JSON, to_compact(&Json::object(members)).into_bytes())
    }

    /// Nobody may take an answer for anything but what it says it is; and nothing may be kept by caches, unless it says so.
    fn dress(response: &mut Response) {
        let fields = response.headers_mut();
        fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        fields.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }

    fn error_schema() -> Value {
        json!({
            "type": "object", "required": ["error"], "additionalProperties": false,
            "properties": {
                "error": {"type": "string", "description": "What is wrong, for people; it changes."},
                "line": {"type": "integer", "minimum": 1, "description": "Where in the source, if it has a place."},
                "column": {"type": "integer", "minimum": 1},
            },
        })
    }

    fn describe(route: &Route, operation: &mut Map<String, Value>) {
        if route.wants_key() {
            // The empty requirement: no key is needed unless diagrams.require_key is on.
            operation.insert("security".to_owned(), json!([{}, {"key": []}]));
        }
        if route.has_mark(PAGE) {
            let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
            let refused = responses.into_iter().flatten().filter(|(status, _)| status.as_str() >= "400");
            for content in refused.filter_map(|(_, refused)| refused.get_mut("content")?.as_object_mut()) {
                content.insert("text/html".to_owned(), json!({"schema": {"type": "string"}}));
            }
        }
    }

    fn guide_appendix() -> String {
        format!("\n## Limits\n\n{}\n", limits())
    }
}

/// Refuses browsers that ask for a page of another site. The engine costs its operator money, and a form or a text needs no
/// leave from here to be sent from anywhere.
pub(super) fn refuse_elsewhere(parts: &Parts) -> Result<(), Refusal> {
    if is_from_elsewhere(parts) {
        return Err(Refusal::FromElsewhere);
    }
    Ok(())
}

/// Lets a credential in: that of a header field, or one that was typed into the form.
pub(super) async fn let_in(context: &Context, credential: Option<&str>) -> Result<(), Refusal> {
    let caller = context.admit(Service::Diagrams, credential, Some(PERMISSION)).await;
    caller.map(drop).map_err(|not| Fault::of_admission(not).into())
}
