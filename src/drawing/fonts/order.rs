//! The order in which the letters of a line stand from left to right: Unicode's bidirectional algorithm (UAX 9), with the
//! direction that the first letter gives.

use unicode_bidi::{BidiClass, BidiInfo, Level, bidi_class};

/// Separates paragraphs, which a line is none of.
const PARAGRAPH_SEPARATOR: char = '\u{2029}';

/// The letters of a line from left to right.
pub(super) fn visual(text: &str) -> Vec<char> {
    let line: String = text.chars().filter(|c| !c.is_control() && *c != PARAGRAPH_SEPARATOR).collect();
    let letters: Vec<char> = line.chars().collect();
    // Nothing before the Hebrew letters is written to the left, and most text is.
    if letters.iter().all(|c| *c < '\u{590}') {
        return letters;
    }
    let info = BidiInfo::new(&line, None);
    match info.paragraphs.first() {
        Some(whole) if info.has_rtl() => {
            reordered(&letters, &info.reordered_levels_per_char(whole, whole.range.clone()))
        }
        _ => letters,
    }
}

/// Rules L2 to L4: runs are turned around, those of higher levels first; marks stay behind their letters, and brackets
/// are turned.
fn reordered(letters: &[char], levels: &[Level]) -> Vec<char> {
    let mut order = BidiInfo::reorder_visual(levels);
    let is_left = |index: &usize| levels.get(*index).is_some_and(Level::is_rtl);
    let is_mark =
        |index: &usize| is_left(index) && letters.get(*index).is_some_and(|c| bidi_class(*c) == BidiClass::NSM);
    let mut start = 0;
    while start < order.len() {
        let rest = order.get_mut(start..).unwrap_or_default();
        let length = rest.iter().take_while(|index| is_mark(index)).count();
        if length > 0 && rest.get(length).is_some_and(is_left) {
            rest.get_mut(..=length).unwrap_or_default().reverse();
        }
        start += length + 1;
    }
    let turned = |index: &usize| letters.get(*index).map(|c| if is_left(index) { mirrored(*c) } else { *c });
    order.iter().filter_map(turned).collect()
}

/// The bracket that opens where this one closes.
fn mirrored(c: char) -> char {
    const PAIRS: [(char, char); 7] =
        [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>'), ('«', '»'), ('‹', '›'), ('≤', '≥')];
    PAIRS.iter().find_map(|(a, b)| if c == *a { Some(*b) } else { (c == *b).then_some(*a) }).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands on the right was read off pictures of Pango's, or is an example of UAX 9.
    #[test]
    fn lines_are_put_in_the_order_they_are_seen_in() {
        for (text, expected) in [
            ("", ""),
            ("abc (x) 12", "abc (x) 12"),
            ("привет 日本", "привет 日本"),
            ("שלום", "םולש"),
            ("ab שלום cd", "ab םולש cd"),
            ("שלום abc 123 (x) ابجد", "دجبا abc 123 (x) םולש"),
            ("C++ עברית: (a+b) 12.5%", "C++ תירבע: (a+b) 12.5%"),
            ("עברית (א)", ")א( תירבע".chars().map(mirrored).collect::<String>().as_str()),
            ("עמוד 12-14", "12-14 דומע"),
            ("עמוד 5%", "5% דומע"),
            ("السعر 12", "12 رعسلا"),
            ("a שׁב c", "a בשׁ c"),
            ("abc אבג ", "abc גבא "),
            ("אב \u{661}\u{662}", "\u{661}\u{662} בא"),
        ] {
            let seen: String = visual(text).into_iter().collect();
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[test]
    fn no_letter_is_lost_or_made() {
        let letters = ['a', '1', '.', ' ', '(', 'ש', '\u{5c1}', 'ع', '\u{661}', '%', '+', ')', '\u{64b}'];
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let text: String = (0..random.usize(..14)).map(|_| letters[random.usize(..letters.len())]).collect();
            let sorted = |mut all: Vec<char>| {
                all.iter_mut().for_each(|c| *c = if *c == ')' { '(' } else { *c });
                all.sort_unstable();
                all
            };
            assert_eq!(sorted(visual(&text)), sorted(text.chars().collect()), "{text:?}");
        }
    }
}
