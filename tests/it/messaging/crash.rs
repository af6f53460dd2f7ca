//! kill -9 of the real binary under sends, releases and resumes: whatever was accepted is in the inbox of everybody it went
//! to, once; a repeat under the same key gets the same answer; places of inboxes have no gaps.
//!
//! `QUINTET_KILLS=N` makes more rounds, each with more sends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::appliance::{Appliance, Client, Setup, rounds, run, stdout};

const CALLERS: usize = 64;
const AGENTS: u64 = 40;
/// Agents that withhold their mail all the time, and let go of it now and then.
const SHY: u64 = 5;

fn agent(number: u64) -> String {
    format!("agent-{}", number % AGENTS)
}

fn acting<'a>(agent: &'a str, key: &'a str) -> [(&'a str, &'a str); 3] {
    [("x-agentbus-agent", agent), ("idempotency-key", key), ("content-type", "application/json")]
}

/// What became of one send.
struct Sent {
    number: u64,
    /// The message's id; `None`: the server was killed before it answered.
    id: Option<String>,
}

/// Message `number`: who sends it, and its body. Every seventh goes to the room of all.
fn message(number: u64) -> (String, Value) {
    let to = if number.is_multiple_of(7) { "room:all".to_owned() } else { agent(number * 13 + 1) };
    let body = json!({"to": [to], "subject": format!("message-{number}"), "text": "x".repeat((number % 900) as usize)});
    (agent(number), body)
}

fn recipients(number: u64) -> BTreeSet<String> {
    match number % 7 {
        0 => (0..AGENTS).map(agent).filter(|name| *name != agent(number)).collect(),
        _ => BTreeSet::from([agent(number * 13 + 1)]),
    }
}

fn send(client: &Client, number: u64) -> Option<Sent> {
    let (from, body) = message(number);
    let key = format!("crash-{number}");
    let answer = client.try_send("POST", "/v1/messages", &acting(&from, &key), body.to_string().as_bytes()).ok();
    let id =
        answer.filter(|answer| answer.status == 202).map(|answer| answer.json()["id"].as_str().unwrap().to_owned());
    Some(Sent { number, id })
}

/// Sends until the server is killed, while shy agents let go of their mail.
fn send_until_killed(appliance: Appliance, key: &str, next: &AtomicU64, lifetime: Duration) -> Vec<Sent> {
    let (all, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..CALLERS {
            let client = appliance.client("messaging", key);
            let (all, is_over) = (&all, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    let sent = send(&client, next.fetch_add(1, Ordering::SeqCst));
                    all.lock().unwrap().extend(sent);
                }
            });
        }
        let client = appliance.client("messaging", key);
        let is_over = &is_over;
        scope.spawn(move || {
            for turn in 0_u64.. {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let name = agent(turn % SHY);
                let state = if (turn / SHY).is_multiple_of(2) { "dnd" } else { "online" };
                let path = format!("/v1/agents/{name}/availability");
                let body = json!({"state": state, "seconds": 3600}).to_string();
                let fields = [("x-agentbus-agent", name.as_str()), ("content-type", "application/json")];
                let _ = client.try_send("PUT", &path, &fields, body.as_bytes());
            }
        });
        std::thread::sleep(lifetime);
        appliance.kill();
        is_over.store(true, Ordering::SeqCst);
    });
    all.into_inner().unwrap()
}

/// An agent's inbox, all of it: its places are counted without gaps.
fn inbox(client: &Client, name: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let path = format!("/v1/inbox?cursor={}&limit=200", all.len());
        let answer = client.send("GET", &path, &[("x-agentbus-agent", name)], b"").expect(200);
        let page = answer["messages"].as_array().unwrap();
        for row in page {
            all.push(row.clone());
            assert_eq!(row["agent_seq"], all.len(), "{name} has a gap");
        }
        if page.is_empty() {
            return all;
        }
    }
}

fn verify(data: &Path) {
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", stdout(&verified));
}

#[test]
fn what_was_accepted_is_there_once_whatever_is_killed() {
    let rounds = rounds("QUINTET_KILLS", 3);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let tenant = appliance.tenant();
    appliance.cli_json(&["messaging", "workspace", "create", "crash", "--tenant", &tenant]);
    appliance.cli_json(&["messaging", "workspace", "limits", "crash", "messages_per_day=unlimited"]);
    let issued = appliance.cli_json(&["messaging", "key", "issue", "--workspace", "crash", "--scope", "admin"]);
    let key = issued["api_key"].as_str().unwrap().to_owned();
    let client = appliance.client("messaging", &key);
    for number in 0..AGENTS {
        let name = agent(number);
        client.post("/v1/agents/register", &json!({"name": name})).expect(201);
        client.send("POST", "/v1/rooms/all/join", &[("x-agentbus-agent", &name)], b"").expect(200);
    }
    let (next, mut all) = (AtomicU64::new(1), Vec::new());
    for round in 0..rounds {
        let lifetime = Duration::from_millis(300 + 130 * (round as u64 % 7));
        all.extend(send_until_killed(appliance, &key, &next, lifetime));
        if round.is_multiple_of(20) {
            verify(&data);
        }
        appliance = Setup::new().on(&data).start();
    }
    let client = appliance.client("messaging", &key);
    let mut ids = BTreeMap::new();
    for Sent { number, id } in &all {
        // Whoever got no answer asks again, and so does every fifth of the others.
        if id.is_none() || number.is_multiple_of(5) {
            let again = send(&client, *number).and_then(|sent| sent.id).expect("the second time it is answered");
            assert!(id.as_ref().is_none_or(|id| *id == again), "message-{number} has two ids");
            ids.insert(*number, again);
        } else {
            ids.extend(id.clone().map(|id| (*number, id)));
        }
    }
    for number in 0..SHY {
        let path = format!("/v1/agents/{}/availability", agent(number));
        let fields = [("x-agentbus-agent", &*agent(number)), ("content-type", "application/json")];
        client.send("PUT", &path, &fields, br#"{"state": "online"}"#).expect(200);
    }
    check(&client, &ids);
    assert_eq!(appliance.stop(), Some(0));
    verify(&data);
    println!("{rounds} kills, {} messages: all there, each once", ids.len());
}

/// Everything that was accepted is with everybody it went to, once, and nothing else is.
fn check(client: &Client, ids: &BTreeMap<u64, String>) {
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (number, id) in ids {
        for name in recipients(*number) {
            expected.entry(name).or_default().insert(id.clone());
        }
    }
    for number in 0..AGENTS {
        let name = agent(number);
        let rows = inbox(client, &name);
        let found: BTreeSet<String> = rows.iter().map(|row| row["message_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(found.len(), rows.len(), "{name} has a message twice");
        let expected = expected.remove(&name).unwrap_or_default();
        let (lost, strange) = (expected.difference(&found).count(), found.difference(&expected).count());
        assert_eq!((lost, strange), (0, 0), "{name}: lost, and not accepted");
    }
}

/// What a stream tells first of what is behind a place.
fn first_told(appliance: &Appliance, key: &str, name: &str, after: usize) -> Value {
    let mut socket = appliance.connect("messaging").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(
        socket,
        "GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nX-AgentBus-Agent: {name}\r\n\
         Last-Event-ID: {after}\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(socket).lines().map(Result::unwrap);
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    serde_json::from_str(&data).unwrap()
}

/// A kill about the release of held mail, before its event reached anybody: all of it is released or none, and who comes
/// back is told of what there is.
#[test]
fn what_is_released_is_told_of_whenever_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let tenant = appliance.tenant();
    appliance.cli_json(&["messaging", "workspace", "create", "crash", "--tenant", &tenant]);
    let issued = appliance.cli_json(&["messaging", "key", "issue", "--workspace", "crash", "--scope", "admin"]);
    let key = issued["api_key"].as_str().unwrap().to_owned();
    let client = appliance.client("messaging", &key);
    for name in ["ann", "ben"] {
        client.post("/v1/agents/register", &json!({"name": name})).expect(201);
    }
    let (mut held, mut released) = (0, 0);
    for micros in [0, 300, 1_000, 3_000, 100_000] {
        let client = appliance.client("messaging", &key);
        let declare = |state: &str| {
            let body = json!({"state": state}).to_string();
            let fields = [("x-agentbus-agent", "ben"), ("content-type", "application/json")];
            client.try_send("PUT", "/v1/agents/ben/availability", &fields, body.as_bytes()).ok()
        };
        declare("offline").unwrap().expect(200);
        for number in 0..3 {
            let body = json!({"to": ["ben"], "text": number.to_string()}).to_string();
            client
                .send("POST", "/v1/messages", &acting("ann", &format!("{micros}-{number}")), body.as_bytes())
                .expect(202);
            held += 1;
        }
        let answer = std::thread::scope(|scope| {
            let answer = scope.spawn(|| declare("online"));
            std::thread::sleep(Duration::from_micros(micros));
            appliance.kill();
            answer.join().unwrap()
        });
        appliance = Setup::new().on(&data).start();
        let found = inbox(&appliance.client("messaging", &key), "ben").len();
        assert!(found == released || found == held, "{micros} us: {found} of {held}, {released} before");
        assert!(answer.is_none_or(|answer| answer.status != 200) || found == held, "what was answered is lost");
        if found > released {
            let told = first_told(&appliance, &key, "ben", released);
            let all = (Value::from(found), Value::from(found - released));
            assert_eq!((&told["agent_seq"], &told["released"]), (&all.0, &all.1), "all of one release is one event");
        }
        released = found;
    }
    assert_eq!(released, held, "the last one had time enough");
    assert_eq!(appliance.stop(), Some(0));
    verify(&data);
}
