//! A project's glossary as TBX (localization, X7).
//!
//! A term is a concept with a source and a target; what is not translated is a source alone; what is forbidden is a target
//! that is marked so, in a language or, for every locale, in none (`und`).

use std::collections::HashSet;
use std::io::Read as IoRead;

use quintet_storage::{Abort, Failure, Read};

use crate::exchange::texts::TAG_BYTES_MAX;
use crate::formats::ReadError;
use crate::formats::tbx::{Concept, TbxReader, Term, begin_tbx, end_tbx, push_concept};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::{Project, ProjectId};
use crate::terms::{
    ENTRIES_MAX, ENTRY_BYTES_MAX, Entry, EntryKind, NOTE_CHARS_MAX, TERM_CHARS_MAX, TermId, Wording, list_entries,
    project_terms,
};

/// The language of a term that holds in all of them.
const EVERY_LANGUAGE: &str = "und";
/// What is no language: that of terms whose own is longer than any.
const NO_LANGUAGE: &str = "-";
/// How many entries are read at a time.
const ENTRIES_AT_A_TIME: usize = 500;
/// The most wordings of a document; every source of a concept goes with every target of it.
const WORDINGS_MAX: usize = 2 * ENTRIES_MAX as usize;

/// The most bytes that they take, about.
const WORDINGS_BYTES_MAX: usize = 32 << 20;
/// What a document may take in memory, however small: every source of a concept goes with every target of it.
pub const BYTES_MAX: usize = WORDINGS_BYTES_MAX;
/// What one takes besides its texts.
const WORDING_OVERHEAD_BYTES: usize = 500;

/// What an entry says: kind, locale, source and target.
type Said = (EntryKind, Option<String>, Option<String>, Option<String>);

/// What a document says.
#[derive(Debug, Default)]
pub struct Glossary {
    /// Every wording once, as it is stored.
    pub wordings: Vec<Wording>,
    /// How many were passed over: they cannot be entries, or are of no language of the project.
    pub skipped: usize,
    seen: HashSet<Said>,
    bytes: usize,
}

/// About what a wording takes while a document is read, where its texts are twice.
fn held_bytes(wording: &Wording) -> usize {
    let texts: usize = [&wording.source, &wording.target].into_iter().flatten().map(String::len).sum();
    2 * texts + wording.note.as_ref().map_or(0, String::len) + WORDING_OVERHEAD_BYTES
}

/// Reads a document: what the concepts say in the project's source locale and others, or in one of the others alone.
///
/// # Errors
/// As [`TbxReader::next_concept`]; too many wordings are told as too many units.
pub fn read_glossary<R: IoRead>(
    mut reader: TbxReader<R>,
    project: &Project,
    only: Option<&Locale>,
) -> Result<Glossary, ReadError> {
    let mut glossary = Glossary::default();
    while let Some(concept) = reader.next_concept()? {
        if !glossary.push(concept, project, only) {
            return Err(reader.refuses_too_many());
        }
    }
    glossary.seen = HashSet::new();
    Ok(glossary)
}

impl Glossary {
    /// What it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes what a concept says; whether there is room for it.
    fn push(&mut self, concept: Concept, project: &Project, only: Option<&Locale>) -> bool {
        let Concept { terms, note, locale } = concept;
        let note = note.filter(|note| !note.is_empty() && note.chars().count() <= NOTE_CHARS_MAX);
        // Each goes with many others, and is copied and judged with each.
        let (sources, targets) = sides(terms.into_iter().map(shortened).collect(), project);
        let wording = |kind, locale: Option<String>, source: Option<&Term>, target: Option<&Term>| {
            let text = |term: &Term| term.text.clone();
            Wording { kind, locale, source: source.map(text), target: target.map(text), note: note.clone() }
        };
        // Of two lists each goes with each: a small document could say very much.
        let mut told = 0;
        for target in &targets {
            let language = Some(target.language.clone()).filter(|tag| !tag.is_empty() && tag != EVERY_LANGUAGE);
            let forbidden =
                target.is_forbidden.then(|| wording(EntryKind::Forbidden, language.clone(), None, Some(target)));
            let pairs = sources.iter().filter(|_| !target.is_forbidden);
            let pairs = pairs.map(|source| wording(EntryKind::Term, language.clone(), Some(source), Some(target)));
            for wording in forbidden.into_iter().chain(pairs) {
                told += 1;
                self.take(wording, only);
                if told > WORDINGS_MAX || self.is_full() {
                    return false;
                }
            }
        }
        // What stays as it is is one source alone: of several words for one thing, nobody says which.
        if let (true, [source]) = (targets.is_empty(), sources.as_slice()) {
            told += 1;
            self.take(wording(EntryKind::DoNotTranslate, locale, Some(source), None), only);
        }
        self.skipped += usize::from(told == 0);
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.wordings.len() > WORDINGS_MAX || self.bytes > WORDINGS_BYTES_MAX
    }

    fn take(&mut self, wording: Wording, only: Option<&Locale>) {
        let fits = |text: &Option<String>| {
            text.as_ref()
                .is_none_or(|text| (1..=TERM_CHARS_MAX).contains(&text.chars().take(TERM_CHARS_MAX + 1).count()))
        };
        let is_fit = fits(&wording.source) && fits(&wording.target);
        let checked = if is_fit { wording.checked().ok() } else { None };
        let is_wanted = |wording: &Wording| match (&wording.locale, only) {
            (Some(locale), Some(only)) => locale == only.canonical(),
            _ => true,
        };
        let Some(wording) = checked.filter(is_wanted) else {
            self.skipped += 1;
            return;
        };
        let place = (wording.kind, wording.locale.clone(), wording.source.clone(), wording.target.clone());
        if self.seen.insert(place) {
            self.bytes += held_bytes(&wording);
            self.wordings.push(wording);
        } else {
            self.skipped += 1;
        }
    }
}

/// A term as it would be an entry, without white space around it. What is longer than any entry's stays so, by next to
/// nothing.
fn shortened(term: Term) -> Term {
    let text = term.text.trim();
    let end = text.char_indices().nth(TERM_CHARS_MAX + 1).map_or(text.len(), |(end, _)| end);
    let language = if term.language.len() > TAG_BYTES_MAX { NO_LANGUAGE.to_owned() } else { term.language };
    Term { language, text: text.get(..end).unwrap_or_default().to_owned(), is_forbidden: term.is_forbidden }
}

/// The sources and the targets of a concept. Terms of the project's source locale are sources; of its other spellings
/// (`en-US` for `en`) as well, where none is spelt so: a project may translate into them. A forbidden word is no source; it
/// is a target in the source locale if it stands alone, as such an entry goes out.
fn sides(terms: Vec<Term>, project: &Project) -> (Vec<Term>, Vec<Term>) {
    let own = &project.source.locale;
    let spelling = |term: &Term| {
        let locale = Locale::parse(&term.language).ok()?;
        (locale.identity_key() == own.identity_key).then(|| locale.content_form() == own.tag)
    };
    let is_alone = terms.len() == 1;
    let spellings: Vec<Option<bool>> = terms.iter().map(spelling).collect();
    let is_spelt = terms.iter().zip(&spellings).any(|(term, spelling)| *spelling == Some(true) && !term.is_forbidden);
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for (term, spelling) in terms.into_iter().zip(spellings) {
        match spelling {
            None => targets.push(term),
            Some(_) if term.is_forbidden => targets.extend(is_alone.then_some(term)),
            Some(is_exact) if is_exact || !is_spelt => sources.push(term),
            Some(_) => targets.push(term),
        }
    }
    (sources, targets)
}

/// Whether a project has room for all that a document says.
///
/// # Errors
/// [`Refusal::Conflict`]
pub fn check_room(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    wordings: &[Wording],
) -> Result<(), Abort<Refusal>> {
    let mut known = HashSet::new();
    let mut after = None;
    loop {
        let page = list_entries(read, tenant_id, project_id, None, after, ENTRIES_AT_A_TIME)?;
        known.extend(page.entries.into_iter().map(|entry| meaning(&entry.wording)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let terms = project_terms(read, tenant_id, project_id)?;
    let new: Vec<&Wording> = wordings.iter().filter(|wording| !known.contains(&meaning(wording))).collect();
    let bytes: u64 = new.iter().map(|wording| wording.bytes()).sum();
    let has_room =
        terms.entries as usize + new.len() <= ENTRIES_MAX as usize && terms.entry_bytes + bytes <= ENTRY_BYTES_MAX;
    if has_room { Ok(()) } else { Err(Refusal::Conflict("the glossary has no room for all of these entries").into()) }
}

fn meaning(wording: &Wording) -> (EntryKind, Option<String>, Option<String>, Option<String>) {
    (wording.kind, wording.locale.clone(), wording.source.clone(), wording.target.clone())
}

/// A glossary on its way out.
pub struct GlossaryExport {
    tenant_id: TenantId,
    project_id: ProjectId,
    source_tag: String,
    /// The one locale whose entries are wanted, with those for every locale.
    only: Option<String>,
    after: Option<TermId>,
    is_begun: bool,
    is_over: bool,
}

impl GlossaryExport {
    /// Nothing is written yet.
    #[must_use]
    pub fn of(tenant_id: TenantId, project: &Project, only: Option<&Locale>) -> GlossaryExport {
        GlossaryExport {
            tenant_id,
            project_id: project.project_id,
            source_tag: project.source.locale.tag.clone(),
            only: only.map(|only| only.canonical().to_owned()),
            after: None,
            is_begun: false,
            is_over: false,
        }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// Only the store's.
    pub fn next(&mut self, read: &impl Read) -> Result<Option<String>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        let mut piece = String::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            begin_tbx(&mut piece, &self.source_tag);
        }
        let page = list_entries(read, self.tenant_id, self.project_id, None, self.after, ENTRIES_AT_A_TIME)?;
        for entry in &page.entries {
            let is_wanted = match (&entry.wording.locale, &self.only) {
                (Some(locale), Some(only)) => locale == only,
                _ => true,
            };
            if is_wanted {
                push_concept(&mut piece, &entry.term_id.0.to_string(), &self.concept(entry));
            }
        }
        self.after = page.next;
        self.is_over = page.next.is_none();
        if self.is_over {
            end_tbx(&mut piece);
        }
        Ok(Some(piece))
    }

    fn concept(&self, entry: &Entry) -> Concept {
        let Wording { kind, locale, source, target, note } = &entry.wording;
        let language = locale.as_deref().unwrap_or(EVERY_LANGUAGE);
        let term = |language: &str, text: &String, is_forbidden| Term {
            language: language.to_owned(),
            text: text.clone(),
            is_forbidden,
        };
        let sources = source.iter().map(|text| term(&self.source_tag, text, false));
        let targets = target.iter().map(|text| term(language, text, *kind == EntryKind::Forbidden));
        let locale = locale.clone().filter(|_| *kind == EntryKind::DoNotTranslate);
        Concept { terms: sources.chain(targets).collect(), note: note.clone(), locale }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::spaces::get_project;
    use crate::testing::{TENANT, furnished};

    fn read(concepts: &str) -> Glossary {
        let (bench, _, project_id) = furnished();
        let project = get_project(&bench.store.read(), TENANT, project_id).unwrap();
        let document = format!("<martif type='TBX' xml:lang='en'><text><body>{concepts}</body></text></martif>");
        let reader = TbxReader::begin(document.as_bytes(), Instant::now() + Duration::from_secs(600)).unwrap();
        read_glossary(reader, &project, None).unwrap()
    }

    fn terms(language: &str, texts: &[&str]) -> String {
        let terms: String = texts.iter().map(|text| format!("<tig><term>{text}</term></tig>")).collect();
        format!("<langSet xml:lang='{language}'>{terms}</langSet>")
    }

    fn concept(sets: &[String]) -> String {
        format!("<termEntry>{}</termEntry>", sets.concat())
    }

    #[test]
    fn what_is_too_long_is_no_entry_and_makes_none_of_what_stands_beside_it() {
        let long_tag = format!("de-x{}", "-aaaaaaaa".repeat(40));
        let (longest, too_long) = ("x".repeat(TERM_CHARS_MAX), "x".repeat(TERM_CHARS_MAX + 1));
        // Cut and trimmed again it would be a short one.
        let spaced = format!("x{}y", " ".repeat(TERM_CHARS_MAX));
        let around = format!(" {longest}{}", " ".repeat(TERM_CHARS_MAX));
        for (sets, entries, skipped) in [
            (vec![terms("en", &["a"]), terms("de", &["b"])], 1, 0),
            (vec![terms("en", &[&longest]), terms("de", &[&around])], 1, 0),
            (vec![terms("en", &[&too_long]), terms("de", &["b"])], 0, 1),
            (vec![terms("en", &["a"]), terms("de", &[&too_long])], 0, 1),
            (vec![terms("en", &["a"]), terms("de", &[&spaced])], 0, 1),
            (vec![terms("en", &["a"]), terms(&long_tag, &["b"])], 0, 1),
            (vec![terms("en", &["a"]), terms(&long_tag, &["b"]), terms("de", &["c"])], 1, 1),
            (vec![terms(&long_tag, &["b"])], 0, 1),
            (vec![terms("en", &["a"])], 1, 0),
        ] {
            let glossary = read(&concept(&sets));
            assert_eq!((glossary.wordings.len(), glossary.skipped), (entries, skipped), "{sets:?}");
        }
    }

    /// Every source of a concept goes with every target, and no pair takes longer for what is long in it.
    #[test]
    fn one_concept_takes_no_minutes() {
        let words: Vec<String> = (0..10_000).map(|number| format!("w{number}")).collect();
        let sources = terms("en", &words.iter().map(String::as_str).collect::<Vec<_>>());
        let tag = format!("de-x{}", "-aaaaaaaa".repeat(100_000));
        let long = "x".repeat(900_000);
        for targets in [terms(&tag, &["b"]), terms("de", &[&long])] {
            let begun = Instant::now();
            let glossary = read(&concept(&[sources.clone(), targets]));
            assert_eq!((glossary.wordings.len(), glossary.skipped), (0, 10_000));
            assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        }
    }
}
