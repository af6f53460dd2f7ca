//! How an interface describes itself: the parts of `/openapi.json` (OpenAPI 3.1) and `/llms.txt` that are the same for
//! every service. Which routes there are, and what they can answer, each service says itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use super::problem::Kind;

/// A parameter of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be given.
    pub is_required: bool,
    /// Its JSON schema.
    pub schema: &'static str,
    /// What it means.
    pub about: &'static str,
}

impl Parameter {
    /// It, as OpenAPI has it.
    #[must_use]
    pub fn openapi(&self) -> Value {
        let schema: Value = serde_json::from_str(self.schema).unwrap_or_default();
        parameter("query", self.name, self.is_required, schema, self.about)
    }

    /// It, as a line of the guide.
    #[must_use]
    pub fn line(&self) -> String {
        let need = if self.is_required { "required" } else { "optional" };
        format!("- query `{}` ({need}): {} `{}`\n", self.name, self.about, self.schema)
    }
}

/// A parameter that stands in a `query`, `header` or `path`.
#[must_use]
pub fn parameter(place: &str, name: &str, is_required: bool, schema: Value, about: &str) -> Value {
    json!({"name": name, "in": place, "required": is_required, "schema": schema, "description": about})
}

/// The parameters of a path: `/v1/accounts/{id}` has one.
pub fn path_parameters(path: &str) -> impl Iterator<Item = Value> + '_ {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
}

/// The content of a JSON body of one of the document's schemas.
#[must_use]
pub fn json_content(schema: &str) -> Value {
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

/// An operation; to one with a permission belong a key and `x-permission`.
#[must_use]
pub fn operation(
    summary: &str,
    permission: &str,
    parameters: Vec<Value>,
    responses: Map<String, Value>,
) -> Map<String, Value> {
    let mut operation = Map::new();
    operation.insert("summary".to_owned(), json!(summary));
    operation.insert("parameters".to_owned(), json!(parameters));
    operation.insert("responses".to_owned(), Value::Object(responses));
    if !permission.is_empty() {
        operation.insert("security".to_owned(), json!([{"key": []}]));
        operation.insert("x-permission".to_owned(), json!(permission));
    }
    operation
}

/// An interface as a whole.
pub struct Interface<'a> {
    /// What it is called.
    pub title: &'a str,
    /// Its version.
    pub version: &'a str,
    /// What it is, in a few sentences.
    pub description: &'a str,
    /// Operations by path and lower-case method.
    pub paths: BTreeMap<&'a str, Map<String, Value>>,
    /// The shapes of bodies and answers by name.
    pub schemas: Map<String, Value>,
    /// Every error code, explained; empty where errors have no codes.
    pub error_codes: Vec<Value>,
}

impl Interface<'_> {
    /// The document.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {"title": self.title, "version": self.version, "description": self.description},
            "paths": self.paths,
            "components": {
                "schemas": self.schemas,
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "rak_..."}},
            },
            "x-error-codes": self.error_codes,
        })
    }
}

/// Every error code of a service, as the document lists them.
#[must_use]
pub fn error_codes(kinds: &[Kind]) -> Vec<Value> {
    let told =
        |kind: &Kind| json!({"status": kind.status, "code": kind.code, "type": kind.type_uri, "title": kind.title});
    kinds.iter().map(told).collect()
}

/// Every error code of a service, as the guide lists them.
#[must_use]
pub fn code_lines(kinds: &[Kind]) -> String {
    kinds.iter().fold("\n## Error codes\n\n".to_owned(), |mut text, kind| {
        let _ = writeln!(text, "- {} {}: {}.", kind.status, kind.code, kind.title);
        text
    })
}

/// The schema of a problem: the members that all have, and those that only this service's have (an object of schemas).
#[must_use]
pub fn problem_schema(kinds: &[Kind], own_members: Value) -> Value {
    let codes: BTreeSet<&str> = kinds.iter().map(|kind| kind.code).collect();
    let mut members = json!({
        "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
        "code": {"enum": codes}, "detail": {"type": "string"}, "field": {"type": "string"},
    });
    if let (Some(members), Value::Object(own)) = (members.as_object_mut(), own_members) {
        members.extend(own);
    }
    json!({"type": "object", "required": ["type", "title", "status", "code"], "properties": members})
}

/// The error answers of a route that can have these codes, by status. A code that comes with two statuses is told under
/// both.
pub fn problem_responses(kinds: &[Kind], codes: &[&str]) -> impl Iterator<Item = (String, Value)> {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for kind in kinds.iter().filter(|kind| codes.contains(&kind.code)) {
        by_status.entry(kind.status).or_default().push(kind.code);
    }
    by_status.into_iter().map(|(status, codes)| {
        let content = json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
        (status.to_string(), json!({"description": codes.join(", "), "content": content, "x-codes": codes}))
    })
}

/// What is wrong with the codes that routes are said to answer with: those that the table lacks, and those of the table
/// that no route has. (`method_not_allowed` is of no route: it is about paths that do not take a method.) Each service's
/// tests want it empty.
#[must_use]
pub fn loose_codes(kinds: &[Kind], of_routes: &BTreeSet<&str>) -> Vec<String> {
    let known: BTreeSet<&str> = kinds.iter().map(|kind| kind.code).collect();
    let missing = of_routes.difference(&known).map(|code| format!("missing: {code}"));
    let unused = known.difference(of_routes).filter(|code| **code != "method_not_allowed");
    missing.chain(unused.map(|code| format!("unused: {code}"))).collect()
}

/// What the guide says first of a route.
#[must_use]
pub fn heading(method: &str, path: &str, permission: &str, summary: &str) -> String {
    let permission = if permission.is_empty() { "no key" } else { permission };
    format!("### {method} {path} ({permission})\n\n{summary}.\n")
}

/// What the guide says of the shapes of bodies and answers.
#[must_use]
pub fn shapes(schemas: &Map<String, Value>) -> String {
    schemas.iter().fold("## Shapes (JSON Schema)\n\n".to_owned(), |mut text, (name, schema)| {
        let _ = writeln!(text, "- {name}: `{schema}`");
        text
    })
}

/// The answer of `/llms.txt`.
#[must_use]
pub fn plain_text(text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// What is wrong with the references of a document: schemas that are referred to and not there, and schemas that are
/// there and nobody refers to. Each service's tests want it empty.
#[must_use]
pub fn loose_ends(document: &Value) -> Vec<String> {
    let mut referred = BTreeSet::new();
    references(document, &mut referred);
    let is_there =
        |reference: &str| reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer)).is_some();
    let mut loose: Vec<String> =
        referred.iter().filter(|one| !is_there(one)).map(|one| format!("missing: {one}")).collect();
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    for name in schemas.into_iter().flat_map(Map::keys) {
        if !referred.contains(format!("#/components/schemas/{name}").as_str()) {
            loose.push(format!("unused: {name}"));
        }
    }
    loose
}

fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_path_are_its_parameters() {
        let names: Vec<Value> = path_parameters("/v1/a/{id}/b/{key_id}").map(|one| one["name"].clone()).collect();
        assert_eq!(names, ["id", "key_id"]);
        assert_eq!(path_parameters("/healthz").count(), 0);
    }

    #[test]
    fn loose_ends_are_found_on_both_sides() {
        let mut interface = Interface {
            title: "T",
            version: "1",
            description: "",
            paths: BTreeMap::new(),
            schemas: serde_json::from_value(json!({"Known": {}, "Idle": {}})).unwrap(),
            error_codes: Vec::new(),
        };
        let responses = |schema: &str| Map::from_iter([("200".to_owned(), json!({"content": json_content(schema)}))]);
        let get = |schema| {
            Map::from_iter([("get".to_owned(), Value::Object(operation("", "p", Vec::new(), responses(schema))))])
        };
        interface.paths.insert("/a", get("Known"));
        interface.paths.insert("/b", get("Unknown"));
        let loose = loose_ends(&interface.document());
        assert_eq!(loose, ["missing: #/components/schemas/Unknown", "unused: Idle"]);
    }
}
