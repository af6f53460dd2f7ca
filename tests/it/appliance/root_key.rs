//! Where the root key comes from: a file, a credential of systemd, a passphrase; moves from one to the other; wrong
//! ones.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use quintet_platform::clock::Clock;
use quintet_storage::seal::{self, Erased, KeyOwner, KeyRing, PreviousPhase, RootKey, Sealed};
use quintet_storage::{Abort, Family, Row, Store, StoreOptions, Table, Timestamp, Uuid};

use crate::support::appliance::{Setup, quintet, run, stderr, stdout};

#[derive(Clone, Encode, Decode)]
struct Letter;
impl Row for Letter {}

/// Never written: sealed values are bound to it and kept by the test.
const LETTERS: Table<(Uuid, u32), Letter> = Table::new(0x01FF, Family::APPLIANCE, "test_letters");

/// A rehearsal directory with values sealed in it, which the test keeps.
pub struct Sample {
    pub data: PathBuf,
    sealed: Vec<Sealed>,
    _parent: tempfile::TempDir,
}

fn owner(n: usize) -> KeyOwner {
    let id = Uuid::from_u128(77 + n as u128);
    if n.is_multiple_of(2) { KeyOwner::Tenant(id) } else { KeyOwner::Member { tenant: Uuid::from_u128(1), member: id } }
}

fn text(n: usize) -> String {
    format!("the secret of {n}")
}

/// The keys that the lines of a file hold.
pub fn ring_of(key_file: &Path) -> KeyRing {
    let text = std::fs::read_to_string(key_file).unwrap();
    let mut keys = text.lines().map(|line| {
        let bytes = data_encoding::HEXLOWER.decode(line.as_bytes()).unwrap();
        RootKey::new(zeroize::Zeroizing::new(bytes.try_into().unwrap()))
    });
    KeyRing::new(keys.next().unwrap(), keys.next())
}

fn open(data: &Path) -> Store {
    let clock = Clock::rehearsal(Timestamp::from_micros(1));
    let mut options = StoreOptions::new(data, Arc::new(clock));
    options.rehearsal = true;
    Store::open(options, quintet::app::TABLES).unwrap()
}

impl Sample {
    /// A new directory whose key lies in a file, with this many owners, each with a sealed value.
    pub fn make(count: usize) -> Sample {
        let parent = tempfile::tempdir().unwrap();
        let data = parent.path().join("data");
        let output = run(&["init", "--data", data.to_str().unwrap(), "--rehearsal-clock"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let store = open(&data);
        store.unlock(ring_of(&data.join("root.key"))).unwrap();
        let mut sealed = Vec::new();
        for first in (0..count).step_by(500) {
            let outcome = store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, _| {
                let some = first..count.min(first + 500);
                some.map(|n| seal::seal(tx, owner(n), &LETTERS, &(Uuid::nil(), 0), text(n).as_bytes())).collect()
            });
            let some: Result<Vec<Sealed>, Abort<Erased>> = outcome;
            sealed.extend(some.unwrap());
        }
        store.shutdown();
        Sample { data, sealed, _parent: parent }
    }

    /// Opens every value in a directory that nobody runs on, with these keys; how far a rotation is.
    pub fn check(&self, data: &Path, ring: KeyRing) -> Option<PreviousPhase> {
        let store = open(data);
        store.unlock(ring).unwrap();
        let read = store.read();
        let phase = seal::root_state(&read).unwrap().unwrap().previous.map(|previous| previous.phase);
        for (n, sealed) in self.sealed.iter().enumerate() {
            let opened = seal::open(&read, owner(n), &LETTERS, &(Uuid::nil(), 0), sealed).unwrap();
            assert_eq!(*opened, text(n).as_bytes());
        }
        store.shutdown();
        phase
    }

    /// The file of its key.
    pub fn key_file(&self) -> PathBuf {
        self.data.join("root.key")
    }

    /// Starts it.
    pub fn setup(&self) -> Setup {
        Setup::new().on(&self.data).rehearsal()
    }
}

/// A start that must fail, with these settings of the environment.
fn refused(data: &Path, environment: &[(&str, &str)]) -> Output {
    let mut command = quintet();
    command.args(["serve", "--data"]).arg(data).arg("--rehearsal-clock").envs(environment.iter().copied());
    command.output().unwrap()
}

const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";

#[test]
fn the_wrong_key_is_told_at_once_and_harms_nothing() {
    let sample = Sample::make(3);
    let key = std::fs::read_to_string(sample.key_file()).unwrap();
    let right = ring_of(&sample.key_file()).current().id().to_string();
    std::fs::write(sample.key_file(), format!("{ONE}\n")).unwrap();
    for _ in 0..2 {
        let output = refused(&sample.data, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(told.contains("wrong root key") && told.contains(&right), "{told}");
        assert!(told.contains("storage.root_key_previous"), "{told}");
        assert!(!told.contains(ONE) && !told.contains(key.trim()), "{told}");
    }
    std::fs::write(sample.key_file(), &key).unwrap();
    let appliance = sample.setup().start();
    let status = appliance.cli_json(&["status"]);
    assert_eq!(status["root_key"]["key_id"], right);
    assert_eq!(appliance.stop(), Some(0));
    sample.check(&sample.data, ring_of(&sample.key_file()));
}

#[test]
fn a_credential_of_systemd_is_the_root_key() {
    let sample = tempfile::tempdir().unwrap();
    let data = sample.path().join("data");
    let credentials = sample.path().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let environment =
        [("QUINTET_STORAGE__ROOT_KEY", "credential:quintet"), ("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap())];
    let output = refused(&data, &environment);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("credential quintet of the root key is missing"), "{told}");
    assert!(
        told.contains("systemd-creds encrypt --name=quintet") && told.contains("LoadCredentialEncrypted"),
        "{told}"
    );
    for wrong in ["", "hunter2", &ONE[1..], &format!("{ONE}\n{ONE}")] {
        std::fs::write(credentials.join("quintet"), wrong).unwrap();
        let output = refused(&data, &environment);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("64 hexadecimal digits"), "{}", stderr(&output));
        assert!(!stderr(&output).contains("hunter2"));
    }
    assert!(!data.exists(), "nothing is left behind");

    std::fs::write(credentials.join("quintet"), ONE).unwrap();
    let setup = || environment.iter().fold(Setup::new().on(&data), |setup, (name, value)| setup.env(name, value));
    let appliance = setup().start();
    let view = appliance.cli_json(&["root-key", "show"]);
    assert_eq!((&view["source"], &view["state"]), (&"credential:quintet".into(), &"at_rest".into()));
    assert!(!data.join("root.key").exists());
    let rotate = appliance.cli(&["root-key", "rotate"]);
    assert_eq!(rotate.status.code(), Some(1));
    assert!(stderr(&rotate).contains("storage.root_key_previous"), "{}", stderr(&rotate));
    assert_eq!(appliance.stop(), Some(0));
    std::fs::write(credentials.join("quintet"), ONE.replace('1', "2")).unwrap();
    let mut command = quintet();
    let output = command.args(["serve", "--data"]).arg(&data).envs(environment).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("wrong root key"), "{}", stderr(&output));
}

const PASSPHRASE: &str = "correct horse battery staple";

#[test]
fn a_passphrase_is_the_root_key_and_leaves_the_environment() {
    let sample = tempfile::tempdir().unwrap();
    let data = sample.path().join("data");
    let source = ("QUINTET_STORAGE__ROOT_KEY", "passphrase:PASS");
    for short in ["", "hunter2"] {
        let output = refused(&data, &[source, ("PASS", short)]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("PASS is empty or too short"), "{}", stderr(&output));
        assert!(!stderr(&output).contains("hunter2"));
        assert!(!data.exists(), "nothing is left behind");
    }
    let setup = || Setup::new().on(&data).rehearsal().env(source.0, source.1).arg("--log-level").arg("trace");
    let appliance = setup().env("PASS", PASSPHRASE).env("BEFORE", "x").start();
    let environment = std::fs::read(format!("/proc/{}/environ", appliance.pid())).unwrap();
    let has = |wanted: &str| environment.windows(wanted.len()).any(|part| part == wanted.as_bytes());
    assert!(has("BEFORE=x") && has("PASS="), "the environment was read");
    assert!(!has(PASSPHRASE) && !has("correct") && !has("staple"));
    let log = appliance.log();
    assert!(!log.contains("correct horse") && !log.contains("cannot be taken out"), "{log}");
    let id = appliance.cli_json(&["root-key", "show"])["key_id"].clone();
    appliance.kill();
    let kdf = std::fs::read_to_string(data.join("root.kdf")).unwrap();
    assert!(kdf.contains("argon2id") && !kdf.contains("correct"), "{kdf}");

    let output = refused(&data, &[source, ("PASS", "correct horse battery stapler")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("wrong root key") && !stderr(&output).contains("battery"), "{}", stderr(&output));
    // Without its recipe the passphrase opens nothing, and another one is not made.
    std::fs::rename(data.join("root.kdf"), data.join("kept")).unwrap();
    let output = refused(&data, &[source, ("PASS", PASSPHRASE)]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("root.kdf"), "{}", stderr(&output));
    assert!(!data.join("root.kdf").exists());
    std::fs::write(data.join("root.kdf"), kdf.replace("passes = 3", "passes = 0")).unwrap();
    assert_eq!(refused(&data, &[source, ("PASS", PASSPHRASE)]).status.code(), Some(4));
    std::fs::rename(data.join("kept"), data.join("root.kdf")).unwrap();
    let appliance = setup().env("PASS", PASSPHRASE).start();
    assert_eq!(appliance.cli_json(&["root-key", "show"])["key_id"], id);
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn the_key_moves_from_source_to_source() {
    let sample = Sample::make(7);
    let credentials = tempfile::tempdir().unwrap();
    std::fs::write(credentials.path().join("first"), ONE).unwrap();
    let sources = ["file:root.key", "credential:first", "passphrase:PASS", "file:new.key"];
    let environment = [("CREDENTIALS_DIRECTORY", credentials.path().to_str().unwrap()), ("PASS", PASSPHRASE)];
    let with = |source: &str, previous: Option<&str>| {
        let setup = sample.setup().env("QUINTET_STORAGE__ROOT_KEY", source);
        let setup = environment.iter().fold(setup, |setup, (name, value)| setup.env(name, value));
        previous.into_iter().fold(setup, |setup, previous| setup.env("QUINTET_STORAGE__ROOT_KEY_PREVIOUS", previous))
    };
    // No new key is made while the one before it is not the one in force.
    for (previous, code) in [("credential:first", 1), ("file:nowhere.key", 4), ("credential:nowhere", 1)] {
        let wishes =
            [("QUINTET_STORAGE__ROOT_KEY", "file:fresh.key"), ("QUINTET_STORAGE__ROOT_KEY_PREVIOUS", previous)];
        let output = refused(&sample.data, &[wishes.as_slice(), environment.as_slice()].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(!sample.data.join("fresh.key").exists());
    }
    // A file that holds two keys leaves no place for a third.
    let key = std::fs::read_to_string(sample.key_file()).unwrap();
    std::fs::write(sample.key_file(), format!("{}\n{key}", ONE.replace('1', "3"))).unwrap();
    let output = refused(&sample.data, &[("QUINTET_STORAGE__ROOT_KEY_PREVIOUS", "credential:first"), environment[0]]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("holds a previous key itself"), "{}", stderr(&output));
    std::fs::write(sample.key_file(), key).unwrap();
    let mut last_id = ring_of(&sample.key_file()).current().id().to_string();
    for pair in sources.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let begun = with(to, Some(from)).start();
        let view = settled(&begun);
        assert_eq!(view["state"], "keeping_previous", "{view}");
        assert_eq!((&view["source"], &view["previous_key_id"]), (&to.into(), &last_id.clone().into()));
        // In the middle of it, a kill, and a start that still has both.
        begun.kill();
        let begun = with(to, Some(from)).start();
        begun.cli_json(&["clock", "advance", "900"]);
        let view = settled(&begun);
        assert_eq!((&view["state"], &view["previous_key_id"]), (&"at_rest".into(), &serde_json::Value::Null));
        assert!(begun.log().contains("is not needed any more"), "{}", begun.log());
        let rotate = begun.cli(&["root-key", "rotate"]);
        assert_eq!(rotate.status.code(), Some(1), "{}", stdout(&rotate));
        last_id = view["key_id"].as_str().unwrap().to_string();
        assert_eq!(begun.stop(), Some(0));
        // The old source opens nothing any more; it may stay named, even if it is gone.
        let mut command = quintet();
        command.args(["serve", "--rehearsal-clock", "--data"]).arg(&sample.data).envs(environment);
        let output = command.env("QUINTET_STORAGE__ROOT_KEY", from).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("wrong root key"), "{}", stderr(&output));
        let idle = with(to, Some("credential:gone")).start();
        assert!(idle.log().contains("take it out of the configuration"), "{}", idle.log());
        assert_eq!(idle.stop(), Some(0));
        assert_eq!(with(to, None).start().stop(), Some(0));
    }
    sample.check(&sample.data, ring_of(&sample.data.join("new.key")));
}

/// What is said of the root key once data keys have been put under it.
pub fn settled(appliance: &crate::support::appliance::Appliance) -> serde_json::Value {
    let begun = Instant::now();
    loop {
        let view = appliance.cli_json(&["root-key", "show"]);
        if !["rewrapping", "removing_previous"].contains(&view["state"].as_str().unwrap()) {
            return view;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{view}\n{}", appliance.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}
