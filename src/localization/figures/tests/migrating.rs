//! A directory whose translations have no verdicts.

use std::collections::BTreeMap;

use quintet_storage::{Read as _, Row, Scan, Table};

use super::world::World;
use crate::content::rejudge::{REJUDGES, STAMPS};
use crate::content::{FILES, FileId, FileRowBefore2};
use crate::figures::tables::{FIGURES, VERDICTS};
use crate::figures::{MIGRATIONS, verify};
use crate::model::{FAMILY, ProjectId, TenantId};
use crate::review::{Step, StepWish};

impl Row for FileRowBefore2 {}

/// Files as they were stored before version 2 of their rows.
const OLD_FILES: Table<(TenantId, ProjectId, FileId), FileRowBefore2> =
    Table::new(0x0320, FAMILY, "localization_files");

/// A project of format 2: two files, one with translations, of which one is approved, one outdated, one obsolete.
async fn old_world() -> World {
    let mut world = World::open();
    let texts = |sources: &[(&str, &str)]| -> BTreeMap<String, String> {
        sources.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    };
    let file_id = world.upload("a.json", &texts(&[("a", "One two"), ("b", "Three"), ("c", "Four")])).await;
    world.upload("b.json", &texts(&[("a", "Five six seven")])).await;
    let file = world.files().into_iter().find(|file| file.file_id == file_id).unwrap();
    for entry in world.entries(file_id) {
        assert!(world.put(world.judged(world.key(&file, entry), "de", "Text")).await);
    }
    let first = world.entries(file_id).remove(0);
    for step in [Step::Review, Step::Approve] {
        let wish = StepWish { step, revision: None };
        world.step(world.moved(world.key(&file, first.clone()), "de", wish)).await;
    }
    world.upload("a.json", &texts(&[("a", "One two"), ("b", "Three!")])).await;
    world.settle().await;
    world
        .write(|tx, _| {
            for (key, row) in tx.scan(&FILES, Scan::all())? {
                let old = FileRowBefore2 {
                    path: row.path,
                    format: row.format,
                    root_locale: row.root_locale,
                    version: row.version,
                    key_prefix: row.key_prefix,
                    sha256: row.sha256,
                    size_bytes: row.size_bytes,
                    keys: row.keys,
                    created_at: row.created_at,
                    updated_at: row.updated_at,
                };
                tx.put(&OLD_FILES, &key, &old)?;
            }
            tx.scan(&VERDICTS, Scan::all())?.into_iter().for_each(|(key, _)| tx.delete(&VERDICTS, &key));
            tx.scan(&FIGURES, Scan::all())?.into_iter().for_each(|(key, _)| tx.delete(&FIGURES, &key));
            tx.scan(&STAMPS, Scan::all())?.into_iter().for_each(|(key, _)| tx.delete(&STAMPS, &key));
            Ok(())
        })
        .await
        .unwrap();
    world
}

#[tokio::test]
async fn translations_of_format_2_get_their_verdicts() {
    let mut world = old_world().await;
    let read = world.read();
    assert!(read.scan(&FILES, Scan::all()).unwrap().iter().all(|(_, row)| row.words.is_none()));
    let findings = verify(&read).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("it has no figures")), "{findings:?}");
    drop(read);
    // It may be killed and run again.
    assert_eq!(MIGRATIONS[0].run_on(&world.bench.store), Ok(2));
    for migration in MIGRATIONS {
        assert_eq!(migration.run_on(&world.bench.store), Ok(0), "each file is noted once");
    }
    assert_eq!(verify(&world.read()), Ok(Vec::new()), "nothing is said of what is to be judged anew");
    // Somebody writes before it is done.
    let file = world.files().into_iter().find(|file| file.path == "a.json").unwrap();
    let second = world.entries(file.file_id).remove(1);
    assert!(world.put(world.judged(world.key(&file, second), "de", "Neu")).await);
    world.settle().await;
    assert_eq!(verify(&world.read()), Ok(Vec::new()));
    world.check_stats();
    assert_eq!(MIGRATIONS[0].run_on(&world.bench.store), Ok(0));
    assert!(world.read().scan(&REJUDGES, Scan::all()).unwrap().is_empty());
}

#[tokio::test]
async fn what_checks_said_before_they_changed_is_judged_anew() {
    let mut world = old_world().await;
    assert_eq!(MIGRATIONS[0].run_on(&world.bench.store), Ok(2));
    world.settle().await;
    assert_eq!(MIGRATIONS[0].run_on(&world.bench.store), Ok(0), "there is nothing left of that kind");
    let all = |world: &World| {
        let read = world.read();
        (read.scan(&VERDICTS, Scan::all()).unwrap(), read.scan(&FIGURES, Scan::all()).unwrap())
    };
    let right = all(&world);
    for migration in &MIGRATIONS[1..] {
        // What a check said that has changed: of one translation that it fails, and of the figures that count it.
        world
            .write(|tx, _| {
                let (key, mut row) = tx.scan(&VERDICTS, Scan::all())?.remove(0);
                row.slots.iter_mut().find(|slot| slot.failing == 0).unwrap().failing = 1;
                tx.put(&VERDICTS, &key, &row)?;
                let (key, mut row) = tx.scan(&FIGURES, Scan::all())?.remove(0);
                (row.blocking, row.checks[0]) = (row.blocking + 1, row.checks[0] + 1);
                Ok(tx.put(&FIGURES, &key, &row)?)
            })
            .await
            .unwrap();
        assert_ne!(all(&world), right);
        assert_eq!(migration.run_on(&world.bench.store), Ok(2), "all files, whatever has been counted of them");
        assert_eq!(world.read().scan(&REJUDGES, Scan::all()).unwrap().len(), 2);
        world.settle().await;
        assert_eq!(all(&world), right);
    }
    assert_eq!(verify(&world.read()), Ok(Vec::new()));
    world.check_stats();
}

#[tokio::test]
async fn verdicts_that_are_not_those_of_translations_are_found() {
    let mut world = old_world().await;
    assert_eq!(MIGRATIONS[0].run_on(&world.bench.store), Ok(2));
    world.settle().await;
    world
        .write(|tx, _| {
            let (key, mut row) = tx.scan(&VERDICTS, Scan::all())?.remove(0);
            row.slots[0].failing ^= 1;
            row.slots[1].words += 1;
            Ok(tx.put(&VERDICTS, &key, &row)?)
        })
        .await
        .unwrap();
    let findings = verify(&world.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("its verdicts sum up to")), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.contains("is counted as") || finding.contains("and counted as")));
    world
        .write(|tx, _| {
            tx.scan(&FIGURES, Scan::all())?.into_iter().for_each(|(key, _)| tx.delete(&FIGURES, &key));
            Ok(())
        })
        .await
        .unwrap();
    let findings = verify(&world.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("of which figures know 0")), "{findings:?}");
}

#[test]
fn rows_of_another_version_are_damage() {
    use crate::content::FileRow;
    assert!(FileRow::migrate(7, &[]).is_err());
}
