//! What the page loads.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use quintet_platform::http::etag::ETag;
use quintet_platform::http::precondition::is_not_modified;
use quintet_platform::secrets;
use quintet_platform::service::{Answer, Endpoint, Route, Segment, Shape, media, nothing};

use super::dialect::{Answered, Diagrams, Visit};
use crate::refusal::Refusal;

const FILE: Segment = Segment::new("name", Shape::Word(&["page.css", "page.js", "editor.js"], ""));
const ASSET: Route = Route::get("get_asset", "/assets/{name}")
    .summary("A script or style sheet of the page")
    .segments(&[FILE])
    .successes(&[
        media(200, &[("text/css", r#"{"type":"string"}"#), ("text/javascript", r#"{"type":"string"}"#)])
            .about("The file"),
        nothing(304).about("If-None-Match names it"),
    ])
    .codes(&["no_such_file"]);
pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] = &[Endpoint::open(&ASSET, |visit| Box::pin(get_asset(visit)))];

/// What the page loads: name, media type, text.
const ASSETS: &[(&str, &str, &str)] = &[
    ("page.css", "text/css; charset=utf-8", include_str!("../../../assets/diagrams/page.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("../../../assets/diagrams/page.js")),
    ("editor.js", "text/javascript; charset=utf-8", include_str!("../../../assets/diagrams/editor.js")),
];

/// The entity tags of [`ASSETS`], in their order.
static ASSET_TAGS: LazyLock<Vec<ETag>> = LazyLock::new(|| {
    let digest = |text: &str| HEXLOWER.encode(&secrets::digest(text.as_bytes()));
    ASSETS.iter().map(|(_, _, text)| ETag::strong(&digest(text))).collect()
});

async fn get_asset(visit: Visit) -> Answered {
    let name = visit.segment::<String>(FILE.name).unwrap_or_default();
    let found = ASSETS.iter().zip(ASSET_TAGS.iter()).find(|((known, ..), _)| *known == name);
    let ((_, media_type, text), tag) = found.ok_or(Refusal::NoSuchFile)?;
    let answer = match is_not_modified(visit.headers(), tag) {
        true => Answer::nothing(304),
        false => Answer::other(200, HeaderValue::from_static(media_type), *text),
    };
    // Asked for each time, sent again only when another version runs.
    Ok(answer.tagged(tag).header(CACHE_CONTROL, HeaderValue::from_static("no-cache")))
}
