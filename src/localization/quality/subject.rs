//! What a translation is held against, and the subject that makes it with what the translation says.

use super::model::{Limits, Pair, Subject};
use super::reading::Reading;
use super::rules::Rules;
use crate::content::{Format, Source, Translated, category_at};
use crate::language::{Category, Locale};

/// What the translations of a key into a locale are held against.
#[derive(Clone, Copy, Debug)]
pub struct Grounds<'g> {
    /// The locale of the source.
    pub source_locale: &'g Locale,
    /// The locale of the translation.
    pub target_locale: &'g Locale,
    /// The kind of file.
    pub format: Format,
    /// What the project says of its words in the locale.
    pub rules: &'g Rules,
    /// The limits of the key.
    pub limits: Limits,
}

impl<'g> Grounds<'g> {
    /// What the checks look at: the source as it is now, also where the translation was made from another.
    #[must_use]
    pub fn subject(self, source: &'g Source, content: &'g Translated) -> Subject<'g> {
        let pair = |category: Option<Category>, target: &'g str| Pair {
            category,
            source: Reading::of(source.form(category.unwrap_or(Category::Other)), self.format),
            target: Reading::of(target, self.format),
        };
        let pairs = match content {
            Translated::Text { text, .. } => vec![pair(None, text)],
            Translated::Forms(forms) => {
                forms.iter().map(|form| pair(Some(category_at(form.category)), &form.text)).collect()
            }
        };
        Subject {
            source_locale: self.source_locale,
            target_locale: self.target_locale,
            format: self.format,
            is_plural: source.is_plural(),
            pairs,
            source_one: own_one(source).map(|text| Reading::of(text, self.format)),
            rules: self.rules,
            limits: self.limits,
        }
    }
}

/// A plural's own form of `one`.
fn own_one(source: &Source) -> Option<&str> {
    match source {
        Source::Text(_) => None,
        Source::Forms(forms) => {
            let one = forms.iter().find(|(place, _)| category_at(*place) == Category::One);
            one.map(|(_, text)| text.as_str())
        }
    }
}
