//! String files from outside: uploads, versions, manifests, keys, key context, translations, exports.

use std::collections::BTreeMap;

use quintet_platform::secrets::digest;
use serde_json::{Value, json};

use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared};

/// A project, and files in it.
pub struct Shelf {
    pub desk: Desk,
    pub project_id: String,
}

impl Shelf {
    pub fn open(appliance: &Appliance) -> Shelf {
        let desk = Desk::open(appliance);
        let project_id = text(&desk.project(), "id");
        Shelf { desk, project_id }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/v1/projects/{}{rest}", self.project_id)
    }

    pub fn upload(&self, query: &str, bytes: &[u8]) -> Answer {
        self.upload_under(&fresh_key(), query, bytes)
    }

    pub fn upload_under(&self, key: &str, query: &str, bytes: &[u8]) -> Answer {
        let headers = [("content-type", "application/octet-stream"), ("idempotency-key", key)];
        self.desk.send("POST", &self.path(&format!("/files?{query}")), &headers, bytes)
    }

    /// Uploads a JSON file; its id.
    pub fn json(&self, path: &str, content: &Value) -> String {
        text(&self.upload(&format!("kind=json&path={path}"), content.to_string().as_bytes()).expect(201), "file_id")
    }

    pub fn export(&self, file_id: &str, query: &str) -> Answer {
        self.desk.get(&self.path(&format!("/files/{file_id}/export{query}")))
    }

    /// The active keys by their paths.
    pub fn keys(&self) -> BTreeMap<String, Value> {
        let (mut keys, mut from) = (BTreeMap::new(), String::new());
        loop {
            let page = self.desk.get(&self.path(&format!("/keys?limit=500{from}"))).expect(200);
            keys.extend(page["keys"].as_array().unwrap().iter().map(|key| (text(key, "path"), key.clone())));
            match page["next_cursor"].as_str() {
                Some(cursor) => from = format!("&cursor={cursor}"),
                None => return keys,
            }
        }
    }

    pub fn key_id(&self, path: &str) -> String {
        text(&self.keys()[path], "id")
    }

    pub fn translate(&self, key_id: &str, locale: &str, body: &Value) -> Answer {
        self.desk.json("PUT", &format!("/v1/keys/{key_id}/translations/{locale}"), body)
    }

    pub fn translation(&self, key_id: &str, locale: &str) -> Value {
        self.desk.get(&format!("/v1/keys/{key_id}/translations/{locale}")).expect(200)
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&digest(bytes))
}

#[test]
fn an_upload_comes_back_byte_for_byte() {
    let shelf = Shelf::open(shared());
    let odd = "\u{feff}{\r\n\t\"a\" : \"\\u0041\\/\",  \"n\": 1e3, \"l\":[\"x\" , {\"y\":\"z\"}],\"a.b\":null }\r\n";
    let imported = shelf.upload("kind=json&path=odd/en.json", odd.as_bytes()).expect(201);
    assert_eq!(imported["version"], 1);
    assert_eq!((&imported["sha256"], &imported["size"]), (&json!(hex(odd.as_bytes())), &json!(odd.len())));
    assert_eq!((&imported["keys"], &imported["format"]), (&json!(3), &json!("json")));
    assert!(imported.get("profile").is_none() && imported.get("root_locale").is_none(), "{imported}");
    let file_id = text(&imported, "file_id");
    let exported = shelf.export(&file_id, "");
    assert_eq!((exported.status, exported.header("etag")), (200, "\"r1\""));
    assert_eq!(exported.text, odd);
    assert_eq!(exported.header("content-type"), "application/json");
    let rails = "# note\nen:\n  greet: 'Hi'   # c\n  day:\n    one: one day\n    other: \"%{count} days\"\n";
    let imported = shelf.upload("kind=yaml&profile=rails&path=config/en.yml", rails.as_bytes()).expect(201);
    assert_eq!((&imported["profile"], &imported["root_locale"]), (&json!("rails"), &json!("en")));
    assert_eq!(shelf.export(&text(&imported, "file_id"), "").text, rails);
    let flat = "top: value\nnest:\n  - a\n  - b\n";
    let imported = shelf.upload("kind=yaml&profile=flat&path=flat.yml", flat.as_bytes()).expect(201);
    assert_eq!((&imported["profile"], &imported["keys"]), (&json!("flat"), &json!(3)));
    let properties = "a = b\\\n   c\n! note\nd:e\n";
    let imported = shelf.upload("kind=properties&path=m.properties", properties.as_bytes()).expect(201);
    assert_eq!(shelf.export(&text(&imported, "file_id"), "").text, properties);
    let paths: Vec<String> = shelf.keys().into_keys().collect();
    assert_eq!(
        paths,
        ["a", "d", "day", "greet", "l.0", "l.1.y", "nest.0", "nest.1", "top"].map(str::to_owned).to_vec()
    );
    assert_eq!(shelf.keys()["day"]["forms"], json!({"one": "one day", "other": "%{count} days"}));
    assert_eq!((&shelf.keys()["day"]["plural"], &shelf.keys()["day"]["source"]), (&json!(true), &Value::Null));

    let files = shelf.desk.get(&shelf.path("/files?limit=3")).expect(200);
    assert_eq!(files["files"].as_array().unwrap().len(), 3);
    let cursor = text(&files, "next_cursor");
    let rest = shelf.desk.get(&shelf.path(&format!("/files?cursor={cursor}"))).expect(200);
    assert_eq!((rest["files"].as_array().unwrap().len(), &rest["next_cursor"]), (1, &Value::Null));
    // Keys come in pages, in the order of their ids, across files.
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = shelf.desk.get(&shelf.path(&format!("/keys?limit=2{cursor}"))).expect(200);
        ids.extend(page["keys"].as_array().unwrap().iter().map(|key| text(key, "id")));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(ids.is_sorted() && ids.len() == 10, "{ids:?}");
}

#[test]
fn versions_keep_the_ids_of_keys_and_say_what_changed() {
    let shelf = Shelf::open(shared());
    let first = json!({"same": "s", "changes": "1", "goes": "g", "plural_one": "p", "plural_other": "ps"});
    let file_id = shelf.json("a.json", &first);
    let before = shelf.keys();
    let second = json!({"same": "s", "changes": "2", "plural_one": "p", "plural_other": "ps", "new": "n"});
    let imported = shelf.upload("kind=json&path=a.json", second.to_string().as_bytes()).expect(201);
    assert_eq!((&imported["file_id"], &imported["version"]), (&json!(file_id), &json!(2)));
    let after = shelf.keys();
    assert_eq!(after.keys().collect::<Vec<_>>(), ["changes", "new", "plural", "same"]);
    for path in ["changes", "plural", "same"] {
        assert_eq!(before[path]["id"], after[path]["id"], "{path}");
    }
    assert_eq!(after["changes"]["source"], "2");
    let third = json!({"same": "s", "changes": "2", "goes": "g", "new": "n"});
    shelf.upload("kind=json&path=a.json", third.to_string().as_bytes()).expect(201);
    assert_eq!(shelf.keys()["goes"]["id"], before["goes"]["id"], "a key that comes back is the same");

    // The chain begins with the key and its service account, workspace and project, then come the uploads.
    let manifest = |seq: u64| shelf.desk.get(&shelf.path(&format!("/files/{file_id}/imports/{seq}/manifest")));
    let lines = |seq: u64| -> Vec<Vec<String>> {
        let answer = manifest(seq);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), "text/tab-separated-values; charset=utf-8");
        answer.text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };
    assert!(lines(5).iter().all(|line| line[1] == "added" && line[2] == "-"), "{:?}", lines(5));
    assert_eq!(lines(5).len(), 4);
    let second = lines(6);
    let ids: Vec<&String> = second.iter().map(|line| &line[0]).collect();
    assert!(ids.is_sorted(), "{second:?}");
    let of = |path: &Value| second.iter().find(|line| line[0] == *path).unwrap()[1..].to_vec();
    assert_eq!(of(&before["changes"]["id"]), ["changed".to_owned(), hex(b"1"), hex(b"2")]);
    assert_eq!(of(&before["goes"]["id"]), ["obsoleted".to_owned(), hex(b"g"), "-".to_owned()]);
    assert_eq!(of(&after["new"]["id"]), ["added".to_owned(), "-".to_owned(), hex(b"n")]);
    let third = lines(7);
    let kinds: Vec<&str> = third.iter().map(|line| line[1].as_str()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "restored").count(), 1, "{third:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "obsoleted").count(), 1, "{third:?}");
    for seq in ["2", "4", "0", "99", "x", "+5", "-5", "05", "5.0", "%2B5", "18446744073709551616"] {
        refused(&shelf.desk.get(&shelf.path(&format!("/files/{file_id}/imports/{seq}/manifest"))), 404, "not_found");
    }
    // The same bytes again are a version, too, with nothing changed.
    let again = json!({"same": "s", "changes": "2", "goes": "g", "new": "n"});
    let imported = shelf.upload("kind=json&path=a.json", again.to_string().as_bytes()).expect(201);
    assert_eq!(imported["version"], 4);
    assert_eq!(manifest(8).text, "");
    assert_eq!(shelf.export(&file_id, "").header("etag"), "\"r4\"");
}

#[test]
fn uploads_are_checked_in_order() {
    let shelf = Shelf::open(shared());
    let stranger = shared().stranger("localization");
    let path = shelf.path("/files?kind=json&path=a.json");
    refused(&stranger.send("POST", &path, &[], b"{}"), 401, "unauthenticated");
    for (query, field) in [
        ("path=a", "kind"),
        ("kind=xml&path=a", "kind"),
        ("kind=json", "path"),
        ("kind=json&path=../a", "path"),
        ("kind=json&path=a%5Cb", "path"),
        ("kind=json&path=/a", "path"),
        ("kind=yaml&path=a", "profile"),
        ("kind=yaml&path=a&profile=x", "profile"),
        ("kind=json&path=a&profile=flat", "profile"),
        ("kind=json&path=a&locale=en", "locale"),
        ("kind=yaml&profile=flat&path=a&locale=en", "locale"),
        ("kind=yaml&profile=rails&path=a&locale=", "locale"),
        ("kind=json&path=a&kind=json", "kind"),
    ] {
        assert_eq!(refused(&shelf.upload(query, b"{}"), 400, "invalid_parameter")["field"], field, "{query}");
    }
    refused(&shelf.upload("kind=json&path=a&colour=red", b"{}"), 400, "unknown_parameter");
    // Without a key, though size and media type are wrong, too.
    let large = vec![b' '; 52_428_801];
    let send = |headers: &[(&str, &str)], path: &str, body: &[u8]| shelf.desk.send("POST", path, headers, body);
    let problem = refused(&send(&[("content-type", "text/plain")], &path, b"x"), 400, "invalid_parameter");
    assert_eq!(problem["field"], "Idempotency-Key");
    // Size before media type, media type before replay, replay before everything about the project.
    let key = fresh_key();
    let headers = |kind: &'static str| [("content-type", kind), ("idempotency-key", key.as_str())];
    refused(&send(&headers("text/plain"), &path, &large), 413, "upload_too_large");
    refused(&send(&headers("application/json"), &path, &large), 413, "upload_too_large");
    refused(&send(&headers("text/plain"), &path, b"{}"), 415, "unsupported_media_type");
    refused(&send(&[("idempotency-key", &key)], &path, b"{}"), 415, "unsupported_media_type");
    let first = send(&headers("application/json"), &path, b"{\"a\":\"b\"}");
    assert_eq!(first.status, 201, "{first:?}");
    let again = send(&headers("application/octet-stream"), &path, b"{\"a\":\"b\"}");
    assert_eq!((again.status, &again.text, again.header("idempotent-replayed")), (201, &first.text, "true"));
    refused(&send(&headers("application/json"), &path, b"{"), 422, "idempotency_key_reused");
    let nowhere = "/v1/projects/01890000-0000-7000-8000-000000000000/files?kind=android&path=a";
    let fresh = || [("content-type", "application/json"), ("idempotency-key", "x")];
    refused(&send(&fresh(), nowhere, b"{"), 404, "not_found");
    let viewer = shelf.desk.template(shared(), "viewer", &json!({}));
    refused(&viewer.send("POST", &path, &fresh(), b"{"), 403, "forbidden");
    for kind in ["android", "ios-strings", "ios-stringsdict"] {
        refused(&shelf.upload(&format!("kind={kind}&path=a"), b"{"), 422, "format_not_offered");
    }
    let problem = refused(&shelf.upload("kind=json&path=b.json", b"{\"secret\":\n  oops}"), 422, "malformed");
    assert_eq!((&problem["line"], &problem["column"]), (&json!(2), &json!(3)));
    assert!(!problem.to_string().contains("oops") && !problem.to_string().contains("secret"), "{problem}");
    // A path holds one kind of file, one profile, one root.
    refused(&shelf.upload("kind=properties&path=a.json", b"a=b"), 409, "format_mismatch");
    shelf.upload("kind=yaml&profile=rails&path=r.yml", b"en:\n  a: b\n").expect(201);
    refused(&shelf.upload("kind=yaml&profile=flat&path=r.yml", b"en:\n  a: b\n"), 409, "format_mismatch");
    refused(&shelf.upload("kind=yaml&profile=rails&locale=de&path=r.yml", b"de:\n  a: b\n"), 409, "format_mismatch");
    refused(&shelf.upload("kind=yaml&profile=rails&path=s.yml", b"de:\n  a: b\n"), 422, "key_invalid");
    shelf.upload("kind=yaml&profile=rails&locale=sr-YU&path=sr.yml", b"sr-YU:\n  a: b\n").expect(201);
    assert_eq!(shelf.desk.get(&shelf.path("/files")).expect(200)["files"].as_array().unwrap().len(), 3);
    // Once there is a file, the source locale stays.
    let locale = shelf.path("/source-locale");
    refused(&shelf.desk.put_if_match(&locale, "\"s0\"", &json!({"source_locale": "de"})), 409, "conflict");
}

#[test]
fn files_that_cannot_be_read() {
    let shelf = Shelf::open(shared());
    let deep = format!("{}\"x\"{}", "{\"a\":".repeat(65), "}".repeat(65));
    let long = format!("{{\"{}\":\"x\"}}", "k".repeat(1025));
    let many = format!("{{{}\"z\":\"\"}}", (0..200_000).map(|n| format!("\"{n}\":\"\",")).collect::<String>());
    for (query, bytes, code) in [
        ("kind=json", &b"{"[..], "malformed"),
        ("kind=json", b"{\"a\":\"\",\"a\":\"\"}", "duplicate_key"),
        ("kind=json", b"{\"a\":\"\xff\"}", "encoding_invalid"),
        ("kind=json", deep.as_bytes(), "nesting_too_deep"),
        ("kind=json", long.as_bytes(), "key_too_long"),
        ("kind=json", many.as_bytes(), "too_many_units"),
        ("kind=json", b"{\"\":\"x\"}", "key_invalid"),
        ("kind=json", b"{\"a\":\"\\u0000\"}", "value_unrepresentable"),
        ("kind=json", b"[]", "unsupported_construct"),
        ("kind=yaml&profile=flat", b"a: &x b\nc: *x\n", "yaml_alias_refused"),
        ("kind=yaml&profile=flat", b"a: !!int 3\n", "yaml_tag_refused"),
    ] {
        refused(&shelf.upload(&format!("{query}&path=bad"), bytes), 422, code);
    }
    assert_eq!(shelf.desk.get(&shelf.path("/files")).expect(200)["files"], json!([]), "nothing is stored");
}

#[test]
fn translations_are_written_and_read() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"hello": "Hello", "day_one": "{{count}} day", "day_other": "{{count}} days"}));
    let hello = shelf.key_id("hello");
    let none = shelf.translation(&hello, "de");
    assert_eq!((&none["state"], &none["revision"], &none["text"]), (&json!("untranslated"), &json!(0), &Value::Null));
    assert_eq!((&none["updated_by"], &none["origin"]), (&Value::Null, &Value::Null));
    let first = shelf.translate(&hello, "DE", &json!({"text": "Hallo"})).expect(201);
    assert_eq!((&first["locale"], &first["state"], &first["revision"]), (&json!("de"), &json!("draft"), &json!(1)));
    assert_eq!((&first["text"], &first["forms"], &first["origin"]), (&json!("Hallo"), &Value::Null, &json!("human")));
    let second = shelf.translate(&hello, "de", &json!({"text": "Servus"})).expect(200);
    assert_eq!((&second["revision"], &second["text"]), (&json!(2), &json!("Servus")));
    assert_eq!(shelf.translation(&hello, "de"), second);
    assert_eq!(shelf.translation(&hello, "de-AT")["state"], "untranslated");

    let day = shelf.key_id("day");
    let polish = json!({"forms": {"one": "dzień", "few": "dni", "many": "dni", "other": "dnia"}});
    assert_eq!(shelf.translate(&day, "pl", &polish).expect(201)["forms"], polish["forms"]);
    for (key, locale, body) in [
        (&day, "pl", json!({"text": "dni"})),
        (&day, "pl", json!({"forms": {"one": "a", "other": "b"}})),
        (&day, "de", json!({"forms": {"one": "a", "two": "b", "other": "c"}})),
        (&day, "de", json!({"forms": {"one": "a", "others": "c"}})),
        (&day, "ja", json!({"forms": {"one": "a", "other": "c"}})),
        (&hello, "de", json!({"forms": {"one": "a", "other": "c"}})),
    ] {
        refused(&shelf.translate(key, locale, &body), 422, "edit_shape");
    }
    refused(&shelf.translate(&hello, "de", &json!({"text": "x".repeat(65_537)})), 422, "value_too_long");
    shelf.translate(&hello, "de", &json!({"text": "x".repeat(65_536)})).expect(200);
    refused(&shelf.translate(&hello, "de", &json!({"text": "a\u{0}b"})), 422, "value_unrepresentable");
    for tag in ["zh", "x", "xx", "und", "de-YU"] {
        assert_eq!(shelf.translate(&hello, tag, &json!({"text": "x"})).status, 422, "{tag}");
        assert_eq!(shelf.desk.get(&format!("/v1/keys/{hello}/translations/{tag}")).status, 422, "{tag}");
    }
    let long = "de-DE-x-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd";
    refused(&shelf.translate(&hello, long, &json!({"text": "x"})), 422, "locale_too_long");
    // One for each canonical tag: what is said to friends does not replace what is said to strangers.
    shelf.translate(&hello, "zh-TW", &json!({"text": "哈囉"})).expect(201);
    assert_eq!(shelf.translation(&hello, "ZH-tw")["text"], "哈囉");
    shelf.translate(&hello, "sv", &json!({"text": "Hej"})).expect(201);
    for tag in ["sv-x-formal", "sv-SE", "sv-u-nu-latn"] {
        assert_eq!(shelf.translation(&hello, tag)["state"], "untranslated", "{tag}");
        shelf.translate(&hello, tag, &json!({"text": "God dag"})).expect(201);
    }
    assert_eq!(shelf.translation(&hello, "sv")["text"], "Hej");
}

#[test]
fn putting_a_translation_is_checked_in_order() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"hello": "Hello", "gone": "Gone"}));
    let (hello, gone) = (shelf.key_id("hello"), shelf.key_id("gone"));
    shelf.json("a.json", &json!({"hello": "Hello"}));
    let path = |key: &str, locale: &str| format!("/v1/keys/{key}/translations/{locale}");
    let nowhere = "01890000-0000-8000-8000-000000000000";
    let put = |desk: &Desk, key: &str, locale: &str, body: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", &fresh_key())];
        desk.send("PUT", &path(key, locale), &headers, body.as_bytes())
    };
    let desk = &shelf.desk;
    let without = desk.send("PUT", &path(nowhere, "x"), &[("content-type", "application/json")], b"{");
    assert_eq!(refused(&without, 400, "invalid_parameter")["field"], "Idempotency-Key");
    for (body, code) in [
        ("{", "malformed_json"),
        ("[]", "invalid_body"),
        ("{}", "invalid_body"),
        (r#"{"text":"a","forms":{"other":"a"}}"#, "invalid_body"),
        (r#"{"text":"a","state":"approved"}"#, "unknown_field"),
        (r#"{"text":1}"#, "invalid_field"),
        (r#"{"forms":{}}"#, "invalid_field"),
        (r#"{"forms":{"other":1}}"#, "invalid_field"),
        (r#"{"forms":{"a":"","b":"","c":"","d":"","e":"","f":"","g":""}}"#, "invalid_field"),
    ] {
        refused(&put(desk, nowhere, "x", body), 400, code);
    }
    let huge = format!(r#"{{"text":"{}"}}"#, "x".repeat(262_145));
    refused(&put(desk, nowhere, "x", &huge), 400, "invalid_field");
    refused(&desk.send("PUT", &path(nowhere, "x"), &[("idempotency-key", "k")], b"{}"), 415, "unsupported_media_type");
    let good = r#"{"text":"a"}"#;
    let viewer = desk.template(shared(), "viewer", &json!({}));
    refused(&put(&viewer, nowhere, "zh", good), 422, "locale_script_required");
    refused(&put(&viewer, nowhere, "de", good), 404, "not_found");
    refused(&put(&viewer, "nonsense", "de", good), 404, "not_found");
    let wrong_shape = r#"{"forms":{"one":"a","other":"b"}}"#;
    refused(&put(&viewer, &gone, "de", wrong_shape), 403, "forbidden");
    refused(&put(desk, &gone, "de", wrong_shape), 422, "edit_shape");
    refused(&put(desk, &gone, "de", good), 409, "key_obsolete");
    put(desk, &hello, "de", good).expect(201);
    // A locale's translators are its own.
    let scope = json!({"project_id": shelf.project_id, "locale": "fr"});
    let french = desk.template(shared(), "translator", &scope);
    refused(&put(&french, &hello, "de", good), 403, "forbidden");
    put(&french, &hello, "fr", good).expect(201);
    let nobody = desk.template(shared(), "org_billing", &json!({}));
    refused(&nobody.get(&path(&hello, "de")), 403, "forbidden");
    refused(&Desk::open(shared()).get(&path(&hello, "de")), 404, "not_found");
    // A repeat changes nothing.
    let key = fresh_key();
    let again = || desk.json_under(&key, "PUT", &path(&hello, "es"), &json!({"text": "hola"}));
    let (first, second) = (again(), again());
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.text, second.text);
    refused(&desk.json_under(&key, "PUT", &path(&hello, "es"), &json!({"text": "x"})), 422, "idempotency_key_reused");
    assert_eq!(desk.get(&path(&hello, "es")).expect(200)["revision"], 1);
}

#[test]
fn exports_hold_the_translations_and_nothing_else_changes() {
    let shelf = Shelf::open(shared());
    let source =
        "{ \"hello\":\"Hello\",\n  \"list\": [\"a\", \"b\"],\n  \"day_one\":\"a day\", \"day_other\" : \"days\" }\n";
    let imported = shelf.upload("kind=json&path=en.json", source.as_bytes()).expect(201);
    let file_id = text(&imported, "file_id");
    let at = |path: &str| shelf.key_id(path);
    shelf.translate(&at("hello"), "de", &json!({"text": "Hallo \"Welt\""})).expect(201);
    shelf.translate(&at("list.1"), "de", &json!({"text": "be"})).expect(201);
    shelf
        .translate(&at("day"), "pl", &json!({"forms": {"one": "1", "few": "2", "many": "5", "other": "x"}}))
        .expect(201);
    let german = shelf.export(&file_id, "?locale=de");
    assert_eq!((german.status, german.header("etag")), (200, "\"r3\""), "version 1 and two translations");
    assert_eq!(
        german.text,
        "{ \"hello\":\"Hallo \\\"Welt\\\"\",\n  \"list\": [\"a\", \"be\"],\n  \"day_one\":\"a day\", \"day_other\" : \"days\" }\n"
    );
    let polish: Value = serde_json::from_str(&shelf.export(&file_id, "?locale=pl").text).unwrap();
    let names: Vec<&String> = polish.as_object().unwrap().keys().collect();
    assert_eq!(names, ["day_few", "day_many", "day_one", "day_other", "hello", "list"]);
    let omitted: Value = serde_json::from_str(&shelf.export(&file_id, "?locale=de&fallback=omit").text).unwrap();
    assert_eq!(omitted, json!({"hello": "Hallo \"Welt\"", "list": ["a", "be"]}));
    // Nothing is approved yet: the file is its source again.
    assert_eq!(shelf.export(&file_id, "?locale=de&state=approved").text, source);
    assert_eq!(shelf.export(&file_id, "").header("etag"), "\"r1\"", "the source has no translations");

    let metadata = shelf.export(&file_id, "?locale=de&metadata=true");
    assert_eq!(metadata.header("etag"), "\"r3\"");
    let metadata = metadata.expect(200);
    assert_eq!((&metadata["revision"], &metadata["locale"]), (&json!(3), &json!("de")));
    let entries = metadata["entries"].as_array().unwrap();
    let keys: Vec<&str> = entries.iter().map(|entry| entry["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["hello", "list.0", "list.1", "day_one", "day_other"]);
    assert_eq!(entries[0]["sourceHash"], hex(b"Hello"));
    assert_eq!(entries[0]["targetHash"], hex("Hallo \"Welt\"".as_bytes()));
    assert_eq!((&entries[0]["status"], &entries[1]["status"]), (&json!("draft"), &json!("untranslated")));
    assert_eq!((&entries[3]["sourceHash"], &entries[3]["targetHash"]), (&json!(hex(b"a day")), &json!(hex(b"a day"))));
    assert_eq!((&entries[0]["approvedAt"], &entries[0]["approvedBy"]), (&Value::Null, &Value::Null));

    assert_eq!(shelf.export(&file_id, "?locale=de&revision=3").text, german.text);
    let gone = shelf.export(&file_id, "?locale=de&revision=2");
    refused(&gone, 410, "revision_superseded");
    assert_eq!(gone.header("etag"), "\"r3\"");
    refused(&shelf.export(&file_id, "?locale=de&revision=4"), 404, "revision_not_found");
    for (query, field) in [
        ("?fallback=omit", "fallback"),
        ("?state=approved", "state"),
        ("?metadata=true", "metadata"),
        ("?locale=de&fallback=x", "fallback"),
        ("?locale=de&state=draft", "state"),
        ("?locale=de&metadata=yes", "metadata"),
        ("?locale=de&revision=0", "revision"),
        ("?locale=", "locale"),
        (&format!("?locale={}", "a".repeat(256)), "locale"),
    ] {
        assert_eq!(refused(&shelf.export(&file_id, query), 400, "invalid_parameter")["field"], field, "{query}");
    }
    refused(&shelf.export(&file_id, "?colour=red"), 400, "unknown_parameter");
    refused(&shelf.export(&file_id, &format!("?locale={}", "a".repeat(255))), 422, "locale_ill_formed");
    refused(&shelf.export(&file_id, "?locale=zh"), 422, "locale_script_required");
    refused(&shelf.export("01890000-0000-7000-8000-000000000000", ""), 404, "not_found");
    let viewer = shelf.desk.template(shared(), "viewer", &json!({}));
    refused(&viewer.get(&shelf.path(&format!("/files/{file_id}/export"))), 403, "forbidden");
}

#[test]
fn a_changed_source_outdates_its_translations() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B", "c": "C"}));
    let [a, b, c] = ["a", "b", "c"].map(|path| shelf.key_id(path));
    for key in [&a, &b, &c] {
        shelf.translate(key, "de", &json!({"text": "x"})).expect(201);
    }
    shelf.translate(&a, "fr", &json!({"text": "y"})).expect(201);
    assert_eq!(shelf.export(&file_id, "?locale=de").header("etag"), "\"r4\"");
    shelf.json("a.json", &json!({"a": "A2", "b": "B2", "c": "C"}));
    for (key, locale, state) in
        [(&a, "de", "outdated"), (&b, "de", "outdated"), (&c, "de", "draft"), (&a, "fr", "outdated")]
    {
        assert_eq!(shelf.translation(key, locale)["state"], state);
    }
    assert_eq!(shelf.translation(&a, "de")["revision"], 1, "the text's own revision stays");
    // Version 2, three writings and two outdatings; the other locale has one of each.
    assert_eq!(shelf.export(&file_id, "?locale=de").header("etag"), "\"r7\"");
    assert_eq!(shelf.export(&file_id, "?locale=fr").header("etag"), "\"r4\"");
    // An outdated translation is exported all the same, and is not outdated twice.
    assert_eq!(shelf.export(&file_id, "?locale=de").json(), json!({"a": "x", "b": "x", "c": "x"}));
    shelf.json("a.json", &json!({"a": "A3", "b": "B2"}));
    assert_eq!(shelf.export(&file_id, "?locale=de").header("etag"), "\"r8\"");
    let draft = shelf.translate(&a, "de", &json!({"text": "z"})).expect(200);
    assert_eq!((&draft["state"], &draft["revision"]), (&json!("draft"), &json!(2)));
    // A key that is gone keeps its translation, which counts again when the key is back.
    assert_eq!(shelf.translation(&c, "de")["text"], "x");
    shelf.json("a.json", &json!({"a": "A3", "b": "B2", "c": "C"}));
    assert_eq!(shelf.translation(&c, "de")["state"], "draft");
    shelf.json("a.json", &json!({"a": "A3", "b": "B2"}));
    shelf.json("a.json", &json!({"a": "A3", "b": "B2", "c": "C changed meanwhile"}));
    assert_eq!(shelf.translation(&c, "de")["state"], "outdated");
}

#[test]
fn rails_files_get_the_root_of_their_locale() {
    let shelf = Shelf::open(shared());
    let source = "en:\n  greet: \"Hi\"\n  day:\n    one: a day\n    other: days\n";
    let imported = shelf.upload("kind=yaml&profile=rails&path=en.yml", source.as_bytes()).expect(201);
    let file_id = text(&imported, "file_id");
    shelf.translate(&shelf.key_id("greet"), "zh-TW", &json!({"text": "嗨"})).expect(201);
    shelf.translate(&shelf.key_id("day"), "zh-TW", &json!({"forms": {"other": "天"}})).expect(201);
    let exported = shelf.export(&file_id, "?locale=zh-tw");
    assert_eq!(exported.text, "zh-TW:\n  greet: \"嗨\"\n  day:\n    other: 天\n");
    assert_eq!(exported.header("content-type"), "application/yaml");
    let problem = refused(&shelf.export(&file_id, "?locale=de&fallback=omit"), 422, "invalid_parameter");
    assert_eq!(problem["field"], "fallback");
    let metadata = shelf.export(&file_id, "?locale=zh-TW&metadata=true").expect(200);
    let keys: Vec<&str> = metadata["entries"].as_array().unwrap().iter().map(|e| e["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["greet", "day.other"]);
}

#[test]
fn key_context_belongs_to_paths_and_survives_uploads() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B"}));
    let path = shelf.path(&format!("/files/{file_id}/context"));
    let desk = &shelf.desk;
    assert_eq!(desk.get(&path).expect(200), json!({"keys": []}));
    let put = |keys: Value| desk.json("PUT", &path, &json!({ "keys": keys }));
    let set = put(json!([
        {"path": "b", "class": "legal", "context": "A button", "min_length": 1, "max_length": 20},
        {"path": "a", "context": null},
    ]));
    let set = set.expect(200);
    assert_eq!(set["file"], file_id);
    let b = json!({"path": "b", "context": "A button", "min_length": 1, "max_length": 20});
    let a = json!({"path": "a", "context": null, "min_length": null, "max_length": null});
    assert_eq!(set["keys"], json!([b, a]));
    assert_eq!(desk.get(&path).expect(200), json!({"keys": [a, b]}), "in the order of paths");
    shelf.json("a.json", &json!({"b": "B2"}));
    assert_eq!(desk.get(&path).expect(200), json!({"keys": [a, b]}));
    for (keys, status, code) in [
        (json!([{"path": "b", "context": "x", "colour": 1}]), 400, "unknown_field"),
        (json!([]), 400, "invalid_field"),
        (json!([{"context": "x"}]), 400, "invalid_field"),
        (json!([{"path": ""}]), 400, "invalid_field"),
        (json!([{"path": "b", "class": "x"}]), 400, "invalid_field"),
        (json!([{"path": "b", "context": ""}]), 400, "invalid_field"),
        (json!([{"path": "b", "context": "x".repeat(2001)}]), 400, "invalid_field"),
        (json!([{"path": "b", "max_length": 0}]), 400, "invalid_field"),
        (json!([{"path": "b", "max_length": 100_001}]), 400, "invalid_field"),
        (json!([{"path": "b"}, {"path": "b"}]), 400, "invalid_field"),
        (json!(vec![json!({"path": "b"}); 1001]), 400, "invalid_field"),
        (json!([{"path": "b"}, {"path": "a"}]), 422, "key_unknown"),
        (json!([{"path": "b", "min_length": 3, "max_length": 2}]), 422, "length_range"),
        (json!([{"path": "b", "context": " x"}]), 422, "context_invalid"),
    ] {
        refused(&put(keys.clone()), status, code);
    }
    let headers = [("content-type", "application/json")];
    let without = desk.send("PUT", &path, &headers, br#"{"keys":[{"path":"b"}]}"#);
    assert_eq!(refused(&without, 400, "invalid_parameter")["field"], "Idempotency-Key");
    assert_eq!(desk.get(&path).expect(200), json!({"keys": [a, b]}), "nothing was written");
    let viewer = desk.template(shared(), "viewer", &json!({}));
    viewer.get(&path).expect(200);
    refused(&viewer.json("PUT", &path, &json!({"keys": [{"path": "b"}]})), 403, "forbidden");
}

#[test]
fn one_of_several_uploads_to_a_path_wins_each_version() {
    let shelf = Shelf::open(shared());
    let shelf = &shelf;
    shelf.json("race.json", &json!({"a": "0"}));
    let statuses: Vec<Answer> = std::thread::scope(|scope| {
        let upload = |n: usize| {
            move || shelf.upload("kind=json&path=race.json", json!({"a": n.to_string()}).to_string().as_bytes())
        };
        let threads: Vec<_> = (1..9).map(|n| scope.spawn(upload(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won = statuses.iter().filter(|answer| answer.status == 201).count();
    assert!(won >= 1, "{statuses:?}");
    for answer in statuses.iter().filter(|answer| answer.status != 201) {
        refused(answer, 409, "conflict");
    }
    let files = shelf.desk.get(&shelf.path("/files")).expect(200);
    assert_eq!(files["files"][0]["version"], 1 + won);
}

#[test]
fn a_repeat_beside_its_first_is_turned_away_or_answered_alike() {
    let shelf = Shelf::open(shared());
    let shelf = &shelf;
    let content: String = (0..20_000).map(|n| format!("\"key{n}\":\"value {n}\",")).collect();
    let content = format!("{{{content}\"z\":\"\"}}");
    // A round in which none meets another, on a busy machine, is no proof of anything.
    for round in 1..=10 {
        let key = fresh_key();
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let upload = || shelf.upload_under(&key, "kind=json&path=twice.json", content.as_bytes());
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(upload)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for answer in &answers {
            match answer.status {
                201 => assert_eq!(answer.json()["version"], round, "{answer:?}"),
                _ => drop(refused(answer, 409, "idempotency_in_progress")),
            }
        }
        assert_eq!(shelf.desk.get(&shelf.path("/files")).expect(200)["files"][0]["version"], round);
        if answers.iter().any(|answer| answer.status == 409) {
            return;
        }
    }
    panic!("none met another");
}

#[test]
fn an_upload_of_the_largest_size_is_taken() {
    let appliance = Setup::new().start();
    let shelf = Shelf::open(&appliance);
    let value = "x".repeat(1 << 20);
    let mut content = String::from("{");
    for n in 0..49 {
        content.push_str(&format!("\"k{n}\":\"{value}\","));
    }
    let rest = 52_428_800 - content.len() - "\"z\":\"\"}".len();
    content.push_str(&format!("\"z\":\"{}\"}}", "y".repeat(rest)));
    assert_eq!(content.len(), 52_428_800);
    let imported = shelf.upload("kind=json&path=large.json", content.as_bytes()).expect(201);
    assert_eq!((&imported["keys"], &imported["size"]), (&json!(50), &json!(52_428_800)));
    // A page of keys ends early where they are that long.
    let page = shelf.desk.get(&shelf.path("/keys?limit=500")).expect(200);
    assert_eq!(page["keys"].as_array().unwrap().len(), 1, "the first takes the page's 1 MiB");
    assert_eq!(page["keys"][0]["source"].as_str().unwrap().len(), 1 << 20);
    let rest = shelf.desk.get(&shelf.path(&format!("/keys?cursor={}", text(&page, "next_cursor")))).expect(200);
    assert_eq!(rest["keys"][0]["path"], "k1");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn a_core_that_fails_stops_translations_and_exports_alone() {
    let appliance = Setup::new().rehearsal().start();
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let key = shelf.key_id("a");
    appliance.cli_json(&["core", "fail", "cardinals"]);
    for answer in [
        shelf.translate(&key, "de", &json!({"text": "x"})),
        shelf.desk.get(&format!("/v1/keys/{key}/translations/de")),
        shelf.export(&file_id, "?locale=de"),
        shelf.export(&file_id, ""),
    ] {
        refused(&answer, 503, "language_core_unavailable");
    }
    shelf.json("a.json", &json!({"a": "B"}));
    shelf.desk.get(&shelf.path("/keys")).expect(200);
    appliance.cli_json(&["core", "restore", "cardinals"]);
    assert_eq!(shelf.translation(&key, "de")["state"], "untranslated", "nothing was changed");
}

/// Where a file ends in a block scalar without a line break: read as Ruby reads it, and written again.
#[test]
fn yaml_that_ends_in_a_block_scalar_is_exported() {
    let shelf = Shelf::open(shared());
    let rails = |end: &str| format!("en:\n  a: {end}");
    for (number, (end, source)) in [
        ("|-\n    x\n     ", "x\n "),
        (">-\n    x\n     ", "x\n "),
        ("|2-\n    x\n     ", "x\n "),
        ("|+\n     ", ""),
        ("|\n    x", "x"),
        ("|+\n    x", "x"),
        ("'\u{feff}x'", "\u{feff}x"),
    ]
    .into_iter()
    .enumerate()
    {
        for file in [rails(end), rails(end).replace('\n', "\r\n")] {
            let query = format!("kind=yaml&profile=rails&path={number}-{}.yml", file.len());
            let file_id = text(&shelf.upload(&query, file.as_bytes()).expect(201), "file_id");
            let keys = shelf.desk.get(&shelf.path("/keys?limit=500")).expect(200);
            let key = keys["keys"].as_array().unwrap().iter().find(|key| key["file_id"] == json!(file_id)).unwrap();
            assert_eq!(key["source"], source, "{file:?}");
            assert_eq!(shelf.export(&file_id, "?locale=en").text, file, "as it came");
            shelf.translate(&text(key, "id"), "de", &json!({"text": "y"})).expect(201);
            let exported = shelf.export(&file_id, "?locale=de");
            assert_eq!(exported.status, 200, "{file:?}: {exported:?}");
            assert!(exported.text.starts_with("de:") && exported.text.contains('y'), "{exported:?}");
        }
    }
}
