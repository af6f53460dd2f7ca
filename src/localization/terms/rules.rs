//! The rules of a project for a locale, compiled once and kept for whoever needs them again.

use std::sync::Arc;

use quintet_storage::{Failure, Read};

use super::words::{Word, made_of_words};
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::quality::{Entry, Rules};
use crate::shelf::Shelf;

/// What a project says of its words in a locale, in the state that is read.
///
/// # Errors
/// Only the store's.
pub fn rules(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    project_id: ProjectId,
    locale: &Locale,
) -> Result<Arc<Rules>, Failure> {
    made_of_words(read, shelf, tenant_id, project_id, locale, |words| {
        let entries = words.words.iter().map(|word| match word {
            Word::Term { source, target } => Entry::Term { source, target },
            Word::DoNotTranslate(source) => Entry::DoNotTranslate(source),
            Word::Forbidden(target) => Entry::Forbidden(target),
        });
        Rules::compile(entries, words.is_formal, locale)
    })
}
