//! Distances and searches against the textbook, rapidfuzz, and comparing with everything.

mod distances;
mod rivals;
mod searches;

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
