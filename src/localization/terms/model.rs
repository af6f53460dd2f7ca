//! Entries of the glossary, and styles.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid, key_newtype};

use crate::spaces::ProjectId;

key_newtype!(
    /// An entry of a glossary.
    pub TermId(Uuid)
);

/// The most entries of a project. The contract knows no such limit; all of them are held against every translation.
pub const ENTRIES_MAX: u32 = 10_000;
/// How many bytes the sources and targets of a project's entries have together at most: what the checks make of them takes
/// some twenty times as much memory.
pub const ENTRY_BYTES_MAX: u64 = 1 << 20;
/// The longest source or target of an entry, in characters.
pub const TERM_CHARS_MAX: usize = 200;
/// The longest note, in characters.
pub const NOTE_CHARS_MAX: usize = 1000;
/// The longest tag of a locale that a body may have here, in characters; what is stored is shorter.
pub const LOCALE_CHARS_MAX: usize = 255;
/// The longest style, in characters.
pub const STYLE_CHARS_MAX: usize = 8000;
/// The most styles of a project. The contract knows no such limit; every answer has all of them.
pub const STYLES_MAX: u32 = 1000;
/// How many bytes the texts of a project's styles have together at most, as JSON writes them: an answer with all of them
/// is remembered in one transaction.
pub const STYLE_BYTES_MAX: u64 = 2 << 20;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum EntryKind {
    /// What a source text becomes.
    Term,
    /// What stays as it is.
    DoNotTranslate,
    /// What no translation says.
    Forbidden,
}

impl EntryKind {
    /// Every word of the interface.
    pub const NAMES: &[&str] = &["term", "dnt", "forbidden"];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EntryKind::Term => "term",
            EntryKind::DoNotTranslate => "dnt",
            EntryKind::Forbidden => "forbidden",
        }
    }

    /// The kind of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<EntryKind> {
        let all = [EntryKind::Term, EntryKind::DoNotTranslate, EntryKind::Forbidden];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Wording {
    /// What it is, for good.
    pub kind: EntryKind,
    /// A canonical tag; `None`: every locale.
    pub locale: Option<String>,
    /// In the source.
    pub source: Option<String>,
    /// In the target.
    pub target: Option<String>,
    /// For people.
    pub note: Option<String>,
}

impl Wording {
    /// How many bytes its source and target have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        [&self.source, &self.target].into_iter().flatten().map(|text| text.len() as u64).sum()
    }

    /// Whether the checks see the same in both: all but the note.
    #[must_use]
    pub fn means_the_same(&self, other: &Wording) -> bool {
        let meaning = |one: &Wording| (one.kind, one.locale.clone(), one.source.clone(), one.target.clone());
        meaning(self) == meaning(other)
    }
}

/// An entry of a glossary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub term_id: TermId,
    /// Whose glossary it is in.
    pub project_id: ProjectId,
    /// What it says.
    pub wording: Wording,
    /// Who made it.
    pub created_by: Uuid,
    /// When.
    pub created_at: Timestamp,
    /// When it was last replaced, or made.
    pub updated_at: Timestamp,
}

/// For which keys a style is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StyleScope {
    /// All.
    Default,
    /// Those below a legal prefix of the project.
    Legal,
}

impl StyleScope {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            StyleScope::Default => "default",
            StyleScope::Legal => "legal",
        }
    }

    /// The scope of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<StyleScope> {
        [StyleScope::Default, StyleScope::Legal].into_iter().find(|scope| scope.name() == name)
    }

    /// Its place among the styles of a locale.
    #[must_use]
    pub const fn place(self) -> u8 {
        match self {
            StyleScope::Default => 0,
            StyleScope::Legal => 1,
        }
    }

    /// The scope of a place.
    #[must_use]
    pub const fn at(place: u8) -> StyleScope {
        if place == 0 { StyleScope::Default } else { StyleScope::Legal }
    }
}

/// How people are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Register {
    /// As one addresses strangers.
    Formal,
}

impl Register {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Register::Formal => "formal",
        }
    }
}

/// What a style's locale is when it is for all.
pub const EVERY_LOCALE: &str = "*";

/// An instruction for translators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// A canonical tag, or [`EVERY_LOCALE`].
    pub locale: String,
    /// For which keys.
    pub scope: StyleScope,
    /// What it says.
    pub text: String,
    /// The register it asks for.
    pub register: Option<Register>,
    /// When it was set.
    pub updated_at: Timestamp,
}
