//! What YAML files say, and which are refused.

use super::{EN, Table, refusal, units};
use crate::formats::Kind::{Flat, Rails};
use crate::formats::yaml::is_string;

#[test]
fn strings_are_units() {
    let file = "\
# comment
en: # comment
  plain: plain text  # comment
  folded plain: two
    lines

    and a paragraph
  single: 'it''s'
  double: \"\\u00e9 \\t \\x41 \\\n    joined\"
  literal: |
    one
      two

  stripped: >-
    one
    two

  kept: |+
    one

  flow: {a: x, 'b': \"y\", c: [1, v, {d: e}]}
  list:
  - first
  -
    - second
  - third: 3rd
    fourth: 4
  tagged: ! 'Yes'
  empty: ''
  5: five
";
    let expected = [
        "plain=plain text",
        "folded plain=two lines\nand a paragraph",
        "single=it's",
        "double=é \t A joined",
        "literal=one\n  two\n",
        "stripped=one two",
        "kept=one\n\n",
        "flow.a=x",
        "flow.b=y",
        "flow.c.1=v",
        "flow.c.2.d=e",
        "list.0=first",
        "list.1.0=second",
        "list.2.third=3rd",
        "tagged=Yes",
        "empty=",
        "5=five",
    ];
    assert_eq!(units(EN, file), expected);
    assert_eq!(units(EN, file.replace('\n', "\r\n")), expected);
    assert_eq!(units(EN, format!("\u{feff}{file}")), expected);
    let flat: Vec<String> = expected.iter().map(|unit| format!("en.{unit}")).collect();
    assert_eq!(units(Flat, file), flat);
    assert_eq!(units(Flat, format!("---\n{file}...\n")), flat);
}

#[test]
fn what_some_reader_takes_for_something_else_is_no_unit() {
    let others = [
        "",
        "~",
        "null",
        "NULL",
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "N",
        "true",
        "False",
        "=",
        "0",
        "-1",
        "+12",
        "1_000",
        "0b101",
        "0o17",
        "017",
        "0x1F",
        "1.5",
        "-.5",
        "5.",
        "1e3",
        "1.5e-3",
        "6.02E+23",
        ".inf",
        "-.INF",
        ".NaN",
        "12:30",
        "1:30:00",
        "20:30.15",
        "2001-12-14",
        "2001-1-1",
        "2001-12-14t21:59:43.10-05:00",
        "2001-12-14 21:59:43.10 -5",
        "2001-12-15 2:59:43.10",
    ];
    for text in others {
        assert!(!is_string(text), "{text}");
        assert_eq!(units(EN, format!("en:\n  a: {text}\n  b: x\n")), ["b=x"], "{text}");
        assert_eq!(units(EN, format!("en:\n  a: '{text}'\n")), [format!("a={text}")], "{text}");
    }
    assert_eq!(units(EN, "en:\n  a: :day\n  b: ':'\n  c:\n  - :year\n  - ':x'\n"), ["b=:", "c.1=:x"]);
    let strings = [
        "Yes, please",
        "nO",
        "1.2.3",
        "12 34",
        "1,000",
        "0o9",
        "0xg",
        "1e",
        "e3",
        "-",
        ".",
        "12:60",
        "1:2:",
        "2001-12",
        "2001-12-14x",
        "truth",
        "no-one",
        "12:30 h",
        "%d",
    ];
    for text in strings {
        assert!(is_string(text), "{text}");
    }
}

#[test]
fn a_mapping_of_categories_is_a_plural() {
    let cases: &[(&str, &[&str])] = &[
        ("  k:\n    one: x\n    other: w\n", &["k=one:x|other:w"]),
        ("  k:\n    other: w\n    zero: 'z'\n", &["k=zero:z|other:w"]),
        ("  k: {other: w}\n", &["k=other:w"]),
        ("  k:\n  - one: x\n    other: w\n", &["k.0=one:x|other:w"]),
        ("  k:\n    one: x\n    few: w\n", &["k.one=x", "k.few=w"]),
        ("  k:\n    one: 1\n    other: w\n", &["k.other=w"]),
        ("  k:\n    one: x\n    other: w\n    some: v\n", &["k.one=x", "k.other=w", "k.some=v"]),
        ("  k:\n    one: x\n    other:\n      other: w\n", &["k.one=x", "k.other=other:w"]),
        ("  one: x\n  other: w\n", &["one=x", "other=w"]),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(file, units(EN, format!("en:\n{file}")), *expected);
    }
    assert_eq!(units(Flat, "k:\n  one: x\n  other: w\n"), ["k.one=x", "k.other=w"]);
}

#[test]
fn the_root_is_the_locale_as_text() {
    for (root, file) in [("zh", "zh:\n  a: x\n"), ("sr-YU", "'sr-YU':\n  a: x\n"), ("no", "no:\n  a: x\n")] {
        assert_eq!(units(Rails { root }, file), ["a=x"]);
    }
    assert_eq!(units(EN, "en:\n"), [""; 0]);
    assert_eq!(units(EN, "en: {}\n"), [""; 0]);
    assert_eq!(refusal(EN, "de:\n  a: x\n"), "key_invalid 1:1");
    assert_eq!(refusal(EN, "en:\n  a: x\nde:\n  a: x\n"), "key_invalid 3:1");
    assert_eq!(refusal(EN, "EN:\n  a: x\n"), "key_invalid 1:1");
    for file in ["en: x\n", "en: 1\n", "en: ''\n", "en: |\n  x\n", "en:\n- x\n", "- en\n", "x\n", "en: [x]"] {
        assert!(refusal(EN, file).starts_with("unsupported_construct"), "{file}: {}", refusal(EN, file));
    }
}

#[test]
fn refusals() {
    let deep = format!("a: {}x{}", "[".repeat(64), "]".repeat(64));
    assert_eq!(units(Flat, format!("a: {}x{}", "[".repeat(63), "]".repeat(63))).len(), 1);
    let long = format!("en:\n  {}:\n    {}: x\n", "é".repeat(600), "b".repeat(424));
    assert_eq!(units(EN, format!("en:\n  {}:\n    {}: x\n", "é".repeat(600), "b".repeat(423))).len(), 1);
    let long_key = format!("{}: x\n", "b".repeat(1025));
    let many = format!("a:\n{}", "- x\n".repeat(200_001));
    let cases: &[(&str, &str)] = &[
        ("", "unsupported_construct 1:1"),
        ("# nothing\n", "unsupported_construct 2:1"),
        ("---\n", "unsupported_construct 1:4"),
        ("a: b: c\n", "malformed 1:5"),
        ("a: 'x\n", "malformed 2:1"),
        ("a: [x\n", "malformed 1:4"),
        ("a: x\n b: y\n", "malformed 2:3"),
        ("a:\n\tb: x\n", "malformed 2:2"),
        ("a: >2+ # c\n \n\n\t\nb: c", "malformed 4:1"),
        ("a:\r\n  b: >- # c\r\n  # c\r\n\r\n\t\r\n  \r\n", "malformed 5:1"),
        ("a: |\n \tx\n", "malformed 2:2"),
        ("a: \"\\q\"\n", "malformed 1:4"),
        ("a: x\nb: \u{1}\n", "malformed 2:4"),
        ("a: x\u{7f}\n", "malformed 1:5"),
        ("a: x\nb: y\na: z\n", "duplicate_key 3:1"),
        ("a: 1\n'a': 2\n", "duplicate_key 2:1"),
        ("a.b: x\na:\n  b: w\n", "duplicate_key 3:3"),
        ("a: &x y\n", "yaml_alias_refused 1:4"),
        ("a: &x\n  b: c\n", "yaml_alias_refused 1:4"),
        ("a: *x\n", "yaml_alias_refused 1:4"),
        ("&k a: x\n", "yaml_alias_refused 1:1"),
        ("a: [x, *y]\n", "yaml_alias_refused 1:8"),
        ("a: !!str x\n", "yaml_tag_refused 1:4"),
        ("a: !ruby/object:Foo {}\n", "yaml_tag_refused 1:4"),
        ("a: !e!x y\n", "yaml_tag_refused 1:4"),
        ("a: !<x> y\n", "yaml_tag_refused 1:4"),
        ("a: !!map\n  b: c\n", "yaml_tag_refused 1:4"),
        ("a: !!str &x y\n", "yaml_tag_refused 1:4"),
        ("a: &x !!str y\n", "yaml_alias_refused 1:4"),
        ("%YAML 1.1\n---\na: x\n", "unsupported_construct 1:1"),
        ("a: x\n---\nb: y\n", "unsupported_construct 2:1"),
        ("a: x\n<<: {b: c}\n", "unsupported_construct 2:1"),
        ("? a\n: x\n", "unsupported_construct 1:3"),
        ("[a]: x\n", "unsupported_construct 1:1"),
        ("{a: b}: x\n", "unsupported_construct 1:1"),
        ("a: [b: c]\n", "unsupported_construct 1:5"),
        (": x\n", "key_invalid 1:1"),
        ("\"a\\0\": x\n", "key_invalid 1:1"),
        ("\"\": x\n", "key_invalid 1:1"),
        ("\"\\ud83d\\ude00\": x\n", "key_invalid 1:2"),
        ("a: \"\\0\"\n", "value_unrepresentable 1:4"),
        ("a: \"x\\ud83d\\ude00\"\n", "value_unrepresentable 1:6"),
        ("a: \"\\ud83d\"\n", "value_unrepresentable 1:4"),
        ("a: x\u{2028}y\n", "unsupported_construct 1:5"),
        ("# x\u{85}y\na: b\n", "unsupported_construct 1:4"),
        ("a: 'x \u{2028}y'\n", "unsupported_construct 1:7"),
        ("a: 'x\u{85}y'\n", "unsupported_construct 1:6"),
        (&deep, "nesting_too_deep 1:67"),
        (&long, "key_too_long 3:5"),
        (&long_key, "key_too_long 1:1"),
        (&many, "too_many_units 200002:3"),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(file, refusal(Flat, file), *expected);
    }
    table.done();
    assert_eq!(units(Flat, "a: 'x\u{2028}y'\n"), ["a=x\u{2028}y"]);
    assert_eq!(refusal(Flat, b"a: \xe9\n"), "encoding_invalid 1:4");
    assert_eq!(refusal(Flat, b"a: *x\nb: \xe9\n"), "yaml_alias_refused 1:4");
    assert_eq!(refusal(Flat, b"a: \"\xe9\"\n"), "encoding_invalid 1:5");
    assert_eq!(refusal(Flat, b"\xff\xfea\0:\0"), "encoding_invalid 1:1");
}

/// What libyaml reads where a file ends without a line break, made with PyYAML 6.0.3 and Ruby's psych.
#[test]
fn ends_without_a_line_break() {
    let cases: &[(&str, &str)] = &[
        ("a: |", ""),
        ("a: |+", ""),
        ("a: |-\n", ""),
        ("a: |+\n", ""),
        ("a: |+\n   ", ""),
        ("a: |\n   ", ""),
        ("a: |+\n\n  ", "\n"),
        ("a: |+\n\n\n", "\n\n"),
        ("a: >+\n \n   ", "\n"),
        ("a: |\n  x", "x"),
        ("a: >\n  x", "x"),
        ("a: |+\n  x", "x"),
        ("a: >+\n  x", "x"),
        ("a: |-\n  x", "x"),
        ("a: |\n  x\n", "x\n"),
        ("a: |\n  x\n ", "x\n"),
        ("a: |\n  x\n  ", "x\n"),
        ("a: |\n  x\n   ", "x\n "),
        ("a: |\n  x\n\n    ", "x\n\n  "),
        ("a: |+\n  x\n  ", "x\n"),
        ("a: |+\n  x\n   ", "x\n "),
        ("a: |+\n  x\n\n  ", "x\n\n"),
        ("a: |-\n  x\n  ", "x"),
        ("a: |-\n  x\n   ", "x\n "),
        ("a: >-\n  x\n   ", "x\n "),
        ("a: >-\n  x\n  y", "x y"),
        ("a: >\n  x\n\n  y", "x\ny"),
        ("a: >+\n  x\n\n    ", "x\n\n  "),
        ("a: |2-\n    ", "  "),
        ("a: |2-\n   x\n    ", " x\n  "),
        ("a: |2\n    x\n     ", "  x\n   "),
        ("a: |-\n  x  ", "x  "),
        ("a: |\n  x\t", "x\t"),
    ];
    let mut table = Table::default();
    for (file, text) in cases {
        for line_break in ["\n", "\r\n", "\r"] {
            let file = file.replace('\n', line_break);
            table.row(&file, units(Flat, &file), [format!("a={text}")]);
            let listed = file.replace("a: ", "a:\n- ").replace('\n', line_break).replace("\r\r", "\r");
            if line_break == "\n" {
                table.row(&listed, units(Flat, &listed), [format!("a.0={text}")]);
            }
        }
    }
    table.done();
}

/// In a scalar it is a character like any other, to libyaml.
#[test]
fn a_byte_order_mark_within_a_file_is_a_character() {
    let cases: &[(&str, &[&str])] = &[
        ("a: x\u{feff}y\n", &["a=x\u{feff}y"]),
        ("a: \u{feff}x\n", &["a=\u{feff}x"]),
        ("a: 'x\u{feff}'\n", &["a=x\u{feff}"]),
        ("a: \"\u{feff}\\uFEFF\"\n", &["a=\u{feff}\u{feff}"]),
        ("a: |\n  \u{feff}x\n", &["a=\u{feff}x\n"]),
        ("a: [\u{feff}x]\n", &["a.0=\u{feff}x"]),
        ("\u{feff}b: x\n", &["b=x"]),
        ("# \u{feff}\nb: x\n", &["b=x"]),
        ("a: 'x\n  \u{feff}y'\n", &["a=x \u{feff}y"]),
        ("a\u{feff}: \u{feff}\u{e000}\\uE001\n", &["a\u{feff}=\u{feff}\u{e000}\\uE001"]),
        ("a: \"\u{e000}\\ue001\\U0000E002\u{feff}\"\n", &["a=\u{e000}\u{e001}\u{e002}\u{feff}"]),
    ];
    let mut table = Table::default();
    for (file, expected) in cases {
        table.row(file, units(Flat, file), *expected);
    }
    table.done();
    assert_eq!(refusal(Flat, "a: \u{feff}x\nb: *y\n"), "yaml_alias_refused 2:4");
    assert_eq!(refusal(Flat, "a: \u{fffe}\n"), "malformed 1:4");
    // libyaml passes over one where a line begins, and then the line begins in another column.
    assert_eq!(refusal(Flat, "\u{feff}\u{feff}b: x\n"), "malformed 1:1");
    assert_eq!(refusal(Flat, "a: x\n\u{feff}b: y\n"), "malformed 2:1");
    assert_eq!(refusal(Flat, "# c\n\u{feff}b: x\n"), "malformed 2:1");
    let every: String = ('\u{e000}'..='\u{f8ff}').collect();
    assert_eq!(units(Flat, format!("a: {every}\n")), [format!("a={every}")]);
    assert_eq!(refusal(Flat, format!("a: \u{feff}{every}\n")), "malformed 1:4");
}
