//! Releases of a project that is worked on: what is in them, what is left of those that are not published, and whether
//! damage is found.

use std::collections::BTreeMap;
use std::sync::Arc;

use quintet_storage::large::{collect, next_deadline};
use quintet_storage::{Read as _, Scan, Snapshot};

use crate::content::{State, read_part};
use crate::figures::approved_locales;
use crate::figures::tests::world::World;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::releases::make::{attempt, make_release};
use crate::releases::manifest::read_page;
use crate::releases::model::{Entry, Release};
use crate::releases::publish::{PublishRelease, publish_release};
use crate::releases::tables::{RELEASES, RELEASES_BY_PROJECT, ReleaseMarkRow, ReleaseRow};
use crate::releases::verify;
use crate::releases::withdraw::withdraw_release;
use crate::review::{Step, StepWish};
use crate::testing::{OTHER, TENANT, actor};

/// A file with these texts, the values of the keys.
async fn upload(world: &World, path: &str, texts: &[(&str, &str)]) {
    let texts: BTreeMap<String, String> = texts.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
    world.upload(path, &texts).await;
}

/// Writes a text in a locale and approves it.
async fn approve(world: &World, path: &str, key: &str, locale: &str, text: &str) {
    let file = world.files().into_iter().find(|file| file.path == path).unwrap();
    let entry = world.entries(file.file_id).into_iter().find(|entry| entry.path == key).unwrap();
    let key = world.key(&file, entry);
    assert!(world.put(world.judged(key.clone(), locale, text)).await);
    for step in [Step::Review, Step::Approve] {
        world.step(world.moved(key.clone(), locale, StepWish { step, revision: None })).await;
    }
}

/// A project with two files, some of which is approved in German and in Austria's.
async fn world() -> World {
    let world = World::open();
    upload(&world, "b.json", &[("x", "one"), ("y", "two")]).await;
    upload(&world, "a/c.json", &[("z", "three")]).await;
    approve(&world, "b.json", "x", "de", "eins").await;
    approve(&world, "a/c.json", "z", "de-AT", "drei").await;
    world
}

/// Everything a value holds.
fn content(world: &World, value: &quintet_storage::large::LargeValue) -> Vec<u8> {
    read_part(&world.read(), value, 0, u32::try_from(value.size_bytes).unwrap()).unwrap()
}

fn entries(read: &Snapshot, command: &PublishRelease) -> Vec<Entry> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some((page, next)) = read_page(read, &command.manifest, at).unwrap() {
        all.extend(page);
        at = next;
    }
    all
}

async fn release(world: &World) -> Release {
    let (command, _staged) = make_release(&world.context, TENANT, world.project_id).await.unwrap();
    world.write(move |tx, now| publish_release(tx, now, &actor(TENANT), command)).await.unwrap()
}

#[tokio::test]
async fn a_release_read_from_a_checkpoint_is_the_same() {
    let world = world().await;
    let project = (TENANT, world.project_id);
    let turn = Arc::new(());
    let Ok((short, _one)) = attempt(&world.context.store, project, false, &turn).await else { panic!() };
    let Ok((long, _other)) = attempt(&world.context.store, project, true, &turn).await else { panic!() };
    assert_eq!(content(&world, &short.archive), content(&world, &long.archive));
    assert_eq!(content(&world, &short.manifest), content(&world, &long.manifest));
    assert_eq!((short.sha256, short.entries, short.files, short.locales), (long.sha256, 4, 2, 2));
    assert_eq!(short.sha256, quintet_platform::secrets::digest(&content(&world, &short.archive)));
    // `-` comes before `/`.
    let names: Vec<String> = entries(&world.read(), &short).into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["de-AT/a/c.json", "de-AT/b.json", "de/a/c.json", "de/b.json"]);
}

/// Localization, Z1 and Z3: one event for a release, none of an export, and ids, numbers and digests in it.
#[tokio::test]
async fn a_release_leaves_one_event_and_withdrawing_it_another() {
    let world = world().await;
    let events = || crate::audit::events_after(&world.read(), TENANT, 0, 1000).unwrap();
    let before = events().len();
    let made = release(&world).await;
    for _ in 0..2 {
        let (id, told) = (made.release_id, made.clone());
        let withdrawn = world.write(move |tx, now| withdraw_release(tx, now, &actor(TENANT), id)).await.unwrap();
        assert_eq!(Release { withdrawn_at: None, ..withdrawn.clone() }, told);
        assert!(withdrawn.withdrawn_at.is_some());
    }
    let events: Vec<(String, String, String)> =
        events().into_iter().skip(before).map(|(_, row)| (row.action, row.target_id, row.payload)).collect();
    let (id, project_id) = (made.release_id.0.to_string(), world.project_id.0.to_string());
    let sha256 = data_encoding::HEXLOWER.encode(&made.sha256);
    let payload = format!(
        r#"{{"entries":4,"files":2,"locales":2,"project_id":"{project_id}","sha256":"{sha256}","size":{}}}"#,
        made.size_bytes
    );
    let withdrawn = format!(r#"{{"project_id":"{project_id}","sha256":"{sha256}"}}"#);
    assert_eq!(events, [("release".into(), id.clone(), payload), ("release.withdrawn".into(), id, withdrawn)]);
    let foreign = world.write(move |tx, now| withdraw_release(tx, now, &actor(OTHER), made.release_id)).await;
    assert_eq!(foreign, Err(Refusal::NotFound));
}

/// Whatever ends between making and publishing leaves nothing.
#[tokio::test]
async fn what_is_not_published_goes() {
    let world = world().await;
    let made = make_release(&world.context, TENANT, world.project_id).await.unwrap();
    drop(made);
    // And one that nobody waits for to its end.
    let (context, project_id) = (world.context.clone(), world.project_id);
    let abandoned = tokio::spawn(async move { make_release(&context, TENANT, project_id).await.map(drop) });
    tokio::task::yield_now().await;
    abandoned.abort();
    let _ = abandoned.await;
    // Behind what was given to the collector.
    let made = release(&world).await;
    let before = world.read().time();
    loop {
        let left = world.write(|tx, now| Ok(collect(tx, now, 100)?)).await.unwrap();
        let next = next_deadline(&world.read()).unwrap();
        if left == 0 && next.is_none() {
            break;
        }
        assert!(next.is_none_or(|at| at <= before.plus_seconds(10)), "it goes at once, not at its deadline");
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(verify(&world.read()), Ok(Vec::new()), "what was published stays");
    assert_eq!(world.read().scan(&RELEASES, Scan::all()).unwrap().len(), 1);
    assert_eq!(made.entries, 4);
}

/// Figures tell in which locales something is approved, and while they are out of date translations do: the same, and
/// what is so now.
#[tokio::test]
async fn the_locales_are_those_of_now_whether_or_not_figures_are() {
    let mut world = world().await;
    approve(&world, "b.json", "y", "fr", "deux").await;
    let told = |world: &World| approved_locales(&world.read(), TENANT, world.project_id).unwrap();
    assert_eq!(told(&world), ["de", "de-AT", "fr"]);
    // Another source makes German outdated, a key that is gone takes Austria's along; the figures do not know yet.
    upload(&world, "b.json", &[("x", "one!"), ("y", "two")]).await;
    upload(&world, "a/c.json", &[("w", "four")]).await;
    assert_eq!(told(&world), ["fr"]);
    let made = release(&world).await;
    assert_eq!((made.files, made.locales, made.entries), (2, 1, 2));
    world.settle().await;
    assert_eq!(told(&world), ["fr"]);
    assert!(world.told(None).iter().any(|told| told.state() == State::Outdated));
    assert_eq!(release(&world).await.sha256, made.sha256);
}

#[tokio::test]
async fn every_damage_is_found() {
    type Harm = fn(&mut ReleaseRow, &ReleaseRow);
    let harms: [(&str, Harm); 6] = [
        ("is not what its digest says", |row, _| row.sha256[0] ^= 1),
        ("has 4 entries and it says 5", |row, _| row.entries += 1),
        ("entry 4 of its archive is not", |row, other| row.archive = other.archive.clone()),
        ("entry 4 of its archive is no", |row, other| row.manifest = other.manifest.clone()),
        ("its archive is not what was stored", |row, _| row.archive.sha256[0] ^= 1),
        ("its manifest is not what was stored", |row, _| row.manifest.sha256[0] ^= 1),
    ];
    for (expected, harm) in harms {
        let world = world().await;
        let first = release(&world).await;
        approve(&world, "b.json", "y", "de", "zwei").await;
        let other = release(&world).await.release_id;
        assert_eq!(verify(&world.read()), Ok(Vec::new()), "{expected}");
        let harmed = world.write(move |tx, _| {
            let other = tx.get(&RELEASES, &(TENANT, other))?.unwrap();
            let mut row = tx.get(&RELEASES, &(TENANT, first.release_id))?.unwrap();
            harm(&mut row, &other);
            Ok(tx.put(&RELEASES, &(TENANT, first.release_id), &row)?)
        });
        harmed.await.unwrap();
        let findings = verify(&world.read()).unwrap().join("\n");
        assert!(findings.contains(expected), "{expected}: {findings}");
    }
    let world = world().await;
    let made = release(&world).await;
    let project_id = world.project_id;
    let unlisted = world.write(move |tx, _| {
        tx.delete(&RELEASES_BY_PROJECT, &(TENANT, project_id, made.release_id));
        let nobody = TenantId(quintet_storage::Uuid::nil());
        Ok(tx.put(&RELEASES_BY_PROJECT, &(nobody, project_id, made.release_id), &ReleaseMarkRow)?)
    });
    unlisted.await.unwrap();
    let findings = verify(&world.read()).unwrap().join("\n");
    assert!(findings.contains("missing from its project's list"), "{findings}");
}
