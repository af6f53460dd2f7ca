//! A project with files, whose translations are written as the endpoints do it, and what its figures must be.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::clock::Clock;
use quintet_storage::{Abort, Read, Scan, Snapshot, Timestamp, WriteTx};

use crate::content::rejudge::REJUDGES;
use crate::content::{
    FILES, File, FileId, Key, KeyContext, KeyEntry, ReviewState, Source, State, TRANSLATIONS, Translated,
    TranslationRow, Wished, Wording, get_catalogue, key_id, prepare_contexts, put_contexts, read_entries, state_of,
};
use crate::context::Context;
use crate::figures::list::{Filter, Place, WantedState, list_translations};
use crate::figures::pass::{Step, apply, look};
use crate::figures::stats::stats;
use crate::figures::tables::CountedState;
use crate::figures::verdict::Verdict;
use crate::language::Locale;
use crate::quality::{CheckId, CheckSet};
use crate::refusal::Refusal;
use crate::review::{MoveOn, Standards, StepWish, WriteTranslation, move_on, write_translation};
use crate::spaces::{ProjectId, get_project};
use crate::terms::{
    EntryKind, PutStyle, Register, StyleScope, TermId, Wording as TermWording, create_entry, delete_entry, put_style,
    replace_entry,
};
use crate::testing::{Bench, TENANT, actor, furnished, upload, write};

/// The locales that are translated into.
pub const LOCALES: [&str; 3] = ["de", "fr", "zh-TW"];

/// A project with files.
pub struct World {
    pub bench: Bench,
    pub context: Context,
    pub project_id: ProjectId,
    /// What a pass has found and not written yet.
    pub steps: VecDeque<Step>,
}

/// A key in a locale as everything but figures knows it.
#[derive(Clone, Debug)]
pub struct Told {
    pub file: File,
    pub entry: KeyEntry,
    pub locale: String,
    pub row: Option<TranslationRow>,
    pub failing: CheckSet,
}

impl Told {
    pub fn state(&self) -> State {
        state_of(&self.entry, self.row.as_ref())
    }
}

impl World {
    pub fn open() -> World {
        let (bench, _, project_id) = furnished();
        let foundation = Foundation::new((*bench.store).clone(), Clock::system(), Authority::Embedded);
        World { bench, context: Context::new(foundation), project_id, steps: VecDeque::new() }
    }

    pub fn read(&self) -> Snapshot {
        self.bench.store.read()
    }

    /// Runs a transaction, which nobody refuses.
    pub async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        write(&self.bench, verb).await
    }

    /// Uploads a JSON file with these texts.
    pub async fn upload(&self, path: &str, texts: &BTreeMap<String, String>) -> FileId {
        upload(&self.bench, &self.context, self.project_id, path, texts).await
    }

    /// Sets the limits of a path.
    pub async fn limit(&self, file_id: FileId, path: &str, limits: (Option<u32>, Option<u32>)) {
        let (min_length, max_length) = limits;
        let wish = KeyContext { path: path.into(), class: None, context: None, min_length, max_length };
        let wished = Arc::new(vec![wish]);
        let (prepared, _staged) =
            prepare_contexts(&self.context, TENANT, self.project_id, file_id, wished).await.unwrap();
        self.write(move |tx, now| put_contexts(tx, now, &actor(TENANT), &prepared)).await.unwrap().unwrap();
    }

    /// An entry of the glossary, unless there is one that says the same.
    pub async fn term(&self, kind: EntryKind, locale: Option<&str>, text: &str, target: &str) -> Option<TermId> {
        let wording = worded(kind, locale, text, target);
        let made = self.write(move |tx, now| create_entry(tx, now, &actor(TENANT), self_project(tx)?, wording)).await;
        made.ok().map(|entry| entry.term_id)
    }

    /// What an entry says is another thing, unless another one says that.
    pub async fn other_term(&self, term_id: TermId, kind: EntryKind, locale: Option<&str>, text: &str, target: &str) {
        let wording = worded(kind, locale, text, target);
        let replaced =
            self.write(move |tx, now| replace_entry(tx, now, &actor(TENANT), self_project(tx)?, term_id, wording));
        let _ = replaced.await;
    }

    pub async fn no_term(&self, term_id: TermId) {
        let deleted = self.write(move |tx, now| delete_entry(tx, now, &actor(TENANT), self_project(tx)?, term_id));
        let _ = deleted.await;
    }

    /// The register of a locale.
    pub async fn register(&self, locale: &str, is_formal: bool) {
        let register = is_formal.then_some(Register::Formal);
        let command = PutStyle::new(locale, StyleScope::Default, "Write well.".into(), register).unwrap();
        self.write(move |tx, now| put_style(tx, now, &actor(TENANT), self_project(tx)?, command)).await.unwrap();
    }

    pub fn files(&self) -> Vec<File> {
        let rows = self.read().scan(&FILES, Scan::prefix(&(TENANT, self.project_id))).unwrap();
        rows.into_iter().map(|((.., file_id), row)| row.into_file(file_id)).collect()
    }

    /// The keys of a file, obsolete ones too.
    pub fn entries(&self, file_id: FileId) -> Vec<KeyEntry> {
        let read = self.read();
        read_entries(&read, &get_catalogue(&read, TENANT, file_id).unwrap()).unwrap()
    }

    pub fn key(&self, file: &File, entry: KeyEntry) -> Key {
        let key_id = key_id(file.key_prefix, entry.number);
        Key { project_id: self.project_id, file_id: file.file_id, file_version: file.version, key_id, entry }
    }

    fn standards(&self, read: &Snapshot, key: &Key, locale: &Locale) -> Standards {
        let project = get_project(read, TENANT, self.project_id).unwrap();
        Standards::of(read, &self.context.shelf, TENANT, &project, key, locale).unwrap()
    }

    /// A text for a key, judged by now.
    pub fn judged(&self, key: Key, locale: &str, text: &str) -> WriteTranslation {
        let locale = Locale::parse(locale).unwrap();
        let standards = self.standards(&self.read(), &key, &locale);
        WriteTranslation::new(key, locale, Wished::Text(text.into()), Wording::Human, standards).unwrap()
    }

    /// Writes what was judged; whether it still held.
    pub async fn put(&self, command: WriteTranslation) -> bool {
        let written = self.write(move |tx, now| {
            if !command.is_current(tx, TENANT)? {
                return Ok(false);
            }
            write_translation(tx, now, &actor(TENANT), command).map(|_| true)
        });
        match written.await {
            Ok(is_current) => is_current,
            Err(refusal) => {
                assert_eq!(refusal, Refusal::KeyObsolete);
                false
            }
        }
    }

    /// A step of a translation, judged by now.
    pub fn moved(&self, key: Key, locale: &str, wish: StepWish) -> MoveOn {
        let (read, locale) = (self.read(), Locale::parse(locale).unwrap());
        let standards = self.standards(&read, &key, &locale);
        MoveOn::new(&read, TENANT, key, locale, wish, standards).unwrap()
    }

    pub async fn step(&self, command: MoveOn) {
        // Most steps do not go with the state: that is refused.
        let _ = self.write(move |tx, now| move_on(tx, now, &actor(TENANT), command)).await;
    }

    /// Begins to work off the oldest cause, if none is being worked off.
    pub fn look(&mut self) -> bool {
        if !self.steps.is_empty() {
            return true;
        }
        let read = self.read();
        let Some((key, row)) = read.scan(&REJUDGES, Scan::all().limit(1)).unwrap().pop() else { return false };
        self.steps = look(&read, &self.context.shelf, key, row).unwrap().steps().into();
        true
    }

    /// Writes a step of what was found.
    pub async fn apply(&mut self) {
        if let Some(step) = self.steps.pop_front() {
            self.write(move |tx, _| Ok(apply(tx, step)?)).await.unwrap();
        }
    }

    /// Works off all there is.
    pub async fn settle(&mut self) {
        while self.look() {
            self.apply().await;
        }
    }

    /// Every key in every locale it has a translation in, and in `locale`; judged now, one by one.
    pub fn told(&self, locale: Option<&str>) -> Vec<Told> {
        let read = self.read();
        let mut told = Vec::new();
        for file in self.files() {
            let rows = read.scan(&TRANSLATIONS, Scan::prefix(&(TENANT, file.file_id))).unwrap();
            let mut rows: BTreeMap<(u64, String), TranslationRow> =
                rows.into_iter().map(|((_, _, locale, number), row)| ((number, locale), row)).collect();
            for entry in self.entries(file.file_id).into_iter().filter(|entry| !entry.is_obsolete) {
                let own = rows.keys().filter(|(number, _)| *number == entry.number).map(|(_, locale)| locale.clone());
                let locales: BTreeSet<String> = own.chain(locale.map(str::to_owned)).collect();
                for locale in locales {
                    let row = rows.remove(&(entry.number, locale.clone()));
                    let failing = row.as_ref().map_or(CheckSet::default(), |row| {
                        let (key, locale) = (self.key(&file, entry.clone()), Locale::parse(&locale).unwrap());
                        self.standards(&read, &key, &locale).failing(&entry, &locale, &row.content)
                    });
                    told.push(Told { file: file.clone(), entry: entry.clone(), locale, row, failing });
                }
            }
        }
        told.sort_by_key(|one| (one.file.key_prefix, one.entry.number, one.locale.clone()));
        told
    }
}

/// The one project of the tenant.
fn self_project(read: &impl Read) -> Result<ProjectId, Abort<Refusal>> {
    let mut found = None;
    crate::spaces::each_project(read, TENANT, None, |project| {
        found = Some(project.project_id);
        false
    })?;
    Ok(found.unwrap())
}

fn worded(kind: EntryKind, locale: Option<&str>, text: &str, target: &str) -> TermWording {
    let locale = locale.map(str::to_owned);
    let (source, target) = match kind {
        EntryKind::Term => (Some(text.to_owned()), Some(target.to_owned())),
        EntryKind::DoNotTranslate => (Some(text.to_owned()), None),
        EntryKind::Forbidden => (None, Some(text.to_owned())),
    };
    let locale = locale.or_else(|| (kind == EntryKind::Term).then(|| "de".to_owned()));
    TermWording { kind, locale, source, target, note: None }.checked().unwrap()
}

/// The words of a source, counted in another way.
pub fn words(source: &Source) -> u64 {
    let Source::Text(text) = source else { panic!("texts only") };
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).count() as u64
}

fn counted(state: State) -> CountedState {
    match state {
        State::Untranslated => panic!("it is not counted"),
        State::Outdated => CountedState::Outdated,
        State::Stored(ReviewState::Draft) => CountedState::Draft,
        State::Stored(ReviewState::NeedsAttention) => CountedState::NeedsAttention,
        State::Stored(ReviewState::Reviewed) => CountedState::Reviewed,
        State::Stored(ReviewState::Approved) => CountedState::Approved,
    }
}

impl World {
    /// The figures are those of a recount; how many translations fail some check.
    pub fn check_stats(&self) -> usize {
        let found = stats(&self.read(), TENANT, self.project_id).unwrap();
        let all = self.told(None);
        let active: Vec<KeyEntry> = self.files().iter().flat_map(|file| self.entries(file.file_id)).collect();
        let active: Vec<&KeyEntry> = active.iter().filter(|entry| !entry.is_obsolete).collect();
        assert_eq!(found.keys, active.len() as u64);
        assert_eq!(found.words, active.iter().map(|entry| words(&entry.source)).sum::<u64>());
        let locales: BTreeSet<&String> = all.iter().map(|told| &told.locale).collect();
        for locale in locales {
            let own: Vec<&Told> = all.iter().filter(|told| told.locale == *locale && told.row.is_some()).collect();
            let of_locale = found.locales.iter().find(|one| one.locale == *locale).unwrap();
            let count = |is: &dyn Fn(&Told) -> bool| own.iter().filter(|told| is(told)).count() as u32;
            for state in CountedState::ALL {
                let expected = count(&|told| counted(told.state()) == state);
                assert_eq!(of_locale.sums.in_state(state), expected, "{locale} {state:?}");
            }
            for check in CheckId::ALL {
                assert_eq!(of_locale.sums.failing(check), count(&|told| told.failing.contains(check)), "{check:?}");
            }
            let blocks = |told: &Told| told.failing.iter().any(CheckId::is_blocking);
            assert_eq!(of_locale.sums.blocking, count(&blocks));
            assert_eq!(of_locale.sums.other, count(&|told| !told.failing.is_empty() && !blocks(told)));
            let approved = own.iter().filter(|told| counted(told.state()) == CountedState::Approved);
            let approved: u64 = approved.map(|told| words(&told.entry.source)).sum();
            assert_eq!(of_locale.sums.approved_words, approved);
            let by_file = |told: &&&Told| told.file.file_id;
            let files: BTreeMap<FileId, u32> = own.iter().fold(BTreeMap::new(), |mut files, told| {
                *files.entry(by_file(&told)).or_default() += 1;
                files
            });
            for (file_id, expected) in files {
                assert_eq!(of_locale.by_file[&file_id].translations(), expected);
            }
        }
        all.iter().filter(|told| !told.failing.is_empty()).count()
    }

    /// A list of all pages is what a search through everything finds.
    pub fn check_list(&self, filter: &Filter, limit: usize) -> usize {
        let is_wanted = |told: &&Told| {
            let state = match filter.state {
                None => told.row.is_some() || filter.locale.is_some(),
                Some(WantedState::Untranslated) => told.row.is_none(),
                Some(WantedState::Counted(state)) => told.row.is_some() && counted(told.state()) == state,
            };
            let texts =
                [told.entry.path.as_str(), source(&told.entry.source), told.row.as_ref().map_or("", |row| target(row))];
            let has = |text: &String| texts.iter().any(|own| own.to_uppercase().contains(&text.to_uppercase()));
            state
                && filter.locale.as_ref().is_none_or(|locale| told.locale == *locale)
                && filter.file_id.is_none_or(|file_id| told.file.file_id == file_id)
                && filter.check.is_none_or(|check| told.failing.contains(check))
                && filter.text.as_ref().is_none_or(has)
        };
        let all = self.told(filter.locale.as_deref());
        let expected: Vec<&Told> = all.iter().filter(is_wanted).collect();
        let (read, mut found, mut after): (_, Vec<_>, Option<Place>) = (self.read(), Vec::new(), None);
        loop {
            let page = list_translations(&read, TENANT, self.project_id, filter, after, limit).unwrap();
            assert!(page.items.len() <= limit);
            found.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let shown = |told: &&Told| (told.file.file_id, told.entry.clone(), told.locale.clone(), told.row.clone());
        let expected_shown: Vec<_> = expected.iter().map(shown).collect();
        let found_shown: Vec<_> = found
            .iter()
            .map(|item| {
                let row = item.written.as_ref().map(|(row, _)| row.clone());
                (item.file_id, (*item.entry).clone(), item.locale.clone(), row)
            })
            .collect();
        assert_eq!(found_shown, expected_shown, "{filter:?}");
        for (item, told) in found.iter().zip(expected) {
            assert_eq!(item.failing(), told.failing);
            let verdict: Option<&Verdict> = item.written.as_ref().map(|(_, verdict)| verdict);
            assert!(verdict.is_none_or(|verdict| verdict.state == counted(told.state())));
        }
        found.len()
    }
}

fn source(source: &Source) -> &str {
    let Source::Text(text) = source else { panic!("texts only") };
    text
}

fn target(row: &TranslationRow) -> &str {
    let Translated::Text { text, .. } = &row.content else { panic!("texts only") };
    text
}
