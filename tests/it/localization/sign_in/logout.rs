//! Signing out: here, and at the provider, which tells of it.

use serde_json::{Value, json};

use super::liar::{By, public_spellings};
use super::{Front, PUBLIC, SESSION, changed, front, invite, pairs, set_cookie};
use crate::localization::refused;
use crate::support::appliance::{Answer, unique};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// The claims of a logout token.
fn claims(front: &Front, change: Value) -> Value {
    let now = front.now();
    let base = json!({
        "iss": front.liar.issuer, "aud": "quintet", "iat": now, "exp": now + 120, "jti": format!("j{}", unique()),
        "events": {EVENT: {}},
    });
    changed(&base, &change)
}

fn tell(front: &Front, token: &str) -> Answer {
    front.stranger().send("POST", "/auth/backchannel-logout", &[FORM], format!("logout_token={token}").as_bytes())
}

#[track_caller]
fn acted(answer: &Answer, revoked: u64) {
    assert_eq!(answer.expect(200), json!({"acted": revoked > 0, "revoked": revoked}), "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[test]
fn whoever_signs_out_is_told_where_to_sign_out_at_the_provider() {
    let front = front();
    let invited = front.invited();
    let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    let answer = zoe.send("POST", "/auth/logout", "{}");
    let told = answer.expect(200);
    let (address, query) = told["logout_url"].as_str().unwrap().split_once('?').unwrap();
    assert_eq!(address, format!("{}/end", front.liar.issuer));
    let query = pairs(query);
    assert!(query.contains(&("client_id".into(), "quintet".into())));
    assert!(query.contains(&("post_logout_redirect_uri".into(), format!("{PUBLIC}/auth/logged-out"))));
    let hint = &query.iter().find(|(name, _)| name == "id_token_hint").unwrap().1;
    assert_eq!(hint.split('.').count(), 3);
    assert_eq!(set_cookie(&answer, SESSION).unwrap().0, "");
    assert!(!zoe.is_in());
    refused(&zoe.send("POST", "/auth/logout", ""), 401, "unauthenticated");
    refused(&front.stranger().send("POST", "/auth/logout", &[("origin", PUBLIC)], b""), 401, "unauthenticated");
}

#[test]
fn a_sid_ends_that_session_and_a_sub_all_of_that_person() {
    let front = front();
    let (one, other) = (front.invited(), front.invited());
    invite(&other.desk, &format!("{}@example.org", one.subject));
    let come = |tenant_id: &str, session: &str| {
        let begun = front.begin(tenant_id);
        let claims = changed(&front.claims(&begun, &one.subject), &json!({"sid": session}));
        super::Person::of(front.stranger(), &front.come_with(&begun, &By::Rs256.token(&claims)))
    };
    let (first, second) = (format!("s{}", unique()), format!("s{}", unique()));
    let (here, here_too) = (come(&one.desk.tenant_id, &first), come(&one.desk.tenant_id, &second));
    let there = come(&other.desk.tenant_id, &second);
    let max = front.sign_in(&other.desk.tenant_id, &other.subject);
    let foreign = claims(front, json!({"sid": first, "sub": "somebody-else"}));
    acted(&tell(front, &By::Rs256.token(&foreign)), 0);
    assert!(here.is_in());
    acted(&tell(front, &By::Es256.token(&claims(front, json!({"sid": first, "sub": one.subject})))), 1);
    assert!(!here.is_in() && here_too.is_in() && there.is_in());
    let header = changed(&By::Rs256.header(), &json!({"typ": "logout+jwt"}));
    let token = By::Rs256.token_under(&header, &claims(front, json!({"sub": one.subject})));
    acted(&tell(front, &token), 2);
    assert!(!here_too.is_in() && !there.is_in() && max.is_in(), "in all tenants, and nobody else");
    let again = front.sign_in(&one.desk.tenant_id, &one.subject);
    acted(&tell(front, &token), 0);
    assert!(again.is_in(), "a token counts once");
    acted(&tell(front, &By::Rs256.token(&claims(front, json!({"sid": second})))), 0);
    let without_end = claims(front, json!({"sub": one.subject, "exp": null}));
    acted(&tell(front, &By::Ps256.token(&without_end)), 1);
}

#[test]
fn logout_tokens_that_are_none() {
    let front = front();
    let invited = front.invited();
    let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    let sub = json!({"sub": invited.subject});
    let good = || claims(front, sub.clone());
    let now = front.now();
    let mut rows: Vec<(&str, Answer)> = vec![
        ("alg none", tell(front, &By::Nothing.token(&good()))),
        ("HS256 with the public key", tell(front, &By::Hs256(public_spellings().remove(0)).token(&good()))),
        ("HS256 with the client's secret", tell(front, &By::Hs256(b"client-secret".to_vec()).token(&good()))),
        ("signed by nobody's key", tell(front, &By::Stranger.token(&good()))),
        ("no token", tell(front, "")),
        ("an ID token", {
            let begun = front.begin(&invited.desk.tenant_id);
            tell(front, &By::Rs256.token(&front.claims(&begun, &invited.subject)))
        }),
    ];
    for (attempt, change) in [
        ("with a nonce", json!({"nonce": "n"})),
        ("without events", json!({"events": null})),
        ("with another event", json!({"events": {"http://schemas.openid.net/event/other": {}}})),
        ("with an event that is no object", json!({"events": {EVENT: true}})),
        ("without sub and sid", json!({"sub": null})),
        ("without jti", json!({"jti": null})),
        ("without iat", json!({"iat": null})),
        ("issued in the future", json!({"iat": now + 600})),
        ("expired", json!({"exp": now - 120})),
        ("an hour and a minute old, without an end", json!({"exp": null, "iat": now - 3_660})),
        ("of another issuer", json!({"iss": "https://evil.example"})),
        ("for another client", json!({"aud": "another-client"})),
    ] {
        rows.push((attempt, tell(front, &By::Rs256.token(&changed(&good(), &change)))));
    }
    println!("\nLogout tokens");
    for (attempt, answer) in &rows {
        let problem = refused(answer, 400, "invalid_field");
        assert_eq!(problem["field"], "logout_token", "{attempt}");
        println!("  {attempt:45}  400 invalid_field");
    }
    let first = &rows[0].1.text;
    assert!(rows.iter().all(|(_, answer)| answer.text == *first), "they are answered alike");
    assert!(zoe.is_in());
    let token = By::Rs256.token(&good());
    let post = |head: &[(&str, &str)], body: &str| {
        front.stranger().send("POST", "/auth/backchannel-logout", head, body.as_bytes())
    };
    refused(&post(&[], &format!("logout_token={token}")), 415, "unsupported_media_type");
    refused(&post(&[("content-type", "application/json")], "{}"), 415, "unsupported_media_type");
    refused(&post(&[FORM], "other=1"), 400, "invalid_field");
    refused(&post(&[FORM], &format!("logout_token={token}&logout_token={token}")), 400, "invalid_field");
    refused(&post(&[FORM], "logout_token=%zz"), 400, "invalid_body");
    refused(&post(&[FORM], &"x".repeat(70_000)), 413, "payload_too_large");
    refused(&front.stranger().send("POST", "/auth/backchannel-logout?x=1", &[FORM], b""), 400, "unknown_parameter");
    assert_eq!(front.stranger().get("/auth/backchannel-logout").status, 405);
    // Neither cookie nor Origin has a say: it is the provider who calls. What else is in the form is passed over.
    let answer = post(
        &[FORM, ("origin", "https://evil.example"), ("idempotency-key", "k")],
        &format!("a=1&logout_token={token}"),
    );
    acted(&answer, 1);
    assert!(!zoe.is_in());
}
