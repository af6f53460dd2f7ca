//! What harnesses run at the begin of a session, before a tool and at the end of a turn.

use std::io::Write as _;
use std::process::{Output, Stdio};

use super::{Pair, Place, Workspace, has};
use crate::support::appliance::{shared, stderr, stdout};

fn hook(place: &Place<'_>, name: &str, input: &str) -> Output {
    let mut command = place.program("agentbus-hook");
    command.arg(name).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_session_hears_of_its_mail_and_is_woken_once() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let name = pair.other().agent();
    let (one, other) = (pair.one(), pair.other().with("AGENTBUS_AGENT", &name).with("AGENTBUS_REWAKE_WINDOW", "0"));
    let quiet = hook(&other, "session-start", "{}");
    assert_eq!((quiet.status.code(), stdout(&quiet).as_str()), (Some(0), ""), "{}", stderr(&quiet));
    one.succeed(&["send", &name, "-s", "While you slept", "-b", "x"]);
    has(&stdout(&hook(&other, "session-start", "{}")), &["1 unread message(s)", "While you slept", "agentbus show"]);
    has(&stdout(&hook(&other, "pending", "{}")), &["1 unread message(s) waiting", "While you slept"]);
    let woken = hook(&other, "monitor", "{}");
    assert_eq!(woken.status.code(), Some(2), "{}{}", stdout(&woken), stderr(&woken));
    assert_eq!(hook(&other, "monitor", "{}").status.code(), Some(0), "each message wakes once");
}

#[test]
fn a_long_poll_ends_with_the_mail_that_comes() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let name = pair.other().agent();
    let (one, other) = (pair.one(), pair.other().with("AGENTBUS_AGENT", &name).with("AGENTBUS_REWAKE_WINDOW", "60"));
    let began = std::time::Instant::now();
    let woken = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| hook(&other, "monitor", "{}"));
        std::thread::sleep(std::time::Duration::from_millis(1500));
        one.succeed(&["send", &name, "-s", "Wake", "-b", "x"]);
        waiting.join().unwrap()
    });
    assert_eq!(woken.status.code(), Some(2), "{}{}", stdout(&woken), stderr(&woken));
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "it was woken, and did not wait for its time");
}
