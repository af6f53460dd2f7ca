//! A project's part of the memory as TMX (localization, X6 and M3).

use std::collections::HashMap;
use std::io::Read as IoRead;
use std::ops::Range;

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use crate::audit::{self, Actor, Event};
use crate::content::Wording;
use crate::exchange::texts::{TAG_BYTES_MAX, TextPlace, Texts};
use crate::formats::tmx::{TmxPair, TmxReader, TmxUnit, TmxWriter};
use crate::formats::{FILE_BYTES_MAX, ReadError};
use crate::language::{Locale, check_translation_route_length};
use crate::likeness::LanguagePair;
use crate::memory::{Outcomes, Remembered, UnitPlace, batch, list_units, remember_all};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::{Project, ProjectId};

/// How many units are read at a time.
const UNITS_AT_A_TIME: usize = 500;
/// The most languages of a document.
const LANGUAGES_MAX: usize = 1_000;

/// What the texts of a document may take, in bytes: as much as the largest document, whatever it is encoded in.
const TEXTS_BYTES_MAX: usize = FILE_BYTES_MAX;
/// What units take at most.
const UNITS_BYTES_MAX: usize = 24 << 20;
/// How many times a document's size they take, of a small one: the shortest has about thirty bytes.
const UNITS_RATIO: usize = 3;

/// What a document of so many bytes may take in memory.
pub fn bytes_max(document_bytes: usize) -> usize {
    // A character of two bytes takes three in UTF-8.
    let texts = (document_bytes.saturating_mul(3) / 2).min(TEXTS_BYTES_MAX);
    texts + document_bytes.saturating_mul(UNITS_RATIO).min(UNITS_BYTES_MAX)
}

/// What a document says.
#[derive(Debug, Default)]
pub struct Memory {
    pairs: Vec<LanguagePair>,
    units: Vec<UnitPlaces>,
    /// Their texts.
    texts: Texts,
    /// How many units and variants say nothing that can be remembered.
    pub skipped: usize,
    /// What each language of the document is, while it is read.
    languages: HashMap<String, Language>,
}

/// A unit, by where its texts are.
#[derive(Debug)]
struct UnitPlaces {
    /// Its place among the pairs.
    pair: u32,
    source: TextPlace,
    target: TextPlace,
}

/// What a language of a document is to a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Source,
    Target(u32),
    /// No locale, or one that is not wanted.
    Other,
}

/// Reads a document: what it says in a project's source locale and others, or in one of the others alone.
///
/// # Errors
/// As [`TmxReader::next_unit`]; more than a thousand languages, and more texts than a document can have, are told as too
/// many units.
pub fn read_memory<R: IoRead>(
    mut reader: TmxReader<R>,
    tenant_id: TenantId,
    project: &Project,
    only: Option<&Locale>,
) -> Result<Memory, ReadError> {
    let mut memory = Memory::default();
    while let Some(unit) = reader.next_unit()? {
        memory.push(unit, tenant_id, project, only);
        if memory.languages.len() > LANGUAGES_MAX || memory.texts.bytes() > TEXTS_BYTES_MAX {
            return Err(reader.refuses_too_many());
        }
    }
    memory.languages = HashMap::new();
    Ok(memory)
}

impl Memory {
    fn push(&mut self, unit: TmxUnit, tenant_id: TenantId, project: &Project, only: Option<&Locale>) {
        let mut source = None;
        let mut targets = Vec::new();
        for variant in unit.variants {
            let language = self.language(&variant.language, tenant_id, project, only);
            let text = variant.text.filter(|text| !text.is_empty());
            match (language, text) {
                (Language::Source, Some(text)) if source.is_none() => source = Some(text),
                (Language::Target(pair), Some(text)) => targets.push((pair, text)),
                _ => self.skipped += 1,
            }
        }
        let said = targets.len();
        let Some(source) = source else {
            self.skipped += said;
            return;
        };
        // What the memory would not take need not be kept until then.
        targets.retain(|(_, target)| Remembered { source: &source, target, origin: Some(Wording::Import) }.fits());
        self.skipped += said - targets.len();
        if targets.is_empty() {
            return;
        }
        let source = self.texts.push(&source);
        for (pair, target) in targets {
            let target = self.texts.push(&target);
            self.units.push(UnitPlaces { pair, source, target });
        }
    }

    /// What it takes, about.
    pub fn bytes(&self) -> usize {
        self.units.capacity() * size_of::<UnitPlaces>() + self.texts.bytes()
    }

    fn language(&mut self, tag: &str, tenant_id: TenantId, project: &Project, only: Option<&Locale>) -> Language {
        if tag.len() > TAG_BYTES_MAX {
            return Language::Other;
        }
        if let Some(known) = self.languages.get(tag) {
            return *known;
        }
        let found = match Locale::parse(tag) {
            Ok(locale) if locale.identity_key() == project.source.locale.identity_key => Language::Source,
            Ok(locale) if check_translation_route_length(&locale).is_err() => Language::Other,
            Ok(locale) if only.is_some_and(|only| only.canonical() != locale.canonical()) => Language::Other,
            Ok(locale) => {
                let pair = LanguagePair::new(tenant_id, &project.source.locale.tag, &locale);
                let known = self.pairs.iter().position(|known| *known == pair);
                let place = known.unwrap_or_else(|| {
                    self.pairs.push(pair);
                    self.pairs.len() - 1
                });
                // There are no more pairs than languages.
                u32::try_from(place).map_or(Language::Other, Language::Target)
            }
            Err(_) => Language::Other,
        };
        self.languages.insert(tag.to_owned(), found);
        found
    }

    fn unit(&self, place: &UnitPlaces) -> Option<(&LanguagePair, Remembered<'_>)> {
        let (source, target) = (self.texts.get(place.source), self.texts.get(place.target));
        Some((self.pairs.get(place.pair as usize)?, Remembered { source, target, origin: Some(Wording::Import) }))
    }

    fn part(&self, part: Range<usize>) -> impl Iterator<Item = (&LanguagePair, Remembered<'_>)> {
        self.units.get(part).unwrap_or_default().iter().filter_map(|place| self.unit(place))
    }

    /// How its units are cut into parts: one at least, whatever there is.
    pub fn parts(&self) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut begin = 0;
        while begin < self.units.len() {
            let end = begin + batch(self.part(begin..self.units.len()).map(|(_, unit)| unit)).max(1);
            parts.push(begin..end);
            begin = end;
        }
        if parts.is_empty() {
            parts.push(0..0);
        }
        parts
    }
}

/// Writes a part of a document; one event tells of all that was written.
///
/// # Errors
/// Only the store's.
pub fn write_memory(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    memory: &Memory,
    part: Range<usize>,
) -> Result<Outcomes, Abort<Refusal>> {
    let outcomes = remember_all(tx, now, project_id, memory.part(part))?;
    if outcomes.written > 0 {
        let event = Event::about("memory.import", "project", project_id.0)
            .with([("written", Json::from(outcomes.written)), ("unchanged", Json::from(outcomes.unchanged))]);
        audit::record(tx, now, actor, event)?;
    }
    Ok(outcomes)
}

/// A memory on its way out: what a project wrote last.
pub struct MemoryExport {
    tenant_id: TenantId,
    project_id: ProjectId,
    source_tag: String,
    /// The canonical tag of the one target locale that is wanted.
    only: Option<String>,
    writer: Option<TmxWriter>,
    after: Option<UnitPlace>,
    is_over: bool,
}

impl MemoryExport {
    /// Nothing is written yet.
    #[must_use]
    pub fn of(tenant_id: TenantId, project: &Project, only: Option<&Locale>) -> MemoryExport {
        MemoryExport {
            tenant_id,
            project_id: project.project_id,
            source_tag: project.source.locale.tag.clone(),
            only: only.map(|only| only.canonical().to_owned()),
            writer: None,
            after: None,
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
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => TmxWriter::begin(&mut piece, &self.source_tag),
        };
        let only = self.only.as_deref();
        let page = list_units(read, self.tenant_id, self.project_id, only, self.after.as_ref(), UNITS_AT_A_TIME)?;
        for listed in &page.units {
            let pair = TmxPair {
                source_language: &listed.source_locale,
                source: &listed.unit.source,
                target_language: &listed.target_locale,
                target: &listed.unit.target,
            };
            writer.unit(&mut piece, &pair);
        }
        self.is_over = page.next.is_none();
        self.after = page.next;
        match self.is_over {
            true => writer.end(&mut piece),
            false => self.writer = Some(writer),
        }
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::DOCUMENTS_BYTES_MAX;
    use crate::exchange::{tbx, xliff};
    use crate::spaces::get_project;
    use crate::testing::{TENANT, furnished};

    /// What a document says of a term in English, with a translation into each of these languages.
    fn read(languages: &[String]) -> Result<Memory, ReadError> {
        let (bench, _, project_id) = furnished();
        let project = get_project(&bench.store.read(), TENANT, project_id).unwrap();
        let variant = |tag: &String| format!("<tuv xml:lang='{tag}'><seg>b</seg></tuv>");
        let variants: String = languages.iter().map(variant).collect();
        let document = format!(
            "<tmx version='1.4'><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>a</seg></tuv>{variants}</tu>\
             </body></tmx>"
        );
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        read_memory(TmxReader::begin(document.as_bytes(), deadline)?, TENANT, &project, None)
    }

    #[test]
    fn the_largest_document_of_each_kind_has_room() {
        let most = [bytes_max(FILE_BYTES_MAX), xliff::bytes_max(FILE_BYTES_MAX), tbx::BYTES_MAX];
        assert_eq!(most.into_iter().max(), Some(DOCUMENTS_BYTES_MAX));
    }

    #[test]
    fn tags_take_no_room_but_while_a_document_is_read() {
        let long = |number: usize| format!("de-x-{number:08}{}", "-aaaaaaaa".repeat(100));
        let languages: Vec<String> = (0..2 * LANGUAGES_MAX).map(long).chain(["de".to_owned()]).collect();
        let memory = read(&languages).unwrap();
        assert_eq!((memory.units.len(), memory.skipped), (1, 2 * LANGUAGES_MAX), "what is that long is of no language");
        assert_eq!(memory.languages.capacity(), 0);
        let short = |number: usize| format!("de-x-{number:08}");
        let languages: Vec<String> = (0..=LANGUAGES_MAX).map(short).collect();
        assert!(read(&languages).is_err(), "and there are no more of others");
    }
}
