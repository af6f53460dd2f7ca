//! What the service says of itself: `/api/docs`, `/openapi.json` and `/llms.txt`, made from the route table, so that
//! none of them can tell anything else than what is served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::extract::Request;
use axum::response::Response;
use quintet_platform::http::describe::{self, Interface, heading};
use serde_json::{Map, Value, json};

use super::answer::{json_answer, nosniff, refuse};
use super::request;
use super::routes::{HEALTH, HTML, Parameter, Place, ROUTES, Route};
use quintet_drawing::limits::Limits;

/// The version of the interface, from the contract.
const VERSION: &str = "1.0.0";
const TITLE: &str = "Diagrams";
/// What an agent needs to know besides the lists.
const GUIDE: &str = include_str!("guide.md");

static DOCS: LazyLock<Value> = LazyLock::new(docs);
static DESCRIPTION: LazyLock<Value> = LazyLock::new(openapi);
static LLMS: LazyLock<String> = LazyLock::new(llms);

pub(super) async fn get_docs(request: Request) -> Response {
    plain(&request, || json_answer(200, &DOCS))
}

pub(super) async fn get_openapi(request: Request) -> Response {
    plain(&request, || json_answer(200, &DESCRIPTION))
}

pub(super) async fn get_llms(request: Request) -> Response {
    plain(&request, || nosniff(describe::plain_text(LLMS.as_str())))
}

/// An answer to a request that has no parameters.
fn plain(request: &Request, answer: impl FnOnce() -> Response) -> Response {
    match request::query(request.uri()).and_then(|query| query.finish().map_err(request::parameter)) {
        Ok(()) => answer(),
        Err(refusal) => refuse(&refusal),
    }
}

fn place(place: Place) -> &'static str {
    match place {
        Place::Query => "query",
        Place::Path => "path",
        Place::Body => "body",
    }
}

/// The description that the contract names.
fn docs() -> Value {
    let endpoints: Vec<Value> = ROUTES.iter().map(endpoint).collect();
    json!({
        "title": TITLE,
        "version": VERSION,
        "description": "Draws DOT source as SVG or PNG, as Graphviz's dot would, checks it, and writes it for a text.",
        "authentication": "None by default. Where diagrams.require_key is on: Authorization: Bearer KEY, with the \
            permission diagrams_render, on the endpoints that name it.",
        "limits": limits(),
        "endpoints": endpoints,
        "examples": [
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
                "title": "A link that opens the page with a source",
                "request": {"method": "GET", "path": "/?inline=ZGlncmFwaCB7IGEgLT4gYiB9"},
                "answer": {"status": 200},
            },
        ],
    })
}

fn limits() -> Value {
    let limits = Limits::default();
    json!({
        "source_bytes": limits.source_bytes,
        "nodes": limits.nodes,
        "edges": limits.edges,
        "cluster_depth": limits.cluster_depth,
        "brace_depth": limits.brace_depth,
        "label_bytes": limits.label_bytes,
        "canvas_megapixels": limits.canvas_megapixels,
        "output_bytes": limits.output_bytes,
        "prompt_bytes": crate::generate::PROMPT_BYTES_MAX,
    })
}

fn endpoint(route: &Route) -> Value {
    let parameters: Vec<Value> = route
        .parameters
        .iter()
        .map(|parameter| {
            let mut member = json!({
                "name": parameter.name, "in": place(parameter.place), "type": "string",
                "required": parameter.is_required, "description": parameter.about,
            });
            if let (false, Some(members)) = (parameter.one_of.is_empty(), member.as_object_mut()) {
                members.insert("enum".to_owned(), json!(parameter.one_of));
            }
            member
        })
        .collect();
    let answers: Map<String, Value> =
        route.answers.iter().map(|(status, about)| (status.to_string(), json!(about))).collect();
    let mut endpoint = json!({
        "method": route.method, "path": route.path, "description": route.summary, "parameters": parameters,
        "responses": answers,
    });
    if let (false, Some(members)) = (route.permission.is_empty(), endpoint.as_object_mut()) {
        members.insert("permission".to_owned(), json!(route.permission));
    }
    endpoint
}

/// The description in OpenAPI 3.1.
fn openapi() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        paths.entry(route.path).or_default().insert(route.method.to_ascii_lowercase(), operation(route));
    }
    let error = json!({
        "type": "object", "required": ["error"], "additionalProperties": false,
        "properties": {
            "error": {"type": "string"},
            "line": {"type": "integer", "minimum": 1},
            "column": {"type": "integer", "minimum": 1},
        },
    });
    let interface = Interface {
        title: TITLE,
        version: VERSION,
        description: "Draws DOT source as SVG or PNG. /api/docs tells the same in short, /llms.txt for agents.",
        paths,
        schemas: Map::from_iter([("Error".to_owned(), error)]),
        error_codes: Vec::new(),
    };
    interface.document()
}

fn operation(route: &Route) -> Value {
    let schema = |parameter: &Parameter| match parameter.one_of {
        [] => json!({"type": "string"}),
        words => json!({"type": "string", "enum": words}),
    };
    let (fields, others): (Vec<&Parameter>, Vec<&Parameter>) =
        route.parameters.iter().partition(|parameter| parameter.place == Place::Body);
    let parameters: Vec<Value> = others
        .into_iter()
        .map(|parameter| {
            let place = place(parameter.place);
            describe::parameter(place, parameter.name, parameter.is_required, schema(parameter), parameter.about)
        })
        .collect();
    let mut responses = Map::new();
    for (status, about) in route.answers {
        let mut response = Map::from_iter([("description".to_owned(), json!(about))]);
        let content = content(route, *status);
        if !content.is_empty() {
            response.insert("content".to_owned(), content.into());
        }
        responses.insert(status.to_string(), response.into());
    }
    let mut operation = describe::operation(route.summary, route.permission, parameters, responses);
    if !route.permission.is_empty() {
        // The empty requirement: no key is needed unless diagrams.require_key is on.
        operation.insert("security".to_owned(), json!([{}, {"key": []}]));
    }
    if !fields.is_empty() {
        let properties: Map<String, Value> =
            fields.iter().map(|field| (field.name.to_owned(), schema(field))).collect();
        let required: Vec<&str> = fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
        let media_type =
            if route.media_type == HTML { "application/x-www-form-urlencoded" } else { "application/json" };
        let body = json!({
            "type": "object", "required": required, "additionalProperties": false, "properties": properties,
        });
        operation
            .insert("requestBody".to_owned(), json!({"required": true, "content": {media_type: {"schema": body}}}));
    }
    Value::Object(operation)
}

/// What an answer may be written as: media types with their schemas.
fn content(route: &Route, status: u16) -> Map<String, Value> {
    let own = || (route.media_type.to_owned(), json!({"schema": {}}));
    let error = || ("application/json".to_owned(), json!({"schema": {"$ref": "#/components/schemas/Error"}}));
    let is_page = route.media_type == HTML;
    match status {
        304 => Map::new(),
        200 => Map::from_iter([own()]),
        503 if route.path == HEALTH.path => Map::from_iter([own()]),
        // What is wrong with a link stands on the page; a parameter that the page does not know is an error as anywhere.
        400 if is_page && route.method == "GET" => Map::from_iter([own(), error()]),
        _ if is_page => Map::from_iter([own()]),
        _ => Map::from_iter([error()]),
    }
}

/// The guide for agents.
fn llms() -> String {
    let mut text = GUIDE.to_owned();
    text.push_str("\n## Routes\n\n");
    for route in ROUTES {
        text.push_str(&heading(route.method, route.path, route.permission, route.summary));
        for parameter in route.parameters {
            let need = if parameter.is_required { "required" } else { "optional" };
            let _ = writeln!(text, "- {} `{}` ({need}): {}", place(parameter.place), parameter.name, parameter.about);
        }
        for (status, about) in route.answers {
            let _ = writeln!(text, "- {status}: {about}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "## Limits\n\n{}", limits());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_told_everywhere() {
        let (docs, openapi, llms) = (docs(), openapi(), llms());
        assert_eq!((&docs["title"], &docs["version"]), (&json!("Diagrams"), &json!("1.0.0")));
        assert!(docs["examples"].as_array().unwrap().len() >= 4);
        let told: Vec<(&str, &str)> = docs["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|endpoint| (endpoint["method"].as_str().unwrap(), endpoint["path"].as_str().unwrap()))
            .collect();
        for (route, told) in ROUTES.iter().zip(&told) {
            assert_eq!(*told, (route.method, route.path));
            let operation = &openapi["paths"][route.path][route.method.to_ascii_lowercase()];
            for (status, _) in route.answers {
                assert!(operation["responses"][status.to_string()].is_object(), "{} {status}", route.path);
            }
            assert!(llms.contains(&format!("### {} {} ", route.method, route.path)), "{}", route.path);
        }
        assert_eq!(told.len(), ROUTES.len());
    }
}
