//! Real providers of two makes, as they are: `oidc-provider` of npm and `oidc-provider-mock` of PyPI.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CALLBACK, LOGIN, PUBLIC, Person, begin, invite, pairs, with_provider};
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, unique};

/// Where the providers are. What cannot be fetched is no reason to pass.
static PROVIDERS: LazyLock<PathBuf> = LazyLock::new(|| {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identity/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the providers cannot be had");
    String::from_utf8(output.stdout).unwrap().trim().into()
});

/// A provider. It ends with its standard input.
struct Provider {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
    issuer: String,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Provider {
    fn start(mut command: Command) -> Provider {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut provider = Provider { child, stdin, lines: BufReader::new(stdout), issuer: String::new() };
        provider.issuer = text(&provider.line(), "issuer");
        provider
    }

    fn npm() -> Provider {
        let mut node = Command::new("node");
        node.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identity/provider.mjs")).arg(&*PROVIDERS);
        Provider::start(node)
    }

    fn pypi() -> Provider {
        let mut python = Command::new(PROVIDERS.join("python/bin/python3"));
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identity/provider.py"));
        Provider::start(python)
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).unwrap() > 0, "the provider has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Says what it is to be.
    fn become_provider(&mut self, appliance: &Appliance, alg: &str, proof: &str, email_in_token: bool) {
        let told = json!({
            "redirect_uri": CALLBACK, "logged_out_uri": format!("{PUBLIC}/auth/logged-out"), "secret": "client-secret",
            "backchannel_uri": format!("http://{}/auth/backchannel-logout", appliance.address("localization")),
            "alg": alg, "proof": proof, "email_in_token": email_in_token,
        });
        writeln!(self.stdin, "{told}").unwrap();
        assert_eq!(self.line(), json!({"ready": true}));
    }
}

/// A browser at the provider: it keeps cookies and follows redirects, as far as they lead there.
struct Browser {
    agent: ureq::Agent,
    account: Option<String>,
}

impl Browser {
    fn of(account: Option<&str>) -> Browser {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build().into();
        Browser { agent, account: account.map(str::to_owned) }
    }

    /// Opens an address of the provider; where that leads in the end, or the last page.
    fn open(
        &self,
        jar: &mut Vec<(String, String)>,
        issuer: &str,
        address: &str,
        form: Option<&str>,
    ) -> Result<String, String> {
        let (mut address, mut form) = (address.to_owned(), form);
        for _ in 0..10 {
            let cookies: Vec<String> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let account = self.account.clone().unwrap_or_default();
            let mut response = match form.take() {
                Some(form) => self
                    .agent
                    .post(&address)
                    .header("cookie", cookies.join("; "))
                    .header("content-type", "application/x-www-form-urlencoded")
                    .send(form)
                    .unwrap(),
                None => self
                    .agent
                    .get(&address)
                    .header("cookie", cookies.join("; "))
                    .header("x-account", account)
                    .call()
                    .unwrap(),
            };
            for field in response.headers().get_all("set-cookie") {
                let pair = field.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap();
                jar.retain(|(known, _)| known != name);
                if !value.is_empty() {
                    jar.push((name.to_owned(), value.to_owned()));
                }
            }
            let Some(location) = response.headers().get("location") else {
                return Err(response.body_mut().read_to_string().unwrap());
            };
            let location = location.to_str().unwrap().to_owned();
            if location.starts_with(PUBLIC) {
                return Ok(location);
            }
            address = if location.starts_with('/') { format!("{issuer}{location}") } else { location };
        }
        panic!("redirects without an end");
    }
}

/// What comes of a login, tried again while a busy machine keeps the provider from answering in time.
fn patiently(come: impl Fn() -> Answer) -> Answer {
    for _ in 0..10 {
        let answer = come();
        if answer.status != 503 {
            return answer;
        }
    }
    come()
}

/// Signs somebody in; the callback's query is handed to the service as the browser would.
fn sign_in(
    appliance: &Appliance,
    issuer: &str,
    tenant_id: &str,
    jar: &RefCell<Vec<(String, String)>>,
    account: &str,
) -> Person {
    let stranger = appliance.stranger("localization");
    let answer = patiently(|| {
        let begun = begin(&stranger, tenant_id);
        let back = Browser::of(Some(account)).open(&mut jar.borrow_mut(), issuer, &begun.location, None).unwrap();
        let cookie = format!("{LOGIN}={}", begun.cookie);
        stranger.send("GET", back.strip_prefix(PUBLIC).unwrap(), &[("cookie", &cookie)], b"")
    });
    assert_eq!(answer.status, 200, "{answer:?}\n{}", appliance.log());
    Person::of(stranger, &answer)
}

#[test]
fn people_sign_in_and_out_with_a_provider_of_npm() {
    // Each algorithm, both proofs of the client, and the address in the ID token or in userinfo alone.
    let ways = [
        ("RS256", "client_secret_basic", true),
        ("PS256", "client_secret_post", true),
        ("ES256", "client_secret_basic", false),
        ("EdDSA", "client_secret_basic", true),
    ];
    for (alg, proof, email_in_token) in ways {
        let mut provider = Provider::npm();
        let appliance = with_provider(Setup::new(), &provider.issuer, "client-secret").start();
        provider.become_provider(&appliance, alg, proof, email_in_token);
        let (desk, account) = (Desk::open(&appliance), format!("zoe{}", unique()));
        let member = invite(&desk, &format!("{account}@example.org"));
        let jar = RefCell::default();
        let zoe = sign_in(&appliance, &provider.issuer, &desk.tenant_id, &jar, &account);
        assert_eq!(zoe.told["principal_id"], member["id"], "{alg}");
        assert_eq!(zoe.get("/v1/me").expect(200)["kind"], "member");

        // Somebody whose address nobody vouches for, and somebody who changes his mind.
        let stranger = appliance.stranger("localization");
        let unverified = format!("unverified{}", unique());
        invite(&desk, &format!("{unverified}@example.org"));
        for (account, status, code) in [(Some(unverified.as_str()), 403, "forbidden"), (None, 401, "unauthenticated")] {
            let answer = patiently(|| {
                let begun = begin(&stranger, &desk.tenant_id);
                let back = Browser::of(account).open(&mut Vec::new(), &provider.issuer, &begun.location, None).unwrap();
                let cookie = format!("{LOGIN}={}", begun.cookie);
                stranger.send("GET", back.strip_prefix(PUBLIC).unwrap(), &[("cookie", &cookie)], b"")
            });
            refused(&answer, status, code);
        }

        // Signing out here leads there, which tells of it: the other sessions of that provider's session end.
        let elsewhere = sign_in(&appliance, &provider.issuer, &desk.tenant_id, &jar, &account);
        let told = zoe.send("POST", "/auth/logout", "").expect(200);
        assert!(!zoe.is_in() && elsewhere.is_in());
        let page = Browser::of(None)
            .open(&mut jar.borrow_mut(), &provider.issuer, &text(&told, "logout_url"), None)
            .unwrap_err();
        let token = page.split("name=\"xsrf\" value=\"").nth(1).unwrap_or_else(|| panic!("{page}"));
        let form = format!("xsrf={}&logout=yes", token.split('"').next().unwrap());
        let confirm = format!("{}/session/end/confirm", provider.issuer);
        let back = Browser::of(None).open(&mut jar.borrow_mut(), &provider.issuer, &confirm, Some(&form)).unwrap();
        assert_eq!(back, format!("{PUBLIC}/auth/logged-out"));
        let begun = Instant::now();
        while elsewhere.is_in() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{alg}: nobody told of it\n{}", appliance.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        let events = desk.get("/v1/audit/events?limit=500");
        if events.status == 200 {
            assert!(events.text.contains("session.end"), "{}", events.text);
        }
    }
}

#[test]
fn a_code_and_a_login_are_good_once_at_a_real_provider_too() {
    let mut provider = Provider::npm();
    let appliance = with_provider(Setup::new(), &provider.issuer, "client-secret").start();
    provider.become_provider(&appliance, "RS256", "client_secret_basic", true);
    let (desk, account) = (Desk::open(&appliance), format!("zoe{}", unique()));
    invite(&desk, &format!("{account}@example.org"));
    let stranger = appliance.stranger("localization");
    let (one, other) = (begin(&stranger, &desk.tenant_id), begin(&stranger, &desk.tenant_id));
    let back = Browser::of(Some(&account)).open(&mut Vec::new(), &provider.issuer, &one.location, None).unwrap();
    let query = pairs(back.split_once('?').unwrap().1);
    let code = &query.iter().find(|(name, _)| name == "code").unwrap().1;
    assert!(query.iter().any(|(name, value)| name == "iss" && *value == provider.issuer), "it promises iss: {back}");
    let come = |begun: &super::Begun, query: &str| {
        let cookie = format!("{LOGIN}={}", begun.cookie);
        stranger.send("GET", &format!("/auth/callback?{query}"), &[("cookie", &cookie)], b"")
    };
    // The code of one login in another one of the same browser: PKCE and the nonce stand in its way.
    let injected = format!("code={code}&state={}&iss={}", other.state, provider.issuer);
    refused(&come(&other, &injected), 401, "unauthenticated");
    // A provider that promises iss, and a callback without it.
    let begun = begin(&stranger, &desk.tenant_id);
    let back = Browser::of(Some(&account)).open(&mut Vec::new(), &provider.issuer, &begun.location, None).unwrap();
    let query = back.split_once('?').unwrap().1;
    let without: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("iss=")).collect();
    refused(&come(&begun, &without.join("&")), 401, "unauthenticated");
    let begun = begin(&stranger, &desk.tenant_id);
    let back = Browser::of(Some(&account)).open(&mut Vec::new(), &provider.issuer, &begun.location, None).unwrap();
    let query = back.split_once('?').unwrap().1;
    assert_eq!(come(&begun, query).status, 200);
    refused(&come(&begun, query), 401, "unauthenticated");
}

#[test]
fn people_sign_in_with_a_provider_of_another_make() {
    let provider = Provider::pypi();
    let appliance = with_provider(Setup::new(), &provider.issuer, "any").start();
    let (desk, account) = (Desk::open(&appliance), format!("zoe{}", unique()));
    let email = format!("{account}@example.org");
    let member = invite(&desk, &email);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build().into();
    let stranger = appliance.stranger("localization");
    let come_back = || {
        let begun = begin(&stranger, &desk.tenant_id);
        let form = format!("sub={account}");
        let posted = agent.post(&begun.location).content_type("application/x-www-form-urlencoded").send(&form).unwrap();
        let back = posted.headers()["location"].to_str().unwrap().to_owned();
        let cookie = format!("{LOGIN}={}", begun.cookie);
        stranger.send("GET", back.strip_prefix(PUBLIC).unwrap(), &[("cookie", &cookie)], b"")
    };
    let come = |claims: Value| {
        let user = format!("{}/users/{account}", provider.issuer);
        assert_eq!(agent.put(&user).content_type("application/json").send(claims.to_string()).unwrap().status(), 204);
        patiently(come_back)
    };
    refused(&come(json!({"email": email})), 403, "forbidden");
    let answer = come(json!({"email": email, "email_verified": true}));
    assert_eq!(answer.status, 200, "{answer:?}\n{}", appliance.log());
    let zoe = Person::of(stranger.clone(), &answer);
    assert_eq!(zoe.told["principal_id"], member["id"]);
    let told = zoe.send("POST", "/auth/logout", "").expect(200);
    assert!(text(&told, "logout_url").starts_with(&format!("{}/oauth2/end_session?", provider.issuer)), "{told}");
    assert!(!zoe.is_in());
}
