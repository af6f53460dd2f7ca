//! Glossary and style from outside: the routes word for word, the order in which a request is judged, pages and filters.

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, fresh_key, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// The glossary and the styles of a project.
struct Terms(Shelf);

impl Terms {
    fn open() -> Terms {
        Terms(Shelf::open(shared()))
    }

    fn at(&self, rest: &str) -> String {
        self.0.path(rest)
    }

    fn post(&self, body: &Value) -> Answer {
        self.0.desk.post(&self.at("/glossary"), body)
    }

    /// Adds an entry; its id.
    fn add(&self, body: &Value) -> String {
        text(&self.post(body).expect(201), "id")
    }

    fn get(&self, term_id: &str) -> Answer {
        self.0.desk.get(&self.at(&format!("/glossary/{term_id}")))
    }

    fn put(&self, term_id: &str, body: &Value) -> Answer {
        self.0.desk.json("PUT", &self.at(&format!("/glossary/{term_id}")), body)
    }

    fn delete(&self, term_id: &str) -> Answer {
        self.0.desk.send("DELETE", &self.at(&format!("/glossary/{term_id}")), &[], b"")
    }

    fn list(&self, query: &str) -> Answer {
        self.0.desk.get(&self.at(&format!("/glossary{query}")))
    }

    fn style(&self, body: &Value) -> Answer {
        self.0.desk.json("PUT", &self.at("/style"), body)
    }

    fn styles(&self) -> Value {
        self.0.desk.get(&self.at("/style")).expect(200)
    }

    /// Another key of the tenant.
    fn seen_by(&self, template: &str) -> Terms {
        let desk = self.0.desk.template(shared(), template, &json!({}));
        Terms(Shelf { desk, project_id: self.0.project_id.clone() })
    }
}

fn term(locale: &str, source: &str, target: &str) -> Value {
    json!({"kind": "term", "locale": locale, "source": source, "target": target})
}

#[test]
fn entries_are_written_read_replaced_and_deleted() {
    let terms = Terms::open();
    let me = terms.0.desk.get("/v1/me").expect(200);
    let made = terms.post(&json!({
        "kind": "term", "locale": "DE-at", "source": "January", "target": "Jänner", "note": "a month\nof the year",
    }));
    let made = made.expect(201);
    let term_id = text(&made, "id");
    let expected = json!({
        "id": term_id, "project_id": terms.0.project_id, "kind": "term", "locale": "de-AT", "source": "January",
        "target": "Jänner", "note": "a month\nof the year", "created_by": me["principal_id"],
        "created_at": made["created_at"], "updated_at": made["created_at"],
    });
    assert_eq!(made, expected);
    assert_eq!(terms.get(&term_id).expect(200), expected);
    // What is left out becomes null; the kind stays.
    let replaced = terms.put(&term_id, &term("de", "January", "Januar")).expect(200);
    for (name, value) in [("locale", json!("de")), ("target", json!("Januar")), ("note", Value::Null)] {
        assert_eq!(replaced[name], value);
    }
    assert_eq!((&replaced["id"], &replaced["created_at"]), (&made["id"], &made["created_at"]));
    for kind in ["dnt", "forbidden"] {
        let problem = refused(&terms.put(&term_id, &json!({"kind": kind, "source": "a"})), 400, "invalid_field");
        assert_eq!(problem["field"], "kind");
    }
    let gone = terms.delete(&term_id).expect(200);
    assert_eq!(gone, replaced);
    refused(&terms.delete(&term_id), 404, "not_found");
    refused(&terms.get(&term_id), 404, "not_found");
    refused(&terms.put(&term_id, &term("de", "a", "b")), 404, "not_found");
    // The other kinds, with what they need and nulls for the rest.
    let kept = terms.post(&json!({"kind": "dnt", "source": "Acme", "target": null, "locale": null})).expect(201);
    assert_eq!((&kept["locale"], &kept["target"], &kept["note"]), (&Value::Null, &Value::Null, &Value::Null));
    let never = terms.post(&json!({"kind": "forbidden", "target": "foo"})).expect(201);
    assert_eq!((&never["locale"], &never["source"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_an_entry_says_is_judged_in_order() {
    let terms = Terms::open();
    let term_id = terms.add(&term("de", "file", "Datei"));
    let other_id = terms.add(&term("de", "file", "Akte"));
    let long = |count: usize| "\u{1f600}".repeat(count);
    for (body, status, code, field) in [
        (json!({"kind": "term", "colour": 1, "source": ""}), 400, "unknown_field", "colour"),
        (json!({"source": "a"}), 400, "invalid_field", "kind"),
        (json!({"kind": "verb"}), 400, "invalid_field", "kind"),
        (json!({"kind": 1}), 400, "invalid_field", "kind"),
        (json!({"kind": "term", "source": ""}), 400, "invalid_field", "source"),
        (json!({"kind": "term", "source": long(201)}), 400, "invalid_field", "source"),
        (json!({"kind": "term", "target": long(201)}), 400, "invalid_field", "target"),
        (json!({"kind": "term", "target": 7}), 400, "invalid_field", "target"),
        (json!({"kind": "term", "locale": ""}), 400, "invalid_field", "locale"),
        (json!({"kind": "term", "locale": "a".repeat(256)}), 400, "invalid_field", "locale"),
        (json!({"kind": "term", "note": long(1001)}), 400, "invalid_field", "note"),
        (json!({"kind": "term", "source": "Geheim", "target": "b"}), 422, "term_shape", "locale"),
        (json!({"kind": "term", "locale": "zh", "source": " Geheim"}), 422, "term_shape", "target"),
        (json!({"kind": "term", "locale": "zh", "source": " Geheim", "target": "b"}), 422, "term_invalid", "source"),
        (
            json!({"kind": "term", "locale": "de", "source": "a", "target": "Ge\u{200B}heim"}),
            422,
            "term_invalid",
            "target",
        ),
        (term("zh", "Geheim", "b"), 422, "locale_script_required", ""),
        (term("Geheim_", "a", "b"), 422, "locale_ill_formed", ""),
        (term("de-Geheim-x", "a", "b"), 422, "locale_ill_formed", ""),
        (term("de-AN", "a", "b"), 422, "locale_deprecated_no_replacement", ""),
        (term("mul", "a", "b"), 422, "locale_not_translatable", ""),
        (term("de-abcde", "a", "b"), 422, "locale_invalid_subtag", ""),
        (term("de-x-abcdefgh-abcdefgh-abcdefgh-abcdefgh-a", "a", "b"), 422, "locale_too_long", ""),
    ] {
        for answer in [terms.post(&body), terms.put(&term_id, &body)] {
            let problem = refused(&answer, status, code);
            assert_eq!(problem["field"].as_str().unwrap_or_default(), field, "{body} {problem}");
            assert!(!answer.text.contains("Geheim"), "an error repeats nothing of what was sent: {}", answer.text);
        }
    }
    // Another kind comes before what it says.
    let other = json!({"kind": "dnt", "source": " a", "locale": "zh"});
    assert_eq!(refused(&terms.put(&term_id, &other), 400, "invalid_field")["field"], "kind");
    refused(&terms.post(&other), 422, "term_invalid");
    // Last, whether another entry says the same.
    refused(&terms.post(&term("DE", "file", "Datei")), 409, "term_exists");
    refused(&terms.put(&term_id, &term("de", "file", "Akte")), 409, "term_exists");
    terms.put(&term_id, &term("de", "file", "Datei")).expect(200);
    terms.put(&other_id, &term("de", "file", "datei")).expect(200);
    terms.post(&term("de", "file", "Akte")).expect(201);
    // The limits are characters.
    terms.post(&json!({"kind": "dnt", "source": long(200), "note": long(1000)})).expect(201);
    assert_eq!(terms.list("").expect(200)["terms"].as_array().unwrap().len(), 4, "nothing else was written");
}

#[test]
fn requests_are_judged_before_what_they_say() {
    let terms = Terms::open();
    let term_id = terms.add(&term("de", "file", "Datei"));
    let (viewer, stranger) = (terms.seen_by("viewer"), Terms::open());
    let bad = json!({"kind": "term", "source": " "});
    let paths = ["/glossary".to_owned(), format!("/glossary/{term_id}"), "/style".to_owned()];
    let style = json!({"locale": "zh", "scope": "legal", "text": "x", "register": "formal"});
    for (method, path, body) in [("POST", &paths[0], &bad), ("PUT", &paths[1], &bad), ("PUT", &paths[2], &style)] {
        let (path, somewhere) = (terms.at(path), format!("/v1/projects/{NOBODY}{path}"));
        let send = |desk: &Desk, path: &str, key: &str, kind: &str, body: &[u8]| {
            desk.send(method, path, &[("content-type", kind), ("idempotency-key", key)], body)
        };
        let desk = &terms.0.desk;
        let (json_type, body) = ("application/json", body.to_string());
        refused(&send(desk, &format!("{path}?x=1"), "", json_type, body.as_bytes()), 400, "unknown_parameter");
        refused(&send(desk, &path, &"k".repeat(201), "text/plain", body.as_bytes()), 400, "invalid_parameter");
        refused(&send(desk, &path, &fresh_key(), "text/plain", &vec![b'x'; 300_000]), 413, "payload_too_large");
        refused(&send(desk, &path, &fresh_key(), "text/plain", body.as_bytes()), 415, "unsupported_media_type");
        refused(&send(desk, &path, &fresh_key(), json_type, b"{"), 400, "malformed_json");
        refused(
            &send(desk, &path, &fresh_key(), json_type, b"{\"kind\": \"dnt\", \"kind\": \"dnt\"}"),
            400,
            "malformed_json",
        );
        refused(&send(desk, &path, &fresh_key(), json_type, b""), 400, "malformed_json");
        refused(&send(desk, &path, &fresh_key(), json_type, b"[]"), 400, "invalid_body");
        refused(&send(&viewer.0.desk, &somewhere, &fresh_key(), json_type, b"{\"x\": 1}"), 400, "unknown_field");
        refused(&send(&viewer.0.desk, &somewhere, &fresh_key(), json_type, body.as_bytes()), 404, "not_found");
        refused(&send(&viewer.0.desk, &path, &fresh_key(), json_type, body.as_bytes()), 403, "forbidden");
        refused(&send(&stranger.0.desk, &path, &fresh_key(), json_type, body.as_bytes()), 404, "not_found");
        assert_eq!(send(desk, &path, &fresh_key(), json_type, body.as_bytes()).status, 422);
        if method == "PUT" {
            let without = desk.send(method, &path, &[("content-type", json_type)], body.as_bytes());
            assert_eq!(refused(&without, 400, "invalid_parameter")["field"], "Idempotency-Key");
        }
    }
    // The entry comes before the permission, and is another project's to another one.
    refused(&viewer.put(NOBODY, &bad), 404, "not_found");
    refused(&viewer.delete(NOBODY), 404, "not_found");
    refused(&viewer.delete(&term_id), 403, "forbidden");
    let beside = Terms(Shelf { desk: Desk::of(shared(), &terms.0.desk.tenant_id, &[]), project_id: String::new() });
    let beside = Terms(Shelf { project_id: text(&beside.0.desk.project(), "id"), ..beside.0 });
    for other in [&stranger, &beside] {
        refused(&other.get(&term_id), 404, "not_found");
        refused(&other.put(&term_id, &term("de", "a", "b")), 404, "not_found");
        refused(&other.delete(&term_id), 404, "not_found");
    }
    for path in &paths {
        refused(&stranger.0.desk.get(&terms.at(path)), 404, "not_found");
        terms.seen_by("viewer").0.desk.get(&terms.at(path)).expect(200);
        refused(&terms.seen_by("org_billing").0.desk.get(&terms.at(path)), 403, "forbidden");
    }
    // Those who may write need not be able to do more.
    let terminologist = terms.seen_by("terminologist");
    terminologist.delete(&term_id).expect(200);
    terminologist.style(&json!({"locale": "*", "scope": "legal", "text": "x"})).expect(200);
}

#[test]
fn the_glossary_is_listed_in_pages_and_by_kind() {
    let terms = Terms::open();
    assert_eq!(terms.list("").expect(200), json!({"terms": [], "next_cursor": null}));
    let mut made = Vec::new();
    for number in 0..7 {
        made.push(terms.add(&json!({"kind": "dnt", "source": format!("w{number}")})));
        made.push(terms.add(&term("de", &format!("w{number}"), "x")));
    }
    let walk = |query: &str| {
        let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
        loop {
            let page = terms.list(&format!("?{query}{cursor}")).expect(200);
            found.extend(page["terms"].as_array().unwrap().iter().map(|term| text(term, "id")));
            pages += 1;
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return (found, pages),
            }
        }
    };
    assert_eq!(walk("limit=5"), (made.clone(), 3));
    assert_eq!(walk("limit=500"), (made.clone(), 1));
    let by_kind = |rest: usize| made.iter().skip(rest).step_by(2).cloned().collect::<Vec<_>>();
    assert_eq!(walk("kind=dnt&limit=3"), (by_kind(0), 3));
    assert_eq!(walk("kind=term&limit=7"), (by_kind(1), 1));
    assert_eq!(walk("kind=forbidden"), (Vec::new(), 1));
    assert_eq!(terms.list("?limit=1").expect(200)["terms"].as_array().unwrap().len(), 1);
    let cursor = text(&terms.list("?kind=dnt&limit=1").expect(200), "next_cursor");
    for (query, code) in [
        ("?kind=verb", "invalid_parameter"),
        ("?kind=", "invalid_parameter"),
        ("?limit=0", "invalid_parameter"),
        ("?limit=501", "invalid_parameter"),
        ("?cursor=x", "invalid_parameter"),
        ("?colour=red", "unknown_parameter"),
        ("?kind=dnt&kind=dnt", "invalid_parameter"),
    ] {
        refused(&terms.list(query), 400, code);
    }
    // A cursor goes on with its own list alone.
    for query in ["", "kind=term&"] {
        refused(&terms.list(&format!("?{query}cursor={cursor}")), 400, "invalid_parameter");
    }
    refused(&Terms::open().list(&format!("?kind=dnt&cursor={cursor}")), 400, "invalid_parameter");
    // What is deleted meanwhile is no hindrance.
    terms.delete(&made[0]).expect(200);
    let rest = terms.list(&format!("?kind=dnt&cursor={cursor}")).expect(200);
    assert_eq!(text(&rest["terms"][0], "id"), made[2]);
}

#[test]
fn styles_are_set_read_and_deleted() {
    let terms = Terms::open();
    assert_eq!(terms.styles(), json!({"styles": []}));
    let set = |locale: &str, scope: &str, text: &str, register: Value| {
        terms.style(&json!({"locale": locale, "scope": scope, "text": text, "register": register}))
    };
    set("DE", "default", "Sie", json!("formal")).expect(200);
    set("de", "legal", "Recht", Value::Null).expect(200);
    set("*", "legal", "Law", Value::Null).expect(200);
    terms.style(&json!({"locale": "*", "scope": "default", "text": "\u{1f600}".repeat(8000)})).expect(200);
    let last = set("ar", "default", "\u{0}\n", Value::Null).expect(200);
    assert_eq!(last, terms.styles());
    let told: Vec<Value> = last["styles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|style| {
            assert!(style["updated_at"].is_string() && style.as_object().unwrap().len() == 5, "{style}");
            json!([style["locale"], style["scope"], style["register"]])
        })
        .collect();
    let expected = json!([
        ["*", "default", null],
        ["*", "legal", null],
        ["ar", "default", null],
        ["de", "default", "formal"],
        ["de", "legal", null],
    ]);
    assert_eq!(json!(told), expected);
    // Text and register are replaced; an empty text deletes, also what is not there.
    let replaced = terms.style(&json!({"locale": "de", "scope": "default", "text": "du"})).expect(200);
    assert_eq!((&replaced["styles"][3]["text"], &replaced["styles"][3]["register"]), (&json!("du"), &Value::Null));
    assert_eq!(set("de", "default", "", Value::Null).expect(200)["styles"].as_array().unwrap().len(), 4);
    assert_eq!(set("fr", "legal", "", Value::Null).expect(200)["styles"].as_array().unwrap().len(), 4);
    for (body, status, code, field) in [
        (json!({"locale": "de", "scope": "default", "text": 1, "colour": 1}), 400, "unknown_field", "colour"),
        (json!({"scope": "default", "text": "x"}), 400, "invalid_field", "locale"),
        (json!({"locale": "", "scope": "default", "text": "x"}), 400, "invalid_field", "locale"),
        (json!({"locale": "a".repeat(256), "scope": "default", "text": "x"}), 400, "invalid_field", "locale"),
        (json!({"locale": null, "scope": "default", "text": "x"}), 400, "invalid_field", "locale"),
        (json!({"locale": "de", "text": "x"}), 400, "invalid_field", "scope"),
        (json!({"locale": "de", "scope": "all", "text": "x"}), 400, "invalid_field", "scope"),
        (json!({"locale": "de", "scope": "default"}), 400, "invalid_field", "text"),
        (json!({"locale": "de", "scope": "default", "text": null}), 400, "invalid_field", "text"),
        (json!({"locale": "de", "scope": "default", "text": "x".repeat(8001)}), 400, "invalid_field", "text"),
        (json!({"locale": "de", "scope": "default", "text": "x", "register": "du"}), 400, "invalid_field", "register"),
        (
            json!({"locale": "zh", "scope": "legal", "text": "x", "register": "formal"}),
            422,
            "locale_script_required",
            "",
        ),
        (json!({"locale": "d_e", "scope": "default", "text": "x"}), 422, "locale_ill_formed", ""),
        (
            json!({"locale": "de-x-abcdefgh-abcdefgh-abcdefgh-abcdefgh-a", "scope": "default", "text": "x"}),
            422,
            "locale_too_long",
            "",
        ),
        (
            json!({"locale": "de", "scope": "legal", "text": "x", "register": "formal"}),
            422,
            "register_scope",
            "register",
        ),
        (
            json!({"locale": "de", "scope": "default", "text": "", "register": "formal"}),
            422,
            "register_scope",
            "register",
        ),
    ] {
        let problem = refused(&terms.style(&body), status, code);
        assert_eq!(problem["field"].as_str().unwrap_or_default(), field, "{body} {problem}");
    }
    // A register goes with any locale, and with all.
    set("*", "default", "All", json!("formal")).expect(200);
    set("ja", "default", "Japanese", json!("formal")).expect(200);
}

/// Every answer has all of them, and is remembered.
#[test]
fn a_project_has_room_for_so_many_styles() {
    let terms = Terms::open();
    let (key, text) = (fresh_key(), "\u{1f600}".repeat(8000));
    let body = |number: usize| json!({"locale": format!("de-x-n{number}"), "scope": "default", "text": text});
    for number in 0..64 {
        terms.style(&body(number)).expect(200);
    }
    let put = || terms.0.desk.json_under(&key, "PUT", &terms.at("/style"), &body(64));
    let all = put().expect(200);
    assert_eq!(all["styles"].as_array().unwrap().len(), 65);
    refused(&terms.style(&body(65)), 409, "conflict");
    assert!(put().expect(200) == all && terms.styles() == all);
    terms.style(&json!({"locale": "de-x-n0", "scope": "default", "text": ""})).expect(200);
    terms.style(&body(65)).expect(200);
}

#[test]
fn repeats_are_answered_alike_and_change_nothing() {
    let terms = Terms::open();
    let desk = &terms.0.desk;
    let (create, put, delete) = (fresh_key(), fresh_key(), fresh_key());
    let body = term("de", "file", "Datei");
    let made = desk.json_under(&create, "POST", &terms.at("/glossary"), &body).expect(201);
    assert_eq!(desk.json_under(&create, "POST", &terms.at("/glossary"), &body).expect(201), made);
    refused(
        &desk.json_under(&create, "POST", &terms.at("/glossary"), &term("de", "a", "b")),
        422,
        "idempotency_key_reused",
    );
    let place = terms.at(&format!("/glossary/{}", text(&made, "id")));
    let body = term("fr", "file", "fichier");
    let replaced = desk.json_under(&put, "PUT", &place, &body).expect(200);
    let gone = |key: &str| desk.send("DELETE", &place, &[("idempotency-key", key)], b"");
    assert_eq!(gone(&delete).expect(200), replaced);
    assert_eq!(gone(&delete).expect(200), replaced);
    assert_eq!(desk.json_under(&put, "PUT", &place, &body).expect(200), replaced, "the answer of then");
    refused(&gone(&fresh_key()), 404, "not_found");
    let key = fresh_key();
    let style = json!({"locale": "de", "scope": "default", "text": "x"});
    let set = desk.json_under(&key, "PUT", &terms.at("/style"), &style).expect(200);
    terms.style(&json!({"locale": "de", "scope": "default", "text": "y"})).expect(200);
    assert_eq!(desk.json_under(&key, "PUT", &terms.at("/style"), &style).expect(200), set);
    assert_eq!(terms.styles()["styles"][0]["text"], "y");
}
