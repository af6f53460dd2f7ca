//! Projects and the editor, as members' browsers see them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Browser, appliance, is_turned_away, member_link};
use crate::localization::files::Shelf;

/// A project with a file, and a member of its tenant who may do everything with its strings.
struct Desk {
    shelf: Shelf,
    browser: Browser,
    editor: String,
}

const MAY_ALL: [&str; 4] = ["viewer", "translator", "reviewer", "approver"];

impl Desk {
    fn open(file: &Value) -> Desk {
        Desk::of(file, &MAY_ALL)
    }

    fn of(file: &Value, templates: &[&str]) -> Desk {
        let shelf = Shelf::open(appliance());
        shelf.json("app/en.json", file);
        let tenant = shelf.desk.tenant_id.clone();
        let mut create = vec!["member", "create", "zoe@example.org", "--tenant", &tenant];
        for template in templates {
            create.extend(["--template", template]);
        }
        appliance().cli_json(&create);
        let link = member_link(appliance(), &tenant, "zoe@example.org");
        let browser = Browser::at(appliance(), "console").sign_in(&link);
        let editor = format!("/projects/{}/locales/de", shelf.project_id);
        Desk { shelf, browser, editor }
    }

    /// The page of a string.
    #[track_caller]
    fn page(&self, key: &str) -> String {
        let answer = self.browser.get(&format!("{}?key={key}", self.editor));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.text
    }

    /// Fills the form of a page and presses a button.
    fn press(&self, page: &str, fields: &[(&str, &str)], act: &str) -> crate::support::appliance::Answer {
        self.browser.post(&self.editor, &filled(page, fields, act))
    }
}

/// What the editor's form on a page would send.
fn filled(page: &str, fields: &[(&str, &str)], act: &str) -> String {
    let form = page.split("<form id=\"edit\"").nth(1).unwrap().split("</form>").next().unwrap();
    let mut sent: BTreeMap<String, String> = BTreeMap::new();
    for input in form.split("<input type=\"hidden\" name=\"").skip(1) {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        sent.insert(name.to_owned(), rest.split('"').next().unwrap().to_owned());
    }
    for area in form.split("<textarea id=\"").skip(1) {
        let name = area.split('"').next().unwrap();
        let text = area.split_once(">\n").unwrap().1.split("</textarea>").next().unwrap();
        sent.insert(name.to_owned(), text.to_owned());
    }
    sent.extend(fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    sent.insert("act".to_owned(), act.to_owned());
    sent.iter().map(|(name, text)| format!("{name}={}", encoded(text))).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_string_is_translated_and_the_next_one_follows() {
    let desk = Desk::open(&json!({"hello": "Hello, {name}!", "bye": "Bye"}));
    let projects = desk.browser.get("/projects").text;
    assert!(projects.contains(&format!("/projects/{}", desk.shelf.project_id)), "{projects}");
    let hello = desk.shelf.key_id("hello");
    let page = desk.page(&hello);
    assert!(page.contains("Hello, <bdi class=\"chip\">{name}</bdi>!"), "{page}");
    let saved = desk.press(&page, &[("text", "Hallo, {name}!\r\nNeu")], "save");
    assert_eq!(saved.status, 303, "{saved:?}");
    let next = saved.header("location").to_owned();
    assert!(next.starts_with(&desk.editor) && next.contains("key="), "{next}");
    let stored = desk.shelf.translation(&hello, "de");
    assert_eq!((&stored["text"], &stored["revision"]), (&json!("Hallo, {name}!\nNeu"), &json!(1)));
    // Sent twice it is one change.
    assert_eq!(desk.press(&page, &[("text", "Hallo, {name}!\r\nNeu")], "save").status, 303);
    assert_eq!(desk.shelf.translation(&hello, "de")["revision"], 1);
    // Who only looks on changes nothing, and nothing is stored where nothing was typed.
    let page = desk.page(&hello);
    assert_eq!(desk.press(&page, &[], "save").status, 303);
    assert_eq!(desk.shelf.translation(&hello, "de")["revision"], 1);
    let bye = desk.shelf.key_id("bye");
    let page = desk.page(&bye);
    assert_eq!(desk.press(&page, &[], "save").status, 303);
    assert_eq!(desk.shelf.translation(&bye, "de")["state"], "untranslated");
    // On to the end of review.
    let page = desk.page(&hello);
    assert_eq!(desk.press(&page, &[], "save_review").status, 303);
    let page = desk.page(&hello);
    assert!(page.contains("value=\"approve\""), "{page}");
    assert_eq!(desk.press(&page, &[], "approve").status, 303);
    assert_eq!(desk.shelf.translation(&hello, "de")["state"], "approved");
    let project = desk.browser.get(&format!("/projects/{}", desk.shelf.project_id)).text;
    assert!(project.contains(">50 %</progress>"), "{project}");
    // The member did it, not some key.
    let events = desk.shelf.desk.get("/v1/audit/events?limit=500").expect(200);
    let written = events["events"].as_array().unwrap().iter().find(|event| event["action"] == "translation").unwrap();
    let member = appliance().cli_json(&["member", "list", "--tenant", &desk.shelf.desk.tenant_id]);
    assert_eq!((&written["actor_kind"], &written["actor_id"]), (&json!("member"), &member["items"][0]["member_id"]));
}

#[test]
fn a_save_on_another_revision_shows_both_texts() {
    let desk = Desk::open(&json!({"hello": "Hello"}));
    let key = desk.shelf.key_id("hello");
    let page = desk.page(&key);
    desk.shelf.translate(&key, "de", &json!({"text": "Von jemand anderem"})).expect(201);
    let refused = desk.press(&page, &[("text", "Von mir")], "save");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text.contains("Von jemand anderem") && refused.text.contains("\nVon mir</textarea>"));
    assert_eq!(desk.shelf.translation(&key, "de")["text"], "Von jemand anderem");
    assert_eq!(desk.press(&refused.text, &[], "save").status, 303, "knowing of the other one it is replaced");
    assert_eq!(desk.shelf.translation(&key, "de")["text"], "Von mir");
    // Nor is a text approved that was not looked at.
    let page = desk.page(&key);
    let refused = desk.press(&page, &[("text", "Getippt")], "review");
    assert!(refused.status == 409 && refused.text.contains("\nGetippt</textarea>"), "{refused:?}");
    assert_eq!(desk.shelf.translation(&key, "de")["state"], "draft");
}

#[test]
fn what_is_refused_keeps_what_was_typed() {
    let desk = Desk::open(&json!({"hello": "Hello, {name}!"}));
    let key = desk.shelf.key_id("hello");
    let page = desk.page(&key);
    let checked = desk.browser.post(&format!("{}/check", desk.editor), &filled(&page, &[("text", "Hallo!")], ""));
    let checks = checked.expect(200);
    let ids: Vec<_> = checks["checks"].as_array().unwrap().iter().map(|check| &check["check"]).collect();
    assert!(ids.contains(&&json!("Q01")) && checks["checks"][0]["blocking"] == true, "{checks}");
    assert_eq!(desk.shelf.translation(&key, "de")["revision"], 0, "nothing is stored for that");
    let refused = desk.press(&page, &[("text", "Hallo!")], "save_review");
    assert!(refused.status == 409 && refused.text.contains("role=\"alert\"") && refused.text.contains("Q01"));
    assert!(refused.text.contains("\nHallo!</textarea>"), "{}", refused.text);
    let stored = desk.shelf.translation(&key, "de");
    assert_eq!((&stored["state"], &stored["text"]), (&json!("draft"), &json!("Hallo!")), "a draft may fail checks");
    // What the room refuses altogether is in the page, too.
    let reader = Desk::of(&json!({"a": "A"}), &["viewer"]);
    let key = reader.shelf.key_id("a");
    let refused = reader.press(&reader.page(&key), &[("text", "<b>Ä</b>")], "save");
    assert!(refused.status == 409 && refused.text.contains("\n&#60;b&#62;Ä&#60;/b&#62;</textarea>"), "{refused:?}");
    assert_eq!(reader.shelf.translation(&key, "de")["state"], "untranslated");
}

#[test]
fn many_are_reviewed_at_once_and_who_is_skipped_is_named() {
    let desk = Desk::open(&json!({"a": "One {x}", "b": "Two {x}", "c": "Three {x}"}));
    let mut strings = Vec::new();
    for (path, text) in [("a", "Eins {x}"), ("b", "Zwei {x}"), ("c", "Drei")] {
        let key = desk.shelf.key_id(path);
        desk.shelf.translate(&key, "de", &json!({"text": text})).expect(201);
        strings.push(format!("string={key}%3A1"));
    }
    let form = format!("act=review&once=k1&state=&q=&{}", strings.join("&"));
    let done = desk.browser.post(&format!("{}/review", desk.editor), &form);
    assert_eq!(done.status, 200, "{done:?}");
    assert!(done.text.contains("2 reviewed, 1 skipped:") && done.text.contains("</a>: Q01"), "{}", done.text);
    let of_state = |state: &str| desk.browser.get(&format!("{}?state={state}", desk.editor)).text;
    assert_eq!(of_state("reviewed").matches("name=\"string\"").count(), 2);
    assert_eq!(of_state("draft").matches("name=\"string\"").count(), 1);
    assert_eq!(desk.browser.get(&format!("{}?q=Zwei", desk.editor)).text.matches("name=\"string\"").count(), 1);
    assert_eq!(desk.browser.get(&format!("{}?failing=Q01", desk.editor)).text.matches("name=\"string\"").count(), 1);
    assert_eq!(desk.browser.get(&format!("{}?failing=Q99", desk.editor)).status, 400);
    assert_eq!(desk.browser.get(&format!("{}?cursor=x", desk.editor)).status, 400);
}

#[test]
fn plurals_have_a_field_each_and_hostile_texts_are_text() {
    let hostile = "</textarea><script>alert(1)</script>\u{202e}";
    let desk = Desk::open(&json!({"n_one": "one", "n_other": "{count} of them", "x": hostile}));
    let plural = desk.shelf.keys().values().find(|key| key["plural"] == true).unwrap()["id"].clone();
    let plural = plural.as_str().unwrap();
    let page = desk.page(plural);
    assert!(page.contains("name=\"form.one\"") && page.contains("name=\"form.other\""), "{page}");
    let saved = desk.press(&page, &[("form.one", "eins"), ("form.other", "{count} davon")], "save");
    assert_eq!(saved.status, 303, "{saved:?}");
    assert_eq!(desk.shelf.translation(plural, "de")["forms"], json!({"one": "eins", "other": "{count} davon"}));
    let key = desk.shelf.key_id("x");
    desk.shelf.translate(&key, "de", &json!({"text": hostile})).expect(201);
    let page = desk.page(&key);
    assert!(!page.contains("<script>alert") && page.contains("U+202E"), "{page}");
}

#[test]
fn files_are_saved_and_releases_made() {
    let desk = Desk::of(&json!({"a": "A"}), &["viewer", "translator", "reviewer", "approver", "publisher"]);
    let key = desk.shelf.key_id("a");
    desk.shelf.translate(&key, "de", &json!({"text": "Ä"})).expect(201);
    let page = desk.page(&key);
    assert_eq!(desk.press(&page, &[], "save_review").status, 303);
    let files = desk.shelf.desk.get(&desk.shelf.path("/files")).expect(200);
    let file = format!("/projects/{}/files/{}", desk.shelf.project_id, files["files"][0]["file_id"].as_str().unwrap());
    let source = desk.browser.get(&format!("{file}?name=app/en.json&locale=&state="));
    assert_eq!((source.status, source.text.as_str()), (200, "{\"a\":\"A\"}"));
    assert_eq!(source.header("content-disposition"), "attachment; filename=\"en.json\"");
    assert_eq!(source.header("content-type"), "application/octet-stream");
    let german = desk.browser.get(&format!("{file}?name=app/en.json&locale=de&state="));
    assert_eq!(german.text, "{\"a\":\"Ä\"}");
    let approved = desk.browser.get(&format!("{file}?name=app/en.json&locale=de&state=approved"));
    assert_eq!(approved.text, "{\"a\":\"A\"}");
    assert_eq!(desk.press(&desk.page(&key), &[], "approve").status, 303);
    let project = format!("/projects/{}", desk.shelf.project_id);
    let once = desk.browser.get(&project).text.split("name=\"once\" value=\"").nth(1).unwrap()[..36].to_owned();
    for _ in 0..2 {
        let made = desk.browser.post(&format!("{project}/releases"), &format!("once={once}"));
        assert_eq!(made.status, 303, "{made:?}");
    }
    let releases = desk.shelf.desk.get(&desk.shelf.path("/releases")).expect(200);
    assert_eq!(releases["releases"].as_array().unwrap().len(), 1);
    assert!(desk.browser.get(&project).text.contains(releases["releases"][0]["sha256"].as_str().unwrap()));
}

#[test]
fn nobody_reads_what_is_not_his() {
    let desk = Desk::open(&json!({"a": "A"}));
    let (project, key) = (desk.shelf.project_id.clone(), desk.shelf.key_id("a"));
    let stranger = Desk::open(&json!({"b": "B"}));
    for path in [format!("/projects/{project}"), desk.editor.clone(), format!("{}?key={key}", stranger.editor)] {
        assert_eq!(stranger.browser.get(&path).status, 404, "{path}");
    }
    let other =
        Shelf { project_id: desk.shelf.desk.project()["id"].as_str().unwrap().to_owned(), desk: desk.shelf.desk };
    let elsewhere = format!("/projects/{}/locales/de?key={key}", other.project_id);
    assert_eq!(desk.browser.get(&elsewhere).status, 404, "a string of another project");
    let page = desk.browser.get(&format!("{}?key={key}", desk.editor)).text;
    let form = filled(&page, &[("text", "Ä")], "save");
    let foreign = desk.browser.post_from(&desk.editor, &form, &[("origin", "http://evil.example")]);
    assert_eq!(foreign.status, 403);
    // Whoever has to sign in again is led back to the page that he was at.
    let out = desk.browser.clone().with_cookie("").post(&desk.editor, &form);
    assert!(is_turned_away(&out) && out.header("location").contains("%2Flocales%2Fde"), "{out:?}");
    let nobody = super::invited(appliance(), "ann@example.org");
    let ann = Browser::at(appliance(), "console").sign_in(&member_link(appliance(), &nobody, "ann@example.org"));
    let projects = ann.get("/projects");
    assert!(projects.status == 200 && projects.text.contains("There is no project that you may read."));
    for bad in ["act=save", "act=fly&key=7&revision=0&text=x", "act=save&key=7&revision=x&text=x"] {
        assert!([400, 404].contains(&desk.browser.post(&desk.editor, bad).status), "{bad}");
    }
}
