//! Judging anew. A *look* reads one state of the store and judges; what it found is written in short transactions behind
//! it, which ask of each translation whether its text is still the one that was judged.
//!
//! One pass works at a time, and the causes of a project one after the other, in their order. So a verdict that is written
//! by what was known before a later cause is corrected by the pass of that cause; and who has written a translation since
//! the look has written a verdict of his own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use super::judging::{FileStandards, limits};
use super::sought::Sought;
use super::tables::CountedState;
use super::touch::{Need, Touch};
use super::verdict::{FileLocale, Verdict, put_verdicts};
use crate::content::rejudge::{Cause, Progress, REJUDGES, RejudgeRow};
use crate::content::{
    CatalogueRow, FILE_LOCALES, FILES, File, FileId, FileRow, FileVersion, KeyEntry, PageRange, Pages, TRANSLATIONS,
    TranslationRow, active_words, changed_numbers, get_catalogue, get_file, words_of,
};
use crate::model::{ProjectId, TenantId};
use crate::quality::CheckSet;
use crate::refusal::Refusal;
use crate::rows;
use crate::shelf::Shelf;

/// A cause that is open.
pub type CauseKey = (TenantId, ProjectId, u64);

/// How many verdicts a look finds, about.
const VERDICTS_MAX: usize = 2_000;
/// How long a look takes, about.
const LOOK_TIME: Duration = Duration::from_millis(100);
/// How many translations are read for each other's sake, about: of the longest they take 100 MB.
const CHUNK_ROWS: usize = 128;
/// How many verdicts one transaction writes.
const STEP_VERDICTS: usize = 250;

/// What a look found.
pub struct Found {
    key: CauseKey,
    row: RejudgeRow,
    verdicts: Vec<FoundVerdict>,
    words: Option<(File, u64)>,
    /// How far it came; `None`: to the end.
    done: Option<Progress>,
}

/// One verdict.
#[derive(Clone)]
struct FoundVerdict {
    place: Arc<FileLocale>,
    number: u64,
    /// What was found; `None`: the key is obsolete.
    judged: Option<Judged>,
}

/// What was found of the text of a translation. In which state that is counts when it is written.
#[derive(Clone, Copy)]
struct Judged {
    seen: Seen,
    /// The version in which the key's source came up.
    source_version: FileVersion,
    failing: CheckSet,
    words: u32,
}

/// What tells two texts of a translation apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    revision: u64,
    source_version: FileVersion,
}

impl Seen {
    fn of(row: &TranslationRow) -> Seen {
        Seen { revision: row.revision, source_version: row.source_version }
    }
}

/// A step of a pass: what one transaction writes.
#[derive(Clone)]
pub struct Step {
    key: CauseKey,
    verdicts: Vec<FoundVerdict>,
    words: Option<(FileId, FileVersion, u64)>,
    /// Of the last step of a look: what becomes of the cause.
    end: Option<Option<RejudgeRow>>,
}

/// Judges anew what a cause touches, from where its pass is, for about 100 ms.
///
/// # Errors
/// The store's. [`Refusal::NotFound`] cannot be: projects and files stay.
pub fn look(read: &impl Read, shelf: &Shelf, key: CauseKey, row: RejudgeRow) -> Result<Found, Abort<Refusal>> {
    let (tenant_id, project_id, _) = key;
    let mut looking = Looking {
        read,
        shelf,
        tenant_id,
        project_id,
        cause: &row.cause,
        numbers: numbers_of(read, tenant_id, &row.cause)?,
        until: Instant::now() + LOOK_TIME,
        has_looked: false,
        verdicts: Vec::new(),
        words: None,
    };
    let mut done = None;
    for file in looking.files(row.done.as_ref())? {
        let after = row.done.as_ref().filter(|progress| progress.file_id == file.file_id);
        // Uploads count them: they are missing where none has come since that is so.
        if after.is_none() && file.words.is_none() && matches!(row.cause, Cause::File(_)) {
            looking.words = Some((file.clone(), words_of_file(read, tenant_id, file.file_id)?));
        }
        done = looking.file(&file, after)?;
        if done.is_some() {
            break;
        }
    }
    let Looking { verdicts, words, .. } = looking;
    Ok(Found { key, row, verdicts, words, done })
}

/// The words of a file's active keys, page by page.
fn words_of_file(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<u64, Failure> {
    let catalogue = get_catalogue(read, tenant_id, file_id)?;
    let mut pages = Pages::after(read, &catalogue, 0);
    let mut words = 0;
    while let Some(range) = pages.next_range() {
        if range.may_be_active {
            words += active_words(&pages.read(&range)?);
        }
    }
    Ok(words)
}

/// The keys that a cause names, in ascending order; `None`: it does not.
fn numbers_of(read: &impl Read, tenant_id: TenantId, cause: &Cause) -> Result<Option<Vec<u64>>, Failure> {
    Ok(match cause {
        Cause::Import { file_id, audit_seq } => Some(changed_numbers(read, tenant_id, *file_id, *audit_seq)?),
        Cause::Keys { numbers, .. } => Some(numbers.clone()),
        Cause::File(_) | Cause::Terms(_) | Cause::Register(_) => None,
    })
}

struct Looking<'l, R> {
    read: &'l R,
    shelf: &'l Shelf,
    tenant_id: TenantId,
    project_id: ProjectId,
    cause: &'l Cause,
    numbers: Option<Vec<u64>>,
    until: Instant,
    /// Whether it has come any further: a look that is spent before that would come to nothing, and so would the next.
    has_looked: bool,
    verdicts: Vec<FoundVerdict>,
    words: Option<(File, u64)>,
}

/// A file in a locale that is touched, and what holds there. One at a time: what a glossary says in one locale may take
/// 50 ms and 15 MB to compile, and a project may have a hundred.
struct InLocale<'l> {
    file: &'l File,
    place: Arc<FileLocale>,
    touch: Touch,
    standards: FileStandards,
}

impl<R: Read> Looking<'_, R> {
    fn is_spent(&self) -> bool {
        self.has_looked && (self.verdicts.len() >= VERDICTS_MAX || Instant::now() >= self.until)
    }

    /// The files that the cause touches, from where the pass is.
    fn files(&self, done: Option<&Progress>) -> Result<Vec<File>, Abort<Refusal>> {
        match self.cause {
            Cause::File(file_id) | Cause::Import { file_id, .. } | Cause::Keys { file_id, .. } => {
                Ok(vec![get_file(self.read, self.tenant_id, self.project_id, *file_id)?])
            }
            Cause::Terms(_) | Cause::Register(_) => {
                let mut scan = Scan::prefix(&(self.tenant_id, self.project_id));
                if let Some(Progress { file_id, .. }) = done {
                    scan = scan.from(&(self.tenant_id, self.project_id, *file_id));
                }
                let rows = self.read.scan(&FILES, scan)?;
                Ok(rows.into_iter().map(|((.., file_id), row)| row.into_file(file_id)).collect())
            }
        }
    }

    /// Looks at a file, locale by locale, from where the pass is; how far it came, if not to the end.
    fn file(&mut self, file: &File, done: Option<&Progress>) -> Result<Option<Progress>, Abort<Refusal>> {
        let rows = self.read.scan(&FILE_LOCALES, Scan::prefix(&(self.tenant_id, file.file_id)))?;
        let tags = rows.into_iter().map(|((.., locale), _)| locale);
        for locale in tags.filter(|locale| done.is_none_or(|done| *locale >= done.locale)) {
            let touch = Touch::of(self.cause, &locale);
            if touch == Touch::Nothing {
                continue;
            }
            let after = done.filter(|done| done.locale == locale).map_or(0, |done| done.number);
            let behind = if self.is_spent() { Some(after) } else { self.locale(file, &locale, touch, after)? };
            if let Some(number) = behind {
                return Ok(Some(Progress { file_id: file.file_id, locale, number }));
            }
            self.has_looked = true;
        }
        Ok(None)
    }

    /// Looks at the keys of a file in a locale behind a number; behind which to go on, if not at all of them.
    fn locale(&mut self, file: &File, tag: &str, touch: Touch, after: u64) -> Result<Option<u64>, Abort<Refusal>> {
        let standards = FileStandards::of(self.read, self.shelf, (self.tenant_id, self.project_id), file, tag)?;
        let place = FileLocale { project_id: self.project_id, file_id: file.file_id, locale: tag.to_owned() };
        let here = InLocale { file, place: Arc::new(place), touch, standards };
        let catalogue = get_catalogue(self.read, self.tenant_id, file.file_id)?;
        let mut sought = Sought::of(self.shelf, &catalogue, &here.touch);
        let behind = self.pages(&here, &catalogue, &mut sought, after)?;
        sought.keep(self.shelf);
        Ok(behind)
    }

    /// [`Looking::locale`], page by page of the catalogue. A page has to be opened for each of a hundred locales: only those
    /// are in which there is anything to judge.
    fn pages(
        &mut self,
        here: &InLocale<'_>,
        catalogue: &CatalogueRow,
        sought: &mut Sought,
        after: u64,
    ) -> Result<Option<u64>, Failure> {
        let mut pages = Pages::after(self.read, catalogue, after);
        let mut behind = after;
        while let Some(range) = pages.next_range() {
            if !self.wants_any(range.first.max(after + 1), range.end) {
                continue;
            }
            if self.is_spent() {
                return Ok(Some(behind));
            }
            if self.may_touch(here, sought, &range)? {
                let mut entries = pages.read(&range)?;
                sought.note(&range, &entries, &here.touch);
                entries.retain(|entry| entry.number > after && self.wants_any(entry.number, entry.number + 1));
                for chunk in entries.chunks(CHUNK_ROWS) {
                    if self.is_spent() {
                        return Ok(Some(behind));
                    }
                    self.keys(here, chunk)?;
                    self.has_looked = true;
                    behind = chunk.last().map_or(behind, |last| last.number);
                }
            }
            self.has_looked = true;
            behind = range.end - 1;
        }
        Ok(None)
    }

    /// Whether anything may be touched that is in a page.
    fn may_touch(&self, here: &InLocale<'_>, sought: &Sought, page: &PageRange) -> Result<bool, Failure> {
        match &here.touch {
            Touch::Nothing => Ok(false),
            Touch::Everything => self.has_row(here, page, |_| true),
            // Words say nothing of what is obsolete.
            Touch::Texts(..) if !page.may_be_active => Ok(false),
            Touch::Texts(_, in_target) => match sought.is_in(page) {
                None | Some(true) => Ok(true),
                Some(false) if in_target.is_empty() => Ok(false),
                Some(false) => self.has_row(here, page, |row| here.touch.is_in(&row.content)),
            },
        }
    }

    /// Whether a key of a page has such a translation.
    fn has_row(
        &self,
        here: &InLocale<'_>,
        page: &PageRange,
        is_one: impl Fn(&TranslationRow) -> bool,
    ) -> Result<bool, Failure> {
        let place = |number: u64| (self.tenant_id, here.place.file_id, here.place.locale.clone(), number);
        for from in (page.first..page.end).step_by(CHUNK_ROWS) {
            let until = page.end.min(from + CHUNK_ROWS as u64);
            let rows = self.read.scan(&TRANSLATIONS, Scan::all().from(&place(from)).until(&place(until)))?;
            if rows.iter().any(|(_, row)| is_one(row)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the cause names keys from a number on and below another.
    fn wants_any(&self, from: u64, below: u64) -> bool {
        let Some(numbers) = &self.numbers else { return true };
        numbers.get(numbers.partition_point(|number| *number < from)).is_some_and(|number| *number < below)
    }

    /// Looks at the translations of some keys.
    fn keys(&mut self, here: &InLocale<'_>, entries: &[KeyEntry]) -> Result<(), Failure> {
        let InLocale { file, place, touch, standards } = here;
        let mut needed: BTreeMap<u64, (&KeyEntry, Need)> = BTreeMap::new();
        for entry in entries {
            let number = entry.number;
            match touch.need(&entry.source) {
                Need::None => {}
                // Words say nothing of what is obsolete, and is not counted.
                _ if entry.is_obsolete && matches!(touch, Touch::Texts(..)) => {}
                _ if entry.is_obsolete => {
                    self.verdicts.push(FoundVerdict { place: Arc::clone(place), number, judged: None });
                }
                need => drop(needed.insert(number, (entry, need))),
            }
        }
        let is_dense = needed.len() * 4 >= entries.len();
        each_row(self.read, self.tenant_id, place, needed.keys().copied(), is_dense, |number, row| {
            let Some((entry, need)) = needed.get(&number) else { return Ok(()) };
            if *need == Need::IfTarget && !touch.is_in(&row.content) {
                return Ok(());
            }
            let limits = limits(self.read, self.shelf, self.tenant_id, file, &entry.path)?;
            let judged = Judged {
                seen: Seen::of(&row),
                source_version: entry.source_version,
                failing: standards.failing(entry, limits, &row.content),
                words: words_of(&entry.source),
            };
            self.verdicts.push(FoundVerdict { place: Arc::clone(place), number, judged: Some(judged) });
            Ok(())
        })
    }
}

/// The translations of some keys, whose numbers ascend: all between the first and the last where many of those are wanted,
/// else one by one.
fn each_row(
    read: &impl Read,
    tenant_id: TenantId,
    place: &FileLocale,
    numbers: impl DoubleEndedIterator<Item = u64> + Clone,
    is_dense: bool,
    mut look: impl FnMut(u64, TranslationRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let key = |number| (tenant_id, place.file_id, place.locale.clone(), number);
    let (Some(first), Some(last)) = (numbers.clone().next(), numbers.clone().next_back()) else { return Ok(()) };
    if is_dense {
        let scan = || Scan::all().from(&key(first)).until(&key(last + 1));
        return rows::each_of(read, &TRANSLATIONS, scan, |(.., number), row| look(number, row));
    }
    for number in numbers {
        if let Some(row) = read.get(&TRANSLATIONS, &key(number))? {
            look(number, row)?;
        }
    }
    Ok(())
}

impl Found {
    /// What is to be written, transaction by transaction, in this order; the last one ends the cause or notes how far its
    /// pass is.
    #[must_use]
    pub fn steps(self) -> Vec<Step> {
        let Found { key, row, mut verdicts, words, done } = self;
        verdicts.sort_by(|one, other| (&one.place, one.number).cmp(&(&other.place, other.number)));
        let step = |verdicts: &[FoundVerdict]| Step { key, verdicts: verdicts.to_vec(), words: None, end: None };
        let mut steps: Vec<Step> = verdicts.chunks(STEP_VERDICTS).map(step).collect();
        if steps.is_empty() {
            steps.push(step(&[]));
        }
        if let Some(last) = steps.last_mut() {
            last.words = words.map(|(file, words)| (file.file_id, file.version, words));
            last.end = Some(done.map(|done| RejudgeRow { done: Some(done), ..row }));
        }
        steps
    }
}

/// Writes what a step has, as far as the translations are still those that were judged.
///
/// # Errors
/// Only the store's.
pub fn apply(tx: &mut WriteTx<'_>, step: Step) -> Result<(), Failure> {
    let Step { key, verdicts, words, end } = step;
    let (tenant_id, project_id, _) = key;
    let mut by_place: BTreeMap<Arc<FileLocale>, BTreeMap<u64, Option<Verdict>>> = BTreeMap::new();
    for FoundVerdict { place, number, judged } in verdicts {
        let verdict = match judged {
            None => None,
            Some(Judged { seen, source_version, failing, words }) => {
                let row = tx.get(&TRANSLATIONS, &(tenant_id, place.file_id, place.locale.clone(), number))?;
                let Some(row) = row.filter(|row| Seen::of(row) == seen) else { continue };
                Some(Verdict { state: CountedState::of_row(&row, source_version), failing, words })
            }
        };
        by_place.entry(place).or_default().insert(number, verdict);
    }
    for (place, verdicts) in by_place {
        put_verdicts(tx, tenant_id, &place, &verdicts)?;
    }
    if let Some((file_id, version, words)) = words {
        let file = tx.get(&FILES, &(tenant_id, project_id, file_id))?;
        if let Some(file) = file.filter(|file| file.version == version) {
            tx.put(&FILES, &(tenant_id, project_id, file_id), &FileRow { words: Some(words), ..file })?;
        }
    }
    match end {
        None => {}
        Some(Some(row)) => tx.put(&REJUDGES, &key, &row)?,
        Some(None) => tx.delete(&REJUDGES, &key),
    }
    Ok(())
}
