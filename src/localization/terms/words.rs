//! What the glossary and the style of a project say for one target locale.

use std::any::Any;
use std::sync::Arc;

use quintet_storage::{Failure, Read, Scan};

use super::generation::project_terms;
use super::model::{EntryKind, Register, StyleScope, Wording};
use super::reach::{Fit, Target};
use super::style::list_styles;
use super::tables::ENTRIES;
use crate::language::Locale;
use crate::model::TenantId;
use crate::rows;
use crate::shelf::{Name, Shelf};
use crate::spaces::ProjectId;

/// A word of the glossary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A term of the source and what it becomes; another word may say what else it may become.
    Term {
        /// In the source.
        source: String,
        /// In the target.
        target: String,
    },
    /// What stays as it is.
    DoNotTranslate(String),
    /// What no translation says.
    Forbidden(String),
}

/// All words that hold for a target locale, and the register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// In the order in which the entries were made.
    pub words: Vec<Word>,
    /// Whether the closest style asks for the formal register.
    pub is_formal: bool,
}

impl Word {
    /// The word of an entry; `None`: it is none, which no stored entry is.
    fn of(wording: Wording) -> Option<Word> {
        let Wording { kind, source, target, .. } = wording;
        match kind {
            EntryKind::Term => Some(Word::Term { source: source?, target: target? }),
            EntryKind::DoNotTranslate => source.map(Word::DoNotTranslate),
            EntryKind::Forbidden => target.map(Word::Forbidden),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Word::Term { source, target } => source.len() + target.len(),
            Word::DoNotTranslate(text) | Word::Forbidden(text) => text.len(),
        }
    }
}

/// The words of a project for a target locale (localization, Q9): what is said for its tag, for its language alone, for
/// every locale. Of the styles of scope default the closest one sets the register.
///
/// # Errors
/// Only the store's.
pub fn words(read: &impl Read, tenant_id: TenantId, project_id: ProjectId, locale: &Locale) -> Result<Words, Failure> {
    let mut target = Target::of(locale);
    let mut words = Words::default();
    let of_project = || Scan::prefix(&(tenant_id, project_id));
    rows::each_of::<_, _, Failure>(read, &ENTRIES, of_project, |_, row| {
        if target.fit(row.wording.locale.as_deref()).is_some() {
            words.words.extend(Word::of(row.wording));
        }
        Ok(())
    })?;
    let styles = list_styles(read, tenant_id, project_id)?.into_iter();
    let fitting = styles.filter(|style| style.scope == StyleScope::Default).filter_map(|style| {
        let fit = target.fit(Some(&style.locale))?;
        Some((fit, style.locale, style.register))
    });
    // Of two other spellings of the locale the last one.
    let closest = fitting.max_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    words.is_formal = closest.is_some_and(|(.., register)| register == Some(Register::Formal));
    Ok(words)
}

/// How many bytes what is made of words takes for each of theirs, about: the automata that look for them.
const BYTES_A_BYTE: usize = 24;
/// How many bytes it takes besides, for each word and for all.
const BYTES_A_WORD: usize = 256;

/// What `make` makes of the words of a project for a target locale, from the shelf if it was made before: what is found
/// there was made of exactly the words that hold in the state that is read, be that a snapshot or a transaction.
///
/// # Errors
/// Only the store's.
pub fn made_of_words<T: Any + Send + Sync>(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    project_id: ProjectId,
    locale: &Locale,
    make: impl FnOnce(&Words) -> T,
) -> Result<Arc<T>, Failure> {
    let terms = project_terms(read, tenant_id, project_id)?;
    let name = Name { content: terms.stamp, part: locale.canonical().to_owned() };
    if let Some(kept) = shelf.get(&name) {
        return Ok(kept);
    }
    let words = match terms.generation {
        0 => Words::default(),
        _ => words(read, tenant_id, project_id, locale)?,
    };
    let made = Arc::new(make(&words));
    let bytes = words.words.iter().map(|word| BYTES_A_WORD + BYTES_A_BYTE * word.bytes()).sum::<usize>();
    shelf.put(name, &made, BYTES_A_WORD + bytes);
    Ok(made)
}

/// What people and the AI engine are told of how to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyleTexts {
    /// For all keys: the text for every locale, the language's, the locale's own.
    pub default: Vec<String>,
    /// For keys below a legal prefix, besides, in the same order.
    pub legal: Vec<String>,
}

/// The style texts of a project that hold for a target locale.
///
/// # Errors
/// Only the store's.
pub fn style_texts(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    locale: &Locale,
) -> Result<StyleTexts, Failure> {
    let mut target = Target::of(locale);
    let mut fitting: Vec<(Fit, StyleScope, String)> = Vec::new();
    for style in list_styles(read, tenant_id, project_id)? {
        if let Some(fit) = target.fit(Some(&style.locale)) {
            fitting.push((fit, style.scope, style.text));
        }
    }
    fitting.sort_by_key(|(fit, ..)| *fit);
    let mut texts = StyleTexts::default();
    for (_, scope, text) in fitting {
        match scope {
            StyleScope::Default => texts.default.push(text),
            StyleScope::Legal => texts.legal.push(text),
        }
    }
    Ok(texts)
}
