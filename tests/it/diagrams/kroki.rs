//! The interface that plugins of wikis and editors speak: Kroki's, for DOT.

use std::io::Write as _;

use data_encoding::{BASE64URL, BASE64URL_NOPAD};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use super::routes::{SOURCE, draw, fetch, keyed, open, refused};
use crate::support::appliance::{Answer, Client, Setup, shared};

fn deflated(source: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(source).unwrap();
    encoder.finish().unwrap()
}

/// A source as an address has it.
fn encoded(source: &[u8]) -> String {
    BASE64URL.encode(&deflated(source))
}

fn post(client: &Client, path: &str, media_type: &str, body: &str) -> Answer {
    client.send("POST", path, &[("content-type", media_type)], body.as_bytes())
}

#[test]
fn a_source_in_the_address_is_a_picture() {
    let (appliance, client) = (shared(), open());
    for (format, content_type) in [("svg", "image/svg+xml"), ("png", "image/png")] {
        let kept = draw(appliance, &client, &format!("/graphs?format={format}"), SOURCE);
        let (stem, _) = kept.strip_prefix("/graphs/").unwrap().split_once('.').unwrap();
        let (_, bytes) = fetch(appliance, &kept);
        for name in ["graphviz", "dot"] {
            let path = format!("/{name}/{format}/{}", encoded(SOURCE.as_bytes()));
            let (head, picture) = fetch(appliance, &path);
            assert!(head.starts_with("HTTP/1.1 200") && picture == bytes, "{head}");
            for field in [
                format!("content-type: {content_type}"),
                format!("content-length: {}", bytes.len()),
                format!("etag: \"{stem}\""),
                "cache-control: public, max-age=3600".to_owned(),
                "x-content-type-options: nosniff".to_owned(),
                "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; sandbox".to_owned(),
            ] {
                assert!(head.contains(&field), "{field} in {head}");
            }
        }
    }
    let path = format!("/graphviz/svg/{}", encoded(SOURCE.as_bytes()));
    let first = client.get(&path);
    let again = client.send("GET", &path, &[("if-none-match", first.header("etag"))], b"");
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", first.header("etag")));
    let head = client.send("HEAD", &path, &[], b"");
    assert_eq!((head.status, head.text.as_str(), head.header("etag")), (200, "", first.header("etag")));
    // Without padding, and with it escaped; options are passed over, and that is said.
    let bare = BASE64URL_NOPAD.encode(&deflated(SOURCE.as_bytes()));
    for path in
        [format!("/dot/svg/{bare}"), format!("/dot/svg/{}", path.rsplit('/').next().unwrap().replace('=', "%3D"))]
    {
        assert_eq!(client.get(&path).text, first.text, "{path}");
    }
    let optional = client.send("GET", &format!("{path}?layout=neato"), &[("kroki-diagram-options-scale", "2")], b"");
    assert_eq!(optional.text, first.text);
    let warning = "the option layout is passed over; the option scale is passed over";
    assert_eq!(optional.header("x-render-warning"), warning);
}

#[test]
fn a_source_in_the_body_is_a_picture() {
    let client = open();
    let svg = client.get(&draw(shared(), &client, "/graphs?format=svg", SOURCE)).text;
    let json = |members: serde_json::Value| {
        let mut body = json!({"diagram_source": SOURCE});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body.to_string()
    };
    let typed = json(json!({"diagram_type": "graphviz", "output_format": "svg", "diagram_options": {}}));
    for (path, media_type, body) in [
        ("/graphviz/svg", "text/plain", SOURCE.to_owned()),
        ("/graphviz/svg", "text/plain; charset=utf-8", SOURCE.to_owned()),
        // As curl sends what it is told to.
        ("/dot/svg", "application/x-www-form-urlencoded", SOURCE.to_owned()),
        ("/graphviz", "text/plain", SOURCE.to_owned()),
        ("/dot", "application/json", json(json!({}))),
        ("/graphviz", "application/json", json(json!({"output_format": "svg", "diagram_type": "dot"}))),
        ("/graphviz/svg", "application/json", json(json!({"output_format": "png"}))),
        ("/", "application/json", typed.clone()),
        ("/", "application/json; charset=UTF-8", json(json!({"diagram_type": "dot"}))),
    ] {
        let answer = post(&client, path, media_type, &body);
        assert_eq!((answer.status, answer.header("content-type")), (200, "image/svg+xml"), "{path} {body}");
        assert_eq!(answer.text, svg, "{path} {body}");
        assert_eq!((answer.header("cache-control"), answer.header("etag")), ("no-store", ""), "{path}");
    }
    assert_eq!(client.send("POST", "/graphviz/svg", &[], SOURCE.as_bytes()).text, svg, "no media type");
    for (path, accept, expected) in [
        ("/graphviz", "image/png", "image/png"),
        ("/graphviz", "application/pdf, image/png;q=0.5", "image/png"),
        ("/dot", "*/*", "image/svg+xml"),
        ("/graphviz/svg", "image/png", "image/svg+xml"),
    ] {
        let answer = client.send("POST", path, &[("accept", accept)], SOURCE.as_bytes());
        assert_eq!((answer.status, answer.header("content-type")), (200, expected), "{path} {accept}");
    }
    // What is no JSON is the page's form, as it was.
    let page = post(&client, "/", "application/x-www-form-urlencoded", "dotfile=graph+%7B%7D");
    assert!(page.status == 200 && page.text.contains("data:image/svg+xml"), "{page:?}");
}

#[test]
fn large_pictures_are_whole() {
    let client = open();
    let nodes: String =
        (0..900).map(|n| format!("k{n} [label=\"{} {n}\"]; k{n} -> k{};", "y".repeat(200), n / 2)).collect();
    let source = format!("digraph {{ {nodes} }}");
    let first = post(&client, "/graphviz/svg", "text/plain", &source);
    assert!(first.status == 200 && first.text.ends_with("</svg>\n") && first.text.len() > 300_000, "{}", first.status);
    let in_address = client.get(&format!("/graphviz/svg/{}", encoded(source.as_bytes())));
    assert_eq!((in_address.status, in_address.text == first.text), (200, true));
}

#[test]
fn what_is_wrong_is_said_as_everywhere() {
    let client = open();
    let most = 1 << 20;
    let padded = |length: usize| format!("{SOURCE}{}", " ".repeat(length - SOURCE.len()));
    let bomb = encoded(&vec![b' '; 20 << 20]);
    assert!(bomb.len() < 30_000, "it fits into an address");
    let whole = deflated(SOURCE.as_bytes());
    for (path, status, part) in [
        ("/graphviz/svg/!".to_owned(), 400, "base64url"),
        ("/graphviz/svg/%ff".to_owned(), 400, "base64url"),
        ("/graphviz/svg/aGVsbG8".to_owned(), 400, "zlib"),
        (format!("/graphviz/svg/{}", BASE64URL.encode(&whole[..whole.len() - 1])), 400, "zlib"),
        (format!("/graphviz/svg/{}", BASE64URL.encode(SOURCE.as_bytes())), 400, "zlib"),
        (format!("/graphviz/svg/{}", encoded(b"graph { \xff }")), 400, "UTF-8"),
        (format!("/graphviz/svg/{bomb}"), 413, "1048576 bytes"),
        (format!("/graphviz/svg/{}", encoded(padded(most + 1).as_bytes())), 413, "1048576 bytes"),
        (format!("/graphviz/pdf/{}", encoded(SOURCE.as_bytes())), 400, "svg or png"),
        (format!("/graphviz/SVG/{}", encoded(SOURCE.as_bytes())), 400, "svg or png"),
        (format!("/graphviz/%ff/{}", encoded(SOURCE.as_bytes())), 400, "svg or png"),
        (format!("/plantuml/svg/{}", encoded(SOURCE.as_bytes())), 404, "no such path"),
        ("/graphviz/svg/".to_owned(), 404, "no such path"),
        (format!("/graphviz/svg/{}", encoded(b"digraph {\n a -> ;\n}")), 422, "syntax error in line 2"),
        (format!("/graphviz/svg/{}", encoded(b"")), 422, "no graph"),
    ] {
        let error = refused(&client.get(&path), status);
        assert!(error.contains(part), "{path:.60}: {error}");
    }
    assert_eq!(client.get(&format!("/graphviz/svg/{}", encoded(padded(most).as_bytes()))).status, 200);
    let typed = |name: &str| json!({"diagram_source": SOURCE, "diagram_type": name}).to_string();
    for (path, media_type, body, status, part) in [
        ("/graphviz/pdf", "text/plain", SOURCE.to_owned(), 400, "svg or png"),
        ("/graphviz/%ff", "text/plain", SOURCE.to_owned(), 400, "svg or png"),
        ("/graphviz/svg", "text/plain", padded(most + 1), 413, "1048576 bytes"),
        ("/graphviz/svg", "text/plain", padded(4 * most), 413, "too large"),
        ("/graphviz/svg", "text/plain", "digraph { a -> }".to_owned(), 422, "syntax error in line 1"),
        ("/graphviz/svg", "application/json", String::new(), 400, ""),
        ("/graphviz/svg", "application/json", SOURCE.to_owned(), 400, ""),
        ("/graphviz/svg", "application/json", "{}".to_owned(), 400, "diagram_source is required"),
        ("/graphviz/svg", "application/json", typed("plantuml"), 400, "graphviz or dot"),
        ("/", "application/json", typed("plantuml"), 400, "graphviz or dot"),
        ("/", "application/json", json!({"diagram_source": SOURCE}).to_string(), 400, "graphviz or dot"),
        ("/", "application/json", json!({"dotfile": SOURCE}).to_string(), 400, "diagram_source is required"),
    ] {
        let error = refused(&post(&client, path, media_type, &body), status);
        assert!(error.contains(part), "{path} {body:.60}: {error}");
    }
    let accepting = client.send("POST", "/graphviz", &[("accept", "application/pdf")], SOURCE.as_bytes());
    assert!(refused(&accepting, 400).contains("Accept"));
    refused(&client.send("POST", "/graphviz/svg", &[("content-type", "text/plain")], b"graph { \xff }"), 400);
    let empty = post(&client, "/graphviz/svg", "text/plain", "  // nothing\n");
    refused(&empty, 422);
    assert_eq!((&empty.json()["line"], &empty.json()["column"]), (&json!(2), &json!(1)));
    for (method, path) in [("GET", "/graphviz"), ("GET", "/dot/svg"), ("POST", "/dot/svg/x"), ("DELETE", "/dot/svg/x")]
    {
        refused(&client.send(method, path, &[], b""), 405);
    }
}

#[test]
fn where_keys_are_required_pictures_take_one_too() {
    let appliance = keyed("http://127.0.0.1:9").start();
    let stranger = appliance.stranger("diagrams");
    let tenant = appliance.tenant();
    let client = appliance.persona("diagrams", &tenant, &["diagrams_render"]);
    let poster = appliance.persona("diagrams", &tenant, &["ledger_poster"]);
    let path = format!("/graphviz/svg/{}", encoded(SOURCE.as_bytes()));
    let typed = json!({"diagram_source": SOURCE, "diagram_type": "dot"}).to_string();
    let ask = |client: &Client| {
        [
            client.get(&path),
            post(client, "/dot/png", "text/plain", SOURCE),
            post(client, "/graphviz", "application/json", &typed),
            post(client, "/", "application/json", &typed),
        ]
    };
    for answer in ask(&stranger) {
        refused(&answer, 401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    for answer in ask(&poster) {
        refused(&answer, 403);
    }
    let answers = ask(&client);
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(answers[0].header("cache-control"), "private, max-age=3600");
    // Who may not ask is told that before what is wrong with the question.
    refused(&stranger.get("/graphviz/pdf/!"), 401);
    refused(&post(&stranger, "/", "application/json", "{"), 401);
}

/// It was answered before it was kept: whether it is there or drawn again, nobody sees.
#[test]
fn a_picture_that_was_shown_is_the_same_after_a_kill() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let path = format!("/graphviz/svg/{}", encoded(b"digraph { shown -> killed }"));
    let appliance = Setup::new().on(&data).start();
    let before = appliance.stranger("diagrams").get(&path);
    appliance.kill();
    let appliance = Setup::new().on(&data).start();
    let after = appliance.stranger("diagrams").get(&path);
    assert_eq!((after.status, &after.text, after.header("etag")), (200, &before.text, before.header("etag")));
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
}
