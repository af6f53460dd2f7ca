//! What the service says of itself: `/openapi.json` and `/llms.txt`, made from the route table, the schemas and the
//! table of codes, so that none of them can tell anything else than what is served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::response::Response;
use quintet_platform::http::describe::{self, Interface, Parameter, heading, json_content};
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
    describe::plain_text(LLMS.as_str())
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
    let interface = Interface {
        title: "Ledger",
        version: env!("CARGO_PKG_VERSION"),
        description: "A multi-tenant double-entry ledger. Money is a decimal string, never a JSON number. Branch on \
            error.code; x-error-codes explains every code. /llms.txt is a guide for agents.",
        paths,
        schemas,
        error_codes: explained,
    };
    interface.document()
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = describe::path_parameters(route.path).collect();
    parameters.extend(route.parameters.iter().map(Parameter::openapi));
    if route.is_mutating() {
        parameters.push(describe::parameter(
            "header",
            "Idempotency-Key",
            true,
            json!({"type": "string", "minLength": 1, "maxLength": 255}),
            "Repeating the request with the same key does it once and answers alike, for 30 days.",
        ));
    }
    let mut operation = describe::operation(route.summary, route.permission, parameters, responses(route));
    if !route.request.is_empty() {
        let is_required = route.request != "Nothing";
        let body = json!({"required": is_required, "content": json_content(route.request)});
        operation.insert("requestBody".to_owned(), body);
    }
    Value::Object(operation)
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut responses = Map::new();
    let success = match (route.answer, route.path) {
        ("", "/llms.txt") => {
            json!({"description": "Success", "content": {"text/plain": {"schema": {"type": "string"}}}})
        }
        ("", _) => json!({"description": "Success", "content": {"application/json": {"schema": {"type": "object"}}}}),
        (schema, _) => json!({"description": "Success", "content": json_content(schema)}),
    };
    responses.insert(route.status.to_string(), success);
    if route.path == "/healthz" {
        responses.insert("503".to_owned(), json!({"description": "Not healthy", "content": json_content("Health")}));
    }
    for (status, codes) in codes_by_status(route) {
        let names: Vec<&str> = codes.iter().map(|known| known.code).collect();
        let mut response = json!({"description": names.join(", "), "content": json_content("Error"), "x-codes": names});
        if let (true, Some(members)) = (codes.iter().any(|known| known.is_transient), response.as_object_mut()) {
            members.insert("headers".to_owned(), json!({"Retry-After": {"schema": {"type": "integer"}}}));
        }
        responses.insert(status.to_string(), response);
    }
    responses
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
        text.push_str(&heading(route.method, route.path, route.permission, route.summary));
        text.extend(route.parameters.iter().map(Parameter::line));
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
    text.push_str(&describe::shapes(&serde_json::from_str(SCHEMAS).unwrap_or_default()));
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

    #[test]
    fn everything_that_is_referred_to_is_there_and_nothing_else() {
        assert_eq!(describe::loose_ends(&openapi()), Vec::<String>::new());
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
