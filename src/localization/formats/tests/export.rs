//! What files look like after edits, to the byte.

use super::{EN, Table, document, export, soon, try_export};
use crate::formats::Kind::{Flat, Json, Properties};
use crate::formats::{Edit, ExportRefusal, Forms, Kind};
use crate::language::Category::{self, Few, Many, One, Other, Two, Zero};

fn forms(list: &[(Category, &str)]) -> Forms {
    list.iter().map(|(category, form)| (*category, (*form).to_owned())).collect()
}

#[test]
fn json_values_are_replaced_in_place() {
    let cases: &[(&str, &str, &str, &str)] = &[
        (
            "{ \"a\" : \"x\" }\r\n",
            "a",
            "y \"\\/\n\u{1}\u{7f}é😀",
            "{ \"a\" : \"y \\\"\\\\/\\n\\u0001\\u007fé😀\" }\r\n",
        ),
        // ASCII with escapes stays ASCII, ASCII without does not.
        ("{\"a\":\"x\",\"b\":\"\\u00e9\"}", "a", "ü😀", "{\"a\":\"\\u00fc\\ud83d\\ude00\",\"b\":\"\\u00e9\"}"),
        ("{\"a\":\"x\",\"b\":\"é\"}", "a", "ü", "{\"a\":\"ü\",\"b\":\"é\"}"),
        ("{\"a\":\"x\",\"b\":\"1\\/2\"}", "a", "3/4", "{\"a\":\"3\\/4\",\"b\":\"1\\/2\"}"),
        ("{\"l\":[\"x\", \"y\"]}", "l.1", "z", "{\"l\":[\"x\", \"z\"]}"),
    ];
    let mut table = Table::default();
    for (file, path, text, expected) in cases {
        table.row(file, export(Json, file, None, &[(path, Edit::Text(text))]), *expected);
    }
    table.done();
}

#[test]
fn json_plurals_get_the_members_of_the_target() {
    let file = "{\n  \"a\": \"x\",\n  \"k_one\": \"1\",\n  \"k_other\" : \"n\",\n  \"z\": \"y\"\n}\n";
    let slavic = forms(&[(One, "e"), (Few, "f"), (Many, "m"), (Other, "o")]);
    assert_eq!(
        export(Json, file, None, &[("k", Edit::Forms(&slavic))]),
        "{\n  \"a\": \"x\",\n  \"k_one\": \"e\",\n  \"k_few\": \"f\",\n  \"k_many\": \"m\",\n  \"k_other\" : \"o\",\n  \"z\": \"y\"\n}\n"
    );
    let arabic = forms(&[(Zero, "z"), (Two, "2"), (Other, "n")]);
    assert_eq!(
        export(Json, file, None, &[("k", Edit::Forms(&arabic))]),
        "{\n  \"a\": \"x\",\n  \"k_zero\" : \"z\",\n  \"k_two\" : \"2\",\n  \"k_other\" : \"n\",\n  \"z\": \"y\"\n}\n"
    );
    let japanese = forms(&[(Other, "o")]);
    assert_eq!(
        export(Json, file, None, &[("k", Edit::Forms(&japanese))]),
        "{\n  \"a\": \"x\",\n  \"k_other\" : \"o\",\n  \"z\": \"y\"\n}\n"
    );
    let compact = "{\"k_other\":\"n\",\"k_one\":\"1\"}";
    assert_eq!(export(Json, compact, None, &[("k", Edit::Forms(&japanese))]), "{\"k_other\":\"o\"}");
    assert_eq!(
        export(Json, compact, None, &[("k", Edit::Forms(&slavic))]),
        "{\"k_other\":\"o\",\"k_one\":\"e\",\"k_few\":\"f\",\"k_many\":\"m\"}"
    );
    let escaped = "{\"k_one\":\"1\",\"k\\u005fothe\\u0072\":\"n\"}";
    assert_eq!(
        export(Json, escaped, None, &[("k", Edit::Forms(&forms(&[(Few, "f"), (Other, "n")])))]),
        "{\"k_few\":\"f\",\"k\\u005fothe\\u0072\":\"n\"}"
    );
    // The forms it has already.
    assert_eq!(export(Json, compact, None, &[("k", Edit::Forms(&forms(&[(One, "1"), (Other, "n")])))]), compact);
}

#[test]
fn omitted_members_take_one_comma_with_them() {
    let file = "{ \"a\": \"x\" , \"b\": {\"c\": \"y\"}, \"l\": [\"e\", {\"f\": \"g\"}],\n\"d\": \"z\" }";
    let cases: &[(&[&str], &str)] = &[
        (&["a"], "{   \"b\": {\"c\": \"y\"}, \"l\": [\"e\", {\"f\": \"g\"}],\n\"d\": \"z\" }"),
        (&["d"], "{ \"a\": \"x\" , \"b\": {\"c\": \"y\"}, \"l\": [\"e\", {\"f\": \"g\"}]\n }"),
        (&["b.c"], "{ \"a\": \"x\" , \"b\": {}, \"l\": [\"e\", {\"f\": \"g\"}],\n\"d\": \"z\" }"),
        (&["l.0", "l.1.f"], "{ \"a\": \"x\" , \"b\": {\"c\": \"y\"}, \"l\": [\"e\", {}],\n\"d\": \"z\" }"),
        (&["a", "d"], "{   \"b\": {\"c\": \"y\"}, \"l\": [\"e\", {\"f\": \"g\"}]\n }"),
    ];
    let mut table = Table::default();
    for (paths, expected) in cases {
        let edits: Vec<(&str, Edit<'_>)> = paths.iter().map(|path| (*path, Edit::Omit)).collect();
        table.row(&paths.join(" "), export(Json, file, None, &edits), *expected);
    }
    table.done();
    let all = "{\"a\": \"x\", \"k_one\": \"1\",\n \"b\": \"y\", \"k_other\": \"n\"}";
    let gone = [("a", Edit::Omit), ("k", Edit::Omit), ("b", Edit::Omit)];
    assert_eq!(export(Json, all, None, &gone), "{ \n  }");
    assert_eq!(export(Json, all, None, &gone[..2]), "{ \n \"b\": \"y\" }");
    let one = forms(&[(Other, "o")]);
    assert_eq!(
        export(Json, all, None, &[("a", Edit::Omit), ("k", Edit::Forms(&one)), ("b", Edit::Omit)]),
        "{  \"k_other\": \"o\"}"
    );
}

#[test]
fn properties_values_are_replaced_in_place() {
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"a = b\nc=d\n", "a", " x\ty\\z\n=#", b"a = \\ x\\ty\\\\z\\n=#\nc=d\n"),
        (b"a=b\\\n  c\r\nd=e", "a", "x", b"a=x\r\nd=e"),
        (b"a b", "a", "=x", b"a \\=x"),
        (b"a", "a", "x", b"a=x"),
        (b"a\n", "a", "=x", b"a==x\n"),
        (b"a=\n", "a", "x", b"a=x\n"),
        (b"a=\\\n  \n", "a", "x", b"a=\\\n  x\n"),
        (b"a=b\\", "a", "x", b"a=x"),
        (b"a=\\", "a", "x", b"a=x"),
        (b"a=b", "a", "\u{e9}\u{1f600}", b"a=\\u00e9\\ud83d\\ude00"),
        (b"a=\xc3\xa9", "a", "\u{fc}\u{1f600}\u{7f}", b"a=\xc3\xbc\xf0\x9f\x98\x80\\u007f"),
        (b"a=\xe9\nb=\xe8", "a", "\u{fc}", b"a=\\u00fc\nb=\xe8"),
        // What is left would read as UTF-8, so it is escaped.
        (b"a=\xe9\nb=\xc3\xa9", "a", "x", b"a=x\nb=\\u00c3\\u00a9"),
        (b"a=\\u00e9\\\n x\nb=y", "b", "z", b"a=\\u00e9\\\n x\nb=z"),
    ];
    for (file, path, text, expected) in cases {
        let written = try_export(Properties, file, None, &[(path, Edit::Text(text))]).unwrap();
        assert_eq!(written, *expected, "{:?}: {:?}", String::from_utf8_lossy(file), String::from_utf8_lossy(&written));
    }
    // Keys that would read as UTF-8 are escaped like values.
    let keys = b"\xc3\xa4\\ \\\n  #!\\\\:=\xe4\nb \\\n ok\n# \xc3\xa4\n";
    let path = "\u{c3}\u{a4} #!\\";
    let written = try_export(Properties, keys, None, &[(path, Edit::Text("plain"))]).unwrap();
    let expected = b"\\u00c3\\u00a4\\ \\#\\!\\\\:plain\nb \\\n ok\n# \xc3\xa4\n";
    assert_eq!(written, expected, "{}", String::from_utf8_lossy(&written));
}

/// A target may have more forms than the source and longer texts, and so more of everything than may be uploaded.
#[test]
fn exports_are_not_capped_as_uploads_are() {
    let arabic = forms(&[(Zero, "z"), (One, "1"), (Two, "2"), (Few, "f"), (Many, "m"), (Other, "o")]);
    let json: Vec<String> =
        (0..40_000).map(|number| format!("\"k{number}_one\":\"1\",\"k{number}_other\":\"n\"")).collect();
    let json = format!("{{{}}}", json.join(","));
    let rails: Vec<String> = (0..75_000).map(|number| format!("  k{number}: {{other: x}}\n")).collect();
    let rails = format!("en:\n{}", rails.concat());
    for (kind, file) in [(Json, json), (EN, rails)] {
        let document = document(kind, file.as_bytes());
        let edits = vec![Edit::Forms(&arabic); document.units().len()];
        let later = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let written = document.export(None, &edits, later).unwrap();
        assert!(written.len() > file.len() * 2);
    }
    let texts: Vec<String> = (0..1_000).map(|number| format!("\"k{number}\":\"x\"")).collect();
    let file = format!("{{{}}}", texts.join(","));
    let document = document(Json, file.as_bytes());
    let text = "x".repeat(65_536);
    let written = document.export(None, &vec![Edit::Text(&text); 1_000], soon()).unwrap();
    assert!(written.len() > crate::formats::FILE_BYTES_MAX);
}

#[test]
fn yaml_values_keep_their_style_where_it_can_hold_them() {
    let cases: &[(&str, &str, &str)] = &[
        ("a: x\nb: y\n", "neu", "a: neu\nb: y\n"),
        ("a: x # c\nb: y\n", "5 Stück", "a: 5 Stück # c\nb: y\n"),
        ("a: x\n", "no", "a: \"no\"\n"),
        ("a: x\n", "12", "a: \"12\"\n"),
        ("a: x\n", "b: c", "a: \"b: c\"\n"),
        ("a: x\n", "- b", "a: \"- b\"\n"),
        ("a: x\n", "b #c", "a: \"b #c\"\n"),
        ("a: x\n", "%{b}", "a: \"%{b}\"\n"),
        ("a: x\n", "", "a: \"\"\n"),
        ("a: x\n", "b\nc", "a: \"b\\nc\"\n"),
        ("a: x\n", ":b", "a: \":b\"\n"),
        ("a: x\n", "\u{2028}\u{85}\u{feff}\u{1}", "a: \"\\u2028\\x85\\uFEFF\\x01\"\n"),
        ("a: {b: x}\n", "c,d", "a: {b: \"c,d\"}\n"),
        ("a: two\n  lines\nb: y\n", "one", "a: one\nb: y\n"),
        ("a: 'x'\n", "it's", "a: 'it''s'\n"),
        ("a: 'x'\n", "b\nc", "a: \"b\\nc\"\n"),
        ("a: \"x\"\n", "b \"c\" \\ é", "a: \"b \\\"c\\\" \\\\ é\"\n"),
        ("a: ! 'x'\n", "y", "a: ! 'y'\n"),
        // ASCII with escapes stays ASCII.
        ("a: x\nb: \"\\xE9\"\n", "ü€😀", "a: \"\\xFC\\u20AC\\U0001F600\"\nb: \"\\xE9\"\n"),
        // Block scalars.
        ("a: |\n  x\n\n\nb: y\n", "p\n\n q\n", "a: |\n  p\n\n   q\n\n\nb: y\n"),
        ("a: |\n  x\nb: y\n", "p", "a: \"p\"\nb: y\n"),
        ("a: |-\n  x\nb: y\n", "p", "a: |-\n  p\nb: y\n"),
        ("a: |- # c\r\n  x\r\nb: y\r\n", "p\nq", "a: |- # c\r\n  p\r\n  q\r\nb: y\r\n"),
        ("a: |-\n  x\nb: y\n", " p", "a: \" p\"\nb: y\n"),
        ("a: |+\n  x\n\nb: y\n", "p\n\n\n", "a: |+\n  p\n\n\nb: y\n"),
        ("a: |+\n  x\n\nb: y\n", "p", "a: \"p\"\nb: y\n"),
        ("a: >\n  x\n  z\nb: y\n", "p q\nr\n", "a: >\n  p q\n\n  r\nb: y\n"),
        ("a: >-\n  x\nb: y\n", "p\n\nq", "a: >-\n  p\n\n\n  q\nb: y\n"),
        ("a: |", "p", "a: \"p\""),
        ("a: |\nb: y\n", "p\n", "a: \"p\\n\"\nb: y\n"),
        ("a: |-\n  x", "p", "a: \"p\""),
        ("a: |2\n   x\nb: y\n", " p\n", "a: \" p\\n\"\nb: y\n"),
        ("a:\n  |\n  x\nb: y\n", "p\n", "a:\n  |\n  p\nb: y\n"),
    ];
    let mut table = Table::default();
    for (file, text, expected) in cases {
        let path = if file.contains('{') { "a.b" } else { "a" };
        table.row(file, export(Flat, file, None, &[(path, Edit::Text(text))]), *expected);
    }
    table.done();
    assert_eq!(export(Flat, "a:\n- |\n x\n- y\n", None, &[("a.0", Edit::Text("p\n"))]), "a:\n- |\n p\n- y\n");
}

#[test]
fn the_rails_root_is_the_target() {
    let cases: &[(&str, &str, &str)] = &[
        ("en:\n  a: x\n", "zh-TW", "zh-TW:\n  a: x\n"),
        ("---\n\"en\":\n  a: x\n", "de", "---\n\"de\":\n  a: x\n"),
        ("'en': {a: x}\n", "de", "'de': {a: x}\n"),
        ("en:\n  a: x\n", "no", "\"no\":\n  a: x\n"),
        ("en:\n  a: x\n", "en", "en:\n  a: x\n"),
    ];
    let mut table = Table::default();
    for (file, root, expected) in cases {
        table.row(file, export(EN, file, Some(root), &[]), *expected);
    }
    table.done();
}

#[test]
fn rails_plurals_get_the_members_of_the_target() {
    let slavic = forms(&[(One, "e"), (Few, "f"), (Many, "m"), (Other, "o")]);
    let arabic = forms(&[(Zero, "Z"), (One, "e"), (Two, "2"), (Other, "o")]);
    let japanese = forms(&[(Other, "o")]);
    let cases: &[(&str, &Forms, &str)] = &[
        (
            "en:\n  k:\n    one: 'x' # c\n    other: \"w\"\n  v: v\n",
            &slavic,
            "en:\n  k:\n    one: 'e' # c\n    few: 'f'\n    many: 'm'\n    other: \"o\"\n  v: v\n",
        ),
        (
            "en:\r\n  k:\r\n    one: x\r\n    other: w\r\n",
            &arabic,
            "en:\r\n  k:\r\n    zero: Z\r\n    one: e\r\n    two: \"2\"\r\n    other: o\r\n",
        ),
        (
            "en:\n  k:\n    one: x\n    # c\n    other: w\n  v: v\n",
            &japanese,
            "en:\n  k:\n    # c\n    other: o\n  v: v\n",
        ),
        ("en:\n  k:\n    other: w\n    one: x\n", &japanese, "en:\n  k:\n    other: o\n"),
        ("en:\n  k:\n    other: w\n    one: x", &japanese, "en:\n  k:\n    other: o"),
        ("en:\n  k:\n    other: w", &slavic, "en:\n  k:\n    one: e\n    few: f\n    many: m\n    other: o"),
        ("en:\n  k: {one: x, other: w}\n", &slavic, "en:\n  k: {one: e, few: f, many: m, other: o}\n"),
        ("en:\n  k: { one: x, other: w }\n", &japanese, "en:\n  k: { other: o }\n"),
        ("en:\n  k: { other: w, one: x }\n", &japanese, "en:\n  k: { other: o }\n"),
        ("en:\n  k: { other: w }\n", &arabic, "en:\n  k: { zero: Z, one: e, two: \"2\", other: o }\n"),
        (
            "en:\n  k:\n    one: |\n      x\n    other: |\n      w\n",
            &slavic,
            "en:\n  k:\n    one: \"e\"\n    few: \"f\"\n    many: \"m\"\n    other: \"o\"\n",
        ),
        (
            "en:\n  k:\n    'one': x\n    'other': w\n",
            &slavic,
            "en:\n  k:\n    'one': e\n    'few': f\n    'many': m\n    'other': o\n",
        ),
    ];
    let mut table = Table::default();
    for (file, target, expected) in cases {
        table.row(file, export(EN, file, None, &[("k", Edit::Forms(target))]), *expected);
    }
    table.done();
    // The line break that a block scalar says it ends with.
    assert_eq!(
        export(
            EN,
            "en:\n  k:\n    other: |\n      w\n    one: x",
            None,
            &[("k", Edit::Forms(&forms(&[(Other, "o\n")])))]
        ),
        "en:\n  k:\n    other: |\n      o\n"
    );
    let list = "en:\n  k:\n  - one: x\n    other: w\n";
    assert_eq!(
        export(EN, list, None, &[("k.0", Edit::Forms(&arabic))]),
        "en:\n  k:\n  - zero: Z\n    one: e\n    two: \"2\"\n    other: o\n"
    );
    assert_eq!(export(EN, list, None, &[("k.0", Edit::Forms(&japanese))]), "en:\n  k:\n  - other: o\n");
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let plural = forms(&[(One, "x")]);
    let whole = forms(&[(Other, "x")]);
    let nul = forms(&[(Other, "\0")]);
    let json = b"{\"a\": \"x\", \"k_one\": \"1\", \"k_other\": \"n\"}";
    let cases: &[(Kind<'_>, &[u8], &str, Edit<'_>, ExportRefusal)] = &[
        (Json, json, "a", Edit::Forms(&whole), ExportRefusal::EditMismatch(0)),
        (Json, json, "k", Edit::Text("x"), ExportRefusal::EditMismatch(1)),
        (Json, json, "k", Edit::Forms(&plural), ExportRefusal::EditMismatch(1)),
        (Properties, b"a=b", "a", Edit::Omit, ExportRefusal::EditMismatch(0)),
        (Flat, b"a: b", "a", Edit::Omit, ExportRefusal::EditMismatch(0)),
        (Json, json, "a", Edit::Text("x\0"), ExportRefusal::ValueUnrepresentable(0)),
        (Json, json, "k", Edit::Forms(&nul), ExportRefusal::ValueUnrepresentable(1)),
    ];
    for (kind, file, path, edit, expected) in cases {
        assert_eq!(try_export(*kind, file, None, &[(path, *edit)]), Err(*expected));
    }
    assert_eq!(document(Json, json).export(None, &[], soon()), Err(ExportRefusal::EditMismatch(0)));
    let past = std::time::Instant::now();
    let edits = [Edit::Text("y"), Edit::Keep];
    assert_eq!(document(Json, json).export(None, &edits, past), Err(ExportRefusal::Timeout));
}
