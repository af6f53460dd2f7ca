//! Faults of the operating system, injected by strace into the unmodified binary: an error or a kill at the n-th write,
//! sync, rename or unlink, also during the start. Whatever was answered must be there afterwards, once.
//!
//! CI tries a spread of places; `QUINTET_FAULTS=all` tries every one.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::appliance::{Client, Setup, fresh_key};

const POSTINGS: usize = 6;

/// What strace does at the n-th call.
const FAULTS: [&str; 3] = ["error=EIO", "error=ENOSPC", "signal=KILL"];

/// When strace begins to count. It counts for each thread by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// From the first call of the process on.
    Start,
    /// Once the appliance listens.
    Service,
}

/// The calls that change the disk, and which of them CI tries.
const CALLS: [(Phase, &str, &[usize]); 6] = [
    (Phase::Start, "pwrite64", &[1, 2, 33, 34, 35, 36]),
    (Phase::Start, "fdatasync", &[1, 2, 3, 4, 5]),
    (Phase::Start, "rename", &[1, 2, 3]),
    (Phase::Start, "unlink,unlinkat", &[1, 3]),
    (Phase::Service, "pwrite64", &[1, 2, 3, 7]),
    (Phase::Service, "fdatasync", &[1, 2, 4]),
];

/// How far `QUINTET_FAULTS=all` goes.
const LAST_PLACE: usize = 80;

/// A prepared directory that every case starts from a copy of.
struct Prepared {
    directory: tempfile::TempDir,
    api_key: String,
    accounts: [String; 2],
}

#[test]
fn no_fault_of_the_disk_loses_what_was_answered() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: strace is not installed (packaging/prerequisites.sh installs it)");
        return;
    }
    let prepared = prepare();
    let all = std::env::var("QUINTET_FAULTS").is_ok_and(|wish| wish == "all");
    let try_all_places = |fault: &str| {
        let mut tried = Tally::default();
        for (phase, calls, places) in CALLS {
            let every: Vec<usize> = (1..=LAST_PLACE).collect();
            for place in if all { &every } else { places } {
                try_fault(&prepared, phase, calls, fault, *place, &mut tried);
            }
        }
        println!("{fault}: {tried:?}");
        assert!(tried.hit_at_start > 2 && tried.hit_in_service > 2, "{fault}: {tried:?}");
    };
    std::thread::scope(|scope| {
        let try_all_places = &try_all_places;
        for fault in FAULTS {
            scope.spawn(move || try_all_places(fault));
        }
    });
}

/// What the faults met.
#[derive(Debug, Default)]
struct Tally {
    /// The appliance did not start.
    hit_at_start: usize,
    /// A posting was not answered with 201.
    hit_in_service: usize,
    /// Everything went well: the fault fell on something that can be done without, or on nothing.
    harmless: usize,
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
    Prepared { directory, api_key, accounts }
}

/// One case.
fn try_fault(prepared: &Prepared, phase: Phase, calls: &str, fault: &str, place: usize, tried: &mut Tally) {
    let case = format!("{fault} at call {place} of {calls} from {phase:?} on");
    let data = prepared.directory.path().join(format!("case-{}", fresh_key()));
    copy(&prepared.directory.path().join("data"), &data);
    let trace = format!("trace={calls}");
    let inject = format!("inject={calls}:{fault}:when={place}");
    let options = ["-f", "-qqq", "-e", &trace, "-e", &inject, "-o", "/dev/null"];
    let setup = Setup::new().on(&data);
    let started = match phase {
        Phase::Start => setup.under(&[&["strace", "-D"], &options[..]].concat()).try_start(),
        Phase::Service => setup.try_start(),
    };
    let postings: Vec<(String, Value)> = (0..POSTINGS).map(|n| (fresh_key(), posting(&prepared.accounts, n))).collect();
    let mut answered = vec![false; POSTINGS];
    match started {
        Err(reason) => {
            assert!(!reason.contains("panicked"), "{case}: {reason}");
            tried.hit_at_start += 1;
        }
        Ok(appliance) => {
            let tracer = (phase == Phase::Service).then(|| attach(&options, appliance.pid()));
            let client = appliance.client("ledger", &prepared.api_key);
            for ((key, body), answered) in postings.iter().zip(&mut answered) {
                let answer = client.try_post_under(key, "/v1/transactions", body);
                *answered = answer.as_ref().is_some_and(|answer| answer.status == 201);
                let told = answer.is_none_or(|answer| [201, 503].contains(&answer.status));
                assert!(told, "{case}: a failure of the disk is 503, whose outcome the caller looks up");
            }
            if answered.iter().all(|answered| *answered) {
                tried.harmless += 1
            } else {
                tried.hit_in_service += 1
            }
            assert!(!appliance.log().contains("panicked"), "{case}: {}", appliance.log());
            appliance.kill();
            if let Some(mut tracer) = tracer {
                tracer.wait().unwrap();
            }
        }
    }
    let appliance = Setup::new().on(&data).try_start().unwrap_or_else(|reason| panic!("{case}: then {reason}"));
    check(&appliance.client("ledger", &prepared.api_key), prepared, &postings, &answered, &case);
    appliance.kill();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Attaches strace to every thread of a process.
fn attach(options: &[&str], pid: u32) -> Child {
    let mut tracer = Command::new("strace");
    tracer.args(options).args(["-p", &pid.to_string()]).stderr(Stdio::null());
    let mut tracer = tracer.spawn().unwrap();
    let is_traced = |thread: std::path::PathBuf| {
        let status = std::fs::read_to_string(thread.join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    };
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|entry| entry.unwrap().path());
    // A fault in the background may have killed the process already, and strace with it.
    while tracer.try_wait().unwrap().is_none() && !threads().all(is_traced) {
        std::thread::sleep(Duration::from_millis(2));
    }
    tracer
}

fn posting(accounts: &[String; 2], n: usize) -> Value {
    let amount = format!("{}.00", 1 << n);
    json!({"description": format!("posting {n}"), "pending": false, "entries": [
        {"account_id": accounts[0], "direction": "credit", "amount": amount},
        {"account_id": accounts[1], "direction": "debit", "amount": amount},
    ]})
}

/// What was answered is there; repeating everything makes everything have happened once.
fn check(client: &Client, prepared: &Prepared, postings: &[(String, Value)], answered: &[bool], case: &str) {
    let sum = || {
        let balance = client.get(&format!("/v1/accounts/{}/balance", prepared.accounts[1])).expect(200);
        balance["posted"]["debits_minor"].as_str().unwrap().parse::<usize>().unwrap() / 100
    };
    // Amounts are powers of two, so the sum names the postings it is made of.
    let there = sum();
    for (n, answered) in answered.iter().enumerate() {
        assert!(!answered || there & (1 << n) != 0, "{case}: posting {n} was answered and is gone");
    }
    for ((key, body), answered) in postings.iter().zip(answered) {
        let answer = client.post_under(key, "/v1/transactions", body);
        assert_eq!(answer.status, 201, "{case}: {answer:?}");
        assert!(!answered || answer.header("idempotent-replayed") == "true", "{case}: {answer:?}");
    }
    assert_eq!(sum(), (1 << POSTINGS) - 1, "{case}");
}

/// A copy of a directory at rest.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}
