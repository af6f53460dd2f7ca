//! Items of requests, and what whoever decides is shown of them.

use bincode::{Decode, Encode};
use quintet_platform::json::{Json, to_canonical};
use quintet_platform::secrets::{Digest, digest};
use quintet_storage::Timestamp;

use crate::content::{Source, Translated, category_at};

/// The most items of a request (contract, Limits).
pub const ITEMS_MAX: usize = 200;
/// The most bytes of a context. The contract knows no such limit: one that is near it has texts of thousands of characters.
pub const CONTEXT_BYTES_MAX: usize = 1 << 20;

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Outcome {
    /// It was approved.
    Approved,
    /// It was given back, and is a draft.
    Returned,
    /// It is not what was shown any more, and was left as it is.
    SkippedChanged,
    /// Nothing.
    Unchanged,
}

impl Outcome {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Approved => "approved",
            Outcome::Returned => "returned",
            Outcome::SkippedChanged => "skipped_changed",
            Outcome::Unchanged => "unchanged",
        }
    }
}

/// A translation as it stood when its request was made.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Item {
    /// Of which key.
    pub key_id: [u8; 16],
    /// The key's path.
    pub key: String,
    /// The revision that was shown.
    pub revision: u64,
    /// SHA-256 of what it said.
    pub target_sha256: Digest,
    /// What became of it.
    pub outcome: Option<Outcome>,
}

/// Forms by the names of their categories.
fn forms<'t>(forms: impl Iterator<Item = (u8, &'t str)>) -> Json {
    Json::object(forms.map(|(category, text)| (category_at(category).name(), Json::from(text))))
}

/// What a source says, as a context shows it: a text, or the forms of a plural (localization, R2).
#[must_use]
pub fn source_json(source: &Source) -> Json {
    match source {
        Source::Text(text) => Json::from(text.as_str()),
        Source::Forms(texts) => forms(texts.iter().map(|(category, text)| (*category, text.as_str()))),
    }
}

/// What a translation says, likewise.
#[must_use]
pub fn target_json(content: &Translated) -> Json {
    match content {
        Translated::Text { text, .. } => Json::from(text.as_str()),
        Translated::Forms(texts) => forms(texts.iter().map(|form| (form.category, form.text.as_str()))),
    }
}

/// SHA-256 of a text; of a plural, of the canonical JSON of its forms.
#[must_use]
pub fn target_sha256(content: &Translated) -> Digest {
    match content {
        Translated::Text { text, .. } => digest(text.as_bytes()),
        Translated::Forms(_) => digest(to_canonical(&target_json(content)).as_bytes()),
    }
}

/// When a request that is made now may no longer be decided.
#[must_use]
pub fn expiry(now: Timestamp) -> Timestamp {
    now.plus_seconds(crate::decisions::DECISION_SECONDS)
}
