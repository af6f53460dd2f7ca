//! From a tool's arguments to a request of its route: what the path has, what the query knows, and the rest as the body.

use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Request, Uri};

use crate::http::query::{QueryError, encode_segment};
use crate::json::{Json, to_compact};
use crate::service::{Content, Fault, Problem, Route, Shape};

/// A tool's call as a request.
#[derive(Debug)]
pub(super) struct Asked {
    /// The request.
    pub(super) request: Request<Body>,
    /// What its path names.
    pub(super) named: Vec<(&'static str, String)>,
}

/// Makes a request of a route from arguments. Of the header of the request that they came with it has the credential
/// alone; the identifier and what else the listener knows of that one it has, too.
///
/// # Errors
/// Something that the path names is missing, or an argument of path or query is no text, number or word.
pub(super) fn request(
    route: &Route,
    is_left_out: impl Fn(&str) -> bool,
    mut arguments: Vec<(String, Json)>,
    outer: &Parts,
) -> Result<Asked, Fault> {
    let mut take = |name: &str| {
        let place = arguments.iter().position(|(known, _)| known == name)?;
        Some(arguments.remove(place).1).filter(|value| *value != Json::Null)
    };
    let mut named = Vec::new();
    for segment in route.segments {
        match take(segment.name) {
            Some(Json::String(text)) => named.push((segment.name, text)),
            Some(_) => return Err(wrong(segment.name, "must be a string")),
            None => return Err(wrong(segment.name, "is required")),
        }
    }
    let mut query = Vec::new();
    for parameter in route.parameters.iter().filter(|parameter| !is_left_out(parameter.name)) {
        if let Some(value) = take(parameter.name) {
            let values = match value {
                Json::Array(values) if parameter.is_repeatable => values,
                value => vec![value],
            };
            for value in values {
                let text = text_of(&value, parameter.shape);
                query.push((parameter.name.to_owned(), text.map_err(|expected| wrong(parameter.name, expected))?));
            }
        }
    }
    if let Some((name, _)) = arguments.iter().find(|(name, _)| is_left_out(name)) {
        let known = route.parameters.iter().map(|parameter| parameter.name).filter(|name| !is_left_out(name));
        return Err(Fault::of_query(QueryError::Unknown(vec![name.clone()]), known));
    }
    let body = match route.body {
        Content::Json(_) => Some(arguments),
        Content::OptionalJson(_) => Some(arguments).filter(|rest| !rest.is_empty()),
        // What the route does not know it shall refuse itself.
        Content::Nothing | Content::Media(_) => {
            query.extend(arguments.into_iter().map(|(name, _)| (name, String::new())));
            None
        }
    };
    let mut request = Request::new(Body::empty());
    *request.method_mut() = route.method.into();
    *request.uri_mut() =
        address(route, &named, &query).ok_or_else(|| wrong("arguments", "are too long for a request"))?;
    *request.extensions_mut() = outer.extensions.clone();
    if let Some(credential) = outer.headers.get(AUTHORIZATION) {
        request.headers_mut().insert(AUTHORIZATION, credential.clone());
    }
    if let Some(body) = body {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Body::from(to_compact(&Json::Object(body)));
    }
    Ok(Asked { request, named })
}

/// A value as a query has it. Strings are taken for whatever they say; numbers and truth values only where such are meant.
fn text_of(value: &Json, shape: Shape) -> Result<String, &'static str> {
    let is_number = matches!(shape, Shape::Integer { .. });
    let is_truth = matches!(shape, Shape::Word(words, _) if words.contains(&"true"));
    match value {
        Json::String(text) => Ok(text.clone()),
        Json::Number(number) if is_number => Ok(number.as_str().to_owned()),
        Json::Bool(truth) if is_truth => Ok(truth.to_string()),
        _ if is_number => Err("must be an integer"),
        _ => Err("must be a string"),
    }
}

/// Where a request goes; `None` if that is longer than an address can be.
fn address(route: &Route, named: &[(&str, String)], query: &[(String, String)]) -> Option<Uri> {
    let segment = |template: &str| {
        let name = template.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let found = named.iter().find(|(known, _)| Some(*known) == name);
        found.map_or_else(|| template.to_owned(), |(_, text)| encode_segment(text))
    };
    let path: Vec<String> = route.path.split('/').map(segment).collect();
    let pairs: Vec<String> =
        query.iter().map(|(name, text)| format!("{}={}", encode_segment(name), encode_segment(text))).collect();
    let address = path.join("/") + if pairs.is_empty() { "" } else { "?" } + &pairs.join("&");
    Uri::try_from(address).ok()
}

fn wrong(name: &str, problem: &str) -> Fault {
    Fault::Shape(vec![Problem::new(name, problem)])
}
