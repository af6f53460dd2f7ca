//! What the service says of itself: `/openapi.json` and `/llms.txt`, made from the route table, the schemas and the
//! table of codes, so that none of them can tell anything else than what is served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::response::Response;
use quintet_platform::http::describe::{self, Interface, heading, json_content, operation, path_parameters, shapes};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::routes::{ROUTES, Route};
use crate::refusal::KINDS;

/// The version of the contract.
const VERSION: &str = "2.0.0";
/// The shapes of bodies and answers.
const SCHEMAS: &str = include_str!("schemas.json");
/// What an agent needs to know besides the lists.
const GUIDE: &str = include_str!("guide.md");

static OPENAPI: LazyLock<Value> = LazyLock::new(openapi);
static LLMS: LazyLock<String> = LazyLock::new(llms);

pub(super) async fn get_openapi() -> Response {
    Answer::json(200, &OPENAPI).into_response()
}

pub(super) async fn get_llms() -> Response {
    describe::plain_text(LLMS.as_str())
}

fn openapi() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let mut parameters: Vec<Value> = path_parameters(route.path).collect();
        parameters.extend(route.parameters.iter().map(describe::Parameter::openapi));
        let mut told = operation(route.summary, route.permission, parameters, responses(route));
        if !route.request.is_empty() {
            told.insert("requestBody".to_owned(), json!({"required": true, "content": json_content(route.request)}));
        }
        paths.entry(route.path).or_default().insert(route.method.to_ascii_lowercase(), Value::Object(told));
    }
    let interface = Interface {
        title: "Container runs",
        version: VERSION,
        description: "Runs a container image with a command, with limits, and tells what became of it. Branch on the \
            code of a problem; x-error-codes lists every one. /llms.txt is a guide for agents.",
        paths,
        schemas: schemas(),
        error_codes: describe::error_codes(KINDS),
    };
    interface.document()
}

fn schemas() -> Map<String, Value> {
    let mut schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let own = json!({
        "supported": {"type": "array", "items": {"type": "string"}}, "request_id": {"type": "string"},
        "line": {"type": "integer"}, "column": {"type": "integer"}, "found": {"type": "string"},
        "expected": {"type": "string"},
    });
    schemas.insert("Problem".to_owned(), describe::problem_schema(KINDS, own));
    schemas
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut responses = Map::new();
    let success = match (route.answer, route.status) {
        ("", 204) => json!({"description": "Done"}),
        ("", _) if route.path.ends_with(".txt") => {
            json!({"description": "Success", "content": {"text/plain": {"schema": {"type": "string"}}}})
        }
        ("", _) => json!({"description": "Success", "content": {"application/json": {"schema": {"type": "object"}}}}),
        ("Logs", _) => {
            let mut content = json_content("Logs");
            if let Some(content) = content.as_object_mut() {
                content.insert("text/event-stream".to_owned(), json!({"schema": {"type": "string"}}));
            }
            json!({"description": "Lines; with follow, server-sent events", "content": content})
        }
        (schema, _) => json!({"description": "Success", "content": json_content(schema)}),
    };
    responses.insert(route.status.to_string(), success);
    responses.extend(describe::problem_responses(KINDS, &route.codes()));
    responses
}

/// The guide for agents.
fn llms() -> String {
    let mut text = GUIDE.to_owned();
    text.push_str("\n## Routes\n\n");
    for route in ROUTES {
        text.push_str(&heading(route.method, route.path, route.permission, route.summary));
        text.push('\n');
        for parameter in route.parameters {
            text.push_str(&parameter.line());
        }
        if !route.request.is_empty() {
            let _ = writeln!(text, "- body: {}", route.request);
        }
        let _ = match route.answer {
            "" => writeln!(text, "- {}", route.status),
            answer => writeln!(text, "- {}: {answer}", route.status),
        };
        if !route.own_codes.is_empty() {
            let _ = writeln!(text, "- own codes: {}", route.own_codes.join(", "));
        }
        text.push('\n');
    }
    text.push_str(&shapes(&schemas()));
    text.push_str(&describe::code_lines(KINDS));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_referred_to_in_vain() {
        assert_eq!(describe::loose_ends(&openapi()), Vec::<String>::new());
    }

    #[test]
    fn every_code_of_a_route_is_known_and_every_code_is_some_routes() {
        let of_routes = ROUTES.iter().flat_map(Route::codes).collect();
        assert_eq!(describe::loose_codes(KINDS, &of_routes), Vec::<String>::new());
    }

    #[test]
    fn the_guide_names_every_route_and_code() {
        let text = llms();
        for route in ROUTES {
            assert!(text.contains(&format!("### {} {} ", route.method, route.path)), "{}", route.path);
        }
        for kind in KINDS {
            assert!(text.contains(&format!("- {} {}: ", kind.status, kind.code)), "{}", kind.code);
        }
    }
}
