//! Q14, spacing inside: double spaces, line feeds, tabs and literal `\n` are as many as in the source.

use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};

/// White space at the ends is Q06's.
pub fn judge(_subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (Spacing::of(pair.source.text), Spacing::of(pair.target.text));
    if source == target {
        return Outcome::Pass;
    }
    let mut missing = Vec::new();
    let mut extra = Vec::new();
    for (name, source, target) in [
        ("double spaces", source.doubles, target.doubles),
        ("line feeds", source.line_feeds, target.line_feeds),
        ("tabs", source.tabs, target.tabs),
        ("literal \\n", source.literals, target.literals),
    ] {
        match source.cmp(&target) {
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => missing.push(format!("{name} ({})", source - target)),
            std::cmp::Ordering::Less => extra.push(format!("{name} ({})", target - source)),
        }
    }
    Outcome::Fail(told(&[("missing", &borrowed(&missing)), ("extra", &borrowed(&extra))]))
}

/// How often each is in a text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Spacing {
    doubles: usize,
    line_feeds: usize,
    tabs: usize,
    literals: usize,
}

impl Spacing {
    /// Two spaces behind the end of a sentence are a typist's habit, and those at the start of a line are no spacing.
    fn of(text: &str) -> Spacing {
        let bytes = text.trim().as_bytes();
        let mut spacing = Spacing::default();
        // Most texts have nothing of the kind, which is soon seen.
        if !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\t' | b'\\')) && !bytes.windows(2).any(|two| two == b"  ")
        {
            return spacing;
        }
        let mut before = b'\n';
        for (index, byte) in bytes.iter().enumerate() {
            let next = bytes.get(index + 1);
            match byte {
                b' ' if next == Some(&b' ') && !b" \n.!?:".contains(&before) => spacing.doubles += 1,
                b'\n' => spacing.line_feeds += 1,
                b'\t' => spacing.tabs += 1,
                b'\\' if next == Some(&b'n') && before != b'\\' => spacing.literals += 1,
                _ => {}
            }
            before = *byte;
        }
        spacing
    }
}
