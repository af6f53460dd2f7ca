//! The names of the ten process checks.

use std::fmt;

/// One of the ten checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckName {
    /// The tables have the digests they were made with.
    TableDigests,
    /// All tables are of the pinned releases.
    VersionAgreement,
    /// Well-formed tags are told from others.
    Grammar,
    /// Registered subtags are told from others.
    Registry,
    /// Tags known beforehand get their canonical form.
    Canonicalization,
    /// Tags known beforehand get their likely subtags.
    LikelySubtags,
    /// Cardinal numbers known beforehand get their category.
    Cardinals,
    /// Ordinal numbers known beforehand get their category.
    Ordinals,
    /// Locales known beforehand get their direction.
    Direction,
    /// Forms are their own forms, and equal forms have equal identity keys.
    IdempotenceAndIdentity,
}

impl CheckName {
    /// Every check, in the order in which they run and are shown.
    pub const ALL: [Self; 10] = [
        Self::TableDigests,
        Self::VersionAgreement,
        Self::Grammar,
        Self::Registry,
        Self::Canonicalization,
        Self::LikelySubtags,
        Self::Cardinals,
        Self::Ordinals,
        Self::Direction,
        Self::IdempotenceAndIdentity,
    ];

    /// The name in `/readyz` and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TableDigests => "table_digests",
            Self::VersionAgreement => "version_agreement",
            Self::Grammar => "grammar",
            Self::Registry => "registry",
            Self::Canonicalization => "canonicalization",
            Self::LikelySubtags => "likely_subtags",
            Self::Cardinals => "cardinals",
            Self::Ordinals => "ordinals",
            Self::Direction => "direction",
            Self::IdempotenceAndIdentity => "idempotence_and_identity",
        }
    }

    /// The check of that name.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub fn from_name(name: &str) -> Result<Self, UnknownCheck> {
        Self::ALL.into_iter().find(|check| check.name() == name).ok_or(UnknownCheck)
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// There is no check of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no process check of that name")]
pub struct UnknownCheck;
