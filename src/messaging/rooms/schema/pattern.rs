//! Patterns: found in time that grows with the text, whatever the pattern.
//!
//! JSON Schema means the regular expressions of ECMA-262, the engine here reads a dialect of its own; [`translated`]
//! writes the one as the other. What looks ahead or behind, or back at a group, no linear engine has: it is refused.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

use super::budget::{Budget, Stop};
use super::fault::shown;
use super::translated::translated;

/// The longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 10;

/// What one pattern may take when it is made ready, in bytes, from least to most. The engine does not tell what one takes,
/// but refuses what takes more than it may.
const SIZES_BYTES: [usize; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];

/// What a pattern may remember of texts, in bytes.
const MEMORY_BYTES_MAX: usize = 256 << 10;

/// How many bytes of a text are a step, for each character that a pattern is wide. Measured: the slowest patterns found
/// take up to 17 ns for a byte and a character, most a hundredth of it.
const BYTES_PER_STEP: u64 = 4;

/// A pattern made ready.
pub(super) struct Pattern {
    regex: Regex,
    /// As it was written, as far as it is shown.
    shown: String,
    size_bytes: usize,
    width: u64,
}

impl Pattern {
    /// Makes a pattern ready.
    ///
    /// # Errors
    /// Why it cannot be, as a sentence without its subject.
    pub(super) fn read(text: &str) -> Result<Pattern, Cow<'static, str>> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err("must have at most 1,024 bytes, as a pattern".into());
        }
        let translated = translated(text)?;
        let mut error = None;
        for size_bytes in SIZES_BYTES {
            let built =
                RegexBuilder::new(&translated.text).size_limit(size_bytes).dfa_size_limit(MEMORY_BYTES_MAX).build();
            match built {
                Ok(regex) => return Ok(Pattern { regex, shown: shown(text), size_bytes, width: translated.width }),
                Err(too_large @ regex::Error::CompiledTooBig(_)) => error = Some(too_large),
                Err(other) => {
                    error = Some(other);
                    break;
                }
            }
        }
        Err(match error {
            Some(regex::Error::CompiledTooBig(_)) => {
                "is a pattern that takes more than 256 KiB when it is made ready: \
                                                      it counts too far, or has too many parts"
                    .into()
            }
            _ => "is no pattern: its brackets, counts or classes are not those of a regular expression".into(),
        })
    }

    /// The pattern for those who are told of it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// How many bytes it takes at most.
    pub(super) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Whether it is found in a text.
    ///
    /// # Errors
    /// The budget is used up.
    pub(super) fn is_found_in(&self, text: &str, budget: &mut Budget) -> Result<bool, Stop> {
        let work = (text.len() as u64).saturating_mul(self.width.saturating_add(1));
        budget.spend(2 + work / BYTES_PER_STEP)?;
        Ok(self.regex.is_match(text))
    }
}
