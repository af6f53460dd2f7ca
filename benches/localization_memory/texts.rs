//! A hundred thousand source texts, as real files have them: those of the corpora (`tests/corpora/fetch.sh`) with at least
//! three words, filled up with such of which a word was replaced by another's.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use quintet_localization::formats::{Content, Kind, read};

/// How many units the memory has.
pub const UNITS: usize = 100_000;
/// How many queries are asked.
const QUERIES: usize = 200;
/// The longest text that is compared.
const CHARS_MAX: usize = 2000;

/// What is remembered, and what is asked for.
pub struct Texts {
    pub sources: Vec<String>,
    pub queries: Vec<String>,
}

fn real(corpora: &Path) -> Vec<String> {
    let mut texts = BTreeSet::new();
    for (folder, kind) in [("json", Kind::Json), ("properties", Kind::Properties), ("yaml", Kind::Flat)] {
        for entry in std::fs::read_dir(corpora.join("files").join(folder)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let Ok(document) = read(kind, &bytes, Instant::now() + Duration::from_secs(60)) else { continue };
            for unit in document.units() {
                match unit.content() {
                    Content::Text(text) if fits(text) => drop(texts.insert(text.clone())),
                    _ => {}
                }
            }
        }
    }
    texts.into_iter().collect()
}

fn fits(text: &str) -> bool {
    // Whatever XML cannot hold is left out.
    let is_plain = |character: char| !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}');
    text.matches(' ').count() >= 2 && text.chars().count() <= CHARS_MAX && text.chars().all(is_plain)
}

/// Some characters replaced by others, up to an eighth of them.
fn mistyped(random: &mut fastrand::Rng, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..random.usize(..2 + characters.len() / 8) {
        let place = random.usize(..characters.len());
        characters[place] = char::from(b"aeinrst "[random.usize(..8)]);
    }
    characters.into_iter().collect()
}

impl Texts {
    /// The same each time.
    pub fn of(corpora: &Path) -> Texts {
        let mut random = fastrand::Rng::with_seed(17);
        let mut base = real(corpora);
        random.shuffle(&mut base);
        // Half of the queries are texts that the memory does not have, half are like some that it has.
        let mut queries = base.split_off(base.len() - QUERIES / 2);
        base.truncate(UNITS);
        let mut sources: BTreeSet<String> = base.iter().cloned().collect();
        while sources.len() < UNITS {
            let text = &base[random.usize(..base.len())];
            let other = &base[random.usize(..base.len())];
            let mut words: Vec<&str> = text.split(' ').collect();
            let place = random.usize(..words.len());
            words[place] = other.split(' ').next().unwrap_or_default();
            let text = words.join(" ");
            if fits(&text) {
                sources.insert(text);
            }
        }
        let mut sources: Vec<String> = sources.into_iter().collect();
        random.shuffle(&mut sources);
        while queries.len() < QUERIES {
            let text = &sources[random.usize(..sources.len())].clone();
            queries.push(mistyped(&mut random, text));
        }
        Texts { sources, queries }
    }
}
