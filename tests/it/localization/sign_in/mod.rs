//! Sign-in from outside: a provider that says what it is told, real ones, and everything that somebody may try.

mod attacks;
mod flow;
mod liar;
mod logout;
mod provider;
mod sessions;

use std::sync::LazyLock;

use quintet_platform::clock::Clock;
use quintet_platform::http::query::decode_segment;
use serde_json::{Value, json};

use super::Desk;
use crate::support::appliance::{Answer, Appliance, Client, Setup, quintet, unique};
use liar::{By, Liar};

/// Where the service says that it is reached, and its origin.
const PUBLIC: &str = "https://l10n.test";
const CALLBACK: &str = "https://l10n.test/auth/callback";
const SESSION: &str = "__Host-l10n_session";
const LOGIN: &str = "__Host-l10n_login";

/// An appliance whose people sign in with a liar.
pub struct Front {
    pub appliance: Appliance,
    pub liar: Liar,
    /// Whether its clock moves only when told.
    is_rehearsal: bool,
}

/// The one that tests share.
pub fn front() -> &'static Front {
    static SHARED: LazyLock<Front> = LazyLock::new(|| Front::open(Setup::new(), Liar::start(), false));
    &SHARED
}

/// The configuration of an appliance whose people sign in with this provider.
pub fn with_provider(setup: Setup, issuer: &str, secret: &str) -> Setup {
    setup
        .env("QUINTET_LOCALIZATION__PUBLIC_URL", PUBLIC)
        .env("QUINTET_LOCALIZATION__IDENTITY__ISSUER", issuer)
        .env("QUINTET_LOCALIZATION__IDENTITY__CLIENT_ID", "quintet")
        .env("QUINTET_LOCALIZATION__IDENTITY__CLIENT_SECRET", secret)
        .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8,::1/128")
}

impl Front {
    pub fn open(setup: Setup, liar: Liar, is_rehearsal: bool) -> Front {
        let setup = with_provider(setup, &liar.issuer, "client-secret");
        let setup = if is_rehearsal { setup.rehearsal() } else { setup };
        Front { appliance: setup.start(), liar, is_rehearsal }
    }

    /// What the doctor says where the same is configured.
    pub fn doctor(&self) -> std::process::Output {
        let mut doctor = quintet();
        doctor.args(["doctor", "--data"]).arg(self.appliance.data());
        doctor.env("QUINTET_LOCALIZATION__PUBLIC_URL", PUBLIC);
        doctor.env("QUINTET_LOCALIZATION__IDENTITY__ISSUER", &self.liar.issuer);
        doctor.env("QUINTET_LOCALIZATION__IDENTITY__CLIENT_ID", "quintet");
        doctor.env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8,::1/128").output().unwrap()
    }

    /// Seconds since 1970, by the appliance's clock.
    pub fn now(&self) -> i64 {
        match self.is_rehearsal {
            true => {
                let shown = self.appliance.cli_json(&["clock", "show"]);
                let now = quintet_platform::clock::parse_rfc3339(shown["now"].as_str().unwrap()).unwrap();
                now.as_micros() / 1_000_000
            }
            false => Clock::system().now().as_micros() / 1_000_000,
        }
    }

    pub fn stranger(&self) -> Client {
        self.appliance.stranger("localization")
    }

    /// A fresh tenant with a member of a fresh address, who has not signed in.
    pub fn invited(&self) -> Invited {
        let desk = Desk::open(&self.appliance);
        let subject = format!("person-{}", unique());
        let member = invite(&desk, &format!("{subject}@example.org"));
        Invited { desk, subject, member }
    }

    /// A login of a tenant.
    pub fn begin(&self, tenant_id: &str) -> Begun {
        begin(&self.stranger(), tenant_id)
    }

    /// The claims of an ID token for a login.
    pub fn claims(&self, begun: &Begun, subject: &str) -> Value {
        let now = self.now();
        json!({
            "iss": self.liar.issuer, "sub": subject, "aud": "quintet", "iat": now, "exp": now + 300,
            "nonce": begun.nonce, "sid": format!("at-{subject}"),
            "email": format!("{subject}@example.org"), "email_verified": true,
        })
    }

    /// The callback of a login, with what the liar answers to its code.
    pub fn come_with(&self, begun: &Begun, token: &str) -> Answer {
        let code = self.liar.code(200, &json!({"id_token": token, "access_token": "at"}));
        self.come_by(begun, &format!("code={code}&state={}", begun.state))
    }

    /// The callback of a login with this query.
    pub fn come_by(&self, begun: &Begun, query: &str) -> Answer {
        let cookie = format!("{LOGIN}={}", begun.cookie);
        self.stranger().send("GET", &format!("/auth/callback?{query}"), &[("cookie", &cookie)], b"")
    }

    /// Signs somebody in to a tenant.
    #[track_caller]
    pub fn sign_in(&self, tenant_id: &str, subject: &str) -> Person {
        let begun = self.begin(tenant_id);
        let answer = self.come_with(&begun, &By::Rs256.token(&self.claims(&begun, subject)));
        assert_eq!(answer.status, 200, "{answer:?}");
        Person::of(self.stranger(), &answer)
    }
}

/// A tenant, and somebody who is invited there.
pub struct Invited {
    pub desk: Desk,
    pub subject: String,
    pub member: Value,
}

/// Invites an address; the member.
pub fn invite(desk: &Desk, email: &str) -> Value {
    desk.post("/v1/members", &json!({"email": email})).expect(201)
}

/// A login under way.
pub struct Begun {
    pub location: String,
    pub cookie: String,
    pub state: String,
    pub nonce: String,
}

#[track_caller]
pub fn begin(stranger: &Client, tenant_id: &str) -> Begun {
    let answer = stranger.get(&format!("/auth/login?tenant={tenant_id}"));
    assert_eq!(answer.status, 302, "{answer:?}");
    let location = answer.header("location").to_owned();
    let query = pairs(location.split_once('?').unwrap().1);
    let field = |name: &str| query.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let (state, nonce) = (field("state"), field("nonce"));
    Begun { cookie: set_cookie(&answer, LOGIN).unwrap().0, state, nonce, location }
}

/// The cookie of this name that an answer sets: its value and its attributes.
pub fn set_cookie(answer: &Answer, name: &str) -> Option<(String, String)> {
    let fields = answer.headers.get_all("set-cookie").iter().map(|field| field.to_str().unwrap());
    let found = fields.filter_map(|field| field.strip_prefix(name)?.strip_prefix('=')).next()?;
    let (value, attributes) = found.split_once(';').unwrap();
    Some((value.to_owned(), attributes.trim().to_owned()))
}

/// Pairs of a query or form.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| decode_segment(&text.replace('+', "%20")).unwrap();
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// Somebody with a session.
pub struct Person {
    pub client: Client,
    pub token: String,
    /// What the callback, or the switch, answered.
    pub told: Value,
}

impl Person {
    pub fn of(stranger: Client, answer: &Answer) -> Person {
        let (token, _) = set_cookie(answer, SESSION).unwrap_or_else(|| panic!("no session: {answer:?}"));
        let told = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
        Person { client: stranger, token, told }
    }

    pub fn cookie(&self) -> String {
        format!("{SESSION}={}", self.token)
    }

    /// A request as a page of the service makes it.
    pub fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let kind: &[(&str, &str)] = if body.is_empty() { &[] } else { &[("content-type", "application/json")] };
        self.send_with(method, path, &[&[("origin", PUBLIC)], kind].concat(), body)
    }

    /// A request with the cookie and these fields.
    pub fn send_with(&self, method: &str, path: &str, head: &[(&str, &str)], body: &str) -> Answer {
        let cookie = self.cookie();
        self.client.send(method, path, &[&[("cookie", cookie.as_str())], head].concat(), body.as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send_with("GET", path, &[], "")
    }

    /// Whether the session still lets in.
    pub fn is_in(&self) -> bool {
        match self.get("/v1/me") {
            Answer { status: 200, .. } => true,
            Answer { status: 401, .. } => false,
            other => panic!("{other:?}"),
        }
    }
}

/// `base` with these members; null takes one away.
pub fn changed(base: &Value, change: &Value) -> Value {
    let mut changed = base.clone();
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(changed.as_object_mut().unwrap().remove(name)),
            value => changed[name] = value.clone(),
        }
    }
    changed
}
