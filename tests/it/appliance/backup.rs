//! Backups of the running binary, and the way back: the whole drill under load, every refusal, nothing left behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;

use crate::support::appliance::{Appliance, Setup, quintet, run, stderr, stdout};
use crate::support::load::Books;

const CALLERS: usize = 8;

/// Runs a command line of paths and words.
pub fn run_on(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = quintet();
    command.args(arguments.iter().map(|argument| argument.as_ref()));
    command.output().unwrap()
}

pub fn restore(source: &Path, data: &Path) -> Output {
    run_on(&[&"restore", &source, &"--data", &data])
}

/// What a command said that had to fail with this code.
#[track_caller]
pub fn refused(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(output), stderr(output));
    assert!(stderr(output).contains("what to do: "), "{}", stderr(output));
    stderr(output)
}

#[track_caller]
pub fn accepted(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(output), stderr(output));
    stdout(output)
}

/// Everything in a directory but logs of the tests.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".log"));
    names.sort();
    names
}

/// An appliance with a little content, and the directory it lives in.
fn appliance() -> (tempfile::TempDir, PathBuf, Appliance) {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    appliance.tenant();
    (parent, data, appliance)
}

#[test]
fn what_was_answered_before_a_backup_or_copy_began_is_in_it() {
    let parent = tempfile::tempdir().unwrap();
    let place = |name: &str| parent.path().join(name);
    let appliance = Setup::new().on(&place("data")).start();
    let books = Books::open(&appliance);
    let load = books.load(&appliance, CALLERS);
    let mut taken: Vec<(&str, Instant)> = Vec::new();
    for name in ["backup-1", "copy", "backup-2"] {
        load.wait_for(60);
        taken.push((name, Instant::now()));
        if name == "copy" {
            // Files below live/ may go while they are copied: cp says so and goes on.
            Command::new("cp").arg("-a").arg(place("data")).arg(place(name)).output().unwrap();
        } else {
            let acknowledged = load.acknowledged();
            let made = appliance.cli_json(&["backup", "create", place(name).to_str().unwrap()]);
            assert!(made["lsn"].as_u64().unwrap() >= acknowledged);
        }
    }
    accepted(&appliance.cli(&["verify"]));
    load.wait_for(20);
    let all = load.finish();
    assert_eq!(appliance.stop(), Some(0));
    for (name, began) in taken {
        let data = place(&format!("from-{name}"));
        let said = accepted(&restore(&place(name), &data));
        assert!(said.contains(&format!("quintet serve --data {}", data.display())), "{said}");
        assert!(said.contains("must not go on running"), "{said}");
        let restored = Setup::new().on(&data).start();
        books.audit(&restored, &all, began, name);
        assert_eq!(restored.stop(), Some(0));
        accepted(&run_on(&[&"verify", &"--data", &data]));
    }
}

#[test]
fn backups_are_listed_with_what_became_of_them() {
    let (parent, _, appliance) = appliance();
    assert!(stdout(&appliance.cli(&["backup", "list"])).contains("quintet backup create DEST"));
    assert_eq!(appliance.cli_json(&["status"])["last_backup"], Value::Null);
    let place = |name: &str| parent.path().join(name);
    for name in ["a", "b", "c"] {
        appliance.tenant();
        let said = accepted(&appliance.cli(&["backup", "create", place(name).to_str().unwrap()]));
        assert!(said.contains(&format!("quintet restore {} --data DIR", place(name).display())), "{said}");
    }
    std::fs::remove_dir_all(place("a")).unwrap();
    std::fs::remove_dir_all(place("b")).unwrap();
    std::fs::rename(place("c"), place("b")).unwrap();
    let listed = appliance.cli_json(&["backup", "list"]);
    let items = listed["items"].as_array().unwrap();
    let told: Vec<_> = items.iter().map(|item| (item["destination"].as_str().unwrap(), &item["state"])).collect();
    let expected = [("c", "gone"), ("b", "replaced"), ("a", "gone")];
    for ((destination, state), (name, expected)) in told.iter().zip(expected) {
        assert_eq!(Path::new(destination), place(name));
        assert_eq!(**state, expected, "{name}");
    }
    assert_eq!(items.len(), 3);
    assert!(items[0]["bytes"].as_u64().unwrap() > 0 && items[0]["with_key"] == true, "{listed}");
    // Without a running appliance that remembers, what lies there says enough.
    let made = appliance.cli_json(&["backup", "create", place("d").to_str().unwrap()]);
    assert_eq!(made["lsn"], appliance.cli_json(&["backup", "list"])["items"][0]["lsn"]);
    let table = stdout(&appliance.cli(&["backup", "list"]));
    assert!(table.starts_with("FINISHED") && table.lines().nth(1).unwrap().contains("  there  "), "{table}");
    let last = &appliance.cli_json(&["status"])["last_backup"];
    assert_eq!(Path::new(last["destination"].as_str().unwrap()), place("d"));
    assert!(last["age_seconds"].as_u64().unwrap() < 60);
    let metrics = appliance.stranger("operations").get("/metrics").text;
    assert!(metrics.contains("\nquintet_backup_age_seconds "), "{metrics}");
    assert!(metrics.contains(&format!("\nquintet_backup_lsn {}.0\n", made["lsn"])), "{metrics}");
}

#[test]
fn several_backups_at_once_do_not_disturb_each_other() {
    let (parent, _, appliance) = appliance();
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (appliance, place) = (&appliance, parent.path().join(format!("backup-{number}")));
            scope.spawn(move || accepted(&appliance.cli(&["backup", "create", place.to_str().unwrap()])));
        }
    });
    assert_eq!(appliance.cli_json(&["backup", "list"])["items"].as_array().unwrap().len(), 3);
    accepted(&restore(&parent.path().join("backup-1"), &parent.path().join("restored")));
}

#[test]
fn a_backup_is_refused_where_it_cannot_be_and_leaves_nothing_behind() {
    let (parent, data, appliance) = appliance();
    let place = |name: &str| parent.path().join(name);
    let create = |destination: &Path| appliance.cli(&["backup", "create", destination.to_str().unwrap()]);
    std::fs::create_dir(place("full")).unwrap();
    std::fs::write(place("full/thesis.tex"), "x").unwrap();
    std::fs::write(place("file"), "x").unwrap();
    std::fs::create_dir(place("left.partial")).unwrap();
    std::os::unix::fs::symlink(&data, place("link")).unwrap();
    let before = names(parent.path());
    for (destination, expected) in [
        (data.join("backup"), "inside the data directory"),
        (data.clone(), "inside the data directory"),
        (place("link/backup"), "inside the data directory"),
        (place("full"), "not an empty directory"),
        (place("file"), "not an empty directory"),
        (place("left"), "from a run that was interrupted"),
        (PathBuf::from("/proc"), "top of a file system"),
    ] {
        let said = refused(&create(&destination), 1);
        assert!(said.contains(expected), "{}: {said}", destination.display());
        assert_eq!(names(parent.path()), before);
        assert_eq!(names(&place("full")), ["thesis.tex"]);
    }
    assert_eq!(appliance.cli_json(&["backup", "list"])["items"].as_array().unwrap().len(), 0);
    // An empty directory will do, and so will one that does not exist yet, nor its parent.
    std::fs::create_dir(place("empty")).unwrap();
    accepted(&create(&place("empty")));
    accepted(&create(&place("new/below")));
    // Nor does a parent stay that was made for nothing.
    std::fs::rename(data.join("root.key"), place("key")).unwrap();
    refused(&create(&place("made/for/nothing")), 1);
    assert!(!place("made").exists());
    std::fs::rename(place("key"), data.join("root.key")).unwrap();
    // A key that cannot be read makes a backup that cannot be restored.
    std::fs::rename(data.join("root.key"), place("key")).unwrap();
    let said = refused(&create(&place("keyless")), 1);
    assert!(said.contains("root key") && said.contains("--without-key"), "{said}");
    assert!(!place("keyless").exists() && !place("keyless.partial").exists());
}

/// Asks the administration socket; status and body.
fn ask(data: &Path, path: &str) -> (u16, Value) {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(data.join("admin.sock")).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_checkpoint_is_held_until_it_is_given_back() {
    let (_parent, data, _appliance) = appliance();
    let (status, held) = ask(&data, "/checkpoints");
    assert_eq!(status, 200, "{held}");
    let path = |what: &str| format!("/checkpoints/{}/{what}", held["hold_id"]);
    assert!(data.join(held["checkpoint"].as_str().unwrap()).join("QUINTET-MANIFEST").is_file(), "{held}");
    assert_eq!(held["key_files"][0]["name"], "root.key");
    assert_eq!(ask(&data, &path("extend")).0, 200);
    assert_eq!(ask(&data, &path("release")).0, 200);
    let (status, problem) = ask(&data, &path("extend"));
    assert_eq!((status, &problem["code"]), (409, &"conflict".into()), "{problem}");
    assert_eq!(ask(&data, &path("release")).0, 200, "once more does no harm");
    // Somebody who never gives back cannot have all there are.
    let mut held = 0;
    while ask(&data, "/checkpoints").0 == 200 {
        held += 1;
        assert!(held <= 32);
    }
    assert_eq!(held, 32);
}

#[test]
fn a_full_disk_is_told_and_nothing_is_left_on_it() {
    let (parent, data, appliance) = appliance();
    let disk = parent.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let script = r#"mount -t tmpfs -o size=32k tmpfs "$1" || exit 99
        "$2" backup create "$1/backup" --data "$3"; code=$?; ls -A "$1"; exit $code"#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    let output = command.arg(&disk).arg(env!("CARGO_BIN_EXE_quintet")).arg(&data).output();
    let Some(output) = output.ok().filter(|output| stderr(output).contains("quintet: ")) else {
        println!("skipped: this machine does not let a test mount a small disk");
        return;
    };
    let said = refused(&output, 1);
    assert!(said.contains("not enough room"), "{said}");
    assert_eq!(stdout(&output), "", "something is left on the disk");
    assert_eq!(appliance.cli_json(&["backup", "list"])["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_backup_of_damaged_tables_is_refused() {
    let (parent, data, appliance) = appliance();
    let first = parent.path().join("first");
    accepted(&appliance.cli(&["backup", "create", first.to_str().unwrap()]));
    // It makes a checkpoint, and as nothing is written after it, the next backup is made of the same one.
    accepted(&appliance.cli(&["verify"]));
    let checkpoint = names(&data.join("checkpoints")).pop().unwrap();
    let checkpoint = data.join("checkpoints").join(checkpoint);
    let table = names(&checkpoint).into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let mut bytes = std::fs::read(checkpoint.join(&table)).unwrap();
    bytes[10] ^= 1;
    std::fs::write(checkpoint.join(&table), bytes).unwrap();
    let second = parent.path().join("second");
    let said = refused(&appliance.cli(&["backup", "create", second.to_str().unwrap()]), 4);
    assert!(said.contains(&table) && said.contains("quintet verify --data"), "{said}");
    assert!(!second.exists() && !parent.path().join("second.partial").exists());
    accepted(&restore(&first, &parent.path().join("restored")));
}

#[test]
fn a_backup_without_the_key_needs_it_for_the_way_back() {
    let (parent, data, appliance) = appliance();
    let place = |name: &str| parent.path().join(name);
    let backup = place("backup");
    let said = accepted(&appliance.cli(&["backup", "create", backup.to_str().unwrap(), "--without-key"]));
    assert!(said.contains("--root-key FILE") && said.contains(data.join("root.key").to_str().unwrap()), "{said}");
    assert!(!backup.join("root.key").exists());
    assert_eq!(appliance.cli_json(&["backup", "list"])["items"][0]["with_key"], false);
    assert_eq!(appliance.stop(), Some(0));
    let target = place("restored");
    assert!(refused(&restore(&backup, &target), 1).contains("--root-key FILE"));
    std::fs::write(place("nonsense"), "nonsense").unwrap();
    let with = |key: &Path| run_on(&[&"restore", &backup, &"--data", &target, &"--root-key", &key]);
    assert!(refused(&with(&place("nonsense")), 1).contains("not a root key"));
    assert!(refused(&with(&place("absent")), 1).contains("is missing"));
    // One that is whole, and another's, is found out before anything is called restored.
    std::fs::write(place("another's"), format!("{}\n", "5a".repeat(32))).unwrap();
    let said = refused(&with(&place("another's")), 4);
    assert!(said.contains("root key"), "{said}");
    assert!(!target.exists() && !place("restored.partial").exists());
    // Whose key comes from elsewhere says so.
    let keyless = place("keyless");
    accepted(&run_on(&[&"restore", &backup, &"--data", &keyless, &"--without-key"]));
    assert!(!keyless.join("root.key").exists());
    accepted(&with(&data.join("root.key")));
    let key = |place: &Path| std::fs::read(place.join("root.key")).unwrap();
    assert_eq!(key(&target), key(&data));
    assert_eq!(Setup::new().on(&target).start().stop(), Some(0));
    // A source that has one keeps its own.
    let other = place("other");
    let twice = run_on(&[&"restore", &data, &"--data", &other, &"--root-key", &data.join("root.key")]);
    assert!(refused(&twice, 1).contains("a root key of its own"));
    // A check of the backup says that it is without.
    let said = accepted(&run_on(&[&"verify", &"--data", &backup]));
    assert!(said.contains("note: the root key"), "{said}");
}

#[test]
fn a_restore_is_refused_with_the_reason_and_leaves_nothing_behind() {
    let (parent, data, appliance) = appliance();
    let place = |name: &str| parent.path().join(name);
    let backup = place("backup");
    accepted(&appliance.cli(&["backup", "create", backup.to_str().unwrap()]));
    std::fs::create_dir(place("full")).unwrap();
    std::fs::write(place("full/thesis.tex"), "x").unwrap();
    std::fs::create_dir(place("left.partial")).unwrap();
    std::fs::create_dir(place("nothing")).unwrap();
    let before = names(parent.path());
    for (source, target, code, expected) in [
        (&backup, place("full"), 1, "not an empty directory"),
        (&backup, place("left"), 1, "from a run that was interrupted"),
        (&backup, data.clone(), 3, "in use by another process"),
        (&backup, backup.join("inside"), 1, "lies inside"),
        (&data, place("new"), 3, "in use by another process"),
        (&place("nothing"), place("new"), 1, "is no data directory"),
        (&place("absent"), place("new"), 1, "is no data directory"),
    ] {
        let said = refused(&restore(source, &target), code);
        assert!(said.contains(expected), "{}: {said}", target.display());
        assert_eq!(names(parent.path()), before);
    }
    // Damage anywhere in the backup is found before anything is made of it.
    let lsn = names(&backup.join("checkpoints")).pop().unwrap();
    let mut files = vec![backup.join("FORMAT"), backup.join("root.key"), backup.join("QUINTET-MANIFEST")];
    let tables = backup.join("checkpoints").join(lsn);
    files.extend(names(&tables).iter().map(|name| tables.join(name)).filter(|file| file.metadata().unwrap().len() > 0));
    for file in files {
        let sound = std::fs::read(&file).unwrap();
        let mut harmed = sound.clone();
        harmed[sound.len() / 2] ^= 0x04;
        std::fs::write(&file, harmed).unwrap();
        let said = refused(&restore(&backup, &place("new")), 4);
        assert!(said.contains(file.file_name().unwrap().to_str().unwrap()), "{}: {said}", file.display());
        assert!(said.contains("quintet verify"), "{said}");
        assert_eq!(names(parent.path()), before, "{}", file.display());
        std::fs::write(&file, sound).unwrap();
    }
    let made = run_on(&[&"restore", &backup, &"--data", &place("new"), &"--json"]);
    let made: Value = serde_json::from_str(&accepted(&made)).unwrap();
    assert_eq!(Path::new(made["data_dir"].as_str().unwrap()), place("new"));
    assert!(made["lsn"].as_u64().unwrap() > 0 && made["rows"].as_u64().unwrap() > 0, "{made}");
}

#[test]
fn a_damaged_copy_is_not_restored() {
    let (parent, data, appliance) = appliance();
    let copy = parent.path().join("copy");
    assert_eq!(appliance.stop(), Some(0));
    assert!(Command::new("cp").arg("-a").arg(&data).arg(&copy).status().unwrap().success());
    let log = copy.join("wal/0000000000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[600] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    std::fs::remove_dir_all(copy.join("checkpoints")).unwrap();
    let target = parent.path().join("restored");
    let said = refused(&restore(&copy, &target), 4);
    assert!(said.contains(&format!("quintet verify --data {}", copy.display())), "{said}");
    assert!(!said.contains("restored.partial"), "what is named stays: {said}");
    assert!(!target.exists() && !parent.path().join("restored.partial").exists());
}

#[test]
fn a_rehearsal_goes_on_from_its_backup() {
    let parent = tempfile::tempdir().unwrap();
    let place = |name: &str| parent.path().join(name);
    let appliance = Setup::new().on(&place("data")).rehearsal().start();
    appliance.cli_json(&["clock", "advance", "2592000"]);
    let backup = place("backup");
    accepted(&appliance.cli(&["backup", "create", backup.to_str().unwrap()]));
    let now = appliance.cli_json(&["clock", "show"])["now"].clone();
    assert_eq!(appliance.stop(), Some(0));
    let said = accepted(&restore(&backup, &place("restored")));
    assert!(said.contains("restored --rehearsal-clock`"), "{said}");
    let restored = Setup::new().on(&place("restored")).rehearsal().start();
    assert_eq!(restored.cli_json(&["clock", "show"])["now"], now);
    assert_eq!(restored.stop(), Some(0));
}

#[test]
fn a_backup_can_be_served_as_it_is() {
    let (parent, _, appliance) = appliance();
    let backup = parent.path().join("backup");
    let tenants = appliance.cli_json(&["tenant", "list"]);
    accepted(&appliance.cli(&["backup", "create", backup.to_str().unwrap()]));
    let served = Setup::new().on(&backup).start();
    assert_eq!(served.cli_json(&["tenant", "list"]), tenants);
    assert_eq!(served.stop(), Some(0));
    assert!(run(&["backup", "list", "--data", backup.to_str().unwrap()]).status.code() == Some(1));
}
