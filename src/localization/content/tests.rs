//! A shelf with a file on it: what `verify` finds, what publishing checks, how rows of older versions read.

use std::time::Duration;

use quintet_platform::secrets::digest;
use quintet_storage::large::{LargeValue, Upload, adopt, collect, release};
use quintet_storage::seal::{DataKey, KeyOwner};
use quintet_storage::{
    Abort, Failure, Key as StoredKey, Read, Row, Scan, Snapshot, Table, Uuid, WriteTx, encode_plain,
};

use super::catalogue;
use super::context_pages;
use super::contexts::{Contexts, find_context, get_contexts};
use super::imports::{Counts, Original, PublishImport, Root, publish_import};
use super::key_ids::{key_id, key_prefix};
use super::keys::{KeyPage, get_key, list_keys};
use super::model::{File, FileId, Format, Key, KeyClass, KeyContext, KeyEntry, Source};
use super::source_locale::put_source_locale;
use super::tables::{
    CATALOGUES, CatalogueRow, ContextPageRow, FILE_LOCALES, FILE_PATHS, FILE_VERSIONS, FILES, IMPORTS, KEY_CONTEXTS,
    KEY_FILES, KeyContextsRow, TRANSLATIONS, TranslationRow, TranslationRowV1,
};
use super::translation::{Approval, ReviewState, Wished, Wording, shaped};
use super::translations::put_row;
use super::verify;
use super::walk::Walk;
use crate::formats::{Code, Content, ReaderRefusal};
use crate::language::Locale;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::{self, Expected, ProjectId, get_project};
use crate::testing::{Bench, OTHER, TENANT, actor, furnished};

const FILE_ID: FileId = FileId(Uuid::from_u128(99));

fn entry() -> KeyEntry {
    let source = Source::of(Content::Text("A".into()));
    KeyEntry { number: 1, path: "a".into(), source, source_version: 1, is_obsolete: false }
}

/// A large value as it is without a root key: not sealed.
fn large(bench: &Bench, bytes: &[u8]) -> LargeValue {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut upload = Upload::begin(&bench.store, 600, Duration::from_secs(10)).await.unwrap();
        upload.push(bytes).await.unwrap();
        upload.finish().await.unwrap()
    })
}

/// An upload that is ready to be published.
fn prepared(bench: &Bench, project_id: ProjectId, base_version: u32) -> PublishImport {
    let encoded = catalogue::encode(&[entry()]).unwrap();
    PublishImport {
        project_id,
        path: "a.json".into(),
        format: Format::Json,
        root: Root::Given(String::new()),
        file_id: FILE_ID,
        base_version,
        original: Original { value: large(bench, b"{\"a\":\"A\"}"), sha256: digest(b"{\"a\":\"A\"}"), units_max: 1 },
        catalogue: large(bench, &encoded.bytes),
        pages: encoded.pages,
        next_number: 2,
        keys: 1,
        words: 1,
        changes: large(bench, b"changes"),
        counts: Counts { added: 1, ..Counts::default() },
        manifest_sha256: [0; 32],
    }
}

fn publish(bench: &Bench, command: PublishImport) -> Result<File, Refusal> {
    bench.run(move |tx, now| publish_import(tx, now, &actor(TENANT), command))
}

/// A file with two versions and a translation.
fn shelved() -> Bench {
    let (bench, _, project_id) = furnished();
    for base_version in 0..2 {
        publish(&bench, prepared(&bench, project_id, base_version)).unwrap();
    }
    let key_id = key_id(key_prefix(FILE_ID), 1);
    let key = Key { project_id, file_id: FILE_ID, file_version: 2, key_id, entry: entry() };
    let locale = Locale::parse("de").unwrap();
    let content = shaped(Wished::Text("x".into()), &key.entry.source, &locale).unwrap();
    bench
        .run(move |tx, now| {
            let row = TranslationRow {
                revision: 1,
                state: ReviewState::Draft,
                source_version: 1,
                content: content.clone(),
                origin: Some(Wording::Human),
                updated_by: [1; 16],
                updated_at: now,
                approved: None,
            };
            put_row(tx, TENANT, &key, &locale, None, &row)
        })
        .unwrap();
    bench
}

#[test]
fn files_that_do_not_fit_their_rows_are_found() {
    fn empty<K: StoredKey, V: Row>(tx: &mut WriteTx<'_>, table: &Table<K, V>) {
        let rows = tx.scan(table, Scan::all()).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(table, &key));
    }
    type Deed = fn(&mut WriteTx<'_>);
    let deeds: [(Deed, &str); 9] = [
        (|tx| empty(tx, &FILE_PATHS), "its path is not its own"),
        (|tx| empty(tx, &KEY_FILES), "its keys' ids are not its own"),
        (|tx| empty(tx, &CATALOGUES), "it has no list of keys"),
        (|tx| empty(tx, &IMPORTS), "what version 1 changed is gone"),
        (|tx| empty(tx, &FILE_LOCALES), "are counted as"),
        (|tx| empty(tx, &TRANSLATIONS), "have 1 counters"),
        (
            |tx| {
                let (key, _) = tx.scan(&FILE_VERSIONS, Scan::all().limit(1)).unwrap().remove(0);
                tx.delete(&FILE_VERSIONS, &key);
            },
            "its versions are not 1 to 2",
        ),
        (
            |tx| {
                let (key, mut row) = tx.scan(&FILES, Scan::all()).unwrap().remove(0);
                row.keys = 7;
                tx.put(&FILES, &key, &row).unwrap();
            },
            "it is not its last version",
        ),
        (
            |tx| {
                let (key, mut row) = tx.scan(&FILE_VERSIONS, Scan::all()).unwrap().remove(0);
                row.original.sha256 = [0; 32];
                tx.put(&FILE_VERSIONS, &key, &row).unwrap();
            },
            "the original of version 1 is not what was stored",
        ),
    ];
    assert_eq!(verify(&shelved().store.read()), Ok(Vec::new()));
    for (deed, expected) in deeds {
        let bench = shelved();
        bench
            .run(move |tx, _| {
                deed(tx);
                Ok(())
            })
            .unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

#[test]
fn publishing_checks_the_source_locale_that_a_root_key_was_read_under() {
    let (bench, _, project_id) = furnished();
    let refusal = ReaderRefusal { code: Code::KeyInvalid, line: 2, column: 1 };
    let rails = |root| PublishImport {
        path: "a.yml".into(),
        format: Format::YamlRails,
        root,
        ..prepared(&bench, project_id, 0)
    };
    let (found, missing) = (rails(Root::Found("en".into(), refusal)), rails(Root::Missing));
    let named = rails(Root::Given("en".into()));
    bench
        .run(move |tx, now| {
            let expected = Expected::Tags(vec![get_project(tx, TENANT, project_id)?.source.etag()]);
            put_source_locale(tx, now, &actor(TENANT), project_id, &expected, spaces::given_locale("it")?)
        })
        .unwrap();
    assert_eq!(publish(&bench, found), Err(Refusal::Reader { code: "key_invalid", line: 2, column: 1 }));
    assert_eq!(
        publish(&bench, missing).unwrap().root_locale,
        "it",
        "a file without a root key has the one there is now"
    );
    // What the request named is nobody else's business.
    let named = PublishImport { path: "b.yml".into(), file_id: FileId(Uuid::from_u128(98)), ..named };
    assert_eq!(publish(&bench, named).unwrap().root_locale, "en");
    // And the other way round: from the first file on the source locale stays.
    let refused = bench.run(move |tx, now| {
        let expected = Expected::Tags(vec![get_project(tx, TENANT, project_id)?.source.etag()]);
        put_source_locale(tx, now, &actor(TENANT), project_id, &expected, spaces::given_locale("en")?)
    });
    assert!(matches!(refused, Err(Refusal::Conflict(_))), "{refused:?}");
}

#[test]
fn only_one_of_two_uploads_to_a_path_makes_a_version() {
    let (bench, _, project_id) = furnished();
    let (first, second) = (prepared(&bench, project_id, 0), prepared(&bench, project_id, 0));
    let second = PublishImport { file_id: FileId(Uuid::from_u128(98)), ..second };
    publish(&bench, first).unwrap();
    assert!(matches!(publish(&bench, second), Err(Refusal::Conflict(_))));
    let elsewhere = PublishImport { path: "b.json".into(), ..prepared(&bench, project_id, 1) };
    assert!(matches!(publish(&bench, elsewhere), Err(Refusal::Conflict(_))));
}

/// In version 1 pages did not say how many of their keys are active.
#[test]
fn catalogues_of_version_1_are_read() {
    let (bench, _, project_id) = furnished();
    publish(&bench, prepared(&bench, project_id, 0)).unwrap();
    let row = bench.store.read().get(&CATALOGUES, &(TENANT, FILE_ID)).unwrap().unwrap();
    let page = row.pages[0];
    let body = (row.version, row.value.clone(), vec![(page.first, page.offset, page.length)], row.next_number);
    let migrated = CatalogueRow::migrate(1, &encode_plain(&body).unwrap()).unwrap();
    assert_eq!(migrated.pages[0].active, None);
    let read = bench.store.read();
    assert_eq!(catalogue::find(&read, &Shelf::new(0), &migrated, 1).unwrap(), Some(entry()));
    assert!(CatalogueRow::migrate(7, &encode_plain(&body).unwrap()).is_err());
}

/// Many keys, whose texts name the version.
fn many(version: u32) -> Vec<KeyEntry> {
    let source = |number: u64| Source::Text(format!("text {number} of version {version}"));
    let entry = |number: u64| KeyEntry {
        number,
        path: format!("key.{number}"),
        source: source(number),
        source_version: version,
        is_obsolete: number.is_multiple_of(3),
    };
    (1..=2_000).map(entry).collect()
}

/// Publishes [`many`]; its catalogue.
fn publish_many(bench: &Bench, project_id: ProjectId, version: u32) -> CatalogueRow {
    let encoded = catalogue::encode(&many(version)).unwrap();
    assert!(encoded.pages.len() > 3, "{}", encoded.pages.len());
    let catalogue = large(bench, &encoded.bytes);
    let base = prepared(bench, project_id, version - 1);
    let command = PublishImport { catalogue, pages: encoded.pages, next_number: 2_001, keys: 1_334, ..base };
    publish(bench, command).unwrap();
    bench.store.read().get(&CATALOGUES, &(TENANT, FILE_ID)).unwrap().unwrap()
}

/// A page that is kept is not read again, and stands for its own version alone.
#[test]
fn keys_are_found_on_pages_that_are_kept() {
    let (bench, _, project_id) = furnished();
    let shelf = Shelf::new(4 << 20);
    let mut catalogues = Vec::new();
    for version in 1..=2 {
        catalogues.push(publish_many(&bench, project_id, version));
        let read = bench.store.read();
        for entry in many(version).into_iter().chain(many(version)) {
            let key_id = key_id(key_prefix(FILE_ID), entry.number);
            assert_eq!(get_key(&read, &shelf, TENANT, key_id).unwrap().entry, entry);
        }
        let none = get_key(&read, &shelf, TENANT, key_id(key_prefix(FILE_ID), 2_001));
        assert!(matches!(none, Err(Abort::Refused(Refusal::NotFound))));
        assert!(matches!(
            get_key(&read, &shelf, OTHER, key_id(key_prefix(FILE_ID), 1)),
            Err(Abort::Refused(Refusal::NotFound))
        ));
    }
    let value = catalogues[0].value.clone();
    bench.run(move |tx, now| Ok(release(tx, now, &value)?)).unwrap();
    while bench.run(|tx, now| Ok(collect(tx, now.plus_seconds(1), 100)?)).unwrap() > 0 {}
    let read = bench.store.read();
    for entry in many(1) {
        assert_eq!(catalogue::find(&read, &shelf, &catalogues[0], entry.number).unwrap(), Some(entry));
    }
    assert!(catalogue::find(&read, &Shelf::new(0), &catalogues[0], 1).is_err());
}

#[test]
fn a_walk_ends_where_it_is_told_to() {
    let (bench, _, project_id) = furnished();
    publish_many(&bench, project_id, 1);
    let read = bench.store.read();
    let walk = Walk::of(&read, TENANT, FILE_ID, None).unwrap();
    for (after, until) in
        [(0, 2_000), (0, u64::MAX), (0, 1), (500, 777), (776, 777), (1_999, 2_000), (2_000, 9_000), (5, 5)]
    {
        let (mut numbers, mut behind) = (Vec::new(), Some(after));
        while let Some(after) = behind {
            let (walked, next) = walk.next(&read, after, until).unwrap();
            numbers.extend(walked.into_iter().map(|walked| walked.entry.number));
            behind = next;
        }
        assert_eq!(numbers, (after + 1..=until.min(2_000)).collect::<Vec<_>>(), "{after} to {until}");
    }
}

/// A state of the store, and how many rows of it were scanned.
struct Counted<'s>(&'s Snapshot, std::cell::Cell<usize>);

impl Read for Counted<'_> {
    fn get<K: StoredKey, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
        self.0.get(table, key)
    }

    fn contains<K: StoredKey, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
        self.0.contains(table, key)
    }

    fn scan<K: StoredKey, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
        let rows = self.0.scan(table, scan)?;
        self.1.set(self.1.get() + rows.len());
        Ok(rows)
    }

    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        self.0.data_key(owner)
    }
}

/// Translations take up to 400 KB each: nobody reads those of keys that were not asked for.
#[test]
fn a_walk_reads_the_translations_of_its_keys_alone() {
    let (bench, _, project_id) = furnished();
    publish_many(&bench, project_id, 1);
    let locale = Locale::parse("de").unwrap();
    bench
        .run(|tx, now| {
            let locale = Locale::parse("de").unwrap();
            for entry in many(1) {
                let row = TranslationRow {
                    revision: 1,
                    state: ReviewState::Draft,
                    source_version: 1,
                    content: shaped(Wished::Text("x".into()), &entry.source, &locale)?,
                    origin: Some(Wording::Human),
                    updated_by: [1; 16],
                    updated_at: now,
                    approved: None,
                };
                tx.put(&TRANSLATIONS, &(TENANT, FILE_ID, "de".to_owned(), entry.number), &row)?;
            }
            Ok(())
        })
        .unwrap();
    let snapshot = bench.store.read();
    let walk = Walk::of(&snapshot, TENANT, FILE_ID, Some(&locale)).unwrap();
    for (after, until) in [(0, 16), (700, 703), (1_990, 2_000), (900, 1_100)] {
        let read = Counted(&snapshot, std::cell::Cell::new(0));
        let (walked, _) = walk.next(&read, after, until).unwrap();
        assert_eq!(walked.len() as u64, until - after);
        assert!(walked.iter().all(|walked| walked.row.is_some()));
        assert_eq!(read.1.get() as u64, until - after);
    }
}

/// What is on the shelf is copied on threads that serve everybody.
#[test]
fn a_page_of_a_very_long_key_is_not_kept() {
    let bench = shelved();
    let long = |number: u64, bytes: usize| KeyEntry { number, source: Source::Text("x".repeat(bytes)), ..entry() };
    let entries = [long(1, 10), long(2, 100 << 10), long(3, 200 << 10), long(4, 10)];
    let encoded = catalogue::encode(&entries).unwrap();
    repaged(&bench, &encoded);
    let row = bench.store.read().get(&CATALOGUES, &(TENANT, FILE_ID)).unwrap().unwrap();
    let shelf = Shelf::new(64 << 20);
    let find = |number: u64| catalogue::find(&bench.store.read(), &shelf, &row, number);
    for entry in &entries {
        assert_eq!(find(entry.number), Ok(Some(entry.clone())));
    }
    let value = row.value.clone();
    let give_away = move |tx: &mut WriteTx<'_>, now| {
        adopt(tx, now, &value).unwrap();
        Ok(release(tx, now, &value)?)
    };
    bench.run(give_away).unwrap();
    while bench.run(|tx, now| Ok(collect(tx, now.plus_seconds(1), 100)?)).unwrap() > 0 {}
    assert_eq!([1, 2, 3, 4].map(|number| find(number).is_ok()), [true, true, false, true]);
}

/// In version 1 an approval did not say what it came from.
#[test]
fn translations_of_version_1_are_read() {
    let content = shaped(Wished::Text("x".into()), &entry().source, &Locale::parse("de").unwrap()).unwrap();
    let now = quintet_storage::Timestamp::from_micros(5);
    let old = TranslationRowV1 {
        revision: 3,
        state: ReviewState::Approved,
        source_version: 1,
        content,
        origin: Some(Wording::Human),
        updated_by: [1; 16],
        updated_at: now,
        approved: Some((now, [2; 16])),
    };
    let read = TranslationRow::migrate(1, &encode_plain(&old).unwrap()).unwrap();
    assert_eq!(read.approved, Some(Approval { at: now, by: [2; 16], label: None, reference: None }));
    assert_eq!((read.revision, read.content), (3, old.content));
    assert!(TranslationRow::migrate(9, &[]).is_err());
}

/// Puts pages in the place of those that a file has.
fn repaged(bench: &Bench, encoded: &catalogue::Encoded) {
    let (value, pages) = (large(bench, &encoded.bytes), encoded.pages.clone());
    bench
        .run(move |tx, _| {
            let row = tx.get(&CATALOGUES, &(TENANT, FILE_ID))?.unwrap();
            Ok(tx.put(&CATALOGUES, &(TENANT, FILE_ID), &CatalogueRow { value, pages, ..row })?)
        })
        .unwrap();
}

fn project_of(bench: &Bench) -> ProjectId {
    bench.store.read().scan(&FILES, Scan::all()).unwrap()[0].0.1
}

#[test]
fn pages_without_active_keys_are_passed_over_unread() {
    let bench = shelved();
    let project_id = project_of(&bench);
    let mut encoded = catalogue::encode(&[entry()]).unwrap();
    encoded.pages[0].active = Some(0);
    // Whoever reads it finds damage.
    encoded.pages[0].offset = 1 << 40;
    repaged(&bench, &encoded);
    let list = || list_keys(&bench.store.read(), TENANT, project_id, None, 50);
    assert_eq!(list(), Ok(KeyPage::default()));
    encoded.pages[0].active = Some(1);
    repaged(&bench, &encoded);
    assert!(list().is_err());
}

#[test]
fn a_page_of_keys_looks_at_a_bounded_part_of_what_there_is() {
    let bench = shelved();
    let project_id = project_of(&bench);
    let source = Source::Text("x".repeat(200));
    let gone =
        |number| KeyEntry { number, path: format!("k{number}"), source: source.clone(), is_obsolete: true, ..entry() };
    let mut entries: Vec<KeyEntry> = (1..100_000).map(gone).collect();
    entries.push(KeyEntry { number: 100_000, ..entry() });
    let mut encoded = catalogue::encode(&entries).unwrap();
    assert!(encoded.bytes.len() > 20 << 20);
    // As version 1 of the row had them.
    encoded.pages.iter_mut().for_each(|page| page.active = None);
    repaged(&bench, &encoded);
    let (mut after, mut found, mut pages) = (None, Vec::new(), 0);
    loop {
        let page = list_keys(&bench.store.read(), TENANT, project_id, after, 50).unwrap();
        found.extend(page.keys.into_iter().map(|key| key.entry.number));
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, [100_000]);
    assert!((3..6).contains(&pages), "{pages} pages");
}

/// Context of keys, some of it long: of more than one page.
fn told() -> Vec<KeyContext> {
    let one = |number: usize| KeyContext {
        path: format!("key.{number}"),
        class: Some(KeyClass::Legal),
        context: Some("c".repeat(number % 500)),
        min_length: None,
        max_length: u32::try_from(number).ok(),
    };
    let mut all: Vec<KeyContext> = (0..1500).map(one).collect();
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

/// Stores that as a file's context, in pages or as one.
fn telling(bench: &Bench, version: u64, bytes: &[u8], pages: Vec<ContextPageRow>) -> KeyContextsRow {
    let row = KeyContextsRow { version, value: large(bench, bytes), pages };
    let stored = row.clone();
    bench.run(move |tx, _| Ok(tx.put(&KEY_CONTEXTS, &(TENANT, FILE_ID), &stored)?)).unwrap();
    row
}

#[test]
fn context_is_found_by_the_path_of_its_key() {
    let bench = shelved();
    let shelf = Shelf::new(1 << 20);
    let found = |path: &str| find_context(&bench.store.read(), &shelf, TENANT, FILE_ID, path).unwrap();
    let version = || get_contexts(&bench.store.read(), TENANT, FILE_ID).unwrap().version;
    assert_eq!((found("key.7"), version()), (None, 0));
    let encoded = context_pages::encode(told()).unwrap();
    assert!(encoded.pages.len() > 3);
    telling(&bench, 1, &encoded.bytes, encoded.pages);
    assert_eq!(get_contexts(&bench.store.read(), TENANT, FILE_ID).unwrap().all, told(), "in the order of paths");
    // Once from the store, once from the shelf.
    for context in told().into_iter().chain(told()) {
        assert_eq!(found(&context.path), Some(context));
    }
    assert_eq!((found("key.1500"), found(""), version()), (None, None, 1));
    // What replaces it is seen at once.
    let other = vec![KeyContext { context: None, ..told().remove(0) }];
    let encoded = context_pages::encode(other.clone()).unwrap();
    telling(&bench, 2, &encoded.bytes, encoded.pages);
    assert_eq!((found(&other[0].path), found("key.7"), version()), (other.first().cloned(), None, 2));
    assert!(find_context(&bench.store.read(), &shelf, OTHER, FILE_ID, &other[0].path).unwrap().is_none());
}

/// In version 1 there were no pages, and what is told lay in the order of paths.
#[test]
fn context_of_version_1_is_read() {
    let bench = shelved();
    let shelf = Shelf::new(4 << 20);
    let row = telling(&bench, 3, &encode_plain(&told()).unwrap(), Vec::new());
    assert_eq!(KeyContextsRow::migrate(1, &encode_plain(&(3_u64, row.value.clone())).unwrap()).unwrap(), row);
    assert!(KeyContextsRow::migrate(3, &encode_plain(&(3_u64, row.value.clone())).unwrap()).is_err());
    let read = bench.store.read();
    assert_eq!(get_contexts(&read, TENANT, FILE_ID).unwrap(), Contexts { version: 3, all: told() });
    for context in told() {
        assert_eq!(find_context(&read, &shelf, TENANT, FILE_ID, &context.path).unwrap(), Some(context));
    }
    assert_eq!(find_context(&read, &shelf, TENANT, FILE_ID, "key.1500").unwrap(), None);
}
