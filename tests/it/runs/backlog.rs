//! One tenant has very many deliveries waiting, another has one: it is not kept waiting, whether the first one's receivers
//! keep silent or take all they can get; and what waits takes no memory.
//!
//! `QUINTET_WAITING=N` makes more of them; `--nocapture` prints what was measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::runs::Desk;
use crate::runs::receivers::odd::{Odd, Wire, read};
use crate::support::appliance::{Appliance, Setup, rounds};
use crate::support::receiver::Receiver;

/// Endpoints of the tenant with the backlog: with four attempts each it has all that a tenant may have.
const ENDPOINTS: usize = 16;
const CALLERS: usize = 8;
/// How long a single delivery may take beside them. It takes some milliseconds; the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(5);
const SINGLES: usize = 20;

/// Whether the busy tenant's receivers answer.
static ANSWERS: AtomicBool = AtomicBool::new(false);

fn answers_when_told(wire: &mut dyn Wire, _: usize) -> std::io::Result<()> {
    loop {
        read(wire)?;
        while !ANSWERS.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        wire.write_all(b"HTTP/1.1 204 x\r\n\r\n")?;
    }
}

fn resident_mib(appliance: &Appliance) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", appliance.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

fn desk(appliance: &Appliance) -> Desk {
    let tenant = appliance.tenant();
    appliance.cli_json(&["tenant", "quota", &tenant, "--service", "runs", "--max-daily-runs", "1000000"]);
    Desk { client: appliance.client("runs", &appliance.key(&tenant, &[]).1) }
}

/// Submits so many runs, from several callers.
fn submit(desk: &Desk, count: usize) {
    let body = json!({"image": "a", "scheduled_start": "2099-01-01T00:00:00Z"});
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            let (client, body) = (desk.client.clone(), &body);
            scope.spawn(move || {
                for _ in 0..count.div_ceil(CALLERS) {
                    client.post("/api/v1/runs", body).expect(202);
                }
            });
        }
    });
}

/// How long single deliveries take, one after another: the median and the longest.
fn singles(desk: &Desk, receiver: &Receiver, name: &str) -> (Duration, Duration) {
    let before = receiver.at(name).len();
    let mut taken: Vec<Duration> = (1..=SINGLES)
        .map(|number| {
            let begun = Instant::now();
            desk.id(&json!({"image": "a", "scheduled_start": "2099-01-01T00:00:00Z"}));
            receiver.wait(name, before + number);
            begun.elapsed()
        })
        .collect();
    taken.sort_unstable();
    let longest = taken[SINGLES - 1];
    assert!(longest < PATIENCE, "a single delivery took {longest:?}");
    (taken[SINGLES / 2], longest)
}

fn is_waiting(desk: &Desk) -> bool {
    ["pending", "delivering"].iter().any(|state| !desk.deliveries(&format!("limit=1&state_filter={state}")).is_empty())
}

#[test]
fn a_backlog_is_in_nobodys_way() {
    let waiting = rounds("QUINTET_WAITING", 3_200);
    let appliance = Setup::new().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start();
    let (busy, quiet) = (desk(&appliance), desk(&appliance));
    let silent = Odd::start("0.0.0.0:0", answers_when_told, None);
    for endpoint in 1..=ENDPOINTS {
        busy.endpoint(&format!("http://127.0.0.{endpoint}:{}/", silent.port()), &["run.scheduled"]);
    }
    let receiver = Receiver::start();
    quiet.endpoint(&receiver.url(204, "quiet"), &["run.scheduled"]);
    let alone = singles(&quiet, &receiver, "quiet");
    let before = resident_mib(&appliance);
    submit(&busy, waiting / ENDPOINTS);
    let kept = resident_mib(&appliance);
    assert!(is_waiting(&busy));
    let beside_silence = singles(&quiet, &receiver, "quiet");
    ANSWERS.store(true, Ordering::SeqCst);
    let beside_flood = singles(&quiet, &receiver, "quiet");
    println!("{waiting} deliveries of one tenant wait; memory {before} MiB before them, {kept} MiB with them");
    for (case, (half, longest)) in
        [("alone", alone), ("beside receivers that keep silent", beside_silence), ("beside a flood", beside_flood)]
    {
        println!("another's single delivery {case}: {half:?} at the median, {longest:?} at most");
    }
    // A row is some hundred bytes, and a body nearly a thousand: kept in memory they would be seen.
    assert!(kept < before + 96, "{waiting} that wait take {} MiB", kept - before);
    let begun = Instant::now();
    while is_waiting(&busy) {
        assert!(begun.elapsed() < Duration::from_secs(60 + waiting as u64 / 100), "some are left");
        std::thread::sleep(Duration::from_millis(250));
    }
    println!("all of them delivered after {:?}", begun.elapsed());
}
