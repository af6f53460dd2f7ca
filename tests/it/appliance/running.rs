//! Start, stop, restart, and the directories an appliance does or does not run on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::appliance::{Appliance, Setup, quintet, run, shared, shared_rehearsal, stderr, stdout};

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
fn a_file_that_is_no_root_key_is_never_touched() {
    let parent = tempfile::tempdir().unwrap();
    let precious = parent.path().join("precious");
    std::fs::write(&precious, "the only copy").unwrap();
    let wish = format!("file:{}", precious.display());
    let data = parent.path().join("data");
    for command in ["init", "serve"] {
        let mut quintet = quintet();
        quintet.args([command, "--data"]).arg(&data).env("QUINTET_STORAGE__ROOT_KEY", &wish);
        let output = quintet.output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(stderr(&output).contains("storage.root_key"), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "the only copy");
        assert!(!data.exists(), "nothing is left behind");
    }
    // Nor is one that was put into the place of the key after the directory was made.
    assert!(run(&["init", "--data", data.to_str().unwrap()]).status.success());
    std::fs::write(data.join("root.key"), "the only copy").unwrap();
    assert_eq!(run(&["serve", "--data", data.to_str().unwrap()]).status.code(), Some(4));
    assert_eq!(std::fs::read_to_string(data.join("root.key")).unwrap(), "the only copy");
}

#[test]
fn a_start_that_cannot_have_its_root_key_leaves_nothing_behind() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let cases = [
        ("passphrase:PASS", "PASS is not set"),
        ("credential:key", "CREDENTIALS_DIRECTORY is not set"),
        ("credential:../key", "cannot be the name of a credential"),
        ("file:/no/such/directory/root.key", "cannot be made"),
        ("file:keys/root.key", "cannot be made"),
    ];
    for (wish, expected) in cases {
        for command in ["init", "serve"] {
            let mut quintet = quintet();
            quintet.args([command, "--data"]).arg(&data).env("QUINTET_STORAGE__ROOT_KEY", wish);
            let output = quintet.output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{wish}: {}", stderr(&output));
            assert!(stderr(&output).contains(expected), "{wish}: {}", stderr(&output));
            assert!(!data.exists(), "{wish}");
        }
    }
    let key = parent.path().join("elsewhere.key");
    let mut quintet = quintet();
    quintet.arg("init").arg("--data").arg(&data).env("QUINTET_STORAGE__ROOT_KEY", format!("file:{}", key.display()));
    assert!(quintet.status().unwrap().success());
    assert_eq!(mode(&key), 0o600);
    assert!(!data.join("root.key").exists());
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    assert!(run(&["init", "--data", data.to_str().unwrap()]).status.success());
    for open in [0o770, 0o707] {
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(open)).unwrap();
        let output = run(&["serve", "--data", data.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("chmod 700 {}", data.display())), "{}", stderr(&output));
    }
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(Setup::new().on(&data).start().stop(), Some(0));
}

#[test]
fn a_directory_without_its_format_is_damaged() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    assert!(run(&["init", "--data", data.to_str().unwrap()]).status.success());
    std::fs::remove_file(data.join("FORMAT")).unwrap();
    for gone in [None, Some("wal"), Some("live")] {
        gone.iter().for_each(|name| std::fs::remove_dir_all(data.join(name)).unwrap());
        std::fs::write(data.join("addresses.json"), "{}").unwrap();
        let output = run(&["serve", "--data", data.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(4), "without {gone:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("put FORMAT back"), "{}", stderr(&output));
        assert!(!data.join("FORMAT").exists());
    }
}

#[test]
fn status_shows_what_runs() {
    let appliance = shared();
    let status = appliance.cli_json(&["status"]);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["clock"], "system");
    let storage = &status["storage"];
    assert_eq!(storage["state"], "writing");
    assert_eq!(storage["copy_window_seconds"], 900);
    assert_eq!(storage["copy_window_wanted_seconds"], 900);
    assert!(storage["kept_for_copies_bytes"].is_u64(), "{storage}");
    assert!(storage["log_bytes"].as_u64().unwrap() > 0, "{storage}");
    assert!(storage["tables_bytes"].as_u64().unwrap() > 0, "{storage}");
    assert!(storage["queue_depth"].is_u64(), "{storage}");
    let services: Vec<_> = status["services"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(services, ["console", "diagrams", "ledger", "localization", "messaging", "operations", "runs"]);
    let text = stdout(&appliance.cli(&["status"]));
    assert!(text.contains(appliance.address("ledger")), "{text}");
    assert!(text.contains("a plain copy may take 15 min"), "{text}");
}

#[test]
fn status_names_the_directory_so_that_it_is_found_from_anywhere() {
    let parent = tempfile::tempdir().unwrap();
    let mut command = quintet();
    command.args(["serve", "--data", "data"]).current_dir(parent.path()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let data = parent.path().join("data");
    let begun = Instant::now();
    while !data.join("addresses.json").exists() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = run(&["status", "--json", "--data", data.to_str().unwrap()]);
    child.kill().unwrap();
    child.wait().unwrap();
    let status: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let told = Path::new(status["data_dir"].as_str().unwrap()).canonicalize().unwrap();
    assert_eq!(status["data_dir"].as_str().unwrap(), told.to_str().unwrap());
    assert_eq!(told, data.canonicalize().unwrap());
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
        let data = data.display();
        assert!(stderr(&output).contains(&format!("`quintet verify --data {data}`")), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("`quintet verify --data {data} --salvage DEST`")));
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

#[test]
fn the_copy_window_is_what_the_configuration_says() {
    let appliance = Setup::new()
        .env("QUINTET_STORAGE__COPY_WINDOW_MINUTES", "7")
        .env("QUINTET_STORAGE__COPY_KEEP_MB", "1000")
        .env("QUINTET_STORAGE__WRITE_BUFFER_MB", "16")
        .env("QUINTET_STORAGE__CACHE_MB", "8")
        .start();
    appliance.tenant();
    let storage = appliance.cli_json(&["status"])["storage"].clone();
    assert_eq!((&storage["copy_window_seconds"], &storage["copy_window_wanted_seconds"]), (&420.into(), &420.into()));
    assert!(storage["last_transaction_at"].is_string(), "{storage}");
}

/// Sends the head of a request and leaves the body open.
fn open_request(appliance: &Appliance, key: &str) -> TcpStream {
    let mut stream = appliance.connect("ledger").unwrap();
    let length = LATE_BODY.len();
    let head = format!(
        "POST /v1/asset-types HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nidempotency-key: drain\r\n\
         content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut goes_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut goes_on).unwrap();
    assert!(goes_on.starts_with(b"HTTP/1.1 100 "), "the head has arrived");
    stream
}

#[test]
fn sigterm_lets_open_requests_end() {
    let mut appliance = Setup::new().start();
    let (_, key) = appliance.key(&appliance.tenant(), &[]);
    let mut open = open_request(&appliance, &key);
    appliance.signal("TERM");
    let begun = Instant::now();
    // Whoever listens there next, by chance, does not know the key; nor does a connection with itself.
    let is_served = |mut stream: TcpStream| {
        let head = format!("GET /v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n");
        let mut begins = [0; b"HTTP/1.1 200".len()];
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.read_exact(&mut begins))
            .is_ok_and(|()| begins.ends_with(b"200"))
    };
    while appliance.connect("ledger").is_ok_and(is_served) {
        assert!(begun.elapsed() < Duration::from_secs(10), "it still accepts connections");
        std::thread::sleep(Duration::from_millis(20));
    }
    open.write_all(LATE_BODY).unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "after {:?}: {answer}\n{}", begun.elapsed(), appliance.log());
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
fn half_a_request_does_not_hold_up_a_stop() {
    let mut appliance = Setup::new().start();
    let mut half = appliance.connect("ledger").unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").unwrap();
    let mut next_half = appliance.connect("operations").unwrap();
    next_half.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    next_half.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    next_half.write_all(b"GET /li").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    appliance.signal("TERM");
    let begun = Instant::now();
    assert_eq!(appliance.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_stop_during_the_start_is_one_in_good_order() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    assert!(run(&["init", "--data", data.to_str().unwrap()]).status.success());
    for delay_ms in [30, 60, 90, 120] {
        let child =
            quintet().arg("serve").arg("--data").arg(&data).stderr(std::process::Stdio::piped()).spawn().unwrap();
        // Until the process has begun to listen for signals it cannot be told anything.
        let handles_term = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_string();
            u64::from_str_radix(&caught, 16).unwrap() & (1 << 14) != 0
        };
        while !handles_term() {
            assert!(!data.join("addresses.json").exists(), "signals are handled before anything else");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(delay_ms - 30));
        let kill = std::process::Command::new("/bin/sh").args(["-c", &format!("kill {}", child.id())]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!data.join("addresses.json").exists());
    }
}

#[test]
fn a_start_that_fails_takes_the_last_runs_addresses_away() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    appliance.tenant();
    appliance.kill();
    assert!(data.join("addresses.json").exists());
    let log = data.join("wal/0000000000000001.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[600] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    assert_eq!(run(&["serve", "--data", data.to_str().unwrap()]).status.code(), Some(4));
    assert!(!data.join("addresses.json").exists());
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
fn a_demo_without_its_notes_begins_again() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("quintet-data");
    let mut tenants = Vec::new();
    for _ in 0..3 {
        let appliance = Setup::new().on(&data).demo().start();
        demo_table(&appliance);
        let notes = std::fs::read_to_string(data.join("demo.json")).unwrap();
        let notes: serde_json::Value = serde_json::from_str(&notes).unwrap();
        let ledger = appliance.client("ledger", notes["keys"]["ledger"].as_str().unwrap());
        assert_eq!(ledger.get("/v1/accounts").expect(200)["accounts"].as_array().unwrap().len(), 4);
        tenants.push(appliance.cli_json(&["tenant", "show", notes["tenant_id"].as_str().unwrap()])["name"].clone());
        assert_eq!(appliance.stop(), Some(0));
        std::fs::remove_file(data.join("demo.json")).unwrap();
    }
    assert_eq!(tenants[0], "demo");
    assert!(tenants[1] != tenants[0] && tenants[2] != tenants[0] && tenants[1] != tenants[2], "{tenants:?}");
}

#[test]
fn the_demos_curl_lines_work() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("quintet-data");
    let appliance = Setup::new().on(&data).demo().start();
    let table = demo_table(&appliance);
    let lines: Vec<_> = table.lines().filter(|line| line.starts_with("curl ")).collect();
    assert_eq!(lines.len(), 15, "{table}");
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
        // One shows how a review is refused.
        let expected: &[&str] = if line.contains("/transition") { &["422"] } else { &["200", "201", "202"] };
        assert!(expected.iter().any(|status| said.ends_with(status)), "{line}: {said}");
        assert!(!line.contains("/suggestions/") || said.contains("Unser Laden"), "{line}: {said}");
    }
    let decided = table.lines().find(|line| line.contains(" decision approve ")).unwrap();
    let output = std::process::Command::new("/bin/sh").args(["-c", decided]).output().unwrap();
    assert!(stdout(&output).contains(" is approved."), "{decided}: {output:?}");
}

#[test]
fn the_demos_receiver_prints_what_it_is_sent() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("quintet-data");
    let mut endpoints = Vec::new();
    for round in 0..3 {
        let appliance = Setup::new().on(&data).demo().start();
        demo_table(&appliance);
        let notes = std::fs::read_to_string(data.join("demo.json")).unwrap();
        let notes: serde_json::Value = serde_json::from_str(&notes).unwrap();
        let endpoint = notes["webhooks"]["endpoint_id"].as_str().unwrap().to_owned();
        let secret = notes["webhooks"]["secret"].as_str().unwrap();
        let runs = appliance.client("runs", notes["keys"]["runs"].as_str().unwrap());
        runs.send("POST", &format!("/api/v1/webhooks/{endpoint}/test"), &[], b"").expect(202);
        let line = "webhook received: webhook.test, attempt 1; its signature is right\n{\"event_id\":\"";
        let begun = Instant::now();
        while !appliance.log().contains(line) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", appliance.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        // Nobody else is believed, and nothing else on this machine is called.
        let url = runs.get(&format!("/api/v1/webhooks/{endpoint}")).expect(200)["url"].as_str().unwrap().to_owned();
        let forged = ureq::post(&url).header("x-svc-event", "run.exited").config().http_status_as_error(false).build();
        assert_eq!(forged.send("{}").unwrap().status(), 401);
        assert!(appliance.log().contains("webhook received: run.exited, attempt ; its signature is WRONG: refused"));
        let other = serde_json::json!({"url": format!("http://{}/", appliance.address("runs")), "events": ["*"]});
        assert_eq!(runs.post("/api/v1/webhooks", &other).expect(422)["code"], "url_not_allowed");
        assert!(!appliance.log().contains(secret), "the secret is not printed");
        if round == 1 {
            runs.send("DELETE", &format!("/api/v1/webhooks/{endpoint}"), &[], b"").expect(200);
        }
        endpoints.push(endpoint);
        assert_eq!(appliance.stop(), Some(0));
    }
    assert!(
        endpoints[0] == endpoints[1] && endpoints[1] != endpoints[2],
        "one that is gone is made anew: {endpoints:?}"
    );
}
