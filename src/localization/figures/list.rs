//! A project's translations, in the order of key ids and locales, filtered.
//!
//! What is counted tells most: files and locales that have nothing of what is wanted are passed over, and so are pages of
//! keys whose verdicts are not wanted. A key is read where its page has one that is, a translation where it is shown or
//! searched. A page ends early once it has looked at as much as some 20 ms allow.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use bincode::{Decode, Encode};
use quintet_storage::{Abort, Failure, Read, Scan};

use super::tables::{CountedState, FIGURES, FiguresRow, PAGE_KEYS, VERDICTS};
use super::verdict::Verdict;
use crate::content::{
    FileId, KEY_FILES_BY_PROJECT, KeyEntry, KeyFileRow, KeyId, Pages, Source, TRANSLATIONS, Translated, TranslationRow,
    get_catalogue, get_file, key_id,
};
use crate::model::{ProjectId, TenantId};
use crate::quality::{CheckId, CheckSet, folded};
use crate::refusal::Refusal;
use crate::rows;

/// About how many bytes of texts a page has; the last item may go beyond.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// How many bytes of rows a page looks at, about.
const PAGE_LOOKED_BYTES_MAX: usize = 8 << 20;
/// How many files a page looks at: those may have nothing.
const PAGE_FILES_MAX: usize = 500;
/// What finding a row costs besides reading it, as bytes.
const ROW_COST: usize = 200;
/// How many translations are searched at a time, about.
const CHUNK_ROWS: usize = 500;

/// Which translations are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In this locale, its canonical tag: every active key then, translated or not.
    pub locale: Option<String>,
    /// In this state.
    pub state: Option<WantedState>,
    /// In this file.
    pub file_id: Option<FileId>,
    /// That fail this check.
    pub check: Option<CheckId>,
    /// With this in path, source or target, ignoring case.
    pub text: Option<String>,
}

/// A state that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedState {
    /// There is no translation. Only with a locale.
    Untranslated,
    /// There is one.
    Counted(CountedState),
}

/// Where a page ends.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Place {
    /// Behind this key,
    pub key: (u64, u64),
    /// or, if there is a locale, within it behind that.
    pub locale: Option<String>,
}

/// A key in a locale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// In which file.
    pub file_id: FileId,
    /// The key's id.
    pub key_id: KeyId,
    /// The key.
    pub entry: Arc<KeyEntry>,
    /// In which locale: its canonical tag.
    pub locale: String,
    /// Its translation and how that is counted, if there is one.
    pub written: Option<(TranslationRow, Verdict)>,
}

impl Item {
    /// The checks that fail.
    #[must_use]
    pub fn failing(&self) -> CheckSet {
        self.written.as_ref().map_or(CheckSet::default(), |(_, verdict)| verdict.failing)
    }

    fn bytes(&self) -> usize {
        let written = self.written.as_ref().map_or(0, |(row, _)| row.content.bytes());
        self.entry.path.len() + self.entry.source.bytes() + written + ROW_COST
    }
}

/// A page of translations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationPage {
    /// At most as many as were asked for.
    pub items: Vec<Item>,
    /// Where to go on, if there may be more.
    pub next: Option<Place>,
}

/// A project's translations behind a place, in the order of key ids and locales. Obsolete keys are not among them. Verdicts
/// must be those of now: no cause of the project is open.
///
/// # Errors
/// [`Refusal::NotFound`] for a file that is not the project's.
pub fn list_translations(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    filter: &Filter,
    after: Option<Place>,
    limit: usize,
) -> Result<TranslationPage, Abort<Refusal>> {
    let from_prefix = after.as_ref().map_or(0, |place| place.key.0);
    let mut last_prefix = None;
    let files: Vec<(u64, FileId)> = match filter.file_id {
        Some(file_id) => {
            let file = get_file(read, tenant_id, project_id, file_id)?;
            vec![(file.key_prefix, file_id)]
        }
        None => {
            let scan = Scan::prefix(&(tenant_id, project_id)).from(&(tenant_id, project_id, from_prefix));
            let rows = read.scan(&KEY_FILES_BY_PROJECT, scan.limit(PAGE_FILES_MAX))?;
            last_prefix = rows.last().map(|((.., prefix), _)| *prefix).filter(|_| rows.len() == PAGE_FILES_MAX);
            rows.into_iter().map(|((.., prefix), KeyFileRow { file_id, .. })| (prefix, file_id)).collect()
        }
    };
    let mut listing = Listing {
        read,
        tenant_id,
        project_id,
        filter,
        // Compared as the texts will be.
        sought: filter.text.as_deref().map(|text| folded(text).into_owned()),
        limit,
        bytes: PAGE_BYTES_MAX,
        looked: PAGE_LOOKED_BYTES_MAX,
        items: Vec::new(),
    };
    for (prefix, file_id) in files {
        let within = after.as_ref().filter(|place| place.key.0 == prefix);
        if let Some(next) = listing.file(prefix, file_id, within)? {
            return Ok(TranslationPage { items: listing.items, next: Some(next) });
        }
    }
    let next = last_prefix.map(|prefix| Place { key: (prefix, u64::MAX), locale: None });
    Ok(TranslationPage { items: listing.items, next })
}

struct Listing<'l, R> {
    read: &'l R,
    tenant_id: TenantId,
    project_id: ProjectId,
    filter: &'l Filter,
    sought: Option<String>,
    limit: usize,
    /// What the page may still take.
    bytes: usize,
    /// What it may still look at.
    looked: usize,
    items: Vec<Item>,
}

/// A file that is listed.
struct Listed {
    prefix: u64,
    file_id: FileId,
    /// The locales that are looked at, in order.
    locales: Vec<String>,
}

/// A verdict that is wanted: of which key, in which of the locales.
type Hit = (u64, usize, Verdict);

impl<R: Read> Listing<'_, R> {
    /// Whether keys without a translation are wanted.
    fn wants_untranslated(&self) -> bool {
        let in_state = matches!(self.filter.state, None | Some(WantedState::Untranslated));
        self.filter.locale.is_some() && in_state && self.filter.check.is_none()
    }

    fn wants(&self, verdict: &Verdict) -> bool {
        let in_state = match self.filter.state {
            None => true,
            Some(WantedState::Untranslated) => false,
            Some(WantedState::Counted(state)) => verdict.state == state,
        };
        in_state && self.filter.check.is_none_or(|check| verdict.failing.contains(check))
    }

    /// Whether a file in a locale has anything that is wanted.
    fn has_any(&self, figures: &FiguresRow) -> bool {
        let in_state = match self.filter.state {
            None => figures.translations(),
            Some(WantedState::Untranslated) => 0,
            Some(WantedState::Counted(state)) => figures.in_state(state),
        };
        in_state > 0 && self.filter.check.is_none_or(|check| figures.failing(check) > 0)
    }

    /// The locales of a file that have anything that is wanted.
    fn locales(&mut self, file_id: FileId) -> Result<Vec<String>, Failure> {
        let place = (self.tenant_id, self.project_id, file_id);
        if let Some(locale) = &self.filter.locale {
            let figures = self.read.get(&FIGURES, &(place.0, place.1, place.2, locale.clone()))?;
            let is_wanted = self.wants_untranslated() || figures.is_some_and(|figures| self.has_any(&figures));
            return Ok(is_wanted.then(|| locale.clone()).into_iter().collect());
        }
        let rows = self.read.scan(&FIGURES, Scan::prefix(&place))?;
        self.look_at(rows.len() * ROW_COST);
        let wanted = rows.into_iter().filter(|(_, figures)| self.has_any(figures));
        Ok(wanted.map(|((.., locale), _)| locale).collect())
    }

    fn look_at(&mut self, bytes: usize) {
        self.looked = self.looked.saturating_sub(bytes);
    }

    /// Lists a file behind a place in it; where to go on, if the page ends.
    fn file(&mut self, prefix: u64, file_id: FileId, after: Option<&Place>) -> Result<Option<Place>, Failure> {
        let mut resume = after.cloned().unwrap_or(Place { key: (prefix, 0), locale: None });
        if self.looked == 0 {
            return Ok(Some(resume));
        }
        self.look_at(ROW_COST);
        let file = Listed { prefix, file_id, locales: self.locales(file_id)? };
        if file.locales.is_empty() {
            return Ok(None);
        }
        let catalogue = get_catalogue(self.read, self.tenant_id, file_id)?;
        self.look_at(ROW_COST + 16 * catalogue.pages.len());
        let begin = resume.begin();
        let mut pages = Pages::after(self.read, &catalogue, begin.saturating_sub(1));
        while let Some(range) = pages.next_range() {
            if !range.may_be_active || range.end <= begin {
                continue;
            }
            if self.looked == 0 {
                return Ok(Some(resume));
            }
            let hits = self.hits(&file, range.first.max(begin), range.end)?;
            if !hits.is_empty() || self.wants_untranslated() {
                let opened = pages.opened_bytes();
                let mut entries = pages.read(&range)?;
                entries.retain(|entry| !entry.is_obsolete && entry.number >= begin);
                self.look_at(pages.opened_bytes() - opened + entries.len() * 16);
                if !self.keys(&file, entries, &hits, &mut resume)? {
                    return Ok(Some(resume));
                }
            }
            resume = Place { key: (prefix, range.end.saturating_sub(1)), locale: None };
        }
        Ok(None)
    }

    /// The verdicts of keys from a number on and below another: those that are wanted; all, where it must be known which
    /// keys have none.
    fn hits(&mut self, file: &Listed, from: u64, below: u64) -> Result<Vec<Hit>, Failure> {
        let wants_all = self.wants_untranslated();
        let mut hits: Vec<Hit> = Vec::new();
        for (at, locale) in file.locales.iter().enumerate() {
            let key = |page| (self.tenant_id, file.file_id, locale.clone(), page);
            let scan = Scan::all().from(&key(from / PAGE_KEYS)).until(&key(below.div_ceil(PAGE_KEYS)));
            let rows = self.read.scan(&VERDICTS, scan)?;
            for ((.., page), row) in &rows {
                let verdicts = row.verdicts(*page).filter(|(number, _)| (from..below).contains(number));
                let wanted = verdicts.filter(|(_, verdict)| wants_all || self.wants(verdict));
                hits.extend(wanted.map(|(number, verdict)| (number, at, verdict)));
            }
            self.look_at(ROW_COST + rows.len() * 2 * ROW_COST);
        }
        hits.sort_unstable_by_key(|(number, at, _)| (*number, *at));
        Ok(hits)
    }

    /// Lists keys of a page; whether there is room for more.
    fn keys(
        &mut self,
        file: &Listed,
        entries: Vec<KeyEntry>,
        hits: &[Hit],
        resume: &mut Place,
    ) -> Result<bool, Failure> {
        let entries: Vec<Arc<KeyEntry>> = entries.into_iter().map(Arc::new).collect();
        for chunk in entries.chunks((CHUNK_ROWS / file.locales.len()).max(1)) {
            let found = self.found(file, chunk, hits)?;
            for entry in chunk {
                if !self.key(file, entry, hits, &found, resume)? {
                    return Ok(false);
                }
                *resume = Place { key: (file.prefix, entry.number), locale: None };
            }
            // Behind the first of them, so that every page gets on.
            if self.looked == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lists a key in its locales; whether there is room for more.
    fn key(
        &mut self,
        file: &Listed,
        entry: &Arc<KeyEntry>,
        hits: &[Hit],
        found: &Found,
        resume: &mut Place,
    ) -> Result<bool, Failure> {
        let number = entry.number;
        let after = resume.locale.clone().filter(|_| resume.key == (file.prefix, number));
        let own = hits_of(hits, number);
        for (at, locale) in file.locales.iter().enumerate() {
            if after.as_ref().is_some_and(|after| locale <= after) {
                continue;
            }
            let verdict = own.iter().find(|(_, of, _)| *of == at).map(|(.., verdict)| *verdict);
            let is_wanted = match &verdict {
                Some(verdict) => self.wants(verdict),
                None => self.wants_untranslated(),
            };
            if !is_wanted || !found.has(number, at) {
                continue;
            }
            if self.items.len() >= self.limit || self.bytes == 0 {
                return Ok(false);
            }
            let row = match verdict {
                None => None,
                Some(verdict) => {
                    let key = (self.tenant_id, file.file_id, locale.clone(), number);
                    let row = self.read.get(&TRANSLATIONS, &key)?;
                    let damaged = || Failure::Damaged(format!("a verdict without a translation: {key:?}"));
                    Some((row.ok_or_else(damaged)?, verdict))
                }
            };
            let key_id = key_id(file.prefix, number);
            let (file_id, entry, locale) = (file.file_id, Arc::clone(entry), locale.clone());
            *resume = Place { key: (file.prefix, number), locale: Some(locale.clone()) };
            let item = Item { file_id, key_id, entry, locale, written: row };
            self.bytes = self.bytes.saturating_sub(item.bytes());
            self.look_at(item.bytes());
            self.items.push(item);
        }
        Ok(true)
    }

    /// Which of some keys have what is sought, and where.
    fn found(&mut self, file: &Listed, chunk: &[Arc<KeyEntry>], hits: &[Hit]) -> Result<Found, Failure> {
        let Some(sought) = self.sought.clone() else { return Ok(Found::Anything) };
        let has = |text: &str| folded(text).contains(&sought);
        let in_source = |entry: &Arc<KeyEntry>| match &entry.source {
            _ if has(&entry.path) => true,
            Source::Text(text) => has(text),
            Source::Forms(forms) => forms.iter().any(|(_, text)| has(text)),
        };
        let in_keys: HashSet<u64> = chunk.iter().filter(|entry| in_source(entry)).map(|entry| entry.number).collect();
        let mut in_targets = HashSet::new();
        let rest = chunk.iter().map(|entry| entry.number).filter(|number| !in_keys.contains(number));
        let rest: BTreeSet<u64> = rest.collect();
        let mut looked = 0;
        for (at, locale) in file.locales.iter().enumerate() {
            let is_hit = |number: &&u64| hits_of(hits, **number).iter().any(|(_, of, _)| *of == at);
            let (Some(first), Some(last)) = (rest.iter().find(is_hit), rest.iter().rev().find(is_hit)) else {
                continue;
            };
            let key = |number| (self.tenant_id, file.file_id, locale.clone(), number);
            let scan = || Scan::all().from(&key(*first)).until(&key(*last + 1));
            rows::each_of(self.read, &TRANSLATIONS, scan, |(.., number), row| {
                looked += ROW_COST + row.content.bytes();
                let is_there = match &row.content {
                    Translated::Text { text, .. } => has(text),
                    Translated::Forms(forms) => forms.iter().any(|form| has(&form.text)),
                };
                if is_there {
                    in_targets.insert((number, at));
                }
                Ok::<_, Failure>(())
            })?;
        }
        self.look_at(looked);
        Ok(Found::In { in_keys, in_targets })
    }
}

/// What is sought in some keys was found where.
enum Found {
    /// Nothing is sought.
    Anything,
    /// In keys themselves, and in translations.
    In { in_keys: HashSet<u64>, in_targets: HashSet<(u64, usize)> },
}

impl Found {
    fn has(&self, number: u64, at: usize) -> bool {
        match self {
            Found::Anything => true,
            Found::In { in_keys, in_targets } => in_keys.contains(&number) || in_targets.contains(&(number, at)),
        }
    }
}

/// Those of a key, out of those that are sorted by keys.
fn hits_of(hits: &[Hit], number: u64) -> &[Hit] {
    let from = hits.partition_point(|(of, ..)| *of < number);
    let behind = hits.partition_point(|(of, ..)| *of <= number);
    hits.get(from..behind).unwrap_or_default()
}

impl Place {
    /// The number of the first key that is looked at.
    fn begin(&self) -> u64 {
        if self.locale.is_some() { self.key.1 } else { self.key.1.saturating_add(1) }
    }
}
