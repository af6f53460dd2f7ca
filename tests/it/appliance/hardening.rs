//! What keeps the appliance whole on a real machine: systemd, logs without secrets, bad input at the edge.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::appliance::{Appliance, Setup, shared, stderr, stdout};

/// Asks the administration socket for its status, whoever runs it.
const ASK: &str = r#"use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "connect: $!";
    print $s "GET /status HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"; local $/; print <$s>"#;

/// Reads notifications until one is this.
fn wait_for(socket: &UnixDatagram, wanted: &str) {
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no {wanted}: {error}"));
        if std::str::from_utf8(&buffer[..length]).unwrap().lines().any(|line| line == wanted) {
            return;
        }
    }
}

#[test]
fn systemd_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify.sock");
    let socket = UnixDatagram::bind(&path).unwrap();
    let setup = Setup::new().env("NOTIFY_SOCKET", path.to_str().unwrap()).env("WATCHDOG_USEC", "200000");
    let appliance = setup.start();
    wait_for(&socket, "READY=1");
    wait_for(&socket, "WATCHDOG=1");
    wait_for(&socket, "WATCHDOG=1");
    appliance.signal("TERM");
    wait_for(&socket, "STOPPING=1");
}

#[test]
fn logs_are_json_lines_without_secrets() {
    let appliance = Setup::new().arg("--log-level").arg("trace").arg("--json").start();
    let (key_id, key) = appliance.key(&appliance.tenant(), &[]);
    appliance.client("ledger", &key).get("/v1/accounts").expect(200);
    appliance.client("ledger", &format!("{key}x")).get("/v1/accounts").expect(401);
    appliance.cli_json(&["key", "revoke", &key_id]);
    let root_key = std::fs::read_to_string(appliance.data().join("root.key")).unwrap();
    // It says so a moment after it can be used.
    let begun = Instant::now();
    let log = loop {
        let log = appliance.log();
        if log.contains("\"ready\"") && log.ends_with('\n') {
            break log;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{log}");
        std::thread::sleep(Duration::from_millis(10));
    };
    let secret = key.strip_prefix(&format!("rak_{key_id}")).unwrap();
    assert!(secret.len() >= 40, "the secret part is what is looked for");
    assert!(!log.contains(secret));
    assert!(!log.contains(root_key.trim()));
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    assert!(lines.iter().any(|line| line["fields"]["message"] == "ready"), "{log}");
    assert!(lines.iter().any(|line| line["ledger"] == appliance.address("ledger")), "--json tells the addresses");
}

#[test]
fn nonsense_at_the_edge_does_no_harm() {
    let inputs: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /v1/accounts HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        b"GET /%ff%00/../../etc/passwd HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for input in inputs {
        let mut stream = shared().connect("ledger").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(input).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{input:?}: {answer}");
    }
    shared().stranger("ledger").get("/healthz").expect(200);
}

/// Sends bytes to a listener; everything that comes back until the connection ends.
fn said_to(appliance: &Appliance, service: &str, bytes: &[u8]) -> String {
    let mut stream = appliance.connect(service).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn every_listener_wants_one_host() {
    let appliance = shared();
    for service in appliance.services() {
        for (version, hosts, is_taken) in [
            ("1.1", &["x"][..], true),
            ("1.1", &["127.0.0.1:80"], true),
            ("1.0", &[], true),
            ("1.1", &[], false),
            ("1.1", &["x", "x"], false),
            ("1.1", &["x", "y"], false),
            ("1.0", &["x", "y"], false),
            ("1.1", &["u@x"], false),
            ("1.1", &[""], false),
        ] {
            let fields: String = hosts.iter().map(|host| format!("host: {host}\r\n")).collect();
            let request = format!("GET /livez HTTP/{version}\r\n{fields}connection: close\r\n\r\n");
            let answer = said_to(appliance, service, request.as_bytes());
            let is_400 = answer.split(' ').nth(1) == Some("400");
            assert_eq!(is_400, !is_taken, "{service}, HTTP/{version}, {hosts:?}: {answer}");
            // In the service's own form.
            assert!(is_taken || answer.contains("\r\ncontent-type: application/"), "{service}: {answer}");
        }
    }
}

#[test]
fn an_early_answer_reaches_a_client_that_still_sends() {
    let appliance = shared();
    let (_, key) = appliance.key(&appliance.tenant(), &[]);
    for _ in 0..20 {
        let mut stream = appliance.connect("ledger").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "POST /v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nidempotency-key: k\r\n\
             connection: close\r\ncontent-type: application/json\r\ncontent-length: 8388608\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The refusal is on its way by now; a client that does not look sends on.
        stream.write_all(&vec![b' '; 8 << 20]).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
}

#[test]
fn many_idle_connections_do_not_keep_others_out() {
    let appliance = shared();
    let idle: Vec<_> = (0..300).map(|_| appliance.connect("ledger").unwrap()).collect();
    let begun = Instant::now();
    appliance.stranger("ledger").get("/healthz").expect(200);
    assert!(begun.elapsed() < Duration::from_secs(5));
    drop(idle);
}

/// Starts the binary with this many file descriptors at most, and no way to get more.
fn with_files(limit: u64) -> Setup {
    Setup::new().under(&["prlimit", &format!("--nofile={limit}:{limit}")])
}

#[test]
fn connections_leave_storage_its_file_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let own = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: own.maximum, maximum: own.maximum }).unwrap();
    // A trusted proxy may hold as many connections as there are.
    let appliance = with_files(512).env("QUINTET_HTTP__TRUSTED_PROXIES", "127.0.0.0/8").start();
    // More than a listener may hold, fewer than it and the kernel's queue together: a connect beyond those waits so long
    // that the first ones are closed meanwhile.
    let services = appliance.services();
    let held: Vec<_> = services.iter().flat_map(|name| (0..150).map(|_| appliance.connect(name).unwrap())).collect();
    std::thread::sleep(Duration::from_millis(500));
    let open = std::fs::read_dir(format!("/proc/{}/fd", appliance.pid())).unwrap().count();
    assert!((200..400).contains(&open), "{open} files are open");
    for _ in 0..5 {
        appliance.tenant();
    }
    assert_eq!(appliance.cli_json(&["status"])["storage"]["state"], "writing");
    drop(held);
    appliance.stranger("ledger").get("/healthz").expect(200);
}

#[test]
fn too_few_file_descriptors_stop_a_start() {
    let Err(said) = with_files(300).try_start() else { panic!("it started") };
    assert!(said.contains("exit status: 1"), "{said}");
    assert!(said.contains("may open 300 files at once; it needs at least 512"), "{said}");
    assert!(said.contains("LimitNOFILE"), "{said}");
}

#[test]
fn damage_that_a_running_appliance_finds_is_exit_code_4() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    // More than one block (4 KiB) of rows: the start reads the first, which holds what it needs of the root key.
    for n in 0..30 {
        appliance.cli_json(&["tenant", "create", &format!("{n:0>255}")]);
    }
    assert_eq!(appliance.stop(), Some(0));
    let tables = || {
        let files = std::fs::read_dir(data.join("live")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).collect::<Vec<_>>()
    };
    assert!(!tables().is_empty());
    let appliance = Setup::new().on(&data).start();
    for table in tables() {
        // Every block; what the start has read of the file stays in memory.
        let mut bytes = std::fs::read(&table).unwrap();
        bytes.iter_mut().skip(8).step_by(64).for_each(|byte| *byte ^= 0xFF);
        std::fs::write(&table, bytes).unwrap();
    }
    let output = appliance.cli(&["tenant", "list"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("what to do: stop the appliance"), "{}", stderr(&output));
}

#[test]
fn other_users_get_nothing_from_the_administration_socket() {
    let appliance = Setup::new().start();
    let socket = appliance.data().join("admin.sock");
    let ask = |prefix: &[&str]| {
        let (program, arguments) = prefix.split_first().unwrap();
        let output =
            std::process::Command::new(program).args(arguments).args(["-e", ASK]).arg(&socket).output().unwrap();
        (stdout(&output), stderr(&output))
    };
    assert!(ask(&["perl"]).0.starts_with("HTTP/1.1 200"));
    if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&socket).unwrap()) != 0 {
        eprintln!("not root: the rest of the test cannot act as another user");
        return;
    }
    let stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "perl"];
    assert!(ask(&stranger).1.contains("Permission denied"));
    // Even with every mode opened by mistake, the kernel's word on who calls is what counts.
    for (path, mode) in
        [(socket.as_path(), 0o666), (appliance.data(), 0o755), (appliance.data().parent().unwrap(), 0o755)]
    {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (answer, complaint) = ask(&stranger);
    assert!(!complaint.contains("Permission denied"), "{complaint}");
    assert_eq!(answer, "");
}
