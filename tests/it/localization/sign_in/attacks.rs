//! The table of attacks: what somebody tries, and what the service answers. `--nocapture` prints it.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::liar::{By, Liar, STUCK, key_set, public_spellings};
use super::{Begun, Front, LOGIN, PUBLIC, Person, SESSION, changed, front, set_cookie};
use crate::localization::{Desk, refused};
use crate::support::appliance::{Answer, Setup};

/// What was tried, and what was answered.
struct Table(RefCell<Vec<(String, String)>>);

impl Table {
    fn new() -> Table {
        Table(RefCell::new(Vec::new()))
    }

    /// An attempt that was answered so.
    #[track_caller]
    fn row(&self, attempt: &str, answer: &Answer, status: u16, code: &str) {
        match code {
            "" => assert_eq!(answer.status, status, "{attempt}: {answer:?}"),
            code => drop(refused(answer, status, code)),
        }
        assert!(set_cookie(answer, SESSION).is_none_or(|(value, _)| value.is_empty() || status == 200), "{attempt}");
        self.0.borrow_mut().push((attempt.to_owned(), format!("{status} {code}").trim_end().to_owned()));
    }

    /// Prints what was tried.
    #[expect(clippy::print_stdout, reason = "shown if asked for, like any test's output")]
    fn print(&self, title: &str) {
        let rows = self.0.borrow();
        let width = rows.iter().map(|(attempt, _)| attempt.chars().count()).max().unwrap_or(0);
        println!("\n{title}");
        for (attempt, answer) in rows.iter() {
            println!("  {attempt:width$}  {answer}");
        }
    }
}

/// Every failed sign-in is this, to the byte.
const FAILED: &str = r#"{"type":"urn:l10n:problem:unauthenticated","title":"A valid credential is required","status":401,"code":"unauthenticated"}"#;

#[track_caller]
fn alike(table: &Table, attempt: &str, answer: &Answer) {
    assert_eq!(answer.text, FAILED, "{attempt}: {answer:?}");
    table.row(attempt, answer, 401, "unauthenticated");
}

/// A login, its code and the token for it, all in order.
fn good(front: &Front, tenant_id: &str, subject: &str) -> (Begun, String) {
    let begun = front.begin(tenant_id);
    let token = By::Rs256.token(&front.claims(&begun, subject));
    let code = front.liar.code(200, &json!({"id_token": token}));
    (begun, code)
}

#[test]
fn forged_states_and_codes() {
    let (front, table) = (front(), Table::new());
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    let stranger = front.stranger();
    let come = |cookie: &str, query: &str| {
        stranger.send("GET", &format!("/auth/callback?{query}"), &[("cookie", cookie)], b"")
    };
    let good = || good(front, tenant_id, &invited.subject);
    let own = |begun: &Begun| format!("{LOGIN}={}", begun.cookie);
    let query = |begun: &Begun, code: &str| format!("code={code}&state={}", begun.state);

    let (begun, code) = good();
    alike(
        &table,
        "a callback without a login's cookie",
        &stranger.get(&format!("/auth/callback?{}", query(&begun, &code))),
    );
    alike(&table, "nothing at all", &stranger.get("/auth/callback"));
    alike(&table, "a cookie, and no state", &come(&own(&begun), &format!("code={code}")));
    alike(&table, "a state that was made up", &come(&own(&begun), &format!("code={code}&state={}", "A".repeat(43))));
    alike(&table, "an empty state", &come(&own(&begun), &format!("code={code}&state=")));
    alike(&table, "two states, one of them right", &come(&own(&begun), &format!("{}&state=x", query(&begun, &code))));
    let (others, _) = good();
    alike(&table, "the state of another login of the same browser", &come(&own(&begun), &query(&others, &code)));
    alike(&table, "a login of another browser (its state, our cookie)", &come(&own(&others), &query(&begun, &code)));
    let both = format!("{}; {}", own(&begun), own(&others));
    alike(&table, "two cookies of logins", &come(&both, &query(&begun, &code)));
    let mut bent = begun.cookie.clone().into_bytes();
    bent[60] = if bent[60] == b'A' { b'B' } else { b'A' };
    let bent = format!("{LOGIN}={}", String::from_utf8(bent).unwrap());
    alike(&table, "a cookie with one character changed", &come(&bent, &query(&begun, &code)));
    alike(&table, "a cookie that was made up", &come(&format!("{LOGIN}={}", "A".repeat(200)), &query(&begun, &code)));
    let plain = format!("l10n_login={}", begun.cookie);
    alike(&table, "the cookie under a name that other sites can set", &come(&plain, &query(&begun, &code)));
    // None of these has spent the login: it is still its browser's.
    assert_eq!(come(&own(&begun), &query(&begun, &code)).status, 200);
    alike(&table, "the same callback again", &come(&own(&begun), &query(&begun, &code)));
    let (_, fresh) = good();
    alike(&table, "the same login with a fresh code", &come(&own(&begun), &query(&begun, &fresh)));

    for (attempt, more) in [
        ("no code", ""),
        ("a code that was made up", "&code=made-up"),
        ("two codes", "&code=a&code=b"),
        ("the provider says error=access_denied", "&error=access_denied&error_description=no"),
        ("a code and an error", "&code=a&error=server_error"),
        ("markup in error_description", "&error=x&error_description=%3Cscript%3E"),
    ] {
        let (begun, _) = good();
        alike(&table, attempt, &come(&own(&begun), &format!("state={}{more}", begun.state)));
        let (_, code) = good();
        alike(&table, "… and then a good code for that login", &come(&own(&begun), &query(&begun, &code)));
    }
    let (begun, code) = good();
    let evil = format!("{}&iss=https%3A%2F%2Fevil.example", query(&begun, &code));
    alike(&table, "iss of another provider (mix-up)", &come(&own(&begun), &evil));
    assert!(front.liar.asked(&code).is_none(), "the code was not handed on");
    let (begun, code) = good();
    let twice = format!("{}&iss={}&iss=x", query(&begun, &code), front.liar.issuer);
    alike(&table, "iss twice", &come(&own(&begun), &twice));
    table.row("a query that is none", &come(&own(&begun), "code=%zz"), 400, "invalid_parameter");
    table.print("Callbacks");
}

#[test]
fn who_makes_up_codes_shuts_nobody_out_and_leaves_nothing() {
    let setup = Setup::new().env("QUINTET_HTTP__TRUSTED_PROXIES", "127.0.0.0/8");
    let front = Front::open(setup, Liar::start(), false);
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    front.sign_in(tenant_id, &invited.subject);
    let come = |begun: &Begun, source: &str, query: &str| {
        let cookie = format!("{LOGIN}={}", begun.cookie);
        let headers = [("cookie", cookie.as_str()), ("x-forwarded-for", source)];
        front.stranger().send("GET", &format!("/auth/callback?state={}&{query}", begun.state), &headers, b"").status
    };
    let written = || front.appliance.cli_json(&["status"])["storage"]["last_transaction_at"].clone();
    let fail = || {
        for query in ["error=access_denied", "code=made-up", ""] {
            let begun = front.begin(tenant_id);
            assert_eq!([come(&begun, "192.0.2.1", query), come(&begun, "192.0.2.1", query)], [401, 401]);
        }
    };
    // What is noted by the minute may be written meanwhile, but not each time.
    let leaves_nothing = || {
        let before = written();
        fail();
        written() == before
    };
    assert!((0..3).any(|_| leaves_nothing()), "something is stored of what strangers fail at");
    // Somebody holds as many requests to the provider as he can.
    std::thread::scope(|scope| {
        for number in 0..40 {
            let (come, front) = (&come, &front);
            scope.spawn(move || {
                let begun = front.begin(tenant_id);
                assert_eq!(come(&begun, "192.0.2.1", &format!("code={STUCK}-{number}")), 503);
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        let begun = Instant::now();
        let login = front.begin(tenant_id);
        let token = By::Rs256.token(&front.claims(&login, &invited.subject));
        let code = front.liar.code(200, &json!({"id_token": token, "access_token": "at"}));
        assert_eq!(come(&login, "192.0.2.2", &format!("code={code}")), 200);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

#[test]
fn forged_tokens() {
    let (front, table) = (front(), Table::new());
    let invited = front.invited();
    let tenant_id = &invited.desk.tenant_id;
    let come = |make: &dyn Fn(&Value) -> String| {
        let begun = front.begin(tenant_id);
        front.come_with(&begun, &make(&front.claims(&begun, &invited.subject)))
    };
    let with = |change: Value| come(&|claims| By::Rs256.token(&changed(claims, &change)));
    let now = front.now();

    alike(&table, "alg none", &come(&|claims| By::Nothing.token(claims)));
    alike(
        &table,
        "alg none under the name of a key",
        &come(&|claims| By::Nothing.token_under(&json!({"alg": "none", "kid": "rsa"}), claims)),
    );
    alike(&table, "alg nOnE", &come(&|claims| By::Nothing.token_under(&json!({"alg": "nOnE"}), claims)));
    for secret in public_spellings() {
        alike(&table, "HS256 with the public key as secret", &come(&|claims| By::Hs256(secret.clone()).token(claims)));
    }
    alike(
        &table,
        "HS256 with the client's secret",
        &come(&|claims| By::Hs256(b"client-secret".to_vec()).token(claims)),
    );
    alike(
        &table,
        "HS256 signed, said to be RS256",
        &come(&|claims| By::Hs256(public_spellings().remove(0)).token_under(&By::Rs256.header(), claims)),
    );
    alike(&table, "signed by nobody's key under a known name", &come(&|claims| By::Stranger.token(claims)));
    alike(
        &table,
        "a name that no key has",
        &come(&|claims| By::EdDsa.token_under(&json!({"alg": "EdDSA", "kid": "x"}), claims)),
    );
    alike(
        &table,
        "the name of a key of another kind",
        &come(&|claims| By::Rs256.token_under(&json!({"alg": "RS256", "kid": "ec"}), claims)),
    );
    alike(
        &table,
        "RS256 said to be PS256",
        &come(&|claims| By::Rs256.token_under(&json!({"alg": "PS256", "kid": "rsa"}), claims)),
    );
    alike(
        &table,
        "a key of its own in the header (jwk)",
        &come(&|claims| {
            let mut header = By::Stranger.header();
            header["jwk"] = key_set()["keys"][2].clone();
            By::Stranger.token_under(&header, claims)
        }),
    );
    alike(
        &table,
        "an address of keys in the header (jku)",
        &come(&|claims| {
            By::Stranger
                .token_under(&changed(&By::Stranger.header(), &json!({"jku": "https://evil.example/jwks"})), claims)
        }),
    );
    alike(
        &table,
        "a critical extension (crit)",
        &come(&|claims| By::Rs256.token_under(&changed(&By::Rs256.header(), &json!({"crit": ["exp"]})), claims)),
    );
    alike(
        &table,
        "without its signature",
        &come(&|claims| {
            let token = By::Rs256.token(claims);
            format!("{}.", token.rsplit_once('.').unwrap().0)
        }),
    );
    alike(
        &table,
        "claims exchanged under a good signature",
        &come(&|claims| {
            let (own, other) = (By::Rs256.token(claims), By::Rs256.token(&changed(claims, &json!({"sub": "other"}))));
            let (signature, other) =
                (own.rsplit_once('.').unwrap().1.to_owned(), other.rsplit_once('.').unwrap().0.to_owned());
            format!("{other}.{signature}")
        }),
    );
    alike(&table, "no token", &come(&|_| String::new()));
    alike(&table, "a text that is no token", &come(&|_| "not.a.token".to_owned()));
    alike(
        &table,
        "a token of 40,000 bytes",
        &come(&|claims| By::Rs256.token(&changed(claims, &json!({"x": "x".repeat(40_000)})))),
    );
    for (attempt, change) in [
        ("another issuer", json!({"iss": "https://evil.example"})),
        ("the issuer with a slash more", json!({"iss": format!("{}/", front.liar.issuer)})),
        ("another audience", json!({"aud": "another-client"})),
        ("no audience", json!({"aud": null})),
        ("two audiences, and not said for whom (azp)", json!({"aud": ["quintet", "another-client"]})),
        ("issued for another client (azp)", json!({"azp": "another-client"})),
        ("expired", json!({"exp": now - 120})),
        ("without an end", json!({"exp": null})),
        ("an end that is a text", json!({"exp": (now + 300).to_string()})),
        ("issued in the future", json!({"iat": now + 600})),
        ("without the instant of its making", json!({"iat": null})),
        ("not valid yet (nbf)", json!({"nbf": now + 600})),
        ("the nonce of another login", json!({"nonce": "A".repeat(43)})),
        ("without a nonce", json!({"nonce": null})),
        ("without a subject", json!({"sub": null})),
    ] {
        alike(&table, attempt, &with(change));
    }
    // What is only within the leeway passes, so that it is these claims that were refused.
    let (begun, within) = (front.begin(tenant_id), json!({"exp": now - 30, "iat": now - 400}));
    let claims = changed(&front.claims(&begun, &invited.subject), &within);
    assert_eq!(front.come_with(&begun, &By::Rs256.token(&claims)).status, 200);

    // A token of one login is nothing to another, whosever it is.
    let (one, other) = (front.begin(tenant_id), front.begin(tenant_id));
    let token = By::Rs256.token(&front.claims(&one, &invited.subject));
    alike(&table, "the token of another login", &front.come_with(&other, &token));
    table.print("ID tokens");
}

#[test]
fn tenants_and_sessions_that_are_mixed() {
    let (front, table) = (front(), Table::new());
    let (one, other) = (front.invited(), front.invited());
    let zoe = front.sign_in(&one.desk.tenant_id, &one.subject);
    let named = |tenant_id: &str| zoe.send_with("GET", "/v1/me", &[("l10n-tenant", tenant_id)], "");
    assert_eq!(named(&one.desk.tenant_id).status, 200, "it may be confirmed");
    table.row("a session of one tenant, another one named", &named(&other.desk.tenant_id), 403, "forbidden");
    table.row("a tenant that is no UUID", &named("x"), 400, "invalid_parameter");
    let twice = [("l10n-tenant", one.desk.tenant_id.as_str()), ("l10n-tenant", one.desk.tenant_id.as_str())];
    table.row("a tenant named twice", &zoe.send_with("GET", "/v1/me", &twice, ""), 400, "invalid_parameter");
    let theirs = other.desk.project();
    let path = format!("/v1/projects/{}", theirs["id"].as_str().unwrap());
    table.row("another tenant's project", &zoe.get(&path), 404, "not_found");
    let switch =
        |tenant_id: &str| zoe.send("POST", "/auth/switch-tenant", &json!({"tenant_id": tenant_id}).to_string());
    table.row("to a tenant where one is nobody", &switch(&other.desk.tenant_id), 403, "forbidden");
    table.row("to a tenant that there is not", &switch("00000000-0000-0000-0000-000000000000"), 403, "forbidden");
    let suspended = front.appliance.tenant();
    super::invite(&Desk::of(&front.appliance, &suspended, &[]), &format!("{}@example.org", one.subject));
    assert!(front.appliance.cli(&["tenant", "suspend", &suspended]).status.success());
    table.row("to a suspended tenant", &switch(&suspended), 403, "forbidden");
    assert!(zoe.is_in(), "none of it has ended the session");

    // Cookies.
    let stranger = front.stranger();
    let with = |cookie: &str| stranger.send("GET", "/v1/me", &[("cookie", cookie)], b"");
    let max = front.sign_in(&other.desk.tenant_id, &other.subject);
    let both = format!("{}; {}", zoe.cookie(), max.cookie());
    table.row("two cookies of sessions", &with(&both), 401, "unauthenticated");
    table.row("a session that was made up", &with(&format!("{SESSION}={}", "A".repeat(64))), 401, "unauthenticated");
    let bytes = |text: &str| data_encoding::BASE64URL_NOPAD.decode(text.as_bytes()).unwrap();
    let mixed = [&bytes(&zoe.token)[..16], &bytes(&max.token)[16..]].concat();
    let mixed = format!("{SESSION}={}", data_encoding::BASE64URL_NOPAD.encode(&mixed));
    table.row("one session's id with another's secret", &with(&mixed), 401, "unauthenticated");
    table.row("the cookie under another name", &with(&format!("l10n_session={}", zoe.token)), 401, "unauthenticated");
    table.row(
        "the token as a bearer credential",
        &front.appliance.client("localization", &zoe.token).get("/v1/me"),
        401,
        "unauthenticated",
    );
    let (_, key) = front.appliance.key(&other.desk.tenant_id, &[]);
    let bearer = |key: &str, tenant_id: &str| {
        let head = [("authorization", format!("Bearer {key}")), ("l10n-tenant", tenant_id.to_owned())];
        let head: Vec<(&str, &str)> = head.iter().map(|(name, value)| (*name, value.as_str())).collect();
        zoe.send_with("GET", "/v1/me", &head, "")
    };
    let outweighs = bearer(&key, &other.desk.tenant_id);
    assert_eq!(outweighs.expect(200)["tenant_id"], other.desk.tenant_id.as_str(), "the key counts, not the cookie");
    table.row("a wrong key beside a good cookie", &bearer("rak_x", &one.desk.tenant_id), 401, "unauthenticated");
    table.row(
        "a key of another tenant than the cookie's, which is named",
        &bearer(&key, &one.desk.tenant_id),
        403,
        "forbidden",
    );
    let out = other.desk.send("POST", "/auth/logout", &[("origin", PUBLIC)], b"");
    table.row("a key signs out", &out, 401, "unauthenticated");

    // Fixation: what the browser held before is not what it holds after.
    let fixed = front.begin(&one.desk.tenant_id);
    let token = By::Rs256.token(&front.claims(&fixed, &one.subject));
    let code = front.liar.code(200, &json!({"id_token": token}));
    let cookies = format!("{LOGIN}={}; {}", fixed.cookie, zoe.cookie());
    let path = format!("/auth/callback?code={code}&state={}", fixed.state);
    let fresh = Person::of(front.stranger(), &stranger.send("GET", &path, &[("cookie", &cookies)], b""));
    assert_ne!(fresh.token, zoe.token);
    table.row("the session from before a new login (fixation)", &zoe.get("/v1/me"), 401, "unauthenticated");
    assert!(fresh.is_in());
    let planted = format!("{SESSION}={}", "B".repeat(64));
    let begun = front.begin(&one.desk.tenant_id);
    let code = front.liar.code(200, &json!({"id_token": By::Rs256.token(&front.claims(&begun, &one.subject))}));
    let path = format!("/auth/callback?code={code}&state={}", begun.state);
    let cookies = format!("{LOGIN}={}; {planted}", begun.cookie);
    let answer = stranger.send("GET", &path, &[("cookie", &cookies)], b"");
    assert_eq!(answer.status, 200, "a planted session is passed over");
    table.row("a session that an attacker has planted before", &with(&planted), 401, "unauthenticated");
    table.print("Tenants and sessions");
}

#[test]
fn requests_from_other_sites() {
    let (front, table) = (front(), Table::new());
    let invited = front.invited();
    let zoe = front.sign_in(&invited.desk.tenant_id, &invited.subject);
    let workspace = json!({"slug": "from-afar", "name": "n"}).to_string();
    let json_body = ("content-type", "application/json");
    for (attempt, fields) in [
        ("no Origin", &[][..]),
        ("an empty Origin", &[("origin", "")]),
        ("Origin: null", &[("origin", "null")]),
        ("a foreign Origin", &[("origin", "https://evil.example")]),
        ("our host by http", &[("origin", "http://l10n.test")]),
        ("our host on another port", &[("origin", "https://l10n.test:8443")]),
        ("our host with its usual port spelled out", &[("origin", "https://l10n.test:443")]),
        ("our origin with a path", &[("origin", "https://l10n.test/")]),
        ("our origin in capitals", &[("origin", "https://L10N.test")]),
        ("a name that ends like ours", &[("origin", "https://evil-l10n.test")]),
        ("a name that begins like ours", &[("origin", "https://l10n.test.evil.example")]),
        ("Origin twice", &[("origin", PUBLIC), ("origin", PUBLIC)]),
        (
            "a foreign Origin and a Referer of ours",
            &[("origin", "https://evil.example"), ("referer", "https://l10n.test/")],
        ),
        ("no Origin and a Referer of ours", &[("referer", "https://l10n.test/")]),
        ("Sec-Fetch-Site says same-origin", &[("sec-fetch-site", "same-origin")]),
    ] {
        let fields = [fields, &[json_body]].concat();
        table.row(attempt, &zoe.send_with("POST", "/v1/workspaces", &fields, &workspace), 403, "origin_refused");
    }
    for (method, path) in [
        ("PATCH", "/v1/projects/00000000-0000-0000-0000-000000000000"),
        ("PUT", "/v1/projects/00000000-0000-0000-0000-000000000000/locales"),
        ("DELETE", "/v1/projects/00000000-0000-0000-0000-000000000000/glossary/00000000-0000-0000-0000-000000000000"),
        ("POST", "/auth/logout"),
        ("POST", "/auth/switch-tenant"),
    ] {
        let answer = zoe.send_with(method, path, &[("origin", "null")], "");
        table.row(&format!("{method} {path} from elsewhere"), &answer, 403, "origin_refused");
    }
    refused(&zoe.send_with("POST", "/v1/workspaces", &[json_body], &workspace), 403, "origin_refused");
    // The session comes before the origin, and the origin before everything else.
    let gone = format!("{SESSION}={}", "A".repeat(64));
    let answer = front.stranger().send("POST", "/v1/workspaces", &[("cookie", &gone)], b"");
    table.row("no session, and no Origin", &answer, 401, "unauthenticated");
    let fields = [("origin", "null"), ("l10n-tenant", "x")];
    let answer = zoe.send_with("POST", "/v1/workspaces?colour=red", &fields, "{");
    table.row("a foreign Origin, and everything else wrong, too", &answer, 403, "origin_refused");
    // Reading asks for none, nor does a key, which no other site can send.
    assert_eq!(zoe.send_with("GET", "/v1/me", &[("origin", "https://evil.example")], "").status, 200);
    assert_eq!(zoe.send_with("HEAD", "/v1/me", &[], "").status, 200);
    let made = invited.desk.post("/v1/workspaces", &json!({"slug": "by-key", "name": "n"}));
    assert_eq!(made.status, 201);
    let options = zoe.send_with("OPTIONS", "/v1/workspaces", &[("origin", "https://evil.example")], "");
    assert_eq!(options.status, 405);
    assert!(options.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
    assert!(zoe.is_in());
    table.print("Requests from other sites");
}
