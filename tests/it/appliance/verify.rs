//! `quintet verify` and salvage on the real binary: running, stopped, copied, damaged.

use std::path::{Path, PathBuf};
use std::process::Command;

use quintet_platform::clock::Clock;
use quintet_storage::bincode::{Decode, Encode};
use quintet_storage::{Abort, Family, Row, Store, StoreOptions, Table, Uuid};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::appliance::backup::{accepted, refused, restore, run_on};
use crate::support::appliance::{Appliance, Setup, stderr, stdout};

/// An appliance with some tenants, and the directory it lives in.
fn appliance() -> (tempfile::TempDir, PathBuf, Appliance) {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    (0..5).for_each(|_| drop(appliance.tenant()));
    (parent, data, appliance)
}

/// A stopped directory with a checkpoint below its last transactions.
fn stopped() -> (tempfile::TempDir, PathBuf) {
    let (parent, data, appliance) = appliance();
    accepted(&appliance.cli(&["verify"]));
    appliance.tenant();
    assert_eq!(appliance.stop(), Some(0));
    (parent, data)
}

fn verify(data: &Path) -> std::process::Output {
    run_on(&[&"verify", &"--data", &data])
}

fn salvage(data: &Path, destination: &Path) -> std::process::Output {
    run_on(&[&"verify", &"--data", &data, &"--salvage", &destination])
}

/// Changes one byte without making a new file; a hard link to it shows the change as well.
fn flip(file: &Path, at: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[at] ^= 0x10;
    std::fs::write(file, bytes).unwrap();
}

fn files(place: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    found
}

fn largest(files: Vec<PathBuf>) -> PathBuf {
    files.into_iter().max_by_key(|file| std::fs::metadata(file).unwrap().len()).unwrap()
}

fn checkpoints(data: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(data.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn what_is_sound_is_told_whether_or_not_it_runs() {
    let (parent, data, appliance) = appliance();
    let running = appliance.cli_json(&["verify"]);
    assert_eq!((&running["state"], &running["sound"]), (&"running".into(), &true.into()));
    assert_eq!(running["last_lsn"], appliance.cli_json(&["status"])["storage"]["lsn"]);
    let parts: Vec<_> =
        running["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert!(parts.starts_with(&["log", "checkpoints", "tables", "platform"]), "{parts:?}");
    let backup = parent.path().join("backup");
    accepted(&appliance.cli(&["backup", "create", backup.to_str().unwrap()]));
    assert_eq!(appliance.stop(), Some(0));
    let copy = parent.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(&data).arg(&copy).status().unwrap().success());
    for place in [&data, &copy, &backup] {
        let text = accepted(&verify(place));
        assert!(text.starts_with("WHAT ") && text.contains("\nSound, up to transaction "), "{text}");
        assert_eq!(text.contains("note: this is a copy"), place != &data, "{text}");
    }
    let output = run_on(&[&"verify", &"--json", &"--data", &data]);
    let told: Value = serde_json::from_str(&accepted(&output)).unwrap();
    assert_eq!((&told["state"], &told["findings"]), (&"stopped".into(), &serde_json::json!([])));
    assert_eq!(stderr(&output), "", "nothing but JSON is said");
    assert_eq!(told["parts"].as_array().unwrap().last().unwrap()["name"], "root key");
    // Verifying changes nothing: it starts as before.
    assert_eq!(Setup::new().on(&data).start().stop(), Some(0));
}

#[test]
fn each_kind_of_damage_is_found_with_its_place_and_cure() {
    let (parent, data) = stopped();
    let copy = |name: &str| {
        // Renamed into place, the directory stays the original it knows itself to be.
        let place = parent.path().join(name);
        assert!(Command::new("cp").arg("-a").arg(&data).arg(&place).status().unwrap().success());
        assert_eq!(Setup::new().on(&place).start().stop(), Some(0));
        place
    };
    type Harm<'a> = (&'a str, &'a dyn Fn(&Path) -> PathBuf, &'a str);
    let only = |place: &Path| {
        let newest = checkpoints(place).pop().unwrap();
        newest.join("CURRENT")
    };
    let harms: [Harm<'_>; 6] = [
        ("tables", &|place| largest(files(&place.join("live"), "sst")), "--salvage DEST"),
        ("checkpoint", &only, "nothing is lost"),
        ("key", &|place| place.join("root.key"), "put the root key back"),
        ("format", &|place| place.join("FORMAT"), "put FORMAT back"),
        ("segment header", &|place| files(&place.join("wal"), "log").remove(0), "--salvage DEST"),
        ("current", &|place| place.join("live/CURRENT"), "--salvage DEST"),
    ];
    for (name, harm, cure) in harms {
        let place = copy(name);
        let file = harm(&place);
        flip(&file, 10);
        let said = refused(&verify(&place), 4);
        assert!(said.contains(cure), "{name}: {said}");
        assert!(said.contains(place.to_str().unwrap()), "{name}: {said}");
    }
    let place = copy("no format");
    std::fs::remove_file(place.join("FORMAT")).unwrap();
    assert!(refused(&verify(&place), 4).contains("FORMAT file is missing"));
    // What it says stands elsewhere, too.
    let saved = parent.path().join("none");
    assert!(accepted(&salvage(&place, &saved)).contains("Nothing was lost"));
    accepted(&verify(&saved));
}

#[test]
fn a_damaged_log_is_found_with_file_and_offset() {
    let (parent, data, appliance) = appliance();
    appliance.kill();
    let log = data.join("wal/0000000000000001.log");
    flip(&log, 600);
    let output = run_on(&[&"verify", &"--json", &"--data", &data]);
    let said = refused(&output, 4);
    assert!(said.contains(&format!("{} at byte 512", log.display())), "{said}");
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(told["sound"], false);
    assert_eq!(
        (&told["findings"][0]["file"], &told["findings"][0]["offset"]),
        (&log.to_str().unwrap().into(), &512.into())
    );
    assert!(told["next"].as_str().unwrap().contains("--salvage"), "{told}");
    let before = std::fs::read(&log).unwrap();
    // There is no checkpoint beyond the beginning: what the log held behind the damage is lost, and named.
    let saved = parent.path().join("saved");
    let output = salvage(&data, &saved);
    let said = refused(&output, 4);
    assert!(said.contains("SALVAGE lists them"), "{said}");
    assert!(stdout(&output).contains("lost: "), "{}", stdout(&output));
    assert!(std::fs::read_to_string(saved.join("SALVAGE")).unwrap().contains("is lost"));
    accepted(&verify(&saved));
    assert_eq!(Setup::new().on(&saved).start().stop(), Some(0));
    assert_eq!(std::fs::read(&log).unwrap(), before, "the source is not changed");
}

#[test]
fn damage_under_a_running_appliance_is_found() {
    let (_parent, data, appliance) = appliance();
    accepted(&appliance.cli(&["verify"]));
    flip(&data.join("wal/0000000000000001.log"), 600);
    let said = refused(&appliance.cli(&["verify"]), 4);
    assert!(said.contains("at byte 512") && said.contains("stop the appliance"), "{said}");
    let checkpoint = checkpoints(&data).remove(0);
    flip(&files(&checkpoint, "sst").pop().unwrap_or(checkpoint.join("CURRENT")), 8);
    let output = appliance.cli(&["verify", "--json"]);
    let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(told["findings"].as_array().unwrap().len() >= 2, "{told}");
}

/// The platform's list of a tenant's keys, written to past its rules.
#[derive(Clone, Encode, Decode)]
#[bincode(crate = "quintet_storage::bincode")]
struct Mark;
impl Row for Mark {}
const KEYS_BY_TENANT: Table<(Uuid, Uuid), Mark> = Table::new(0x0104, Family::APPLIANCE, "platform.keys_by_tenant");

#[test]
fn rows_that_contradict_each_other_are_found_and_not_restored() {
    let (parent, data) = stopped();
    let options = StoreOptions::new(&data, std::sync::Arc::new(Clock::system()));
    let store = Store::open(options, quintet::app::TABLES).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let written = store.write_blocking(deadline, |tx, _| {
        let key = (Uuid::from_u128(1), Uuid::from_u128(2));
        Ok::<_, Abort<std::convert::Infallible>>(tx.put(&KEYS_BY_TENANT, &key, &Mark)?)
    });
    written.unwrap();
    store.shutdown();
    drop(store);
    let said = refused(&verify(&data), 4);
    assert!(said.contains("platform: the list of keys") && said.contains("rows contradict each other"), "{said}");
    let target = parent.path().join("restored");
    let said = refused(&restore(&data, &target), 4);
    assert!(said.contains("platform: the list of keys"), "{said}");
    assert!(!target.exists() && !parent.path().join("restored.partial").exists());
    // A running appliance is checked alike.
    let appliance = Setup::new().on(&data).start();
    assert!(refused(&appliance.cli(&["verify"]), 4).contains("platform: the list of keys"));
}

#[test]
fn salvage_saves_all_that_is_sound() {
    let (parent, data) = stopped();
    let tenants = |place: &Path| {
        let appliance = Setup::new().on(place).start();
        let listed = appliance.cli_json(&["tenant", "list"]);
        assert_eq!(appliance.stop(), Some(0));
        listed
    };
    let copy = parent.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(&data).arg(&copy).status().unwrap().success());
    let expected = tenants(&copy);
    // A table file that no checkpoint shares: the state can be had from the checkpoint and the log.
    let current = std::fs::read_to_string(data.join("live/CURRENT")).unwrap();
    flip(&data.join("live").join(current.trim()), 20);
    let saved = parent.path().join("saved");
    let said = accepted(&salvage(&data, &saved));
    assert!(said.contains("Nothing was lost.") && said.contains("quintet serve --data"), "{said}");
    accepted(&verify(&saved));
    assert_eq!(tenants(&saved), expected);
    let key = |place: &Path| std::fs::read(place.join("root.key")).unwrap();
    assert_eq!(key(&saved), key(&data));
    let again = parent.path().join("again");
    let output = run_on(&[&"verify", &"--json", &"--data", &data, &"--salvage", &again]);
    let told: Value = serde_json::from_str(&accepted(&output)).unwrap();
    assert_eq!((&told["lost"], &told["with_key"]), (&serde_json::json!([]), &true.into()));
}

#[test]
fn what_cannot_be_verified_or_salvaged_is_refused_with_the_reason() {
    let (parent, data, appliance) = appliance();
    let place = |name: &str| parent.path().join(name);
    let said = refused(&salvage(&data, &place("saved")), 3);
    assert!(said.contains("stop the appliance first"), "{said}");
    assert!(!place("saved").exists());
    assert_eq!(appliance.stop(), Some(0));
    std::fs::create_dir(place("full")).unwrap();
    std::fs::write(place("full/thesis.tex"), "x").unwrap();
    assert!(refused(&salvage(&data, &place("full")), 1).contains("not an empty directory"));
    assert!(refused(&salvage(&data, &data.join("saved")), 1).contains("inside the data directory"));
    for strange in [place("full"), place("absent")] {
        assert!(refused(&verify(&strange), 1).contains("is no data directory"));
        assert!(refused(&salvage(&strange, &place("saved")), 1).contains("is no data directory"));
    }
    // Somebody works on it without listening: a start, another check.
    let lock = std::fs::File::options().write(true).open(data.join("LOCK")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    assert!(refused(&verify(&data), 3).contains("in use by another process"));
    drop(lock);
    accepted(&verify(&data));
}
