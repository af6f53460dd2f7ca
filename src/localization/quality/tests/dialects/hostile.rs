//! Texts that nobody would write: nothing panics, nothing takes more than linear time, and what is equal is right.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{judged_in, locale};
use crate::content::Format;
use crate::quality::{CheckId, Limits, Pair, Reading, Rules, Status, Subject, q01, q02, q03, q17};

/// What readers look for, and what stands between.
const PIECES: &[&str] = &[
    "{",
    "}",
    "{{",
    "}}",
    "%",
    "%{",
    "%(",
    "%s",
    "%1$d",
    "$t(",
    "${",
    ")",
    "(",
    "<",
    ">",
    "<b",
    "</b>",
    "<!--",
    "-->",
    "<a x='",
    "\"",
    "'",
    "''",
    "=",
    "/",
    "&",
    "&#",
    ";",
    "#",
    ",",
    ":",
    "@",
    "a@b.de",
    "https://",
    "mailto:",
    "tel:1",
    "x",
    "n",
    " ",
    "\n",
    "{n, plural, ",
    "one {",
    "other {",
    "{g, select, ",
    "=1",
    "offset:1",
    "{0,choice,",
    "é",
    "漢",
    "\u{301}",
    "\u{202e}",
    "😀",
    "%Y",
    "%0",
    "javascript:",
    "on",
    "<![CDATA[",
    "<?",
    "]]>",
    "&colon;",
    "[",
    "]",
    "\\",
];

const OURS: [CheckId; 4] = [CheckId::Q01, CheckId::Q02, CheckId::Q03, CheckId::Q17];

const FORMATS: [Format; 4] = [Format::Json, Format::YamlRails, Format::YamlFlat, Format::Properties];

/// Texts made of pieces that readers look for.
fn pieces(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
}

/// Everything in a reading is where it says, in order, and no two spans overlap.
fn assert_reading(reading: &Reading<'_>) {
    let mut end = 0;
    for span in &reading.spans {
        assert!(span.range.start >= end && span.range.start < span.range.end, "{reading:?}");
        assert!(reading.text.get(span.range.clone()).is_some(), "{reading:?}");
        end = span.range.end;
    }
    let prose: usize = reading.prose().map(str::len).sum();
    let others: usize = reading.spans.iter().map(|span| span.range.len()).sum();
    assert_eq!(prose + others, reading.text.len(), "{reading:?}");
    for pair in reading.placeholders.windows(2) {
        assert!(pair[0].range.end <= pair[1].range.start, "{reading:?}");
    }
    for link in &reading.links {
        assert_eq!(reading.text.get(link.range.clone()), Some(link.text), "{reading:?}");
    }
}

/// How each of ours judges a text against itself.
fn failures(text: &str, format: Format) -> Vec<String> {
    let checks = judged_in(format, "en", "de", text, text);
    let failed = checks.iter().filter(|told| OURS.contains(&told.check) && told.status == Status::Fail);
    failed.map(|told| format!("{} {:?}", told.check.id(), told.detail)).collect()
}

proptest! {
    #[test]
    fn any_text_is_read_and_is_as_good_as_itself(text in "\\PC{0,200}") {
        assert_reading(&Reading::of(&text, Format::Json));
        for format in FORMATS {
            prop_assert_eq!(failures(&text, format), Vec::<String>::new());
        }
    }

    #[test]
    fn pieces_of_syntax_are_read_and_are_as_good_as_themselves(text in pieces(40)) {
        assert_reading(&Reading::of(&text, Format::Json));
        for format in FORMATS {
            prop_assert_eq!(failures(&text, format), Vec::<String>::new());
        }
    }

    #[test]
    fn any_two_texts_are_judged(source in pieces(30), target in pieces(30)) {
        for format in FORMATS {
            let checks = judged_in(format, "en", "ru", &source, &target);
            prop_assert!(checks.iter().all(|told| told.detail.as_ref().is_none_or(|detail| detail.chars().count() <= 500)));
        }
    }
}

/// How long all of ours take with a text on both sides.
fn time(text: &str) -> Duration {
    let (source_locale, target_locale) = (locale("en"), locale("ru"));
    let format = Format::Properties;
    let begun = Instant::now();
    let pair = Pair { category: None, source: Reading::of(text, format), target: Reading::of(text, format) };
    let subject = Subject {
        source_locale: &source_locale,
        target_locale: &target_locale,
        format,
        is_plural: false,
        pairs: vec![pair],
        source_one: None,
        rules: &Rules::default(),
        limits: Limits::default(),
    };
    for judge in [q01::judge, q02::judge, q03::judge, q17::judge] {
        std::hint::black_box(judge(&subject, &subject.pairs[0]));
    }
    begun.elapsed()
}

/// A text takes about as long as sixteen that are a sixteenth of it; were the time quadratic, sixteen times as long. Both are
/// much the same work, so that whatever else the machine does slows both; what seems too slow ten times is too slow.
fn is_linear(make: &dyn Fn(usize) -> String) -> bool {
    let of = |size: usize| {
        let mut text = String::new();
        (0..)
            .map(make)
            .take_while(|piece| {
                text += piece;
                text.len() < size
            })
            .for_each(drop);
        text
    };
    let (short, long) = (of(4 << 10), of(64 << 10));
    let is_right = || {
        let (whole, parts) = (time(&long), (0..16).map(|_| time(&short)).sum::<Duration>());
        // What is done in a moment says nothing.
        whole < Duration::from_millis(5) || whole < parts * 6
    };
    (0..10).any(|_| is_right())
}

#[test]
fn time_grows_with_the_text_and_no_faster() {
    let made = [
        "<a x='<b y=\"",
        "<a x=y\" z=\"",
        "<a x=\"b ",
        "<!--<![CDATA[<?",
        "{{{",
        "{a{",
        "{a}{b",
        "$t(a",
        "$t($t(a)",
        "%{a %{",
        "%(a %(",
        "{0,choice,{",
        "{n, select, other {",
        "{n, plural, one {",
        "=1{}",
        "&#1",
        "&aaaaaaaa",
        "mailto:a",
        "mailto:a@",
        "http://a.",
        "a@a.",
        "a@b.de",
        "....@",
        "'{",
        "''{0}",
        "<b>",
        "<b><i>",
        "<x>",
        "<x></y>",
        "{a}",
        "javascript:",
        "data:",
        "<a href='&#106;'>",
        "%d%s",
        "https://a.b/en/ ",
        "e\u{301}\u{301}",
        "[{(",
        "#",
        "%5$",
        "%0",
        "%Y%",
        "&lt;",
        "{n, plural, other {a {x}}} ",
        "<a href='/en/x' title=y>",
    ];
    let slow: Vec<&str> =
        PIECES.iter().chain(&made).copied().filter(|unit| !is_linear(&|_| (*unit).to_owned())).collect();
    assert!(slow.is_empty(), "{slow:?}");
}

#[test]
fn many_different_things_take_linear_time_too() {
    let makes: [fn(usize) -> String; 6] = [
        |n| format!("{{a{n}}}"),
        |n| format!("<a{n} b></a{n}>"),
        |n| format!("<a href=/en/{n}>"),
        |n| format!("https://a{n}.b/en "),
        |n| format!("%({n})s"),
        |n| format!("{{n{n}, plural, =1{{#}} other{{{{x{n}}}}}}}"),
    ];
    let slow: Vec<String> = makes.iter().filter(|make| !is_linear(*make)).map(|make| make(1)).collect();
    assert!(slow.is_empty(), "{slow:?}");
}
