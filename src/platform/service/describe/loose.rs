//! What is wrong with a service's tables: each service's tests want this empty.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::codes::codes_of;
use super::guide::guide;
use super::openapi::document;
use super::{Endpoints, all};
use crate::service::dialect::{Dialect, ServiceRefusal};
use crate::service::fault::Fault;
use crate::service::route::Route;

/// Everything that is said of a service and does not fit together: names of routes used twice, segments of paths that are
/// not described, schemas that are referred to and not there or there and not referred to, codes that routes have and the
/// table lacks or the other way round, faults whose code is in no table, routes and codes that the guide leaves out.
#[must_use]
pub fn loose_ends<D: Dialect>(endpoints: Endpoints<D>) -> Vec<String> {
    let routes = all(endpoints);
    let mut loose = Vec::new();
    let mut names = BTreeSet::new();
    for route in &routes {
        if !names.insert(route.name) {
            loose.push(format!("two routes are named {}", route.name));
        }
        if route.successes.is_empty() || route.summary.is_empty() {
            loose.push(format!("{} does not say what it does or answers", route.name));
        }
        loose.extend(segments_that_differ(route));
    }
    loose.extend(loose_schemas(&document(endpoints)));
    loose.extend(loose_codes::<D>(&routes));
    let text = guide(endpoints);
    for route in &routes {
        if !text.contains(&format!("### {} ", route.template())) {
            loose.push(format!("the guide lacks {}", route.template()));
        }
    }
    loose
}

/// A path's braces and the segments that are described must be the same, in the same order.
fn segments_that_differ(route: &Route) -> Option<String> {
    let in_braces = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let described = route.segments.iter().map(|segment| segment.name);
    (!in_braces.eq(described)).then(|| format!("{} describes other segments than its path has", route.name))
}

fn loose_codes<D: Dialect>(routes: &[&'static Route]) -> Vec<String> {
    let known: BTreeSet<(u16, &str)> = D::INTERFACE.codes.iter().map(|code| (code.status, code.code)).collect();
    let mut loose = Vec::new();
    if known.len() != D::INTERFACE.codes.len() {
        loose.push("the table of codes has one twice".to_owned());
    }
    let mut used: BTreeSet<(u16, &str)> =
        routes.iter().flat_map(|route| codes_of::<D>(route)).map(|code| (code.status, code.code)).collect();
    for (name, fault) in Fault::one_of_each() {
        // Where keys are looked up in the transaction alone, none is ever found under way.
        if fault == Fault::KeyInProgress && D::DEMANDS.remembers_refusals {
            continue;
        }
        let verdict = D::Refusal::from(fault).verdict();
        used.insert((verdict.status, verdict.code));
        if !known.contains(&(verdict.status, verdict.code)) {
            loose.push(format!("missing: {} {} of {name}", verdict.status, verdict.code));
        }
    }
    for route in routes {
        let unknown = route.codes.iter().filter(|code| !known.iter().any(|(_, known)| known == *code));
        loose.extend(unknown.map(|code| format!("missing: {code} of {}", route.name)));
    }
    loose.extend(known.difference(&used).map(|(status, code)| format!("unused: {status} {code}")));
    loose
}

fn loose_schemas(document: &Value) -> Vec<String> {
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
    use serde_json::json;

    use super::*;
    use crate::service::route::Segment;
    use crate::service::shape::Shape;

    #[test]
    fn schemas_are_missed_on_both_sides() {
        let document = json!({
            "paths": {"/a": {"$ref": "#/components/schemas/Known"}, "/b": [{"$ref": "#/components/schemas/Unknown"}]},
            "components": {"schemas": {"Known": {}, "Idle": {}}},
        });
        assert_eq!(loose_schemas(&document), ["missing: #/components/schemas/Unknown", "unused: Idle"]);
    }

    #[test]
    fn segments_are_those_of_the_path() {
        const SEGMENTS: &[Segment] = &[Segment::new("id", Shape::Uuid)];
        let path = "/a/{id}";
        assert_eq!(segments_that_differ(&Route::get("a", path).segments(SEGMENTS)), None);
        assert!(segments_that_differ(&Route::get("a", path)).is_some());
        assert!(segments_that_differ(&Route::get("a", "/a").segments(SEGMENTS)).is_some());
    }
}
