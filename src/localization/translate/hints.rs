//! What a project and its tenant tell everybody who translates: style and glossary, and what was said before.

use std::sync::Arc;

use quintet_storage::{Failure, Read};

use super::model::{Guidance, GuidedTerm, Match};
use crate::content::{Key, TEXT_BYTES_MAX};
use crate::context::Context;
use crate::language::{Category, Locale};
use crate::likeness::LanguagePair;
use crate::memory::suggest;
use crate::model::TenantId;
use crate::spaces::Project;
use crate::terms::{Word, made_of_words, style_texts};

/// The words of a project, as the engine is told of them.
#[derive(Default)]
struct Told {
    terms: Vec<GuidedTerm>,
    do_not_translate: Vec<String>,
    forbidden: Vec<String>,
}

/// What a project tells everybody who translates into a locale.
///
/// # Errors
/// Only the store's.
pub fn guidance(
    context: &Context,
    read: &impl Read,
    tenant_id: TenantId,
    project: &Project,
    locale: &Locale,
) -> Result<Guidance, Failure> {
    let style = style_texts(read, tenant_id, project.project_id, locale)?;
    let told: Arc<Told> = made_of_words(read, &context.shelf, tenant_id, project.project_id, locale, |words| {
        let mut told = Told::default();
        for word in &words.words {
            match word {
                Word::Term { source, target } => {
                    told.terms.push(GuidedTerm { source: source.clone(), target: target.clone() });
                }
                Word::DoNotTranslate(term) => told.do_not_translate.push(term.clone()),
                Word::Forbidden(term) => told.forbidden.push(term.clone()),
            }
        }
        told
    })?;
    Ok(Guidance {
        style: style.default,
        legal_style: style.legal,
        terms: told.terms.clone(),
        do_not_translate: told.do_not_translate.clone(),
        forbidden: told.forbidden.clone(),
    })
}

/// What the tenant's memory has for a key, best first; of a plural for its `other`.
///
/// # Errors
/// Only the store's.
pub fn matches(
    context: &Context,
    read: &impl Read,
    tenant_id: TenantId,
    project: &Project,
    key: &Key,
    locale: &Locale,
) -> Result<Vec<Match>, Failure> {
    let pair = LanguagePair::new(tenant_id, &project.source.locale.tag, locale);
    let text = key.entry.source.form(Category::Other);
    if text.len() > TEXT_BYTES_MAX {
        return Ok(Vec::new());
    }
    let found = suggest(&context.memory, read, &pair, text)?.into_iter();
    Ok(found.map(|one| Match { source: one.unit.source, target: one.unit.target, score: one.score }).collect())
}
