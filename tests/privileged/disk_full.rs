//! The disk runs full under the real binary, to the reserve, to a quarter of it, to the last block, and is emptied
//! again. A full disk is a state: writes are refused with a stable code, reads go on, and writing resumes by itself.
//!
//! `QUINTET_DISK_CYCLES=N` makes more cycles.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::loop_disk::{Ballast, LoopDisk};
use crate::support::appliance::{Answer, Appliance, Setup, rounds, run, stderr};
use crate::support::load::{Books, Posting};
use crate::support::messaging::Workspace;

const DISK_MB: u64 = 512;
const RESERVE_MB: u64 = 64;
const CALLERS: usize = 4;

/// How soon a change of the free space must show: the appliance looks twice a second.
const SOON: Duration = Duration::from_secs(5);

/// How full the disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Just below the reserve.
    Reserve,
    /// Below a quarter of it.
    Quarter,
    /// Not a block is free.
    Nothing,
}

impl Level {
    fn fill(self, ballast: &Ballast<'_>) {
        match self {
            Level::Reserve => ballast.leave((RESERVE_MB - 4) << 20),
            Level::Quarter => ballast.leave((RESERVE_MB / 4 - 4) << 20),
            Level::Nothing => ballast.leave_nothing(),
        }
    }
}

fn setup(disk: &LoopDisk) -> Setup {
    let reserve = RESERVE_MB.to_string();
    Setup::new().on(&disk.path().join("data")).log_in(disk.beside()).env("QUINTET_STORAGE__DISK_RESERVE_MB", &reserve)
}

/// Asks until it is so.
#[track_caller]
fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Posts until the answer has this status; all that was posted meanwhile goes into `postings`.
#[track_caller]
fn post_until(appliance: &Appliance, books: &Books, status: u16, postings: &mut Vec<Posting>) -> Answer {
    let mut last = None;
    soon(&format!("a posting is answered with {status}"), || {
        let (posting, answer) = books.post(appliance);
        postings.push(posting);
        last = answer;
        last.as_ref().is_some_and(|answer| answer.status == status)
    });
    last.unwrap()
}

/// Fills the disk until the appliance says so. It may give back first what it keeps for copies alone.
#[track_caller]
fn fill_until_full(level: Level, ballast: &Ballast<'_>, appliance: &Appliance) {
    // Several times in a row: what is kept for copies may just be about to yield, and its room is taken as well.
    let mut in_a_row = 0;
    soon("the disk is full", || {
        level.fill(ballast);
        in_a_row = if state(appliance) == "full" { in_a_row + 1 } else { 0 };
        in_a_row == 15
    });
}

fn state(appliance: &Appliance) -> String {
    appliance.cli_json(&["status"])["storage"]["state"].as_str().unwrap().to_string()
}

/// Writes are refused as they should be, and reads go on.
#[track_caller]
fn check_full(appliance: &Appliance, books: &Books, tenant: &str, postings: &mut Vec<Posting>) {
    let refused = post_until(appliance, books, 409, postings);
    assert_eq!(refused.json()["error"]["code"], "POSTING_FROZEN");
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0), "{refused:?}");
    books.read(appliance).expect(200);
    assert_eq!(state(appliance), "full", "{}", appliance.log());
    let issue = appliance.cli(&["key", "issue", "--tenant", tenant]);
    assert_eq!(issue.status.code(), Some(1));
    assert!(stderr(&issue).contains("storage.disk_reserve_mb"), "what to do about it: {}", stderr(&issue));
}

/// Revokes a key; whether that was done. A key that was revoked is of no use from then on, any other is.
fn revoke(appliance: &Appliance, (key_id, api_key): &(String, String)) -> bool {
    let output = appliance.cli(&["key", "revoke", key_id]);
    let done = output.status.success();
    assert!(done || stderr(&output).contains("storage.disk_reserve_mb"), "{}", stderr(&output));
    let status = appliance.client("ledger", api_key).get("/v1/accounts").status;
    assert_eq!(status, if done { 401 } else { 200 });
    done
}

#[test]
fn a_full_disk_is_a_state_that_comes_and_goes() {
    let cycles = rounds("QUINTET_DISK_CYCLES", 3);
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    let mut appliance = setup(&disk).start();
    let mut books = Books::open(&appliance);
    let tenant = appliance.tenant();
    let ballast = Ballast::new(&disk);
    let begun = Instant::now();
    let (mut acknowledged, mut refused, mut slowest_resume) = (0, 0, Duration::ZERO);
    for cycle in 0..cycles {
        let keys = [appliance.key(&tenant, &[]), appliance.key(&tenant, &[])];
        let load = books.load(&appliance, CALLERS);
        load.wait_for(50);
        let mut postings = Vec::new();
        fill_until_full(Level::Reserve, &ballast, &appliance);
        check_full(&appliance, &books, &tenant, &mut postings);
        assert!(revoke(&appliance, &keys[0]), "shutting somebody out goes on below the reserve");
        let times_exhausted = || appliance.log().matches("the disk reserve is nearly used up").count();
        let before = times_exhausted();
        soon("less than a quarter of the reserve is seen to be left", || {
            Level::Quarter.fill(&ballast);
            times_exhausted() > before
        });
        assert!(!revoke(&appliance, &keys[1]));
        Level::Nothing.fill(&ballast);
        std::thread::sleep(Duration::from_millis(700));
        check_full(&appliance, &books, &tenant, &mut postings);
        ballast.release();
        let released = Instant::now();
        post_until(&appliance, &books, 201, &mut postings);
        slowest_resume = slowest_resume.max(released.elapsed());
        load.wait_for(50);
        assert_eq!(state(&appliance), "writing");
        assert!(revoke(&appliance, &keys[1]));
        postings.extend(load.finish());
        acknowledged += postings.iter().filter(|posting| posting.is_acknowledged()).count();
        refused += postings.iter().filter(|posting| posting.is_refused()).count();
        assert!(
            postings.iter().all(|posting| posting.is_acknowledged() || posting.is_refused()),
            "a full disk leaves nobody in doubt"
        );
        if cycle % 2 == 1 {
            appliance.kill();
            appliance = setup(&disk).start();
        }
        let found = books.audit(&appliance, &postings, Instant::now(), &format!("cycle {cycle}"));
        books.settle(postings, found);
    }
    println!(
        "{cycles} disk-full cycles in {:.1} s: {acknowledged} postings acknowledged, none lost, {refused} refused, none \
         done; writing resumed within {} ms",
        begun.elapsed().as_secs_f64(),
        slowest_resume.as_millis(),
    );
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn readiness_says_that_the_disk_is_full() {
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    let appliance = setup(&disk).start();
    let readiness = || appliance.stranger("operations").get("/readyz");
    let ballast = Ballast::new(&disk);
    readiness().expect(200);
    for level in [Level::Reserve, Level::Nothing] {
        fill_until_full(level, &ballast, &appliance);
        let answer = readiness();
        assert_eq!(answer.status, 503, "requests that write are not served: {answer:?}");
        assert_eq!(answer.json()["code"], "storage_full");
        assert_eq!(appliance.stranger("operations").get("/livez").status, 200);
    }
    ballast.release();
    soon("the disk has room", || readiness().status == 200);
}

/// Kills the appliance on a disk that is full to `level`, starts it there, and gives it room again.
fn restart_on_a_full_disk(level: Level) {
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    let appliance = setup(&disk).start();
    let books = Books::open(&appliance);
    let tenant = appliance.tenant();
    let load = books.load(&appliance, CALLERS);
    load.wait_for(200);
    let ballast = Ballast::new(&disk);
    fill_until_full(level, &ballast, &appliance);
    appliance.kill();
    let mut postings = load.finish();
    // What the killed process had open and unlinked is free again.
    level.fill(&ballast);

    let appliance = setup(&disk).try_start();
    let appliance = appliance.unwrap_or_else(|reason| panic!("reads are not served with {level:?} left: {reason}"));
    // What is kept for copies yields first; the room that this makes is taken as well.
    fill_until_full(level, &ballast, &appliance);
    check_full(&appliance, &books, &tenant, &mut postings);
    ballast.release();
    post_until(&appliance, &books, 201, &mut postings);
    books.audit(&appliance, &postings, Instant::now(), &format!("{level:?}"));
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn a_restart_below_the_reserve_reads_and_refuses_writes() {
    restart_on_a_full_disk(Level::Reserve);
}

#[test]
fn a_restart_below_a_quarter_of_the_reserve_reads_and_refuses_writes() {
    restart_on_a_full_disk(Level::Quarter);
}

/// Even to read, a start needs a log segment and the tables' small files. It says so and changes nothing.
#[test]
fn a_restart_without_a_free_block_says_what_it_needs() {
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    let appliance = setup(&disk).start();
    let books = Books::open(&appliance);
    let load = books.load(&appliance, CALLERS);
    load.wait_for(200);
    let ballast = Ballast::new(&disk);
    fill_until_full(Level::Nothing, &ballast, &appliance);
    appliance.kill();
    let mut postings = load.finish();
    Level::Nothing.fill(&ballast);
    for _ in 0..2 {
        let reason = setup(&disk).try_start().err().expect("there is no room to start in");
        assert!(
            reason.contains("No space left on device") && reason.contains("make room on the file system"),
            "{reason}"
        );
    }
    ballast.release();
    let appliance = setup(&disk).start();
    post_until(&appliance, &books, 201, &mut postings);
    books.audit(&appliance, &postings, Instant::now(), "after a start without room");
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn a_disk_that_fills_faster_than_the_watch_looks_ends_writing_until_a_restart() {
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    // Without a reserve nothing is refused beforehand.
    let unguarded = || setup(&disk).env("QUINTET_STORAGE__DISK_RESERVE_MB", "0");
    let appliance = unguarded().start();
    // Large postings: the log soon needs a segment that there is no room for.
    let books = Books::open(&appliance).padded(12 << 10);
    let ballast = Ballast::new(&disk);
    let load = books.load(&appliance, 2 * CALLERS);
    load.wait_for(50);
    ballast.leave_nothing();
    let begun = Instant::now();
    while appliance.stranger("operations").get("/readyz").status == 200 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} postings fit", load.acknowledged());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(state(&appliance), "stopped");
    let (posting, answer) = books.post(&appliance);
    assert_eq!(answer.unwrap().status, 503, "writing has stopped, which is no refusal");
    books.read(&appliance).expect(200);
    let mut postings = load.finish();
    postings.push(posting);
    let (acknowledged, all) = (postings.iter().filter(|posting| posting.is_acknowledged()).count(), postings.len());
    // Room alone does not clear it: what was written and what was not is known after a restart only.
    ballast.release();
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(state(&appliance), "stopped");
    assert!(!appliance.log().contains("panicked"), "{}", appliance.log());
    appliance.kill();
    let appliance = unguarded().start();
    books.audit(&appliance, &postings, Instant::now(), "after a sudden end of the disk");
    let (_, answer) = books.post(&appliance);
    answer.unwrap().expect(201);
    println!("the disk ended after {acknowledged} of {all} postings; none lost, none refused falsely");
    assert_eq!(appliance.stop(), Some(0));
}

/// Mail on a disk that runs full: what was accepted arrives once, what was refused does not, and what was held over it is
/// released when there is room, though its time came before.
#[test]
fn mail_waits_for_room() {
    let Some(disk) = LoopDisk::make(DISK_MB) else { return };
    let appliance = setup(&disk).start();
    let workspace = Workspace::open(&appliance);
    workspace.limit("messages_per_day=unlimited");
    let (ann, bob, eve) = (workspace.agent("ann"), workspace.agent("bob"), workspace.agent("eve"));
    let ballast = Ballast::new(&disk);
    let (mut accepted, mut refused) = (BTreeMap::new(), 0);
    let mut send = |number: u32| {
        let body = json!({"to": ["bob"], "subject": number.to_string(), "text": "x".repeat(3_000)});
        let answer = ann.client.post_under(&format!("full-{number}"), "/v1/messages", &body);
        match answer.status {
            202 => drop(accepted.insert(number.to_string(), answer.json()["id"].clone())),
            503 => {
                assert_eq!(answer.json()["code"], "storage_full", "{answer:?}");
                refused += 1;
            }
            _ => panic!("{answer:?}"),
        }
        answer.status
    };
    (0..200).for_each(|number| assert_eq!(send(number), 202));
    let declared = eve.client.send(
        "PUT",
        "/v1/agents/eve/availability",
        &[("content-type", "application/json")],
        br#"{"state": "offline", "seconds": 2}"#,
    );
    declared.expect(200);
    ann.send(&["eve"], "held");
    let mut number = 200;
    for level in [Level::Reserve, Level::Nothing] {
        fill_until_full(level, &ballast, &appliance);
        soon("a message is refused", || {
            number += 1;
            send(number) == 503
        });
        assert!(!bob.inbox(0).is_empty(), "reading goes on");
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(eve.inbox(0).len(), 0, "nothing is written, and so nothing is released");
    }
    ballast.release();
    soon("a message is accepted again", || {
        number += 1;
        send(number) == 202
    });
    soon("what was held is released", || eve.inbox(0).len() == 1);
    // Whoever was refused asks again under the same key, and so do all others.
    let before = accepted.clone();
    let again = |number: u32| {
        let body = json!({"to": ["bob"], "subject": number.to_string(), "text": "x".repeat(3_000)});
        let id = ann.client.post_under(&format!("full-{number}"), "/v1/messages", &body).expect(202)["id"].clone();
        let known = before.get(&number.to_string());
        assert!(known.is_none_or(|known| *known == id), "message {number} has two ids");
    };
    let all: Vec<u32> = (0..200).chain(201..=number).collect();
    all.iter().for_each(|number| again(*number));
    let mut subjects: Vec<u32> = Vec::new();
    loop {
        let page = bob.inbox(subjects.len() as u64);
        subjects.extend(page.iter().map(|row| row["subject"].as_str().unwrap().parse::<u32>().unwrap()));
        if page.is_empty() {
            break;
        }
    }
    subjects.sort_unstable();
    assert_eq!(subjects, all, "each is there once");
    println!("{} messages accepted, {refused} refused and asked for again", before.len());
    assert_eq!(appliance.stop(), Some(0));
    let verified = run(&["verify", "--data", disk.path().join("data").to_str().unwrap()]);
    assert!(verified.status.success(), "{verified:?}");
}
