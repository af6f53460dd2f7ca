//! Signing in, setting up, joining, retiring.

use std::collections::BTreeSet;

use super::{Machine, ORIGIN, Pair, Workspace, git, has, issue};
use crate::support::appliance::{shared, stderr, stdout};

#[test]
fn a_checkout_is_set_up_and_again() {
    let workspace = Workspace::new(shared());
    let machine = Machine::new(shared());
    has(&machine.at_home().succeed(&["signin", &workspace.key]), &["key VERIFIED against"]);
    let place = machine.checkout("api", ORIGIN);
    let base = machine.base_url.clone();
    // Without the harness's plug-in it ends with 1: it cannot promise wake-ups.
    let said = place.end(&["--base-url", &base, "setup", "claude", "--role", "builder"], 1);
    has(&said, &["builder-", "skill:"]);
    let agent = place.agent();
    assert!(agent.starts_with("builder-"), "{agent}");
    let again = place.end(&["--base-url", &base, "setup", "claude"], 1);
    has(&again, &["skill:", "current"]);
    assert_eq!(place.agent(), agent);
    let whoami = place.json(&["whoami"]);
    assert_eq!(whoami["agent"]["name"], agent.as_str());
    assert_eq!(whoami["agent"]["role"], "builder", "a second registration by name keeps it");
    assert_eq!(whoami["key"]["scope"], "send");
    assert_eq!(whoami["workspace"]["slug"], workspace.slug.as_str());
}

#[test]
fn other_harnesses_are_set_up() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let base = machine.base_url.clone();
    for harness in ["opencode", "agy"] {
        let place = machine.checkout(harness, &format!("https://example.com/{harness}.git"));
        let output = place.run(&["--base-url", &base, "setup", harness, "--role", "builder"]);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{harness}: {said}");
        has(&said, &["builder-"]);
        let listed = machine.at_home().succeed(&["phonebook"]);
        has(&listed, &["builder-"]);
    }
}

#[test]
fn an_agent_that_there_is_not_yet_is_registered_by_its_name() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let place = machine.checkout("api", ORIGIN).with("AGENTBUS_AGENT", "newcomer");
    let base = machine.base_url.clone();
    place.end(&["--base-url", &base, "setup", "claude"], 1);
    assert_eq!(place.json(&["whoami"])["agent"]["name"], "newcomer");
}

#[test]
fn a_bound_key_acts_as_its_agent_alone() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one().agent(), pair.other().agent());
    let key = issue(shared(), &workspace.slug, "send", &[&one]);
    let guest = Machine::new(shared());
    has(&guest.at_home().succeed(&["signin", &key]), &["VERIFIED", &one]);
    assert_eq!(guest.at_home().json(&["whoami"])["agent"]["name"], one.as_str());
    let foreign = guest.at_home().with("AGENTBUS_API_KEY", &key);
    has(&foreign.refused(&["--agent", &other, "inbox"], 3), &["key_agent_mismatch"]);
    let wrong = guest.at_home().with("AGENTBUS_API_KEY", &format!("{key}x"));
    has(&wrong.refused(&["whoami"], 8), &["invalid_api_key"]);
}

#[test]
fn an_invited_agent_joins_once() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let invited = machine.at_home().json(&["invite", "--role", "guest"]);
    let token = invited["token"].as_str().unwrap();
    assert!(token.starts_with("ab_jt_"), "{invited}");
    let guest = Machine::new(shared());
    let name = "guest-from-afar";
    has(&guest.at_home().succeed(&["join", token, name]), &["joined as"]);
    let whoami = guest.at_home().with("AGENTBUS_AGENT", name).json(&["whoami"]);
    assert_eq!(whoami["agent"]["name"], name);
    let second = Machine::new(shared());
    let output = second.at_home().run(&["join", token, "second-guest"]);
    assert_eq!(output.status.code(), Some(1), "a token is good once");
}

#[test]
fn a_retired_agent_comes_back() {
    let workspace = Workspace::new(shared());
    let pair = Pair::new(shared(), &workspace);
    let (one, other) = (pair.one(), pair.other());
    has(&other.succeed(&["retire"]), &["retired"]);
    has(&other.succeed(&["whoami"]), &["RETIRED"]);
    has(&other.refused(&["inbox"], 3), &["agent_retired"]);
    let unknown = one.refused(&["send", &other.agent(), "-s", "x", "-b", "y"], 3);
    has(&unknown, &["unknown_recipient"]);
    other.succeed(&["register"]);
    one.succeed(&["send", &other.agent(), "-s", "welcome back", "-b", "y"]);
    has(&other.succeed(&["inbox"]), &["welcome back"]);
}

/// Whatever git makes of a repository, each directory has an agent of its own, and all of them share its room.
#[test]
fn checkouts_clones_and_worktrees_are_told_apart() {
    let workspace = Workspace::new(shared());
    let machine = Machine::signed_in(shared(), &workspace);
    let first = machine.checkout("first", ORIGIN);
    let author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    git(&first.directory, &[&author[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat());
    git(machine.directory.path(), &["clone", "-q", "first", "clone"]);
    git(&machine.place("clone").directory, &["remote", "set-url", "origin", "https://github.com/acme/api"]);
    git(&first.directory, &["worktree", "add", "-q", "../linked"]);
    let mut agents = BTreeSet::new();
    for name in ["first", "clone", "linked"] {
        let place = machine.place(name);
        place.succeed(&["register", "--role", "builder"]);
        let agent = place.agent();
        place.succeed(&["register", "--role", "builder"]);
        assert_eq!(place.agent(), agent, "{name}: again is the same");
        let rooms = place.json(&["whoami"])["rooms"].to_string();
        assert!(rooms.contains("repo:e1dcaa3496b9"), "{name}: {rooms}");
        assert!(agents.insert(agent), "{name} is another's");
    }
    assert_eq!(machine.at_home().json(&["phonebook"]).as_array().unwrap().len(), 3);
}
