//! Links: from a route that makes something to those that take it, so that whoever reads the description can follow an
//! id to where it is of use.

use serde_json::{Map, Value, json};

use crate::service::route::Route;

/// The links of a route's success: one to each route whose path takes what it makes. What else such a path takes is taken
/// over from the request, where that has it, too; a path that takes more than both have is not linked to.
pub(super) fn links_of(route: &Route, routes: &[&'static Route]) -> Map<String, Value> {
    let Some((noun, member)) = route.makes else { return Map::new() };
    let mut links = Map::new();
    for other in routes {
        if !other.segments.iter().any(|segment| segment.noun == noun) {
            continue;
        }
        let parameters: Option<Map<String, Value>> = other
            .segments
            .iter()
            .map(|segment| {
                let source = if segment.noun == noun {
                    format!("$response.body#/{member}")
                } else {
                    let own = route.segments.iter().find(|own| own.noun == segment.noun)?;
                    format!("$request.path.{}", own.name)
                };
                Some((segment.name.to_owned(), json!(source)))
            })
            .collect();
        if let Some(parameters) = parameters {
            links.insert(other.name.to_owned(), json!({"operationId": other.name, "parameters": parameters}));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::route::Segment;
    use crate::service::shape::Shape;

    const ACCOUNT: Segment = Segment::new("account_id", Shape::Uuid).written("id");
    const KEY: Segment = Segment::new("key_id", Shape::ANY);
    static MAKE: Route = Route::post("make", "/accounts").makes("account_id", "account_id");
    static GET: Route = Route::get("get", "/accounts/{id}").segments(&[ACCOUNT]);
    static ISSUE: Route = Route::post("issue", "/accounts/{id}/keys").segments(&[ACCOUNT]).makes("key_id", "key");
    static REVOKE: Route = Route::delete("revoke", "/accounts/{id}/keys/{key_id}").segments(&[ACCOUNT, KEY]);

    #[test]
    fn what_is_made_leads_to_what_takes_it() {
        let routes = [&MAKE, &GET, &ISSUE, &REVOKE];
        let links = links_of(&MAKE, &routes);
        let names: Vec<&str> = links.keys().map(String::as_str).collect();
        assert_eq!(names, ["get", "issue"], "a key is needed to revoke one");
        assert_eq!(links["get"]["parameters"], json!({"id": "$response.body#/account_id"}));
        let links = links_of(&ISSUE, &routes);
        assert_eq!(links["revoke"]["parameters"], json!({"id": "$request.path.id", "key_id": "$response.body#/key"}));
        assert!(links_of(&GET, &routes).is_empty());
    }
}
