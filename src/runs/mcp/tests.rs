//! The table of tools against the routes that are served.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::http::ENDPOINTS as SERVED;

/// The tools whose routes are not served yet. A tool leaves this list with the first build that serves its routes.
const NOT_YET: &[&str] = &[];

fn listed() -> Vec<Value> {
    serde_json::from_str(SERVER.listed(SERVED)).unwrap()
}

/// A path whose varying parts have lost their names.
fn shape(template: &str) -> String {
    template.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect::<Vec<_>>().join("/")
}

#[test]
fn all_25_tools_are_there_but_those_whose_routes_are_not() {
    let names: BTreeSet<&str> = tools::TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!((names.len(), tools::TOOLS.len()), (25, 25));
    let served: BTreeSet<String> = crate::served().map(|route| shape(&route.template())).collect();
    for tool in tools::TOOLS {
        let has_routes = tool.routes().all(|(_, template)| served.contains(&shape(template)));
        assert_eq!(has_routes, !NOT_YET.contains(&tool.name), "{}: is it NOT_YET?", tool.name);
        assert_eq!(has_routes, tool.is_served(SERVED), "{}: the names in braces differ from the route's", tool.name);
    }
    let listed: BTreeSet<String> = listed().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let expected = names.iter().copied().filter(|name| !NOT_YET.contains(name)).map(str::to_owned).collect();
    assert_eq!(listed, expected);
    assert!(NOT_YET.iter().all(|name| names.contains(name)));
}

#[test]
fn a_tool_takes_what_its_routes_take_and_nothing_else() {
    let listed = listed();
    let shapes = quintet_platform::service::describe::schemas::<Runs>();
    for tool in tools::TOOLS.iter().filter(|tool| !NOT_YET.contains(&tool.name)) {
        let told = listed.iter().find(|told| told["name"] == tool.name).unwrap();
        let schema = &told["inputSchema"];
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let properties: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut taken = BTreeSet::new();
        for (choice, template) in tool.routes() {
            let route = crate::served().find(|route| route.template() == template).unwrap();
            let segments = route.segments.iter().map(|segment| segment.name);
            let parameters = route.parameters.iter().map(|parameter| parameter.name);
            let members = match route.body {
                Content::Json(name) | Content::OptionalJson(name) => {
                    shapes[name]["properties"].as_object().unwrap().clone()
                }
                _ => serde_json::Map::new(),
            };
            let own: Vec<&str> = segments.chain(parameters).chain(members.keys().map(String::as_str)).collect();
            let different: BTreeSet<&str> = own.iter().copied().collect();
            assert_eq!(different.len(), own.len(), "{}: two things of its route have one name", tool.name);
            assert!(own.iter().all(|name| properties.contains(name) || *name == "follow"), "{} {choice}", tool.name);
            taken.extend(own.into_iter().filter(|name| *name != "follow").map(str::to_owned));
        }
        let chooser = properties.iter().filter(|name| !taken.contains(**name)).collect::<Vec<_>>();
        assert_eq!(chooser.len(), usize::from(tool.routes().count() > 1), "{}: {chooser:?}", tool.name);
    }
}

#[test]
fn every_tool_is_described_so_that_a_model_can_choose() {
    for tool in listed() {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["description"].as_str().unwrap().len() > 20, "{name}");
        assert!(!tool.to_string().contains("$ref"), "{name}: not every client follows references");
        let hint = |hint: &str| tool["annotations"][hint].as_bool().unwrap();
        let only_reads = name.starts_with("get_") || name.starts_with("list_");
        assert_eq!(hint("readOnlyHint"), only_reads, "{name}");
        assert!(hint("idempotentHint") || !only_reads, "{name}");
        assert!(!(hint("destructiveHint") && only_reads), "{name}");
        for property in tool["inputSchema"]["required"].as_array().unwrap() {
            assert!(tool["inputSchema"]["properties"][property.as_str().unwrap()].is_object(), "{name}: {property}");
        }
    }
    let needs =
        |name: &str| listed().into_iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"]["required"].clone();
    assert_eq!(needs("submit_run"), serde_json::json!(["image"]));
    assert_eq!(needs("control_run"), serde_json::json!(["action", "track_id"]));
    assert_eq!(needs("get_quotas"), serde_json::json!([]));
}
