//! What JSON files say, and which are refused.

use super::{Table, refusal, units};
use crate::formats::Kind::Json;

#[test]
fn string_leaves_are_units() {
    let file = r#"{"a": "x", "b": {"c": "y", "d": [1, "z", {"e": "", "f": null}], "g": true}, "h": 1.5e3, "i": {}}"#;
    assert_eq!(units(Json, file), ["a=x", "b.c=y", "b.d.1=z", "b.d.2.e="]);
    assert_eq!(units(Json, "\u{feff} \r\n{\t}\n"), [""; 0]);
}

#[test]
fn escapes_are_decoded() {
    let file = r#"{"\u0061\"": "\" \\ \/ \b \f \n \r \t \u00e9 \uD83D\ude00 \u20ac é"}"#;
    assert_eq!(units(Json, file), ["a\"=\" \\ / \u{8} \u{c} \n \r \t é 😀 € é"]);
}

#[test]
fn siblings_with_categories_are_a_plural() {
    let cases: &[(&str, &[&str])] = &[
        (r#"{"k_one": "1", "k_other": "n"}"#, &["k=one:1|other:n"]),
        (r#"{"k_other": "n", "x": "y", "k_one": "1"}"#, &["k=one:1|other:n", "x=y"]),
        (r#"{"a": {"k_few": "f", "k_other": "n"}}"#, &["a.k=few:f|other:n"]),
        // Without `other`, alone, with something that is no string, ordinal, without a stem.
        (r#"{"k_one": "1", "k_few": "2"}"#, &["k_one=1", "k_few=2"]),
        (r#"{"k_other": "n"}"#, &["k_other=n"]),
        (r#"{"k_one": 1, "k_two": "2", "k_other": "n"}"#, &["k_two=2", "k_other=n"]),
        (r#"{"k_ordinal_one": "st", "k_ordinal_other": "th"}"#, &["k_ordinal_one=st", "k_ordinal_other=th"]),
        (r#"{"_one": "1", "_other": "n"}"#, &["_one=1", "_other=n"]),
        (r#"{"k_one": "1", "k_other": "n", "k_male": "m"}"#, &["k=one:1|other:n", "k_male=m"]),
        // Different objects.
        (r#"{"k_one": "1", "a": {"k_other": "n"}}"#, &["k_one=1", "a.k_other=n"]),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(file, units(Json, file), *expected);
    }
    table.done();
}

#[test]
fn refusals() {
    let deep = format!("{{\"a\": {}", "[".repeat(64));
    let just_deep_enough = format!("{{\"a\": {}\"x\"{}}}", "[".repeat(63), "]".repeat(63));
    assert_eq!(units(Json, just_deep_enough).len(), 1);
    let long = format!("{{\n \"{}\": \"x\"}}", "é".repeat(1025));
    assert_eq!(units(Json, format!("{{\"{}\": \"x\"}}", "é".repeat(1024))).len(), 1);
    let many = format!("{{\"a\": [{}\"x\"]}}", "\"x\",".repeat(200_000));
    assert_eq!(units(Json, format!("{{\"a\": [{}\"x\"]}}", "\"x\",".repeat(199_999))).len(), 200_000);
    let cases: &[(&str, &str)] = &[
        ("", "malformed 1:1"),
        ("\u{feff}", "malformed 1:1"),
        ("x", "malformed 1:1"),
        ("[\"a\"]", "unsupported_construct 1:1"),
        ("\n \"a\"", "unsupported_construct 2:2"),
        ("12", "unsupported_construct 1:1"),
        ("{\"a\": \"x\"} x", "malformed 1:12"),
        ("{\"a\": \"x\",}", "malformed 1:11"),
        ("{\"a\": \"x\" \"b\": 1}", "malformed 1:11"),
        ("{'a': 1}", "malformed 1:2"),
        ("{a: 1}", "malformed 1:2"),
        ("{\"a\" 1}", "malformed 1:6"),
        ("{\"a\": }", "malformed 1:7"),
        ("{\"a\": [1,]}", "malformed 1:10"),
        ("{\"a\": [1 2]}", "malformed 1:10"),
        ("{\"a\": 01}", "malformed 1:8"),
        ("{\"a\": 1.}", "malformed 1:9"),
        ("{\"a\": -}", "malformed 1:8"),
        ("{\"a\": 1e}", "malformed 1:9"),
        ("{\"a\": .5}", "malformed 1:7"),
        ("{\"a\": +1}", "malformed 1:7"),
        ("{\"a\": NaN}", "malformed 1:7"),
        ("{\"a\": truE}", "malformed 1:10"),
        ("{\"a\": \"x\ty\"}", "malformed 1:9"),
        ("{\"a\": \"\\x\"}", "malformed 1:8"),
        ("{\"a\": \"\\u12g4\"}", "malformed 1:8"),
        ("{\"a\": \"x", "malformed 1:9"),
        ("{\"a\": \"x\"", "malformed 1:10"),
        ("{\"a\": 1} // c", "malformed 1:10"),
        ("{/* c */\"a\": 1}", "malformed 1:2"),
        ("{\u{a0}\"a\": 1}", "malformed 1:2"),
        ("{\"é\": 1,\r\n\"é\": 2}", "duplicate_key 2:1"),
        ("{\"a\": 1, \"\\u0061\": \"x\"}", "duplicate_key 1:10"),
        ("{\"a.b\": \"x\",\r\"a\": {\"b\": \"y\"}}", "duplicate_key 2:7"),
        ("{\"k\": \"x\", \"k_one\": \"y\", \"k_other\": \"z\"}", "duplicate_key 1:12"),
        ("{\"\": \"x\"}", "key_invalid 1:2"),
        ("{\"a\\u0000\": 1}", "key_invalid 1:4"),
        ("{\"\\ud800\": 1}", "key_invalid 1:3"),
        ("{\"a\": \"x\\u0000\"}", "value_unrepresentable 1:9"),
        ("{\"a\": \"\\ud800\"}", "value_unrepresentable 1:8"),
        ("{\"a\": \"\\udc00\"}", "value_unrepresentable 1:8"),
        ("{\"a\": \"\\ud800\\u0041\"}", "value_unrepresentable 1:8"),
        (&deep, "nesting_too_deep 1:70"),
        (&long, "key_too_long 2:2"),
        (&many, "too_many_units 1:800008"),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(file, refusal(Json, file), *expected);
    }
    table.done();
}

#[test]
fn what_is_not_utf8_is_refused_unless_something_comes_before() {
    let cases: &[(&[u8], &str)] = &[
        (b"{\"a\": \"\xe9\"}", "encoding_invalid 1:8"),
        (b"{\"a\": \"\xc3\xa9\xff\xe9\"}", "encoding_invalid 1:9"),
        (b"{\"a\": x, \"b\": \"\xe9\"}", "malformed 1:7"),
        (b"{\"a\": \"\xe9", "encoding_invalid 1:8"),
        (b"\xff\xfe{\0}\0", "encoding_invalid 1:1"),
        (b"{\"a\": \"\xed\xa0\x80\"}", "encoding_invalid 1:8"),
        (b"{\0}", "malformed 1:2"),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(&String::from_utf8_lossy(file), refusal(Json, file), *expected);
    }
    table.done();
}
