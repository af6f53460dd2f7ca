//! The writer. Strings escape what must be escaped and nothing else; numbers come out as they came in.

use std::fmt::Write as _;

use super::Json;

/// The one text of a value: members sorted by name (by Unicode code points), no white space, characters beyond
/// ASCII as they are. It is what the contracts call canonical JSON, equal to Python's
/// `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`, except that numbers keep the
/// text they were written with.
#[must_use]
pub fn to_canonical(value: &Json) -> String {
    let mut out = String::new();
    write(value, true, &mut out);
    out
}

/// A value without white space, members in their own order.
#[must_use]
pub fn to_compact(value: &Json) -> String {
    let mut out = String::new();
    write(value, false, &mut out);
    out
}

/// Calls itself; the depth of trees is bounded by [`Limits::DEPTH_MAX`](super::Limits::DEPTH_MAX).
fn write(value: &Json, sorted: bool, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => out.push_str(number.as_str()),
        Json::String(text) => write_string(text, out),
        Json::Array(values) => {
            out.push('[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(value, sorted, out);
            }
            out.push(']');
        }
        Json::Object(members) if sorted => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            write_members(members.into_iter(), sorted, out);
        }
        Json::Object(members) => write_members(members.iter(), sorted, out),
    }
}

fn write_members<'j>(members: impl Iterator<Item = &'j (String, Json)>, sorted: bool, out: &mut String) {
    out.push('{');
    for (place, (name, value)) in members.enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        write(value, sorted, out);
    }
    out.push('}');
}

/// Writes a string with its quotation marks, as both forms have it.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    // What needs no escape is copied as a whole.
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(text.get(plain_from..at).unwrap_or_default());
        plain_from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            // Writing to a string cannot fail.
            other => {
                let _ = write!(out, "\\u{other:04x}");
            }
        }
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
    out.push('"');
}
