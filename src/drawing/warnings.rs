//! What the user should know of a drawing besides the picture.

use std::collections::HashSet;
use std::ops::Deref;

/// Warnings that are kept; a source can give reason for millions.
const MOST: usize = 200;

/// Characters of a warning that are kept: many repeat a value of the source.
const LONGEST: usize = 400;

/// Sentences in the order they were told, each once.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    list: Vec<String>,
    known: HashSet<String>,
    told: usize,
}

impl Warnings {
    /// Tells one more. What was told before, and what is too much, is not kept.
    pub fn push(&mut self, warning: impl Into<String>) {
        self.told += 1;
        if self.list.len() >= MOST {
            return;
        }
        let mut warning = warning.into();
        if let Some((end, _)) = warning.char_indices().nth(LONGEST) {
            warning.truncate(end);
            warning.push('…');
        }
        if self.known.insert(warning.clone()) {
            self.list.push(warning);
        }
    }

    /// How often something was told, kept or not.
    pub fn told(&self) -> usize {
        self.told
    }

    /// The sentences.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}

impl Deref for Warnings {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.list
    }
}

impl Extend<String> for Warnings {
    fn extend<I: IntoIterator<Item = String>>(&mut self, warnings: I) {
        warnings.into_iter().for_each(|warning| self.push(warning));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once_shortened_and_not_without_end() {
        let mut warnings = Warnings::default();
        warnings.extend(["a", "b", "a"].map(str::to_owned));
        assert_eq!((&*warnings, warnings.told()), (["a", "b"].map(str::to_owned).as_slice(), 3));
        warnings.push("é".repeat(LONGEST + 1));
        assert_eq!(warnings.last().unwrap().chars().count(), LONGEST + 1);
        (0..1_000).for_each(|number| warnings.push(number.to_string()));
        assert_eq!((warnings.len(), warnings.told()), (MOST, 1_004));
        assert_eq!(warnings.into_list().len(), MOST);
    }
}
