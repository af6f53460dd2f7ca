//! Sessions as a credential: on all routes, until they end, with what their owner may now.

use serde_json::json;

use super::liar::Liar;
use super::{Front, Person, front, set_cookie};
use crate::localization::{Desk, refused, text};
use crate::support::appliance::Setup;

fn grant(desk: &Desk, principal_id: &str, template: &str) -> String {
    text(&desk.post("/v1/grants", &json!({"principal_id": principal_id, "template": template})).expect(201), "id")
}

#[test]
fn what_a_person_may_is_looked_up_for_each_request() {
    let front = front();
    let invited = front.invited();
    let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    let project = invited.desk.project();
    let path = format!("/v1/projects/{}", text(&project, "id"));
    refused(&zoe.get(&path), 403, "forbidden");
    let viewer = grant(&invited.desk, &text(&invited.member, "id"), "viewer");
    assert_eq!(zoe.get(&path).expect(200)["id"], project["id"]);
    let rename = json!({"name": "New"}).to_string();
    refused(&zoe.send("PATCH", &path, &rename), 403, "forbidden");
    grant(&invited.desk, &text(&invited.member, "id"), "project_manager");
    assert_eq!(zoe.send("PATCH", &path, &rename).expect(200)["name"], "New");
    let me = zoe.get("/v1/me").expect(200);
    let manages = format!("p_{}_manage", text(&project, "short_id"));
    assert!(me["permissions"].as_array().unwrap().contains(&json!(manages)), "{me}");
    let granted = invited.desk.get("/v1/grants").expect(200);
    for one in granted["grants"].as_array().unwrap().iter().filter(|one| one["id"] != viewer.as_str()) {
        invited.desk.send("DELETE", &format!("/v1/grants/{}", text(one, "id")), &[], b"");
    }
    refused(&zoe.send("PATCH", &path, &rename), 403, "forbidden");
    assert_eq!(zoe.get(&path).status, 200);
    // What is recorded of it is a member's doing.
    let member = format!("/v1/members/{}", text(&invited.member, "id"));
    assert_eq!(invited.desk.send("DELETE", &member, &[], b"").status, 200);
    refused(&zoe.get(&path), 401, "unauthenticated");
}

#[test]
fn whoever_is_removed_erased_or_suspended_is_out_with_the_next_request() {
    let front = front();
    for end in ["remove", "erase"] {
        let invited = front.invited();
        let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
        let second = front.sign_in(&invited.desk.tenant_id, &invited.subject);
        let path = format!("/v1/members/{}", text(&invited.member, "id"));
        let answer = match end {
            "remove" => invited.desk.send("DELETE", &path, &[], b""),
            _ => invited.desk.post(&format!("{path}/erase"), &json!({})),
        };
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!zoe.is_in() && !second.is_in(), "{end}");
        let begun = front.begin(&invited.desk.tenant_id);
        let token = super::liar::By::Rs256.token(&front.claims(&begun, &invited.subject));
        refused(&front.come_with(&begun, &token), 403, "forbidden");
    }
    let invited = front.invited();
    let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    assert!(front.appliance.cli(&["tenant", "suspend", &invited.desk.tenant_id]).status.success());
    refused(&zoe.get("/v1/me"), 403, "forbidden");
    assert!(front.appliance.cli(&["tenant", "activate", &invited.desk.tenant_id]).status.success());
    assert!(zoe.is_in());
}

#[test]
fn a_session_lasts_twelve_hours_and_one_without_a_request() {
    let front = Front::open(Setup::new(), Liar::start(), true);
    let advance = |seconds: i64| {
        assert!(front.appliance.cli(&["clock", "advance", &seconds.to_string()]).status.success());
    };
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    let idle = front.sign_in(tenant_id, &invited.subject);
    let zoe = front.sign_in(tenant_id, &invited.subject);
    let end = quintet_platform::clock::parse_rfc3339(&text(&zoe.told, "expires_at")).unwrap();
    assert_eq!(end.as_micros() / 1_000_000 - front.now(), 12 * 3_600);
    advance(3_500);
    assert!(zoe.is_in());
    advance(100);
    assert!(zoe.is_in() && !idle.is_in(), "an hour without a request");
    for _ in 0..10 {
        advance(3_590);
        assert!(zoe.is_in());
    }
    // A switch to the tenant one is in gives a new token and no time.
    let switched = zoe.send("POST", "/auth/switch-tenant", &json!({"tenant_id": tenant_id}).to_string());
    let fresh = Person::of(front.stranger(), &switched);
    assert_eq!(fresh.told["expires_at"], zoe.told["expires_at"]);
    assert!(fresh.token != zoe.token && fresh.is_in() && !zoe.is_in());
    advance(3_590);
    assert!(fresh.is_in());
    advance(end.as_micros() / 1_000_000 - front.now() - 1);
    assert!(fresh.is_in());
    advance(1);
    assert!(!fresh.is_in(), "twelve hours in all");
    // A login is answered within ten minutes or not at all.
    let begun = front.begin(tenant_id);
    advance(600);
    let token = super::liar::By::Rs256.token(&front.claims(&begun, &invited.subject));
    refused(&front.come_with(&begun, &token), 401, "unauthenticated");
    advance(4 * 3_600);
    let verified = front.appliance.cli_json(&["verify"]);
    assert_eq!(verified["findings"].as_array().map_or(0, Vec::len), 0, "{verified}");
}

#[test]
fn sessions_outlive_a_restart_and_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let liar = Liar::start();
    let front = Front::open(Setup::new().on(&data), liar.clone(), false);
    let invited = front.invited();
    let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    let max = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    assert_eq!(max.send("POST", "/auth/logout", "").status, 200);
    let begun = front.begin(&invited.desk.tenant_id);
    front.appliance.kill();
    let front = Front::open(Setup::new().on(&data), liar, false);
    let again = |person: Person| Person { client: front.stranger(), ..person };
    assert!(again(zoe).is_in() && !again(max).is_in());
    let token = super::liar::By::Rs256.token(&front.claims(&begun, &invited.subject));
    assert_eq!(front.come_with(&begun, &token).status, 200, "a login under way goes on");
}

#[test]
fn to_another_tenant_and_back() {
    let front = front();
    let (one, other) = (front.invited(), front.invited());
    let there = super::invite(&other.desk, &format!("{}@example.org", one.subject));
    let zoe = front.sign_in(&one.desk.tenant_id, &one.subject);
    let switch = |person: &Person, body: &str| person.send("POST", "/auth/switch-tenant", body);
    for (body, code) in [
        ("", "malformed_json"),
        ("{", "malformed_json"),
        ("[]", "invalid_body"),
        ("{}", "invalid_field"),
        (r#"{"tenant_id":"x"}"#, "invalid_field"),
        (r#"{"tenant_id":7}"#, "invalid_field"),
        (r#"{"tenant_id":"x","more":1}"#, "unknown_field"),
    ] {
        refused(&switch(&zoe, body), 400, code);
    }
    let to = |desk: &Desk| json!({"tenant_id": desk.tenant_id}).to_string();
    let answer = switch(&zoe, &to(&other.desk));
    assert_eq!(set_cookie(&answer, super::SESSION).unwrap().1, "Secure; HttpOnly; SameSite=Lax; Path=/");
    let moved = Person::of(front.stranger(), &answer);
    assert_eq!((&moved.told["tenant_id"], &moved.told["principal_id"]), (&json!(other.desk.tenant_id), &there["id"]));
    assert!(moved.is_in() && !zoe.is_in());
    let back = Person::of(front.stranger(), &switch(&moved, &to(&one.desk)));
    assert_eq!(back.told["principal_id"], one.member["id"]);
    refused(&switch(&moved, &to(&one.desk)), 401, "unauthenticated");
}
