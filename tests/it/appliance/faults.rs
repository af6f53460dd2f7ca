//! Faults of the operating system, injected by strace into the unmodified binary: an error or a kill at a write, sync,
//! rename, unlink or link of a fixed script, which starts the appliance, posts, issues and revokes a key and stops it.
//! Whatever was answered must be there afterwards, once.
//!
//! A clean run of the script says which places there are: the n-th call on each file of the data directory. CI tries a
//! spread of them; `QUINTET_FAULTS=all` (`make faults-long`) tries every one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::appliance::{Appliance, Client, Setup, fresh_key, say_skipped};

const POSTINGS: usize = 6;

/// How many cases run at the same time.
const WORKERS: usize = 4;

/// How many places CI tries with each fault.
const SPREAD: usize = 24;

/// What strace does at a call.
const FAULTS: [&str; 3] = ["error=EIO", "error=ENOSPC", "signal=KILL"];

/// The calls that change the disk, by what they do.
const KINDS: [(&str, &[&str]); 5] = [
    ("write", &["write", "pwrite64", "writev", "pwritev", "pwritev2"]),
    ("sync", &["fdatasync", "fsync"]),
    ("rename", &["rename", "renameat", "renameat2"]),
    ("unlink", &["unlink", "unlinkat", "rmdir"]),
    ("link", &["link", "linkat"]),
];

/// One call of the script: the n-th of this kind on this file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    kind: usize,
    /// The file, from the data directory on, or as it was named if that is no absolute path.
    file: PathBuf,
    n: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", KINDS[self.kind].0, self.n, self.file.display())
    }
}

/// A prepared directory that every case starts from a copy of.
struct Prepared {
    directory: tempfile::TempDir,
    tenant: String,
    api_key: String,
    accounts: [String; 2],
}

#[test]
fn no_fault_of_the_disk_loses_what_was_answered() {
    if Command::new("strace").arg("-V").output().is_err() {
        say_skipped("strace is not installed (packaging/prerequisites.sh test installs it)");
        return;
    }
    let begun = Instant::now();
    let prepared = prepare();
    let places = count_places(&prepared);
    assert!(places.len() > 100, "only {} places", places.len());
    let all = std::env::var("QUINTET_FAULTS").is_ok_and(|wish| wish == "all");
    let cases: Vec<(&str, &Place)> = FAULTS
        .iter()
        .flat_map(|fault| {
            let places = if all { places.iter().collect() } else { spread(&places) };
            places.into_iter().map(move |place| (*fault, place))
        })
        .collect();
    let (next, table) = (AtomicUsize::new(0), Mutex::new(Table::default()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((fault, place)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let effect = try_fault(&prepared, fault, place);
                    table.lock().unwrap().count(fault, place, effect);
                }
            });
        }
    });
    let table = table.into_inner().unwrap();
    println!("{table}{} places, {} cases, {:.0} s", places.len(), cases.len(), begun.elapsed().as_secs_f64());
    for fault in FAULTS {
        let sum = |column: fn(&Row) -> usize| {
            table.0.iter().filter(|(key, _)| key.0 == fault).map(|(_, row)| column(row)).sum::<usize>()
        };
        assert!(sum(|row| row.refused_to_start) > 2 && sum(|row| row.stopped_writing) > 2, "{fault}:\n{table}");
        assert!(sum(|row| row.hit) * 10 > sum(|row| row.cases) * 8, "the faults miss their places:\n{table}");
    }
}

/// A part of the places in which each kind and each part of the directory has its share.
fn spread(places: &[Place]) -> Vec<&Place> {
    let mut groups: BTreeMap<_, Vec<&Place>> = BTreeMap::new();
    for place in places {
        groups.entry((place.kind, part(&place.file))).or_default().push(place);
    }
    let share = SPREAD / groups.len() + 1;
    groups.values().flat_map(|group| group.iter().step_by(group.len().div_ceil(share)).copied()).collect()
}

/// The part of the directory that a file is in; files in the making are a part of their own, as most of their calls are
/// one like the other.
fn part(file: &Path) -> String {
    let making = if file.extension().is_some_and(|extension| extension == "tmp") { ", in the making" } else { "" };
    match file.parent() {
        Some(parent) if parent != Path::new("") => format!("{}{making}", parent.display()),
        _ => "top".into(),
    }
}

/// What a fault did.
struct Effect {
    /// The call took place, and failed.
    hit: bool,
    started: bool,
    /// A posting or a key was not answered.
    stopped_writing: bool,
}

/// What the faults at one kind of calls in one part of the directory did.
#[derive(Default)]
struct Row {
    cases: usize,
    hit: usize,
    refused_to_start: usize,
    stopped_writing: usize,
}

/// What all faults did, by fault, kind of call and part of the directory. Nothing was lost, nothing doubled: that
/// would have ended the test.
#[derive(Default)]
struct Table(BTreeMap<(String, &'static str, String), Row>);

impl Table {
    fn count(&mut self, fault: &str, place: &Place, effect: Effect) {
        let row = self.0.entry((fault.into(), KINDS[place.kind].0, part(&place.file))).or_default();
        row.cases += 1;
        row.hit += usize::from(effect.hit);
        row.refused_to_start += usize::from(!effect.started);
        row.stopped_writing += usize::from(effect.stopped_writing);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["fault", "call", "in", "places", "hit", "no start", "stopped", "lost", "doubled"];
        let [a, b, c, d, e, g, h, i, j] = columns;
        writeln!(f, "{a:<13} {b:<7} {c:<12} {d:>6} {e:>5} {g:>9} {h:>8} {i:>5} {j:>8}")?;
        for ((fault, call, part), row) in &self.0 {
            let Row { cases, hit, refused_to_start, stopped_writing } = row;
            writeln!(
                f,
                "{fault:<13} {call:<7} {part:<12} {cases:>6} {hit:>5} {refused_to_start:>9} {stopped_writing:>8} {:>5} {:>8}",
                0, 0
            )?;
        }
        Ok(())
    }
}

fn prepare() -> Prepared {
    let directory = tempfile::tempdir().unwrap();
    let appliance = Setup::new().on(&directory.path().join("data")).start();
    let tenant = appliance.tenant();
    let (_, api_key) = appliance.key(&tenant, &["ledger_admin", "ledger_poster", "ledger_reader"]);
    let client = appliance.client("ledger", &api_key);
    let asset = client.post("/v1/asset-types", &json!({"code": "EUR", "kind": "fiat", "scale": 2})).expect(201);
    let account = |name: &str| {
        let body = json!({
            "asset_type_id": asset["asset_type_id"], "name": name, "normal_side": "debit", "balance_floor": null,
        });
        client.post("/v1/accounts", &body).expect(201)["account_id"].as_str().unwrap().to_string()
    };
    let accounts = [account("from"), account("to")];
    // Without a good-bye, so that every start has a log to replay and to rewrite.
    appliance.kill();
    Prepared { directory, tenant, api_key, accounts }
}

/// A copy of the prepared directory and what strace writes about it.
struct Case {
    data: PathBuf,
    trace: PathBuf,
}

impl Case {
    fn new(prepared: &Prepared) -> Case {
        let data = prepared.directory.path().join(format!("case-{}", fresh_key()));
        let status = Command::new("cp").arg("-a").arg(prepared.directory.path().join("data")).arg(&data).status();
        assert!(status.unwrap().success());
        Case { trace: data.with_extension("trace"), data }
    }

    /// Starts the appliance under strace with these options.
    fn start(&self, options: &[&str]) -> Result<Appliance, String> {
        let trace = self.trace.to_str().unwrap();
        let quiet = ["strace", "-D", "-f", "-y", "-qqq", "-e", "signal=none", "-o", trace];
        Setup::new().on(&self.data).under(&[&quiet, options].concat()).try_start()
    }

    /// What strace has written down.
    fn trace(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.trace).unwrap()).into_owned()
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data);
        let _ = std::fs::remove_file(&self.trace);
    }
}

/// What the script was told.
struct Told {
    postings: Vec<(String, Value)>,
    answered: Vec<bool>,
    /// The issued key and its secret.
    key: Option<(String, String)>,
    revoked: bool,
    /// How it ended; none if it was killed.
    exit: Option<i32>,
}

impl Told {
    fn everything(&self) -> bool {
        self.answered.iter().all(|answered| *answered) && self.revoked
    }
}

/// Runs the script to its end.
fn run_script(prepared: &Prepared, mut appliance: Appliance, case: &str) -> Told {
    let client = appliance.client("ledger", &prepared.api_key);
    let postings: Vec<(String, Value)> = (0..POSTINGS).map(|n| (fresh_key(), posting(&prepared.accounts, n))).collect();
    let post = |(key, body): &(String, Value)| {
        let answer = client.try_post_under(key, "/v1/transactions", body);
        let told = answer.as_ref().is_none_or(|answer| [201, 503].contains(&answer.status));
        assert!(told, "{case}: a failure of the disk is 503, whose outcome the caller looks up: {answer:?}");
        answer.is_some_and(|answer| answer.status == 201)
    };
    let answered = postings.iter().map(post).collect();
    let issued = appliance.cli(&["key", "issue", "--tenant", &prepared.tenant, "--json"]);
    let key = issued.status.success().then(|| {
        let key: Value = serde_json::from_slice(&issued.stdout).unwrap();
        (key["key_id"].as_str().unwrap().to_string(), key["api_key"].as_str().unwrap().to_string())
    });
    let revoked = key.as_ref().is_some_and(|(id, _)| appliance.cli(&["key", "revoke", id]).status.success());
    appliance.signal("TERM");
    let exit = appliance.wait();
    assert!(!appliance.log().contains("panicked"), "{case}: {}", appliance.log());
    Told { postings, answered, key, revoked, exit }
}

/// Every place of the script, from a run in which nothing fails.
fn count_places(prepared: &Prepared) -> Vec<Place> {
    let case = Case::new(prepared);
    let calls = KINDS.iter().flat_map(|(_, calls)| calls.iter()).copied().collect::<Vec<_>>().join(",");
    let appliance = case.start(&["-e", &format!("trace={calls}")]).unwrap();
    let told = run_script(prepared, appliance, "no fault");
    assert!(told.everything() && told.exit == Some(0), "the script does not work");
    let mut counts: BTreeMap<(usize, PathBuf, String), usize> = BTreeMap::new();
    for line in case.trace().lines() {
        if let Some((kind, file)) = place_of(line, &case.data) {
            let thread = line.split_whitespace().next().unwrap().to_string();
            *counts.entry((kind, file, thread)).or_default() += 1;
        }
    }
    // strace counts for each thread by itself, and so does this.
    let mut most: BTreeMap<(usize, PathBuf), usize> = BTreeMap::new();
    for ((kind, file, _), count) in counts {
        let known = most.entry((kind, file)).or_default();
        *known = count.max(*known);
    }
    let places = |((kind, file), count): ((usize, PathBuf), usize)| {
        (1..=count).map(move |n| Place { kind, file: file.clone(), n })
    };
    most.into_iter().flat_map(places).collect()
}

/// The kind of a call and its file, from a line of strace's: `4711 pwrite64(8</data/wal/1.log>, …` or
/// `4711 rename("/data/a", …`. None if it is not on the data directory.
fn place_of(line: &str, data: &Path) -> Option<(usize, PathBuf)> {
    let (call, arguments) = line.split_once(' ')?.1.trim_start().split_once('(')?;
    let kind = KINDS.iter().position(|(_, calls)| calls.contains(&call))?;
    let file = match arguments.strip_prefix('"') {
        Some(rest) => rest.split_once('"')?.0,
        None => arguments.split_once('<')?.1.split_once('>')?.0,
    };
    // RocksDB's own diary is not the store's.
    let file = Path::new(file).strip_prefix(data).ok().filter(|file| *file != Path::new("live/LOG"))?;
    Some((kind, file.to_path_buf()))
}

/// One case.
fn try_fault(prepared: &Prepared, fault: &str, place: &Place) -> Effect {
    let name = format!("{fault} at {place}");
    let case = Case::new(prepared);
    let calls = KINDS[place.kind].1.join(",");
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:{fault}:when={}", place.n));
    let file = case.data.join(&place.file);
    let started = case.start(&["-P", file.to_str().unwrap().trim_end_matches('/'), "-e", &trace, "-e", &inject]);
    let (told, started) = match started {
        Ok(appliance) => (Some(run_script(prepared, appliance, &name)), true),
        Err(reason) => {
            assert!(!reason.contains("panicked"), "{name}: {reason}");
            (None, false)
        }
    };
    let killed = fault.starts_with("signal") && told.as_ref().is_none_or(|told| told.exit.is_none());
    let hit = killed || case.trace().contains("(INJECTED");
    let appliance = Setup::new().on(&case.data).try_start();
    let appliance = appliance.unwrap_or_else(|reason| panic!("{name}: then {reason}"));
    let stopped_writing = told.as_ref().is_some_and(|told| !told.everything());
    if let Some(told) = told {
        check(&appliance, prepared, &told, &name);
    }
    appliance.kill();
    Effect { hit, started, stopped_writing }
}

fn posting(accounts: &[String; 2], n: usize) -> Value {
    let amount = format!("{}.00", 1 << n);
    json!({"description": format!("posting {n}"), "pending": false, "entries": [
        {"account_id": accounts[0], "direction": "credit", "amount": amount},
        {"account_id": accounts[1], "direction": "debit", "amount": amount},
    ]})
}

/// What was answered is there; repeating everything makes everything have happened once.
fn check(appliance: &Appliance, prepared: &Prepared, told: &Told, case: &str) {
    let client = appliance.client("ledger", &prepared.api_key);
    let sum = |client: &Client| {
        let balance = client.get(&format!("/v1/accounts/{}/balance", prepared.accounts[1])).expect(200);
        balance["posted"]["debits_minor"].as_str().unwrap().parse::<usize>().unwrap() / 100
    };
    // Amounts are powers of two, so the sum names the postings it is made of.
    let there = sum(&client);
    for (n, answered) in told.answered.iter().enumerate() {
        assert!(!answered || there & (1 << n) != 0, "{case}: posting {n} was answered and is gone");
    }
    for ((key, body), answered) in told.postings.iter().zip(&told.answered) {
        let answer = client.post_under(key, "/v1/transactions", body);
        assert_eq!(answer.status, 201, "{case}: {answer:?}");
        assert!(!answered || answer.header("idempotent-replayed") == "true", "{case}: {answer:?}");
    }
    assert_eq!(sum(&client), (1 << POSTINGS) - 1, "{case}");
    if let Some((key_id, api_key)) = &told.key {
        let status = appliance.client("ledger", api_key).get("/v1/accounts").status;
        assert!(if told.revoked { status == 401 } else { [200, 401].contains(&status) }, "{case}: {status}");
        let keys = appliance.cli_json(&["key", "list", "--tenant", &prepared.tenant]);
        let keys = keys["items"].as_array().unwrap().iter().filter(|key| key["key_id"] == key_id.as_str()).count();
        assert_eq!(keys, 1, "{case}: the key was issued");
    }
}
