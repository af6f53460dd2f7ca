//! Pictures: drawn, and read again.

use data_encoding::HEXLOWER;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, HeaderValue};
use http::request::Parts;
use http::uri::Authority;
use quintet_drawing::render::Format;
use quintet_platform::http::etag::ETag;
use quintet_platform::http::origin::scheme;
use quintet_platform::http::precondition::is_not_modified;
use quintet_platform::service::{
    Answer, Content, Endpoint, Fault, Parameter, Route, Segment, Shape, failed, json as success, media, nothing,
};
use serde_json::json;

use super::body;
use super::dialect::{Answered, Call, Diagrams, PERMISSION};
use super::intake::source_of;
use super::picture::{SANDBOX, bytes_of, file_name, parse_file_name, with_warnings};
use crate::actions;
use crate::refusal::Refusal;

const FORMAT: Parameter =
    Parameter::new("format", Shape::Word(&["png", "svg"], "png"), "What the picture is written as.");
const BASE64: Parameter =
    Parameter::new("base64", Shape::Word(&["true", "false"], "false"), "true: the picture as base64, in text/plain.");
const FILE_NAME: Segment = Segment::new("filename", Shape::Pattern("^[0-9a-f]{64}\\.(png|svg)$"));

const RENDER: Route = Route::post("draw_graph", "/graphs")
    .permission(PERMISSION)
    .summary("Draw DOT source and keep the picture")
    .parameters(&[FORMAT])
    .body(Content::Json("Source"))
    .successes(&[success(200, "Picture")
        .about("Where the picture is; X-Render-Warning and X-Render-Degraded say what was not honoured")])
    .makes_at(FILE_NAME.noun, "url")
    .codes(&["undrawable"]);
const GRAPH: Route = Route::get("get_graph", "/graphs/{filename}")
    .permission(PERMISSION)
    .summary("A stored picture, named by the SHA-256 of what was drawn")
    .segments(&[FILE_NAME])
    .parameters(&[BASE64])
    .successes(&[
        media(
            200,
            &[
                ("image/png", r#"{"type":"string","format":"binary"}"#),
                ("image/svg+xml", r#"{"type":"string"}"#),
                ("text/plain", r#"{"type":"string","contentEncoding":"base64"}"#),
            ],
        )
        .about("The picture, with an ETag; it never changes"),
        nothing(304).about("If-None-Match names it"),
    ])
    .codes(&["no_such_picture"]);

pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] = &[
    Endpoint::new(&RENDER, |call| Box::pin(draw_graph(call))),
    Endpoint::new(&GRAPH, |call| Box::pin(get_graph(call))),
];

/// A picture by its name never changes. Where keys are required, only the caller's own cache may keep it.
const FOR_EVERYBODY: HeaderValue = HeaderValue::from_static("public, immutable, max-age=31536000");
const FOR_ITS_READER: HeaderValue = HeaderValue::from_static("private, immutable, max-age=31536000");
/// Plain text, in base64's letters.
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=us-ascii");

async fn draw_graph(mut call: Call) -> Answered {
    let format = call.word(&FORMAT)?.and_then(Format::named).unwrap_or_default();
    let origin = origin(&call.parts)?;
    let (context, from) = (call.context.clone(), source_of(&call.parts));
    let source = body::one_field(call, "dotfile", actions::source_bytes_max()).await?;
    let drawn = actions::draw_and_keep(&context, from, format, source).await?;
    let url = format!("{origin}/graphs/{}", file_name(drawn.hash, format));
    Ok(with_warnings(Answer::value(200, &json!({ "url": url })), &drawn.warnings, drawn.is_degraded))
}

async fn get_graph(mut call: Call) -> Answered {
    let as_base64 = call.word(&BASE64)? == Some("true");
    let named = call.segment::<String>(FILE_NAME.name).and_then(|name| parse_file_name(&name));
    let (hash, format) = named
        .ok_or_else(|| Refusal::invalid("a picture's name is 64 hexadecimal digits with .png or .svg behind them"))?;
    let row = call.context.results.find(hash).map_err(|failure| failed::<Refusal>(&failure))?;
    let row = row.filter(|row| row.format == format.into()).ok_or(Refusal::NoSuchPicture)?;
    let name = HEXLOWER.encode(&hash.0);
    let tag = ETag::strong(&if as_base64 { format!("{name}-base64") } else { name });
    let caching = if call.context.requires_key { FOR_ITS_READER } else { FOR_EVERYBODY };
    let kept = |answer: Answer| answer.tagged(&tag).header(CACHE_CONTROL, caching.clone());
    if is_not_modified(call.headers(), &tag) {
        return Ok(kept(Answer::nothing(304)));
    }
    let media_type = if as_base64 { PLAIN } else { HeaderValue::from_static(format.content_type()) };
    let length = if as_base64 { row.size_bytes.div_ceil(3).saturating_mul(4) } else { row.size_bytes };
    let (warnings, is_degraded) = (row.warnings.clone(), row.is_degraded);
    let body = bytes_of(call.context.clone(), hash, row, as_base64).map_err(|failure| failed::<Refusal>(&failure))?;
    let answer = kept(Answer::stream(200, media_type, body))
        .header(CONTENT_LENGTH, HeaderValue::from(length))
        .header(CONTENT_SECURITY_POLICY, SANDBOX);
    Ok(with_warnings(answer, &warnings, is_degraded))
}

/// Scheme and authority by which the caller reaches this service, for absolute addresses: what the listener knows, and
/// what the Host field says. The latter comes from the caller and goes back to nobody else.
fn origin(parts: &Parts) -> Result<String, Refusal> {
    let named = match parts.uri.authority() {
        Some(authority) => Some(authority.clone()),
        None => {
            let mut values = parts.headers.get_all(HOST).iter();
            let only = values.next().filter(|_| values.next().is_none());
            only.and_then(|value| Authority::try_from(value.as_bytes()).ok())
        }
    };
    let named = named.filter(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
    let authority = named.ok_or(Fault::HostMissing)?;
    Ok(format!("{}://{authority}", scheme(&parts.extensions)))
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;
    use quintet_platform::http::origin::ReachedByHttps;

    use super::*;

    #[test]
    fn what_the_listener_knows_is_the_scheme() {
        let request = Request::builder().uri("/graphs").header("host", "a.example").extension(ReachedByHttps);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(origin(&parts).unwrap(), "https://a.example");
    }

    fn origin_of(uri: &str, fields: &[(&str, &str)]) -> Option<String> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        origin(&parts).ok()
    }

    #[test]
    fn addresses_are_those_the_caller_used() {
        for (uri, fields, expected) in [
            ("/graphs", &[("host", "a.example:7450")][..], Some("http://a.example:7450")),
            ("/graphs", &[("host", "[::1]:7450")], Some("http://[::1]:7450")),
            ("http://b.example/graphs", &[("host", "a.example")], Some("http://b.example")),
            ("/graphs", &[("host", "a.example"), ("x-forwarded-proto", "https")], Some("http://a.example")),
            ("/graphs", &[("host", "a.example/x")], None),
            ("/graphs", &[("host", "u@a.example")], None),
            ("/graphs", &[("host", "a b")], None),
            ("/graphs", &[("host", "a\"b")], None),
            ("/graphs", &[("host", "a.example"), ("host", "b.example")], None),
            ("/graphs", &[("host", "")], None),
            ("/graphs", &[], None),
        ] {
            assert_eq!(origin_of(uri, fields).as_deref(), expected, "{uri} {fields:?}");
        }
    }
}
