//! Decisions, people and the audit chain, as members' browsers see them.

use serde_json::{Value, json};

use super::{Browser, appliance, member_link};
use crate::localization::files::Shelf;
use crate::localization::{Desk, text};
use crate::support::appliance::Answer;

/// A tenant with a text that waits for its approval, and somebody who may decide.
struct Office {
    shelf: Shelf,
    file_id: String,
    key_id: String,
}

impl Office {
    fn open() -> Office {
        let shelf = Shelf::open(appliance());
        let file_id = shelf.json("app/en.json", &json!({"pay": "Pay <now>"}));
        let key_id = shelf.key_id("pay");
        shelf.translate(&key_id, "de", &json!({"text": "Zahlen"})).expect(201);
        Office { shelf, file_id, key_id }
    }

    /// Somebody who comes in, with these further arguments of `member create`; and his id.
    fn member(&self, email: &str, more: &[&str]) -> (Browser, String) {
        let tenant = &self.shelf.desk.tenant_id;
        let made = appliance().cli_json(&[&["member", "create", email, "--tenant", tenant], more].concat());
        let browser = Browser::at(appliance(), "console").sign_in(&member_link(appliance(), tenant, email));
        (browser, text(&made, "member_id"))
    }

    /// Has the text's approval asked for; the decision's page.
    fn ask(&self, desk: &Desk) -> (Value, String) {
        let asked = json!({"file": self.file_id, "locale": "de"});
        let request = desk.post(&self.shelf.path("/approval-requests"), &asked).expect(201);
        let page = format!("/approvals/{}", text(&request, "decision_id"));
        (request, page)
    }

    fn state(&self) -> Value {
        self.shelf.translation(&self.key_id, "de")["state"].clone()
    }

    /// Waits for what the decision leads to.
    fn becomes(&self, state: &str) {
        let met = (0..200).any(|_| {
            let is_met = self.state() == state;
            if !is_met {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            is_met
        });
        assert!(met, "{} and not {state}", self.state());
    }
}

fn hash_of(page: &Answer) -> String {
    page.text.split("name=\"context_hash\" value=\"").nth(1).unwrap()[..64].to_owned()
}

#[test]
fn who_may_decides_on_what_he_was_shown() {
    let office = Office::open();
    let (zoe, id) = office.member("zoe@example.org", &["--permission", "decision_decide"]);
    let (request, path) = office.ask(&office.shelf.desk);
    assert!(zoe.get("/").text.contains("Decisions wait for you</a>: 1"));
    assert!(zoe.get("/approvals").text.contains(&path));
    let page = zoe.get(&path);
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.text.contains("Pay &lt;now&gt;") && page.text.contains("Zahlen"), "{}", page.text);
    let hash = hash_of(&page);
    for bad in ["verdict=approve", "verdict=approve&context_hash=00", &format!("verdict=reject&context_hash={hash}")] {
        let refused = zoe.post(&path, bad);
        assert!(refused.status == 409 && refused.text.contains("role=\"alert\""), "{bad}: {refused:?}");
    }
    assert_eq!(zoe.post(&path, &format!("verdict=maybe&context_hash={hash}")).status, 400);
    assert_eq!(office.state(), "draft");
    let done = zoe.post(&path, &format!("verdict=approve&context_hash={hash}&reason=fine"));
    assert_eq!((done.status, done.header("location")), (303, path.as_str()), "{done:?}");
    office.becomes("approved");
    let view = office.shelf.desk.get(&format!("/v1/approval-requests/{}", text(&request, "id"))).expect(200);
    assert_eq!((&view["decided_by"], &view["reason"]), (&json!(id), &json!("fine")));
    let again = zoe.post(&path, &format!("verdict=approve&context_hash={hash}"));
    assert!(again.status == 409 && again.text.contains("approved already"), "{again:?}");
    assert!(!zoe.get("/approvals").text.contains(&path) && zoe.get("/approvals?all=1").text.contains(&path));
}

#[test]
fn nobody_decides_what_is_not_his_to_decide() {
    let office = Office::open();
    let (reader, _) = office.member("ray@example.org", &["--template", "viewer"]);
    let (asker, id) = office.member("ann@example.org", &["--template", "publisher", "--permission", "decision_decide"]);
    let issued = office.shelf.desk.post(&format!("/v1/members/{id}/keys"), &json!({})).expect(201);
    let client = appliance().client("localization", &text(&issued, "api_key"));
    let own = Desk { client, tenant_id: office.shelf.desk.tenant_id.clone() };
    let (_, path) = office.ask(&own);
    let page = asker.get(&path);
    assert!(
        page.status == 200 && page.text.contains("somebody else decides") && !page.text.contains("name=\"verdict\"")
    );
    let elsewhere = Office::open();
    let (stranger, _) = elsewhere.member("sam@example.org", &["--permission", "decision_decide"]);
    assert_eq!(
        (stranger.get(&path).status, reader.get(&path).status, reader.get("/approvals").status),
        (404, 404, 404)
    );
    let (other, _) = office.member("bob@example.org", &["--permission", "decision_decide"]);
    let form = format!("verdict=approve&context_hash={}", hash_of(&other.get(&path)));
    let refused = asker.post(&path, &form);
    assert!(refused.status == 409 && refused.text.contains("does not decide it"), "{refused:?}");
    assert_eq!((stranger.post(&path, &form).status, reader.post(&path, &form).status), (404, 404));
    let tenant = &office.shelf.desk.tenant_id;
    let forbid = ["member", "forbid", "bob@example.org", "--tenant", tenant, "--permission", "decision_decide"];
    appliance().cli_json(&forbid);
    assert_eq!(other.post(&path, &form).status, 404, "what was taken from him counts at once");
    assert_eq!(office.state(), "draft");
}

#[test]
fn people_are_invited_granted_and_removed() {
    let office = Office::open();
    let (boss, _) = office.member("boss@example.org", &["--template", "org_admin"]);
    let (reader, reader_id) = office.member("ray@example.org", &["--template", "viewer"]);
    assert!(boss.get("/").text.contains("href=\"/people\"") && !reader.get("/").text.contains("href=\"/people\""));
    assert_eq!((reader.get("/people").status, reader.get("/audit").status), (404, 404));
    assert_eq!(boss.post("/people", "act=invite&once=a&email=new%40example.org").status, 303);
    assert!(boss.get("/people").text.contains("new@example.org"));
    let refused = boss.post("/people", "act=invite&once=b&email=new%40example.org");
    assert!(refused.status == 409 && refused.text.contains("role=\"alert\""), "{refused:?}");
    let grant = format!("act=grant&once=c&member={reader_id}&template=translator&locale=de&project=");
    assert_eq!(boss.post("/people", &grant).status, 303);
    let page = boss.get("/people").text;
    assert!(page.contains("<code>translator de</code>"), "{page}");
    let granted = page.split("name=\"grant\" value=\"").skip(1).find(|rest| rest.contains("<code>translator de"));
    let revoke = format!("act=revoke&grant={}", &granted.unwrap()[..36]);
    assert_eq!(boss.post("/people", &revoke).status, 303);
    assert!(!boss.get("/people").text.contains("translator de"));
    assert!([404, 409].contains(&reader.post("/people", &grant).status));
    assert_eq!(boss.post("/people", &format!("act=remove&member={reader_id}")).status, 303);
    assert_eq!(reader.get("/").status, 303, "who is removed is out");
    assert_eq!(boss.post("/people", "act=fly").status, 400);
    // What was done is in the chain, the newest first, and the chain holds.
    let audit = boss.get("/audit").text;
    let (removed, invited) = (audit.find("member.removed"), audit.rfind("member.created"));
    assert!(audit.contains("member.") && (removed.is_none() || removed < invited), "{audit}");
    assert!(boss.get("/audit?to=1").text.contains("href=\"/audit?to="), "there are newer ones");
    let verified = boss.get("/audit/verify").text;
    assert!(verified.contains(">sound</span>"), "{verified}");
}

#[test]
fn a_glossary_and_a_style_are_kept() {
    let office = Office::open();
    let (boss, _) =
        office.member("boss@example.org", &["--template", "project_manager", "--template", "terminologist"]);
    let project = format!("/projects/{}", office.shelf.project_id);
    let add = "once=a&kind=term&locale=de&source=Pay&target=Bezahlen&note=%3Cb%3E";
    assert_eq!(boss.post(&format!("{project}/glossary"), add).status, 303);
    let page = boss.get(&format!("{project}/glossary")).text;
    assert!(page.contains("Bezahlen") && page.contains("&lt;b&gt;"), "{page}");
    let refused = boss.post(&format!("{project}/glossary"), "once=b&kind=term&locale=&source=Typed&target=&note=");
    assert!(refused.status == 409 && refused.text.contains("value=\"Typed\""), "{refused:?}");
    let editor = boss.get(&format!("{project}/locales/de?key={}", office.key_id)).text;
    assert!(editor.contains("Bezahlen"), "a term stands beside the string that has it: {editor}");
    let id = &page.split("name=\"remove\" value=\"").nth(1).unwrap()[..36];
    assert_eq!(boss.post(&format!("{project}/glossary"), &format!("remove={id}")).status, 303);
    assert!(!boss.get(&format!("{project}/glossary")).text.contains("Bezahlen"));
    let style = "once=c&locale=de&scope=default&register=formal&text=Bitte+siezen.%0D%0AImmer.";
    assert_eq!(boss.post(&format!("{project}/style"), style).status, 303);
    let styles = office.shelf.desk.get(&office.shelf.path("/style")).expect(200);
    assert_eq!(styles["styles"][0]["text"], "Bitte siezen.\nImmer.");
    assert!(boss.get(&format!("{project}/style")).text.contains("Bitte siezen."));
    let refused = boss.post(&format!("{project}/style"), "once=d&locale=de&scope=legal&register=formal&text=Typed");
    assert!(refused.status == 409 && refused.text.contains("\nTyped</textarea>"), "{refused:?}");
}
