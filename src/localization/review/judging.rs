//! Judging what a key says in a locale by what its project demands now. That is done before the transaction that writes
//! it; the transaction asks whether it still holds ([`Standards::is_current`]), and if not, all is judged anew.

use std::sync::Arc;

use quintet_storage::{Abort, Failure, Read};

use crate::content::rejudge::{Stamp, stamp};
use crate::content::{Format, Key, KeyEntry, Translated, find_context, get_file};
use crate::language::Locale;
use crate::model::TenantId;
use crate::quality::{self, CheckSet, Grounds, Limits, QaCheck, Rules, Subject, rules};
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::Project;

/// What a translation is held against, and of when that is.
#[derive(Clone, Debug)]
pub struct Standards {
    /// The locale of the sources.
    source_locale: Locale,
    format: Format,
    rules: Arc<Rules>,
    limits: Limits,
    stamp: Stamp,
}

impl Standards {
    /// What holds for a key of a project.
    ///
    /// # Errors
    /// Only the store's.
    pub fn of(
        read: &impl Read,
        shelf: &Shelf,
        tenant_id: TenantId,
        project: &Project,
        key: &Key,
        locale: &Locale,
    ) -> Result<Standards, Abort<Refusal>> {
        let tag = &project.source.locale.tag;
        let source_locale = Locale::parse(tag).map_err(|_| Failure::Damaged(format!("a source locale is {tag:?}")))?;
        let context = find_context(read, shelf, tenant_id, key.file_id, &key.entry.path)?;
        let limits = context.map(|context| Limits { min: context.min_length, max: context.max_length });
        Ok(Standards {
            source_locale,
            format: get_file(read, tenant_id, key.project_id, key.file_id)?.format,
            rules: rules(read, shelf, tenant_id, key.project_id, locale)?,
            limits: limits.unwrap_or_default(),
            stamp: stamp(read, tenant_id, key.project_id)?,
        })
    }

    /// The same for another key of the file.
    ///
    /// # Errors
    /// Only the store's.
    pub fn of_other(
        &self,
        read: &impl Read,
        shelf: &Shelf,
        tenant_id: TenantId,
        key: &Key,
    ) -> Result<Standards, Failure> {
        let context = find_context(read, shelf, tenant_id, key.file_id, &key.entry.path)?;
        let limits = context.map(|context| Limits { min: context.min_length, max: context.max_length });
        Ok(Standards { limits: limits.unwrap_or_default(), ..self.clone() })
    }

    /// The locale of the sources.
    #[must_use]
    pub const fn source_locale(&self) -> &Locale {
        &self.source_locale
    }

    /// Whether they, and the key they were looked up for, are still those of now.
    ///
    /// # Errors
    /// Only the store's.
    pub fn is_current(&self, read: &impl Read, tenant_id: TenantId, key: &Key) -> Result<bool, Failure> {
        Ok(stamp(read, tenant_id, key.project_id)? == self.stamp)
    }

    /// What every check says, in the order of the interface.
    #[must_use]
    pub fn judge(&self, entry: &KeyEntry, locale: &Locale, content: &Translated) -> Vec<QaCheck> {
        quality::judge(&self.subject(entry, locale, content))
    }

    /// The checks that fail.
    #[must_use]
    pub fn failing(&self, entry: &KeyEntry, locale: &Locale, content: &Translated) -> CheckSet {
        quality::failing(&self.subject(entry, locale, content))
    }

    fn subject<'s>(&'s self, entry: &'s KeyEntry, locale: &'s Locale, content: &'s Translated) -> Subject<'s> {
        let grounds = Grounds {
            source_locale: &self.source_locale,
            target_locale: locale,
            format: self.format,
            rules: &self.rules,
            limits: self.limits,
        };
        grounds.subject(&entry.source, content)
    }
}
