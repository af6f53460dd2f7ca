//! Receivers under names: the server has a hosts file of its own in a mount namespace, which says what a name stands for,
//! and says something else between the registration and the attempt.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::odd::{Odd, answer, read};
use crate::runs::webhooks::id_of;
use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, say_skipped};

/// Receivers stand at the first two; the third is a neighbour whom nobody may call.
const ALLOWED: &str = "127.0.0.1/32, 127.0.0.2/32";

/// An appliance whose names a test decides.
struct Names {
    appliance: Appliance,
    hosts: PathBuf,
    _directory: tempfile::TempDir,
}

impl Names {
    /// One with these lines in its hosts file; none where a test may not mount anything.
    fn start(lines: &str) -> Option<Names> {
        let directory = tempfile::tempdir().unwrap();
        let hosts = directory.path().join("hosts");
        std::fs::write(&hosts, lines).unwrap();
        let script = r#"mount --make-rprivate / && mount --bind "$0" /etc/hosts || exit 99; exec "$@""#;
        let hosts_text = hosts.to_str().unwrap().to_owned();
        let root = rustix::process::geteuid().is_root();
        let space: &[&str] = if root { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
        let wrapper = [&["unshare"], space, &["sh", "-c", script, &hosts_text]].concat();
        let setup = Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", ALLOWED).under(&wrapper);
        match setup.try_start() {
            Ok(appliance) => Some(Names { appliance, hosts, _directory: directory }),
            Err(reason) if reason.contains("99") || reason.contains("unshare") => {
                say_skipped(&format!("no namespace of mounts may be made: {reason}"));
                None
            }
            Err(reason) => panic!("{reason}"),
        }
    }

    /// From now on names stand for this.
    fn change(&self, lines: &str) {
        // The file itself stays: it is what is mounted.
        write(&self.hosts, lines);
    }

    fn advance(&self, seconds: u64) {
        self.appliance.cli_json(&["clock", "advance", &seconds.to_string()]);
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// Answers each request of a connection, as long as there are any.
fn stays(wire: &mut dyn super::odd::Wire, _: usize) -> std::io::Result<()> {
    loop {
        read(wire)?;
        wire.write_all(b"HTTP/1.1 204 x\r\n\r\n")?;
    }
}

/// The newest delivery of a tenant: state, attempts, what was wrong.
fn newest(desk: &Desk) -> (Value, Value, Value) {
    let last = desk.deliveries("").pop().unwrap();
    (last["state"].clone(), last["attempt"].clone(), last["last_error"].clone())
}

#[test]
fn a_name_is_vetted_again_at_each_attempt() {
    let Some(names) = Names::start("127.0.0.1 localhost hooks.test\n") else { return };
    let desk = Desk::open(&names.appliance);
    let first = Odd::start("127.0.0.1:0", stays, None);
    let port = first.port();
    let second = Odd::start(&format!("127.0.0.2:{port}"), stays, None);
    let forbidden = Odd::start(&format!("127.0.0.3:{port}"), stays, None);
    let endpoint = desk.endpoint(&format!("http://hooks.test:{port}/a"), &["run.failed"]);
    let (delivered, no_error) = (json!("delivered"), Value::Null);
    for _ in 0..2 {
        desk.expired();
        names.advance(1);
        assert_eq!(newest(&desk), (delivered.clone(), json!(1), no_error.clone()));
    }
    assert_eq!(first.connections(), 1, "the connection is kept");
    // The name moves to a neighbour who may be called: so does the delivery, though a connection to the old one is kept.
    names.change("127.0.0.2 hooks.test\n");
    desk.expired();
    names.advance(1);
    assert_eq!(newest(&desk), (delivered.clone(), json!(1), no_error.clone()));
    assert_eq!((first.connections(), second.connections()), (1, 1));
    // Addresses that nobody may call: dead at once, and nobody is connected to. One among others is enough.
    for (lines, case) in [
        ("127.0.0.3 hooks.test\n", "a neighbour"),
        ("127.0.0.2 hooks.test\n127.0.0.3 hooks.test\n", "a neighbour behind an allowed one"),
        ("127.0.0.3 hooks.test\n127.0.0.1 hooks.test\n", "a neighbour before an allowed one"),
        ("169.254.169.254 hooks.test\n", "the machine's metadata"),
        ("::1 hooks.test\n127.0.0.1 hooks.test\n", "the machine itself, in the other protocol"),
        ("::ffff:127.0.0.3 hooks.test\n", "a neighbour, mapped"),
        ("1.1.1.1 hooks.test\n", "a stranger whom http is not for"),
    ] {
        names.change(lines);
        desk.expired();
        names.advance(1);
        assert_eq!(newest(&desk), (json!("dead"), json!(1), json!("url_not_allowed")), "{case}");
        println!("{:<52}  at an attempt: dead, url_not_allowed ({case})", lines.trim_end().replace('\n', ", "));
    }
    assert_eq!((first.connections(), second.connections(), forbidden.connections()), (1, 1, 0));
    // A name that is gone may come back.
    names.change("127.0.0.1 other.test\n");
    desk.expired();
    names.advance(1);
    assert_eq!(newest(&desk), (json!("pending"), json!(1), json!("name_not_resolved")));
    names.change("127.0.0.1 hooks.test\n");
    names.advance(12);
    assert_eq!(newest(&desk), (delivered, json!(2), no_error));
    let record = desk.endpoint_of(&id_of(&endpoint));
    assert_eq!((&record["dead_deliveries_total"], &record["consecutive_failures"]), (&json!(7), &json!(0)));
}

#[test]
fn a_name_is_vetted_when_it_is_registered() {
    let lines = "127.0.0.1 good.test half.test\n127.0.0.3 bad.test half.test\n10.0.0.1 private.test\n::1 six.test\n";
    let Some(names) = Names::start(lines) else { return };
    let desk = Desk::open(&names.appliance);
    let receiver = Odd::start("0.0.0.0:0", |wire, _| read(wire).and_then(|_| answer(wire, 204, "")), None);
    let port = receiver.port();
    for (host, is_allowed) in [
        ("http://good.test", true),
        ("http://GOOD.test.", true),
        ("http://half.test", false),
        ("http://bad.test", false),
        ("http://private.test", false),
        ("http://six.test", false),
        ("http://unknown.test", false),
        ("https://good.test", true),
        ("https://half.test", false),
        ("https://private.test", false),
        // Nobody knows it yet: with TLS that is found out by each attempt.
        ("https://unknown.test", true),
    ] {
        let url = format!("{host}:{port}/");
        let body = json!({"url": url, "events": ["run.failed"]});
        let answers = [
            desk.client.post("/api/v1/webhooks", &body),
            desk.submit(&json!({"image": "a", "scheduled_start": "2099-01-01T00:00:00Z", "webhook": body})),
        ];
        for (answer, accepted) in answers.iter().zip([201, 202]) {
            if is_allowed {
                assert_eq!(answer.status, accepted, "{host}: {answer:?}");
            } else {
                refused(answer, 422, "url_not_allowed");
            }
        }
        println!("{host:<52}  registered: {}", if is_allowed { "taken" } else { "refused, url_not_allowed" });
    }
    let endpoint = desk.client.get("/api/v1/webhooks").expect(200)["items"][0].clone();
    let path = format!("/api/v1/webhooks/{}", id_of(&endpoint));
    let moved = json!({"url": format!("http://half.test:{port}/")});
    refused(&desk.client.patch(&path, &moved), 422, "url_not_allowed");
    assert_eq!(desk.client.get(&path).expect(200), endpoint, "nothing has changed");
    assert_eq!(receiver.connections(), 0, "registering calls nobody");
}
