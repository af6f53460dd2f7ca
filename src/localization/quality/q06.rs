//! Q06, white space at the ends: the translation begins and ends with that of the source.

use super::characters::code_point;
use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};

/// A sign of full width brings its own space, so that none need follow it.
pub fn judge(_subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (pair.source.text, pair.target.text);
    let start = difference(leading(source), leading(target), true);
    let mut end = difference(trailing(source), trailing(target), false);
    if end.1.is_empty() && target.ends_with(is_wide_sign) && end.0.trim_matches(' ').is_empty() {
        end.0 = "";
    }
    if [start.0, start.1, end.0, end.1].iter().all(|difference| difference.is_empty()) {
        return Outcome::Pass;
    }
    let named = |part: &str| part.chars().map(code_point).collect::<Vec<String>>();
    let kinds = [
        ("missing at the start", named(start.0)),
        ("extra at the start", named(start.1)),
        ("missing at the end", named(end.0)),
        ("extra at the end", named(end.1)),
    ];
    let kinds = kinds.each_ref().map(|(kind, items)| (*kind, borrowed(items)));
    Outcome::Fail(told(&kinds.each_ref().map(|(kind, items)| (*kind, items.as_slice()))))
}

fn leading(text: &str) -> &str {
    text.get(..text.len() - text.trim_start().len()).unwrap_or_default()
}

/// What is white space alone is all at the start.
fn trailing(text: &str) -> &str {
    let end = text.trim_end().len();
    if end == 0 { "" } else { text.get(end..).unwrap_or_default() }
}

/// What the source has and the target has not, and the other way around; what both have next to the text is alike.
fn difference<'t>(source: &'t str, target: &'t str, is_start: bool) -> (&'t str, &'t str) {
    let alike = |(left, right): &(char, char)| left == right;
    let shared: usize = if is_start {
        source.chars().rev().zip(target.chars().rev()).take_while(alike).map(|(one, _)| one.len_utf8()).sum()
    } else {
        source.chars().zip(target.chars()).take_while(alike).map(|(one, _)| one.len_utf8()).sum()
    };
    let rest = |text: &'t str| if is_start { text.get(..text.len() - shared) } else { text.get(shared..) };
    (rest(source).unwrap_or_default(), rest(target).unwrap_or_default())
}

/// Punctuation of East Asian width.
const fn is_wide_sign(character: char) -> bool {
    matches!(character, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}
