//! How much of a file is opened to judge it anew.

use std::cell::Cell;
use std::collections::BTreeMap;

use quintet_storage::large::CHUNK_BYTES;
use quintet_storage::seal::{DataKey, KeyOwner};
use quintet_storage::{Failure, Key, Read, Row, Scan, Snapshot, Table};

use super::world::World;
use crate::content::rejudge::REJUDGES;
use crate::content::{KeyEntry, get_catalogue};
use crate::figures::pass::{apply, look};
use crate::figures::verify;
use crate::terms::EntryKind;
use crate::testing::TENANT;

const LOCALES: [&str; 8] = ["de", "fr", "it", "es", "pt", "nl", "pl", "cs"];

/// A state of the store, and how many chunks of large values were read of it.
struct Counted<'s>(&'s Snapshot, Cell<usize>);

impl Read for Counted<'_> {
    fn get<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<Option<V>, Failure> {
        self.1.set(self.1.get() + usize::from(table.spec().name == "large_chunks"));
        self.0.get(table, key)
    }

    fn contains<K: Key, V: Row>(&self, table: &Table<K, V>, key: &K) -> Result<bool, Failure> {
        self.0.contains(table, key)
    }

    fn scan<K: Key, V: Row>(&self, table: &Table<K, V>, scan: Scan<K>) -> Result<Vec<(K, V)>, Failure> {
        self.0.scan(table, scan)
    }

    fn data_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        self.0.data_key(owner)
    }
}

/// Works off all there is; how many chunks were read meanwhile, and in how many looks.
async fn settle(world: &World) -> (usize, usize) {
    let (mut chunks, mut looks) = (0, 0);
    while let Some((key, row)) = world.read().scan(&REJUDGES, Scan::all().limit(1)).unwrap().pop() {
        let snapshot = world.read();
        let counted = Counted(&snapshot, Cell::new(0));
        let steps = look(&counted, &world.context.shelf, key, row).unwrap().steps();
        (chunks, looks) = (chunks + counted.1.get(), looks + 1);
        for step in steps {
            world.write(move |tx, _| Ok(apply(tx, step)?)).await.unwrap();
        }
    }
    (chunks, looks)
}

/// A file of two megabytes, of which next to nothing is translated, into some locales: whatever the rules come to say, it is
/// opened once for all of them at most, and after that no page but those that matter.
#[tokio::test]
async fn a_file_is_not_opened_for_each_locale() {
    let world = World::open();
    let text = |at: usize| match at {
        3 => "A word".to_owned(),
        7_000 => "The quintet plays".to_owned(),
        _ => format!("Text {at} {}", "of the settings page, and what happens when it is switched on".repeat(2)),
    };
    let texts: BTreeMap<String, String> = (0..15_000).map(|at| (format!("key.{at:05}"), text(at))).collect();
    let file_id = world.upload("a.json", &texts).await;
    let file = world.files().remove(0);
    let catalogue = get_catalogue(&world.read(), TENANT, file_id).unwrap();
    let whole = usize::try_from(catalogue.value.size_bytes).unwrap().div_ceil(CHUNK_BYTES);
    assert!(whole > 6, "{whole}");
    let entries = world.entries(file_id);
    let of_path = |path: &str| entries.iter().find(|entry| entry.path == path).cloned().unwrap();
    let translated: Vec<KeyEntry> = ["key.00003", "key.07000"].map(of_path).into();
    for locale in LOCALES {
        for (entry, text) in translated.iter().zip(["Ein Wort", "Fünf spielen"]) {
            assert!(world.put(world.judged(world.key(&file, entry.clone()), locale, text)).await);
        }
    }
    settle(&world).await;
    // A look that was cut short reads a chunk again where it goes on.
    let of_locales = |pages: usize, looks: usize| LOCALES.len() * pages + looks;

    world.term(EntryKind::DoNotTranslate, None, "quintet", "").await.unwrap();
    let (chunks, looks) = settle(&world).await;
    assert!(chunks <= whole + of_locales(1, looks), "{chunks} of {whole} in {looks}");
    assert_eq!(world.check_stats(), LOCALES.len(), "the word is missing in each");

    // Once it is known where a text is, another locale asks no more than that.
    world.term(EntryKind::Forbidden, None, "wort", "").await.unwrap();
    let (chunks, looks) = settle(&world).await;
    assert!(chunks <= whole + of_locales(1, looks), "{chunks} of {whole} in {looks}");
    assert_eq!(world.check_stats(), 2 * LOCALES.len());

    world.register("*", true).await;
    let (chunks, looks) = settle(&world).await;
    assert!(chunks <= of_locales(2, looks), "{chunks} of {whole} in {looks}");
    assert_eq!(verify(&world.read()), Ok(Vec::new()));
    world.check_stats();
}
