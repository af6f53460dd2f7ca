//! What is no prose: checks of words and numbers look past it.

use super::{locale, told};
use crate::content::Format;
use crate::quality::reading::{Span, SpanKind};
use crate::quality::{CheckId, Entry, Limits, Pair, Reading, Rules, Subject, judge};

/// A text whose parts in brackets are what their first letter says: `⟨p{0}⟩`, `⟨m<b>⟩`, `⟨lhttp://a.b⟩`.
fn parts(marked: &str) -> (String, Vec<Span>) {
    let (mut text, mut spans) = (String::new(), Vec::new());
    for piece in marked.split_inclusive(['⟨', '⟩']) {
        let Some(inner) = piece.strip_suffix('⟩') else {
            text.push_str(piece.trim_end_matches('⟨'));
            continue;
        };
        let kind = match inner.chars().next().unwrap() {
            'p' => SpanKind::Placeholder,
            'm' => SpanKind::Markup,
            _ => SpanKind::Link,
        };
        let start = text.len();
        text.push_str(&inner[1..]);
        spans.push(Span { range: start..text.len(), kind });
    }
    (text, spans)
}

fn said(check: CheckId, rules: &Rules, target_locale: &str, source: &str, target: &str) -> String {
    let (source, source_spans) = parts(source);
    let (target, target_spans) = parts(target);
    let reading = |text, spans| Reading { spans, ..Reading::of(text, Format::Json) };
    let pair = Pair { category: None, source: reading(&source, source_spans), target: reading(&target, target_spans) };
    let checks = judge(&Subject {
        source_locale: &locale("en"),
        target_locale: &locale(target_locale),
        format: Format::Json,
        is_plural: false,
        pairs: vec![pair],
        source_one: None,
        rules,
        limits: Limits::default(),
    });
    told(&checks, check)
}

#[test]
fn q07_looks_behind_markup_and_not_behind_placeholders() {
    let said = |target, source, text| said(CheckId::Q07, &Rules::default(), target, source, text);
    assert_eq!(said("de", "⟨m<p>⟩All done.⟨m</p>⟩", "⟨m<p>⟩Fertig.⟨m</p>⟩"), "pass");
    assert_eq!(said("de", "⟨m<p>⟩⟨m<b>⟩Done.⟨m</b>⟩ ⟨m</p>⟩", "⟨m<p>⟩Fertig⟨m</p>⟩"), "fail: missing .");
    assert_eq!(said("ja", "Delete ⟨p{0}⟩?", "⟨p{0}⟩を削除しますか?"), "pass");
    assert_eq!(said("de", "Deleted: ⟨p{0}⟩", "Gelöscht: ⟨p{0}⟩"), "pass");
    assert_eq!(said("de", "Deleted: ⟨p{0}⟩", "⟨p{0}⟩ gelöscht:"), "fail: extra :");
    assert_eq!(said("de", "See ⟨lhttp://a.b/?⟩", "Siehe ⟨lhttp://a.b/?⟩"), "pass");
    assert_eq!(said("de", "Deleted in ⟨p{0}⟩.", "⟨p{0}⟩."), "pass");
    assert_eq!(said("de", "Deleted in (⟨p{0}⟩).", "In (⟨p{0}⟩)."), "pass");
    assert_eq!(said("de", "Deleted in ⟨p{0}⟩:", "⟨p{0}⟩⟨m</b>⟩."), "fail: missing :; extra .");
    assert_eq!(said("de", "All: ⟨m<b>⟩", "⟨m<b>⟩"), "fail: missing :");
}

#[test]
fn q08_reads_numbers_of_the_prose_alone() {
    let said = |source, text| said(CheckId::Q08, &Rules::default(), "fr", source, text);
    assert_eq!(said("⟨p{0}⟩ of ⟨p{1}⟩", "⟨p{1}⟩ de ⟨p{0}⟩"), "skipped: number");
    assert_eq!(said("⟨p%1$s⟩5", "5"), "pass");
    assert_eq!(said("1,000", "1⟨m&nbsp;⟩000"), "pass");
    assert_eq!(said("1 and 2", "1⟨m<b>⟩2"), "pass");
    assert_eq!(said("12", "1⟨m<b>⟩2"), "fail: missing 12; extra 1, 2");
}

#[test]
fn words_of_what_is_no_prose_are_no_words() {
    let rules = Rules::compile(
        [Entry::Term { source: "name", target: "Name" }, Entry::Forbidden("name"), Entry::DoNotTranslate("Quintet")],
        true,
        &locale("de"),
    );
    let said = |check, source, target| said(check, &rules, "de", source, target);
    assert_eq!(said(CheckId::Q09, "⟨p{name}⟩", "⟨p{name}⟩"), "skipped: term");
    assert_eq!(said(CheckId::Q09, "⟨p%s⟩name", "x"), "fail: missing Name");
    // What the source has as well was not said by the translation; what it has not, was.
    assert_eq!(said(CheckId::Q11, "Hi ⟨p{name}⟩", "Hallo ⟨p{name}⟩"), "pass");
    assert_eq!(said(CheckId::Q11, "Hi", "Hallo ⟨m<b title='name'>⟩"), "fail: forbidden name");
    assert_eq!(said(CheckId::Q11, "Hi ⟨p{name}⟩", "Hallo ⟨p{name}⟩ name"), "fail: forbidden name");
    // What stays, stays wherever it stands.
    assert_eq!(said(CheckId::Q10, "At ⟨lhttp://Quintet.example⟩", "Dort"), "fail: missing Quintet");
    assert_eq!(said(CheckId::Q10, "At ⟨lhttp://Quintet.example⟩", "⟨lhttp://Quintet.example⟩"), "pass");
    assert_eq!(
        said(CheckId::Q12, "⟨p{user}⟩ ⟨lhttp://a.b⟩ ⟨m<br/>⟩", "⟨p{user}⟩ ⟨lhttp://a.b⟩ ⟨m<br/>⟩"),
        "skipped: letters"
    );
    assert_eq!(said(CheckId::Q12, "by ⟨p{user}⟩", "by ⟨p{user}⟩"), "skipped: letters");
    assert_eq!(said(CheckId::Q19, "⟨p{du}⟩", "⟨p{du}⟩ ⟨lhttp://du.de⟩"), "pass");
    assert_eq!(said(CheckId::Q20, "⟨p{а}⟩", "Bitte ⟨p{аb}⟩"), "pass");
    assert_eq!(said(CheckId::Q20, "⟨p{x}⟩", "⟨p{x}⟩"), "skipped: letters");
}
