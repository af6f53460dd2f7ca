//! Signing in with a provider that answers at once, and what a request costs with a cookie beside one with a key.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data_encoding::BASE64URL_NOPAD;
use quintet_platform::http::query::decode_segment;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use ureq::http::Response;

use crate::server::Server;

const SIGN_INS: usize = 500;
const REQUESTS: usize = 20_000;
const ROUNDS: usize = 3;
const PUBLIC: &str = "https://l10n.test";

/// How long callbacks take, and requests with what came of one.
pub fn measure(count: Option<usize>) {
    let provider = Provider::start();
    let environment = [
        ("QUINTET_LOCALIZATION__PUBLIC_URL", PUBLIC),
        ("QUINTET_LOCALIZATION__IDENTITY__ISSUER", provider.issuer.as_str()),
        ("QUINTET_LOCALIZATION__IDENTITY__CLIENT_ID", "quintet"),
        ("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8"),
    ];
    let server = Server::start_with(&environment);
    let member = server.json("POST", "/v1/members", &json!({"email": "zoe@example.org"}));
    let granted = json!({"principal_id": member["id"], "template": "org_admin"});
    server.json("POST", "/v1/grants", &granted);
    let keys = format!("/v1/members/{}/keys", member["id"].as_str().unwrap());
    let issued = server.json("POST", &keys, &json!({}));
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).build().into();

    let (mut waits, mut cookie) = (Vec::new(), String::new());
    for _ in 0..count.unwrap_or(SIGN_INS) {
        let (took, fresh) = sign_in(&server, &agent, &provider);
        waits.push(took);
        cookie = fresh;
    }
    waits.sort_unstable();
    let millis = |share: usize| waits[(waits.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("\n| callback | p50 | p99 | longest |");
    println!("|---|---|---|---|");
    println!("| {} sign-ins | {:.1} ms | {:.1} ms | {:.1} ms |", waits.len(), millis(50), millis(99), millis(100));

    println!("\n| a request of the same member | µs | µs CPU of the server |");
    println!("|---|---|---|");
    let bearer = format!("Bearer {}", issued["api_key"].as_str().unwrap());
    for _ in 0..ROUNDS {
        for (name, field, value) in [("with a key", "authorization", &bearer), ("with a cookie", "cookie", &cookie)] {
            let (cpu, begun) = (server.cpu_seconds(), Instant::now());
            for _ in 0..REQUESTS {
                let url = format!("http://{}{}", server.address, server.at(""));
                let request = agent.get(&url).header(field, value).header("l10n-tenant", &server.tenant_id);
                let mut response = request.call().unwrap();
                assert_eq!(response.status(), 200);
                response.body_mut().read_to_vec().unwrap();
            }
            let each = |seconds: f64| seconds * 1e6 / REQUESTS as f64;
            let took = each(begun.elapsed().as_secs_f64());
            println!("| {name} | {took:.0} | {:.0} |", each(server.cpu_seconds() - cpu));
        }
    }
}

/// Signs in once: how long the callback took, and the cookie of the session.
fn sign_in(server: &Server, agent: &ureq::Agent, provider: &Provider) -> (Duration, String) {
    let login = format!("http://{}/auth/login?tenant={}", server.address, server.tenant_id);
    let begun = agent.get(&login).call().unwrap();
    let location = begun.headers()["location"].to_str().unwrap().to_owned();
    let field = |name: &str| {
        let found = location.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        decode_segment(found.unwrap()).unwrap()
    };
    let code = provider.code(&field("nonce"));
    let url = format!("http://{}/auth/callback?code={code}&state={}", server.address, field("state"));
    let request = agent.get(&url).header("cookie", set_cookie(&begun, "__Host-l10n_login"));
    let started = Instant::now();
    let answer = request.call().unwrap();
    let took = started.elapsed();
    assert_eq!(answer.status(), 200);
    (took, set_cookie(&answer, "__Host-l10n_session"))
}

fn set_cookie(answer: &Response<ureq::Body>, name: &str) -> String {
    let fields = answer.headers().get_all("set-cookie").iter().map(|field| field.to_str().unwrap());
    fields.filter(|field| field.starts_with(name)).find_map(|field| field.split(';').next()).unwrap().to_owned()
}

/// A provider that answers at once.
struct Provider {
    issuer: String,
    key: Ed25519KeyPair,
    answers: Arc<Mutex<HashMap<String, String>>>,
}

impl Provider {
    fn start() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let at = |path: &str| format!("{issuer}{path}");
        let document = json!({
            "issuer": issuer, "authorization_endpoint": at("/auth"), "token_endpoint": at("/token"),
            "jwks_uri": at("/jwks"),
        });
        let x = BASE64URL_NOPAD.encode(key.public_key().as_ref());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x}]});
        let answers: Arc<Mutex<HashMap<String, String>>> = Arc::default();
        answers.lock().unwrap().extend([
            ("/.well-known/openid-configuration".to_owned(), document.to_string()),
            ("/jwks".to_owned(), keys.to_string()),
        ]);
        let shared = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Provider { issuer, key, answers }
    }

    /// A code for a login with this nonce.
    fn code(&self, nonce: &str) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let now = quintet_platform::clock::Clock::system().now().as_micros() / 1_000_000;
        let claims = json!({
            "iss": self.issuer, "sub": "zoe", "aud": "quintet", "iat": now, "exp": now + 300, "nonce": nonce,
            "email": "zoe@example.org", "email_verified": true,
        });
        let text = format!("{}.{}", part(&json!({"alg": "EdDSA", "kid": "a"})), part(&claims));
        let token = format!("{text}.{}", BASE64URL_NOPAD.encode(self.key.sign(text.as_bytes()).as_ref()));
        let mut answers = self.answers.lock().unwrap();
        let code = format!("code{}", answers.len());
        answers.insert(code.clone(), json!({"id_token": token, "access_token": "at"}).to_string());
        code
    }
}

fn serve(stream: TcpStream, answers: &Mutex<HashMap<String, String>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut stream) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let form = String::from_utf8_lossy(&body).into_owned();
        let code = form.split('&').find_map(|pair| pair.strip_prefix("code="));
        let answer = answers.lock().unwrap().get(code.unwrap_or(&path)).cloned().unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream.write_all(&[head, answer].concat().into_bytes())?;
    }
}
