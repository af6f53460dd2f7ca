//! The web page: DOT on the left, the picture on the right.
//!
//! The page is a form, and complete without scripts: the server draws, puts the picture into the page, lists what is
//! wrong. `assets/diagrams/page.js` then makes the preview live. Nothing on it comes from elsewhere.

use std::net::IpAddr;
use std::sync::Arc;

use data_encoding::BASE64;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE};
use quintet_drawing::render::Format;
use quintet_platform::http::body::is_json;
use quintet_platform::http::query::Query;
use quintet_platform::service::{
    Answer, Content, Endpoint, Fault, Parameter, Route, ServiceRefusal as _, Shape, Success, failed, media,
};

use super::body;
use super::dialect::{Answered, Diagrams, PAGE as PAGE_MARK, Visit, let_in, refuse_elsewhere};
use super::encoded::decode_base64;
use super::html::{EXAMPLES, Page, text_of};
use super::intake::source_of;
use super::kroki;
use crate::actions::{self, Picture};
use crate::context::Context;
use crate::generate::PROMPT_BYTES_MAX;
use crate::queue::{Asker, Source};
use crate::refusal::Refusal;

/// The longest `inline`: with what else a request's head has, within the 32 KiB that one may have.
const INLINE_CHARS_MAX: usize = 30 << 10;
const INLINE: Parameter = Parameter::new(
    "inline",
    Shape::Text { min: 0, max: INLINE_CHARS_MAX },
    "DOT source to draw on load, as base64 or base64url.",
);
const VIEW: Parameter = Parameter::new("view", Shape::Word(&["1"], ""), "1: nothing but the picture of `inline`.");
const AS_PAGE: Success = media(200, &[("text/html", r#"{"type":"string"}"#)]);

const PAGE: Route = Route::get("get_page", "/")
    .summary("The web page: DOT on the left, the picture on the right")
    .parameters(&[INLINE, VIEW])
    .successes(&[AS_PAGE.about("The page")])
    .marks(&[PAGE_MARK]);
const FORM: Route = Route::post("post_form", "/")
    .summary("The web page's form, for browsers without scripts; with JSON, the picture itself, as Kroki has it")
    .body(Content::Media(&[
        ("application/x-www-form-urlencoded", FIELDS),
        ("application/json", r##"{"$ref":"#/components/schemas/KrokiSource"}"##),
    ]))
    .successes(&[media(
        200,
        &[
            ("text/html", r#"{"type":"string"}"#),
            ("image/svg+xml", r#"{"type":"string"}"#),
            ("image/png", r#"{"type":"string","format":"binary"}"#),
        ],
    )
    .about("The page with the picture; for JSON the picture itself")])
    .marks(&[PAGE_MARK])
    .codes(&[
        "unauthenticated",
        "credential_expired",
        "not_provisioned",
        "tenant_suspended",
        "forbidden",
        "body_timed_out",
        "too_large",
        "undrawable",
        "quota_exceeded",
        "engine_failed",
        "no_engine",
        "busy",
        "storage_full",
        "storage_stopped",
        "authorization_unavailable",
    ]);
const FIELDS: &str = r#"{"type":"object","additionalProperties":false,"properties":{
    "dotfile":{"type":"string","description":"DOT source."},
    "prompt":{"type":"string","description":"What to ask the AI engine for, with action=generate."},
    "key":{"type":"string","description":"An API key, where keys are required."},
    "action":{"type":"string","enum":["draw","generate"],"description":"Which button was pressed."}}}"#;

pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] = &[
    Endpoint::open(&PAGE, |visit| Box::pin(get_page(visit))),
    Endpoint::open(&FORM, |visit| Box::pin(post_form(visit))),
];

/// The page runs its own scripts and loads its own style sheet; pictures are data or blobs of its own; nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

async fn get_page(mut visit: Visit) -> Answered {
    let inline = visit.text(&INLINE)?;
    let mut page = Page { is_view: visit.word(&VIEW)?.is_some(), ..Page::default() };
    let context = &visit.context;
    match inline.as_deref().map(decode_inline) {
        None => page.source = EXAMPLES.first().map_or("", |(_, source)| source).to_owned(),
        Some(Ok(source)) => {
            page.source = source;
            // Whoever must bring a key brings it with a script or the form, not with a link.
            if !context.requires_key {
                draw(context, source_of(&visit.parts), &mut page).await;
            }
            // A link to a source that cannot be drawn is a page that says so.
            return answer(context, 200, page).await;
        }
        Some(Err(refusal)) => page.refusal = Some(refusal),
    }
    let status = if page.refusal.is_some() { 400 } else { 200 };
    answer(context, status, page).await
}

async fn post_form(mut visit: Visit) -> Answered {
    if is_json(visit.headers()) {
        return kroki::post_typed(visit).await;
    }
    let mut page = Page::default();
    if let Err(refusal) = take_form(&mut visit, &mut page).await {
        page.refusal = Some(refusal);
    }
    let status = page.refusal.as_ref().map_or(200, |refusal| refusal.verdict().status);
    answer(&visit.context, status, page).await
}

async fn take_form(visit: &mut Visit, page: &mut Page) -> Result<(), Refusal> {
    let body = visit.take_body();
    let (context, from) = (&visit.context, source_of(&visit.parts));
    let (bytes, place) = body::read(context, &visit.parts, body, actions::source_bytes_max()).await?;
    let asker = Asker { source: from.map(Source::Address), bytes: bytes.len() };
    let Form { source, prompt, key, is_generating } = body::aside(context, asker, move || read_form(&bytes)).await??;
    drop(place);
    (page.source, page.prompt) = (source, prompt);
    body::check_size("dotfile", &page.source, actions::source_bytes_max())?;
    body::check_size("prompt", &page.prompt, PROMPT_BYTES_MAX)?;
    if context.requires_key {
        let credential = key.map(|key| format!("Bearer {}", key.trim()));
        let_in(context, credential.as_deref()).await?;
    }
    if is_generating {
        refuse_elsewhere(&visit.parts)?;
        page.source = actions::generate(context, from, &page.prompt).await?;
    }
    draw(context, from, page).await;
    Ok(())
}

/// What a form says.
struct Form {
    source: String,
    prompt: String,
    key: Option<String>,
    is_generating: bool,
}

fn read_form(bytes: &[u8]) -> Result<Form, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::invalid("the form is no text"))?;
    let malformed = |error| Refusal::invalid(format!("the form is malformed: {error}"));
    let mut form = Query::parse(Some(text)).map_err(malformed)?;
    // Browsers send a text's lines with both line end characters.
    let source = form.take("dotfile").unwrap_or_default().replace("\r\n", "\n");
    let prompt = form.take("prompt").unwrap_or_default();
    let key = form.take("key").filter(|key| !key.is_empty());
    let action = form.one_of("action", &["draw", "generate"]).map_err(malformed)?;
    form.finish().map_err(malformed)?;
    Ok(Form { source, prompt, key, is_generating: action == Some("generate") })
}

/// Draws what is on the page; what goes wrong is on it then, too.
async fn draw(context: &Context, from: Option<IpAddr>, page: &mut Page) {
    let drawn = async {
        let shown = actions::draw_and_show(context, from, Format::Svg, page.source.clone()).await?;
        let picture = match shown.picture {
            Picture::Drawn(bytes) => picture_of(&bytes),
            Picture::Kept(row) => {
                let bytes = usize::try_from(row.size_bytes).unwrap_or(usize::MAX);
                let asker = Asker { source: from.map(Source::Address), bytes };
                let results = Arc::clone(&context.results);
                let read = move || Ok(picture_of(&results.bytes(shown.hash, &row)?));
                body::aside(context, asker, read).await?.map_err(|failure| failed::<Refusal>(&failure))?
            }
        };
        let outline = actions::outline(context, from, page.source.clone()).await?;
        Ok::<_, Refusal>((picture, outline, shown.warnings))
    };
    match drawn.await {
        Ok((picture, outline, warnings)) => {
            page.picture = Some(picture);
            (page.outline, page.warnings) = (outline, warnings);
        }
        Err(refusal) => page.refusal = Some(refusal),
    }
}

/// A picture as the address of itself.
fn picture_of(bytes: &[u8]) -> String {
    let mut address = "data:image/svg+xml;base64,".to_owned();
    BASE64.encode_append(bytes, &mut address);
    address
}

/// The text behind `inline`: base64 or base64url, with or without padding.
fn decode_inline(text: &str) -> Result<String, Refusal> {
    // In a query a plus sign that is not escaped is a blank.
    let bytes = decode_base64(&text.replace(' ', "+"))
        .ok_or_else(|| Refusal::invalid("inline must be DOT source in base64 or base64url"))?;
    String::from_utf8(bytes).map_err(|_| Refusal::invalid("inline must be base64 of UTF-8 text"))
}

async fn answer(context: &Context, status: u16, page: Page) -> Answered {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let retry_after_seconds = page.refusal.as_ref().and_then(|refusal| refusal.verdict().retry_after_seconds);
    // With a large source and its picture it has megabytes. No lane may turn it away: it tells of refusals, too.
    let context = context.clone();
    let writing = tokio::task::spawn_blocking(move || text_of(&context, &page));
    let text = writing.await.map_err(|_| Refusal::from(Fault::Internal))?;
    let answer = Answer::other(status, html, text)
        .header(CONTENT_SECURITY_POLICY, POLICY)
        // A link may hold the whole diagram. With no-referrer the page's own form would come from nowhere.
        .header(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    let answer = match retry_after_seconds {
        Some(seconds) => answer.header(RETRY_AFTER, HeaderValue::from(seconds)),
        None => answer,
    };
    Ok(match status {
        401 => answer.header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        _ => answer,
    })
}

#[cfg(test)]
mod tests {
    use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};

    use super::*;

    #[test]
    fn links_carry_a_source_in_either_alphabet() {
        let source = "digraph { \"\u{fffd}?>\" -> b }";
        for encoded in [
            BASE64.encode(source.as_bytes()),
            BASE64_NOPAD.encode(source.as_bytes()),
            BASE64URL_NOPAD.encode(source.as_bytes()),
            data_encoding::BASE64URL.encode(source.as_bytes()),
            BASE64.encode(source.as_bytes()).replace('+', " "),
        ] {
            assert_eq!(decode_inline(&encoded).as_deref(), Ok(source), "{encoded}");
        }
        for wrong in ["!", "a", "-+aa", &BASE64.encode(&[0xff, 0xfe])] {
            assert!(decode_inline(wrong).is_err(), "{wrong}");
        }
        assert_eq!(decode_inline("").as_deref(), Ok(""));
    }
}
