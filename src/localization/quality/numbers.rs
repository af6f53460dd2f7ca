//! The numbers of a text, in the digits of any script and with the separators of any language.

use super::characters::digit_value;
use super::reading::{Reading, SpanKind};

/// The numbers in the prose of a text as ASCII digits, in order. Between digits a point, a comma, an apostrophe and a
/// narrow or fixed blank are left out, as is any other blank before three digits (localization, Q4).
pub(super) fn numbers(reading: &Reading<'_>) -> Vec<String> {
    let has_ascii_digit = reading.text.bytes().any(|byte| byte.is_ascii_digit());
    if !has_ascii_digit && (reading.text.is_ascii() || !reading.text.chars().any(|one| digit_value(one).is_some())) {
        return Vec::new();
    }
    let mut groups = Groups::default();
    let mut at = 0;
    for span in &reading.spans {
        groups.read(reading.text.get(at..span.range.start).unwrap_or_default());
        at = span.range.end;
        let is_blank = span.kind == SpanKind::Markup
            && reading.text.get(span.range.clone()).is_some_and(|markup| BLANKS.contains(&markup));
        groups.other(if is_blank { '\u{a0}' } else { '\0' });
    }
    groups.read(reading.text.get(at..).unwrap_or_default());
    groups.joined
}

/// How HTML writes blanks between digits.
const BLANKS: [&str; 5] = ["&nbsp;", "&#160;", "&#xa0;", "&#xA0;", "&#8239;"];

/// Digits that stand next to each other, and what stands between them and the digits before them.
#[derive(Default)]
struct Groups {
    /// The numbers so far; the last may go on.
    joined: Vec<String>,
    /// The digits of a group behind a blank: whether they belong to the last number is known at their end.
    behind_blank: String,
    gap: Gap,
}

/// What stands behind the last digit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Gap {
    /// What no number goes over, or no digit yet.
    #[default]
    End,
    /// Nothing.
    None,
    /// One separator.
    Separator,
    /// One blank.
    Blank,
}

impl Groups {
    fn read(&mut self, piece: &str) {
        for character in piece.chars() {
            match digit_value(character) {
                Some(value) => self.digit(char::from(b'0' + value)),
                None => self.other(character),
            }
        }
        if self.gap == Gap::None {
            self.settle();
        }
    }

    fn digit(&mut self, digit: char) {
        match self.gap {
            Gap::None if !self.behind_blank.is_empty() => self.behind_blank.push(digit),
            Gap::Blank => self.behind_blank.push(digit),
            Gap::None | Gap::Separator => {
                if let Some(last) = self.joined.last_mut() {
                    last.push(digit);
                }
            }
            Gap::End => self.joined.push(digit.to_string()),
        }
        self.gap = Gap::None;
    }

    fn other(&mut self, character: char) {
        self.settle();
        self.gap = match (self.gap, character) {
            // Apostrophes and points of several scripts.
            (Gap::None, '.' | ',' | '\'' | '\u{a0}' | '\u{202f}' | '’' | '\u{66b}' | '\u{66c}') => Gap::Separator,
            (Gap::None, _) if character.is_whitespace() => Gap::Blank,
            _ => Gap::End,
        };
    }

    /// Ends the group behind a blank: three digits go on with the number, others are one of their own.
    fn settle(&mut self) {
        if self.behind_blank.is_empty() {
            return;
        }
        let group = std::mem::take(&mut self.behind_blank);
        match self.joined.last_mut() {
            Some(last) if group.len() == 3 => last.push_str(&group),
            _ => self.joined.push(group),
        }
    }
}
