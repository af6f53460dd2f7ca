//! What properties files say, as Java's documentation has it, and which are refused.

use super::{Table, refusal, units};
use crate::formats::Kind::Properties;

#[test]
fn logical_lines() {
    let cases: &[(&str, &[&str])] = &[
        ("a=b", &["a=b"]),
        ("a = b ", &["a=b "]),
        (" \t\u{c}a\t:\u{c} b", &["a=b"]),
        ("a b", &["a=b"]),
        ("a  = = b", &["a== b"]),
        ("a", &["a="]),
        ("a=", &["a="]),
        ("a:=b", &["a==b"]),
        ("# c\n! d\n  # e \\\na=b", &["a=b"]),
        ("\n\r\n \r a=b\r\nc=d\re=f\n", &["a=b", "c=d", "e=f"]),
        // Java's own examples.
        ("Truth = Beauty", &["Truth=Beauty"]),
        (" Truth:Beauty", &["Truth=Beauty"]),
        ("Truth                    :Beauty", &["Truth=Beauty"]),
        (
            "fruits                           apple, banana, pear, \\\n                                 cantaloupe, watermelon, \\\n                                 kiwi, mango",
            &["fruits=apple, banana, pear, cantaloupe, watermelon, kiwi, mango"],
        ),
        ("cheeses", &["cheeses="]),
        ("\\:\\= = x", &[":== x".replace("= x", "=x").as_str()].map(|_| ":==x")),
        // Escapes.
        ("a\\ b\\=c\\:d=e", &["a b=c:d=e"]),
        ("a=\\t\\n\\r\\f\\\\\\b\\z\\\"\\u00e9\\ud83d\\ude00", &["a=\t\n\r\u{c}\\bz\"é😀"]),
        // Continuations.
        ("a=b\\\n  c\\\r\n\td\\\r e", &["a=bcde"]),
        ("a=b\\\\\nc=d", &["a=b\\", "c=d"]),
        ("a=b\\\n\nc=d", &["a=b", "c=d"]),
        ("a=\\\n  b", &["a=b"]),
        ("a\\\n  b = c", &["ab=c"]),
        ("a=b\\\n# c", &["a=b# c"]),
        ("a=b\\", &["a=b"]),
        ("\\\n  \n# c\na=b", &["a=b"]),
        ("a=\\u00\\\n e9", &["a=é"]),
        ("\u{feff}a=é", &["a=é"]),
        ("", &[]),
        ("\\", &[]),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(&String::from_utf8_lossy(file.as_ref()), units(Properties, file), *expected);
    }
    table.done();
}

#[test]
fn what_is_not_utf8_is_latin_1() {
    assert_eq!(units(Properties, b"a=\xe9\nb\xfc=\x80"), ["a=é", "bü=\u{80}"]);
    // Once one byte is not, none is.
    assert_eq!(units(Properties, b"a=\xc3\xa9\nb=\xe9"), ["a=Ã©", "b=é"]);
}

#[test]
fn refusals() {
    let long = format!("{}=x", "é".repeat(1025));
    let many: String = (0..200_001).map(|n| format!("{n}=\n")).collect();
    let cases: &[(&[u8], &str)] = &[
        (b"a=b\nc=d\r\n a : e", "duplicate_key 3:2"),
        (b"a=b\n\\u0061=c", "duplicate_key 2:1"),
        (b"=b", "key_invalid 1:1"),
        (b"a=b\n : c", "key_invalid 2:2"),
        (b"\\ud800=b", "key_invalid 1:1"),
        (b"\\u0000=b", "key_invalid 1:1"),
        (b"a=\\u00e", "malformed 1:3"),
        (b"a=x\\u00eg", "malformed 1:4"),
        (b"a\\u=x", "malformed 1:2"),
        (b"a=\\ud800", "value_unrepresentable 1:3"),
        (b"a=\\ud800x", "value_unrepresentable 1:3"),
        (b"a=\\ud800\\u0041", "value_unrepresentable 1:3"),
        (b"a=\\udc00", "value_unrepresentable 1:3"),
        (b"a=\\u0000", "value_unrepresentable 1:3"),
        (b"\\\n # a=b", "unsupported_construct 2:2"),
        (b"a=b\0", "encoding_invalid 1:4"),
        (b"\xff\xfea\0=\0b\0", "encoding_invalid 1:1"),
        (b"\xef\xbb\xbfa=\xe9", "encoding_invalid 1:3"),
        (long.as_bytes(), "key_too_long 1:1"),
        (many.as_bytes(), "too_many_units 200001:1"),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(&String::from_utf8_lossy(file), refusal(Properties, file), *expected);
    }
    table.done();
}
