//! What the service says of itself: `/openapi.json` and `/llms.txt`, made from the route table, the schemas and the
//! table of codes, so that none of them can tell anything else than what is served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::response::Response;
use quintet_platform::http::describe::{self, Interface, Parameter, heading, json_content};
use quintet_platform::http::etag::ETag;
use quintet_platform::secrets::digest;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::routes::{KeyRule, ROUTES, Route};
use crate::access::TEMPLATES;
use crate::refusal::KINDS;

/// The shapes of bodies and answers.
const SCHEMAS: &str = include_str!("schemas.json");
/// What an agent needs to know besides the lists.
const GUIDE: &str = include_str!("guide.md");

static OPENAPI: LazyLock<Vec<u8>> = LazyLock::new(|| serde_json::to_vec(&openapi()).unwrap_or_default());
static LLMS: LazyLock<String> = LazyLock::new(llms);

pub(super) async fn get_openapi() -> Response {
    let etag = ETag::strong(&data_encoding::HEXLOWER.encode(&digest(&OPENAPI)));
    Answer::json(200, OPENAPI.clone()).tagged(etag).into_response()
}

pub(super) async fn get_llms() -> Response {
    describe::plain_text(LLMS.as_str())
}

/// The description in OpenAPI 3.1.
pub(super) fn openapi() -> Value {
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let operations = paths.entry(route.path).or_default();
        operations.insert(route.method.to_ascii_lowercase(), operation(route));
        if route.method == "GET" && !route.path.starts_with("/v1/") {
            let description = json!({"description": "As GET, without a body"});
            operations.insert(
                "head".to_owned(),
                json!({"summary": route.summary, "responses": {route.status.to_string(): description}}),
            );
        }
    }
    let interface = Interface {
        title: "Localization",
        version: "0.1.0-p1",
        description: "String files that come back byte for byte, and their translations. Branch on the code of a \
            problem; x-error-codes lists every one. /llms.txt is a guide for agents.",
        paths,
        schemas: schemas(),
        error_codes: describe::error_codes(KINDS),
    };
    interface.document()
}

fn schemas() -> Map<String, Value> {
    let mut schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let own = json!({"line": {"type": "integer"}, "column": {"type": "integer"}});
    schemas.insert("Problem".to_owned(), describe::problem_schema(KINDS, own));
    schemas
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = describe::path_parameters(route.path).collect();
    parameters.extend(route.parameters.iter().map(Parameter::openapi));
    let mut header = |name: &str, is_required: bool, schema: Value, about: &str| {
        parameters.push(describe::parameter("header", name, is_required, schema, about));
    };
    if !route.permission.is_empty() {
        header("L10n-Tenant", true, json!({"type": "string", "format": "uuid"}), "The tenant of the key.");
    }
    if route.key != KeyRule::Ignored {
        header(
            "Idempotency-Key",
            route.key == KeyRule::Required,
            json!({"type": "string", "minLength": 1, "maxLength": 200}),
            "Repeating a request that succeeded does it once and answers alike, for 30 days.",
        );
    }
    if route.own_codes.contains(&"precondition_required") {
        header("If-Match", true, json!({"type": "string"}), "The entity tag last read.");
    }
    let mut operation = describe::operation(route.summary, route.permission, parameters, responses(route));
    if route.is_core {
        operation.insert("x-core".to_owned(), json!(true));
    }
    if !route.request.is_empty() {
        let body = json!({"required": true, "content": content(route.request)});
        operation.insert("requestBody".to_owned(), body);
    }
    Value::Object(operation)
}

fn content(schema: &str) -> Value {
    match schema {
        "File" => json!({
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": {"type": "object"}},
        }),
        _ => json_content(schema),
    }
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut responses = Map::new();
    let text = |kind: &str| json!({"description": "Success", "content": {kind: {"schema": {"type": "string"}}}});
    let success = match (route.answer, route.path) {
        ("", "/llms.txt") => text("text/plain"),
        ("Manifest", _) => text("text/tab-separated-values"),
        ("Exported", _) => exported(),
        ("", _) => json!({"description": "Success", "content": {"application/json": {"schema": {"type": "object"}}}}),
        (schema, _) => json!({"description": "Success", "content": content(schema)}),
    };
    responses.insert(route.status.to_string(), success);
    if route.path == "/readyz" {
        responses.insert("503".to_owned(), json!({"description": "Not ready", "content": content("Ready")}));
    }
    if route.answer == "Translation" && route.method == "PUT" {
        responses.insert("201".to_owned(), json!({"description": "The first", "content": content("Translation")}));
    }
    responses.extend(describe::problem_responses(KINDS, &route.codes()));
    responses
}

/// A file, or what is told of its keys.
fn exported() -> Value {
    let file = json!({"schema": {"type": "string"}});
    json!({"description": "The file; or with metadata, what is told of its keys", "content": {
        "application/json": {"schema": {"anyOf": [
            {"$ref": "#/components/schemas/ExportMetadata"}, {"type": "object", "description": "The file itself"},
        ]}},
        "application/yaml": file, "text/x-java-properties": file,
    }})
}

/// The guide for agents.
fn llms() -> String {
    let mut text = GUIDE.to_owned();
    text.push_str("\n## Routes\n\n");
    for route in ROUTES {
        text.push_str(&heading(route.method, route.path, route.permission, route.summary));
        text.extend(route.parameters.iter().map(Parameter::line));
        match route.key {
            KeyRule::Ignored => {}
            KeyRule::Optional => text.push_str("- Idempotency-Key: optional\n"),
            KeyRule::Required => text.push_str("- Idempotency-Key: required\n"),
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
    text.push_str(&describe::shapes(&schemas()));
    text.push_str("\n## Templates of grants\n\n");
    for template in TEMPLATES {
        let mut confers: Vec<&str> = template.org.to_vec();
        if template.is_workspace_admin {
            confers.push("ws_<w>_admin");
        }
        confers.extend(template.actions.iter().map(|action| action.name()));
        let _ = writeln!(text, "- {}: {}", template.name, confers.join(", "));
    }
    text.push_str(&describe::code_lines(KINDS));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_referred_to_is_there_and_nothing_else() {
        assert_eq!(describe::loose_ends(&openapi()), Vec::<String>::new());
    }

    #[test]
    fn every_code_of_a_route_is_known_and_every_code_is_some_routes() {
        let of_routes = ROUTES.iter().flat_map(Route::codes).collect();
        assert_eq!(describe::loose_codes(KINDS, &of_routes), Vec::<String>::new());
    }

    #[test]
    fn the_guide_names_every_route_template_and_code() {
        let text = llms();
        for route in ROUTES {
            assert!(text.contains(&format!("### {} {} ", route.method, route.path)), "{}", route.template);
        }
        for kind in KINDS {
            assert!(text.contains(&format!("- {} {}: ", kind.status, kind.code)), "{}", kind.code);
        }
        for template in TEMPLATES {
            assert!(text.contains(&format!("- {}: ", template.name)), "{}", template.name);
        }
    }
}
