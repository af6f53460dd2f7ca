//! Translations: what they say, who wrote them, how far they have come; and which shape they must have.

use bincode::{Decode, Encode};
use quintet_platform::secrets::digest;
use quintet_storage::{Timestamp, Uuid};

use super::model::{FileVersion, KeyEntry, KeyId, Source, category_at, place_of};
use crate::formats::is_representable;
use crate::language::{Category, Locale, LocaleRefusal, check_translation_route_length};
use crate::refusal::Refusal;

/// The review state of a translation as it is stored; whether it is outdated is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ReviewState {
    /// Written.
    Draft,
    /// Somebody must look at it.
    NeedsAttention,
    /// Reviewed.
    Reviewed,
    /// Approved.
    Approved,
}

/// Who wrote a translation's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Wording {
    /// The AI engine.
    Ai,
    /// A person or program, with PUT.
    Human,
    /// An import of translations.
    Import,
    /// The memory of what was approved before.
    Memory,
}

/// What a translation says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Translated {
    /// One text.
    Text {
        /// The text.
        text: String,
        /// SHA-256 of the source it was made from.
        source_sha256: [u8; 32],
    },
    /// The forms of a plural, in CLDR's order.
    Forms(Vec<TranslatedForm>),
}

impl Translated {
    /// How many bytes its texts have together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Translated::Text { text, .. } => text.len(),
            Translated::Forms(forms) => forms.iter().map(|form| form.text.len()).sum(),
        }
    }
}

/// One form of a translated plural.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TranslatedForm {
    /// Its place in CLDR's order, from 0 (`zero`) to 5 (`other`).
    pub category: u8,
    /// The text.
    pub text: String,
    /// SHA-256 of the source form it was made from.
    pub source_sha256: [u8; 32],
}

/// What approved a translation (localization, T5).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Approval {
    /// When.
    pub at: Timestamp,
    /// By which principal: who called; of a decision, who asked for it.
    pub by: [u8; 16],
    /// `decision:<who decided>` or `policy:<licence>@1`; none if a reviewer did.
    pub label: Option<String>,
    /// The decision's or the evaluation's id; none if a reviewer did.
    pub reference: Option<String>,
}

/// A translation's state as everybody sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Untranslated,
    /// The stored review state.
    Stored(ReviewState),
    /// Its source has changed since.
    Outdated,
}

impl State {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Untranslated => "untranslated",
            State::Stored(ReviewState::Draft) => "draft",
            State::Stored(ReviewState::NeedsAttention) => "needs_attention",
            State::Stored(ReviewState::Reviewed) => "reviewed",
            State::Stored(ReviewState::Approved) => "approved",
            State::Outdated => "outdated",
        }
    }

    /// The state of a translation in a review state, made from the source that came up in `source_version`.
    #[must_use]
    pub const fn of(entry: &KeyEntry, review: ReviewState, source_version: FileVersion) -> State {
        if source_version < entry.source_version { State::Outdated } else { State::Stored(review) }
    }
}

impl Wording {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Wording::Ai => "ai",
            Wording::Human => "human",
            Wording::Import => "import",
            Wording::Memory => "memory",
        }
    }
}

/// A translation as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Of which key.
    pub key_id: KeyId,
    /// Into which locale: the canonical tag of the request.
    pub locale: String,
    /// Its state.
    pub state: State,
    /// The stored one, if there is any.
    pub written: Option<Written>,
}

/// A translation that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// How often its text was written.
    pub revision: u64,
    /// What it says.
    pub content: Translated,
    /// Who wrote it.
    pub origin: Option<Wording>,
    /// Who wrote its text.
    pub updated_by: Uuid,
    /// When.
    pub updated_at: Timestamp,
    /// What approved it, as long as it is approved.
    pub approval: Option<Approval>,
}

/// The locale of a tag, for translations.
///
/// # Errors
/// [`Refusal::Tag`]
pub fn translation_locale(tag: &str) -> Result<Locale, Refusal> {
    let refused = |refusal: LocaleRefusal| Refusal::Tag(refusal.code());
    let locale = Locale::parse(tag).map_err(refused)?;
    check_translation_route_length(&locale).map_err(refused)?;
    Ok(locale)
}

/// The longest text of a translation, in bytes.
pub const TEXT_BYTES_MAX: usize = 65_536;

/// What a translation says on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wished {
    /// One text.
    Text(String),
    /// Forms by the names of their categories, as they came.
    Forms(Vec<(String, String)>),
}

impl Wished {
    /// How many bytes its texts have together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Wished::Text(text) => text.len(),
            Wished::Forms(forms) => forms.iter().map(|(_, text)| text.len()).sum(),
        }
    }
}

/// What a translation's shape must be, from the locale.
///
/// # Errors
/// In this order: [`Refusal::EditShape`], [`Refusal::ValueTooLong`], [`Refusal::ValueUnrepresentable`].
pub fn shaped(wished: Wished, source: &Source, locale: &Locale) -> Result<Translated, Refusal> {
    let content = match (wished, source) {
        (Wished::Text(text), Source::Text(source)) => {
            Translated::Text { text, source_sha256: digest(source.as_bytes()) }
        }
        (Wished::Text(_), Source::Forms(_)) => {
            return Err(Refusal::EditShape("the key is a plural: forms are required"));
        }
        (Wished::Forms(_), Source::Text(_)) => {
            return Err(Refusal::EditShape("the key is no plural: text is required"));
        }
        (Wished::Forms(forms), Source::Forms(_)) => Translated::Forms(shaped_forms(forms, source, locale)?),
    };
    let texts: Vec<&str> = match &content {
        Translated::Text { text, .. } => vec![text],
        Translated::Forms(forms) => forms.iter().map(|form| form.text.as_str()).collect(),
    };
    if texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) {
        return Err(Refusal::ValueTooLong);
    }
    if !texts.iter().all(|text| is_representable(text)) {
        return Err(Refusal::ValueUnrepresentable);
    }
    Ok(content)
}

fn shaped_forms(
    forms: Vec<(String, String)>,
    source: &Source,
    locale: &Locale,
) -> Result<Vec<TranslatedForm>, Refusal> {
    const WRONG: Refusal = Refusal::EditShape("the forms are not exactly the locale's plural categories");
    let mut found = forms
        .into_iter()
        .map(|(name, text)| {
            let category = Category::from_name(&name).ok_or(WRONG)?;
            let source_sha256 = digest(source.form(category).as_bytes());
            Ok(TranslatedForm { category: place_of(category), text, source_sha256 })
        })
        .collect::<Result<Vec<_>, Refusal>>()?;
    found.sort_by_key(|form| form.category);
    let names: Vec<&str> = found.iter().map(|form| category_at(form.category).name()).collect();
    if names == locale.cardinal().names() { Ok(found) } else { Err(WRONG) }
}
