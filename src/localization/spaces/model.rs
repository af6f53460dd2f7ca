//! Workspaces, projects and their locales.

use bincode::{Decode, Encode};
use quintet_platform::http::etag::ETag;
use quintet_storage::Timestamp;

use crate::access::ProjectPlace;
pub use crate::model::{ProjectId, WorkspaceId};
use crate::refusal::Refusal;

/// The longest name of a workspace or project, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// The longest slug, in characters; the pattern of the contract.
pub const SLUG_CHARS_MAX: usize = 63;
/// The most legal prefixes of a project, and the longest, in characters.
pub const LEGAL_PREFIXES_MAX: usize = 50;
/// See [`LEGAL_PREFIXES_MAX`].
pub const LEGAL_PREFIX_CHARS_MAX: usize = 200;
/// The most target locales of a project.
pub const LOCALES_MAX: usize = 100;

/// Whether a text is a slug: `^[a-z0-9][a-z0-9-]{1,62}$`.
#[must_use]
pub fn is_slug(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (Some(first), rest) = (text.bytes().next(), text.get(1..).unwrap_or_default()) else { return false };
    known(first) && (1..SLUG_CHARS_MAX).contains(&rest.len()) && rest.bytes().all(|byte| known(byte) || byte == b'-')
}

/// A locale as a project stores it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StoredLocale {
    /// Its content form.
    pub tag: String,
    /// What makes two spellings one locale.
    pub identity_key: String,
}

/// A workspace as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub workspace_id: WorkspaceId,
    /// What stands for it in permissions.
    pub short_id: String,
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A project as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub project_id: ProjectId,
    /// What stands for it in permissions.
    pub short_id: String,
    /// The workspace it lies in.
    pub workspace_id: WorkspaceId,
    /// What stands for that in permissions.
    pub workspace_short_id: String,
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// The locale of its keys' sources.
    pub source: SourceLocale,
    /// Prefixes of key names whose translations no approval request batches.
    pub legal_prefixes: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Project {
    /// Where it lies, as permissions know it.
    #[must_use]
    pub fn place(&self) -> ProjectPlace<'_> {
        ProjectPlace { workspace: &self.workspace_short_id, project: &self.short_id }
    }

    /// How many bytes its legal prefixes have: up to 40,000, whereas all else is small.
    #[must_use]
    pub fn prefix_bytes(&self) -> usize {
        self.legal_prefixes.iter().map(String::len).sum()
    }

    /// Whether a key with this path is a legal text (contract, Project).
    #[must_use]
    pub fn is_legal(&self, path: &str) -> bool {
        self.legal_prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// A source locale as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenLocale {
    /// As it is stored.
    pub stored: StoredLocale,
    /// How it may be written as the root key of a rails file: as it was given, its canonical tag, its content form; each
    /// once.
    pub roots: Vec<String>,
}

/// The source locale of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocale {
    /// The locale.
    pub locale: StoredLocale,
    /// How it may be written as the root key of a rails file.
    pub roots: Vec<String>,
    /// How often it was set, the first time not counted.
    pub version: u64,
}

impl SourceLocale {
    /// `"s<version>"`
    #[must_use]
    pub fn etag(&self) -> ETag {
        ETag::strong(&format!("s{}", self.version))
    }
}

/// The target locales of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectLocales {
    /// How often they were set.
    pub version: u64,
    /// In the order of their identity keys.
    pub locales: Vec<StoredLocale>,
}

impl ProjectLocales {
    /// `"v<version>"`
    #[must_use]
    pub fn etag(&self) -> ETag {
        ETag::strong(&format!("v{}", self.version))
    }
}

/// What a caller says of the state that it wants to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing, or "whatever there is".
    Unsaid,
    /// One of these strong tags; others it named can match nothing.
    Tags(Vec<ETag>),
}

impl Expected {
    /// Whether the current tag is the one the caller has read.
    ///
    /// # Errors
    /// [`Refusal::PreconditionRequired`], [`Refusal::PreconditionFailed`]
    pub fn check(&self, current: &ETag) -> Result<(), Refusal> {
        match self {
            Expected::Unsaid => Err(Refusal::PreconditionRequired),
            Expected::Tags(_) => self.check_if_said(current),
        }
    }

    /// The same where nothing need be said.
    ///
    /// # Errors
    /// [`Refusal::PreconditionFailed`]
    pub fn check_if_said(&self, current: &ETag) -> Result<(), Refusal> {
        match self {
            Expected::Unsaid => Ok(()),
            Expected::Tags(tags) if tags.iter().any(|tag| tag.matches_strongly(current)) => Ok(()),
            Expected::Tags(_) => Err(Refusal::PreconditionFailed(current.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for good in ["ab", "a-", "0a", "a--b", &"a".repeat(63)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "a", "-a", "A1", "a_b", "a b", "é1", "aé", &"a".repeat(64)] {
            assert!(!is_slug(bad), "{bad}");
        }
    }
}
