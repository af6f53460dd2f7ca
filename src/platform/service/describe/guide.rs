//! `/llms.txt`: all that an agent needs to use a service.

use std::fmt::Write as _;

use super::openapi::schemas;
use crate::service::dialect::Dialect;
use crate::service::endpoint::{Endpoints, routes};
use crate::service::route::{Content, KeyRule, Parameter, Route};

/// The guide.
#[must_use]
pub fn guide<D: Dialect>(endpoints: Endpoints<D>) -> String {
    let mut text = D::INTERFACE.guide.to_owned();
    text.push_str("\n## Routes\n\n");
    for route in routes(endpoints) {
        write_route(&mut text, route);
    }
    text.push_str("## Shapes (JSON Schema)\n\n");
    for (name, schema) in schemas::<D>() {
        let _ = writeln!(text, "- {name}: `{schema}`");
    }
    text.push_str(&D::guide_appendix());
    if !D::INTERFACE.codes.is_empty() {
        text.push_str("\n## Error codes\n\n");
        for code in D::INTERFACE.codes {
            let _ = writeln!(text, "- {}", D::code_line(code.status, code.code, code.title));
        }
    }
    text
}

fn write_route(text: &mut String, route: &Route) {
    let permission = match (route.wants_key(), route.permission) {
        (false, _) => "no key",
        (true, "") => "any key",
        (true, permission) => permission,
    };
    let _ = writeln!(text, "### {} {} ({permission})\n\n{}.\n", route.method.as_str(), route.path, route.summary);
    for parameter in route.parameters {
        write_parameter(text, parameter);
    }
    match route.key {
        KeyRule::Ignored => {}
        KeyRule::Optional => text.push_str("- Idempotency-Key: optional\n"),
        KeyRule::Required => text.push_str("- Idempotency-Key: required\n"),
    }
    if let Some(body) = told(route.body) {
        let _ = writeln!(text, "- body: {body}");
    }
    for success in route.successes {
        let about = if success.about.is_empty() { String::new() } else { format!(" ({})", success.about) };
        let _ = match told(success.content) {
            Some(body) => writeln!(text, "- {}: {body}{about}", success.status),
            None => writeln!(text, "- {}{about}", success.status),
        };
    }
    if !route.codes.is_empty() {
        let _ = writeln!(text, "- own codes: {}", route.codes.join(", "));
    }
    text.push('\n');
}

fn write_parameter(text: &mut String, parameter: &Parameter) {
    let need = match (parameter.is_required, parameter.is_repeatable) {
        (true, false) => "required",
        (false, false) => "optional",
        (true, true) => "required, may be repeated",
        (false, true) => "optional, may be repeated",
    };
    let schema = parameter.shape.schema();
    let _ = writeln!(text, "- query `{}` ({need}): {} `{schema}`", parameter.name, parameter.about);
}

fn told(content: Content) -> Option<String> {
    match content {
        Content::Nothing => None,
        Content::Json(schema) => Some(schema.to_owned()),
        Content::OptionalJson(schema) => Some(format!("{schema}, or none")),
        Content::Media(media) => Some(media.iter().map(|(media_type, _)| *media_type).collect::<Vec<_>>().join(", ")),
    }
}
