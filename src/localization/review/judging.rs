//! Judging what a key says in a locale by what its project demands now. That is done before the transaction that writes
//! it; the transaction asks whether it still holds ([`Standards::is_current`]), and if not, all is judged anew.

use std::sync::Arc;

use quintet_storage::{Abort, Failure, Read};

use crate::content::{
    Format, Key, KeyEntry, Source, Translated, category_at, contexts_version, find_context, get_file, is_current,
};
use crate::language::{Category, Locale};
use crate::model::TenantId;
use crate::quality::{self, CheckSet, Entry, Limits, Pair, QaCheck, Reading, Rules, Subject};
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::{Project, ProjectId};
use crate::terms::{Word, made_of_words, project_terms};

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

/// Of when standards are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    contexts_version: u64,
    terms: u128,
}

impl Stamp {
    fn now(read: &impl Read, tenant_id: TenantId, key: &Key) -> Result<Stamp, Failure> {
        Ok(Stamp {
            contexts_version: contexts_version(read, tenant_id, key.file_id)?,
            terms: project_terms(read, tenant_id, key.project_id)?.stamp,
        })
    }
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
            stamp: Stamp::now(read, tenant_id, key)?,
        })
    }

    /// Whether they, and the key they were looked up for, are still those of now.
    ///
    /// # Errors
    /// Only the store's.
    pub fn is_current(&self, read: &impl Read, tenant_id: TenantId, key: &Key) -> Result<bool, Failure> {
        Ok(is_current(read, tenant_id, key)? && Stamp::now(read, tenant_id, key)? == self.stamp)
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
        let pair = |category: Option<Category>, target: &'s str| Pair {
            category,
            source: Reading::of(entry.source.form(category.unwrap_or(Category::Other)), self.format),
            target: Reading::of(target, self.format),
        };
        let pairs = match content {
            Translated::Text { text, .. } => vec![pair(None, text)],
            Translated::Forms(forms) => {
                forms.iter().map(|form| pair(Some(category_at(form.category)), &form.text)).collect()
            }
        };
        Subject {
            source_locale: &self.source_locale,
            target_locale: locale,
            format: self.format,
            is_plural: entry.source.is_plural(),
            pairs,
            source_one: own_form(&entry.source, Category::One).map(|text| Reading::of(text, self.format)),
            rules: &self.rules,
            limits: self.limits,
        }
    }
}

/// What a project says of its words in a locale, compiled.
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

/// A plural's own form of a category.
fn own_form(source: &Source, category: Category) -> Option<&str> {
    match source {
        Source::Text(_) => None,
        Source::Forms(forms) => {
            let form = forms.iter().find(|(place, _)| category_at(*place) == category);
            form.map(|(_, text)| text.as_str())
        }
    }
}
