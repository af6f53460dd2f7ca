//! Messages, eras, arguments and schemas, without a service.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::eras::{Era, VERSIONS, agreed};
use super::rpc::{Message, RpcError, write_error, write_result};
use crate::json::{self, Json, Limits};

fn read(text: &str) -> Json {
    json::parse(text.as_bytes(), Limits::default()).unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

#[test]
fn what_is_a_message_and_what_is_none() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request"),
        (r#"{"jsonrpc":"2.0","id":"x","method":"a","params":{"b":1}}"#, "request"),
        (r#"{"jsonrpc":"2.0","id":1.50,"method":"a","else":[]}"#, "request"),
        (r#"{"jsonrpc":"2.0","method":"a"}"#, "notification"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "answer"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, "answer"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":"x","method":1}"#, "\"x\""),
        (r#"{"jsonrpc":"2.0","id":2}"#, "2"),
        (r#"{"jsonrpc":"1.0","id":3,"method":"a"}"#, "3"),
        (r#"{"jsonrpc":2.0,"id":4,"method":"a"}"#, "4"),
        (r#"{"id":5,"method":"a"}"#, "5"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "null"),
        ("{}", "null"),
        ("[]", "null"),
        ("1", "null"),
        ("null", "null"),
        ("\"a\"", "null"),
    ] {
        let told = match Message::read(read(text)) {
            Ok(Message::Request(_)) => "request".to_owned(),
            Ok(Message::Notification) => "notification".to_owned(),
            Ok(Message::Answer) => "answer".to_owned(),
            Err(no) => {
                assert_eq!(no.error.code, RpcError::INVALID_REQUEST, "{text}");
                let told = String::from_utf8(write_error(no.id.as_ref(), &no.error)).unwrap();
                told.split(r#""id":"#).nth(1).unwrap().split(",\"error").next().unwrap().to_owned()
            }
        };
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn identifiers_come_back_as_they_were_written() {
    for id in ["0", "-0", "1e400", "1.50", "123456789012345678901234567890", r#""""#, "\"\u{e9}\\n\""] {
        let message = Message::read(read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#)));
        let Ok(Message::Request(request)) = message else { panic!("{id} is refused") };
        let told = String::from_utf8(write_result(&request.id, b"{}")).unwrap();
        assert_eq!(told, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        let error = RpcError::parameters("p");
        let told = String::from_utf8(write_error(Some(&request.id), &error)).unwrap();
        assert_eq!(told, format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"p"}}}}"#));
    }
}

/// A message of random make, most often one.
fn drawn(random: &mut fastrand::Rng) -> String {
    let values =
        ["1", "\"2.0\"", "\"tools/call\"", "null", "{}", "[]", "{\"name\":\"a\",\"arguments\":{}}", "1e999", "true"];
    let names = ["jsonrpc", "id", "method", "params", "result", "error", "_meta", "Method"];
    let mut members = vec![r#""jsonrpc":"2.0""#.to_owned()];
    for name in names.into_iter().skip(1) {
        if random.u8(..3) > 0 {
            members.push(format!("\"{name}\":{}", values[random.usize(..values.len())]));
        }
    }
    members.retain(|_| random.u8(..8) > 0);
    let text = format!("{{{}}}", members.join(","));
    if random.u8(..4) > 0 {
        return text;
    }
    // A few bytes out of place.
    let mut bytes = text.into_bytes();
    for _ in 0..=random.usize(..3) {
        let place = random.usize(..bytes.len());
        bytes[place] = *b"{}[]\",:0\\ \x00\xff".get(random.usize(..13).min(11)).unwrap();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn whatever_comes_in_is_read_or_refused_and_requests_keep_what_they_say() {
    let seed = std::env::var("QUINTET_MCP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen = [0; 4];
    for _ in 0..20_000 {
        let text = drawn(&mut random);
        let Ok(json) = json::parse(text.as_bytes(), Limits::default()) else {
            seen[3] += 1;
            continue;
        };
        let has = |name: &str| json.get(name).is_some();
        match Message::read(json.clone()) {
            Ok(Message::Request(request)) => {
                seen[0] += 1;
                assert_eq!(json.get("method").and_then(Json::as_str), Some(&*request.method), "seed {seed}: {text}");
                let answer = write_result(&request.id, b"{}");
                assert_eq!(
                    json::parse(&answer, Limits::default()).unwrap().get("id"),
                    json.get("id"),
                    "seed {seed}: {text}"
                );
            }
            Ok(Message::Notification) => {
                seen[1] += 1;
                assert!(has("method") && !has("id"), "seed {seed}: {text}");
            }
            Ok(Message::Answer) => assert!(!has("method") && (has("result") || has("error")), "seed {seed}: {text}"),
            Err(no) => {
                seen[2] += 1;
                assert!(
                    json::parse(&write_error(no.id.as_ref(), &no.error), Limits::default()).is_ok(),
                    "seed {seed}: {text}"
                );
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 200), "seed {seed}: {seen:?}");
}

#[test]
fn versions_are_agreed_on() {
    for version in VERSIONS {
        let expected = if version == "2026-07-28" { "2025-11-25" } else { version };
        assert_eq!(agreed(version), expected, "no handshake leads to the newest");
    }
    assert_eq!(agreed("1999-01-01"), "2025-11-25");
}

#[test]
fn the_header_says_the_era() {
    let era = |pairs: &[(&'static str, &str)]| Era::of(&headers(pairs)).map_err(|error| error.code);
    let name = "mcp-protocol-version";
    assert_eq!(era(&[]), Ok(Era::Handshake { takes_batches: true }));
    assert_eq!(era(&[(name, "2025-03-26")]), Ok(Era::Handshake { takes_batches: true }));
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        assert_eq!(era(&[(name, version)]), Ok(Era::Handshake { takes_batches: false }), "{version}");
    }
    assert_eq!(era(&[(name, "2026-07-28")]), Ok(Era::Modern));
    for version in ["", "2026-07-29", "1", "2026-07-28, 2026-07-28"] {
        assert_eq!(era(&[(name, version)]), Err(RpcError::UNSUPPORTED_VERSION), "{version}");
    }
    assert_eq!(era(&[(name, "2026-07-28"), (name, "2026-07-28")]), Err(RpcError::HEADER_MISMATCH));
    assert_eq!(era(&[(name, "\u{e9}")]), Err(RpcError::HEADER_MISMATCH));
}

#[test]
fn a_modern_request_says_the_same_in_header_and_body() {
    let meta =
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let request = |method: &str, members: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}}}}}"#);
        let Ok(Message::Request(request)) = Message::read(read(&text)) else { panic!("{text}") };
        request
    };
    let check = |era: Era, pairs: &[(&'static str, &str)], method: &str, members: &str| {
        era.check(&headers(pairs), &request(method, members)).map_err(|error| error.code)
    };
    let own = format!(r#""_meta":{meta}"#);
    let called = format!(r#""_meta":{meta},"name":"gét""#);
    let (list, call) = (("mcp-method", "tools/list"), ("mcp-method", "tools/call"));
    let mismatch = Err(RpcError::HEADER_MISMATCH);
    assert_eq!(check(Era::Modern, &[list], "tools/list", &own), Ok(()));
    assert_eq!(check(Era::Modern, &[], "tools/list", &own), mismatch);
    assert_eq!(check(Era::Modern, &[call], "tools/list", &own), mismatch);
    assert_eq!(check(Era::Modern, &[list, list], "tools/list", &own), mismatch);
    for (name, expected) in [
        ("=?base64?Z8OpdA==?=", Ok(())),
        ("g\u{e9}t", mismatch),
        ("=?base64?Z8OpdA?=", mismatch),
        ("=?base64?/w==?=", mismatch),
        ("get", mismatch),
    ] {
        assert_eq!(check(Era::Modern, &[call, ("mcp-name", name)], "tools/call", &called), expected, "{name}");
    }
    assert_eq!(check(Era::Modern, &[call], "tools/call", &called), mismatch, "no name in the header");
    assert_eq!(check(Era::Modern, &[call], "tools/call", &own), Ok(()), "that there is none is told later");
    for envelope in
        ["", r#""_meta":1"#, r#""_meta":{}"#, r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#]
    {
        assert_eq!(check(Era::Modern, &[list], "tools/list", envelope), Err(RpcError::INVALID_PARAMS), "{envelope}");
    }
    let older = own.replace("2026-07-28", "2025-11-25");
    assert_eq!(check(Era::Modern, &[list], "tools/list", &older), mismatch);
    // An envelope of the modern era needs its header.
    let handshake = Era::Handshake { takes_batches: false };
    assert_eq!(check(handshake, &[], "tools/list", &own), mismatch);
    assert_eq!(check(handshake, &[], "tools/list", ""), Ok(()));
    assert_eq!(check(handshake, &[], "tools/list", r#""_meta":{"progressToken":1}"#), Ok(()));
}
