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
    const NOTHING: (Ending, &str) = (Ending::Nothing, "");
    let Some(end) = End::of(reading) else { return NOTHING };
    let Some(last) = end.text.chars().next_back() else { return NOTHING };
    let before = end.text.trim_end_matches(last);
    let run = end.text.get(before.len()..).unwrap_or_default();
    let sign = run.get(run.len() - last.len_utf8()..).unwrap_or_default();
    let found = match last {
        // A sign that is spoken of: `Semicolon (;)`.
        _ if before.ends_with(is_opening) => return NOTHING,
        '.' | '。' | '．' | '｡' if run.len() >= 3 * last.len_utf8() => (Ending::Ellipsis, run),
        '…' | '⋯' | '‥' | '᠁' => (Ending::Ellipsis, sign),
        _ => (meaning(last, language), sign),
    };
    match found {
        (Ending::Nothing, _) => NOTHING,
        // Brackets may hold a list that goes on, or end with an abbreviation.
        (Ending::Question | Ending::Exclamation, _) => found,
        _ if end.is_bracketed => NOTHING,
        _ => found,
    }
}

/// A text up to the last character that is no white space, no closing sign and no markup.
struct End<'a> {
    text: &'a str,
    /// Whether a closing bracket stood behind it.
    is_bracketed: bool,
}

impl<'a> End<'a> {
    /// `None`: the text ends with something else that is no prose.
    fn of(reading: &Reading<'a>) -> Option<End<'a>> {
        let mut spans = reading.spans.iter().rev().peekable();
        let mut end = End { text: reading.text, is_bracketed: false };
        loop {
            let length = end.text.len();
            while let Some(span) = spans.next_if(|span| span.range.end >= end.text.len() && span.range.start < length) {
                if span.kind != SpanKind::Markup {
                    return None;
                }
                end.text = end.text.get(..span.range.start)?;
            }
            // No further than to the next span: what stands in that is not looked at.
            let inside = spans.peek().map_or(0, |span| span.range.end.min(end.text.len()));
            let prose = end.text.get(inside..)?.trim_end_matches(is_closing);
            end.is_bracketed |= end.text.get(inside + prose.len()..)?.contains(is_closing_bracket);
            end.text = end.text.get(..inside + prose.len())?;
            if end.text.len() == length || end.text.is_empty() {
                return Some(end);
            }
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

const fn is_opening(character: char) -> bool {
    matches!(character, '(' | '[' | '{' | '„' | '‚' | '（' | '［' | '｛' | '「' | '『' | '【' | '《' | '〈')
}

const fn is_closing_bracket(character: char) -> bool {
    matches!(character, ')' | ']' | '}' | '）' | '］' | '｝' | '】' | '〕')
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

/// The least words of a source that is a sentence rather than a label.
const WORDS_OF_SENTENCE: usize = 4;

/// Whether a text in the language may end in that way for a source that ends in another; both with their texts.
pub(super) fn is_customary(language: &str, source: (Ending, &str), target: (Ending, &str)) -> bool {
    use Ending::{Colon, Comma, Exclamation, Nothing, Question, Semicolon, Stop};
    let text = target.1;
    match (language, source.0, target.0) {
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
        // A sentence has its stop there, even where English leaves it out as of a headline.
        ("ja" | "ko" | "zh" | "yue", Nothing, Stop) => source.1.split_whitespace().nth(WORDS_OF_SENTENCE - 1).is_some(),
        _ => false,
    }
}
