//! What a call asks for, and what the engine is told.

use std::collections::BTreeSet;

use quintet_storage::Timestamp;

use crate::content::{FileId, Key, KeyId, Wished};
use crate::language::Locale;
use crate::quality::Limits;

/// The most keys of a call, and how many it drafts if nobody says (contract, Limits).
pub const BATCH_MAX: usize = 200;
/// See [`BATCH_MAX`].
pub const BATCH_DEFAULT: usize = 50;
/// About how many bytes of sources a call has: what is beyond is left for the next one.
pub const CALL_BYTES_MAX: usize = 256 << 10;
/// The longest source that the engine is asked for, in bytes: no translation may be longer.
pub const SOURCE_BYTES_MAX: usize = 64 << 10;

/// What a call asks for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Keys of which file.
    pub file_id: FileId,
    /// Into which locale.
    pub locale: Locale,
    /// So many at most.
    pub batch: usize,
    /// Also drafts that the engine wrote, and last before that instant.
    pub drafted_before: Option<Timestamp>,
    /// None but these.
    pub keys: Option<BTreeSet<KeyId>>,
    /// What the memory has at least so well is taken from there, and the engine asked for the rest.
    pub from_memory: Option<u8>,
}

/// A key that a call drafts.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The key as it was found.
    pub key: Key,
    /// The revision of its translation as it was found; 0: there was none.
    pub revision: u64,
    /// What translators are told of it.
    pub context: Option<String>,
    /// How long its translation may be.
    pub limits: Limits,
    /// Whether it lies under a legal prefix of the project.
    pub is_legal: bool,
}

/// What the memory has said of a text like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// What was translated.
    pub source: String,
    /// As what.
    pub target: String,
    /// How alike the sources are, 100 being equal.
    pub score: u8,
}

/// A candidate with what the memory has of it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The key.
    pub candidate: Candidate,
    /// Best first.
    pub memory: Vec<Match>,
}

/// A term and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuidedTerm {
    /// In the source.
    pub source: String,
    /// In the target.
    pub target: String,
}

/// What a project tells everybody who translates into a locale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guidance {
    /// Style instructions for everything, the most general first.
    pub style: Vec<String>,
    /// Those for legal texts.
    pub legal_style: Vec<String>,
    /// Terms.
    pub terms: Vec<GuidedTerm>,
    /// What stays as it is.
    pub do_not_translate: Vec<String>,
    /// What is never said.
    pub forbidden: Vec<String>,
}

/// What came of a candidate.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The key.
    pub candidate: Candidate,
    /// What was proposed; `None`: nothing of use.
    pub wished: Option<Wished>,
    /// Whether the memory proposed it.
    pub is_from_memory: bool,
}
