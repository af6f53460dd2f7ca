//! Distances and searches against the textbook, rapidfuzz, and comparing with everything.

mod distances;
mod rivals;
mod searches;

use super::score::composed;

/// Levenshtein's distance as the textbook has it.
fn textbook(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, of_one) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, of_other) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(of_one != *of_other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// What the score of two texts must be; both are at most 2,000 characters long, and not the same.
fn expected_score(one: &str, other: &str) -> u8 {
    let (one, other) = (composed(one), composed(other));
    let longer = one.chars().count().max(other.chars().count());
    (((longer - textbook(&one, &other)) * 100).checked_div(longer).unwrap_or(100) as u8).min(99)
}

/// Characters of one byte and of four, letters that compose with the marks behind them, and some that NFC takes apart.
const LETTERS: &[&str] =
    &["a", "b", "e", " ", "A", "7", "é", "я", "日", "한", "😀", "e\u{301}", "\u{915}\u{93c}", "\u{fb2a}"];

fn random_text(random: &mut fastrand::Rng, letters: &[&str], length: usize) -> String {
    (0..length).map(|_| letters[random.usize(..letters.len())]).collect()
}

/// The text after so many changes.
fn changed(random: &mut fastrand::Rng, letters: &[&str], text: &str, changes: usize) -> String {
    let mut characters: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..changes {
        let place = random.usize(..=characters.len());
        let letter = || letters[place % letters.len()].to_owned();
        match random.u8(..3) {
            0 => characters.insert(place, letter()),
            1 if place < characters.len() => drop(characters.remove(place)),
            _ if place < characters.len() => characters[place] = letter(),
            _ => {}
        }
    }
    characters.concat()
}
