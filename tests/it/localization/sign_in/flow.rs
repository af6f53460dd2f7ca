//! Signing in, step by step, and what else the way there and back can meet.

use serde_json::{Value, json};

use super::liar::{By, Liar};
use super::{CALLBACK, Front, LOGIN, PUBLIC, Person, SESSION, changed, front, invite, pairs, set_cookie};
use crate::localization::contract::Witness;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Setup, stderr, stdout};

#[test]
fn a_login_goes_to_the_provider_and_comes_back_as_a_session() {
    let front = front();
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    let begin = front.stranger().get(&format!("/auth/login?tenant={tenant_id}"));
    assert_eq!((begin.status, begin.header("cache-control"), begin.text.as_str()), (302, "no-store", ""));
    let (address, query) = begin.header("location").split_once('?').unwrap();
    assert_eq!(address, format!("{}/auth", front.liar.issuer));
    let query = pairs(query);
    let field = |name: &str| query.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
    for (name, expected) in [
        ("response_type", "code"),
        ("client_id", "quintet"),
        ("redirect_uri", CALLBACK),
        ("scope", "openid email profile"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(field(name), expected, "{name}");
    }
    assert!([field("state"), field("nonce"), field("code_challenge")].iter().all(|text| text.len() == 43));
    let (sealed, attributes) = set_cookie(&begin, LOGIN).unwrap();
    assert_eq!(attributes, "Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=600");
    assert!(!sealed.contains(field("state")) && !sealed.contains(tenant_id.as_str()));

    let begun = front.begin(tenant_id);
    let token = By::Rs256.token(&front.claims(&begun, &invited.subject));
    let code = front.liar.code(200, &json!({"id_token": token}));
    let answer = front.come_by(&begun, &format!("code={code}&state={}&session_state=x&scope=a&scope=b", begun.state));
    let told = answer.expect(200);
    assert_eq!(told["tenant_id"], tenant_id.as_str());
    assert_eq!(told["principal_id"], invited.member["id"]);
    assert!(told["expires_at"].is_string() && told.as_object().unwrap().len() == 3, "{told}");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(set_cookie(&answer, SESSION).unwrap().1, "Secure; HttpOnly; SameSite=Lax; Path=/");
    assert_eq!(
        set_cookie(&answer, LOGIN).unwrap(),
        (String::new(), "Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0".into())
    );
    let asked = front.liar.asked(&code).unwrap();
    assert_eq!(asked.field("grant_type"), "authorization_code");
    assert_eq!(asked.field("redirect_uri"), CALLBACK);
    assert_eq!(asked.authorization, format!("Basic {}", data_encoding::BASE64.encode(b"quintet:client-secret")));
    let challenge = quintet_platform::secrets::digest(asked.field("code_verifier").as_bytes());
    let sent = pairs(begun.location.split_once('?').unwrap().1);
    assert!(sent.contains(&("code_challenge".to_owned(), data_encoding::BASE64URL_NOPAD.encode(&challenge))));

    let person = Person::of(front.stranger(), &answer);
    let me = person.get("/v1/me").expect(200);
    assert_eq!((&me["kind"], &me["principal_id"]), (&json!("member"), &told["principal_id"]));
    let member = invited.desk.get(&format!("/v1/members/{}", text(&invited.member, "id"))).expect(200);
    assert_eq!(member["status"], "active");
}

#[test]
fn nobody_signs_in_by_asking_what_would_be_answered() {
    let front = front();
    let invited = front.invited();
    let begun = front.begin(&invited.desk.tenant_id);
    let code = front.liar.code(200, &json!({"id_token": By::EdDsa.token(&front.claims(&begun, &invited.subject))}));
    let path = format!("/auth/callback?code={code}&state={}", begun.state);
    let cookie = format!("{LOGIN}={}", begun.cookie);
    for method in ["HEAD", "POST"] {
        let answer = front.stranger().send(method, &path, &[("cookie", &cookie)], b"");
        assert_eq!((answer.status, answer.header("allow")), (405, "GET"), "{answer:?}");
        assert!(set_cookie(&answer, SESSION).is_none());
    }
    assert!(front.liar.asked(&code).is_none(), "the provider hears nothing of it");
    assert_eq!(front.come_by(&begun, &format!("code={code}&state={}", begun.state)).status, 200);
}

#[test]
fn an_address_that_only_looks_like_a_members_is_nobodys() {
    let front = front();
    let desk = Desk::open(&front.appliance);
    desk.post("/v1/members", &json!({"email": "kelvin@example.org"})).expect(201);
    for (email, status) in [
        ("\u{212a}elvin@example.org", 403),
        ("k\u{435}lvin@example.org", 403),
        ("kelvin\u{200b}@example.org", 403),
        ("KELVIN@example.ORG", 200),
    ] {
        let begun = front.begin(&desk.tenant_id);
        let claims = changed(&front.claims(&begun, "kelvin"), &json!({"email": email}));
        let answer = front.come_with(&begun, &By::EdDsa.token(&claims));
        assert_eq!(answer.status, status, "{email}: {answer:?}");
    }
}

#[test]
fn what_others_put_into_cookies_and_headers_is_nothing_to_a_session() {
    let front = front();
    let invited = front.invited();
    let person = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    for cookie in [format!("theme=Zo\u{eb}; {}", person.cookie()), format!("{}; x=\u{20ac}", person.cookie())] {
        let answer = person.client.send("GET", "/v1/me", &[("cookie", &cookie)], b"");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // A proxy's own credential is no bearer credential, and outweighs nothing.
    let with = |authorization: &str| person.send_with("GET", "/v1/me", &[("authorization", authorization)], "").status;
    assert_eq!(
        [with("Basic dXNlcjpwYXNz"), with("Bearer nobody"), with("bearer"), with("BEARER x")],
        [200, 401, 401, 401]
    );
}

#[test]
fn a_browser_gets_a_page_that_runs_nothing() {
    let front = front();
    let invited = front.invited();
    let begun = front.begin(&invited.desk.tenant_id);
    let code = front.liar.code(200, &json!({"id_token": By::EdDsa.token(&front.claims(&begun, &invited.subject))}));
    let (path, cookie) =
        (format!("/auth/callback?code={code}&state={}", begun.state), format!("{LOGIN}={}", begun.cookie));
    let browser = [("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"), ("cookie", cookie.as_str())];
    let page = front.stranger().send("GET", &path, &browser, b"");
    let again = front.stranger().send("GET", &path, &browser, b"");
    let out = front.stranger().get("/auth/logged-out");
    assert!(set_cookie(&page, SESSION).is_some() && set_cookie(&again, SESSION).is_none());
    for (answer, status, title) in
        [(&page, 200, "Signed in"), (&again, 401, "Not signed in"), (&out, 200, "Signed out")]
    {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        assert!(answer.text.contains(&format!("<title>{title}</title>")), "{answer:?}");
        let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        assert_eq!(answer.header("content-security-policy"), policy);
        for (name, expected) in
            [("cache-control", "no-store"), ("referrer-policy", "no-referrer"), ("x-content-type-options", "nosniff")]
        {
            assert_eq!(answer.header(name), expected, "{name}");
        }
        assert!(!answer.text.contains("<script") && !answer.text.contains(begun.state.as_str()));
    }
    refused(&front.stranger().get("/auth/logged-out?x=1"), 400, "unknown_parameter");
}

#[test]
fn a_login_names_a_tenant_that_can_be_entered() {
    let front = front();
    let stranger = front.stranger();
    refused(&stranger.get("/auth/login"), 400, "invalid_parameter");
    refused(&stranger.get("/auth/login?tenant=x"), 400, "invalid_parameter");
    let tenant_id = front.appliance.tenant();
    refused(&stranger.get(&format!("/auth/login?tenant={tenant_id}&next=/")), 400, "unknown_parameter");
    refused(&stranger.get(&format!("/auth/login?tenant={tenant_id}&tenant={tenant_id}")), 400, "invalid_parameter");
    refused(&stranger.get("/auth/login?tenant=00000000-0000-0000-0000-000000000000"), 404, "not_found");
    assert_eq!(stranger.get(&format!("/auth/login?tenant={tenant_id}")).status, 302);
    assert!(front.appliance.cli(&["tenant", "suspend", &tenant_id]).status.success());
    refused(&stranger.get(&format!("/auth/login?tenant={tenant_id}")), 404, "not_found");
    let other = front.appliance.cli_json(&["tenant", "create", "ledger-alone", "--services", "ledger"]);
    refused(&stranger.get(&format!("/auth/login?tenant={}", text(&other, "tenant_id"))), 404, "not_found");
}

#[test]
fn all_four_algorithms_bring_people_in() {
    let front = front();
    for by in [By::Rs256, By::Ps256, By::Es256, By::EdDsa] {
        let invited = front.invited();
        let begun = front.begin(&invited.desk.tenant_id);
        let answer = front.come_with(&begun, &by.token(&front.claims(&begun, &invited.subject)));
        assert_eq!(answer.status, 200, "{}: {answer:?}", by.header());
    }
}

#[test]
fn who_has_signed_in_and_is_no_member_is_told_so() {
    let front = front();
    let invited = front.invited();
    let come = |change: Value| {
        let begun = front.begin(&invited.desk.tenant_id);
        let claims = changed(&front.claims(&begun, &invited.subject), &change);
        front.come_with(&begun, &By::Rs256.token(&claims))
    };
    front.liar.answer("/me", 404, "");
    for stranger in [
        json!({"sub": "other", "email": "somebody@example.org"}),
        json!({"email_verified": false}),
        json!({"email_verified": "true"}),
        json!({"email_verified": null}),
        json!({"email": null}),
    ] {
        refused(&come(stranger), 403, "forbidden");
    }
    assert_eq!(come(json!({})).status, 200);
    // The first sign-in has bound the member: from now on the subject counts, and the address nothing.
    refused(&come(json!({"sub": "other"})), 403, "forbidden");
    assert_eq!(come(json!({"email": "new@example.org", "email_verified": false})).status, 200);
    // A member of another tenant is nobody here.
    let elsewhere = front.invited();
    let begun = front.begin(&elsewhere.desk.tenant_id);
    let token = By::Rs256.token(&front.claims(&begun, &invited.subject));
    refused(&front.come_with(&begun, &token), 403, "forbidden");
}

#[test]
fn a_provider_that_does_not_answer_has_its_own_answer() {
    let front = Front::open(Setup::new(), Liar::start(), true);
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    let path = format!("/auth/login?tenant={tenant_id}");
    let document = front.liar.document();
    for (status, body) in [
        (500, String::new()),
        (200, "no document".to_owned()),
        (200, changed(&document, &json!({"issuer": "https://evil.example"})).to_string()),
        (200, changed(&document, &json!({"jwks_uri": null})).to_string()),
    ] {
        front.liar.answer("/.well-known/openid-configuration", status, &body);
        let answer = front.stranger().get(&path);
        refused(&answer, 503, "identity_unavailable");
        assert_eq!(answer.header("retry-after"), "5");
        assert!(front.appliance.cli(&["clock", "advance", "5"]).status.success());
    }
    let doctor = front.doctor();
    let said = format!("{}{}", stdout(&doctor), stderr(&doctor));
    assert!(!said.contains("ok       sign-in"), "{said}");
    assert!(said.contains(&format!("{} does not answer as it should", front.liar.issuer)), "{said}");
    front.liar.answer("/.well-known/openid-configuration", 200, &document.to_string());
    let doctor = front.doctor();
    assert!(stdout(&doctor).contains("sign-in"), "{}", stdout(&doctor));
    assert!(!stdout(&doctor).contains("does not answer as it should"), "{}", stdout(&doctor));
    // What was under way while it did not answer can go on, and no login is lost by it.
    let begun = front.begin(tenant_id);
    let query = |code: &str| format!("code={code}&state={}", begun.state);
    for status in [500, 503, 429] {
        let code = front.liar.code(status, &json!({}));
        let answer = front.come_by(&begun, &query(&code));
        refused(&answer, 503, "identity_unavailable");
        assert_eq!(answer.header("retry-after"), "5");
    }
    // One that takes the connection and says nothing, for longer than anybody waits.
    front.liar.be_silent(true);
    refused(&front.come_by(&begun, &query("c")), 503, "identity_unavailable");
    front.liar.be_silent(false);
    let code = front.liar.code(200, &json!({"id_token": By::Rs256.token(&front.claims(&begun, &invited.subject))}));
    assert_eq!(front.come_by(&begun, &query(&code)).status, 200);
    // Nobody's keys are the provider's while they cannot be had.
    let person = front.sign_in(tenant_id, &invited.subject);
    assert!(person.is_in());
}

#[test]
fn an_address_in_userinfo_alone_will_do() {
    let front = Front::open(Setup::new(), Liar::start(), false);
    let invited = front.invited();
    let email = format!("{}@example.org", invited.subject);
    let come = |status: u16, told: Value| {
        front.liar.answer("/me", status, &told.to_string());
        let begun = front.begin(&invited.desk.tenant_id);
        let claims = changed(&front.claims(&begun, &invited.subject), &json!({"email": null, "email_verified": null}));
        front.come_with(&begun, &By::Rs256.token(&claims))
    };
    let told = json!({"sub": invited.subject, "email": email, "email_verified": true});
    refused(&come(200, changed(&told, &json!({"sub": "other"}))), 403, "forbidden");
    refused(&come(200, changed(&told, &json!({"email_verified": false}))), 403, "forbidden");
    refused(&come(401, told.clone()), 403, "forbidden");
    refused(&come(500, told.clone()), 503, "identity_unavailable");
    assert_eq!(come(200, told).status, 200);
    assert_eq!(come(500, json!({})).status, 200, "who is bound already needs no address");
}

#[test]
fn keys_that_the_provider_changes_are_fetched_once_a_minute() {
    let front = Front::open(Setup::new(), Liar::start(), true);
    let invited = front.invited();
    let come = || {
        let begun = front.begin(&invited.desk.tenant_id);
        front.come_with(&begun, &By::EdDsa.token(&front.claims(&begun, &invited.subject)))
    };
    let mut keys = super::liar::key_set();
    let ed = keys["keys"].as_array_mut().unwrap().pop().unwrap();
    front.liar.answer("/jwks", 200, &keys.to_string());
    refused(&come(), 401, "unauthenticated");
    keys["keys"].as_array_mut().unwrap().push(ed);
    front.liar.answer("/jwks", 200, &keys.to_string());
    refused(&come(), 401, "unauthenticated");
    assert!(front.appliance.cli(&["clock", "advance", "60"]).status.success());
    assert_eq!(come().status, 200);
}

#[test]
fn without_a_provider_nobody_signs_in_and_keys_work() {
    let appliance = Setup::new().start();
    let desk = Desk::open(&appliance);
    assert_eq!(desk.get("/v1/me").status, 200);
    let stranger = appliance.stranger("localization");
    for answer in [
        stranger.get(&format!("/auth/login?tenant={}", desk.tenant_id)),
        stranger.get("/auth/callback?code=a&state=b"),
        stranger.send(
            "POST",
            "/auth/backchannel-logout",
            &[("content-type", "application/x-www-form-urlencoded")],
            b"logout_token=a.b.c",
        ),
    ] {
        refused(&answer, 503, "identity_unavailable");
        assert_eq!(answer.header("retry-after"), "5");
    }
    let cookie = format!("{SESSION}={}", "A".repeat(64));
    refused(&stranger.send("GET", "/v1/me", &[("cookie", &cookie)], b""), 401, "unauthenticated");
}

#[test]
fn the_configuration_of_a_provider_is_whole_or_refused() {
    let issuer = ("QUINTET_LOCALIZATION__IDENTITY__ISSUER", "https://login.example");
    let client = ("QUINTET_LOCALIZATION__IDENTITY__CLIENT_ID", "quintet");
    let public = ("QUINTET_LOCALIZATION__PUBLIC_URL", PUBLIC);
    for (given, missing) in [(vec![issuer, client], "localization.public_url"), (vec![issuer, public], "client_id")] {
        let setup = given.into_iter().fold(Setup::new(), |setup, (name, value)| setup.env(name, value));
        let reason = setup.try_start().err().unwrap();
        assert!(reason.contains("needs") && reason.contains(missing), "{reason}");
    }
}

#[test]
fn two_tenants_of_one_person_are_two_members() {
    let front = front();
    let (one, other) = (front.invited(), front.invited());
    let email = format!("{}@example.org", one.subject);
    let there = invite(&other.desk, &email);
    let (first, second) =
        (front.sign_in(&one.desk.tenant_id, &one.subject), front.sign_in(&other.desk.tenant_id, &one.subject));
    assert_eq!(first.told["principal_id"], one.member["id"]);
    assert_eq!(second.told["principal_id"], there["id"]);
    assert!(first.is_in() && second.is_in());
}

#[test]
fn answers_have_the_documented_shapes() {
    let front = front();
    let stranger = front.stranger();
    let mut witness = Witness::of(stranger.get("/openapi.json").expect(200));
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    for query in ["", "?tenant=x", "?x=1", &format!("?tenant={tenant_id}")] {
        witness.see("GET", "/auth/login", &stranger.get(&format!("/auth/login{query}")));
    }
    let absent = stranger.get("/auth/login?tenant=00000000-0000-0000-0000-000000000000");
    witness.see("GET", "/auth/login", &absent);
    witness.see("GET", "/auth/callback", &stranger.get("/auth/callback?code=a"));
    let begun = front.begin(tenant_id);
    let answer = front.come_with(&begun, &By::Rs256.token(&front.claims(&begun, &invited.subject)));
    witness.see("GET", "/auth/callback", &answer);
    let begun = front.begin(tenant_id);
    witness.see("GET", "/auth/callback", &front.come_with(&begun, &By::Rs256.token(&front.claims(&begun, "nobody"))));
    let zoe = Person::of(front.stranger(), &answer);
    let switch = "/auth/switch-tenant";
    witness.see("POST", switch, &zoe.send_with("POST", switch, &[], ""));
    witness.see("POST", switch, &zoe.send("POST", switch, "{}"));
    let switched = zoe.send("POST", switch, &json!({"tenant_id": tenant_id}).to_string());
    witness.see("POST", switch, &switched);
    let zoe = Person::of(front.stranger(), &switched);
    witness.see("POST", "/auth/logout", &stranger.send("POST", "/auth/logout", &[], b""));
    witness.see("POST", "/auth/logout", &zoe.send("POST", "/auth/logout", ""));
    witness.see("GET", "/auth/logged-out", &stranger.get("/auth/logged-out"));
    let backchannel = "/auth/backchannel-logout";
    let form = [("content-type", "application/x-www-form-urlencoded")];
    witness.see("POST", backchannel, &stranger.send("POST", backchannel, &[], b""));
    witness.see("POST", backchannel, &stranger.send("POST", backchannel, &form, b"x=1"));
    let token = By::Rs256.token(&json!({
        "iss": front.liar.issuer, "aud": "quintet", "iat": front.now(), "jti": "shapes", "sub": "nobody",
        "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
    }));
    let told = stranger.send("POST", backchannel, &form, format!("logout_token={token}").as_bytes());
    witness.see("POST", backchannel, &told);
    assert_eq!(witness.missed(|route| route.path.starts_with("/auth/")), Vec::<String>::new());
}
