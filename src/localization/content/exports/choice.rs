//! What an export makes of each unit of the file.

use super::material::Material;
use crate::content::model::category_at;
use crate::content::tables::TranslationRow;
use crate::content::translation::{State, Translated, TranslatedForm};
use crate::content::translations::state_of;
use crate::formats::{Content, Forms, Unit};
use crate::language::Locale;

/// What becomes of a key that has no translation to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Its source stays.
    Source,
    /// It goes.
    Omit,
}

impl Fallback {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Fallback::Source => "source",
            Fallback::Omit => "omit",
        }
    }
}

/// An export into a locale.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Into which.
    pub locale: Locale,
    /// What becomes of keys without a translation.
    pub fallback: Fallback,
    /// Whether approved translations alone are used.
    pub approved_only: bool,
}

/// What an export makes of a unit.
pub enum Chosen<'m> {
    /// What it says already.
    Source,
    /// Nothing.
    Omitted,
    /// A text.
    Text(&'m str),
    /// A plural.
    Forms(Forms),
}

/// A unit in an export.
pub struct Choice<'m> {
    /// What is made of it.
    pub chosen: Chosen<'m>,
    /// The state of its translation.
    pub state: State,
    /// Its translation, used or not.
    pub row: Option<&'m TranslationRow>,
}

/// What a translation says as an edit of a file wants it.
fn forms_of(forms: &[TranslatedForm]) -> Forms {
    forms.iter().map(|form| (category_at(form.category), form.text.clone())).collect()
}

impl Material<'_> {
    /// What an export makes of a unit.
    pub fn choose<'m>(&'m self, unit: &Unit, wish: &Wish) -> Choice<'m> {
        let fallback = match wish.fallback {
            Fallback::Source => Chosen::Source,
            Fallback::Omit => Chosen::Omitted,
        };
        let Some((entry, row)) = self.key(unit.path()) else {
            return Choice { chosen: fallback, state: State::Untranslated, row: None };
        };
        let state = state_of(entry, row);
        let chosen = match (row.map(|row| &row.content), unit.content()) {
            _ if wish.approved_only && state.name() != "approved" => fallback,
            (Some(Translated::Text { text, .. }), Content::Text(_)) => Chosen::Text(text),
            (Some(Translated::Forms(forms)), Content::Plural(_)) => Chosen::Forms(forms_of(forms)),
            // It has none; or the key was a text and is a plural now, or the other way round.
            _ => fallback,
        };
        Choice { chosen, state, row }
    }
}
