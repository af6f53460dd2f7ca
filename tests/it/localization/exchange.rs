//! Documents of other tools: XLIFF, TMX and TBX, out and in.

use std::time::Duration;

use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";
const XLIFF: &str = "application/xliff+xml";

/// Sends a document.
fn send_under(desk: &Desk, key: &str, path: &str, media_type: &str, document: impl AsRef<[u8]>) -> Answer {
    desk.send("POST", path, &[("content-type", media_type), ("idempotency-key", key)], document.as_ref())
}

fn send(desk: &Desk, path: &str, document: impl AsRef<[u8]>) -> Answer {
    send_under(desk, &fresh_key(), path, "application/xml", document)
}

impl Shelf {
    fn xliff_path(&self, file_id: &str, query: &str) -> String {
        self.path(&format!("/files/{file_id}/xliff{query}"))
    }

    fn xliff_out(&self, file_id: &str, query: &str) -> String {
        let answer = self.desk.get(&self.xliff_path(file_id, query));
        assert_eq!((answer.status, answer.header("content-type")), (200, XLIFF), "{answer:?}");
        answer.text
    }

    fn xliff_in(&self, file_id: &str, document: &str) -> Answer {
        send(&self.desk, &self.xliff_path(file_id, ""), document)
    }

    /// The events of the tenant's chain of some action, as far as `quintet` shows them.
    fn state_of(&self, key_id: &str, locale: &str) -> (String, u64, Value) {
        let found = self.translation(key_id, locale);
        (text(&found, "state"), found["revision"].as_u64().unwrap(), found["origin"].clone())
    }
}

/// A document of 1.2 into German.
fn document(units: &[(&str, &str, Option<&str>)]) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let unit = |(id, source, target): &(&str, &str, Option<&str>)| {
        let target = target.map_or(String::new(), |target| format!("<target>{target}</target>"));
        format!("<trans-unit id='{id}'><source>{}</source>{target}</trans-unit>", escaped(source))
    };
    in_german(&units.iter().map(unit).collect::<String>())
}

fn in_german(units: &str) -> String {
    format!(
        "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'><file original='f' source-language='en' \
         target-language='de' datatype='plaintext'><body>{units}</body></file></xliff>"
    )
}

/// Results and codes, by the units' ids.
fn results(answer: &Value) -> Vec<(String, String, Value)> {
    let units = answer["units"].as_array().unwrap();
    units.iter().map(|unit| (text(unit, "unit"), text(unit, "result"), unit["code"].clone())).collect()
}

#[test]
fn xliff_goes_out_and_comes_back_as_it_is() {
    let shelf = Shelf::open(shared());
    let file = json!({"a": "Save & <b>go</b>", "b": "two\nlines ", "c": "C", "n_one": "{n} file", "n_other": "{n} files", "x": "\u{1}"});
    let file_id = shelf.json("dir/en.json", &file);
    let keys = shelf.keys();
    let id = |path: &str| text(&keys[path], "id");
    shelf.translate(&id("a"), "de", &json!({"text": "Sichern & <b>los</b>"})).expect(201);
    shelf.translate(&id("b"), "de", &json!({"text": " zwei\r\nZeilen\t"})).expect(201);
    shelf.translate(&id("n"), "de", &json!({"forms": {"one": "{n} Datei", "other": "{n} Dateien"}})).expect(201);
    let told = json!({"keys": [{"path": "a", "context": "A <button>"}]});
    shelf.desk.json("PUT", &shelf.path(&format!("/files/{file_id}/context")), &told).expect(200);
    let first = shelf.xliff_out(&file_id, "?locale=de");
    for part in [
        "<xliff version=\"1.2\"",
        "original=\"dir/en.json\" source-language=\"en\" target-language=\"de\"",
        &format!("<trans-unit id=\"{}\" resname=\"a\">", id("a")),
        "<source xml:space=\"preserve\">Save &amp; &lt;b&gt;go&lt;/b&gt;</source>",
        "<note>A &lt;button&gt;</note>",
        " zwei&#13;\nZeilen\t</target>",
        &format!(
            "<trans-unit id=\"{}\" resname=\"c\">\n<source xml:space=\"preserve\">C</source>\n</trans-unit>",
            id("c")
        ),
        &format!("<group id=\"{}\" resname=\"n\">\n<trans-unit id=\"{}.one\"", id("n"), id("n")),
        "<!-- 1 are left out",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
    let second = shelf.xliff_out(&file_id, "?locale=DE&version=2.1");
    for part in ["version=\"2.1\"", "srcLang=\"en\" trgLang=\"de\"", "<cp hex=\"0001\"/>", "<notes><note>A &lt;button"]
    {
        assert!(second.contains(part), "{part} in {second}");
    }
    for document in [first, second] {
        let answer = shelf.xliff_in(&file_id, &document).expect(200);
        assert_eq!((&answer["written"], &answer["skipped"]), (&json!(0), &json!(0)), "{answer}");
        assert_eq!((&answer["file"], &answer["locale"]), (&json!(file_id), &json!("de")));
    }
    let polish = shelf.xliff_out(&file_id, "?locale=pl");
    for category in ["one", "few", "many", "other"] {
        assert!(polish.contains(&format!("{}.{category}", id("n"))), "{polish}");
    }
    let head = shelf.desk.send("HEAD", &shelf.xliff_path(&file_id, "?locale=de"), &[], b"");
    assert_eq!((head.status, head.header("content-type"), head.text.as_str()), (200, XLIFF, ""));
}

#[test]
fn targets_become_drafts_of_an_import() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B", "n_one": "one", "n_other": "more"}));
    let keys = shelf.keys();
    let id = |path: &str| text(&keys[path], "id");
    shelf.translate(&id("a"), "de", &json!({"text": "old"})).expect(201);
    shelf
        .desk
        .post(&format!("/v1/keys/{}/translations/de/transition", id("a")), &json!({"action": "review"}))
        .expect(200);
    let (one, other) = (format!("{}.one", id("n")), format!("{}.other", id("n")));
    let wished = document(&[
        (&id("b"), "B", Some("<g id='1'>Be</g><ph id='2'>{0}</ph>")),
        (&other, "more", Some("mehr")),
        (&id("a"), "A", Some("Ä")),
        (&one, "one", Some("eins")),
    ]);
    let key = fresh_key();
    let path = shelf.xliff_path(&file_id, "?locale=de");
    let before = shelf.export(&file_id, "?locale=de").header("etag").to_owned();
    let first = send_under(&shelf.desk, &key, &path, XLIFF, &wished);
    let answer = first.expect(200);
    assert_eq!((&answer["written"], &answer["unchanged"], &answer["skipped"]), (&json!(4), &json!(0), &json!(0)));
    let expected = [id("b"), other, id("a"), one].map(|unit| (unit, "written".to_owned(), Value::Null));
    assert_eq!(results(&answer), expected, "one line for each unit, in the document's order");
    assert_eq!((&answer["units"][0]["path"], &answer["units"][0]["key_id"]), (&json!("b"), &json!(id("b"))));
    assert_eq!(shelf.state_of(&id("a"), "de"), ("draft".to_owned(), 2, json!("import")));
    assert_eq!(shelf.translation(&id("b"), "de")["text"], "Be{0}");
    assert_eq!(shelf.translation(&id("n"), "de")["forms"], json!({"one": "eins", "other": "mehr"}));
    let after = shelf.export(&file_id, "?locale=de").header("etag").to_owned();
    let number = |etag: &str| etag.trim_matches(['"', 'r']).parse::<u64>().unwrap();
    assert_eq!(number(&after), number(&before) + 3, "{before} {after}");
    // A repeat answers the same, also once something else has been written; another document under its key is refused.
    shelf.translate(&id("a"), "de", &json!({"text": "new"})).expect(200);
    let repeat = send_under(&shelf.desk, &key, &path, XLIFF, &wished);
    assert_eq!((repeat.status, &repeat.text), (200, &first.text));
    assert_eq!(repeat.header("idempotent-replayed"), "true");
    assert_eq!(shelf.translation(&id("a"), "de")["text"], "new");
    refused(&send_under(&shelf.desk, &key, &path, XLIFF, document(&[])), 422, "idempotency_key_reused");
    // What is stored already is left as it is, whatever its state.
    let answer = shelf.xliff_in(&file_id, &document(&[(&id("a"), "A", Some("new")), (&id("b"), "B", Some("Be{0}"))]));
    assert_eq!(answer.expect(200)["unchanged"], 2);
    assert_eq!(shelf.state_of(&id("a"), "de"), ("draft".to_owned(), 3, json!("human")));
    let empty = shelf.xliff_in(&file_id, &in_german("")).expect(200);
    assert_eq!((&empty["units"], &empty["written"]), (&json!([]), &json!(0)));
}

#[test]
fn a_document_with_a_fault_changes_nothing() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B", "n_one": "one", "n_other": "more"}));
    let keys = shelf.keys();
    let id = |path: &str| text(&keys[path], "id");
    let (one, other) = (format!("{}.one", id("n")), format!("{}.other", id("n")));
    let plain = id("n");
    let long = "x".repeat(65_537);
    let form = format!("{}.one", id("a"));
    for (unit, source, target, code) in [
        (&id("a"), "A", Some("a<x id='1'/>"), "inline_code"),
        (&id("a"), "A", Some("a<ph id='1'/>b"), "inline_code"),
        (&id("a"), "A", Some(long.as_str()), "value_too_long"),
        (&one, "one", Some("eins"), "edit_shape"),
        (&other, "more", Some("mehr"), "edit_shape"),
        (&plain, "more", Some("mehr"), "edit_shape"),
        (&form, "A", Some("Ä"), "edit_shape"),
    ] {
        let wished = document(&[(&id("b"), "B", Some("Be")), (unit, source, target)]);
        let body = refused(&shelf.xliff_in(&file_id, &wished), 422, "units_refused");
        let units = body["units"].as_array().unwrap();
        assert_eq!(units.len(), 1, "{body}");
        assert_eq!((&units[0]["unit"], &units[0]["code"]), (&json!(unit), &json!(code)), "{body}");
        assert!(!body.to_string().contains("Be"), "{body}");
        assert_eq!(shelf.state_of(&id("b"), "de").0, "untranslated", "{code}");
    }
    let null = format!(
        "<xliff version='2.0' xmlns='urn:oasis:names:tc:xliff:document:2.0' srcLang='en' trgLang='de'><file id='f'>\
         <unit id='{}'><segment><source>A</source><target><cp hex='0000'/></target></segment></unit></file></xliff>",
        id("a")
    );
    let body = refused(&shelf.xliff_in(&file_id, &null), 422, "units_refused");
    assert_eq!(body["units"][0]["code"], "value_unrepresentable");
    // Another locale has other forms.
    let french = document(&[(&one, "one", Some("un")), (&other, "more", Some("des"))]).replace("'de'", "'fr'");
    let body = refused(&shelf.xliff_in(&file_id, &french), 422, "units_refused");
    assert_eq!(body["units"].as_array().unwrap().len(), 2, "{body}");
    // At most a thousand are told.
    let many: serde_json::Map<String, Value> = (0..1_200).map(|number| (format!("k{number}"), json!("s"))).collect();
    let many_id = shelf.json("many.json", &Value::Object(many));
    let out = shelf.xliff_out(&many_id, "?locale=de").replace("</source>", "</source><target><x id='1'/></target>");
    let body = refused(&shelf.xliff_in(&many_id, &out), 422, "units_refused");
    assert_eq!(body["units"].as_array().unwrap().len(), 1_000);
}

#[test]
fn what_is_left_out_is_told() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A", "b": "B", "gone": "G", "n_one": "one", "n_other": "more"}));
    let other_id = shelf.json("b.json", &json!({"elsewhere": "E"}));
    let keys = shelf.keys();
    let id = |path: &str| text(&keys[path], "id");
    shelf.json("a.json", &json!({"a": "A", "b": "B2", "n_one": "one", "n_other": "more"}));
    let long = "y".repeat(300);
    let units = [
        (id("a"), "A", Some("Ä")),
        (id("a"), "A", Some("again")),
        (id("b"), "B", Some("Be")),
        (id("gone"), "G", Some("Ge")),
        (id("elsewhere"), "E", Some("E")),
        ("x<y".to_owned(), "A", Some("Ä")),
        (id("a").to_uppercase(), "A", Some("Ä")),
        (format!("{}.one", id("n")), "one", None),
        (format!("{}.other", id("n")), "more", Some("")),
        (format!("{}.several", id("n")), "more", Some("x")),
        (long.clone(), "A", Some("Ä")),
    ];
    let escaped: Vec<(String, &str, Option<&str>)> =
        units.iter().map(|(unit, source, target)| (unit.replace('<', "&lt;"), *source, *target)).collect();
    let wished: Vec<(&str, &str, Option<&str>)> =
        escaped.iter().map(|(unit, source, target)| (unit.as_str(), *source, *target)).collect();
    let answer = shelf.xliff_in(&file_id, &document(&wished)).expect(200);
    let expected = [
        ("written", Value::Null),
        ("skipped", json!("unit_repeated")),
        ("skipped", json!("source_changed")),
        ("skipped", json!("key_obsolete")),
        ("skipped", json!("key_unknown")),
        ("skipped", json!("key_unknown")),
        ("skipped", json!("key_unknown")),
        ("unchanged", json!("target_missing")),
        ("unchanged", json!("target_missing")),
        ("skipped", json!("key_unknown")),
        ("skipped", json!("key_unknown")),
    ];
    for ((found, (unit, ..)), (result, code)) in results(&answer).iter().zip(&units).zip(&expected) {
        let shown: String = unit.chars().take(100).collect();
        assert_eq!(found, &(shown, (*result).to_owned(), code.clone()));
    }
    assert_eq!((&answer["written"], &answer["unchanged"], &answer["skipped"]), (&json!(1), &json!(2), &json!(8)));
    assert_eq!(shelf.translation(&id("a"), "de")["text"], "Ä");
    assert_eq!(shelf.state_of(&id("elsewhere"), "de").0, "untranslated");
    let elsewhere = shelf.xliff_in(&other_id, &document(&[(&id("elsewhere"), "E", Some("Eh"))])).expect(200);
    assert_eq!(elsewhere["written"], 1);
}

#[test]
fn documents_are_judged_in_order() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let id = shelf.key_id("a");
    let good = document(&[(&id, "A", Some("Ä"))]);
    let path = |query: &str| shelf.xliff_path(&file_id, query);
    let nobody = shelf.desk.template(shared(), "viewer", &json!({}));
    let scope = json!({"locale": "fr", "project_id": shelf.project_id});
    let french = shelf.desk.template(shared(), "translator", &scope);
    let with = |desk: &Desk, path: &str, media: &str, body: &str| send_under(desk, &fresh_key(), path, media, body);

    refused(&with(&shelf.desk, &path("?x=1"), XLIFF, &good), 400, "unknown_parameter");
    refused(&shelf.desk.send("POST", &path(""), &[("content-type", XLIFF)], good.as_bytes()), 400, "invalid_parameter");
    refused(&with(&nobody, &path(""), "text/plain", &good), 415, "unsupported_media_type");
    refused(&with(&nobody, &shelf.xliff_path(NOBODY, ""), XLIFF, &good), 404, "not_found");
    refused(&with(&nobody, &path(""), XLIFF, "no document"), 403, "forbidden");
    refused(&with(&french, &path("?locale=de"), XLIFF, "no document"), 403, "forbidden");
    refused(&with(&french, &path(""), XLIFF, &good), 403, "forbidden");
    let stranger = Desk::open(shared());
    refused(&with(&stranger, &path(""), XLIFF, &good), 404, "not_found");
    refused(&with(&shelf.desk, &path("?locale=zh"), XLIFF, &good), 422, "locale_script_required");
    refused(&with(&shelf.desk, &path("?locale=fr"), XLIFF, &good), 422, "invalid_parameter");
    let without = good.replace(" target-language='de'", "");
    refused(&with(&shelf.desk, &path(""), XLIFF, &without), 422, "invalid_parameter");
    refused(&with(&shelf.desk, &path(""), XLIFF, &good.replace("'de'", "'-'")), 422, "locale_ill_formed");
    for (document, code, line, column) in [
        ("<xliff", "malformed", 1, 1),
        ("<tmx version='1.4'/>", "malformed", 1, 1),
        (&good.replace("</body>", "\n&nbsp;</body>"), "malformed", 2, 1),
        (&good.replace("</body>", "\n<a>&#1;</a></body>"), "malformed", 2, 4),
        (&good.replace("<body>", &format!("<body>{}", "<group>".repeat(70))), "malformed", 1, 0),
        (&good.replace("version='1.2'", "version='1.0'"), "unsupported_construct", 1, 1),
        (&format!("<?xml version='1.0' encoding='koi8-r'?>{good}"), "encoding_invalid", 1, 1),
    ] {
        let body = refused(&with(&shelf.desk, &path(""), XLIFF, document), 422, code);
        assert_eq!(body["line"], line, "{body}");
        assert!(column == 0 || body["column"] == column, "{body}");
    }
    let laughs = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY e SYSTEM 'file:///etc/passwd'>]>";
    let laughing = good.replace("Ä", "&b;");
    refused(&with(&shelf.desk, &path(""), XLIFF, &format!("{laughs}{laughing}")), 422, "malformed");
    assert_eq!(shelf.state_of(&id, "de").0, "untranslated");
    // What nobody refers to does no harm.
    assert_eq!(with(&shelf.desk, &path(""), XLIFF, &format!("{laughs}{good}")).expect(200)["written"], 1);
    let utf16: Vec<u8> = [0xFF, 0xFE].into_iter().chain(good.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(send(&shelf.desk, &path(""), utf16).expect(200)["unchanged"], 1);
    assert_eq!(with(&shelf.desk, &path("?locale=de"), XLIFF, &without).expect(200)["unchanged"], 1);
    let large = format!("{good}{}", " ".repeat(52_428_801 - good.len()));
    refused(&with(&shelf.desk, &path(""), XLIFF, &large), 413, "upload_too_large");
    let translated = good.replace("'de'", "'fr'");
    assert_eq!(with(&french, &path(""), XLIFF, &translated).expect(200)["written"], 1);

    // The way out.
    refused(&shelf.desk.get(&path("")), 400, "invalid_parameter");
    refused(&shelf.desk.get(&path("?locale=de&version=1.1")), 400, "invalid_parameter");
    refused(&nobody.get(&shelf.xliff_path(NOBODY, "?locale=zh")), 404, "not_found");
    refused(&nobody.get(&path("?locale=zh")), 403, "forbidden");
    refused(&shelf.desk.get(&path("?locale=zh")), 422, "locale_script_required");
}

/// A project with a file of so many keys, and a document that translates all of them.
fn large(appliance: &Appliance, keys: usize) -> (Shelf, String, String) {
    let shelf = Shelf::open(appliance);
    let members: Vec<String> = (0..keys).map(|number| format!("\"k{number}\":\"text {number}\"")).collect();
    let file = format!("{{{}}}", members.join(","));
    let file_id = text(&shelf.upload("kind=json&path=a.json", file.as_bytes()).expect(201), "file_id");
    let out = shelf.xliff_out(&file_id, "?locale=de");
    let document = out.replace("</source>", "</source>\n<target>Übersetzt</target>");
    (shelf, file_id, document)
}

#[test]
fn an_import_that_is_cut_off_goes_on_where_it_stopped() {
    const KEYS: usize = 6_000;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let (shelf, file_id, document) = large(&appliance, KEYS);
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    let (key, path) = (fresh_key(), shelf.xliff_path(&file_id, ""));
    let client = appliance.client("localization", &api_key);
    let headers = |key: &str| {
        [
            ("l10n-tenant", shelf.desk.tenant_id.clone()),
            ("content-type", XLIFF.to_owned()),
            ("idempotency-key", key.to_owned()),
        ]
    };
    let sent = headers(&key);
    let sent: Vec<(&str, &str)> = sent.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let translated =
        |shelf: &Shelf| shelf.desk.get(&shelf.path("/stats")).expect(200)["locales"][0]["states"]["draft"].as_u64();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(client.try_send("POST", &path, &sent, document.as_bytes())));
        // Some parts are written, and some are not.
        while translated(&shelf).unwrap_or(0) == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        appliance.signal("KILL");
    });
    drop(appliance);
    let appliance = Setup::new().on(&data).start();
    let desk = Desk { client: appliance.client("localization", &api_key), tenant_id: shelf.desk.tenant_id.clone() };
    let shelf = Shelf { desk, ..shelf };
    let stopped = translated(&shelf).unwrap_or(0);
    assert!(stopped > 0, "nothing was written");
    println!("{stopped} of {KEYS} had been written");
    let answer = send_under(&shelf.desk, &key, &path, XLIFF, &document).expect(200);
    assert_eq!((&answer["written"], &answer["unchanged"], &answer["skipped"]), (&json!(KEYS), &json!(0), &json!(0)));
    assert_eq!(answer["units"].as_array().unwrap().len(), KEYS);
    // Each was written once: the revision of the file counts one upload and one writing for each key.
    assert_eq!(shelf.export(&file_id, "?locale=de").header("etag"), format!("\"r{}\"", KEYS + 1));
    let again = send_under(&shelf.desk, &key, &path, XLIFF, &document);
    assert_eq!((again.header("idempotent-replayed"), again.expect(200)), ("true", answer));
}

#[test]
fn a_memory_goes_out_and_comes_in_as_tmx() {
    let shelf = Shelf::open(shared());
    let file_id = shelf.json("a.json", &json!({"a": "Save & go", "b": "two\r\nlines"}));
    let keys = shelf.keys();
    for (path, target) in [("a", "Sichern & los"), ("b", "zwei\r\nZeilen\t ")] {
        let id = text(&keys[path], "id");
        shelf.translate(&id, "de", &json!({"text": target})).expect(201);
        for action in ["review", "approve"] {
            let step = format!("/v1/keys/{id}/translations/de/transition");
            shelf.desk.post(&step, &json!({"action": action})).expect(200);
        }
    }
    drop(file_id);
    let path = shelf.path("/memory");
    let out = shelf.desk.get(&path);
    assert_eq!((out.status, out.header("content-type")), (200, "application/x-tmx+xml"));
    assert!(out.text.contains("<tuv xml:lang=\"de\"><seg>Sichern &amp; los</seg></tuv>"), "{}", out.text);
    assert!(out.text.contains("<seg>zwei&#13;\nZeilen\t </seg>"), "{}", out.text);
    assert!(!shelf.desk.get(&format!("{path}?locale=fr")).text.contains("<tu>"));
    let own = send(&shelf.desk, &path, &out.text).expect(200);
    assert_eq!(own, json!({"written": 0, "unchanged": 2, "skipped": 0}));
    // Into another tenant, whose suggestions have it then.
    let other = Shelf::open(shared());
    let (key, there) = (fresh_key(), other.path("/memory"));
    let first = send_under(&other.desk, &key, &there, "application/x-tmx+xml", &out.text);
    assert_eq!(first.expect(200), json!({"written": 2, "unchanged": 0, "skipped": 0}));
    let repeat = send_under(&other.desk, &key, &there, "application/x-tmx+xml", &out.text);
    assert_eq!((repeat.header("idempotent-replayed"), &repeat.text), ("true", &first.text));
    assert_eq!(other.desk.get(&there).text, out.text, "what came in goes out");
    other.json("x.json", &json!({"k": "Save & go"}));
    let suggested = other.desk.get(&format!("/v1/keys/{}/suggestions/de", other.key_id("k"))).expect(200);
    assert_eq!(suggested["suggestions"][0]["target"], "Sichern & los", "{suggested}");
    assert_eq!(suggested["suggestions"][0]["origin"], "import", "{suggested}");
    let mixed = "<!DOCTYPE tmx SYSTEM 'tmx14.dtd'><tmx version='1.4'><header srclang='en'/><body>\
        <tu><tuv xml:lang='de'><seg>Hund</seg></tuv><tuv xml:lang='EN-us'><seg>dog</seg></tuv><tuv xml:lang='fr'><seg>chien</seg></tuv></tu>\
        <tu><tuv xml:lang='de'><seg>ohne</seg></tuv></tu><tu><tuv xml:lang='en'><seg>a<ph x='1'/></seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>\
        <tu><tuv xml:lang='en'><seg>cat</seg></tuv><tuv xml:lang='zz-'><seg>x</seg></tuv><tuv xml:lang='de'><seg/></tuv></tu></body></tmx>";
    assert_eq!(send(&other.desk, &there, mixed).expect(200), json!({"written": 2, "unchanged": 0, "skipped": 5}));
    let only = send(&other.desk, &format!("{there}?locale=fr"), mixed.replace("chien", "toutou")).expect(200);
    assert_eq!((&only["written"], &only["unchanged"]), (&json!(1), &json!(0)));
    // The order of faults.
    let viewer = other.desk.template(shared(), "viewer", &json!({}));
    refused(&send(&viewer, &there, "<x"), 403, "forbidden");
    refused(&send(&viewer, &format!("/v1/projects/{NOBODY}/memory"), "<x"), 404, "not_found");
    refused(&send(&other.desk, &there, "<tbx/>"), 422, "malformed");
    refused(&send_under(&other.desk, &fresh_key(), &there, "application/json", mixed), 415, "unsupported_media_type");
    assert_eq!(viewer.get(&there).status, 200);
    refused(&viewer.get(&format!("{there}?locale=-")), 422, "locale_ill_formed");
}

#[test]
fn a_glossary_goes_out_and_comes_in_as_tbx() {
    let shelf = Shelf::open(shared());
    let entries = [
        json!({"kind": "term", "locale": "de", "source": "file", "target": "Datei", "note": "a <note>"}),
        json!({"kind": "term", "locale": "de-AT", "source": "R&D", "target": "F&E"}),
        json!({"kind": "dnt", "source": "Quintet"}),
        json!({"kind": "dnt", "locale": "fr", "source": "Café"}),
        json!({"kind": "forbidden", "locale": "de", "target": "Handy"}),
        json!({"kind": "forbidden", "target": "foo"}),
    ];
    for entry in &entries {
        shelf.desk.post(&shelf.path("/glossary"), entry).expect(201);
    }
    let path = shelf.path("/glossary/tbx");
    let out = shelf.desk.get(&path);
    assert_eq!((out.status, out.header("content-type")), (200, "application/x-tbx+xml"));
    for part in [
        "<martif type=\"TBX\" xml:lang=\"en\">",
        "<note>a &lt;note&gt;</note>",
        "<langSet xml:lang=\"de\"><tig><term>Datei</term></tig></langSet>",
        "<termNote type=\"administrativeStatus\">deprecatedTerm-admn-sts</termNote>",
    ] {
        assert!(out.text.contains(part), "{part} in {}", out.text);
    }
    assert_eq!(send(&shelf.desk, &path, &out.text).expect(200), json!({"written": 0, "unchanged": 6, "skipped": 0}));
    let french = shelf.desk.get(&format!("{path}?locale=fr")).text;
    assert!(french.contains("Café") && french.contains("foo") && !french.contains("Datei"), "{french}");
    let other = Shelf::open(shared());
    let there = other.path("/glossary/tbx");
    let key = fresh_key();
    let first = send_under(&other.desk, &key, &there, "application/x-tbx+xml", &out.text);
    assert_eq!(first.expect(200), json!({"written": 6, "unchanged": 0, "skipped": 0}));
    let repeat = send_under(&other.desk, &key, &there, "application/x-tbx+xml", &out.text);
    assert_eq!((repeat.header("idempotent-replayed"), &repeat.text), ("true", &first.text));
    let terms = other.desk.get(&other.path("/glossary")).expect(200)["terms"].clone();
    let shown = |term: &Value| {
        ["kind", "locale", "source", "target", "note"].map(|name| term.get(name).cloned().unwrap_or(Value::Null))
    };
    let meant: Vec<_> = entries.iter().map(shown).collect();
    assert_eq!(terms.as_array().unwrap().iter().map(shown).collect::<Vec<_>>(), meant);
    let new = "<tbx type='TBX-Basic' style='dca' xml:lang='en' xmlns='urn:iso:std:iso:30042:ed-2'><text><body><conceptEntry>\
        <langSec xml:lang='en'><termSec><term> cloud </term></termSec><termSec><term>sky</term></termSec></langSec>\
        <langSec xml:lang='de'><termSec><term>Wolke</term></termSec><termSec><term>\u{200b}</term></termSec></langSec>\
        <langSec xml:lang='-'><termSec><term>x</term></termSec></langSec></conceptEntry><conceptEntry/></body></text></tbx>";
    assert_eq!(send(&other.desk, &there, new).expect(200), json!({"written": 2, "unchanged": 0, "skipped": 5}));
    // Other spellings of the source locale are locales to translate into, and nothing becomes a word to be left alone.
    let british = Shelf::open(shared());
    for entry in [
        json!({"kind": "term", "locale": "en-US", "source": "colour", "target": "color"}),
        json!({"kind": "term", "locale": "en", "source": "lift", "target": "elevator"}),
        json!({"kind": "forbidden", "locale": "en", "target": "ain't"}),
    ] {
        british.desk.post(&british.path("/glossary"), &entry).expect(201);
    }
    let there_too = british.path("/glossary/tbx");
    let out = british.desk.get(&there_too).text;
    assert_eq!(send(&british.desk, &there_too, &out).expect(200), json!({"written": 0, "unchanged": 2, "skipped": 1}));
    // There is room for ten thousand: what does not fit changes nothing.
    let concept = |number: usize| {
        format!("<termEntry><langSet xml:lang='en'><tig><term>w{number}</term></tig></langSet></termEntry>")
    };
    let many: String = (0..9_993).map(concept).collect();
    let many = format!("<martif><text><body>{many}</body></text></martif>");
    refused(&send(&other.desk, &there, &many), 409, "conflict");
    assert_eq!(other.desk.get(&other.path("/glossary?limit=500")).expect(200)["terms"].as_array().unwrap().len(), 8);
    let viewer = other.desk.template(shared(), "viewer", &json!({}));
    refused(&send(&viewer, &there, "<x"), 403, "forbidden");
    refused(&send(&other.desk, &there, "<tmx/>"), 422, "malformed");
    let empty = "<termEntry><langSet><tig><term/></tig></langSet></termEntry>".repeat(200_001);
    refused(&send(&other.desk, &there, format!("<martif><text><body>{empty}")), 422, "too_many_units");
    let wide = format!("<martif><text><body><termEntry><langSet><tig>{}", "<term/>".repeat(100_000));
    refused(&send(&other.desk, &there, wide), 422, "unsupported_construct");
}
