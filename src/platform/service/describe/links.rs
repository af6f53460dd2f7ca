//! Links: from a route that makes something to those that take it, so that whoever reads the description can follow an
//! id to where it is of use.

use serde_json::{Map, Value, json};

use crate::service::route::{Made, Route, Segment};

/// The links of a route's success: one to each route whose path takes what it makes. What else such a path takes is taken
/// over from the request, where that has it, too. A path that takes more than both have is not linked to, unless that is
/// the caller's to choose: nothing that any route makes, such as a locale.
pub(super) fn links_of(route: &Route, routes: &[&'static Route]) -> Map<String, Value> {
    let is_made = |noun: &str| routes.iter().any(|other| made_by(other, noun).is_some());
    let mut links = Map::new();
    for other in routes {
        let made: Vec<Made> = other.segments.iter().filter_map(|segment| made_by(route, segment.noun)).collect();
        if made.is_empty() || other.segments.iter().all(|segment| own(route, segment).is_some()) {
            continue;
        }
        let is_known = |segment: &&Segment| {
            made_by(route, segment.noun).is_some() || own(route, segment).is_some() || !is_made(segment.noun)
        };
        if !other.segments.iter().all(|segment| is_known(&segment)) {
            continue;
        }
        let parameters: Map<String, Value> = other
            .segments
            .iter()
            .filter_map(|segment| Some((segment.name.to_owned(), source(route, segment)?)))
            .collect();
        let mut link = json!({"operationId": other.name, "parameters": parameters});
        if let (Some(address), Some(link)) = (made.iter().find(|made| made.is_address), link.as_object_mut()) {
            let about = format!("{} is the last segment of the address at /{}", address.noun, address.pointer);
            link.insert("description".to_owned(), json!(about));
        }
        links.insert(other.name.to_owned(), link);
    }
    links
}

/// What a route makes of that kind.
fn made_by(route: &Route, noun: &str) -> Option<Made> {
    route.makes.iter().flatten().copied().find(|made| made.noun == noun)
}

/// The segment of a route's own path that names the same.
fn own<'r>(route: &'r Route, segment: &Segment) -> Option<&'r Segment> {
    route.segments.iter().find(|own| own.noun == segment.noun)
}

/// Where the value of a segment is taken from; `None`: no expression says it.
fn source(route: &Route, segment: &Segment) -> Option<Value> {
    match made_by(route, segment.noun) {
        Some(made) if made.is_address => None,
        Some(made) => Some(json!(format!("$response.body#/{}", made.pointer))),
        None => Some(json!(format!("$request.path.{}", own(route, segment)?.name))),
    }
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

    const LOCALE: Segment = Segment::new("locale", Shape::ANY);
    const VERSION: Segment = Segment::new("version", Shape::ANY);
    const PICTURE: Segment = Segment::new("picture", Shape::ANY);
    static LIST: Route = Route::get("list", "/accounts/{id}/keys").segments(&[ACCOUNT]).makes("key_id", "keys/0/id");
    static NAME: Route = Route::get("name", "/keys/{key_id}/names/{locale}").segments(&[KEY, LOCALE]);
    static LOAD: Route = Route::post("load", "/files").makes("key_id", "id").makes("version", "version");
    static READ: Route = Route::get("read", "/files/{key_id}/{version}").segments(&[KEY, VERSION]);
    static DRAW: Route = Route::post("draw", "/pictures").makes_at("picture", "url");
    static SHOW: Route = Route::get("show", "/pictures/{picture}").segments(&[PICTURE]);

    #[test]
    fn lists_several_things_and_addresses_lead_on() {
        let routes = [&LIST, &NAME, &LOAD, &READ, &DRAW, &SHOW];
        let links = links_of(&LIST, &routes);
        // Nothing makes a locale: it is chosen. A version is made, and not known here.
        assert_eq!(links["name"]["parameters"], json!({"key_id": "$response.body#/keys/0/id"}));
        assert!(!links.contains_key("read"));
        let both = json!({"key_id": "$response.body#/id", "version": "$response.body#/version"});
        assert_eq!(links_of(&LOAD, &routes)["read"]["parameters"], both);
        let show = &links_of(&DRAW, &routes)["show"];
        assert_eq!(show["parameters"], json!({}));
        assert_eq!(show["description"], "picture is the last segment of the address at /url");
    }
}
