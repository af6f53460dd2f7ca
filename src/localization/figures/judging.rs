//! What the translations of a file are held against now, looked up once for many of them.

use std::sync::Arc;

use quintet_storage::{Abort, Failure, Read};

use crate::content::{self, Contexts, File, Format, KeyEntry, Translated};
use crate::language::Locale;
use crate::model::TenantId;
use crate::quality::{self, CheckSet, Grounds, Limits, Rules, rules};
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::get_project;

/// What the translations of a file are held against.
pub struct Standards {
    source_locale: Locale,
    format: Format,
    contexts: Contexts,
    locales: Vec<(Locale, Arc<Rules>)>,
}

/// The locale of a tag that was one when it was stored.
fn stored_locale(tag: &str) -> Result<Locale, Failure> {
    Locale::parse(tag).map_err(|_| Failure::Damaged(format!("{tag:?} is stored as a locale")))
}

impl Standards {
    /// What holds in a state of the store for translations of a file into these locales.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] if the project is gone.
    pub fn of(
        read: &impl Read,
        shelf: &Shelf,
        tenant_id: TenantId,
        file: &File,
        project_id: crate::model::ProjectId,
        locales: &[String],
    ) -> Result<Standards, Abort<Refusal>> {
        let project = get_project(read, tenant_id, project_id)?;
        let in_locale = |tag: &String| {
            let locale = stored_locale(tag)?;
            let rules = rules(read, shelf, tenant_id, project_id, &locale)?;
            Ok::<_, Failure>((locale, rules))
        };
        Ok(Standards {
            source_locale: stored_locale(&project.source.locale.tag)?,
            format: file.format,
            contexts: content::get_contexts(read, tenant_id, file.file_id)?,
            locales: locales.iter().map(in_locale).collect::<Result<_, _>>()?,
        })
    }

    /// The checks that a translation fails into the locale of that place among them.
    #[must_use]
    pub fn failing(&self, entry: &KeyEntry, place: usize, content: &Translated) -> CheckSet {
        let Some((target_locale, rules)) = self.locales.get(place) else { return CheckSet::default() };
        let context = self.contexts.of(&entry.path);
        let limits = context.map(|context| Limits { min: context.min_length, max: context.max_length });
        let grounds = Grounds {
            source_locale: &self.source_locale,
            target_locale,
            format: self.format,
            rules,
            limits: limits.unwrap_or_default(),
        };
        quality::failing(&grounds.subject(&entry.source, content))
    }
}
