//! What a project and its tenant tell everybody who translates: style and glossary, and what was said before.

use quintet_storage::{Failure, Read};

use super::model::{Guidance, Match};
use crate::content::Key;
use crate::context::Context;
use crate::language::Locale;
use crate::model::TenantId;
use crate::spaces::Project;

/// What a project tells everybody who translates into a locale.
///
/// # Errors
/// Only the store's.
pub fn guidance(
    _context: &Context,
    _read: &impl Read,
    _tenant_id: TenantId,
    _project: &Project,
    _locale: &Locale,
) -> Result<Guidance, Failure> {
    Ok(Guidance::default())
}

/// What the tenant's memory has for a key, best first.
///
/// # Errors
/// Only the store's.
pub fn matches(
    _context: &Context,
    _read: &impl Read,
    _tenant_id: TenantId,
    _project: &Project,
    _key: &Key,
    _locale: &Locale,
) -> Result<Vec<Match>, Failure> {
    Ok(Vec::new())
}
