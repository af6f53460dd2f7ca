//! Diagrams over HTTP, from outside: every route, status and header field.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client, Setup, in_browser, shared};

pub(super) const SOURCE: &str = "digraph { a -> b }";

pub(super) fn open() -> Client {
    shared().stranger("diagrams")
}

fn post(client: &Client, path: &str, body: &Value) -> Answer {
    client.send("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// Draws a source; the path of the picture.
pub(super) fn draw(appliance: &Appliance, client: &Client, path: &str, source: &str) -> String {
    let drawn = post(client, path, &json!({ "dotfile": source })).expect(200);
    assert_eq!(drawn.as_object().unwrap().len(), 1, "{drawn}");
    let base = format!("http://{}", appliance.address("diagrams"));
    drawn["url"].as_str().unwrap().strip_prefix(&base).expect("the address is absolute").to_owned()
}

/// A whole answer as bytes: its head, and its body.
pub(super) fn fetch(appliance: &Appliance, path: &str) -> (String, Vec<u8>) {
    let mut stream = appliance.connect("diagrams").unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let body = bytes.split_off(end);
    (String::from_utf8(bytes).unwrap(), body)
}

/// What an error looks like; its text.
#[track_caller]
pub(super) fn refused(answer: &Answer, status: u16) -> String {
    let body = answer.expect(status);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("cache-control"), "no-store");
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert!(members.iter().all(|member| ["error", "line", "column"].contains(member)), "{body}");
    body["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_source_becomes_a_picture() {
    let (appliance, client) = (shared(), open());
    for (path, extension, content_type) in [
        ("/graphs", "png", "image/png"),
        ("/graphs?format=png", "png", "image/png"),
        ("/graphs?format=svg", "svg", "image/svg+xml"),
    ] {
        let picture = draw(appliance, &client, path, SOURCE);
        let (stem, found) = picture.strip_prefix("/graphs/").unwrap().split_once('.').unwrap();
        assert_eq!(found, extension);
        assert!(stem.len() == 64 && stem.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{stem}");
        assert_eq!(draw(appliance, &client, path, SOURCE), picture, "the same request gives the same address");
        assert_ne!(draw(appliance, &client, path, "digraph { a -> b; }"), picture);
        let (head, bytes) = fetch(appliance, &picture);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        for field in [
            format!("content-type: {content_type}"),
            format!("content-length: {}", bytes.len()),
            format!("etag: \"{stem}\""),
            "cache-control: public, immutable, max-age=31536000".to_owned(),
            "x-content-type-options: nosniff".to_owned(),
            "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; sandbox".to_owned(),
        ] {
            assert!(head.contains(&field), "{field} in {head}");
        }
        match extension {
            "svg" => assert!(String::from_utf8(bytes.clone()).unwrap().contains("<g id=\"node1\" class=\"node\">")),
            _ => assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n"),
        }
        let text = client.get(&format!("{picture}?base64=true"));
        assert_eq!(text.header("content-type"), "text/plain; charset=us-ascii");
        assert_eq!(BASE64.decode(text.text.as_bytes()).unwrap(), bytes);
        assert_eq!(text.header("content-length"), text.text.len().to_string());
        assert_ne!(text.header("etag"), format!("\"{stem}\""));
        let (_, plain) = fetch(appliance, &format!("{picture}?base64=false"));
        assert_eq!(plain, bytes);
    }
}

#[test]
fn large_pictures_are_whole_in_either_form() {
    let (appliance, client) = (shared(), open());
    let nodes: String =
        (0..1500).map(|n| format!("n{n} [label=\"{} {n}\"]; n{n} -> n{};", "x".repeat(200), n / 2)).collect();
    let picture = draw(appliance, &client, "/graphs?format=svg", &format!("digraph {{ {nodes} }}"));
    let (head, bytes) = fetch(appliance, &picture);
    assert!(bytes.len() > 600_000, "{} bytes are no test of large values", bytes.len());
    assert!(head.contains(&format!("content-length: {}\r\n", bytes.len())), "{head}");
    assert!(bytes.ends_with(b"</svg>\n"));
    let (_, text) = fetch(appliance, &format!("{picture}?base64=true"));
    assert_eq!(BASE64.decode(&text).unwrap(), bytes);
}

#[test]
fn a_picture_never_changes_and_is_not_sent_twice() {
    let (appliance, client) = (shared(), open());
    let picture = draw(appliance, &client, "/graphs?format=svg", SOURCE);
    let first = client.get(&picture);
    let tag = first.header("etag").to_owned();
    for field in [tag.clone(), "*".to_owned(), format!("\"x\", W/{tag}")] {
        let again = client.send("GET", &picture, &[("if-none-match", &field)], b"");
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{field}");
        assert_eq!(again.header("etag"), tag);
        assert!(again.header("cache-control").contains("public, immutable"));
    }
    assert_eq!(client.send("GET", &picture, &[("if-none-match", "\"x\"")], b"").status, 200);
    let head = client.send("HEAD", &picture, &[], b"");
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), first.text.len().to_string());
    assert_eq!(head.header("etag"), tag);
    let other_format = picture.replace(".svg", ".png");
    refused(&client.get(&other_format), 404);
}

#[test]
fn what_is_no_pictures_name_is_400_and_what_is_unknown_404() {
    let client = open();
    let stem = "0".repeat(64);
    refused(&client.get(&format!("/graphs/{stem}.png")), 404);
    refused(&client.get(&format!("/graphs/{stem}.svg?base64=true")), 404);
    for name in [
        "x",
        "x.png",
        &stem,
        &format!("{stem}.gif"),
        &format!("{stem}.PNG"),
        &format!("{}.png", "A".repeat(64)),
        &format!("{stem}0.png"),
        "..%2f..%2fetc%2fpasswd",
        "%ff",
        "%00.png",
    ] {
        refused(&client.get(&format!("/graphs/{name}")), 400);
    }
    for query in ["?base64=yes", "?base64", "?base64=true&base64=true", "?x=1", "?base64=%zz"] {
        refused(&client.get(&format!("/graphs/{stem}.png{query}")), 400);
    }
}

#[test]
fn a_mistake_has_its_place() {
    let client = open();
    let source = "digraph {\n    a -> ;\n}\n";
    for path in ["/graphs", "/graphs?format=svg"] {
        let answer = post(&client, path, &json!({ "dotfile": source }));
        assert_eq!(refused(&answer, 422), "syntax error in line 2 near ';'");
        assert_eq!((&answer.json()["line"], &answer.json()["column"]), (&json!(2), &json!(10)));
    }
    for (source, verdict) in [
        (SOURCE, json!({ "valid": true })),
        ("graph a {} digraph b { x -> y }", json!({ "valid": true })),
        (source, json!({ "valid": false, "error": "syntax error in line 2 near ';'", "line": 2, "column": 10 })),
    ] {
        assert_eq!(post(&client, "/validate", &json!({ "dotfile": source })).expect(200), verdict, "{source}");
    }
    for source in ["", "  // nothing\n", "graph {} nonsense", "graph a {"] {
        let verdict = post(&client, "/validate", &json!({ "dotfile": source })).expect(200);
        assert_eq!(verdict["valid"], false, "{source}");
        assert!(!verdict["error"].as_str().unwrap().is_empty(), "{source}");
    }
    for (source, line, column) in [("", 1, 1), ("  // nothing\n", 2, 1)] {
        let place = (&json!(line), &json!(column));
        let answer = post(&client, "/graphs", &json!({ "dotfile": source }));
        assert_eq!(refused(&answer, 422), "there is no graph in the source");
        assert_eq!((&answer.json()["line"], &answer.json()["column"]), place, "{source:?}");
        let verdict = post(&client, "/validate", &json!({ "dotfile": source })).expect(200);
        assert_eq!((&verdict["line"], &verdict["column"]), place, "{source:?}");
    }
    // What follows the first graph is not drawn.
    assert_eq!(post(&client, "/graphs?format=svg", &json!({ "dotfile": "graph {} nonsense" })).status, 200);
}

#[test]
fn links_that_run_something_are_left_out() {
    let (appliance, client) = (shared(), open());
    let cell = "label=<<table HREF=\"&amp;#106;avascript:alert(1)\"><tr><td>c</td></tr></table>>";
    for attributes in [
        "URL=\"&#106;avascript:alert(1)\"",
        "href=\"java&#9;script&#58;alert(1)\"",
        "URL=\"&amp;#106;avascript:alert(1)\"",
        cell,
    ] {
        let source = format!("graph {{ n [{attributes}] }}");
        let answer = post(&client, "/graphs?format=svg", &json!({ "dotfile": source }));
        assert!(answer.header("x-render-warning").contains("is left out"), "{source}: {answer:?}");
        let path = draw(appliance, &client, "/graphs?format=svg", &source);
        let picture = client.get(&path);
        assert_eq!(picture.status, 200);
        assert!(!picture.text.contains("href=") && picture.text.contains("</text>"), "{}", picture.text);
    }
    let source = "graph { n [URL=\"http&#58;//a/?b&amp;c\"] }";
    let path = draw(appliance, &client, "/graphs?format=svg", source);
    assert!(client.get(&path).text.contains("xlink:href=\"http://a/?b&amp;c\""));
}

#[test]
fn limits_are_named() {
    let client = open();
    let nodes: String = (0..5001).map(|n| format!("n{n};")).collect();
    let edges = "a -- b;".repeat(20_001);
    for (source, named) in [
        (format!("graph {{ {nodes} }}"), "5000 nodes"),
        (format!("graph {{ {edges} }}"), "20000 edges"),
        (format!("graph {{{}{}}}", "{".repeat(600), "}".repeat(600)), "512 deep"),
        (format!("graph {{ a [label=\"{}\"] }}", "x".repeat(16 * 1024 + 1)), "16384 bytes"),
        ("graph { a [width=1000, height=1000] }".to_owned(), "40 megapixels"),
    ] {
        let answer = post(&client, "/graphs", &json!({ "dotfile": source }));
        let error = refused(&answer, 422);
        assert!(error.contains(named), "{error}");
        assert!(answer.json().get("line").is_none());
        // Whether a source is valid is asked of its text; how large its picture would be is not.
        let verdict = post(&client, "/validate", &json!({ "dotfile": source })).expect(200);
        let expected = match named {
            "40 megapixels" => json!({ "valid": true }),
            _ => json!({ "valid": false, "error": error }),
        };
        assert_eq!(verdict, expected);
    }
    let most = 1 << 20;
    let padded = |length: usize| format!("{SOURCE}{}", " ".repeat(length - SOURCE.len()));
    assert_eq!(post(&client, "/graphs?format=svg", &json!({ "dotfile": padded(most) })).status, 200);
    for path in ["/graphs", "/validate"] {
        let error = refused(&post(&client, path, &json!({ "dotfile": padded(most + 1) })), 413);
        assert!(error.contains("1048576 bytes"), "{error}");
        refused(&post(&client, path, &json!({ "dotfile": padded(4 * most) })), 413);
    }
    refused(&post(&client, "/generate", &json!({ "prompt": "x".repeat(16 * 1024 + 1) })), 413);
}

#[test]
fn malformed_requests_are_400() {
    let client = open();
    let deep = format!("{}{}", "[".repeat(50), "]".repeat(50));
    for (path, field) in [("/graphs", "dotfile"), ("/validate", "dotfile"), ("/generate", "prompt")] {
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#""digraph {}""#,
            "\u{feff}{}",
            &deep,
            &format!(r#"{{"{field}": null}}"#),
            &format!(r#"{{"{field}": 7}}"#),
            &format!(r#"{{"{field}": ["digraph {{}}"]}}"#),
            &format!(r#"{{"{field}": "digraph {{}}", "{field}": "digraph {{}}"}}"#),
            &format!(r#"{{"{field}": "digraph {{}}", "more": 1}}"#),
            &format!(r#"{{"{field}": "\ud800"}}"#),
        ] {
            refused(&client.send("POST", path, &[], body.as_bytes()), 400);
        }
        refused(&client.send("POST", path, &[], b"{\"dotfile\": \"\xff\"}"), 400);
        refused(&post(&client, &format!("{path}?x=1"), &json!({ field: SOURCE })), 400);
    }
    for format in ["gif", "SVG", "", "svg&format=svg"] {
        refused(&post(&client, &format!("/graphs?format={format}"), &json!({ "dotfile": SOURCE })), 400);
    }
    // An absolute address needs a name.
    let mut stream = shared().connect("diagrams").unwrap();
    let body = json!({ "dotfile": SOURCE }).to_string();
    write!(stream, "POST /graphs HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.0 400") || text.starts_with("HTTP/1.1 400"), "{text}");
}

#[test]
fn other_methods_are_told_which_ones_there_are() {
    let client = open();
    for (path, allowed) in [
        ("/", ["GET", "HEAD", "POST"].as_slice()),
        ("/graphs", &["POST"]),
        ("/validate", &["POST"]),
        ("/generate", &["POST"]),
        ("/health", &["GET", "HEAD"]),
        ("/api/docs", &["GET", "HEAD"]),
        ("/graphs/x", &["GET", "HEAD"]),
        ("/assets/page.js", &["GET", "HEAD"]),
        ("/graphviz", &["POST"]),
        ("/dot/svg", &["POST"]),
        ("/dot/svg/x", &["GET", "HEAD"]),
        ("/mcp", &["POST"]),
    ] {
        for method in ["DELETE", "PUT", "PATCH", "OPTIONS"] {
            let answer = client.send(method, path, &[], b"");
            refused(&answer, 405);
            let mut allow: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
            allow.sort_unstable();
            assert_eq!(allow, allowed, "{method} {path}");
        }
    }
    refused(&client.get("/graphs"), 405);
    for path in ["/nothing", "/graphs/a/b", "/assets/", "/assets/other.js", "/assets/..%2fpage.html"] {
        refused(&client.get(path), 404);
    }
}

#[test]
fn it_says_what_it_is() {
    let client = open();
    let docs = client.get("/api/docs").expect(200);
    assert_eq!(docs["version"], "1.0.0");
    assert!(docs["title"].is_string() && docs["examples"].as_array().unwrap().len() > 2);
    let told = |method: &str, path: &str| {
        let endpoints = docs["endpoints"].as_array().unwrap();
        endpoints.iter().any(|endpoint| endpoint["method"] == method && endpoint["path"] == path)
    };
    let contract = [
        ("GET", "/"),
        ("GET", "/api/docs"),
        ("POST", "/generate"),
        ("POST", "/graphs"),
        ("GET", "/graphs/{filename}"),
        ("POST", "/validate"),
        ("GET", "/health"),
    ];
    assert!(contract.iter().all(|(method, path)| told(method, path)), "{docs}");
    assert_eq!(client.get("/openapi.json").expect(200)["openapi"], "3.1.0");
    assert!(client.get("/llms.txt").text.contains("POST /graphs"));
    let health = client.get("/health");
    assert_eq!(health.expect(200)["status"], "healthy");
    assert_eq!(client.send("HEAD", "/health", &[], b"").status, 200);
    for path in ["/api/docs", "/health"] {
        refused(&client.get(&format!("{path}?x=1")), 400);
    }
    let metrics = shared().stranger("operations").get("/metrics").text;
    for name in ["diagrams_waiting", "diagrams_begun_total", "diagrams_stored_bytes"] {
        assert!(metrics.contains(&format!("quintet_{name} ")), "{name}");
    }
    // The examples of the description work.
    for example in docs["examples"].as_array().unwrap() {
        let (request, expected) = (&example["request"], example["answer"]["status"].as_u64().unwrap());
        let path = request["path"].as_str().unwrap();
        let answer = match request["method"].as_str().unwrap() {
            "POST" => post(&client, path, &request["body"]),
            _ => client.get(path),
        };
        let is_unconfigured = path == "/generate" && answer.status == 503;
        assert!(is_unconfigured || u64::from(answer.status) == expected, "{example}: {answer:?}");
        if let (Some(error), 422) = (example["answer"]["body"]["error"].as_str(), answer.status) {
            assert_eq!(answer.json(), example["answer"]["body"], "{error}");
        }
    }
}

#[test]
fn the_page_is_served_with_a_strict_policy() {
    let client = open();
    let inline = BASE64URL_NOPAD.encode("digraph { \"<b>\" -> c }</textarea>".as_bytes());
    for path in ["/".to_owned(), format!("/?inline={inline}"), format!("/?inline={inline}&view=1")] {
        let page = client.get(&path);
        assert_eq!(page.status, 200);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("referrer-policy"), "same-origin");
        let policy = page.header("content-security-policy");
        for part in
            ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(!page.text.contains("<b>") && page.text.matches("</textarea>").count() == 1, "typed text is no markup");
    }
    assert!(client.get("/?view=1").text.contains("class=\"view\""));
    let drawn = client.get(&format!("/?inline={}", BASE64.encode(SOURCE.as_bytes()).replace('+', "%2B")));
    assert!(drawn.text.contains("src=\"data:image/svg+xml;base64,"), "drawn without scripts");
    let wrong = client.get(&format!("/?inline={}", BASE64URL_NOPAD.encode(b"digraph {")));
    assert_eq!(wrong.status, 200);
    assert!(wrong.text.contains("syntax error in line 1"), "{}", wrong.text);
    assert_eq!(client.get("/?inline=!").status, 400);
    for query in ["view=2", "x=1", "inline=&inline="] {
        refused(&client.get(&format!("/?{query}")), 400);
    }
    let openapi = client.get("/openapi.json").expect(200);
    for (query, written) in [("inline=!", "text/html"), ("x=1", "application/json"), ("view=2", "application/json")] {
        let answer = client.get(&format!("/?{query}"));
        assert_eq!(answer.header("content-type").split(';').next(), Some(written), "{query}");
        let documented = &openapi["paths"]["/"]["get"]["responses"][answer.status.to_string()]["content"];
        assert!(documented[written].is_object(), "{query}: {documented}");
    }
    let form = |body: &str| {
        client.send("POST", "/", &[("content-type", "application/x-www-form-urlencoded")], body.as_bytes())
    };
    assert!(
        form("dotfile=digraph+%7B+a+%7D&action=draw")
            .text
            .contains("<img id=\"picture\" alt=\"Diagram with 1 node and 0 edges\"")
    );
    for (body, status) in [
        ("dotfile=digraph+%7B", 422),
        ("", 422),
        ("dotfile=%ff", 400),
        ("more=1", 400),
        ("action=erase", 400),
        ("action=generate&prompt=a+door", 503),
        (&format!("dotfile={}", "x".repeat((1 << 20) + 1)), 413),
    ] {
        let page = form(body);
        assert_eq!((page.status, page.header("content-type")), (status, "text/html; charset=utf-8"), "{body:.60}");
        assert!(page.text.contains("role=\"alert\"><ul><li>"), "{}", page.text);
    }
    for name in ["page.css", "page.js", "editor.js"] {
        let asset = client.get(&format!("/assets/{name}"));
        assert_eq!((asset.status, asset.header("x-content-type-options")), (200, "nosniff"));
        let again = client.send("GET", &format!("/assets/{name}"), &[("if-none-match", asset.header("etag"))], b"");
        assert_eq!((again.status, again.text.as_str()), (304, ""));
    }
}

#[test]
fn the_editors_bundle_is_what_was_made() {
    let top = std::path::PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("assets/diagrams");
    let bundle = std::fs::read(top.join("editor.js")).unwrap();
    let told = std::fs::read_to_string(top.join("editor/editor.js.sha256")).unwrap();
    let digest = data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(&bundle));
    assert_eq!(told, format!("{digest}  editor.js\n"), "run packaging/editor-bundle.sh");
    let licences = std::fs::read_to_string(top.join("editor/LICENSES.txt")).unwrap();
    for package in
        ["@codemirror/state", "@codemirror/view", "@codemirror/language", "@codemirror/commands", "@lezer/common"]
    {
        assert!(licences.contains(&format!("{package} ")), "{package}");
    }
}

/// A small AI engine that speaks the interface for real: it gives its answers in order, and remembers what it was asked.
#[derive(Clone, Default)]
struct Engine(Arc<Mutex<EngineState>>);

#[derive(Default)]
struct EngineState {
    /// Status and body; the last one stays.
    answers: Vec<(u16, String)>,
    asked: Vec<(String, Value)>,
}

impl Engine {
    fn open() -> (Engine, String) {
        let engine = Engine::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let serving = engine.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serving.serve(stream);
            }
        });
        (engine, url)
    }

    fn serve(&self, mut stream: std::net::TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length =
            head.to_lowercase().split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let mut state = self.0.lock().unwrap();
        state.asked.push((head, serde_json::from_slice(&body).unwrap()));
        let (status, text) = if state.answers.len() > 1 { state.answers.remove(0) } else { state.answers[0].clone() };
        drop(state);
        let _ =
            write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len());
    }

    /// From now on it says this, one after another.
    fn says(&self, texts: &[&str]) {
        let completion =
            |text: &&str| (200, json!({"choices": [{"message": {"role": "assistant", "content": text}}]}).to_string());
        *self.0.lock().unwrap() = EngineState { answers: texts.iter().map(completion).collect(), asked: Vec::new() };
    }

    fn answers(&self, status: u16, body: &str) {
        *self.0.lock().unwrap() = EngineState { answers: vec![(status, body.to_owned())], asked: Vec::new() };
    }

    fn asked(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.0.lock().unwrap().asked)
    }
}

/// An appliance with an AI engine, where diagrams take a key.
pub(super) fn keyed(url: &str) -> Setup {
    Setup::new()
        .env("QUINTET_DIAGRAMS__REQUIRE_KEY", "true")
        .env("QUINTET_AI__URL", url)
        .env("QUINTET_AI__MODEL", "draughtsman")
        .env("QUINTET_AI__API_KEY", "engine-secret")
        .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8")
}

#[test]
fn an_engine_writes_dot_and_only_valid_dot_is_taken() {
    let client = open();
    let error = refused(&post(&client, "/generate", &json!({ "prompt": "a door" })), 503);
    assert!(error.contains("ai.url"), "{error}");

    let (engine, url) = Engine::open();
    let appliance = keyed(&url).env("QUINTET_DIAGRAMS__REQUIRE_KEY", "false").start();
    let client = appliance.stranger("diagrams");
    let generate = || post(&client, "/generate", &json!({ "prompt": "the states of a door" }));

    engine.says(&["Gladly:\n```dot\ndigraph { open -> closed }\n```\nAnything else?"]);
    assert_eq!(generate().expect(200), json!({ "dotfile": "digraph { open -> closed }" }));
    let (head, body) = engine.asked().remove(0);
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer engine-secret\r\n"), "{head}");
    assert_eq!(body["model"], "draughtsman");
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": "the states of a door" }));

    engine.says(&["digraph { open -> }", "digraph { open -> closed }"]);
    assert_eq!(generate().expect(200)["dotfile"], "digraph { open -> closed }");
    let asked = engine.asked();
    assert_eq!(asked.len(), 2);
    let again = asked[1].1["messages"].as_array().unwrap();
    assert_eq!(again[2]["content"], "digraph { open -> }");
    assert!(again[3]["content"].as_str().unwrap().contains("syntax error in line 1"), "{again:?}");

    // The first that is complete and valid, wherever it stands.
    for answer in [
        "~~~\ndigraph { open -> {\n~~~\nBetter:\n~~~\ndigraph { open -> closed }\n~~~\n~~~\ngraph { more }\n~~~",
        "digraph { open -> }\n\ndigraph { open -> closed }",
        "Of course: `digraph { open -> closed }` shows it.",
        r#"{"dotfile": "digraph { open -> closed }"}"#,
    ] {
        engine.says(&[answer]);
        assert_eq!(generate().expect(200)["dotfile"], "digraph { open -> closed }", "{answer}");
        assert_eq!(engine.asked().len(), 1);
    }

    // Whatever was wrong at first is told when it is asked again.
    for (answer, wrong) in [
        ("I would rather not.", "the answer holds no graph"),
        ("```dot\ndigraph { open -> {", "its last brace is missing"),
        ("digraph {\n open -> }", "syntax error in line 2"),
    ] {
        engine.says(&[answer]);
        let error = refused(&generate(), 502);
        assert!(error.contains("twice") && error.contains(wrong), "{error}");
        let asked = engine.asked();
        assert_eq!(asked.len(), 2);
        assert!(asked[1].1["messages"][3]["content"].as_str().unwrap().contains(wrong), "{asked:?}");
    }
    for (status, body) in
        [(500, "{}"), (401, "{}"), (302, ""), (200, "{}"), (200, "no JSON"), (200, &"x".repeat(2 << 20))]
    {
        engine.answers(status, body);
        let error = refused(&generate(), 502);
        assert!(error.starts_with("the AI engine failed") && !error.contains("secret"), "{error}");
        assert_eq!(engine.asked().len(), 1);
    }
    assert!(!appliance.log().contains("engine-secret") && !appliance.log().contains("states of a door"));
    refused(&post(&client, "/generate", &json!({ "prompt": " " })), 400);
}

/// The engine costs its operator money, so no page of another site may have it asked.
#[test]
fn pages_of_other_sites_do_not_spend_the_engine() {
    let (engine, url) = Engine::open();
    engine.says(&["digraph { open -> closed }"]);
    let appliance = keyed(&url).env("QUINTET_DIAGRAMS__REQUIRE_KEY", "false").start();
    let client = appliance.stranger("diagrams");
    let own = format!("http://{}", appliance.address("diagrams"));
    let prompt = json!({ "prompt": "a door" }).to_string();
    let ask = |field: (&str, &str)| {
        let as_text = [("content-type", "text/plain"), field];
        let as_form = [("content-type", "application/x-www-form-urlencoded"), field];
        [
            client.send("POST", "/generate", &as_text, prompt.as_bytes()),
            client.send("POST", "/", &as_form, b"action=generate&prompt=a+door"),
        ]
    };
    for field in [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        let [text, form] = ask(field);
        assert_eq!(refused(&text, 403), "a page of another site asks", "{field:?}");
        assert_eq!(form.status, 403, "{field:?}");
        assert!(form.text.contains("a page of another site asks"), "{field:?}");
    }
    assert!(engine.asked().is_empty());
    for field in [("origin", own.as_str()), ("sec-fetch-site", "same-origin")] {
        assert!(ask(field).iter().all(|answer| answer.status == 200), "{field:?}");
    }
    assert_eq!(engine.asked().len(), 4);
}

#[test]
fn an_engine_that_cannot_be_reached_or_must_not_be_is_502() {
    for (url, allowed) in [("http://127.0.0.1:9/v1", "127.0.0.0/8"), ("http://127.0.0.1:9/v1", "10.0.0.0/8")] {
        let appliance = keyed(url)
            .env("QUINTET_DIAGRAMS__REQUIRE_KEY", "false")
            .env("QUINTET_EGRESS__ALLOW_PRIVATE", allowed)
            .start();
        let answer = post(&appliance.stranger("diagrams"), "/generate", &json!({ "prompt": "a door" }));
        assert!(refused(&answer, 502).starts_with("the AI engine failed"), "{answer:?}");
    }
}

#[test]
fn where_keys_are_required_they_are() {
    let (engine, url) = Engine::open();
    engine.says(&["digraph { x -> y -> z }"]);
    let appliance = keyed(&url).start();
    let stranger = appliance.stranger("diagrams");
    let tenant = appliance.tenant();
    let (key_id, key) = appliance.key(&tenant, &["diagrams_render"]);
    let client = appliance.client("diagrams", &key);
    let picture = draw(&appliance, &client, "/graphs?format=svg", SOURCE);
    let mut fields = client.get(&picture);
    assert_eq!(fields.header("cache-control"), "private, immutable, max-age=31536000");
    fields = stranger.get(&picture);
    refused(&fields, 401);
    assert_eq!(fields.header("www-authenticate"), "Bearer");
    let dotfile = json!({ "dotfile": SOURCE });
    for (path, body) in [("/graphs", &dotfile), ("/validate", &dotfile), ("/generate", &json!({ "prompt": "x" }))] {
        refused(&post(&stranger, path, body), 401);
        refused(&post(&appliance.client("diagrams", &format!("{key}x")), path, body), 401);
        assert_eq!(post(&client, path, body).status, 200, "{path}");
    }
    // Everything else tells nothing of anybody.
    for path in ["/", "/health", "/api/docs", "/openapi.json", "/llms.txt", "/assets/page.js"] {
        assert_eq!(stranger.get(path).status, 200, "{path}");
    }
    let inline = stranger.get(&format!("/?inline={}", BASE64URL_NOPAD.encode(SOURCE.as_bytes())));
    assert!(inline.status == 200 && !inline.text.contains("data:image"), "a link brings no key");
    let form = |body: &str| stranger.send("POST", "/", &[], body.as_bytes());
    assert_eq!(form("dotfile=graph+%7B%7D").status, 401);
    assert_eq!(form("dotfile=graph+%7B%7D&key=wrong").status, 401);
    let drawn = form(&format!("dotfile=graph+%7B%7D&key={key}"));
    assert!(drawn.status == 200 && drawn.text.contains("data:image") && !drawn.text.contains(&key));
    let poster = appliance.persona("diagrams", &tenant, &["ledger_poster"]);
    refused(&post(&poster, "/graphs", &dotfile), 403);
    let without = appliance.cli_json(&["tenant", "create", "ledger only", "--services", "ledger"]);
    let other = appliance.persona("diagrams", without["tenant_id"].as_str().unwrap(), &[]);
    refused(&post(&other, "/graphs", &dotfile), 403);
    appliance.cli_json(&["tenant", "suspend", &tenant]);
    refused(&post(&client, "/graphs", &dotfile), 403);
    appliance.cli_json(&["tenant", "activate", &tenant]);
    assert_eq!(post(&client, "/graphs", &dotfile).status, 200);
    appliance.cli_json(&["key", "revoke", &key_id]);
    refused(&post(&client, "/graphs", &dotfile), 401);
}

#[test]
fn a_full_disk_and_a_silent_authorization_system_are_503() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let picture = draw(&appliance, &appliance.stranger("diagrams"), "/graphs?format=svg", SOURCE);
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new()
        .on(&data)
        .env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824")
        .env("QUINTET_DIAGRAMS__REQUIRE_KEY", "false")
        .start();
    let client = appliance.stranger("diagrams");
    let answer = post(&client, "/graphs?format=svg", &json!({ "dotfile": "digraph { other }" }));
    assert!(refused(&answer, 503).contains("disk space"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), "30");
    assert_eq!(post(&client, "/graphs?format=svg", &json!({ "dotfile": SOURCE })).status, 200, "it is there already");
    assert_eq!(client.get(&picture).status, 200);
    assert_eq!(post(&client, "/validate", &json!({ "dotfile": SOURCE })).status, 200);
    let health = client.get("/health").expect(503);
    assert_eq!(health["status"], "degraded");
    assert!(health["reason"].as_str().unwrap().contains("disk space"), "{health}");

    let appliance = keyed("http://127.0.0.1:9").env("QUINTET_AUTHORIZATION__URL", "http://127.0.0.1:9/authz").start();
    // A key that looks like one.
    let (_, key) = shared().key(&shared().tenant(), &[]);
    let answer = post(&appliance.client("diagrams", &key), "/validate", &json!({ "dotfile": SOURCE }));
    refused(&answer, 503);
    assert_eq!(answer.header("retry-after"), "5");
}

#[test]
fn fonts_of_ones_own_paint_pictures_with_addresses_of_their_own() {
    let fonts = tempfile::tempdir().unwrap();
    let file = fonts.path().join("a.ttf");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/LiberationMono-Bold.ttf"), &file).unwrap();
    let setup = || Setup::new().env("QUINTET_DIAGRAMS__FONTS_DIR", fonts.path().to_str().unwrap());
    let appliance = setup().start();
    let source = r#"graph { a [fontname="Liberation Mono"] }"#;
    let picture = |appliance: &Appliance| {
        let client = appliance.stranger("diagrams");
        let url = draw(appliance, &client, "/graphs", source);
        let base64 = client.get(&format!("{url}?base64=true")).text;
        (url, base64)
    };
    let ((own, painted), (plain, embedded)) = (picture(&appliance), picture(shared()));
    assert_ne!(own, plain, "other fonts, other pictures, other addresses");
    assert_ne!(painted, embedded);

    std::fs::write(&file, "no font").unwrap();
    let output = crate::support::appliance::quintet()
        .args(["serve", "--data", "/nonexistent/data"])
        .env("QUINTET_DIAGRAMS__FONTS_DIR", fonts.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = crate::support::appliance::stderr(&output);
    assert!(told.contains("diagrams.fonts_dir") && told.contains("a.ttf is not a font"), "{told}");
}

#[test]
fn a_monthly_quota_counts() {
    let appliance = keyed("http://127.0.0.1:9").start();
    let tenant = appliance.tenant();
    appliance.cli_json(&["tenant", "quota", &tenant, "--service", "diagrams", "--monthly-calls", "1"]);
    let client = appliance.persona("diagrams", &tenant, &[]);
    assert_eq!(post(&client, "/validate", &json!({ "dotfile": SOURCE })).status, 200);
    let over = post(&client, "/validate", &json!({ "dotfile": SOURCE }));
    refused(&over, 429);
    assert!(over.header("retry-after").parse::<u32>().unwrap() > 0);
}

#[test]
fn pictures_survive_a_kill_and_pass_the_check() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let picture = draw(&appliance, &appliance.stranger("diagrams"), "/graphs?format=svg", SOURCE);
    let before = appliance.stranger("diagrams").get(&picture).text;
    appliance.kill();
    let appliance = Setup::new().on(&data).start();
    assert_eq!(appliance.stranger("diagrams").get(&picture).text, before);
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn more_than_can_be_drawn_is_turned_away_and_nothing_breaks() {
    let appliance = Setup::new().start();
    // Slow to draw, each another one, and a fifth of what one may cost: how fast the machine is decides nothing.
    let source = |seed: usize| {
        let edges: String =
            (0..350).map(|n| format!("n{} -> n{};", (n * 7919 + seed) % 251, (n * 104_729 + n / 9) % 251)).collect();
        format!("digraph s{seed} {{ {edges} }}")
    };
    let base = appliance.stranger("diagrams");
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..60)
            .map(|seed| {
                let client = base.clone();
                scope.spawn(move || {
                    let answer = post(&client, "/graphs?format=svg", &json!({ "dotfile": source(seed) }));
                    if answer.status == 503 {
                        assert_eq!(answer.header("retry-after"), "1", "{answer:?}");
                    }
                    answer.status
                })
            })
            .collect();
        // What is not drawn is answered meanwhile.
        assert_eq!(base.get("/api/docs").status, 200);
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&503), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    assert_eq!(base.get("/health").expect(200)["status"], "healthy");
}

#[test]
fn the_page_works_in_a_browser() {
    let (engine, url) = Engine::open();
    engine.says(&["```dot\ndigraph { x -> y -> z }\n```"]);
    let keyed = keyed(&url).start();
    let (_, key) = keyed.key(&keyed.tenant(), &["diagrams_render"]);
    let address = |appliance: &Appliance| format!("http://{}", appliance.address("diagrams"));
    let given = json!({ "open": address(shared()), "keyed": address(&keyed), "key": key });
    let Some(said) = in_browser("diagrams/page.mjs", &given) else { return };
    assert!(said.lines().count() >= 13, "{said}");
}
