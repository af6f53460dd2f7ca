//! The documents for coding agents over HTTP: open to everybody, the same bytes until the appliance is upgraded.

use http::HeaderValue;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Endpoint, Route, Segment, Shape, Visit, json as success, media};

use super::{aliases, document, names};
use crate::dialect::{Answered, Messaging};
use crate::refusal::Refusal;
use crate::wire::texts;

const MARKDOWN: HeaderValue = HeaderValue::from_static("text/markdown; charset=utf-8");
/// What the names of documents end with.
const ENDING: &str = ".md";

const DOCUMENT: Segment = Segment::new("document", Shape::Text { min: 4, max: 64 });

const INDEX: Route = Route::get("list_skills", "/skills/index.json")
    .summary("The harnesses that there are documents for, and other names of theirs")
    .any_parameter()
    .successes(&[success(200, "Skills")]);
const GET: Route = Route::get("get_skill", "/skills/{document}")
    .summary("How to use the service, for coding agents in a harness: claude-code.md, opencode.md, antigravity.md")
    .any_parameter()
    .segments(&[DOCUMENT])
    .successes(&[media(200, &[("text/markdown", r#"{"type":"string"}"#)])])
    .codes(&["not_found"]);

/// What is served of it.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] =
    &[Endpoint::open(&INDEX, |_| Box::pin(index())), Endpoint::open(&GET, |visit| Box::pin(get(visit)))];

async fn index() -> Answered {
    let aliases = aliases().map(|(alias, name)| (alias, Json::from(name)));
    let index = Json::object([("harnesses", texts(names())), ("aliases", Json::object(aliases))]);
    Ok(Answer::json(200, to_compact(&index)))
}

async fn get(visit: Visit<Messaging>) -> Answered {
    let asked: Option<String> = visit.segment(DOCUMENT.name);
    let found = asked.as_deref().and_then(|name| document(name.strip_suffix(ENDING)?));
    let text = found.ok_or_else(|| Refusal::NotFound("document for this harness".to_owned()))?;
    Ok(Answer::other(200, MARKDOWN, text))
}
