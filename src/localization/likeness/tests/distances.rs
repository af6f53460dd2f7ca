//! The bit-parallel distance against the textbook's.

use super::{LETTERS, changed, random_text};
use crate::likeness::pattern::Pattern;
use crate::likeness::score::{SCORE_LEAST, distance_max, lengths, score_of};
use crate::testing::textbook;

/// Whatever the cut-off, what is told is the distance or that it is beyond.
fn agree(one: &str, other: &str) {
    let pattern = Pattern::of(one);
    let (length, distance) = (other.chars().count(), textbook(one, other));
    let longer = length.max(pattern.length());
    for most in [0, 1, 5, longer / 4, distance.saturating_sub(1), distance, distance + 1, longer, longer * 2] {
        let mut steps = 0;
        let told = pattern.distance_within(other, length, most, &mut steps);
        assert_eq!(told, Some(distance).filter(|distance| *distance <= most), "{most}: {one:?} {other:?}");
        assert!(steps <= (length * (pattern.length().div_ceil(64) + 3)) as u64);
    }
}

#[test]
fn distances_are_those_of_the_textbook() {
    for (one, other) in [("", ""), ("", "abc"), ("abc", ""), ("kitten", "sitting"), ("日本", "本日"), ("a", "😀")]
    {
        agree(one, other);
    }
    for seed in 0..900 {
        let mut random = fastrand::Rng::with_seed(seed);
        let letters = &LETTERS[..[2, 5, LETTERS.len()][seed as usize % 3]];
        let most = [20, 70, 260, 800][seed as usize / 3 % 4];
        let length = random.usize(..most);
        let one = random_text(&mut random, letters, length);
        let changes = random.usize(..=length / 2);
        let other = match random.u8(..4) {
            0 => {
                let length = random.usize(..most);
                random_text(&mut random, letters, length)
            }
            _ => changed(&mut random, letters, &one, changes),
        };
        agree(&one, &other);
        agree(&other, &one);
    }
}

#[test]
fn texts_whose_words_begin_and_end_at_the_edges() {
    for length in [1, 63, 64, 65, 127, 128, 129, 192, 193, 511, 512, 513, 576, 577] {
        let text = "xyzzy ".repeat(100)[..length].to_owned();
        for other in [text.clone(), format!("{text}a"), format!("a{text}"), text[1..].to_owned(), text.replace('z', "")]
        {
            agree(&text, &other);
        }
        agree(&text, &"y".repeat(length));
        agree(&text, &format!("{}{text}", "-".repeat(70)));
    }
}

#[test]
fn scores_round_down_and_their_limits_are_exact() {
    assert_eq!((score_of(1, 3), score_of(1, 4), score_of(0, 9), score_of(9, 9)), (66, 75, 99, 0));
    for longer in 1..400 {
        for score in SCORE_LEAST..100 {
            let most = distance_max(score, longer);
            assert!(score_of(most, longer) >= score && score_of(most + 1, longer) < score, "{longer} {score}");
            let (shortest, longest) = lengths(score, longer);
            let fits = |other: usize| longer.abs_diff(other) <= distance_max(score, longer.max(other));
            assert!(fits(shortest) && fits(longest) && !fits(longest + 1), "{longer} {score}");
            assert!(shortest == 0 || !fits(shortest - 1), "{longer} {score}");
        }
    }
}
