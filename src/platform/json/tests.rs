//! Table and property tests of reading, taking apart and writing, with `serde_json` as the second opinion.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Json, JsonError> {
    parse(text.as_bytes(), Limits::default())
}

fn malformed(line: usize, column: usize) -> JsonError {
    JsonError::Malformed { line, column }
}

#[test]
fn good_documents() {
    for (text, canonical) in [
        ("null", "null"),
        (" true\r\n", "true"),
        ("\tfalse ", "false"),
        ("\"\"", "\"\""),
        ("[]", "[]"),
        ("[ ]", "[]"),
        ("{}", "{}"),
        ("{ }", "{}"),
        ("[1,[2,[]],{\"b\":{},\"a\":[null]}]", "[1,[2,[]],{\"a\":[null],\"b\":{}}]"),
        (" { \"b\" : 1 , \"a\" : [ 1 , 2 ] } ", "{\"a\":[1,2],\"b\":1}"),
        (r#""\"\\\/\b\f\n\r\t""#, r#""\"\\/\b\f\n\r\t""#),
        (r#""\u0000\u001f\u007f\u00e9""#, "\"\\u0000\\u001f\u{7f}\u{e9}\""),
        (r#""\ud83d\ude00 \uD83D\uDE00 😀""#, "\"😀 😀 😀\""),
        (
            "{\"\u{e9}\":1,\"z\":2,\"\u{1F600}\":3,\"\u{ffff}\":4}",
            "{\"z\":2,\"\u{e9}\":1,\"\u{ffff}\":4,\"\u{1F600}\":3}",
        ),
        ("{\"\":{\"\":0}}", "{\"\":{\"\":0}}"),
    ] {
        assert_eq!(read(text).map(|json| to_canonical(&json)), Ok(canonical.to_owned()), "{text}");
    }
}

#[test]
fn numbers_keep_their_text() {
    for text in ["0", "-0", "1.50", "10.000", "1e400", "-1E+07", "2e-9", "123456789012345678901234567890", "0.1"] {
        let json = read(text).unwrap();
        assert!(matches!(&json, Json::Number(number) if number.as_str() == text), "{text}");
        assert_eq!(to_canonical(&json), text);
    }
    for text in
        ["01", "-", "+1", ".5", "1.", "1.e1", "1e", "1e+", "0x1", "1_0", "- 1", "--1", "NaN", "Infinity", "\u{661}"]
    {
        assert!(matches!(read(text), Err(JsonError::Malformed { .. })), "{text}");
    }
    let longest = "9".repeat(Limits::NUMBER_LEN_MAX);
    assert!(read(&longest).is_ok());
    assert_eq!(read(&format!("[{longest}9]")), Err(JsonError::NumberTooLong));
}

#[test]
fn integers_of_numbers() {
    let number = |text: &str| match read(text) {
        Ok(Json::Number(number)) => number,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(number("9223372036854775807").as_i64(), Some(i64::MAX));
    assert_eq!(number("9223372036854775808").as_i64(), None);
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(number("-0").as_u64(), Some(0));
    assert_eq!(number("-0").as_i64(), Some(0));
    assert_eq!(number("-1").as_u64(), None);
    assert_eq!(number("1.0").as_i64(), None);
    assert_eq!(number("1e2").as_i64(), None);
    assert_eq!(number("-170141183460469231731687303715884105728").as_i128(), Some(i128::MIN));
}

#[test]
fn malformed_documents() {
    for (text, line, column) in [
        ("nul", 1, 1),
        ("nulll", 1, 5),
        ("True", 1, 1),
        ("'a'", 1, 1),
        ("[1,]", 1, 4),
        ("[,1]", 1, 2),
        ("[1 2]", 1, 4),
        ("[1", 1, 3),
        ("[1}", 1, 3),
        ("[", 1, 2),
        ("]", 1, 1),
        ("{\"a\"}", 1, 5),
        ("{\"a\":}", 1, 6),
        ("{\"a\":1,}", 1, 8),
        ("{a:1}", 1, 2),
        ("{1:1}", 1, 2),
        ("{\"a\":1", 1, 7),
        ("{\"a\":1]", 1, 7),
        ("{\n  \"é\": x}", 2, 8),
        ("1 2", 1, 3),
        ("{} {}", 1, 4),
        ("\"a", 1, 3),
        ("\"a\nb\"", 1, 3),
        ("\"a\tb\"", 1, 3),
        ("\"\\x\"", 1, 2),
        ("\"\\", 1, 2),
        ("\"\\u12\"", 1, 2),
        ("\"\\u12g4\"", 1, 2),
        ("\"\\u+123\"", 1, 2),
        ("\"\\ud800\"", 1, 2),
        ("\"\\ud800\\ud800\"", 1, 2),
        ("\"\\ud800x\"", 1, 2),
        ("\"\\ud800\\n\"", 1, 2),
        ("\"\\udc00\\ud800\"", 1, 2),
        ("\u{feff}{}", 1, 1),
        ("// x\n1", 1, 1),
        ("[1]\u{0}", 1, 4),
        ("\u{a0}1", 1, 1),
    ] {
        assert_eq!(read(text), Err(malformed(line, column)), "{text}");
    }
    for text in ["", " ", "\n\t\r "] {
        assert_eq!(read(text), Err(JsonError::Empty));
    }
    for bytes in [&b"\xff"[..], b"\"\xc3\"", b"\"\xed\xa0\x80\"", b"\"\xc0\x80\""] {
        assert_eq!(parse(bytes, Limits::default()), Err(JsonError::NotUtf8));
    }
}

#[test]
fn names_occur_once() {
    for (text, path) in [
        (r#"{"a":1,"a":2}"#, "a"),
        (r#"{"a":1,"\u0061":2}"#, "a"),
        (r#"{"a":{"b":[0,{"c":1,"d":2,"c":3}]}}"#, "a.b[1].c"),
        (r#"[[],{"x":1,"x":1}]"#, "[1].x"),
        ("{\"\u{1F600}\":1,\"\\ud83d\\ude00\":2}", "?"),
        (r#"{"":1,"":2}"#, ""),
    ] {
        assert_eq!(read(text), Err(JsonError::DuplicateKey { path: path.to_owned() }), "{text}");
    }
    assert!(read(r#"{"a":1,"A":2,"a ":3,"b":{"a":4}}"#).is_ok());
}

#[test]
fn depth_counts_the_root_as_one() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert!(read(&nested(64)).is_ok());
    assert!(read(&objects(64)).is_ok());
    assert_eq!(read(&nested(65)), Err(JsonError::TooDeep));
    assert_eq!(read(&objects(65)), Err(JsonError::TooDeep));
    assert_eq!(read(&"[".repeat(1_000_000)), Err(JsonError::TooDeep));
    assert!(parse(b"1", Limits { max_depth: 0 }).is_ok());
    assert_eq!(parse(b"[]", Limits { max_depth: 0 }), Err(JsonError::TooDeep));
    let unbounded = Limits { max_depth: usize::MAX };
    assert!(parse(nested(Limits::DEPTH_MAX).as_bytes(), unbounded).is_ok());
    assert_eq!(parse(nested(Limits::DEPTH_MAX + 1).as_bytes(), unbounded), Err(JsonError::TooDeep));
}

#[test]
fn hostile_sizes_take_linear_time() {
    let wide = format!("[{}0]", "0,".repeat(Limits::VALUES_MAX - 2));
    assert!(read(&wide).is_ok());
    assert_eq!(read(&format!("[{wide},0]")), Err(JsonError::TooManyValues));
    let members: Vec<String> = (0..100_000).map(|n| format!("\"same beginning of every name {n}\":0")).collect();
    assert!(read(&format!("{{{}}}", members.join(","))).is_ok());
    assert_eq!(read(&"9".repeat(4_000_000)), Err(JsonError::NumberTooLong));
    let escapes = format!("\"{}\"", "\\ud83d\\ude00".repeat(200_000));
    assert!(read(&escapes).is_ok());
    let errors_far_out = format!("[{}x]", "\n".repeat(1_000_000));
    assert_eq!(read(&errors_far_out), Err(malformed(1_000_001, 1)));
}

#[test]
fn errors_repeat_no_content() {
    let secret = "hunter2 is a secret";
    for text in [format!("{{\"{secret}\" 1}}"), format!("[\"{secret}\", x]"), format!("\"{secret}")] {
        assert!(!read(&text).unwrap_err().to_string().contains("hunter2"));
    }
}

#[test]
fn fields_by_type() {
    let json =
        read(r#"{"name":"n","flag":true,"count":7,"list":[1,2],"null":null,"object":{"x":1},"number":1.5}"#).unwrap();
    let mut fields = Fields::new(json).unwrap();
    assert_eq!(fields.required::<String>("name"), Ok("n".to_owned()));
    assert_eq!(fields.required::<bool>("flag"), Ok(true));
    assert_eq!(fields.required::<u8>("count"), Ok(7));
    assert_eq!(fields.required::<Vec<i64>>("list"), Ok(vec![1, 2]));
    assert_eq!(fields.nullable::<String>("null"), Ok(Given::Null));
    assert_eq!(fields.nullable::<String>("absent"), Ok(Given::Absent));
    assert_eq!(fields.optional::<String>("absent"), Ok(None));
    assert_eq!(fields.required::<Number>("number").unwrap().as_str(), "1.5");
    assert_eq!(fields.required::<Vec<(String, Json)>>("object"), Ok(vec![("x".to_owned(), Json::from(1_u8))]));
    assert_eq!(fields.finish(), Ok(()));
}

#[test]
fn fields_refuse() {
    let fields = || {
        Fields::at("body", read(r#"{"text":"1","number":300,"minus":-1,"float":1.0,"null":null,"big":1e9}"#).unwrap())
            .unwrap()
    };
    let refused = |outcome: Result<(), FieldError>| outcome.unwrap_err().to_string();
    let checks: [(&str, String); 9] = [
        ("body.absent is required", refused(fields().required::<String>("absent").map(drop))),
        ("body.text must be an integer", refused(fields().required::<u8>("text").map(drop))),
        ("body.number is out of range", refused(fields().required::<u8>("number").map(drop))),
        ("body.minus is out of range", refused(fields().required::<u64>("minus").map(drop))),
        ("body.float must be an integer", refused(fields().required::<i64>("float").map(drop))),
        ("body.big must be an integer", refused(fields().optional::<i64>("big").map(drop))),
        ("body.null must be a string", refused(fields().optional::<String>("null").map(drop))),
        ("body.number must be a boolean", refused(fields().nullable::<bool>("number").map(drop))),
        ("body.text must be an array", refused(fields().required::<Vec<Json>>("text").map(drop))),
    ];
    for (expected, found) in checks {
        assert_eq!(found, expected);
    }
    for text in ["[]", "1", "null", "\"x\""] {
        assert_eq!(Fields::new(read(text).unwrap()).unwrap_err().to_string(), "the body must be an object");
    }
}

#[test]
fn left_over_fields_are_named() {
    let mut fields = Fields::new(read(r#"{"b":1,"known":2,"a\n":3}"#).unwrap()).unwrap();
    assert_eq!(fields.required::<u8>("known"), Ok(2));
    let named: Vec<String> = fields.finish().unwrap_err().into_iter().map(|error| error.field).collect();
    assert_eq!(named, ["a?", "b"]);
    let many = Json::object((0..1000).map(|n| (format!("m{n}"), Json::Null)));
    assert_eq!(Fields::new(many).unwrap().finish().unwrap_err().len(), 20);
}

#[test]
fn elements_have_their_own_paths() {
    let mut fields = Fields::new(read(r#"{"entries":[{"amount":"1"},{"amount":1}]}"#).unwrap()).unwrap();
    let mut entries = fields.required_objects("entries").unwrap();
    assert_eq!(entries[0].required::<String>("amount"), Ok("1".to_owned()));
    assert_eq!(entries[1].required::<String>("amount").unwrap_err().to_string(), "entries[1].amount must be a string");
    let mut fields = Fields::new(read(r#"{"entries":[{},1]}"#).unwrap()).unwrap();
    assert_eq!(fields.required_objects("entries").unwrap_err().to_string(), "entries[1] must be an object");
}

#[test]
fn building() {
    let json = Json::object([("b", Json::from("x")), ("a", Json::from(None::<u8>)), ("n", Json::from(-5_i128))]);
    assert_eq!(to_compact(&json), r#"{"b":"x","a":null,"n":-5}"#);
    assert_eq!(to_canonical(&json), r#"{"a":null,"b":"x","n":-5}"#);
    assert_eq!(json.get("b").and_then(Json::as_str), Some("x"));
    assert_eq!(json.get("c"), None);
}

/// Trees as they can be read: numbers in many spellings, names once.
fn any_json() -> impl Strategy<Value = Json> {
    let number = "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?";
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number.prop_map(|text| read(&text).unwrap()),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Json::Array),
            proptest::collection::hash_map(any::<String>(), inner, 0..8)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value as `serde_json` sees it; its numbers are compared as `f64`, which is all it keeps.
fn same(ours: &Json, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Json::Null, serde_json::Value::Null) => true,
        (Json::Bool(one), serde_json::Value::Bool(other)) => one == other,
        (Json::Number(one), serde_json::Value::Number(other)) => {
            let (one, other) = (one.as_str().parse::<f64>().unwrap(), other.as_f64().unwrap());
            // Its default reader rounds the last bit differently.
            (one - other).abs() <= one.abs() * 1e-15
        }
        (Json::String(one), serde_json::Value::String(other)) => one == other,
        (Json::Array(one), serde_json::Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Json::Object(one), serde_json::Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn written_trees_read_back(json in any_json()) {
        prop_assert_eq!(read(&to_compact(&json)), Ok(json.clone()));
        let canonical = to_canonical(&json);
        let again = read(&canonical).unwrap();
        prop_assert_eq!(to_canonical(&again), canonical.clone());
        let theirs: serde_json::Value = serde_json::from_str(&canonical).unwrap();
        prop_assert!(same(&again, &theirs));
    }

    #[test]
    fn serde_json_writes_what_we_read(text: String, escaped: String) {
        let theirs = serde_json::json!({ "text": text, "list": [escaped, 1, null] });
        let pretty = serde_json::to_string_pretty(&theirs).unwrap();
        prop_assert!(same(&read(&pretty).unwrap(), &theirs));
    }

    /// On texts made of JSON's own pieces both readers agree what is a document, except for our own rules.
    #[test]
    fn the_grammar_is_that_of_serde_json(pieces in proptest::collection::vec(
        prop_oneof![
            Just("{"), Just("}"), Just("["), Just("]"), Just(","), Just(":"), Just("\"a\""), Just("\"b\""), Just("1"),
            Just("-"), Just("0"), Just("."), Just("e"), Just("+"), Just("null"), Just("true"), Just("fals"), Just(" "),
            Just("\n"), Just("\""), Just("\\"), Just("u00"), Just("\\ud83d"), Just("\\ude00"), Just("\\n"), Just("é"),
            Just("\"a\":1"), Just("\"b\":[]"), Just("{}"), Just("[]"), Just("\u{1}"),
        ], 0..14)
    ) {
        let text = pieces.concat();
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match read(&text) {
            Ok(ours) => match theirs {
                Ok(theirs) => prop_assert!(same(&ours, &theirs), "{}", text),
                // It refuses numbers beyond f64.
                Err(error) => prop_assert!(error.to_string().contains("number out of range"), "{}: {}", text, error),
            },
            Err(JsonError::DuplicateKey { .. }) => prop_assert!(theirs.is_ok(), "{}", text),
            Err(error) => prop_assert!(theirs.is_err(), "{}: {}", text, error),
        }
    }

    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, Limits::default());
    }
}
