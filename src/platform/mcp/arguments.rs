//! From a tool's arguments to a request of its route: what the path has, what the query knows, and the rest as the body.

use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};

use super::argument::{Becomes, Form};
use crate::http::query::{QueryError, encode_segment};
use crate::json::{Json, to_compact};
use crate::service::{Content, Fault, Problem, Route, Shape};

/// Says of a request that a tool makes it; its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTool {
    /// Whether its path names whoever asks: then somebody must.
    pub is_of_own: bool,
}

/// What stands in a path for whoever asks where nobody does. It is looked up by nobody: [`ByTool`] says what it is.
const NOBODY: &str = "-";

/// A tool's call as a request.
#[derive(Debug)]
pub(super) struct Asked {
    /// The request.
    pub(super) request: Request<Body>,
    /// What its path names.
    pub(super) named: Vec<(&'static str, String)>,
}

/// What all requests of one call have from the request that it came with.
pub(super) struct Outer<'a> {
    /// That request. Of its header they have the credential alone; its identifier and what else the listener knows of it
    /// they have, too.
    pub(super) parts: &'a Parts,
    /// Fields of the header that they have besides.
    pub(super) fields: Vec<(HeaderName, HeaderValue)>,
    /// The name of whoever asks.
    pub(super) own: Option<String>,
}

impl Outer<'_> {
    /// An empty request with all that it has from the outer one.
    pub(super) fn request(&self, by: ByTool) -> Request<Body> {
        let mut request = Request::new(Body::empty());
        *request.extensions_mut() = self.parts.extensions.clone();
        request.extensions_mut().insert(by);
        if let Some(credential) = self.parts.headers.get(AUTHORIZATION) {
            request.headers_mut().insert(AUTHORIZATION, credential.clone());
        }
        for (name, value) in &self.fields {
            request.headers_mut().append(name, value.clone());
        }
        request
    }
}

/// Makes a request of a route from arguments.
///
/// # Errors
/// Something that the path names is missing, or an argument of path, query or header is no text, number or word.
pub(super) fn request(
    route: &Route,
    form: &Form,
    mut arguments: Vec<(String, Json)>,
    outer: &Outer<'_>,
) -> Result<Asked, Fault> {
    if let Some((name, _)) = arguments.iter().find(|(name, _)| form.is_strange(name)) {
        let known = route.parameters.iter().filter_map(|parameter| form.argument_for(parameter.name));
        return Err(Fault::of_query(QueryError::Unknown(vec![name.clone()]), known));
    }
    let (named, is_of_own) = segments(route, form, &mut arguments, outer.own.as_deref())?;
    let mut query = Vec::new();
    for parameter in route.parameters {
        let Some(name) = form.argument_for(parameter.name) else { continue };
        if let Some(value) = take(&mut arguments, name) {
            let values = match value {
                Json::Array(values) if parameter.is_repeatable => values,
                value => vec![value],
            };
            for value in values {
                let text = text_of(&value, parameter.shape).map_err(|expected| wrong(name, expected))?;
                query.push((parameter.name.to_owned(), text));
            }
        }
    }
    let fields = of_its_own(form, &mut arguments)?;
    let body = match route.body {
        Content::Json(_) => Some(arguments),
        Content::OptionalJson(_) => Some(arguments).filter(|rest| !rest.is_empty()),
        // What the route does not know it shall refuse itself.
        Content::Nothing | Content::Media(_) => {
            query.extend(arguments.into_iter().map(|(name, _)| (name, String::new())));
            None
        }
    };
    let mut request = outer.request(ByTool { is_of_own });
    *request.method_mut() = route.method.into();
    *request.uri_mut() =
        address(route, &named, &query).ok_or_else(|| wrong("arguments", "are too long for a request"))?;
    request.headers_mut().extend(fields);
    if let Some(body) = body {
        let body = to_compact(&Json::Object(body));
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        *request.body_mut() = Body::from(body);
    }
    Ok(Asked { request, named })
}

/// Takes an argument out; null is as good as none.
pub(super) fn take(arguments: &mut Vec<(String, Json)>, name: &str) -> Option<Json> {
    let place = arguments.iter().position(|(known, _)| known == name)?;
    Some(arguments.remove(place).1).filter(|value| *value != Json::Null)
}

type Named = Vec<(&'static str, String)>;

/// What the path names, and whether that is whoever asks.
fn segments(
    route: &Route,
    form: &Form,
    arguments: &mut Vec<(String, Json)>,
    own: Option<&str>,
) -> Result<(Named, bool), Fault> {
    let (mut named, mut is_of_own) = (Vec::new(), false);
    for segment in route.segments {
        let argument = form.argument_for(segment.name);
        let text = match argument.and_then(|name| take(arguments, name)) {
            Some(Json::String(text)) => text,
            Some(_) => return Err(wrong(argument.unwrap_or(segment.name), "must be a string")),
            None if form.own == segment.name => {
                is_of_own = true;
                own.unwrap_or(NOBODY).to_owned()
            }
            None => return Err(wrong(argument.unwrap_or(segment.name), "is required")),
        };
        named.push((segment.name, text));
    }
    Ok((named, is_of_own))
}

/// Arguments of the tool's own: fields of the header are taken out, lists are made of texts.
fn of_its_own(form: &Form, arguments: &mut Vec<(String, Json)>) -> Result<HeaderMap, Fault> {
    let mut fields = HeaderMap::new();
    for argument in form.arguments {
        match argument.becomes {
            Becomes::Called(_) => {}
            Becomes::Field(field) => {
                if let Some(value) = take(arguments, argument.name) {
                    fields.insert(HeaderName::from_static(field), field_of(argument.name, &value)?);
                }
            }
            Becomes::List => {
                let given = arguments.iter_mut().find(|(name, _)| name == argument.name);
                if let Some((_, value @ Json::String(_))) = given {
                    *value = Json::Array(vec![std::mem::replace(value, Json::Null)]);
                }
            }
        }
    }
    Ok(fields)
}

/// An argument as a field of a header.
pub(super) fn field_of(name: &str, value: &Json) -> Result<HeaderValue, Fault> {
    let text = value.as_str().ok_or_else(|| wrong(name, "must be a string"))?;
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| wrong(name, "must be a text without control characters"))
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

/// An argument that is wrong.
pub(super) fn wrong(name: &str, problem: &str) -> Fault {
    Fault::Shape(vec![Problem::new(name, problem)])
}
