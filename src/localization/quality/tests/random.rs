//! Texts that nobody would write: the checks answer, and in time that grows with the text.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::locale;
use crate::content::Format;
use crate::quality::{CheckId, Entry, Limits, Pair, Reading, Rules, Status, Subject, failing, judge};

const TAGS: [&str; 12] = ["de", "fr", "el", "ru", "ar", "hy", "th", "ja", "zh-Hans", "ko", "tr", "hi"];

fn rules(target: &str) -> Rules {
    let entries = [
        Entry::Term { source: "a", target: "b" },
        Entry::Term { source: "aa", target: "ä" },
        Entry::Term { source: "aaa a", target: "文" },
        Entry::DoNotTranslate("A"),
        Entry::DoNotTranslate("{{"),
        Entry::Forbidden("du"),
        Entry::Forbidden("文"),
    ];
    Rules::compile(entries, true, &locale(target))
}

/// The statuses, and that both ways of asking agree.
fn statuses(target_locale: &str, source: &str, target: &str) -> Vec<Status> {
    let (from, to, rules) = (locale("en"), locale(target_locale), rules(target_locale));
    let format = Format::Properties;
    let subject = Subject {
        source_locale: &from,
        target_locale: &to,
        format,
        is_plural: false,
        pairs: vec![Pair { category: None, source: Reading::of(source, format), target: Reading::of(target, format) }],
        source_one: None,
        rules: &rules,
        limits: Limits { min: Some(1), max: Some(70_000) },
    };
    let checks = judge(&subject);
    let failed: Vec<CheckId> =
        checks.iter().filter(|told| told.status == Status::Fail).map(|told| told.check).collect();
    assert_eq!(failing(&subject).iter().collect::<Vec<CheckId>>(), failed);
    for told in &checks {
        assert_eq!(told.detail.is_none(), told.status == Status::Pass);
        assert!(told.detail.as_ref().is_none_or(|detail| !detail.is_empty() && detail.chars().count() <= 500));
    }
    checks.iter().map(|told| told.status).collect()
}

/// Pieces that some check looks at.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[ -~]{1,4}",
        prop::sample::select(vec![
            "{",
            "}",
            "{{",
            "%",
            "'",
            "<",
            "</b>",
            "\\n",
            "\n",
            "  ",
            "1 000",
            "٣",
            "。",
            "…",
            "?",
            "\u{301}",
            "\u{200b}",
            "du",
            "文",
            "カ",
            "и",
            "a",
            "ά",
            "&nbsp;",
            "http://a.b/",
            "\u{a0}",
            "İ",
            "ß",
            "한",
            "\u{e0041}",
            "t'",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_two_texts_are_judged(tag in prop::sample::select(&TAGS[..]), source in text(), target in text()) {
        statuses(tag, &source, &target);
    }

    /// A text is at least no worse than itself.
    #[test]
    fn a_text_against_itself_has_nothing_of_its_own(text in text()) {
        let (from, to) = (locale("en"), locale("de"));
        let format = Format::Json;
        let pair = Pair { category: None, source: Reading::of(&text, format), target: Reading::of(&text, format) };
        let subject = Subject {
            source_locale: &from,
            target_locale: &to,
            format,
            is_plural: false,
            pairs: vec![pair],
            source_one: None,
            rules: &Rules::default(),
            limits: Limits::default(),
        };
        let failed = failing(&subject);
        for check in [CheckId::Q05, CheckId::Q06, CheckId::Q08, CheckId::Q14, CheckId::Q18, CheckId::Q20] {
            prop_assert!(!failed.contains(check), "{}", check.id());
        }
    }
}

/// Texts of 64 KiB take about four times as long as texts of 16 KiB; sixteen times would be the square.
#[test]
fn long_texts_take_time_in_their_length() {
    let pieces = [
        "{",
        "<",
        "%",
        "'",
        "{{x}} ",
        "\u{301}",
        "a",
        "aa ",
        "du ",
        "TI ",
        "1 000 ",
        "1",
        "٣",
        "…",
        "</b>",
        "\u{e0041}",
        "文",
        "カа ",
        "аb ",
        "\\n",
        "  ",
        "\"",
        ". ",
        "&nbsp;",
        "http://a.b/ ",
        "İ",
        "ά",
        "한a",
        "t'",
        "(",
        "ton ",
    ];
    for (first, second) in pieces.iter().zip(pieces.iter().cycle().skip(7)) {
        let long = |kibibytes: usize, piece: &str| piece.repeat(kibibytes * 1024 / piece.len());
        let time = |kibibytes| {
            let (source, target) = (long(kibibytes, first), long(kibibytes, second));
            let fastest = |_| {
                let start = Instant::now();
                statuses("de", &source, &target);
                statuses("ja", &target, &target);
                start.elapsed()
            };
            (0..2).map(fastest).min().unwrap()
        };
        let (short, long) = (time(16), time(64));
        assert!(long < short * 12 + Duration::from_millis(200), "{first:?} {second:?}: {short:?}, {long:?}");
    }
}
