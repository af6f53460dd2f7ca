//! Review: how far a translation comes, and what holds it back.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{fresh_key, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";
const STEPS: [&str; 4] = ["review", "reject", "approve", "revoke"];

fn place(key_id: &str, locale: &str) -> String {
    format!("/v1/keys/{key_id}/translations/{locale}")
}

fn step(desk: &Desk, key_id: &str, locale: &str, action: &str) -> crate::support::appliance::Answer {
    desk.post(&format!("{}/transition", place(key_id, locale)), &json!({"action": action}))
}

/// A key whose German translation is in the state, and what it takes to get there; `outdated reviewed` is one whose source
/// has changed since it was reviewed.
fn brought_to(shelf: &Shelf, state: &str) -> String {
    let name = format!("k{}", crate::support::appliance::unique());
    let path = format!("{name}.json");
    let file = |source: &str| shelf.json(&path, &json!({ (name.as_str()): source }));
    file("Save");
    let key_id = shelf.key_id(&name);
    let steps: &[&str] = match state {
        "reviewed" | "outdated reviewed" => &["review"],
        "approved" | "outdated approved" => &["review", "approve"],
        _ => &[],
    };
    if state != "untranslated" {
        shelf.translate(&key_id, "de", &json!({"text": "Sichern"})).expect(201);
    }
    for action in steps {
        step(&shelf.desk, &key_id, "de", action).expect(200);
    }
    if state.starts_with("outdated") {
        file("Store");
    }
    let (told, _) = state.split_once(' ').unwrap_or((state, ""));
    assert_eq!(shelf.translation(&key_id, "de")["state"], told);
    key_id
}

/// Contract, Translation state: every cell of the table, and every one that is not in it.
#[test]
fn every_cell_of_the_table_of_states() {
    let shelf = Shelf::open(shared());
    let table: [(&str, [Option<&str>; 4]); 7] = [
        ("untranslated", [None; 4]),
        ("draft", [Some("reviewed"), None, None, None]),
        ("reviewed", [None, Some("draft"), Some("approved"), None]),
        ("approved", [None, None, None, Some("reviewed")]),
        ("outdated", [None; 4]),
        ("outdated reviewed", [None; 4]),
        ("outdated approved", [None; 4]),
    ];
    for (state, cells) in table {
        for (action, expected) in STEPS.into_iter().zip(cells) {
            let key_id = brought_to(&shelf, state);
            let before = shelf.translation(&key_id, "de");
            let answer = step(&shelf.desk, &key_id, "de", action);
            let Some(expected) = expected else {
                refused(&answer, 409, "invalid_transition");
                assert_eq!(shelf.translation(&key_id, "de"), before, "{state} {action}");
                continue;
            };
            let after = answer.expect(200);
            assert_eq!(after["state"], expected, "{state} {action}");
            // Revision, text and who wrote it stay.
            for member in ["revision", "text", "forms", "origin", "updated_by", "updated_at", "key_id", "locale"] {
                assert_eq!(after[member], before[member], "{state} {action} {member}");
            }
            assert_eq!(shelf.translation(&key_id, "de"), after);
        }
        // What is written is a draft, whatever it was.
        let key_id = brought_to(&shelf, state);
        let revision = shelf.translation(&key_id, "de")["revision"].as_u64().unwrap();
        let written = shelf.translate(&key_id, "de", &json!({"text": "Speichern"}));
        let written = written.expect(if state == "untranslated" { 201 } else { 200 });
        assert_eq!((&written["state"], &written["revision"]), (&json!("draft"), &json!(revision + 1)), "{state}");
    }
}

#[test]
fn a_failed_blocking_check_stops_review_and_approval() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"hello": "Hello {name}", "short": "Hello"}));
    let hello = shelf.key_id("hello");
    shelf.translate(&hello, "de", &json!({"text": "Hallo"})).expect(201);
    let problem = refused(&step(&shelf.desk, &hello, "de", "review"), 422, "qa_failed");
    assert_eq!(problem["detail"], "Q01");
    assert_eq!(problem["checks"].as_array().unwrap().len(), 1, "{problem}");
    assert_eq!(problem["checks"][0]["check"], "Q01");
    assert_eq!(problem["checks"][0]["status"], "fail");
    assert_eq!(shelf.translation(&hello, "de")["state"], "draft");
    let annotations = shelf.desk.get(&format!("/v1/keys/{hello}/annotations/de")).expect(200);
    assert_eq!(annotations["blocking_failed"], json!(["Q01"]));
    assert_eq!(annotations["checks"].as_array().unwrap().len(), 18);
    assert_eq!((&annotations["state"], &annotations["revision"]), (&json!("draft"), &json!(1)));
    shelf.translate(&hello, "de", &json!({"text": "Hallo {name}"})).expect(200);
    step(&shelf.desk, &hello, "de", "review").expect(200);
    // What was reviewed may fail by what has been demanded since.
    let short = shelf.key_id("short");
    shelf.translate(&short, "de", &json!({"text": "Guten Tag"})).expect(201);
    step(&shelf.desk, &short, "de", "review").expect(200);
    let limit = json!({"keys": [{"path": "short", "max_length": 5}]});
    shelf.desk.json("PUT", &shelf.path(&format!("/files/{file_id}/context")), &limit).expect(200);
    let problem = refused(&step(&shelf.desk, &short, "de", "approve"), 422, "qa_failed");
    assert_eq!(problem["detail"], "Q16");
    assert_eq!(shelf.translation(&short, "de")["state"], "reviewed");
    step(&shelf.desk, &short, "de", "reject").expect(200);
}

#[test]
fn transitions_are_judged_in_order() {
    let shelf = Shelf::open(shared());
    let desk = &shelf.desk;
    shelf.json("a.json", &json!({"a": "{x}", "gone": "Gone"}));
    let (key, gone) = (shelf.key_id("a"), shelf.key_id("gone"));
    shelf.translate(&gone, "de", &json!({"text": "Weg"})).expect(201);
    shelf.json("a.json", &json!({"a": "{x}"}));
    let at = |key: &str, locale: &str| format!("{}/transition", place(key, locale));
    let review = json!({"action": "review"});
    let viewer = desk.template(shared(), "viewer", &json!({}));
    let german = desk.template(shared(), "reviewer", &json!({"project_id": shelf.project_id, "locale": "de"}));
    let type_json = [("content-type", "application/json")];
    refused(&desk.send("POST", &at(&key, "de"), &type_json, review.to_string().as_bytes()), 400, "invalid_parameter");
    for (body, code) in [
        (json!([]), "invalid_body"),
        (json!({}), "invalid_field"),
        (json!({"action": "publish"}), "invalid_field"),
        (json!({"action": "review", "revision": 0}), "invalid_field"),
        (json!({"action": 7, "colour": "red"}), "unknown_field"),
    ] {
        refused(&viewer.post(&at(NOBODY, "-"), &body), 400, code);
    }
    refused(&viewer.post(&at(NOBODY, "zh"), &review), 422, "locale_script_required");
    refused(&viewer.post(&at(NOBODY, "de"), &review), 404, "not_found");
    refused(&viewer.post(&at(&key, "de"), &review), 403, "forbidden");
    refused(&german.post(&at(&key, "fr"), &review), 403, "forbidden");
    refused(&german.post(&at(&key, "de"), &json!({"action": "approve"})), 403, "forbidden");
    refused(&german.post(&at(&key, "de"), &review), 409, "invalid_transition");
    refused(&desk.post(&at(&gone, "de"), &json!({"action": "reject", "revision": 9})), 409, "key_obsolete");
    shelf.translate(&key, "de", &json!({"text": "nothing"})).expect(201);
    refused(&desk.post(&at(&key, "de"), &json!({"action": "revoke", "revision": 9})), 409, "revision_mismatch");
    refused(&desk.post(&at(&key, "de"), &json!({"action": "revoke", "revision": 1})), 409, "invalid_transition");
    refused(&german.post(&at(&key, "de"), &review), 422, "qa_failed");
    shelf.translate(&key, "de", &json!({"text": "{x}"})).expect(200);
    let (under, other) = (fresh_key(), json!({"action": "reject"}));
    let first = desk.json_under(&under, "POST", &at(&key, "de"), &review).expect(200);
    assert_eq!(desk.json_under(&under, "POST", &at(&key, "de"), &review).expect(200), first);
    refused(&desk.json_under(&under, "POST", &at(&key, "de"), &other), 422, "idempotency_key_reused");
}

#[test]
fn permissions_of_keys_name_projects_and_locales() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"a": "Save"}));
    let key_id = shelf.key_id("a");
    shelf.translate(&key_id, "de", &json!({"text": "Sichern"})).expect(201);
    shelf.translate(&key_id, "de-AT", &json!({"text": "Sichern"})).expect(201);
    let short_id = text(&shelf.desk.get(&shelf.path("")).expect(200), "short_id");
    let of = |permission: &str| {
        Desk::of(shared(), &shelf.desk.tenant_id, &["--permission", &permission.replace("PROJECT", &short_id)])
    };
    let german = of("p_PROJECT_loc_de_review");
    refused(&step(&german, &key_id, "de-AT", "review"), 403, "forbidden");
    refused(&german.get(&place(&key_id, "de")), 403, "forbidden");
    step(&german, &key_id, "de", "review").expect(200);
    refused(&step(&german, &key_id, "de", "approve"), 403, "forbidden");
    step(&of("p_PROJECT_anyloc_approve"), &key_id, "de", "approve").expect(200);
    step(&of("p_*_loc_de-AT_review"), &key_id, "de-AT", "review").expect(200);
    of("p_PROJECT_read").get(&place(&key_id, "de")).expect(200);
    let me = german.get("/v1/me").expect(200);
    assert_eq!(me["permissions"], json!([format!("p_{short_id}_loc_de_review")]));
    for (permission, problem) in [
        ("p_aaaaaaaaaa_read", "the tenant has no project with the short id \"aaaaaaaaaa\""),
        ("ws_aaaaaaaaaa_admin", "the tenant has no workspace with the short id \"aaaaaaaaaa\""),
        ("p_*_loc_de-at_review", "\"de-at\" is written \"de-AT\""),
        ("p_*_loc_-_review", "\"-\": "),
        ("p_*_publish", "unknown permission \"p_*_publish\""),
    ] {
        let issued = shared().cli(&["key", "issue", "--tenant", &shelf.desk.tenant_id, "--permission", permission]);
        assert!(!issued.status.success(), "{permission}");
        assert!(String::from_utf8_lossy(&issued.stderr).contains(problem), "{permission}: {issued:?}");
    }
}

/// Contract, transition: review and reject want the one permission, approve and revoke the other, for this locale or any.
#[test]
fn each_step_wants_its_permission_for_the_locale_or_for_any() {
    let shelf = Shelf::open(shared());
    let short_id = text(&shelf.desk.get(&shelf.path("")).expect(200), "short_id");
    let whats = [
        "loc_de_review",
        "anyloc_review",
        "loc_de_approve",
        "anyloc_approve",
        // Other locales, and what has nothing to do with it.
        "loc_fr_review",
        "loc_de-AT_review",
        "loc_fr_approve",
        "loc_de-AT_approve",
        "loc_de_translate",
        "anyloc_translate",
        "read",
    ];
    let keys = whats.map(|what| {
        let permission = format!("p_{short_id}_{what}");
        (what, Desk::of(shared(), &shelf.desk.tenant_id, &["--permission", &permission]))
    });
    for (action, from, to, wanted) in [
        ("review", "draft", "reviewed", "review"),
        ("reject", "reviewed", "draft", "review"),
        ("approve", "reviewed", "approved", "approve"),
        ("revoke", "approved", "reviewed", "approve"),
    ] {
        for (what, desk) in &keys {
            let key_id = brought_to(&shelf, from);
            let answer = step(desk, &key_id, "de", action);
            let may = [format!("loc_de_{wanted}"), format!("anyloc_{wanted}")].iter().any(|may| may == what);
            if may {
                assert_eq!(answer.expect(200)["state"], to, "{what} {action}");
            } else {
                refused(&answer, 403, "forbidden");
                assert_eq!(shelf.translation(&key_id, "de")["state"], from, "{what} {action}");
            }
        }
    }
}

/// Every permission of the contract can be given to a key, in one project or workspace and in all, and opens what it says.
#[test]
fn every_permission_is_issued_by_short_ids_and_for_all() {
    let shelf = Shelf::open(shared());
    let (desk, tenant_id) = (&shelf.desk, shelf.desk.tenant_id.as_str());
    let file_id = shelf.json("a.json", &json!({"a": "Save"}));
    let key_id = shelf.key_id("a");
    let project = desk.get(&shelf.path("")).expect(200);
    let workspace_id = text(&project, "workspace_id");
    let workspace = desk.get(&format!("/v1/workspaces/{workspace_id}")).expect(200);
    let (of_project, of_workspace) = (text(&project, "short_id"), text(&workspace, "short_id"));
    // What each opens: a request that does nothing, or nothing that disturbs the others.
    let transition = format!("{}/transition", place(&key_id, "de"));
    let term = json!({"kind": "dnt", "source": "Save"});
    let nothing = Value::Null;
    let asks: [(&str, &str, String, Value); 9] = [
        ("p_P_read", "GET", shelf.path(""), nothing.clone()),
        ("p_P_manage", "PATCH", shelf.path(""), json!({"name": "n"})),
        (
            "p_P_files-write",
            "PUT",
            shelf.path(&format!("/files/{file_id}/context")),
            json!({"keys": [{"path": "a", "max_length": 100}]}),
        ),
        ("p_P_export", "GET", shelf.path(&format!("/files/{file_id}/export")), nothing.clone()),
        ("p_P_glossary-write", "POST", shelf.path("/glossary"), term),
        ("p_P_anyloc_translate", "PUT", place(&key_id, "de"), json!({"text": "Sichern"})),
        ("p_P_anyloc_review", "POST", transition.clone(), json!({"action": "reject"})),
        ("p_P_anyloc_approve", "POST", transition, json!({"action": "revoke"})),
        // Its slug is taken.
        (
            "ws_W_admin",
            "POST",
            "/v1/projects".to_owned(),
            json!({"workspace_id": workspace_id, "slug": project["slug"], "name": "n", "source_locale": "en"}),
        ),
    ];
    let covers = |given: &str, wanted: &str| given == wanted || given.replace("loc_de_", "anyloc_") == wanted;
    let narrower = [
        "org_members-manage",
        "org_audit-read",
        "org_billing-read",
        "p_P_release",
        "p_P_loc_de_translate",
        "p_P_loc_de_review",
        "p_P_loc_de_approve",
    ];
    for given in asks.iter().map(|(given, ..)| *given).chain(narrower) {
        let here = given.replace('P', &of_project).replace('W', &of_workspace);
        for issued in BTreeSet::from([here.clone(), given.replace(['P', 'W'], "*")]) {
            let holder = Desk::of(shared(), tenant_id, &["--permission", &issued]);
            let told = holder.get("/v1/me").expect(200)["permissions"].clone();
            assert_eq!(told, json!([here]), "{issued}");
            for (wanted, method, path, body) in &asks {
                let answer = if body.is_null() { holder.get(path) } else { holder.json(method, path, body) };
                assert_eq!(answer.status != 403, covers(given, wanted), "{issued}: {method} {path}: {answer:?}");
            }
        }
    }
}

/// What approved a translation goes with what it approved (localization, T5).
#[test]
fn a_new_text_and_a_rejection_take_the_approval_away() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "Save"}));
    let key_id = shelf.key_id("a");
    let approval = || {
        let listed = shelf.desk.get(&shelf.path("/translations?locale=de")).expect(200)["translations"][0].clone();
        let entry = shelf.export(&file_id, "?locale=de&metadata=true").json()["entries"][0].clone();
        assert_eq!((&listed["approval"]["approved_at"], &listed["state"]), (&entry["approvedAt"], &entry["status"]));
        assert_eq!(listed["approval"]["approved_by"], entry["approvedBy"]);
        (text(&listed, "state"), listed["approval"].clone())
    };
    let me = text(&shelf.desk.get("/v1/me").expect(200), "principal_id");
    let steps = |actions: &[&str]| {
        for action in actions {
            step(&shelf.desk, &key_id, "de", action).expect(200);
        }
    };
    shelf.translate(&key_id, "de", &json!({"text": "Sichern"})).expect(201);
    for ending in [&[][..], &["revoke"], &["revoke", "reject"]] {
        steps(&["review", "approve"]);
        let (state, approved) = approval();
        assert!(state == "approved" && approved["approved_at"].is_string(), "{approved}");
        let (by, label, reference) =
            (&approved["approved_by"], &approved["approved_by_label"], &approved["approval_ref"]);
        assert_eq!((by, label, reference), (&json!(me), &Value::Null, &Value::Null));
        steps(ending);
        if ending.last() == Some(&"reject") {
            assert_eq!(approval(), ("draft".to_owned(), Value::Null));
        } else if !ending.is_empty() {
            assert_eq!(approval(), ("reviewed".to_owned(), Value::Null));
        }
        shelf.translate(&key_id, "de", &json!({"text": "Speichern"})).expect(200);
        assert_eq!(approval(), ("draft".to_owned(), Value::Null), "{ending:?}");
    }
}

#[test]
fn one_event_and_one_revision_for_each_transition() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "Save"}));
    let key_id = shelf.key_id("a");
    let revision = || {
        let metadata = shelf.export(&file_id, "?locale=de&metadata=true").json();
        (metadata["revision"].as_u64().unwrap(), metadata["entries"][0].clone())
    };
    assert_eq!(revision().0, 1);
    shelf.translate(&key_id, "de", &json!({"text": "Sichern"})).expect(201);
    step(&shelf.desk, &key_id, "de", "review").expect(200);
    let (number, entry) = revision();
    assert_eq!((number, &entry["status"], &entry["approvedAt"]), (3, &json!("reviewed"), &Value::Null));
    step(&shelf.desk, &key_id, "de", "approve").expect(200);
    let (number, entry) = revision();
    assert_eq!((number, &entry["status"]), (4, &json!("approved")));
    let me = shelf.desk.get("/v1/me").expect(200);
    assert_eq!(entry["approvedBy"], me["principal_id"]);
    assert!(entry["approvedAt"].is_string());
    step(&shelf.desk, &key_id, "de", "revoke").expect(200);
    let (number, entry) = revision();
    assert_eq!((number, &entry["approvedBy"], &entry["approvedAt"]), (5, &Value::Null, &Value::Null));
    // What is approved alone is exported where that is asked for.
    assert_eq!(shelf.export(&file_id, "?locale=de&state=approved").json(), json!({"a": "Save"}));
    step(&shelf.desk, &key_id, "de", "approve").expect(200);
    assert_eq!(shelf.export(&file_id, "?locale=de&state=approved").json(), json!({"a": "Sichern"}));
}

#[test]
fn a_text_is_judged_without_being_stored() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"a": "Hello {name}", "n_one": "{count} day", "n_other": "{count} days"}));
    let (key, plural) = (shelf.key_id("a"), shelf.key_id("n"));
    let at = |key: &str, locale: &str| format!("/v1/keys/{key}/check/{locale}");
    let told = shelf.desk.post(&at(&key, "de"), &json!({"text": "Hallo"})).expect(200);
    assert_eq!((&told["state"], &told["revision"]), (&json!("untranslated"), &json!(0)));
    assert_eq!(told["blocking_failed"], json!(["Q01"]));
    assert_eq!(shelf.translation(&key, "de")["state"], "untranslated");
    let forms = json!({"forms": {"one": "ein Tag", "other": "{count} Tage"}});
    let told = shelf.desk.post(&at(&plural, "de"), &forms).expect(200);
    assert_eq!(told["blocking_failed"], json!([]));
    refused(&shelf.desk.post(&at(&plural, "de"), &json!({"text": "x"})), 422, "edit_shape");
    refused(&shelf.desk.post(&at(&key, "de"), &json!({"text": "x\u{0}"})), 422, "value_unrepresentable");
    refused(&shelf.desk.post(&at(&key, "de"), &json!({"text": "x".repeat(65_537)})), 422, "value_too_long");
    refused(&shelf.desk.post(&at(&key, "de"), &json!({})), 400, "invalid_body");
    refused(&shelf.desk.post(&at(NOBODY, "de"), &json!({"text": "x"})), 404, "not_found");
    let nobody = shelf.desk.template(shared(), "org_billing", &json!({}));
    refused(&nobody.post(&at(&key, "de"), &json!({"text": "x"})), 403, "forbidden");
    let own = json!({"project_id": shelf.project_id, "locale": "de"});
    let translator = shelf.desk.template(shared(), "translator", &own);
    translator.post(&at(&key, "de"), &json!({"text": "x"})).expect(200);
    let stored = shelf.desk.get(&format!("/v1/keys/{key}/annotations/de")).expect(200);
    assert_eq!((&stored["checks"], &stored["blocking_failed"]), (&json!([]), &json!([])));
}

#[test]
fn a_translation_is_replaced_only_where_it_is_what_was_read() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"a": "A"}));
    let path = format!("/v1/keys/{}/translations/de", shelf.key_id("a"));
    let read = || shelf.desk.get(&path);
    assert_eq!(read().header("etag"), "\"0\"", "there is none yet");
    let put = |tag: &str, text: &str| {
        let key = fresh_key();
        let headers = [("content-type", "application/json"), ("idempotency-key", &key), ("if-match", tag)];
        shelf.desk.send("PUT", &path, &headers, json!({"text": text}).to_string().as_bytes())
    };
    let first = put("\"0\"", "eins");
    assert_eq!((first.status, first.header("etag")), (201, "\"1\""));
    for stale in ["\"0\"", "\"2\"", "W/\"1\"", "1", "\"0\", \"7\""] {
        let answer = put(stale, "zwei");
        assert_eq!(answer.header("etag"), "\"1\"", "{stale}: the tag of now comes along");
        refused(&answer, 412, "precondition_failed");
    }
    assert_eq!(read().json()["text"], "eins");
    for (tag, text) in [("\"0\", \"1\"", "zwei"), ("*", "drei"), ("\"3\"", "vier")] {
        put(tag, text).expect(200);
    }
    assert_eq!((read().json()["text"].clone(), read().header("etag").to_owned()), (json!("vier"), "\"4\"".to_owned()));
    // Under one key with another condition it is another request.
    let key = fresh_key();
    let under = |tag: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str()), ("if-match", tag)];
        shelf.desk.send("PUT", &path, &headers, br#"{"text": "five"}"#)
    };
    under("\"4\"").expect(200);
    under("\"4\"").expect(200);
    refused(&under("\"5\""), 422, "idempotency_key_reused");
}

#[test]
fn a_key_is_told_with_what_translators_are_told() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "n_one": "one", "n_other": "some"}));
    let context = json!({"keys": [{"path": "a", "class": "legal", "context": "About a", "max_length": 7}]});
    shelf.desk.json("PUT", &shelf.path(&format!("/files/{file_id}/context")), &context).expect(200);
    let (a, n) = (shelf.key_id("a"), shelf.keys().values().find(|key| key["plural"] == true).unwrap()["id"].clone());
    let told = shelf.desk.get(&format!("/v1/keys/{a}")).expect(200);
    let expected = json!({
        "id": a, "file_id": file_id, "path": "a", "plural": false, "source": "A", "forms": null,
        "project_id": shelf.project_id, "obsolete": false, "class": "legal", "context": "About a",
        "min_length": null, "max_length": 7,
    });
    assert_eq!(told, expected);
    let plural = shelf.desk.get(&format!("/v1/keys/{}", n.as_str().unwrap())).expect(200);
    assert_eq!((&plural["forms"], &plural["class"]), (&json!({"one": "one", "other": "some"}), &Value::Null));
    shelf.json("a.json", &json!({"b": "B"}));
    assert_eq!(shelf.desk.get(&format!("/v1/keys/{a}")).expect(200)["obsolete"], true);
    refused(&Desk::open(shared()).get(&format!("/v1/keys/{a}")), 404, "not_found");
    let nobody = shelf.desk.template(shared(), "org_billing", &json!({}));
    refused(&nobody.get(&format!("/v1/keys/{a}")), 403, "forbidden");
}
