//! The interface of Kroki, which plugins of wikis and editors speak: a source in the address or in the body, and back
//! comes the picture itself.
//!
//! A picture is answered before it is kept: whoever has it has all that was asked for, and no address of it was told.

use std::net::IpAddr;

use data_encoding::HEXLOWER;
use http::HeaderMap;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HeaderValue};
use http::request::Parts;
use quintet_drawing::render::Format;
use quintet_platform::access::authorization;
use quintet_platform::http::body::is_json;
use quintet_platform::http::etag::ETag;
use quintet_platform::http::precondition::is_not_modified;
use quintet_platform::json::{self, FieldError, Fields, Json};
use quintet_platform::service::{
    Answer, Content, Dialect as _, Endpoint, Fault, Route, Segment, Shape, Success, failed, media, nothing,
};

use super::body;
use super::dialect::{Answered, Call, Diagrams, PERMISSION, Visit, let_in};
use super::encoded::{Inflated, decode_base64, inflate};
use super::intake::{SMALL_BODY_BYTES, source_of};
use super::picture::{SANDBOX, bytes_of, with_warnings};
use crate::actions::{self, Picture, Shown};
use crate::context::Context;
use crate::queue::{Asker, Source};
use crate::refusal::Refusal;

/// What Kroki calls the language.
const TYPES: [&str; 2] = ["graphviz", "dot"];

const FORMAT: Segment = Segment::new("format", Shape::Word(&["svg", "png"], ""));
const SOURCE: Segment = Segment::new("source", Shape::Pattern("^[A-Za-z0-9_-]+={0,2}$"));

const PICTURE: Success =
    media(200, &[("image/svg+xml", r#"{"type":"string"}"#), ("image/png", r#"{"type":"string","format":"binary"}"#)])
        .about("The picture; X-Render-Warning and X-Render-Degraded say what was not honoured");
const NOT_MODIFIED: Success = nothing(304).about("If-None-Match names it");
const BODY: Content = Content::Media(&[
    ("application/json", r##"{"$ref":"#/components/schemas/KrokiSource"}"##),
    ("text/plain", r#"{"type":"string","maxLength":1048576,"description":"DOT source."}"#),
]);

const fn in_the_address(name: &'static str, path: &'static str) -> Route {
    Route::get(name, path)
        .permission(PERMISSION)
        .summary("The picture of a source that is deflated (zlib) and written in base64url, as Kroki has it")
        .segments(&[FORMAT, SOURCE])
        .any_parameter()
        .successes(&[PICTURE, NOT_MODIFIED])
        .codes(&["invalid_request", "too_large", "undrawable", "busy", "storage_full", "storage_stopped"])
}

const fn in_the_body(name: &'static str, path: &'static str, segments: &'static [Segment]) -> Route {
    Route::post(name, path)
        .permission(PERMISSION)
        .summary("The picture of a source in the body, as Kroki has it; without a format in the path, JSON or Accept name it")
        .segments(segments)
        .any_parameter()
        .body(BODY)
        .successes(&[PICTURE])
        .codes(&["invalid_request", "body_timed_out", "too_large", "undrawable"])
}

const GET_GRAPHVIZ: Route = in_the_address("kroki_get_graphviz", "/graphviz/{format}/{source}");
const POST_GRAPHVIZ_AS: Route = in_the_body("kroki_post_graphviz_as", "/graphviz/{format}", &[FORMAT]);
const POST_GRAPHVIZ: Route = in_the_body("kroki_post_graphviz", "/graphviz", &[]);
const GET_DOT: Route = in_the_address("kroki_get_dot", "/dot/{format}/{source}");
const POST_DOT_AS: Route = in_the_body("kroki_post_dot_as", "/dot/{format}", &[FORMAT]);
const POST_DOT: Route = in_the_body("kroki_post_dot", "/dot", &[]);

pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] = &[
    Endpoint::new(&GET_GRAPHVIZ, |call| Box::pin(get_picture(call))),
    Endpoint::new(&POST_GRAPHVIZ_AS, |call| Box::pin(post_source(call))),
    Endpoint::new(&POST_GRAPHVIZ, |call| Box::pin(post_source(call))),
    Endpoint::new(&GET_DOT, |call| Box::pin(get_picture(call))),
    Endpoint::new(&POST_DOT_AS, |call| Box::pin(post_source(call))),
    Endpoint::new(&POST_DOT, |call| Box::pin(post_source(call))),
];

/// The address says everything but which version draws, so a cache may keep the picture for a while and then asks again.
/// Where keys are required, only the caller's own may.
const FOR_EVERYBODY: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const FOR_ITS_READER: HeaderValue = HeaderValue::from_static("private, max-age=3600");

async fn get_picture(call: Call) -> Answered {
    let format = format_in_path(&call)?.unwrap_or_default();
    let from = source_of(&call.parts);
    let text = call.segment::<String>(SOURCE.name).unwrap_or_default();
    let source = read_address(&call.context, from, &text).await?;
    let shown = actions::draw_and_show(&call.context, from, format, source).await?;
    let tag = ETag::strong(&HEXLOWER.encode(&shown.hash.0));
    let caching = if call.context.requires_key { FOR_ITS_READER } else { FOR_EVERYBODY };
    let answer = match is_not_modified(call.headers(), &tag) {
        true => Answer::nothing(304),
        false => answer(&call.context, format, shown, &options_of(&call.parts))?,
    };
    Ok(answer.tagged(&tag).header(CACHE_CONTROL, caching))
}

async fn post_source(mut call: Call) -> Answered {
    let format = format_in_path(&call)?;
    let asked = read_body(&mut call, false).await?;
    show(&call, format, asked).await
}

/// `POST /` with JSON; what else comes there is the page's form.
pub(super) async fn post_typed(mut visit: Visit) -> Answered {
    if visit.context.requires_key {
        let_in(&visit.context, authorization(visit.headers())).await?;
    }
    let asked = read_body(&mut visit, true).await?;
    show(&visit, None, asked).await
}

/// What a body says.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    source: String,
    format: Option<Format>,
    /// The names of options, and of what is not known besides.
    options: Vec<String>,
}

async fn show(visit: &Visit, format: Option<Format>, asked: Asked) -> Answered {
    let Asked { source, format: said, mut options } = asked;
    let format = match format.or(said) {
        Some(format) => format,
        None => format_accepted(visit.headers())?,
    };
    let shown = actions::draw_and_show(&visit.context, source_of(&visit.parts), format, source).await?;
    options.extend(options_of(&visit.parts));
    answer(&visit.context, format, shown, &options)
}

/// A picture on its way out, and that options were passed over.
fn answer(context: &Context, format: Format, shown: Shown, options: &[String]) -> Answered {
    let Shown { hash, picture, mut warnings, is_degraded } = shown;
    let media_type = HeaderValue::from_static(format.content_type());
    let answer = match picture {
        Picture::Drawn(bytes) => Answer::other(200, media_type, bytes),
        Picture::Kept(row) => {
            let length = HeaderValue::from(row.size_bytes);
            let body = bytes_of(context.clone(), hash, row, false).map_err(|failure| failed::<Refusal>(&failure))?;
            Answer::stream(200, media_type, body).header(CONTENT_LENGTH, length)
        }
    };
    warnings.extend(options.iter().map(|name| format!("the option {name} is passed over")));
    Ok(with_warnings(answer.header(CONTENT_SECURITY_POLICY, SANDBOX), &warnings, is_degraded))
}

/// The format that the path names, if it has a place for one.
fn format_in_path(visit: &Visit) -> Result<Option<Format>, Refusal> {
    match visit.route.segments.contains(&FORMAT) {
        true => format_named(&visit.segment::<String>(FORMAT.name).unwrap_or_default()).map(Some),
        false => Ok(None),
    }
}

fn format_named(name: &str) -> Result<Format, Refusal> {
    Format::named(name).ok_or_else(|| Refusal::invalid("the format must be svg or png: there is no other"))
}

/// The first format that `Accept` names; whoever takes anything gets SVG.
fn format_accepted(headers: &HeaderMap) -> Result<Format, Refusal> {
    let mut is_any = true;
    let values = headers.get_all(ACCEPT).iter().flat_map(|value| value.to_str().unwrap_or_default().split(','));
    for name in values.filter_map(|range| range.split(';').next()).map(str::trim).filter(|name| !name.is_empty()) {
        match name.to_ascii_lowercase().as_str() {
            "image/svg+xml" | "image/*" | "*/*" => return Ok(Format::Svg),
            "image/png" => return Ok(Format::Png),
            _ => is_any = false,
        }
    }
    match is_any {
        true => Ok(Format::Svg),
        false => Err(Refusal::invalid("Accept must name image/svg+xml or image/png, or the path svg or png")),
    }
}

/// The source in an address. What is small is undone at once; of what turns out to be larger the whole is done elsewhere.
async fn read_address(context: &Context, from: Option<IpAddr>, text: &str) -> Result<String, Refusal> {
    let wrong = || Refusal::invalid("the source in the address must be deflated with zlib and written in base64url");
    let bytes_max = actions::source_bytes_max();
    let deflated = decode_base64(text).ok_or_else(wrong)?;
    let inflated = match inflate(&deflated, SMALL_BODY_BYTES) {
        Inflated::Larger => {
            let asker = Asker { source: from.map(Source::Address), bytes: bytes_max };
            body::aside(context, asker, move || inflate(&deflated, bytes_max)).await?
        }
        inflated => inflated,
    };
    match inflated {
        Inflated::Whole(bytes) => text_of(bytes),
        Inflated::Larger => Err(Refusal::TooLarge(format!("the source is larger than {bytes_max} bytes"))),
        Inflated::Broken => Err(wrong()),
    }
}

async fn read_body(visit: &mut Visit, wants_type: bool) -> Result<Asked, Refusal> {
    let body = visit.take_body();
    let bytes_max = actions::source_bytes_max();
    let (bytes, _place) = body::read(&visit.context, &visit.parts, body, bytes_max).await?;
    let asker = Asker { source: source_of(&visit.parts).map(Source::Address), bytes: bytes.len() };
    // Whoever names no media type, or that of a form, as curl does, sends the source as it is.
    let is_json = is_json(visit.headers());
    let read = move || {
        let asked = match is_json {
            true => read_json(&bytes, wants_type)?,
            false => Asked { source: text_of(bytes.into())?, format: None, options: Vec::new() },
        };
        body::check_size("the source", &asked.source, bytes_max)?;
        Ok(asked)
    };
    body::aside(&visit.context, asker, read).await?
}

fn read_json(bytes: &[u8], wants_type: bool) -> Result<Asked, Refusal> {
    let wrong = |error: FieldError| Refusal::from(Fault::Shape(vec![(&error).into()]));
    let said = json::parse(bytes, Diagrams::DEMANDS.json).map_err(Fault::Json)?;
    let mut fields = Fields::new(said).map_err(|error| Refusal::invalid(error.to_string()))?;
    let source = fields.required("diagram_source").map_err(wrong)?;
    let named: Option<String> = fields.optional("diagram_type").map_err(wrong)?;
    if wants_type && named.is_none() || named.is_some_and(|name| !TYPES.contains(&name.as_str())) {
        return Err(Refusal::invalid("diagram_type must be graphviz or dot: there is no other"));
    }
    let format: Option<String> = fields.optional("output_format").map_err(wrong)?;
    let format = format.map(|name| format_named(&name)).transpose()?;
    let options: Option<Vec<(String, Json)>> = fields.optional("diagram_options").map_err(wrong)?;
    let options = options.unwrap_or_default().into_iter().map(|(name, _)| name);
    // Kroki minds nothing that it does not know.
    let besides = fields.finish().err().unwrap_or_default().into_iter().map(|unknown| unknown.field);
    Ok(Asked { source, format, options: options.chain(besides).collect() })
}

/// The names of the options that query and header have: Kroki takes them from there, too.
fn options_of(parts: &Parts) -> Vec<String> {
    let in_query = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split('=').next());
    let in_query = in_query.filter(|name| !name.is_empty());
    let in_header = parts.headers.keys().filter_map(|name| name.as_str().strip_prefix("kroki-diagram-options-"));
    in_query.chain(in_header).map(str::to_owned).collect()
}

fn text_of(bytes: Vec<u8>) -> Result<String, Refusal> {
    String::from_utf8(bytes).map_err(|_| Refusal::invalid("the source must be text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_format_that_is_accepted_is_taken() {
        for (accept, expected) in [
            (None, Some(Format::Svg)),
            (Some(""), Some(Format::Svg)),
            (Some("*/*"), Some(Format::Svg)),
            (Some("image/png"), Some(Format::Png)),
            (Some("Image/PNG;q=0.9, image/svg+xml"), Some(Format::Png)),
            (Some("application/pdf, image/svg+xml"), Some(Format::Svg)),
            (Some("text/html,image/*;q=0.8"), Some(Format::Svg)),
            (Some("application/pdf"), None),
            (Some("image/jpeg, text/plain"), None),
        ] {
            let headers = accept.map(|text| (ACCEPT, HeaderValue::from_static(text))).into_iter().collect();
            assert_eq!(format_accepted(&headers).ok(), expected, "{accept:?}");
        }
    }

    #[test]
    fn json_says_what_kroki_lets_it_say() {
        let asked = |source: &str, format, options: &[&str]| {
            Some(Asked {
                source: source.to_owned(),
                format,
                options: options.iter().map(ToString::to_string).collect(),
            })
        };
        for (text, wants_type, expected) in [
            (r#"{"diagram_source": "graph {}", "diagram_type": "graphviz"}"#, true, asked("graph {}", None, &[])),
            (r#"{"diagram_source": "graph {}", "diagram_type": "dot"}"#, true, asked("graph {}", None, &[])),
            (r#"{"diagram_source": "graph {}"}"#, false, asked("graph {}", None, &[])),
            (r#"{"diagram_source": "", "output_format": "png"}"#, false, asked("", Some(Format::Png), &[])),
            (
                r#"{"diagram_source": "g", "output_format": "svg", "diagram_options": {"layout": "neato", "scale": 2}}"#,
                false,
                asked("g", Some(Format::Svg), &["layout", "scale"]),
            ),
            (r#"{"diagram_source": "graph {}"}"#, true, None),
            (r#"{"diagram_source": "graph {}", "diagram_type": "plantuml"}"#, true, None),
            (r#"{"diagram_source": "graph {}", "diagram_type": "plantuml"}"#, false, None),
            (r#"{"diagram_source": "graph {}", "output_format": "pdf"}"#, false, None),
            (r#"{"diagram_source": "graph {}", "diagram_options": []}"#, false, None),
            (r#"{"diagram_source": "graph {}", "more": 1}"#, false, asked("graph {}", None, &["more"])),
            (r#"{"diagram_source": null}"#, false, None),
            ("{}", false, None),
            ("", false, None),
            ("[]", false, None),
            ("graph {}", false, None),
        ] {
            assert_eq!(read_json(text.as_bytes(), wants_type).ok(), expected, "{text}");
        }
    }

    #[test]
    fn options_are_told_wherever_they_stand() {
        let request = http::Request::builder().uri("/graphviz/svg/x?layout=neato&a&&=b&c=%20");
        let request = request.header("kroki-diagram-options-scale", "2").header("kroki-other", "x");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(options_of(&parts), ["layout", "a", "c", "scale"]);
    }
}
