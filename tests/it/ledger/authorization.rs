//! An external authorization system: what it says counts, at once; what it does not say is undetermined.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::ledger::{refused, text};
use crate::support::appliance::{Appliance, Setup, fresh_key};
use crate::support::receiver::heard;

const OWN: &str = "appliance-credential";

/// A small authorization system that speaks the interface for real: it knows keys and answers what it is asked.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// What introspection answers, by credential.
    keys: BTreeMap<String, Value>,
    /// Credentials by key id.
    ids: BTreeMap<String, String>,
    /// Answers instead of everything else: status and body.
    instead: Option<(u16, &'static str)>,
    /// Only of these methods.
    only: Option<&'static str>,
    asked: u64,
}

impl Desk {
    fn open() -> (Desk, String) {
        let desk = Desk::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/authz", listener.local_addr().unwrap());
        let serving = desk.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                serving.serve(stream);
            }
        });
        (desk, url)
    }

    /// One that speaks TLS, with a certificate of an authority of its own; that one's certificate.
    fn open_with_tls() -> (Desk, String, String) {
        let desk = Desk::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}/authz", listener.local_addr().unwrap().port());
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let pem = own.cert.pem();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.into()], own.signing_key.serialize_der().try_into().unwrap())
            .unwrap();
        let (serving, config) = (desk.clone(), Arc::new(config));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                // A caller that does not trust it goes away in the middle of the handshake.
                if connection.complete_io(&mut stream).is_ok() && !connection.is_handshaking() {
                    serving.serve(rustls::StreamOwned::new(connection, stream));
                }
            }
        });
        (desk, url, pem)
    }

    fn serve(&self, stream: impl Read + Write) {
        let mut reader = BufReader::new(stream);
        let Some((head, body)) = heard(&mut reader) else { return };
        let lower = head.to_lowercase();
        let mut words = head.split_whitespace();
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let is_known = lower.contains(&format!("authorization: bearer {OWN}\r\n"));
        let (status, answer) = self.answer(method, path, is_known, &String::from_utf8(body).unwrap());
        let length = answer.len();
        let response = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}");
        let _ = reader.into_inner().write_all(response.as_bytes());
    }

    fn answer(&self, method: &str, path: &str, is_known: bool, body: &str) -> (u16, String) {
        let mut state = self.0.lock().unwrap();
        state.asked += 1;
        if let Some((status, text)) = state.instead.filter(|_| state.only.is_none_or(|only| only == method)) {
            return (status, text.to_owned());
        }
        if !is_known {
            return (401, "{}".to_owned());
        }
        match (method, path.strip_prefix("/authz/").unwrap()) {
            ("POST", "introspect") => {
                let token = body.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap();
                (200, state.keys.get(token).cloned().unwrap_or(json!({"active": false})).to_string())
            }
            ("PUT", path) => {
                let id = path.strip_prefix("keys/").unwrap().to_owned();
                let wish: Value = serde_json::from_str(body).unwrap();
                let key = text(&wish, "key");
                let known = json!({
                    "active": true, "jti": id, "tenant_id": wish["tenant_id"], "scope": wish["scope"],
                    "exp": wish["exp"],
                });
                state.ids.insert(id, key.clone());
                state.keys.insert(key, known);
                (201, "{}".to_owned())
            }
            ("DELETE", path) => match state.ids.remove(path.strip_prefix("keys/").unwrap()) {
                Some(key) => {
                    state.keys.remove(&key);
                    (204, String::new())
                }
                None => (404, "{}".to_owned()),
            },
            other => panic!("{other:?}"),
        }
    }

    fn instead(&self, answer: Option<(u16, &'static str)>, only: Option<&'static str>) {
        let mut state = self.0.lock().unwrap();
        (state.instead, state.only) = (answer, only);
    }

    fn know(&self, key: &str, answer: Value) {
        self.0.lock().unwrap().keys.insert(key.to_owned(), answer);
    }

    fn asked(&self) -> u64 {
        self.0.lock().unwrap().asked
    }
}

fn start(url: &str) -> Appliance {
    Setup::new()
        .env("QUINTET_AUTHORIZATION__URL", url)
        .env("QUINTET_AUTHORIZATION__API_KEY", OWN)
        .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8")
        .start()
}

fn active(tenant_id: &str, scope: &str) -> Value {
    json!({"active": true, "jti": "k-1", "tenant_id": tenant_id, "scope": scope})
}

fn health(appliance: &Appliance) -> (u16, Value) {
    let answer = appliance.stranger("ledger").get("/healthz");
    (answer.status, answer.json())
}

#[test]
fn what_the_system_says_counts_at_once() {
    let (desk, url) = Desk::open();
    let appliance = start(&url);
    assert_eq!(health(&appliance), (200, json!({"status": "ok", "auth_client_credential": "unknown"})));
    let tenant_id = appliance.tenant();
    let key = "rak_somebody.else-issued_this~one";
    let client = appliance.client("ledger", key);
    refused(&client.get("/v1/accounts"), 401, "UNAUTHENTICATED");
    desk.know(key, active(&tenant_id, "other ledger_reader"));
    client.get("/v1/accounts").expect(200);
    assert_eq!(health(&appliance), (200, json!({"status": "ok", "auth_client_credential": "ok"})));
    refused(&client.post("/v1/accounts", &json!({})), 403, "FORBIDDEN");
    desk.know(key, json!({"active": false, "reason": "expired"}));
    refused(&client.get("/v1/accounts"), 401, "CREDENTIAL_EXPIRED");
    let mut over = active(&tenant_id, "ledger_reader");
    over["exp"] = json!(1);
    desk.know(key, over);
    refused(&client.get("/v1/accounts"), 401, "CREDENTIAL_EXPIRED");
    desk.know(key, active("01890000-0000-7000-8000-000000000000", "ledger_reader"));
    refused(&client.get("/v1/accounts"), 403, "TENANT_NOT_PROVISIONED");
    desk.know(key, active(&tenant_id, "ledger_reader"));
    assert!(appliance.cli(&["tenant", "suspend", &tenant_id]).status.success());
    refused(&client.get("/v1/accounts"), 403, "TENANT_SUSPENDED");
    assert!(appliance.cli(&["tenant", "activate", &tenant_id]).status.success());
    client.get("/v1/accounts").expect(200);
    desk.know(key, json!({"active": false}));
    refused(&client.get("/v1/accounts"), 401, "UNAUTHENTICATED");
    // The appliance's own keys are worth nothing now, and what can be no key is not even asked about.
    let (_, own) = appliance.key(&tenant_id, &[]);
    refused(&appliance.client("ledger", &own).get("/v1/accounts"), 401, "UNAUTHENTICATED");
    let asked = desk.asked();
    for key in ["rak_a&token=b", "other", "rak_a%26", &format!("rak_{}", "x".repeat(2000))] {
        refused(&appliance.client("ledger", key).get("/v1/accounts"), 401, "UNAUTHENTICATED");
    }
    assert_eq!(desk.asked(), asked);
    assert!(!appliance.log().contains(key) && !appliance.log().contains(OWN), "no credential in the log");
}

#[test]
fn what_it_does_not_say_is_undetermined() {
    let (desk, url) = Desk::open();
    let appliance = start(&url);
    let tenant_id = appliance.tenant();
    let key = "rak_key";
    desk.know(key, active(&tenant_id, "ledger_reader"));
    let client = appliance.client("ledger", key);
    client.get("/v1/accounts").expect(200);
    for instead in [
        (500, "{}"),
        (404, "{}"),
        (200, "nonsense"),
        (200, "{}"),
        (200, r#"{"active": true}"#),
        (200, r#"{"active": "yes"}"#),
        (302, "{}"),
    ] {
        desk.instead(Some(instead), None);
        refused(&client.get("/v1/accounts"), 503, "AUTHZ_UNAVAILABLE");
    }
    for status in [401, 403] {
        desk.instead(Some((status, "{}")), None);
        refused(&client.get("/v1/accounts"), 503, "AUTHZ_CREDENTIAL_REJECTED");
        let (status, body) = health(&appliance);
        assert_eq!(
            (status, &body["status"], &body["auth_client_credential"]),
            (503, &json!("unhealthy"), &json!("rejected"))
        );
        assert!(body["reason"].is_string());
    }
    desk.instead(None, None);
    client.get("/v1/accounts").expect(200);
    assert_eq!(health(&appliance).0, 200);
}

#[test]
fn a_system_that_cannot_be_reached() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let appliance = start(&url);
    refused(&appliance.client("ledger", "rak_key").get("/v1/accounts"), 503, "AUTHZ_UNAVAILABLE");
    assert_eq!(health(&appliance), (200, json!({"status": "ok", "auth_client_credential": "unknown"})));
    // An address that the operator does not allow is not called.
    let (desk, url) = Desk::open();
    let appliance =
        Setup::new().env("QUINTET_AUTHORIZATION__URL", &url).env("QUINTET_AUTHORIZATION__API_KEY", OWN).start();
    refused(&appliance.client("ledger", "rak_key").get("/v1/accounts"), 503, "AUTHZ_UNAVAILABLE");
    assert_eq!(desk.asked(), 0);
}

#[test]
fn keys_of_sub_tenants_are_announced_and_revoked_there() {
    let (desk, url) = Desk::open();
    let appliance = start(&url);
    let tenant_id = appliance.tenant();
    desk.know("rak_partner", active(&tenant_id, "ledger_partner"));
    let partner = appliance.client("ledger", "rak_partner");
    let body = json!({"name": "c", "kind": "sandbox", "contact_email": "a@example.com"});
    let client_id = text(&partner.post("/v1/sub-tenants", &body).expect(201), "sub_tenant_id");
    let keys = format!("/v1/sub-tenants/{client_id}/keys");
    let wish = json!({"label": "l", "role": "admin", "ttl_days": 3});
    desk.instead(Some((500, "")), Some("PUT"));
    refused(&partner.post_under("one", &keys, &wish), 503, "AUTHZ_UNAVAILABLE");
    desk.instead(Some((422, "")), Some("PUT"));
    refused(&partner.post_under("one", &keys, &wish), 503, "AUTHZ_UNAVAILABLE");
    desk.instead(Some((403, "")), Some("PUT"));
    refused(&partner.post_under("one", &keys, &wish), 503, "AUTHZ_CREDENTIAL_REJECTED");
    desk.instead(None, None);
    assert_eq!(partner.get(&keys).expect(200), json!({"keys": []}));
    let issued = partner.post_under("one", &keys, &wish).expect(201);
    let again = partner.post_under("one", &keys, &wish).expect(201);
    assert_eq!(issued["key_id"], again["key_id"]);
    assert_eq!(desk.0.lock().unwrap().ids.len(), 1, "announced once");
    let client = appliance.client("ledger", &text(&issued, "api_key"));
    client.get("/v1/accounts").expect(200);

    let path = format!("{keys}/{}", text(&issued, "key_id"));
    let delete = || partner.send("DELETE", &path, &[("idempotency-key", &fresh_key())], b"");
    desk.instead(Some((409, "{}")), Some("DELETE"));
    refused(&delete(), 502, "REVOCATION_FAILED");
    assert_eq!(partner.get(&keys).expect(200)["keys"][0]["revoked_at"], Value::Null, "nothing changed");
    client.get("/v1/accounts").expect(200);
    desk.instead(Some((503, "{}")), Some("DELETE"));
    refused(&delete(), 503, "AUTHZ_UNAVAILABLE");
    desk.instead(Some((401, "{}")), Some("DELETE"));
    refused(&delete(), 503, "AUTHZ_CREDENTIAL_REJECTED");
    desk.instead(None, None);
    for _ in 0..2 {
        delete().expect(200);
    }
    refused(&client.get("/v1/accounts"), 401, "UNAUTHENTICATED");
    let nobody = partner.send("DELETE", &format!("{keys}/nonsense"), &[("idempotency-key", &fresh_key())], b"");
    refused(&nobody, 404, "KEY_NOT_FOUND");
}

#[test]
fn a_system_behind_tls_shows_a_certificate_that_is_trusted() {
    let (desk, url, certificate) = Desk::open_with_tls();
    let tenant_id = "6f0c9a52-5d3e-4a57-9f0e-3d1c7a1b2c3d";
    desk.know("rak_behind-tls", active(tenant_id, "ledger_reader"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("authority.pem");
    let setup = || {
        Setup::new()
            .env("QUINTET_AUTHORIZATION__URL", &url)
            .env("QUINTET_AUTHORIZATION__API_KEY", OWN)
            .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8,::1/128")
    };
    let ask = |appliance: &Appliance| appliance.client("ledger", "rak_behind-tls").get("/v1/accounts");
    // Nothing is asked, and no credential shown, where the certificate is not known.
    refused(&ask(&setup().start()), 503, "AUTHZ_UNAVAILABLE");
    assert_eq!(desk.asked(), 0);
    std::fs::write(&file, "no certificate").unwrap();
    let with = || setup().env("QUINTET_TLS__EXTRA_CA", file.to_str().unwrap());
    assert!(with().try_start().is_err_and(|log| log.contains("tls.extra_ca")));
    std::fs::write(&file, certificate).unwrap();
    let answer = ask(&with().start());
    assert!(desk.asked() > 0, "{answer:?}");
    assert_ne!(answer.status, 503);
}

#[test]
fn the_own_credential_must_be_there() {
    let missing = Setup::new()
        .env("QUINTET_AUTHORIZATION__URL", "http://authz.example.com")
        .env("QUINTET_AUTHORIZATION__API_KEY", "file:absent")
        .try_start();
    assert!(missing.is_err_and(|log| log.contains("authorization.api_key")));
}
