//! What the memory remembers.

use quintet_platform::secrets::digest;
use quintet_storage::Timestamp;

use crate::content::{TEXT_BYTES_MAX, Wording};
use crate::language::Locale;
use crate::likeness::{self, LanguagePair};
use crate::model::TenantId;
use crate::spaces::ProjectId;

impl LanguagePair {
    /// From a project's source locale, whose tag is stored as its content form, into a locale (localization, M2).
    #[must_use]
    pub fn new(tenant_id: TenantId, source_tag: &str, target: &Locale) -> LanguagePair {
        LanguagePair { tenant_id, source: source_tag.to_owned(), target: target.canonical().to_owned() }
    }

    /// The same, as rows are known by.
    #[must_use]
    pub fn key(&self) -> (TenantId, String, String) {
        (self.tenant_id, self.source.clone(), self.target.clone())
    }
}

/// What to remember: what a source text was translated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered<'a> {
    /// The source text.
    pub source: &'a str,
    /// What it was translated as.
    pub target: &'a str,
    /// Who wrote that.
    pub origin: Option<Wording>,
}

impl Remembered<'_> {
    /// Whether it is remembered at all: neither text has more than 65,536 bytes, which is the longest translation.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.source.len() <= TEXT_BYTES_MAX && self.target.len() <= TEXT_BYTES_MAX
    }
}

/// A unit of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryUnit {
    /// The source text.
    pub source: String,
    /// What it was translated as.
    pub target: String,
    /// Who wrote that.
    pub origin: Option<Wording>,
    /// In which project it was written last.
    pub project_id: ProjectId,
    /// When it was written last.
    pub written_at: Timestamp,
}

impl likeness::Unit for MemoryUnit {
    fn source(&self) -> &str {
        &self.source
    }

    fn written_micros(&self) -> i64 {
        self.written_at.as_micros()
    }
}

/// What a source text is known by in its language pair: the first half of its SHA-256.
#[must_use]
pub fn source_id(source: &str) -> u128 {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = digest(source.as_bytes());
    u128::from_be_bytes([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
}

/// What became of something to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is what the unit says now.
    Written,
    /// The unit said so before.
    Unchanged,
    /// It does not [fit](Remembered::fits).
    Skipped,
}

/// How many of many came to which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Those that are what their units say now.
    pub written: u64,
    /// Those whose units said so before.
    pub unchanged: u64,
    /// Those that do not fit.
    pub skipped: u64,
}

impl Outcomes {
    /// Counts one more.
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Written => self.written += 1,
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Skipped => self.skipped += 1,
        }
    }
}
