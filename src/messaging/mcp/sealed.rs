//! What is sealed is withheld from models: whoever gives armor to one gives it to whoever runs it, and it can do nothing with
//! it. All results of tools pass here (6-messaging.md, N3).
//!
//! Armor is found wherever it stands in a text, quoted and cut too. What only speaks of it stays.

use bytes::Bytes;
use data_encoding::BASE64;
use quintet_platform::json::{self, Json, Limits, to_compact};

use crate::words::sealed::{BEGIN, END, is_sealed};

/// The member that has the bytes of an attachment.
const CONTENT: &str = "content_base64";
/// What a file begins with that is sealed and not armored.
const FILE: &str = "age-encryption.org/";
/// A result that has none of these has nothing that is sealed: nothing in them is escaped in JSON.
const TRACES: [&str; 3] = ["-----BEGIN AGE", FILE, CONTENT];

const NOTE: &str = "What is sealed is withheld here: the service cannot open it, and tools give no armor. The command \
    that stands in its place opens it with the agent's own key.";

/// A result without its armor; one that has none is what it was, to the byte.
pub(super) fn withheld(body: Bytes) -> Bytes {
    if !TRACES.iter().any(|trace| has(&body, trace.as_bytes())) {
        return body;
    }
    let limits = Limits { max_depth: Limits::DEPTH_MAX };
    // What cannot be looked through is not shown.
    let Ok(told) = json::parse(&body, limits) else {
        return to_compact(&Json::object([("sealed_note", Json::from(NOTE))])).into_bytes().into();
    };
    let mut found = false;
    match opaque(told, "", &mut found) {
        _ if !found => body,
        Json::Object(mut members) => {
            members.push(("sealed_note".to_owned(), Json::from(NOTE)));
            to_compact(&Json::Object(members)).into_bytes().into()
        }
        told => to_compact(&told).into_bytes().into(),
    }
}

fn has(body: &[u8], trace: &[u8]) -> bool {
    let Some(first) = trace.first() else { return false };
    let mut rest = body;
    while let Some(place) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(place..).unwrap_or_default();
        if rest.starts_with(trace) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// A value without armor. `id` is that of the delivery or message in which it stands.
fn opaque(value: Json, id: &str, found: &mut bool) -> Json {
    match value {
        Json::Object(members) => {
            let own = ["delivery_id", "message_id", "id"].into_iter().find_map(|name| {
                let (_, value) = members.iter().find(|(known, _)| known == name)?;
                value.as_str().map(str::to_owned)
            });
            let id = own.unwrap_or_else(|| id.to_owned());
            let member = |(place, (name, value)): (usize, (String, Json))| {
                let value = match value {
                    Json::String(base64) if name == CONTENT && is_sealed_base64(&base64) => {
                        *found = true;
                        Json::from(marker(&id))
                    }
                    value => opaque(value, &id, found),
                };
                match without_armor(&name, &marker(&id)) {
                    Some(name) => {
                        *found = true;
                        // Two of one name would be none.
                        (format!("{name} {place}"), value)
                    }
                    None => (name, value),
                }
            };
            Json::Object(members.into_iter().enumerate().map(member).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(|item| opaque(item, id, found)).collect()),
        Json::String(text) => match without_armor(&text, &marker(id)) {
            Some(text) => {
                *found = true;
                Json::from(text)
            }
            None => Json::String(text),
        },
        plain => plain,
    }
}

/// What stands in the place of armor.
fn marker(id: &str) -> String {
    format!("[sealed: read it with agentbus show {id}]")
}

/// Whether an attachment is sealed, or has armor in it.
fn is_sealed_base64(base64: &str) -> bool {
    let Ok(bytes) = BASE64.decode(base64.as_bytes()) else { return false };
    is_sealed(&bytes) || bytes.starts_with(FILE.as_bytes()) || armor_in(&String::from_utf8_lossy(&bytes)).is_some()
}

/// A text with the marker in the place of each armor, or of all of it where it is a file that is sealed; `None`: it has none.
fn without_armor(text: &str, marker: &str) -> Option<String> {
    if text.starts_with(FILE) && text.contains("\n-> ") {
        return Some(marker.to_owned());
    }
    let (mut kept, mut rest, mut is_found) = (String::new(), text, false);
    while let Some((before, behind)) = armor_in(rest) {
        kept.push_str(before);
        kept.push_str(marker);
        rest = behind;
        is_found = true;
    }
    kept.push_str(rest);
    is_found.then_some(kept)
}

/// What stands before the first armor of a text, and behind it. Armor begins with a line of its own, which may be quoted; one
/// that does not end goes to the end of the text.
fn armor_in(text: &str) -> Option<(&str, &str)> {
    let is_lead = |character: char| character == '>' || (character.is_whitespace() && character != '\n');
    for (place, _) in text.match_indices(BEGIN) {
        let (before, from) = text.split_at_checked(place)?;
        let behind = from.strip_prefix(BEGIN)?;
        let ends = behind.trim_start_matches([' ', '\t', '\r']);
        if before.trim_end_matches(is_lead).chars().next_back().is_none_or(|last| last == '\n')
            && (ends.is_empty() || ends.starts_with('\n'))
        {
            let end = behind.find(END).map_or(behind.len(), |end| end + END.len());
            return Some((before, behind.get(end..).unwrap_or_default()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::words::sealed::tests::sealed_text;

    fn shown(value: &Value) -> Value {
        let told = withheld(Bytes::from(value.to_string()));
        serde_json::from_slice(&told).unwrap()
    }

    #[test]
    fn armor_gives_way_to_what_opens_it() {
        let armor = sealed_text();
        let cut = armor.replace(END, "");
        let quoted: String = armor.lines().map(|line| format!("> {line}\n")).collect();
        for (text, expected) in [
            (armor.clone(), "[sealed: read it with agentbus show D]\n"),
            (format!("\r\n \t{armor}"), "\r\n \t[sealed: read it with agentbus show D]\n"),
            (armor.replace('\n', "\r\n"), "[sealed: read it with agentbus show D]\r\n"),
            (cut, "[sealed: read it with agentbus show D]"),
            (BEGIN.to_owned(), "[sealed: read it with agentbus show D]"),
            (
                format!("Look:\n{armor}And\n{armor}so on"),
                "Look:\n[sealed: read it with agentbus show D]\nAnd\n[sealed: \
                read it with agentbus show D]\nso on",
            ),
            (quoted, "> [sealed: read it with agentbus show D]\n"),
            ("age-encryption.org/v1\n-> X25519 A\nB\n--- C\n".to_owned(), "[sealed: read it with agentbus show D]"),
        ] {
            let told = shown(&json!({"delivery_id": "D", "text_body": text, "priority": "normal"}));
            assert_eq!(told["text_body"], expected, "{text:?}");
            assert!(told["sealed_note"].as_str().unwrap().contains("sealed"), "{told}");
            assert_eq!(told["priority"], "normal");
        }
    }

    #[test]
    fn it_is_found_wherever_it_stands() {
        let armor = sealed_text();
        let told = shown(&json!({
            "thread": {"id": "T"},
            "messages": [
                {"id": "M1", "text_body": armor, "payload": {"deep": [[{"er": armor}]]}},
                {"delivery_id": null, "message_id": "M2", "text_body": "plain", "payload": {armor.clone(): 1}},
            ],
            "detail": armor,
        }));
        assert!(!told.to_string().contains("BEGIN AGE"), "{told}");
        let marker = |id: &str| format!("[sealed: read it with agentbus show {id}]\n");
        assert_eq!(told["messages"][0]["text_body"], marker("M1"));
        assert_eq!(told["messages"][0]["payload"]["deep"][0][0]["er"], marker("M1"));
        assert_eq!(told["messages"][1]["payload"][format!("{} 0", marker("M2"))], 1);
        assert_eq!(told["detail"], marker(""));
    }

    #[test]
    fn attachments_are_looked_into() {
        let armor = sealed_text();
        let file = BASE64.decode(armor.lines().filter(|line| !line.starts_with('-')).collect::<String>().as_bytes());
        let file = file.unwrap();
        let short = file.get(..30).unwrap().to_vec();
        let in_text = format!("before\n{armor}");
        for bytes in [armor.as_bytes(), &file, &short, in_text.as_bytes(), format!("\n{armor}").as_bytes()] {
            let told = shown(&json!({"delivery_id": "D", "content_base64": BASE64.encode(bytes)}));
            assert_eq!(told["content_base64"], "[sealed: read it with agentbus show D]");
            assert!(told["sealed_note"].is_string());
        }
        let plain = json!({"delivery_id": "D", "content_base64": BASE64.encode(b"plain")});
        assert_eq!(shown(&plain), plain);
    }

    #[test]
    fn all_else_is_what_it_was() {
        for text in [
            r#"{"text_body":"plain",  "n":1.50}"#.to_owned(),
            format!(r#"{{"text_body":"It begins with {BEGIN} and so on"}}"#),
            format!(r#"{{"text_body":"a {BEGIN}\n"}}"#),
            r#"{"content_base64":"AA==", "x":"-----BEGIN AGE", "y":"age-encryption.org/v1 is a format"}"#.to_owned(),
            "[]".to_owned(),
        ] {
            assert_eq!(withheld(Bytes::from(text.clone())), text.as_bytes(), "{text}");
        }
        let deep = format!(r#"{{"x":{}"-----BEGIN AGE"{}}}"#, "[".repeat(2_000), "]".repeat(2_000));
        let told: Value = serde_json::from_slice(&withheld(Bytes::from(deep))).unwrap();
        assert_eq!(told.as_object().unwrap().len(), 1, "what cannot be looked through is not shown: {told}");
    }
}
