//! How a failed check says what it found: deterministic, and never longer than a line that people read.

use std::fmt::Write as _;

/// The most items of one kind that are named.
const ITEMS_MAX: usize = 10;
/// The most characters of a detail.
const CHARS_MAX: usize = 500;

/// What was found, by kind: `missing {x}, {y}; extra {z}`. Kinds without items are left out; items come in the order of
/// first occurrence, each once, at most ten of a kind and then `+N more`, 500 characters in all (QA checks).
#[must_use]
pub fn told(kinds: &[(&str, &[&str])]) -> String {
    let mut detail = String::new();
    for (kind, items) in kinds {
        let mut once: Vec<&str> = Vec::new();
        let mut more = 0_usize;
        let mut seen = std::collections::HashSet::new();
        for item in items.iter().filter(|item| seen.insert(**item)) {
            if once.len() < ITEMS_MAX { once.push(item) } else { more += 1 }
        }
        if once.is_empty() {
            continue;
        }
        let joint = if detail.is_empty() { "" } else { "; " };
        let _ = write!(detail, "{joint}{kind} {}", once.join(", "));
        if more > 0 {
            let _ = write!(detail, " +{more} more");
        }
    }
    shortened(detail)
}

/// Items as [`told`] takes them.
#[must_use]
pub fn borrowed(items: &[String]) -> Vec<&str> {
    items.iter().map(String::as_str).collect()
}

/// The text, cut where it has more than 500 characters.
#[must_use]
pub fn shortened(mut detail: String) -> String {
    if let Some((end, _)) = detail.char_indices().nth(CHARS_MAX) {
        detail.truncate(end);
        detail.pop();
        detail.push('…');
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_once_and_in_order() {
        assert_eq!(told(&[("missing", &["{b}", "{a}", "{b}"]), ("extra", &[])]), "missing {b}, {a}");
        assert_eq!(told(&[("missing", &["x"]), ("extra", &["y"])]), "missing x; extra y");
        assert_eq!(told(&[("missing", &[]), ("extra", &["y"])]), "extra y");
        let many: Vec<String> = (0..14).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(told(&[("missing", &many)]), "missing 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 +4 more");
    }

    #[test]
    fn nothing_is_longer_than_500_characters() {
        let long = "ä".repeat(600);
        let detail = told(&[("missing", &[&long])]);
        assert_eq!(detail.chars().count(), 500);
        assert!(detail.ends_with('…'));
    }
}
