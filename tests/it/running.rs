//! Start, stop, restart, and the directories an appliance does or does not run on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::appliance::{Appliance, Setup, quintet, run, shared, shared_rehearsal, stderr, stdout};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn init_makes_a_directory_that_serve_goes_on_with() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let output = run(&["init", "--data", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("root.key")), 0o600);
    let key = std::fs::read_to_string(data.join("root.key")).unwrap();
    assert_eq!(key.trim_end().len(), 64);
    assert!(key.trim_end().chars().all(|c| c.is_ascii_hexdigit()));
    assert!(data.join("FORMAT").is_file());

    let again = run(&["init", "--data", data.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("is not empty"), "{}", stderr(&again));

    let appliance = Setup::new().on(&data).start();
    assert_eq!(std::fs::read_to_string(data.join("root.key")).unwrap(), key);
    assert!(std::fs::metadata(data.join("admin.sock")).unwrap().file_type().is_socket());
    assert_eq!(mode(&data.join("admin.sock")), 0o600);
    assert_eq!(appliance.stop(), Some(0));
    assert!(!data.join("admin.sock").exists());
    assert!(!data.join("addresses.json").exists());
}

#[test]
fn status_shows_what_runs() {
    let appliance = shared();
    let status = appliance.cli_json(&["status"]);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["clock"], "system");
    assert_eq!(status["storage"]["state"], "writing");
    let services: Vec<_> = status["services"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(services, ["ledger", "operations"]);
    let text = stdout(&appliance.cli(&["status"]));
    assert!(text.contains(appliance.address("ledger")), "{text}");
}

#[test]
fn a_directory_in_use_is_exit_code_3() {
    let data = shared().data().to_str().unwrap();
    let output = run(&["serve", "--data", data]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("in use by another process"), "{}", stderr(&output));
    assert!(Path::new(data).join("addresses.json").exists(), "the running one's file must stay");
    assert_eq!(shared().cli(&["status"]).status.code(), Some(0));
}

#[test]
fn something_else_is_not_taken_for_a_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("thesis.tex"), "x").unwrap();
    let output = run(&["serve", "--data", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("not a data directory"), "{}", stderr(&output));
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis.tex"]);
}

#[test]
fn rehearsal_and_real_directories_do_not_mix() {
    let parent = tempfile::tempdir().unwrap();
    let (real, rehearsal) = (parent.path().join("real"), parent.path().join("rehearsal"));
    let (real, rehearsal) = (real.to_str().unwrap(), rehearsal.to_str().unwrap());
    assert!(run(&["init", "--data", real]).status.success());
    assert!(run(&["init", "--data", rehearsal, "--rehearsal-clock"]).status.success());
    let output = run(&["serve", "--data", rehearsal]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("rehearsal directory"), "{}", stderr(&output));
    let output = run(&["serve", "--data", real, "--rehearsal-clock"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("real time"), "{}", stderr(&output));
}

#[test]
fn damage_is_exit_code_4_with_file_and_offset() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    appliance.tenant();
    appliance.stop();
    std::fs::remove_file(data.join("root.key")).unwrap();
    let output = run(&["serve", "--data", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("root.key"), "{}", stderr(&output));
    std::fs::write(data.join("root.key"), "nonsense").unwrap();
    let output = run(&["serve", "--data", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    std::fs::write(data.join("FORMAT"), "nonsense").unwrap();
    let output = run(&["serve", "--data", data.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("FORMAT at byte 0"), "{}", stderr(&output));
    assert!(stderr(&output).contains("what to do"), "{}", stderr(&output));
}

#[test]
fn a_damaged_log_is_exit_code_4_and_stays_as_it_is() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    for _ in 0..3 {
        appliance.tenant();
    }
    appliance.kill();
    let log = data.join("wal/0000000000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    // In the first record, behind the segment's header.
    bytes[600] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    for _ in 0..2 {
        let output = run(&["serve", "--data", data.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        let place = format!("damage in {} at byte 512", log.display());
        assert!(stderr(&output).contains(&place), "{}", stderr(&output));
        assert!(stderr(&output).contains("cp -a"), "{}", stderr(&output));
        assert_eq!(std::fs::read(&log).unwrap(), bytes);
    }
}

#[test]
fn data_survives_a_stop_and_a_kill() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let tenant = appliance.tenant();
    let (_, key) = appliance.key(&tenant, &[]);
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).start();
    appliance.client("ledger", &key).get("/v1/accounts").expect(200);
    let second = appliance.tenant();
    appliance.kill();
    let appliance = Setup::new().on(&data).start();
    appliance.cli_json(&["tenant", "show", &tenant]);
    appliance.cli_json(&["tenant", "show", &second]);
}

/// The body that follows late.
const LATE_BODY: &[u8] = br#"{"code":"USD","kind":"fiat","scale":2}"#;

/// Sends the head of a request and leaves the body open.
fn open_request(appliance: &Appliance, key: &str) -> TcpStream {
    let mut stream = appliance.connect("ledger").unwrap();
    let length = LATE_BODY.len();
    let head = format!(
        "POST /v1/asset-types HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nidempotency-key: drain\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn sigterm_lets_open_requests_end() {
    let mut appliance = Setup::new().start();
    let (_, key) = appliance.key(&appliance.tenant(), &[]);
    let mut open = open_request(&appliance, &key);
    // The head must have arrived before the signal does.
    std::thread::sleep(Duration::from_millis(300));
    appliance.signal("TERM");
    let begun = Instant::now();
    while appliance.connect("ledger").is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it still accepts connections");
        std::thread::sleep(Duration::from_millis(20));
    }
    open.write_all(LATE_BODY).unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(appliance.wait(), Some(0));
}

#[test]
fn an_idle_connection_does_not_hold_up_a_stop() {
    let mut appliance = Setup::new().start();
    let _silent = appliance.connect("ledger").unwrap();
    let used = appliance.stranger("operations");
    used.get("/livez").expect(200);
    appliance.signal("INT");
    let begun = Instant::now();
    assert_eq!(appliance.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_data_directory_may_have_a_long_path() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("a".repeat(90)).join("b".repeat(90));
    let appliance = Setup::new().on(&data).start();
    appliance.tenant();
    assert_eq!(mode(&data.join("admin.sock")), 0o600);
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn a_taken_port_is_named_with_what_to_do() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let taken = shared().address("ledger");
    for name in ["serve", "demo"] {
        let mut command = quintet();
        command.arg(name).arg("--data").arg(&data).env("QUINTET_LISTEN__LEDGER", taken);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains(&format!("cannot listen on {taken} for ledger")), "{said}");
        assert!(said.contains("QUINTET_LISTEN__LEDGER=127.0.0.1:0"), "{said}");
    }
}

#[test]
fn a_rehearsal_clock_stands_still_until_it_is_advanced() {
    let appliance = shared_rehearsal();
    let before = appliance.cli_json(&["clock", "show"]);
    assert_eq!(before["mode"], "rehearsal");
    let report = appliance.cli_json(&["clock", "advance", "60"]);
    let after = appliance.cli_json(&["clock", "show"]);
    assert!(after["now"].as_str().unwrap() >= report["now"].as_str().unwrap());
    assert!(after["now"].as_str().unwrap() > before["now"].as_str().unwrap());
}

#[test]
fn a_rehearsal_clock_goes_on_from_where_it_stood() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).rehearsal().start();
    let month = appliance.cli_json(&["clock", "advance", "2592000"]);
    let tenant = appliance.cli_json(&["tenant", "create", "later"]);
    assert_eq!(tenant["created_at"], month["now"]);
    appliance.kill();
    let appliance = Setup::new().on(&data).rehearsal().start();
    assert_eq!(appliance.cli_json(&["clock", "show"])["now"], month["now"]);
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn a_key_expires_by_the_clock() {
    let appliance = Setup::new().rehearsal().start();
    let tenant = appliance.tenant();
    let key = appliance.cli_json(&["key", "issue", "--tenant", &tenant, "--ttl-days", "1"]);
    let client = appliance.client("ledger", key["api_key"].as_str().unwrap());
    client.get("/v1/accounts").expect(200);
    appliance.cli_json(&["clock", "advance", "86399"]);
    client.get("/v1/accounts").expect(200);
    appliance.cli_json(&["clock", "advance", "1"]);
    client.get("/v1/accounts").expect(401);
}

/// Waits until the demo has printed its table; the table.
fn demo_table(appliance: &Appliance) -> String {
    let begun = Instant::now();
    loop {
        let log = appliance.log();
        if log.contains("Ctrl-C stops") {
            return log;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_second_demo_goes_on_with_the_same_data() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("quintet-data");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let appliance = Setup::new().on(&data).demo().start();
        let table = demo_table(&appliance);
        assert_eq!(mode(&data.join("demo.json")), 0o600);
        let state: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(data.join("demo.json")).unwrap()).unwrap();
        let key = state["keys"]["ledger"].as_str().unwrap();
        assert!(table.contains(key));
        assert!(table.contains(&format!("http://{}", appliance.address("ledger"))));
        let ledger = appliance.client("ledger", key);
        let accounts = ledger.get("/v1/accounts").expect(200);
        let mut content = vec![state["tenant_id"].clone(), key.into(), accounts.clone()];
        for account in accounts["accounts"].as_array().unwrap() {
            let id = account["account_id"].as_str().unwrap();
            let balance = ledger.get(&format!("/v1/accounts/{id}/balance")).expect(200);
            content.push(balance["posted"].clone());
            content.push(balance["pending"].clone());
        }
        assert_eq!(accounts["accounts"].as_array().unwrap().len(), 4);
        assert!(content.iter().any(|part| part["debits"] == "120.00"), "there is a hold: {content:?}");
        seen.push(content);
        assert_eq!(appliance.stop(), Some(0));
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn the_demos_curl_lines_work() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("quintet-data");
    let appliance = Setup::new().on(&data).demo().start();
    let table = demo_table(&appliance);
    let lines: Vec<_> = table.lines().filter(|line| line.starts_with("curl ")).collect();
    assert_eq!(lines.len(), 3, "{table}");
    for line in lines {
        let Ok(output) =
            std::process::Command::new("/bin/sh").args(["-c", &format!("{line} -w '\\n%{{http_code}}'")]).output()
        else {
            continue;
        };
        if output.status.code() == Some(127) {
            // No curl on this machine; the requests themselves are tested elsewhere.
            continue;
        }
        let said = stdout(&output);
        assert!(said.ends_with("200") || said.ends_with("201"), "{line}: {said}");
    }
}
