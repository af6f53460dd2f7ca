//! Punctuation at the end of a text: what it means, by language.

use super::characters::is_blank;
use super::reading::{Reading, SpanKind};

/// What a text ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// No punctuation.
    Nothing,
    Stop,
    Question,
    Exclamation,
    Colon,
    Semicolon,
    Comma,
    /// Dots that leave something open.
    Ellipsis,
}

/// What a text ends with, behind markup, quotation marks, brackets and white space, and the sign itself.
pub(super) fn ending<'a>(reading: &Reading<'a>, language: &str) -> (Ending, &'a str) {
    let Some(prose) = prose_to_the_end(reading) else { return (Ending::Nothing, "") };
    let Some(last) = prose.chars().next_back() else { return (Ending::Nothing, "") };
    let before = prose.trim_end_matches(last);
    let run = prose.get(before.len()..).unwrap_or_default();
    let sign = run.get(run.len() - last.len_utf8()..).unwrap_or_default();
    let is_open = run.len() >= 2 * last.len_utf8();
    match last {
        '.' | '。' | '．' | '｡' if is_open => (Ending::Ellipsis, run),
        '…' | '⋯' | '‥' | '᠁' => (Ending::Ellipsis, sign),
        _ => match meaning(last, language) {
            Ending::Nothing => (Ending::Nothing, ""),
            meaning => (meaning, sign),
        },
    }
}

/// The text up to the last character that is no white space, no closing sign and no markup. `None`: it ends with
/// something else that is no prose.
fn prose_to_the_end<'a>(reading: &Reading<'a>) -> Option<&'a str> {
    let mut spans = reading.spans.iter().rev().peekable();
    let mut text = reading.text;
    loop {
        let end = text.len();
        while let Some(span) = spans.next_if(|span| span.range.end >= end && span.range.start < end) {
            if span.kind != SpanKind::Markup {
                return None;
            }
            text = text.get(..span.range.start)?;
        }
        if text.len() < end {
            continue;
        }
        // No further than to the next span: what stands in that is not looked at.
        let rest = spans.peek().map_or(0, |span| span.range.end.min(end));
        text = text.get(..rest + text.get(rest..)?.trim_end_matches(is_closing).len())?;
        if text.len() == end || text.is_empty() {
            return Some(text.get(rest.min(text.len())..).unwrap_or_default());
        }
    }
}

/// White space, quotation marks and brackets that may follow the end of a sentence. What closes in one language opens in
/// another.
fn is_closing(character: char) -> bool {
    match character {
        '"' | '\'' | ')' | ']' | '}' | '»' | '«' | '”' | '“' | '’' | '‘' | '›' | '‹' => true,
        '）' | '］' | '｝' | '」' | '』' | '】' | '〕' | '〉' | '》' | '｣' | '＂' | '〟' | '〞' => true,
        _ => is_blank(character),
    }
}

fn meaning(sign: char, language: &str) -> Ending {
    match sign {
        ';' if language == "el" => Ending::Question,
        '·' | '\u{387}' if language == "el" => Ending::Semicolon,
        ':' | '\u{2024}' if language == "hy" => Ending::Stop,
        '՝' if language == "hy" => Ending::Colon,
        '.' | '。' | '．' | '｡' | '։' | '۔' | '।' | '॥' | '።' | '།' | '။' | '។' | '᠃' | '܂' => {
            Ending::Stop
        }
        '?' | '？' | '؟' | '\u{37e}' | '՞' | '፧' | '⁇' | '⁈' => Ending::Question,
        '!' | '！' | '՜' | '‼' | '⁉' => Ending::Exclamation,
        ':' | '：' | '፦' | '៖' => Ending::Colon,
        ';' | '；' | '؛' | '፤' => Ending::Semicolon,
        ',' | '，' | '、' | '､' | '،' | '፣' | '၊' => Ending::Comma,
        _ => Ending::Nothing,
    }
}

/// Whether a text in the language may end in that way for a source that ends in another.
pub(super) fn is_customary(language: &str, source: Ending, target: Ending, text: &str) -> bool {
    use Ending::{Colon, Comma, Exclamation, Nothing, Question, Semicolon, Stop};
    match (language, source, target) {
        // These write spaces where others write signs.
        ("th" | "lo", Stop | Question | Exclamation | Semicolon | Comma, Nothing) => true,
        // The signs stand over the vowel that is stressed, and a sentence may end with its stop or without.
        ("hy", Question, Stop | Nothing) => text.contains('՞'),
        ("hy", Exclamation, Stop | Nothing) => text.contains('՜'),
        ("hy", Colon, Stop) => true,
        // A particle asks.
        ("ja", Question, Stop | Nothing) => {
            text.trim_end_matches(|sign| sign == '。' || is_closing(sign)).ends_with('か')
        }
        ("my", Question, Stop) => true,
        _ => false,
    }
}
