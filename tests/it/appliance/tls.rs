//! TLS on the listeners: the real binary with certificates of an authority made here; clients are rustls, curl and
//! OpenSSL.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PublicKeyData, date_time_ymd};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::appliance::{Appliance, Setup, quintet, run, stderr, stdout};

/// How long a changed certificate may take until it is in use.
const PATIENCE: Duration = Duration::from_secs(20);

/// An authority, the files of a certificate that it issued, and clients that trust it.
struct Desk {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    client: Arc<ClientConfig>,
}

/// An answer, taken apart.
struct Answer {
    status: u16,
    head: String,
    body: String,
    /// The public key of the certificate that was shown.
    public_key: Vec<u8>,
}

impl Desk {
    fn new() -> Desk {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, "an authority of tests");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let own = parameters.self_signed(&key).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), own.pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(own.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut client = client.with_root_certificates(roots).with_no_client_auth();
        // A session that is gone on with is not shown a certificate.
        client.resumption = rustls::client::Resumption::disabled();
        let client = Arc::new(client);
        let desk = Desk { directory, issuer: Issuer::new(parameters, key), client };
        desk.issue(2099);
        desk
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_owned()
    }

    /// Puts a new pair into the files, valid until the end of a year; its public key.
    fn issue(&self, until: i32) -> Vec<u8> {
        let (cert, key, public_key) = self.signed(until);
        std::fs::write(self.file("key.pem"), key).unwrap();
        std::fs::set_permissions(self.file("key.pem"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(self.file("cert.pem"), cert).unwrap();
        public_key
    }

    fn signed(&self, until: i32) -> (String, String, Vec<u8>) {
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, "localhost");
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(until, 12, 31);
        let key = KeyPair::generate().unwrap();
        let cert = parameters.signed_by(&key, &self.issuer).unwrap();
        (cert.pem(), key.serialize_pem(), key.der_bytes().to_vec())
    }

    fn setup(&self) -> Setup {
        Setup::new().env("QUINTET_TLS__CERT", &self.path("cert.pem")).env("QUINTET_TLS__KEY", &self.path("key.pem"))
    }

    fn connect(
        &self,
        appliance: &Appliance,
        service: &str,
    ) -> std::io::Result<StreamOwned<ClientConnection, std::net::TcpStream>> {
        let stream = appliance.connect(service)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.client), name).unwrap();
        Ok(StreamOwned::new(connection, stream))
    }

    /// One request on a connection of its own.
    fn send(&self, appliance: &Appliance, service: &str, request: &str) -> std::io::Result<Answer> {
        let mut stream = self.connect(appliance, service)?;
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        // Fails without a proper end of the encryption.
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other(text.clone()))?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let shown = stream.conn.peer_certificates().unwrap()[0].to_vec();
        Ok(Answer { status, head: head.to_lowercase(), body: body.to_owned(), public_key: shown })
    }
}

fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{fields}\r\n")
}

impl Answer {
    fn shows(&self, public_key: &[u8]) -> bool {
        self.public_key.windows(public_key.len()).any(|part| part == public_key)
    }
}

/// Runs a program to its end: whether it went well, and all that it said.
fn program(name: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.success(), stdout(&output) + &stderr(&output))
}

#[test]
fn every_service_speaks_tls() {
    let desk = Desk::new();
    let appliance = desk.setup().start();
    for (service, health) in [
        ("localization", "/healthz"),
        ("runs", "/health"),
        ("ledger", "/healthz"),
        ("messaging", "/healthz"),
        ("diagrams", "/health"),
    ] {
        let answer = desk.send(&appliance, service, &get(health, "")).unwrap();
        assert_eq!(answer.status, 200, "{service}: {}", answer.body);
        assert!(answer.head.contains("\r\nstrict-transport-security: max-age=31536000"), "{}", answer.head);
        // And with another implementation.
        let url = format!("https://{}{health}", appliance.address(service));
        let (went_well, said) = program("curl", &["-sS", "--fail", "--cacert", &desk.path("ca.pem"), &url]);
        assert!(went_well, "{service}: {said}");
        let (_, said) = program("curl", &["-sS", &url.replace("https", "http")]);
        assert!(said.contains("This port speaks TLS: use https://"), "{service}: {said}");
    }
    // Operations listen to this machine alone here.
    let plain = appliance.stranger("operations").get("/readyz");
    assert_eq!((plain.status, plain.header("strict-transport-security")), (200, ""));
    let status = appliance.cli_json(&["status"]);
    for service in status["services"].as_array().unwrap() {
        assert_eq!(service["tls"], service["name"] != "operations", "{service}");
    }
    assert_eq!(status["tls"]["names"], serde_json::json!(["localhost", "127.0.0.1"]));
    assert_eq!(status["tls"]["refused"], serde_json::Value::Null);
    let text = stdout(&appliance.cli(&["status"]));
    assert!(text.contains("certificate  for localhost, 127.0.0.1; until 2099-12-31T00:00:00Z"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("ledger") && line.ends_with("https")), "{text}");
    let (_, key) = appliance.key(&appliance.tenant(), &[]);
    let bearer = format!("authorization: Bearer {key}\r\n");
    assert_eq!(desk.send(&appliance, "ledger", &get("/v1/accounts", &bearer)).unwrap().status, 200);
}

#[test]
fn versions_are_those_of_today() {
    let desk = Desk::new();
    let appliance = desk.setup().start();
    let address = appliance.address("ledger");
    let client = |arguments: &[&str]| {
        let common = ["s_client", "-connect", address, "-CAfile", &desk.path("ca.pem"), "-verify_return_error"];
        program("openssl", &[&common, arguments].concat())
    };
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let (went_well, said) = client(&[version, "-alpn", "h2,http/1.1"]);
        assert!(went_well && said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(said.contains(name) && said.contains("ALPN protocol: http/1.1"), "{said}");
    }
    for old in ["-tls1", "-tls1_1"] {
        let (went_well, said) = client(&[old, "-cipher", "DEFAULT@SECLEVEL=0"]);
        let is_refused = said.contains("alert protocol version") || said.contains("alert handshake failure");
        assert!(!went_well && is_refused, "{said}");
    }
    let (went_well, said) = client(&["-alpn", "h2"]);
    assert!(!went_well && said.contains("no application protocol"), "{said}");
}

#[test]
fn answers_and_limits_are_those_of_plain_connections() {
    let desk = Desk::new();
    let rate = ["QUINTET_LEDGER__EDGE_RATE_PER_SECOND", "QUINTET_LEDGER__EDGE_BURST"];
    let proxies = "QUINTET_HTTP__TRUSTED_PROXIES";
    let limited = |setup: Setup| setup.env(rate[0], "1").env(rate[1], "3").env(proxies, "127.0.0.1").start();
    let (plain, encrypted) = (limited(Setup::new()), limited(desk.setup()));
    let from = |source: &str| format!("x-forwarded-for: {source}\r\n");
    let both = |request: &str| {
        let mut stream = plain.connect("ledger").unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let answer = desk.send(&encrypted, "ledger", request).unwrap();
        // What differs in any two answers, and what TLS adds.
        let told = |head: &str| {
            let differs = ["date:", "x-request-id:", "strict-transport-security:", "ratelimit"];
            let lines = head.lines().filter(|line| !differs.iter().any(|name| line.starts_with(name)));
            lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(told(&head.to_lowercase()), told(&answer.head), "{request}");
        assert_eq!(without_ids(body), without_ids(&answer.body), "{request}");
        answer
    };
    assert_eq!(both(&get("/v1/accounts", &from("198.51.100.1"))).status, 401);
    assert_eq!(both(&get("/nowhere", &from("198.51.100.2"))).status, 404);
    let large = format!("content-length: {}\r\n", 64 << 20);
    let post =
        format!("POST /v1/accounts HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{large}{}\r\n", from("198.51.100.3"));
    assert_eq!(both(&post).status, 401);
    assert_eq!(both("GET / HTTP/1.1\r\nhost: x\r\nhost x\r\n\r\n").status, 400);
    assert_eq!(both(&format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(40_000))).status, 431);
    let statuses: Vec<u16> = (0..8)
        .map(|_| desk.send(&encrypted, "ledger", &get("/v1/accounts", &from("198.51.100.4"))).unwrap())
        .map(|answer| {
            assert_eq!(answer.status == 429, answer.head.contains("\r\nretry-after: "), "{}", answer.head);
            answer.status
        })
        .collect();
    assert_eq!(statuses[..3], [401, 401, 401]);
    assert!(statuses.contains(&429), "{statuses:?}");
}

/// A body without what is new in every answer.
fn without_ids(body: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(mut value) => {
            for member in ["request_id", "instance", "trace_id"] {
                if let Some(error) = value.get_mut("error").and_then(|error| error.as_object_mut()) {
                    error.remove(member);
                }
                value.as_object_mut().map(|object| object.remove(member));
            }
            value.to_string()
        }
        Err(_) => body.to_owned(),
    }
}

#[test]
fn addresses_in_answers_say_https() {
    let desk = Desk::new();
    let appliance = desk.setup().start();
    let body = r#"{"dotfile": "digraph { a -> b }"}"#;
    let request = format!(
        "POST /graphs HTTP/1.1\r\nhost: localhost:7450\r\nconnection: close\r\ncontent-type: application/json\r\n\
         x-forwarded-proto: http\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = desk.send(&appliance, "diagrams", &request).unwrap();
    assert!(answer.body.contains("https://localhost:7450/graphs/"), "{} {}", answer.head, answer.body);
}

#[test]
fn a_pair_that_cannot_be_used_stops_a_start() {
    let desk = Desk::new();
    let (_, other_key, _) = desk.signed(2099);
    std::fs::write(desk.file("other.pem"), other_key).unwrap();
    std::fs::write(desk.file("nonsense.pem"), "nonsense").unwrap();
    let cases = [
        ("absent.pem", "key.pem", 2, "tls.cert: {}/absent.pem cannot be read: No such file or directory"),
        ("cert.pem", "absent.pem", 3, "tls.key: {}/absent.pem cannot be read: No such file or directory"),
        ("nonsense.pem", "key.pem", 2, "tls.cert: {}/nonsense.pem holds no certificate in PEM form"),
        ("key.pem", "key.pem", 2, "tls.cert: {}/key.pem holds a private key and no certificate"),
        ("cert.pem", "cert.pem", 3, "tls.key: {}/cert.pem holds a certificate and no private key"),
        (
            "cert.pem",
            "other.pem",
            3,
            "tls.key: {}/other.pem holds another key than that of the certificate in {}/cert.pem",
        ),
    ];
    for (cert, key, line, expected) in cases {
        let config = desk.file("quintet.toml");
        let text = format!("[tls]\ncert = \"{}\"\nkey = \"{}\"\n", desk.path(cert), desk.path(key));
        std::fs::write(&config, text).unwrap();
        let config = config.to_str().unwrap();
        let directory = desk.directory.path().to_str().unwrap();
        let expected = format!("{config}:{line}: {}", expected.replace("{}", directory));
        let data = desk.file("data");
        let output = run(&["serve", "--config", config, "--data", data.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(&expected), "{expected}\n{}", stderr(&output));
        assert!(!data.exists(), "nothing is made before that is known");
        let output = run(&["config", "check", config]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
        let output = run(&["doctor", "--config", config, "--data", data.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains(&expected), "{}", stdout(&output));
    }
}

#[test]
fn an_expired_certificate_is_served_and_told() {
    let desk = Desk::new();
    desk.issue(2021);
    let appliance = desk.setup().start();
    let complaint = "The certificate expired on 2021-12-31T00:00:00Z: callers refuse it.";
    assert!(appliance.log().contains(complaint), "{}", appliance.log());
    assert!(appliance.cli_json(&["status"])["warnings"].to_string().contains(complaint));
    let refused = desk.send(&appliance, "ledger", &get("/healthz", "")).err().unwrap();
    assert!(refused.to_string().contains("certificate expired"), "{refused}");
    let mut doctor = quintet();
    doctor.args(["doctor", "--data"]).arg(appliance.data());
    doctor.env("QUINTET_TLS__CERT", desk.path("cert.pem")).env("QUINTET_TLS__KEY", desk.path("key.pem"));
    let output = doctor.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains(complaint), "{}", stdout(&output));
}

/// Waits until something is so.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn certificates_change_under_load_without_a_failed_request() {
    let desk = Arc::new(Desk::new());
    let appliance = Arc::new(desk.setup().start());
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let callers = (0..3).map(|number| {
        let (desk, appliance) = (Arc::clone(&desk), Arc::clone(&appliance));
        let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
        std::thread::spawn(move || {
            // One keeps its connection, the others make new ones.
            let mut kept = (number == 0).then(|| desk.connect(&appliance, "ledger").unwrap());
            while !is_over.load(Ordering::SeqCst) {
                match &mut kept {
                    None => assert_eq!(desk.send(&appliance, "ledger", &get("/healthz", "")).unwrap().status, 200),
                    Some(stream) => {
                        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
                        let mut part = [0; 4096];
                        let length = stream.read(&mut part).unwrap();
                        assert!(part[..length].starts_with(b"HTTP/1.1 200"));
                    }
                }
                answered.fetch_add(1, Ordering::SeqCst);
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    let shown = |public_key: &[u8]| desk.send(&appliance, "ledger", &get("/healthz", "")).unwrap().shows(public_key);

    // A sound pair takes the place of the one before.
    let second = desk.issue(2098);
    wait_for("the second certificate is not in use", || shown(&second));

    // A pair that does not fit does not, and says so.
    let (third_cert, third_key, third) = desk.signed(2097);
    std::fs::write(desk.file("cert.pem"), &third_cert).unwrap();
    let warned = || appliance.cli_json(&["status"])["warnings"].to_string();
    wait_for("nothing is told of the pair that does not fit", || warned().contains("the one before stays in use"));
    assert!(warned().contains("holds another key than that of the certificate in"), "{}", warned());
    assert!(appliance.log().contains("the certificate was not replaced"), "{}", appliance.log());
    assert!(shown(&second));
    let mut doctor = quintet();
    doctor.args(["doctor", "--data"]).arg(appliance.data());
    doctor.env("QUINTET_TLS__CERT", desk.path("cert.pem")).env("QUINTET_TLS__KEY", desk.path("key.pem"));
    let told = stdout(&doctor.output().unwrap());
    assert!(told.contains("problem  configuration") && told.contains("holds another key"), "{told}");

    // Its key heals it; so does a link that is set anew.
    std::fs::write(desk.file("key.pem"), &third_key).unwrap();
    wait_for("the third certificate is not in use", || shown(&third));
    assert!(!warned().contains("stays in use"), "{}", warned());
    let (cert, key, fourth) = desk.signed(2096);
    std::fs::write(desk.file("cert4.pem"), cert).unwrap();
    std::fs::write(desk.file("key4.pem"), key).unwrap();
    for name in ["key", "cert"] {
        link_over(&desk.file(&format!("{name}4.pem")), &desk.file(&format!("{name}.pem")));
    }
    wait_for("the fourth certificate is not in use", || shown(&fourth));

    is_over.store(true, Ordering::SeqCst);
    callers.into_iter().for_each(|caller| caller.join().expect("no request fails"));
    assert!(answered.load(Ordering::SeqCst) > 50, "{answered:?} requests are no load");
    let log = appliance.log();
    assert_eq!(log.matches("the certificate was replaced").count(), 3, "{log}");
}

/// A link in the place of a file, in one step.
fn link_over(target: &Path, place: &Path) {
    let link = place.with_extension("link");
    std::os::unix::fs::symlink(target, &link).unwrap();
    std::fs::rename(link, place).unwrap();
}

#[test]
fn a_stop_does_not_wait_for_handshakes() {
    let desk = Desk::new();
    let mut appliance = desk.setup().start();
    let _silent: Vec<_> = (0..20).map(|_| appliance.connect("ledger").unwrap()).collect();
    assert_eq!(desk.send(&appliance, "ledger", &get("/healthz", "")).unwrap().status, 200);
    appliance.signal("TERM");
    let begun = Instant::now();
    assert_eq!(appliance.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[test]
fn the_demo_stays_plain() {
    let desk = Desk::new();
    let mut command = quintet();
    command.args(["demo", "--data"]).arg(desk.file("data"));
    command.env("QUINTET_TLS__CERT", desk.path("cert.pem")).env("QUINTET_TLS__KEY", desk.path("key.pem"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the demo speaks plain HTTP"), "{}", stderr(&output));
    assert!(!desk.file("data").exists());
}

#[test]
fn the_decision_desk_tells_its_decisions_past_tls() {
    let desk = Desk::new();
    let appliance = desk.setup().start();
    let tenant_id = appliance.tenant();
    let (_, api_key) = appliance.key(&tenant_id, &[]);
    let mut number = 0;
    let mut call = |method: &str, path: &str, body: &str| -> serde_json::Value {
        number += 1;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {api_key}\r\n\
             l10n-tenant: {tenant_id}\r\nidempotency-key: k{number}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = desk.send(&appliance, "localization", &request).unwrap();
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).unwrap()
    };
    let text = |value: &serde_json::Value, name: &str| value[name].as_str().unwrap().to_owned();
    let workspace = text(&call("POST", "/v1/workspaces", r#"{"slug": "ab", "name": "n"}"#), "id");
    let project = format!(r#"{{"workspace_id": "{workspace}", "slug": "ab", "name": "n", "source_locale": "en"}}"#);
    let project = format!("/v1/projects/{}", text(&call("POST", "/v1/projects", &project), "id"));
    let file = text(&call("POST", &format!("{project}/files?kind=json&path=a"), r#"{"a": "Text"}"#), "file_id");
    let key = text(&call("GET", &format!("{project}/keys"), "")["keys"][0], "id");
    call("PUT", &format!("/v1/keys/{key}/translations/de"), r#"{"text": "Wort"}"#);
    let wish = format!(r#"{{"file": "{file}", "locale": "de"}}"#);
    let request = call("POST", &format!("{project}/approval-requests"), &wish);
    appliance.cli_json(&["decision", "approve", &text(&request, "decision_id"), "--by", "ada"]);
    let path = format!("/v1/approval-requests/{}", text(&request, "id"));
    let began = Instant::now();
    while call("GET", &path, "")["status"] != "approved" {
        assert!(began.elapsed() < Duration::from_secs(60), "the webhook does not arrive");
        std::thread::sleep(Duration::from_millis(20));
    }
}
