//! Localization from outside: workspaces, projects, locales, and what goes for every request.

use serde_json::{Value, json};

use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Setup, fresh_key, shared, unique};

#[test]
fn workspaces_are_made_read_and_listed() {
    let desk = Desk::open(shared());
    let first = desk.workspace();
    assert_eq!(text(&first, "short_id").len(), 10);
    assert_eq!(desk.get(&format!("/v1/workspaces/{}", text(&first, "id"))).expect(200), first);
    let second = desk.workspace();
    assert_ne!(first["short_id"], second["short_id"]);
    let page = desk.get("/v1/workspaces?limit=1").expect(200);
    assert_eq!(page["workspaces"], json!([first]));
    let cursor = text(&page, "next_cursor");
    let page = desk.get(&format!("/v1/workspaces?limit=1&cursor={cursor}")).expect(200);
    assert_eq!(page, json!({"workspaces": [second], "next_cursor": null}));
    assert_eq!(desk.get("/v1/workspaces").expect(200)["workspaces"], json!([first, second]));

    refused(&desk.post("/v1/workspaces", &json!({"slug": first["slug"], "name": "x"})), 409, "conflict");
    // Another tenant may have the slug, and sees nothing of this one.
    let other = Desk::open(shared());
    other.post("/v1/workspaces", &json!({"slug": first["slug"], "name": "x"})).expect(201);
    refused(&other.get(&format!("/v1/workspaces/{}", text(&first, "id"))), 404, "not_found");
    refused(&desk.get("/v1/workspaces/nonsense"), 404, "not_found");
}

#[test]
fn projects_are_made_read_listed_and_changed() {
    let desk = Desk::open(shared());
    let workspace = desk.workspace();
    let body = json!({"workspace_id": workspace["id"], "slug": "site", "name": "Site", "source_locale": "zh-tw"});
    let project = desk.post("/v1/projects", &body).expect(201);
    assert_eq!(project["source_locale"], "zh-Hant-TW", "the content form is stored");
    assert_eq!(project["legal_prefixes"], json!([]));
    let path = format!("/v1/projects/{}", text(&project, "id"));
    assert_eq!(desk.get(&path).expect(200), project);
    refused(&desk.post("/v1/projects", &body), 409, "conflict");
    // A slug is a workspace's own.
    let mut elsewhere = body.clone();
    elsewhere["workspace_id"] = desk.workspace()["id"].clone();
    let second = desk.post("/v1/projects", &elsewhere).expect(201);
    elsewhere["workspace_id"] = project["id"].clone();
    refused(&desk.post("/v1/projects", &elsewhere), 404, "not_found");

    let page = desk.get("/v1/projects?limit=1").expect(200);
    assert_eq!(page["projects"], json!([project]));
    let cursor = text(&page, "next_cursor");
    assert_eq!(desk.get(&format!("/v1/projects?cursor={cursor}")).expect(200)["projects"], json!([second]));
    refused(&desk.get(&format!("/v1/workspaces?cursor={cursor}")), 400, "invalid_parameter");

    let patched = desk.json("PATCH", &path, &json!({"name": "New", "legal_prefixes": ["legal.", "tos."]})).expect(200);
    assert_eq!((&patched["name"], &patched["legal_prefixes"]), (&json!("New"), &json!(["legal.", "tos."])));
    assert_eq!(desk.json("PATCH", &path, &json!({})).expect(200), patched, "what is absent stays");
    assert_eq!(desk.get(&path).expect(200), patched);
    refused(&Desk::open(shared()).json("PATCH", &path, &json!({})), 404, "not_found");
}

#[test]
fn target_locales_are_replaced_under_their_version() {
    let desk = Desk::open(shared());
    let path = format!("/v1/projects/{}/locales", text(&desk.project(), "id"));
    let empty = desk.get(&path);
    assert_eq!(empty.header("etag"), "\"v0\"");
    assert_eq!((&empty.json()["locales"], &empty.json()["version"]), (&json!([]), &json!(0)));
    let wish = json!({"locales": ["zh-tw", "de", "pt-BR"]});
    refused(&desk.json("PUT", &path, &wish), 428, "precondition_required");
    refused(&desk.put_if_match(&path, "*", &wish), 428, "precondition_required");
    for stale in ["\"v1\"", "W/\"v0\"", "\"s0\"", "v0", "\"\""] {
        let answer = desk.put_if_match(&path, stale, &wish);
        refused(&answer, 412, "precondition_failed");
        assert_eq!(answer.header("etag"), "\"v0\"", "the current one");
    }
    let set = desk.put_if_match(&path, "\"v0\"", &wish);
    assert_eq!((set.status, set.header("etag")), (200, "\"v1\""));
    let tags: Vec<Value> = set.json()["locales"].as_array().unwrap().iter().map(|one| one["tag"].clone()).collect();
    assert_eq!(tags, ["de", "pt-BR", "zh-Hant-TW"], "in the order of their identity keys");
    assert_eq!(desk.get(&path).json(), set.json());
    // The first version is gone, the other kind of tag never fits.
    refused(&desk.put_if_match(&path, "\"v0\"", &wish), 412, "precondition_failed");

    let one_twice = json!({"locales": ["zh-Hant", "de", "zh-TW"]});
    refused(&desk.put_if_match(&path, "\"v1\"", &one_twice), 422, "locale_duplicate");
    for (tags, code) in [
        (json!(["de", "-"]), "locale_ill_formed"),
        (json!(["xx"]), "locale_invalid_subtag"),
        (json!(["de-YU"]), "locale_deprecated_no_replacement"),
        (json!(["und"]), "locale_not_translatable"),
        (json!(["zh"]), "locale_script_required"),
    ] {
        refused(&desk.put_if_match(&path, "\"v1\"", &json!({ "locales": tags })), 422, code);
    }
    assert_eq!(desk.get(&path).json(), set.json(), "nothing was changed");

    // A repeat is answered as before, with its entity tag, though its If-Match is stale by then.
    let key = fresh_key();
    let headers = [("content-type", "application/json"), ("if-match", "\"v1\""), ("idempotency-key", &key)];
    let body = json!({"locales": ["fr"]}).to_string();
    let first = desk.send("PUT", &path, &headers, body.as_bytes());
    let again = desk.send("PUT", &path, &headers, body.as_bytes());
    assert_eq!((first.status, again.status), (200, 200), "{again:?}");
    assert_eq!((&first.text, first.header("etag")), (&again.text, again.header("etag")));
    assert_eq!(again.header("idempotent-replayed"), "true");
    // Meant for another state, or for none, it is another request.
    for condition in [&[("if-match", "\"v2\"")][..], &[]] {
        let headers = [&[("content-type", "application/json"), ("idempotency-key", &key)], condition].concat();
        let answer = desk.send("PUT", &path, &headers, body.as_bytes());
        assert!([422, 428].contains(&answer.status), "{answer:?}");
    }
}

#[test]
fn the_source_locale_is_replaced_under_its_version() {
    let desk = Desk::open(shared());
    let path = format!("/v1/projects/{}/source-locale", text(&desk.project(), "id"));
    let first = desk.get(&path);
    assert_eq!(first.header("etag"), "\"s0\"");
    assert_eq!((&first.json()["source_locale"], &first.json()["identity_key"]), (&json!("en"), &json!("en-latn-us")));
    let wish = json!({"source_locale": "de-AT"});
    refused(&desk.json("PUT", &path, &wish), 428, "precondition_required");
    let stale = desk.put_if_match(&path, "\"v0\"", &wish);
    refused(&stale, 412, "precondition_failed");
    assert_eq!(stale.header("etag"), "\"s0\"");
    let set = desk.put_if_match(&path, "\"s0\"", &wish);
    assert_eq!((set.status, set.header("etag")), (200, "\"s1\""));
    assert_eq!(desk.get(&path).json(), set.json());
    refused(&desk.put_if_match(&path, "\"s1\"", &json!({"source_locale": "zh"})), 422, "locale_script_required");
    // Longer than 64 characters only once it is the content form: the script comes in.
    let long = "sr-RS-1606nict-1694acad-1959acad-abl1943-akuapem-alalc97-ao1990";
    assert!(long.len() <= 64);
    refused(&desk.put_if_match(&path, "\"s1\"", &json!({ "source_locale": long })), 422, "locale_too_long");
    let validated = desk.post("/v1/locales/validate", &json!({ "tag": long })).expect(200);
    assert_eq!(validated, json!({"valid": false, "code": "locale_too_long"}));
    let create = json!({"workspace_id": desk.workspace()["id"], "slug": "ab", "name": "n", "source_locale": long});
    refused(&desk.post("/v1/projects", &create), 422, "locale_too_long");
}

#[test]
fn locales_are_listed_and_validated() {
    let desk = Desk::open(shared());
    let list = desk.get("/v1/locales").expect(200);
    assert!(list["locales"].as_array().unwrap().len() > 300, "{list}");
    let arabic = list["locales"].as_array().unwrap().iter().find(|one| one["tag"] == "ar").unwrap();
    assert_eq!(arabic["direction"], "rtl");
    assert_eq!(arabic["cardinal"], json!(["zero", "one", "two", "few", "many", "other"]));
    let validate = |tag: &str| desk.post("/v1/locales/validate", &json!({ "tag": tag })).expect(200);
    let taipei = validate("ZH-cmn-tw");
    assert_eq!(taipei["valid"], true);
    assert_eq!(taipei["canonical"], "zh-TW");
    assert_eq!((&taipei["content_form"], &taipei["identity_key"]), (&json!("zh-Hant-TW"), &json!("zh-hant-tw")));
    assert_eq!(validate("zh"), json!({"valid": false, "code": "locale_script_required"}));
    assert_eq!(validate("x"), json!({"valid": false, "code": "locale_ill_formed"}));
}

#[test]
fn a_core_that_fails_stops_what_needs_it_and_nothing_else() {
    let appliance = Setup::new().rehearsal().start();
    let desk = Desk::open(&appliance);
    let (workspace, project) = (desk.workspace(), desk.project());
    let path = format!("/v1/projects/{}", text(&project, "id"));
    let checks = appliance.cli_json(&["core", "fail", "registry"])["items"].clone();
    assert_eq!(checks.as_array().unwrap().iter().filter(|check| check["ok"] == false).count(), 1);
    let ready = appliance.stranger("localization").get("/readyz").expect(200);
    assert_eq!(ready["checks"].as_array().unwrap().len(), 10);
    assert!(ready["checks"].as_array().unwrap().iter().any(|one| one["name"] == "registry" && one["ok"] == false));
    let create = json!({"workspace_id": workspace["id"], "slug": "abc", "name": "n", "source_locale": "en"});
    for answer in [
        desk.get("/v1/locales"),
        desk.post("/v1/locales/validate", &json!({"tag": "de"})),
        desk.put_if_match(&format!("{path}/locales"), "\"v0\"", &json!({"locales": ["de"]})),
        desk.put_if_match(&format!("{path}/source-locale"), "\"s0\"", &json!({"source_locale": "de"})),
    ] {
        refused(&answer, 503, "language_core_unavailable");
        assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0, "{answer:?}");
    }
    desk.workspace();
    // The contract does not mark it core; what is no locale is refused all the same.
    refused(
        &desk.post(
            "/v1/projects",
            &json!({"source_locale": "und", "slug": "abc", "name": "n", "workspace_id": workspace["id"]}),
        ),
        422,
        "locale_not_translatable",
    );
    desk.post("/v1/projects", &create).expect(201);
    desk.get(&path).expect(200);
    desk.get(&format!("{path}/locales")).expect(200);
    desk.get(&format!("{path}/source-locale")).expect(200);
    desk.json("PATCH", &path, &json!({"name": "n"})).expect(200);
    appliance.cli_json(&["core", "restore", "registry"]);
    desk.get("/v1/locales").expect(200);
    assert!(!appliance.cli(&["core", "fail", "nonsense"]).status.success());
    // A directory in real use cannot be made to fail.
    let refused = shared().cli(&["core", "fail", "registry"]);
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn bodies_that_are_wrong() {
    let desk = Desk::open(shared());
    let path = "/v1/workspaces";
    let raw = |body: &[u8]| desk.send("POST", path, &[("content-type", "application/json")], body);
    for body in [&b"{"[..], b"", b"\xff", b"{\"slug\":\"ab\",\"slug\":\"ab\",\"name\":\"x\"}", b"{}{}"] {
        refused(&raw(body), 400, "malformed_json");
    }
    let twice = refused(&raw(br#"{"secret-name":1,"secret-name":2}"#), 400, "malformed_json");
    assert!(!twice.to_string().contains("secret"), "answers do not repeat what came in: {twice}");
    for body in [&b"[]"[..], b"1", b"null"] {
        refused(&raw(body), 400, "invalid_body");
    }
    let problem = refused(&raw(br#"{"slug":"ab","name":"x","color":"red"}"#), 400, "unknown_field");
    assert_eq!(problem["field"], "color");
    assert!(!problem.to_string().contains("red"), "{problem}");
    let long = "x".repeat(201);
    for (body, field) in [
        (json!({"slug": "ab"}), "name"),
        (json!({"name": "x"}), "slug"),
        (json!({"slug": "A", "name": "x"}), "slug"),
        (json!({"slug": "a", "name": "x"}), "slug"),
        (json!({"slug": "ab", "name": 1}), "name"),
        (json!({"slug": "ab", "name": null}), "name"),
        (json!({"slug": "ab", "name": long}), "name"),
    ] {
        assert_eq!(refused(&desk.post(path, &body), 400, "invalid_field")["field"], field, "{body}");
    }
    // A name has no rule but its length.
    for name in ["", "a\tb\u{0}", &"\u{1f600}".repeat(200)] {
        let slug = format!("w-{}", unique());
        assert_eq!(desk.post(path, &json!({"slug": slug, "name": name})).expect(201)["name"], name);
    }
    refused(&desk.send("POST", path, &[], b"{}"), 415, "unsupported_media_type");
    refused(&desk.send("POST", path, &[("content-type", "text/plain")], b"{}"), 415, "unsupported_media_type");
    let large = vec![b' '; 300 * 1024];
    refused(&raw(&large), 413, "payload_too_large");

    let workspace = desk.workspace();
    let good = json!({"workspace_id": workspace["id"], "slug": "ab", "name": "x", "source_locale": "en"});
    for (member, value) in [
        ("workspace_id", json!("x")),
        ("workspace_id", json!(7)),
        ("slug", json!("-")),
        ("name", json!(long)),
        ("source_locale", json!("e")),
        ("source_locale", json!("e".repeat(65))),
    ] {
        let mut body = good.clone();
        body[member] = value;
        assert_eq!(refused(&desk.post("/v1/projects", &body), 400, "invalid_field")["field"], member, "{body}");
    }
    let project = format!("/v1/projects/{}", text(&desk.project_in(&workspace), "id"));
    for (method, path, body, field) in [
        ("PATCH", project.clone(), json!({"legal_prefixes": [""]}), "legal_prefixes"),
        ("PATCH", project.clone(), json!({"legal_prefixes": vec!["a"; 51]}), "legal_prefixes"),
        ("PATCH", project.clone(), json!({"legal_prefixes": [1]}), "legal_prefixes"),
        ("PATCH", project.clone(), json!({"name": null}), "name"),
        ("PUT", format!("{project}/locales"), json!({"locales": []}), "locales"),
        ("PUT", format!("{project}/locales"), json!({"locales": ["x".repeat(65)]}), "locales"),
        ("PUT", format!("{project}/locales"), json!({"locales": vec!["de"; 101]}), "locales"),
        ("PUT", format!("{project}/source-locale"), json!({"source_locale": ""}), "source_locale"),
        ("POST", "/v1/locales/validate".to_owned(), json!({"tag": ""}), "tag"),
    ] {
        assert_eq!(refused(&desk.json(method, &path, &body), 400, "invalid_field")["field"], field, "{body}");
    }
}

#[test]
fn paths_methods_and_parameters() {
    let desk = Desk::open(shared());
    let stranger = shared().stranger("localization");
    refused(&stranger.get("/v2/nothing"), 404, "not_found");
    let answer = stranger.send("DELETE", "/v1/workspaces", &[], b"");
    refused(&answer, 405, "method_not_allowed");
    let allowed: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
    assert!(allowed.contains(&"GET") && allowed.contains(&"POST"), "{allowed:?}");
    let problem = refused(&desk.get("/v1/workspaces?colour=red&limit=1"), 400, "unknown_parameter");
    assert_eq!(problem["field"], "colour");
    for query in ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "cursor=x", "cursor=%zz"] {
        refused(&desk.get(&format!("/v1/workspaces?{query}")), 400, "invalid_parameter");
    }
    refused(&desk.post("/v1/workspaces?a=b", &json!({"slug": "ab", "name": "x"})), 400, "unknown_parameter");
    for path in ["/healthz", "/readyz", "/openapi.json", "/llms.txt"] {
        let (get, head) = (stranger.get(path), stranger.send("HEAD", path, &[], b""));
        assert_eq!((get.status, head.status), (200, 200), "{path}");
        assert_eq!(head.text, "", "{path}");
        assert_eq!(get.header("content-type"), head.header("content-type"), "{path}");
        assert_eq!(get.header("etag"), head.header("etag"), "{path}");
    }
    let head = desk.send("HEAD", "/v1/workspaces", &[], b"");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}
