//! What the client's own examination says.

use super::{Machine, ORIGIN, Workspace, has};
use crate::support::appliance::shared;

#[test]
fn the_doctor_finds_everything_in_order() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let place = machine.checkout("api", ORIGIN);
    let base = machine.base_url.clone();
    place.end(&["--base-url", &base, "setup", "claude", "--role", "builder"], 1);
    let said = place.succeed(&["doctor"]);
    has(
        &said,
        &[
            "authentication: OK",
            "quota:          OK",
            "skill:          CURRENT",
            "send:           OK",
            "bus loop:       OK (arrived and READABLE",
            "ack:            OK",
        ],
    );
}

#[test]
fn the_doctor_proves_that_an_agent_is_woken() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let place = machine.checkout("api", ORIGIN);
    let base = machine.base_url.clone();
    place.end(&["--base-url", &base, "setup", "claude", "--role", "builder"], 1);
    // Without the plug-in of the harness it can never be content, but walks the whole chain.
    let said = place.end(&["doctor", "--wake"], 1);
    has(&said, &["probe surfaced by the re-waker (exit 2)", "re-waker silent on second run (dedupe holds)"]);
    let settings = machine.home().join(".claude/settings.json");
    let mut read: serde_json::Value = serde_json::from_slice(&std::fs::read(&settings).unwrap()).unwrap();
    read["enabledPlugins"] = serde_json::json!({"agentbus@rodmena": true});
    std::fs::write(&settings, read.to_string()).unwrap();
    let name = place.agent();
    let state = machine.home().join(format!(".config/agentbus/monitor-{name}-s1.json"));
    let mut watch = place.program("agentbus");
    watch.args(["watch", "--agent", &name, "--state", state.to_str().unwrap(), "--exec", "true"]);
    let mut watch = watch.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let proven = loop {
        let output = place.run(&["doctor", "--wake"]);
        let said = crate::support::appliance::stdout(&output);
        if output.status.code() == Some(0) || begun.elapsed() > std::time::Duration::from_secs(30) {
            break said;
        }
    };
    watch.kill().unwrap();
    watch.wait().unwrap();
    has(&proven, &["wake chain PROVEN"]);
}
