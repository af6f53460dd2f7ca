//! Encrypted workspaces beside Debian's `age`: what it seals arrives as it was and is opened by it, what is no armor is refused
//! and leaves nothing, and a word of a plain body is nowhere. `QUINTET_AGE_CASES=N` seals more bodies.

use std::io::Write as _;
use std::process::{Command, Stdio};

use data_encoding::BASE64;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::support::appliance::{Client, Setup, shared, stderr, stdout};
use crate::support::messaging::{Agent, Workspace, refused};

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";

/// A pair of keys, made by `age-keygen`.
struct Keys {
    identity: tempfile::NamedTempFile,
    recipient: String,
}

fn keys() -> Keys {
    let made = Command::new("age-keygen").output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let text = stdout(&made);
    let recipient = text.lines().find_map(|line| line.strip_prefix("# public key: ")).unwrap().to_owned();
    let mut identity = tempfile::NamedTempFile::new().unwrap();
    identity.write_all(text.as_bytes()).unwrap();
    Keys { identity, recipient }
}

/// Runs `age`; `None`: it refuses.
fn age(arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("age");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    // Who refuses early reads no further.
    let feeding = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    output.status.success().then_some(output.stdout)
}

impl Keys {
    fn armor(&self, plain: &[u8]) -> String {
        String::from_utf8(age(&["-a", "-r", &self.recipient], plain).unwrap()).unwrap()
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        age(&["-d", "-i", self.identity.path().to_str().unwrap()], sealed)
    }
}

fn message(text: &str) -> Value {
    json!({"to": ["ben"], "subject": "s", "text": text, "sealed": true})
}

/// The text and the attachments of the last message that somebody has got.
fn last(agent: &Agent, attachments: usize) -> (String, Vec<Vec<u8>>) {
    let seq = agent.client.get("/v1/whoami").expect(200)["unread"]["count"].as_u64().unwrap();
    let row = agent.inbox(seq - 1).pop().unwrap();
    let path = format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap());
    let files = (0..attachments).map(|index| agent.client.get(&format!("{path}/attachments/{index}")).bytes).collect();
    // Looking at an attachment marks nothing read, and looking at the whole would: what is unread says how many there are.
    let listed = agent.client.get(&format!("/v1/threads/{}", row["thread_id"].as_str().unwrap())).expect(200);
    (listed["messages"][0]["text_body"].as_str().unwrap().to_owned(), files)
}

#[test]
fn what_age_seals_arrives_as_it_was() {
    let (workspace, keys) = (Workspace::encrypted(shared()), keys());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let cases = std::env::var("QUINTET_AGE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    for seed in 0..cases {
        let mut random = Rng::with_seed(seed);
        let length = if seed % 8 == 0 { random.usize(..64 << 10) } else { random.usize(..300) };
        let plain: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
        let armor = keys.armor(&plain);
        let binary = age(&["-r", &keys.recipient], &plain).unwrap();
        let mut body = message(&armor);
        let file = |bytes: &[u8]| json!({"filename": "x.age", "content_base64": BASE64.encode(bytes)});
        body["attachments"] = json!([file(&binary), file(armor.as_bytes())]);
        ann.client.post("/v1/messages", &body).expect(202);
        let (text, files) = last(&ben, 2);
        assert_eq!((&text, &files), (&armor, &vec![binary.clone(), armor.clone().into_bytes()]), "seed {seed}");
        for sealed in [text.as_bytes(), &files[0]] {
            assert_eq!(keys.open(sealed).as_ref(), Some(&plain), "seed {seed}");
        }
    }
}

/// What becomes of armor: its name, the text, and whether the form shows that it is damaged. Nobody opens anything here, so that
/// what is wrong inside is found by whoever opens it.
fn damaged(armor: &str) -> Vec<(&'static str, String, bool)> {
    let lines: Vec<&str> = armor.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let inner = &lines[1..lines.len() - 1];
    let with = |inner: &[&str]| joined(&[&[BEGIN], inner, &[END]].concat());
    let file = BASE64.decode(inner.concat().as_bytes()).unwrap();
    let of_file = |bytes: &[u8]| {
        let base64 = BASE64.encode(bytes);
        let lines: Vec<&str> = base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        with(&lines)
    };
    let mac_at = file.windows(5).position(|five| five == b"\n--- ").unwrap() + 1;
    let header_bytes = mac_at + file[mac_at..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut swapped = inner.to_vec();
    let end = swapped.len() - 2;
    swapped.swap(end, end - 1);
    let changed = |place: usize| {
        let mut file = file.clone();
        file[place] ^= 1;
        of_file(&file)
    };
    vec![
        ("nothing but words", "plain words".to_owned(), true),
        ("no end", joined(&lines[..lines.len() - 1]), true),
        ("no beginning", joined(&lines[1..]), true),
        ("cut in the header", with(&inner[..1]), true),
        ("half a line", armor.replace(inner[inner.len() - 1], &inner[inner.len() - 1][1..]), true),
        ("words before", format!("hello\n{armor}"), true),
        ("words behind", format!("{armor}hello"), true),
        ("two of them", format!("{armor}{armor}"), true),
        ("an empty line inside", with(&[&inner[..2], &[""], &inner[2..]].concat()), true),
        ("a short line inside", with(&[&inner[..1], &["AAAA"], &inner[1..]].concat()), true),
        ("no stanza", of_file(b"age-encryption.org/v1\n--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n0123456789012345678901234567890123456789"), true),
        ("another version", of_file(&[b"age-encryption.org/v2", &file[21..]].concat()), true),
        ("no payload", of_file(&file[..header_bytes + 10]), true),
        ("blanks around it", format!("\n  {armor}  \n"), false),
        ("lines that end in CR LF", armor.replace('\n', "\r\n"), false),
        ("two lines of the payload swapped", with(&swapped), false),
        ("a bit of the payload", changed(file.len() - 1), false),
        ("extended", of_file(&[&file[..], b"more"].concat()), false),
    ]
}

/// With `--nocapture` it prints the table.
#[test]
fn what_is_no_armor_is_refused_and_leaves_nothing() {
    let (workspace, keys) = (Workspace::encrypted(shared()), keys());
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let plain: Vec<u8> = (0..600_u32).map(|byte| byte as u8).collect();
    let mut count = 0;
    for (what, text, is_seen) in damaged(&keys.armor(&plain)) {
        let answer = ann.client.post("/v1/messages", &message(&text));
        let opened = keys.open(text.trim().as_bytes());
        println!("{what}: {}, age {}", answer.status, if opened.is_some() { "opens it" } else { "refuses it" });
        if is_seen {
            refused(&answer, 422, "sealing_required");
            assert_eq!(opened, None, "{what}: age would open it");
        } else {
            answer.expect(202);
            count += 1;
            assert_eq!(last(&ben, 0).0, text, "{what}: it arrives as it was sent");
        }
        assert_eq!(ben.inbox(0).len(), count, "{what}");
    }
}

/// A word that stands nowhere else.
fn word(random: &mut Rng) -> String {
    std::iter::repeat_with(|| random.alphabetic()).take(24).collect()
}

#[test]
fn a_word_of_a_plain_body_is_nowhere() {
    let appliance = Setup::new().env("RUST_LOG", "trace").start();
    let workspace = Workspace::encrypted(&appliance);
    let (ann, _ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let mut random = Rng::new();
    let mut words = Vec::new();
    let mut answers = String::new();
    let mut new = || {
        words.push(word(&mut random));
        words.last().unwrap().clone()
    };
    let mut ask = |client: &Client, method: &str, path: &str, body: &Value| {
        let fields = [("content-type", "application/json"), ("idempotency-key", "k1")];
        for fields in [&fields[..1], &fields, &fields] {
            let answer = client.send(method, path, fields, body.to_string().as_bytes());
            assert!(answer.status < 500, "{path}: {answer:?}");
            answers.push_str(&answer.text);
        }
    };
    let plain = |text: String| json!({"to": ["ben"], "subject": "s", "text": text});
    ask(&ann.client, "POST", "/v1/messages", &plain(new()));
    ask(&ann.client, "POST", "/v1/messages", &message(&new()));
    ask(&ann.client, "POST", "/v1/drafts", &plain(new()));
    ask(&ann.client, "POST", "/v1/recipients/resolve", &plain(new()));
    ask(&ann.client, "POST", "/v1/messages", &json!({"to": ["ben"], "subject": "s", "payload": {"x": new()}}));
    ask(&ann.client, "POST", "/v1/messages", &json!({"to": ["ben"], "subject": "s", "html": new()}));
    let file = json!({"filename": "x", "content_base64": BASE64.encode(new().as_bytes())});
    ask(&ann.client, "POST", "/v1/messages", &json!({"to": ["ben"], "subject": "s", "attachments": [file]}));
    ask(&ann.client, "POST", "/v1/memory", &json!({"text": new()}));
    ask(&ann.client, "POST", "/v1/reminders", &json!({"text": new(), "delay_seconds": 60}));
    let claim = json!({"assert_text": new(), "repro": new()});
    ask(&ann.client, "POST", "/v1/messages", &json!({"to": ["ben"], "subject": "s", "claim": claim}));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "bus_send", "arguments": {"to": "ben", "subject": "s", "text": new()}}});
    ask(&ann.client, "POST", "/mcp", &call);
    let data = appliance.data().to_owned();
    let log = appliance.log();
    let found: Vec<&String> = words.iter().filter(|word| answers.contains(*word) || log.contains(*word)).collect();
    assert_eq!(found, Vec::<&String>::new(), "in an answer or the log");
    assert_eq!(appliance.stop(), Some(0));
    are_nowhere(&words, &data);
}

/// No file has one of these words in it.
fn are_nowhere(words: &[String], data: &std::path::Path) {
    for word in words {
        let kept = Command::new("grep").args(["-rlaF", word]).arg(data).output().unwrap();
        assert_eq!(stdout(&kept), "", "{word} is on disk");
    }
}

/// What a plain workspace seals where it lies is sealed in the answers that are remembered, too (6-messaging.md, E6).
#[test]
fn what_is_sealed_at_rest_is_so_in_remembered_answers() {
    let appliance = Setup::new().start();
    let workspace = Workspace::open(&appliance);
    let (ann, ben) = (workspace.agent("ann"), workspace.agent("ben"));
    let mut random = Rng::new();
    let words: Vec<String> = (0..9).map(|_| word(&mut random)).collect();
    let ask = |agent: &Agent, method: &str, path: &str, body: &Value| -> Value {
        let fields = [("content-type", "application/json"), ("idempotency-key", "k1")];
        let [first, again] = [(); 2].map(|()| {
            let answer = agent.client.send(method, path, &fields, body.to_string().as_bytes());
            assert!(answer.status < 300, "{path}: {answer:?}");
            let mut told: Value = serde_json::from_str(&answer.text).unwrap();
            // It is put to whoever asks, and is no part of what is answered.
            told.as_object_mut().unwrap().remove("liveness_challenge");
            told
        });
        // What is no POST is done once more.
        assert!(first == again || method != "POST", "{path}: {first} {again}");
        first
    };
    let draft = ask(&ann, "POST", "/v1/drafts", &json!({"to": ["ben"], "text": words[0]}));
    let path = format!("/v1/drafts/{}", draft["draft_id"].as_str().or(draft["id"].as_str()).unwrap());
    ask(&ann, "PATCH", &path, &json!({"text": words[1]}));
    let approval =
        json!({"title": "t", "summary": words[2], "proposed_action": {"do": words[3]}, "context": {"c": words[4]}});
    let raised = ask(&ann, "POST", "/v1/approvals", &approval);
    ask(&ann, "POST", &format!("/v1/approvals/{}/cancel", raised["id"].as_str().unwrap()), &json!({}));
    let claim = json!({"assert_text": words[5], "repro": words[6], "expect": {"exit": 0}});
    let sent = ask(&ann, "POST", "/v1/messages", &json!({"to": ["ben"], "text": "x", "claim": claim}));
    let verdict = json!({"result": "verified", "observed_exit": 0, "observed_output": words[7], "env_note": words[8]});
    ask(&ben, "POST", &format!("/v1/messages/{}/claim/verdict", sent["id"].as_str().unwrap()), &verdict);
    let data = appliance.data().to_owned();
    assert_eq!(appliance.stop(), Some(0));
    are_nowhere(&words, &data);
}
