//! The web page: DOT on the left, the picture on the right.
//!
//! The page is a form, and complete without scripts: the server draws, puts the picture into the page, lists what is
//! wrong. `assets/diagrams/page.js` then makes the preview live. Nothing on it comes from elsewhere, and nothing that
//! somebody typed is ever markup: text is escaped, a picture is an image, in which nothing runs.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue, REFERRER_POLICY};
use http::{StatusCode, Uri};
use quintet_platform::http::etag::ETag;
use quintet_platform::http::precondition::is_not_modified;
use quintet_platform::http::query::Query;
use quintet_platform::secrets;

use super::answer::{nosniff, refuse, with_refusal_headers};
use super::{request, work};
use crate::context::Context;
use crate::generate::PROMPT_BYTES_MAX;
use crate::refusal::Refusal;
use quintet_drawing::outline::{self, Outline};
use quintet_drawing::render::Format;

/// The page around what is put into it.
const TEMPLATE: &str = include_str!("../../../assets/diagrams/page.html");

/// Sources to begin with: a name, and DOT.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("Order of work", include_str!("../../../assets/diagrams/examples/work.dot")),
    ("States", include_str!("../../../assets/diagrams/examples/states.dot")),
    ("Clusters", include_str!("../../../assets/diagrams/examples/clusters.dot")),
    ("Records", include_str!("../../../assets/diagrams/examples/records.dot")),
    ("Undirected", include_str!("../../../assets/diagrams/examples/undirected.dot")),
];

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

/// The page runs its own scripts and loads its own style sheet; pictures are data or blobs of its own; nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// What stands on a page.
#[derive(Default)]
struct Page {
    source: String,
    /// An address of the picture's bytes: `data:`.
    picture: Option<String>,
    outline: Option<Outline>,
    warnings: Vec<String>,
    refusal: Option<Refusal>,
    prompt: String,
    is_view: bool,
}

/// `GET /`
pub(super) async fn get_page(State(context): State<Context>, request: Request) -> Response {
    let (inline, is_view) = match read_link(request.uri()) {
        Ok(link) => link,
        Err(refusal) => return refuse(&refusal),
    };
    let mut page = Page { is_view, ..Page::default() };
    match inline.as_deref().map(decode_inline) {
        None => page.source = EXAMPLES.first().map_or("", |(_, source)| source).to_owned(),
        Some(Ok(source)) => {
            page.source = source;
            // Whoever must bring a key brings it with a script or the form, not with a link.
            if !context.requires_key {
                draw(&context, &mut page).await;
            }
            // A link to a source that cannot be drawn is a page that says so.
            return answer(&context, StatusCode::OK, &page);
        }
        Some(Err(refusal)) => page.refusal = Some(refusal),
    }
    let status = if page.refusal.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    answer(&context, status, &page)
}

/// What a link says: the source, still encoded, and whether it wants the picture alone.
fn read_link(uri: &Uri) -> Result<(Option<String>, bool), Refusal> {
    let mut query = request::query(uri)?;
    let inline = query.take("inline");
    let is_view = query.one_of("view", &["1"]).map_err(request::parameter)?.is_some();
    query.finish().map_err(request::parameter)?;
    Ok((inline, is_view))
}

/// `POST /`: the form, from a browser without scripts.
pub(super) async fn post_form(State(context): State<Context>, request: Request) -> Response {
    let mut page = Page::default();
    if let Err(refusal) = take_form(&context, request, &mut page).await {
        page.refusal = Some(refusal);
    }
    let status = page.refusal.as_ref().map_or(200, |refusal| refusal.verdict().status);
    answer(&context, StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &page)
}

async fn take_form(context: &Context, request: Request, page: &mut Page) -> Result<(), Refusal> {
    let (parts, body) = request.into_parts();
    request::query(&parts.uri)?.finish().map_err(request::parameter)?;
    let (bytes, place) = request::read_body(context, &parts.headers, body, work::source_bytes_max()).await?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Refusal::Invalid("the form is no text".to_owned()))?;
    let malformed = |error| Refusal::Invalid(format!("the form is malformed: {error}"));
    let mut form = Query::parse(Some(text)).map_err(malformed)?;
    drop((bytes, place));
    // Browsers send a text's lines with both line end characters.
    page.source = form.take("dotfile").unwrap_or_default().replace("\r\n", "\n");
    page.prompt = form.take("prompt").unwrap_or_default();
    let key = form.take("key").filter(|key| !key.is_empty());
    let action = form.one_of("action", &["draw", "generate"]).map_err(malformed)?;
    form.finish().map_err(malformed)?;
    request::check_size("dotfile", &page.source, work::source_bytes_max())?;
    request::check_size("prompt", &page.prompt, PROMPT_BYTES_MAX)?;
    if context.requires_key {
        let credential = key.map(|key| format!("Bearer {}", key.trim()));
        request::authorize_credential(context, credential.as_deref()).await?;
    }
    if action == Some("generate") {
        page.source = work::generate(context, &page.prompt).await?;
    }
    draw(context, page).await;
    Ok(())
}

/// Draws what is on the page; what goes wrong is on it then, too.
async fn draw(context: &Context, page: &mut Page) {
    let drawn = async {
        let drawn = work::draw_and_keep(context, Format::Svg, page.source.clone()).await?;
        let row = context.results.find(drawn.hash)?.ok_or(Refusal::Busy)?;
        let bytes = context.results.bytes(drawn.hash, &row)?;
        let source = page.source.clone();
        let outline = context.pool.run(move || outline::of(&source)).await?;
        Ok::<_, Refusal>((bytes, outline, drawn.warnings))
    };
    match drawn.await {
        Ok((bytes, outline, warnings)) => {
            page.picture = Some(format!("data:image/svg+xml;base64,{}", BASE64.encode(&bytes)));
            (page.outline, page.warnings) = (outline, warnings);
        }
        Err(refusal) => page.refusal = Some(refusal),
    }
}

/// The text behind `inline`: base64 or base64url, with or without padding.
fn decode_inline(text: &str) -> Result<String, Refusal> {
    // In a query a plus sign that is not escaped is a blank.
    let plain: String = text.trim_end_matches('=').chars().map(|c| if c == ' ' { '+' } else { c }).collect();
    let is_url = plain.contains(['-', '_']);
    let decoded = if is_url { BASE64URL_NOPAD.decode(plain.as_bytes()) } else { BASE64_NOPAD.decode(plain.as_bytes()) };
    let bytes = decoded.map_err(|_| Refusal::Invalid("inline must be DOT source in base64 or base64url".to_owned()))?;
    String::from_utf8(bytes).map_err(|_| Refusal::Invalid("inline must be base64 of UTF-8 text".to_owned()))
}

fn answer(context: &Context, status: StatusCode, page: &Page) -> Response {
    let mut response = Response::new(Body::from(text_of(context, page)));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    fields.insert(CONTENT_SECURITY_POLICY, POLICY);
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A link may hold the whole diagram.
    fields.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let response = nosniff(response);
    match &page.refusal {
        Some(refusal) => with_refusal_headers(response, refusal),
        None => response,
    }
}

/// The page with everything put in. Each place is filled once, so what is put in is never taken for a place.
fn text_of(context: &Context, page: &Page) -> String {
    let mut text = String::with_capacity(TEMPLATE.len() + 2 * page.source.len());
    let mut rest = TEMPLATE;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        text.push_str(before);
        match name {
            "body" => body_attributes(context, page, &mut text),
            "examples" => examples(&mut text),
            "source" => escape(&page.source, &mut text),
            "key" if context.requires_key => text.push_str(KEY_FIELD),
            "prompt" if context.generator.is_some() => prompt_box(&page.prompt, &mut text),
            "problems" => problems(page, &mut text),
            "picture" => picture(page, &mut text),
            "download" => download(page, &mut text),
            "outline" => outline_lists(page.outline.as_ref(), &mut text),
            _ => {}
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

const KEY_FIELD: &str = "<p class=\"key\"><label for=\"key\">API key</label>\
    <input id=\"key\" name=\"key\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\"></p>";

fn body_attributes(context: &Context, page: &Page, text: &mut String) {
    if page.is_view {
        text.push_str(" class=\"view\"");
    }
    if context.requires_key {
        text.push_str(" data-requires-key=\"true\"");
    }
}

fn examples(text: &mut String) {
    for (name, source) in EXAMPLES {
        text.push_str("<li><a href=\"./?inline=");
        text.push_str(&BASE64URL_NOPAD.encode(source.as_bytes()));
        text.push_str("\">");
        escape(name, text);
        text.push_str("</a></li>");
    }
}

fn prompt_box(prompt: &str, text: &mut String) {
    text.push_str("<p class=\"prompt\"><label for=\"prompt\">Describe a diagram</label><input id=\"prompt\" name=\"prompt\" value=\"");
    escape(prompt, text);
    text.push_str("\"><button name=\"action\" value=\"generate\">Write DOT</button></p>");
}

fn problems(page: &Page, text: &mut String) {
    if let Some(refusal) = &page.refusal {
        text.push_str("<ul><li>");
        escape(&refusal.verdict().error, text);
        text.push_str("</li></ul>");
    }
    if !page.warnings.is_empty() {
        text.push_str("<ul class=\"warnings\">");
        for warning in &page.warnings {
            text.push_str("<li>Warning: ");
            escape(warning, text);
            text.push_str("</li>");
        }
        text.push_str("</ul>");
    }
}

fn picture(page: &Page, text: &mut String) {
    let Some(address) = &page.picture else {
        text.push_str("<img id=\"picture\" alt=\"\" hidden>");
        return;
    };
    text.push_str("<img id=\"picture\" alt=\"");
    escape(&summary(page.outline.as_ref()), text);
    text.push_str("\" src=\"");
    escape(address, text);
    text.push_str("\">");
}

fn download(page: &Page, text: &mut String) {
    if let Some(address) = &page.picture {
        text.push_str("<p class=\"plain\"><a download=\"diagram.svg\" href=\"");
        escape(address, text);
        text.push_str("\">Download SVG</a></p>");
    }
}

fn summary(outline: Option<&Outline>) -> String {
    match outline {
        Some(outline) => {
            format!("Diagram with {} and {}", counted(outline.nodes, "node"), counted(outline.edges, "edge"))
        }
        None => "Diagram".to_owned(),
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn outline_lists(outline: Option<&Outline>, text: &mut String) {
    let Some(outline) = outline else { return };
    for (title, count, lines) in
        [("Nodes", outline.nodes, &outline.node_lines), ("Edges", outline.edges, &outline.edge_lines)]
    {
        text.push_str("<h3>");
        text.push_str(title);
        text.push_str("</h3><ul>");
        for line in lines {
            text.push_str("<li>");
            escape(line, text);
            text.push_str("</li>");
        }
        if count > lines.len() {
            text.push_str(&format!("<li>and {} more</li>", count - lines.len()));
        }
        text.push_str("</ul>");
    }
}

/// Text as it stands in markup, between tags or in quotes.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What HTML knows no character for.
            '\0' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
}

/// `GET /assets/{name}`
pub(super) async fn get_asset(request: Request) -> Response {
    if let Err(refusal) = request::query(request.uri()).and_then(|query| query.finish().map_err(request::parameter)) {
        return refuse(&refusal);
    }
    let name = request::behind(&request, "/assets/").unwrap_or_default();
    let found = ASSETS.iter().zip(ASSET_TAGS.iter()).find(|((known, ..), _)| *known == name);
    let Some(((_, content_type, text), tag)) = found else { return refuse(&Refusal::NotFound("no such file")) };
    let mut response = Response::new(Body::empty());
    let fields = response.headers_mut();
    fields.insert(ETAG, tag.header_value());
    // Asked for each time, sent again only when another version runs.
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if is_not_modified(request.headers(), tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    *response.body_mut() = Body::from(*text);
    nosniff(response)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn what_was_typed_is_never_markup() {
        let mut text = String::new();
        escape("</textarea><script>\"'&{{source}}\0", &mut text);
        assert_eq!(text, "&lt;/textarea&gt;&lt;script&gt;&quot;&#39;&amp;{{source}}\u{fffd}");
    }

    #[test]
    fn every_place_of_the_template_is_known() {
        let places: Vec<&str> =
            TEMPLATE.split("{{").skip(1).filter_map(|part| part.split_once("}}")).map(|(name, _)| name).collect();
        let known = ["body", "examples", "source", "key", "prompt", "problems", "picture", "download", "outline"];
        for name in known {
            assert_eq!(places.iter().filter(|place| **place == name).count(), 1, "{name}");
        }
        assert_eq!(places.len(), known.len(), "{places:?}");
        assert!(!TEMPLATE.contains("style="), "no inline styles");
        assert!(!TEMPLATE.contains(" on"), "no inline scripts");
        assert!(!TEMPLATE.contains("://"), "nothing from elsewhere");
    }
}
