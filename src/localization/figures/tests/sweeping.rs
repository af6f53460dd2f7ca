//! Who works off what is to be judged anew, and who waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use quintet_platform::jobs::{Job as _, Progress};
use quintet_storage::{Failure, Read as _, Scan};

use super::world::World;
use crate::content::rejudge::{Cause, ChangedTerm, REJUDGES, TermPlace, note, settled, stamp};
use crate::content::{CATALOGUES, FileId};
use crate::figures::list::{Filter, WantedState};
use crate::figures::sweep::Rejudging;
use crate::figures::tables::CountedState;
use crate::figures::verify;
use crate::terms::{EntryKind, IMPORT_ENTRIES_MAX, Wording, import_entries};
use crate::testing::{TENANT, actor};

/// A file with a translation of each of so many keys.
async fn translated(keys: usize) -> (World, FileId, BTreeMap<String, String>) {
    let world = World::open();
    let texts: BTreeMap<String, String> = (0..keys).map(|at| (format!("key.{at:03}"), format!("Text {at}"))).collect();
    let file_id = world.upload("a.json", &texts).await;
    let file = world.files().remove(0);
    for entry in world.entries(file_id) {
        assert!(world.put(world.judged(world.key(&file, entry), "de", "Text")).await);
    }
    (world, file_id, texts)
}

#[tokio::test]
async fn what_is_left_is_worked_off_look_by_look() {
    let (world, _, texts) = translated(300).await;
    // All sources are other ones.
    let texts = texts.into_iter().map(|(path, text)| (path, text + "!")).collect();
    world.upload("a.json", &texts).await;
    let job = Rejudging::new(world.context.clone());
    assert!(job.next_due().unwrap().is_some());
    while job.slice().await.unwrap() == Progress::More {}
    assert_eq!(job.next_due(), Ok(None));
    world.check_stats();
    assert_eq!(verify(&world.read()), Ok(Vec::new()));
    let filter = Filter { state: Some(WantedState::Counted(CountedState::Outdated)), ..Filter::default() };
    assert_eq!(world.check_list(&filter, 500), 300);
}

/// Compiling what the largest glossary says takes longer than a look has, and more room than the shelf, where there are
/// some locales of it: a look comes further all the same, and lets others have their turn behind each locale.
#[tokio::test]
async fn the_largest_glossary_is_judged_a_locale_at_a_time() {
    const LOCALES: [&str; 12] = ["de", "fr", "it", "es", "pt", "nl", "pl", "cs", "sv", "da", "fi", "hu"];
    let (world, file_id, _) = translated(1).await;
    let file = world.files().remove(0);
    for locale in LOCALES {
        let entry = world.entries(file_id).remove(0);
        assert!(world.put(world.judged(world.key(&file, entry), locale, "Text")).await);
    }
    let project_id = world.project_id;
    for batch in 0..20 {
        let wording = |at: usize| Wording {
            kind: EntryKind::DoNotTranslate,
            locale: None,
            source: Some(format!("number {} of all the terms that take room", batch * IMPORT_ENTRIES_MAX + at)),
            target: None,
            note: None,
        };
        let wordings = (0..IMPORT_ENTRIES_MAX).map(wording).collect();
        world.write(move |tx, now| import_entries(tx, now, &actor(TENANT), project_id, wordings)).await.unwrap();
    }
    world.register("*", true).await;
    let job = Rejudging::new(world.context.clone());
    let mut slices = 0;
    while job.slice().await.unwrap() == Progress::More {
        slices += 1;
        assert!(slices < 200, "it comes no further");
    }
    // At least the two causes in each of two locales for itself.
    assert!(slices > 3, "{slices}");
    assert_eq!(job.next_due(), Ok(None));
    assert_eq!(verify(&world.read()), Ok(Vec::new()));
}

#[tokio::test]
async fn a_project_that_cannot_be_judged_is_left_alone_for_a_while() {
    let (world, file_id, _) = translated(1).await;
    let project_id = world.project_id;
    world
        .write(move |tx, now| {
            tx.delete(&CATALOGUES, &(TENANT, file_id));
            Ok(note(tx, now, TENANT, project_id, Cause::Register(None))?)
        })
        .await
        .unwrap();
    let job = Rejudging::new(world.context.clone());
    assert!(matches!(job.slice().await, Err(Failure::Damaged(_))));
    assert_eq!(job.slice().await, Ok(Progress::Rest));
    assert!(job.next_due().unwrap().unwrap() > world.context.clock.now());
}

#[tokio::test]
async fn lists_wait_for_the_pass_and_no_longer_than_they_must() {
    let (mut world, _, _) = translated(1).await;
    let project_id = world.project_id;
    let wait = |millis| settled(&world.bench.store, TENANT, project_id, Duration::from_millis(millis));
    assert!(wait(0).await.unwrap().is_some());
    let before = stamp(&world.read(), TENANT, project_id).unwrap();
    world.write(move |tx, now| Ok(note(tx, now, TENANT, project_id, Cause::Register(None))?)).await.unwrap();
    assert_ne!(stamp(&world.read(), TENANT, project_id).unwrap(), before);
    assert!(wait(30).await.unwrap().is_none());
    world.settle().await;
    let read = settled(&world.bench.store, TENANT, project_id, Duration::from_millis(30)).await.unwrap();
    assert!(read.is_some());
}

#[tokio::test]
async fn causes_of_many_terms_are_worked_off_as_one() {
    let (world, _, _) = translated(20).await;
    let project_id = world.project_id;
    let noted = |world: &World| -> Vec<Cause> {
        let rows = world.read().scan(&REJUDGES, Scan::prefix(&(TENANT, project_id))).unwrap();
        rows.into_iter().map(|(_, row)| row.cause).collect()
    };
    for text in ["Text", "text 7", "nothing"] {
        world.term(EntryKind::Forbidden, Some("de"), text, "").await.unwrap();
    }
    let stays = Cause::Register(Some("fr".into()));
    let last = stays.clone();
    world.write(move |tx, now| Ok(note(tx, now, TENANT, project_id, last)?)).await.unwrap();
    assert_eq!(noted(&world).len(), 4);
    let job = Rejudging::new(world.context.clone());
    assert_eq!(job.slice().await, Ok(Progress::More));
    let [Cause::Terms(terms), others] = &noted(&world)[..] else { panic!("{:?}", noted(&world)) };
    assert_eq!((terms.len(), others), (3, &stays));
    while job.slice().await.unwrap() == Progress::More {}
    assert_eq!(world.check_stats(), 20, "each has a word that is forbidden");
    // Of very many it is not asked any more where they are.
    let term = |at: usize| ChangedTerm { locale: Some("de".into()), place: TermPlace::Target, text: format!("x{at}") };
    for _ in 0..2 {
        let cause = Cause::Terms((0..600).map(term).collect());
        world.write(move |tx, now| Ok(note(tx, now, TENANT, project_id, cause)?)).await.unwrap();
    }
    assert_eq!(job.slice().await, Ok(Progress::More));
    assert_eq!(noted(&world), [Cause::Register(Some("de".into()))]);
}
