//! What the translations of a file are held against now, looked up once for many of them.

use std::sync::Arc;

use quintet_storage::{Abort, Failure, Read};

use crate::content::{File, Format, KeyEntry, Translated, find_context};
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::quality::{self, CheckSet, Grounds, Limits, Rules};
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::get_project;
use crate::terms::rules;

/// The limits of a key.
///
/// # Errors
/// Only the store's.
pub fn limits(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    file: &File,
    path: &str,
) -> Result<Limits, Failure> {
    let context = find_context(read, shelf, tenant_id, file.file_id, path)?;
    Ok(context.map_or(Limits::default(), |context| Limits { min: context.min_length, max: context.max_length }))
}

/// What the translations of a file into a locale are held against, but for the limits of their keys.
pub struct FileStandards {
    source_locale: Locale,
    format: Format,
    target_locale: Locale,
    rules: Arc<Rules>,
}

/// The locale of a tag that was one when it was stored.
fn stored_locale(tag: &str) -> Result<Locale, Failure> {
    Locale::parse(tag).map_err(|_| Failure::Damaged(format!("{tag:?} is stored as a locale")))
}

impl FileStandards {
    /// What holds in a state of the store for translations of a file into a locale.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if the project is gone.
    pub fn of(
        read: &impl Read,
        shelf: &Shelf,
        (tenant_id, project_id): (TenantId, ProjectId),
        file: &File,
        tag: &str,
    ) -> Result<FileStandards, Abort<Refusal>> {
        let project = get_project(read, tenant_id, project_id)?;
        let target_locale = stored_locale(tag)?;
        Ok(FileStandards {
            source_locale: stored_locale(&project.source.locale.tag)?,
            format: file.format,
            rules: rules(read, shelf, tenant_id, project_id, &target_locale)?,
            target_locale,
        })
    }

    /// The checks that a translation fails.
    #[must_use]
    pub fn failing(&self, entry: &KeyEntry, limits: Limits, content: &Translated) -> CheckSet {
        let FileStandards { source_locale, format, target_locale, rules } = self;
        let grounds = Grounds { source_locale, target_locale, format: *format, rules, limits };
        quality::failing(&grounds.subject(&entry.source, content))
    }
}
