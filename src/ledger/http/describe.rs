//! What the service says of itself: `/openapi.json` and `/llms.txt`, made from the route table, the schemas and the
//! table of codes, so that none of them can tell anything else than what is served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::routes::{ROUTES, Route};
use crate::explain::{EXPLANATIONS, Explanation, explain};

/// The shapes of bodies and answers.
const SCHEMAS: &str = include_str!("schemas.json");
/// What an agent needs to know besides the lists.
const GUIDE: &str = include_str!("guide.md");

static OPENAPI: LazyLock<Vec<u8>> = LazyLock::new(|| serde_json::to_vec(&openapi()).unwrap_or_default());
static LLMS: LazyLock<String> = LazyLock::new(llms);

pub(super) async fn get_openapi() -> Response {
    Answer::of(200, OPENAPI.clone()).into_response()
}

pub(super) async fn get_llms() -> Response {
    let mut response = Response::new(Body::from(LLMS.as_str()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// The description in OpenAPI 3.1.
pub(super) fn openapi() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let operations = paths.entry(route.path).or_default();
        operations.insert(route.method.to_ascii_lowercase(), operation(route));
        if route.path == "/healthz" {
            operations.insert("head".to_owned(), json!({"summary": route.summary, "responses": {"200": {"description": "As GET, without a body"}, "503": {"description": "As GET, without a body"}}}));
        }
    }
    let mut schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let codes: Vec<&str> = EXPLANATIONS.iter().map(|known| known.code).collect();
    schemas.insert(
        "Error".to_owned(),
        json!({
            "type": "object", "required": ["error"], "additionalProperties": false,
            "properties": {"error": {
                "type": "object", "required": ["code", "message"], "additionalProperties": false,
                "properties": {
                    "code": {"enum": codes}, "message": {"type": "string"},
                    "details": {"type": "object", "description": "What the code is about; its members depend on it."},
                },
            }},
        }),
    );
    let explained: Vec<Value> = EXPLANATIONS
        .iter()
        .map(|known| {
            json!({
                "status": known.status, "code": known.code, "transient": known.is_transient, "arises": known.arises,
                "cause": known.cause, "cure": known.cure,
            })
        })
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ledger",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A multi-tenant double-entry ledger. Money is a decimal string, never a JSON number. \
                Branch on error.code; x-error-codes explains every code. /llms.txt is a guide for agents.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "rak_..."}},
        },
        "x-error-codes": explained,
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    for name in ["id", "key_id"] {
        if route.path.contains(&format!("{{{name}}}")) {
            parameters.push(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
        }
    }
    for parameter in route.parameters {
        let schema: Value = serde_json::from_str(parameter.schema).unwrap_or_default();
        parameters.push(json!({
            "name": parameter.name, "in": "query", "required": parameter.is_required, "schema": schema,
            "description": parameter.about,
        }));
    }
    if route.is_mutating() {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": true,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
            "description": "Repeating the request with the same key does it once and answers alike, for 30 days.",
        }));
    }
    let mut operation = json!({"summary": route.summary, "parameters": parameters, "responses": responses(route)});
    if let Some(members) = operation.as_object_mut() {
        if !route.permission.is_empty() {
            members.insert("security".to_owned(), json!([{"key": []}]));
            members.insert("x-permission".to_owned(), json!(route.permission));
        }
        if !route.request.is_empty() {
            let is_required = route.request != "Nothing";
            members
                .insert("requestBody".to_owned(), json!({"required": is_required, "content": content(route.request)}));
        }
    }
    operation
}

fn content(schema: &str) -> Value {
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    let success = match (route.answer, route.path) {
        ("", "/llms.txt") => {
            json!({"description": "Success", "content": {"text/plain": {"schema": {"type": "string"}}}})
        }
        ("", _) => json!({"description": "Success", "content": {"application/json": {"schema": {"type": "object"}}}}),
        (schema, _) => json!({"description": "Success", "content": content(schema)}),
    };
    responses.insert(route.status.to_string(), success);
    if route.path == "/healthz" {
        responses.insert("503".to_owned(), json!({"description": "Not healthy", "content": content("Health")}));
    }
    for (status, codes) in codes_by_status(route) {
        let names: Vec<&str> = codes.iter().map(|known| known.code).collect();
        let mut response = json!({"description": names.join(", "), "content": content("Error"), "x-codes": names});
        if let (true, Some(members)) = (codes.iter().any(|known| known.is_transient), response.as_object_mut()) {
            members.insert("headers".to_owned(), json!({"Retry-After": {"schema": {"type": "integer"}}}));
        }
        responses.insert(status.to_string(), response);
    }
    Value::Object(responses)
}

fn codes_by_status(route: &Route) -> BTreeMap<u16, Vec<&'static Explanation>> {
    let mut by_status: BTreeMap<u16, Vec<&'static Explanation>> = BTreeMap::new();
    for known in route.codes().into_iter().filter_map(explain) {
        by_status.entry(known.status).or_default().push(known);
    }
    by_status
}

/// The guide for agents.
fn llms() -> String {
    let mut text = GUIDE.to_owned();
    text.push_str("\n## Routes\n\n");
    for route in ROUTES {
        let permission = if route.permission.is_empty() { "no key" } else { route.permission };
        let _ = writeln!(text, "### {} {} ({permission})\n\n{}.", route.method, route.path, route.summary);
        for parameter in route.parameters {
            let need = if parameter.is_required { "required" } else { "optional" };
            let _ = writeln!(text, "- query `{}` ({need}): {} `{}`", parameter.name, parameter.about, parameter.schema);
        }
        if !route.request.is_empty() {
            let _ = writeln!(text, "- body: {}", route.request);
        }
        if !route.answer.is_empty() {
            let _ = writeln!(text, "- {}: {}", route.status, route.answer);
        }
        if !route.own_codes.is_empty() {
            let _ = writeln!(text, "- own codes: {}", route.own_codes.join(", "));
        }
        text.push('\n');
    }
    text.push_str("## Shapes (JSON Schema)\n\n");
    let schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap_or_default();
    for (name, schema) in &schemas {
        let _ = writeln!(text, "- {name}: `{schema}`");
    }
    text.push_str("\n## Error codes\n\n");
    for known in EXPLANATIONS {
        let kind = match (known.is_transient, known.arises) {
            (_, false) => ", never answered here",
            (true, true) => ", transient",
            (false, true) => "",
        };
        let _ = writeln!(text, "- {} {}{kind}: {} Cure: {}", known.status, known.code, known.cause, known.cure);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every `$ref` of a document.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn everything_that_is_referred_to_is_there() {
        let document = openapi();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 30, "{found:?}");
        for reference in &found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        // And nothing is described that nobody refers to.
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(found.contains(&format!("#/components/schemas/{name}")), "{name}");
        }
    }

    #[test]
    fn every_code_is_documented() {
        let document = openapi();
        let mut told = BTreeSet::new();
        for path in document["paths"].as_object().unwrap().values() {
            for response in
                path.as_object().unwrap().values().flat_map(|one| one["responses"].as_object().unwrap().values())
            {
                told.extend(
                    response["x-codes"].as_array().into_iter().flatten().map(|code| code.as_str().unwrap().to_owned()),
                );
            }
        }
        // No route has these: they are about paths and methods there are none of.
        told.extend(["NOT_FOUND", "METHOD_NOT_ALLOWED"].map(str::to_owned));
        let arising: BTreeSet<String> =
            EXPLANATIONS.iter().filter(|known| known.arises).map(|known| known.code.to_owned()).collect();
        assert_eq!(told, arising);
        for route in ROUTES {
            for code in route.codes() {
                assert!(explain(code).is_some(), "{code}");
            }
        }
        assert_eq!(document["x-error-codes"].as_array().unwrap().len(), EXPLANATIONS.len());
    }

    #[test]
    fn the_guide_names_every_route_and_code() {
        let text = llms();
        for route in ROUTES {
            assert!(text.contains(&format!("{} {}", route.method, route.path)), "{}", route.template());
        }
        for known in EXPLANATIONS {
            assert!(text.contains(known.code), "{}", known.code);
        }
    }
}
