//! The description in OpenAPI 3.1.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::codes::codes_of;
use super::links::links_of;
use crate::service::dialect::Dialect;
use crate::service::endpoint::{Endpoints, routes};
use crate::service::route::{Content, KeyRule, Parameter, Route, Segment, Success};

/// How long an `If-Match` need be: a few entity tags.
const IF_MATCH_CHARS_MAX: usize = 255;

/// The document.
#[must_use]
pub fn document<D: Dialect>(endpoints: Endpoints<D>) -> Value {
    let routes = routes(endpoints).collect::<Vec<_>>();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in &routes {
        let operations = paths.entry(route.path).or_default();
        let described = operation::<D>(route, &routes);
        if !route.is_change() && !route.wants_key() && !route.has_no_head {
            operations.insert("head".to_owned(), Value::Object(head(route, described.clone())));
        }
        operations.insert(route.method.as_str().to_ascii_lowercase(), Value::Object(described));
    }
    let interface = D::INTERFACE;
    json!({
        "openapi": "3.1.0",
        "info": {"title": interface.title, "version": interface.version, "description": interface.description},
        "paths": paths,
        "components": {
            "schemas": schemas::<D>(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": D::KEY_FORM}},
        },
        "x-error-codes": D::told_codes(),
    })
}

/// The shapes of bodies, answers and errors by name.
#[must_use]
pub fn schemas<D: Dialect>() -> Map<String, Value> {
    let read = |text: &&str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut schemas: Map<String, Value> = D::INTERFACE.schemas.iter().flat_map(read).collect();
    schemas.insert(D::INTERFACE.error.1.to_owned(), D::error_schema());
    schemas
}

/// A HEAD: all that its GET is and answers, without a body.
fn head(route: &Route, mut get: Map<String, Value>) -> Map<String, Value> {
    let statuses = get.get("responses").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let responses: Map<String, Value> =
        statuses.map(|status| (status.clone(), json!({"description": "As GET, without a body"}))).collect();
    get.insert("operationId".to_owned(), json!(format!("head_{}", route.name)));
    get.insert("responses".to_owned(), Value::Object(responses));
    get
}

fn operation<D: Dialect>(route: &Route, routes: &[&'static Route]) -> Map<String, Value> {
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), json!(route.name));
    operation.insert("summary".to_owned(), json!(route.summary));
    let mut parameters: Vec<Value> = route.segments.iter().map(segment).collect();
    parameters.extend(route.parameters.iter().map(query));
    parameters.extend(idempotency_key::<D>(route));
    if route.is_conditional {
        let tag = format!("\"{}[0-9]+\"", route.etag);
        let schema =
            json!({"type": "string", "pattern": format!("^{tag}( *, *{tag})*$"), "maxLength": IF_MATCH_CHARS_MAX});
        parameters.push(parameter("header", "If-Match", route.needs_condition, schema, "The entity tag last read."));
    }
    operation.insert("parameters".to_owned(), json!(parameters));
    let body = content(route.body);
    if !body.is_empty() {
        let is_required = !matches!(route.body, Content::OptionalJson(_));
        operation.insert("requestBody".to_owned(), json!({"required": is_required, "content": body}));
    }
    operation.insert("responses".to_owned(), Value::Object(responses::<D>(route, routes)));
    if route.wants_key() {
        operation.insert("security".to_owned(), json!([{"key": []}]));
    }
    if !route.permission.is_empty() {
        operation.insert("x-permission".to_owned(), json!(route.permission));
    }
    for mark in route.marks {
        operation.insert(format!("x-{mark}"), json!(true));
    }
    D::describe(route, &mut operation);
    operation
}

fn idempotency_key<D: Dialect>(route: &Route) -> Option<Value> {
    let is_required = match route.key {
        KeyRule::Ignored => return None,
        KeyRule::Optional => false,
        KeyRule::Required => true,
    };
    let schema = json!({"type": "string", "minLength": 1, "maxLength": D::DEMANDS.key_chars_max, "pattern": "^[^\\u0000-\\u001f\\u007f]*$"});
    let kept = hours_or_days(D::DEMANDS.key_kept_seconds);
    let about = format!("Repeating a request with its key does it once and answers alike, for {kept}.");
    Some(parameter("header", "Idempotency-Key", is_required, schema, &about))
}

/// `24 hours`, `30 days`.
fn hours_or_days(seconds: i64) -> String {
    match seconds / 3_600 {
        hours if hours > 24 && hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}

/// A parameter that stands in a `query`, `header` or `path`.
fn parameter(place: &str, name: &str, is_required: bool, schema: Value, about: &str) -> Value {
    json!({"name": name, "in": place, "required": is_required, "schema": schema, "description": about})
}

fn segment(segment: &Segment) -> Value {
    let about = segment.noun.replace('_', " ");
    parameter("path", segment.name, true, segment.shape.schema(), &about)
}

fn query(known: &Parameter) -> Value {
    parameter("query", known.name, known.is_required, known.schema(), known.about)
}

/// The content of a body, by media type.
fn content(content: Content) -> Map<String, Value> {
    let referred = |schema: &str| json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    match content {
        Content::Nothing => Map::new(),
        Content::Json(schema) | Content::OptionalJson(schema) => {
            Map::from_iter([("application/json".to_owned(), referred(schema))])
        }
        Content::Media(media) => media
            .iter()
            .map(|(media_type, schema)| {
                let schema: Value = serde_json::from_str(schema).unwrap_or_default();
                ((*media_type).to_owned(), json!({"schema": schema}))
            })
            .collect(),
    }
}

fn responses<D: Dialect>(route: &Route, routes: &[&'static Route]) -> Map<String, Value> {
    let mut responses = Map::new();
    for success in route.successes {
        responses.insert(success.status.to_string(), response(route, success, routes));
    }
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in codes_of::<D>(route) {
        by_status.entry(code.status).or_default().push(code.code);
    }
    let (media_type, schema) = D::INTERFACE.error;
    for (status, codes) in by_status {
        let content = json!({media_type: {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
        let told = json!({"description": codes.join(", "), "content": content, "x-codes": codes});
        // A status that is a success, too (health has such), keeps that.
        responses.entry(status.to_string()).or_insert(told);
    }
    responses
}

fn response(route: &Route, success: &Success, routes: &[&'static Route]) -> Value {
    let about = match (success.about, success.content) {
        ("", Content::Nothing) => "Done",
        ("", _) => "Success",
        (about, _) => about,
    };
    let mut response = Map::from_iter([("description".to_owned(), json!(about))]);
    let body = content(success.content);
    if !body.is_empty() {
        response.insert("content".to_owned(), Value::Object(body));
    }
    let links = links_of(route, routes);
    if !links.is_empty() && success.content != Content::Nothing {
        response.insert("links".to_owned(), Value::Object(links));
    }
    Value::Object(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_as_people_say_it() {
        for (seconds, told) in [(30 * 86_400, "30 days"), (86_400, "24 hours"), (36 * 3_600, "36 hours")] {
            assert_eq!(hours_or_days(seconds), told);
        }
    }
}
