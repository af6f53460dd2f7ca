//! What becomes of a unit: a pure function of the unit, its key, and the translation that is stored.

use super::document::{Document, UnitWish, source_digest};
use crate::content::{KeyEntry, TEXT_BYTES_MAX, Translated, TranslatedForm, TranslationRow, Walked, Wished, shaped};
use crate::formats::is_representable;
use crate::language::{Category, Locale};
use crate::refusal::Refusal;

/// What becomes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its target is written.
    Written,
    /// Its target is what is stored.
    Unchanged,
    /// It has no target.
    TargetMissing,
    /// It is of no key of the file.
    KeyUnknown,
    /// Its key is not in the latest version.
    KeyObsolete,
    /// Its source is not the key's.
    SourceChanged,
    /// Another unit before it is of the same.
    UnitRepeated,
    /// Its shape does not fit the key or the locale, or forms are missing beside it.
    EditShape,
    /// Its target is too long.
    ValueTooLong,
    /// Its target has U+0000.
    ValueUnrepresentable,
    /// Its target has an inline code without text.
    InlineCode,
}

/// How each is remembered, and told: whether it is written, unchanged or skipped, and why.
const TABLE: &[(Verdict, u8, &str, Option<&str>)] = &[
    (Verdict::Written, b'w', "written", None),
    (Verdict::Unchanged, b'u', "unchanged", None),
    (Verdict::TargetMissing, b'm', "unchanged", Some("target_missing")),
    (Verdict::KeyUnknown, b'k', "skipped", Some("key_unknown")),
    (Verdict::KeyObsolete, b'o', "skipped", Some("key_obsolete")),
    (Verdict::SourceChanged, b's', "skipped", Some("source_changed")),
    (Verdict::UnitRepeated, b'r', "skipped", Some("unit_repeated")),
    (Verdict::EditShape, b'e', "skipped", Some("edit_shape")),
    (Verdict::ValueTooLong, b'l', "skipped", Some("value_too_long")),
    (Verdict::ValueUnrepresentable, b'v', "skipped", Some("value_unrepresentable")),
    (Verdict::InlineCode, b'i', "skipped", Some("inline_code")),
];

impl Verdict {
    fn row(self) -> (u8, &'static str, Option<&'static str>) {
        let found = TABLE.iter().find(|(verdict, ..)| *verdict == self);
        found.map_or((b'k', "skipped", None), |(_, letter, result, code)| (*letter, *result, *code))
    }

    /// How it is remembered.
    #[must_use]
    pub fn letter(self) -> u8 {
        self.row().0
    }

    /// The verdict that is remembered so.
    #[must_use]
    pub fn of_letter(letter: u8) -> Verdict {
        let found = TABLE.iter().find(|(_, known, ..)| *known == letter);
        found.map_or(Verdict::KeyUnknown, |(verdict, ..)| *verdict)
    }

    /// How it is told: the result, and why.
    #[must_use]
    pub fn told(self) -> (&'static str, Option<&'static str>) {
        let (_, result, code) = self.row();
        (result, code)
    }

    /// Whether the whole document is refused for it.
    #[must_use]
    pub const fn refuses(self) -> bool {
        matches!(self, Verdict::EditShape | Verdict::ValueTooLong | Verdict::ValueUnrepresentable | Verdict::InlineCode)
    }
}

/// What becomes of the units of one key, `places` in the document; and what is written, if anything is. Nothing is refused
/// that would not be written anyway (localization, X4).
#[must_use]
pub fn judge_key(
    document: &Document,
    places: &[u32],
    found: Option<&Walked>,
    locale: &Locale,
) -> (Vec<Verdict>, Option<Wished>) {
    let Some(Walked { entry, row }) = found else { return (vec![Verdict::KeyUnknown; places.len()], None) };
    let units: Vec<&UnitWish> = places.iter().filter_map(|place| document.unit(*place)).collect();
    let mut verdicts = vec![Verdict::UnitRepeated; places.len()];
    // The first of each form counts.
    let mut counting: Vec<(usize, &UnitWish)> = Vec::new();
    for (place, unit) in units.into_iter().enumerate() {
        if !counting.iter().any(|(_, before)| before.category == unit.category) {
            counting.push((place, unit));
        }
    }
    let (verdict, wished) = match entry.is_obsolete {
        true => (Verdict::KeyObsolete, None),
        false => judge_units(document, &counting, entry, row.as_ref(), locale),
    };
    for (place, unit) in counting {
        let of_unit = match (&verdict, document.target(unit)) {
            (Verdict::KeyObsolete | Verdict::EditShape | Verdict::SourceChanged, _) => verdict,
            (_, None) => Verdict::TargetMissing,
            (verdict, Some(_)) => own_fault(document, unit).unwrap_or(*verdict),
        };
        if let Some(slot) = verdicts.get_mut(place) {
            *slot = of_unit;
        }
    }
    (verdicts, wished)
}

/// What becomes of units of one key, each of another form.
fn judge_units(
    document: &Document,
    units: &[(usize, &UnitWish)],
    entry: &KeyEntry,
    row: Option<&TranslationRow>,
    locale: &Locale,
) -> (Verdict, Option<Wished>) {
    let targets = units.iter().filter_map(|(_, unit)| document.target(unit).map(|target| (*unit, target)));
    let mut forms = Vec::new();
    let mut text = None;
    let mut is_bare = false;
    for (unit, target) in targets {
        let source = entry.source.form(unit.category.unwrap_or(Category::Other));
        if !unit.is_of(source_digest(source)) {
            return (Verdict::SourceChanged, None);
        }
        is_bare |= target.has_bare_code;
        match unit.category {
            Some(category) => forms.push((category.name().to_owned(), target.text.to_owned())),
            None => text = Some(target.text.to_owned()),
        }
    }
    let wished = match (text, forms.is_empty()) {
        (None, true) => return (Verdict::TargetMissing, None),
        (Some(text), true) => Wished::Text(text),
        (None, false) => Wished::Forms(forms),
        // A key is one or the other.
        (Some(_), false) => return (Verdict::EditShape, None),
    };
    match shaped(wished.clone(), &entry.source, locale) {
        Err(Refusal::EditShape(_)) => (Verdict::EditShape, None),
        // Which of the units it is, they tell by themselves.
        Err(_) => (Verdict::Unchanged, None),
        Ok(_) if is_bare => (Verdict::Unchanged, None),
        Ok(content) if row.is_some_and(|row| says_the_same(&row.content, &content)) => (Verdict::Unchanged, None),
        Ok(_) => (Verdict::Written, Some(wished)),
    }
}

/// What is wrong with a unit's own target.
fn own_fault(document: &Document, unit: &UnitWish) -> Option<Verdict> {
    let target = document.target(unit)?;
    match target.has_bare_code {
        true => Some(Verdict::InlineCode),
        false if target.text.len() > TEXT_BYTES_MAX => Some(Verdict::ValueTooLong),
        false if !is_representable(target.text) => Some(Verdict::ValueUnrepresentable),
        false => None,
    }
}

/// Whether two translations say the same, whatever they were made from.
fn says_the_same(one: &Translated, other: &Translated) -> bool {
    match (one, other) {
        (Translated::Text { text: one, .. }, Translated::Text { text: other, .. }) => one == other,
        (Translated::Forms(one), Translated::Forms(other)) => {
            let said = |form: &TranslatedForm| (form.category, form.text.clone());
            one.iter().map(said).eq(other.iter().map(said))
        }
        _ => false,
    }
}
