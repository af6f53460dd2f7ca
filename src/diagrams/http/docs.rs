//! The description that the contract names, in short: the same routes as in `/openapi.json`, and examples that work.

use quintet_platform::service::describe::document;
use quintet_platform::service::{self, Answer, Code, Dialect as _, Endpoints, Route, any_json};
use serde_json::{Map, Value, json};

use super::dialect::Diagrams;
use super::limits::limits;

pub(super) const DOCS: Route = Route::get("get_docs", "/api/docs")
    .summary("This interface as JSON")
    .successes(&[any_json(200).about("Title, version, limits, endpoints, examples")]);

/// `GET /api/docs`
pub(super) fn get_docs(endpoints: Endpoints<Diagrams>) -> Answer {
    Answer::value(200, &docs(endpoints))
}

fn docs(endpoints: Endpoints<Diagrams>) -> Value {
    let document = document(endpoints);
    let told: Vec<Value> = service::routes(endpoints).map(|route| endpoint(route, &document)).collect();
    json!({
        "title": Diagrams::INTERFACE.title,
        "version": Diagrams::INTERFACE.version,
        "description": "Draws DOT source as SVG or PNG, as Graphviz's dot would, checks it, and writes it for a text.",
        "authentication": "None by default. Where diagrams.require_key is on: Authorization: Bearer KEY, with the \
            permission diagrams_render, on the endpoints that name it.",
        "limits": limits(),
        "endpoints": told,
        "examples": examples(),
    })
}

/// A member of an object; null where there is none.
fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// A route, from its operation in the document.
fn endpoint(route: &Route, document: &Value) -> Value {
    let operations = member(member(document, "paths"), route.path);
    let operation = member(operations, &route.method.as_str().to_ascii_lowercase());
    let named = member(operation, "parameters").as_array().into_iter().flatten();
    let told = |one: &Value| {
        parameter(
            member(one, "name"),
            member(one, "in"),
            member(one, "schema"),
            member(one, "required"),
            member(one, "description"),
        )
    };
    let mut parameters: Vec<Value> = named.map(told).collect();
    parameters.extend(fields(operation, document));
    let responses = member(operation, "responses").as_object().into_iter().flatten();
    let responses: Map<String, Value> =
        responses.map(|(status, told)| (status.clone(), meaning(status, told))).collect();
    let mut endpoint = Map::from_iter([
        ("method".to_owned(), json!(route.method.as_str())),
        ("path".to_owned(), json!(route.path)),
        ("description".to_owned(), json!(route.summary)),
        ("parameters".to_owned(), json!(parameters)),
        ("responses".to_owned(), json!(responses)),
    ]);
    if !route.permission.is_empty() {
        endpoint.insert("permission".to_owned(), json!(route.permission));
    }
    Value::Object(endpoint)
}

/// The fields of a route's body.
fn fields(operation: &Value, document: &Value) -> Vec<Value> {
    let contents = member(member(operation, "requestBody"), "content").as_object();
    let Some(content) = contents.and_then(|contents| contents.values().next()) else { return Vec::new() };
    let schema = member(content, "schema");
    let reference = member(schema, "$ref").as_str().and_then(|reference| reference.strip_prefix('#'));
    let schema = reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema);
    let required = member(schema, "required").as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let properties = member(schema, "properties").as_object().into_iter().flatten();
    let told = |(name, schema): (&String, &Value)| {
        let is_required = json!(is_required(name));
        parameter(&json!(name), &json!("body"), schema, &is_required, member(schema, "description"))
    };
    properties.map(told).collect()
}

fn parameter(name: &Value, place: &Value, schema: &Value, is_required: &Value, about: &Value) -> Value {
    let told = [
        ("name", name),
        ("in", place),
        ("type", member(schema, "type")),
        ("required", is_required),
        ("description", about),
    ];
    let words = Some(("enum", member(schema, "enum"))).filter(|(_, words)| words.is_array());
    told.into_iter().chain(words).map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// What a status of a route means: what its codes say, or what is described.
fn meaning(status: &str, told: &Value) -> Value {
    let codes = member(told, "x-codes").as_array().into_iter().flatten().filter_map(Value::as_str);
    let known = |code: &str| {
        let is_it = |known: &&Code| known.code == code && known.status.to_string() == status;
        Diagrams::INTERFACE.codes.iter().find(is_it).map(|known| known.title)
    };
    let titles: Vec<&str> = codes.filter_map(known).collect();
    if titles.is_empty() { member(told, "description").clone() } else { json!(titles.join("; or ")) }
}

fn examples() -> Value {
    json!([
        {
            "title": "Draw a diagram",
            "request": {"method": "POST", "path": "/graphs?format=svg", "body": {"dotfile": "digraph { a -> b }"}},
            "answer": {"status": 200, "body": {"url": "http://127.0.0.1:7450/graphs/<sha-256>.svg"}},
        },
        {
            "title": "A source with a mistake",
            "request": {"method": "POST", "path": "/graphs", "body": {"dotfile": "digraph {\n a -> ;\n}"}},
            "answer": {
                "status": 422, "body": {"error": "syntax error in line 2 near ';'", "line": 2, "column": 7},
            },
        },
        {
            "title": "Check a source",
            "request": {"method": "POST", "path": "/validate", "body": {"dotfile": "graph { a -- b }"}},
            "answer": {"status": 200, "body": {"valid": true}},
        },
        {
            "title": "Write DOT for a text",
            "request": {"method": "POST", "path": "/generate", "body": {"prompt": "the states of a door"}},
            "answer": {"status": 200, "body": {"dotfile": "digraph { open -> closed; closed -> open }"}},
        },
        {
            "title": "A picture for a plugin that speaks to Kroki: deflated with zlib, in base64url",
            "request": {"method": "GET", "path": "/graphviz/svg/eNpLyUwvSizIUKhWSFTQtVNIUqgFADrsBaY="},
            "answer": {"status": 200},
        },
        {
            "title": "A link that opens the page with a source",
            "request": {"method": "GET", "path": "/?inline=ZGlncmFwaCB7IGEgLT4gYiB9"},
            "answer": {"status": 200},
        },
    ])
}
