//! kill -9 of the real binary: mail that was said to be taken is in the inbox, and a message that was accepted arrives
//! outside at least once, always under the same id.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{Server, address, open, setup, until, with_relay};
use crate::support::appliance::{Appliance, Client, rounds, run, stdout};

/// Sends mails over one connection until it breaks; the numbers of those that were taken.
fn send_mails(appliance: &Appliance, to: &str, next: &AtomicU64, is_over: &AtomicBool) -> Vec<u64> {
    let mut taken = Vec::new();
    let Ok(stream) = appliance.connect("smtp") else { return taken };
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut stream = stream;
    let mut ask = |bytes: &[u8], replies: usize| -> Option<String> {
        stream.write_all(bytes).ok()?;
        let mut last = None;
        for _ in 0..replies {
            loop {
                let line = lines.next()?.ok()?;
                if line.as_bytes().get(3) == Some(&b' ') {
                    last = Some(line);
                    break;
                }
            }
        }
        last
    };
    if ask(b"", 1).and_then(|_| ask(b"EHLO c\r\n", 1)).is_none() {
        return taken;
    }
    while !is_over.load(Ordering::SeqCst) {
        let number = next.fetch_add(1, Ordering::SeqCst);
        // Every ninth is large, and lies apart.
        let filling = "x\r\n".repeat(if number.is_multiple_of(9) { 100_000 } else { 20 });
        let begin = format!("MAIL FROM:<ben@example.com>\r\nRCPT TO:<{to}>\r\nDATA\r\n");
        let mail = format!("From: ben@example.com\r\nSubject: mail-{number}\r\n\r\n{filling}.\r\n");
        if ask(begin.as_bytes(), 3).is_none() {
            break;
        }
        match ask(mail.as_bytes(), 1) {
            Some(reply) if reply.starts_with("250 ") => taken.push(number),
            _ => break,
        }
    }
    taken
}

fn subjects(client: &Client) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    loop {
        let page = client.get(&format!("/v1/inbox?cursor={}&limit=200", all.len())).expect(200);
        let rows = page["messages"].as_array().unwrap();
        if rows.is_empty() {
            return all;
        }
        all.extend(rows.iter().map(|row| row["subject"].as_str().unwrap().to_owned()));
    }
}

#[test]
fn what_was_taken_is_in_the_inbox_whatever_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = setup().on(&data).start();
    let (slug, key, to) = {
        let workspace = open(&appliance);
        workspace.limit("external_in_per_day=unlimited");
        (workspace.slug.clone(), workspace.agent("ann").key, address(&workspace, "ann"))
    };
    let (next, mut taken) = (AtomicU64::new(1), BTreeSet::new());
    for round in 0..rounds("QUINTET_KILLS", 3) {
        let (all, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (running, is_over, all, next, to) = (&appliance, &is_over, &all, &next, &to);
            for _ in 0..12 {
                scope.spawn(move || {
                    let sent = send_mails(running, to, next, is_over);
                    all.lock().unwrap().extend(sent);
                });
            }
            std::thread::sleep(Duration::from_millis(400 + 170 * (round as u64 % 5)));
            running.signal("KILL");
            is_over.store(true, Ordering::SeqCst);
        });
        appliance.wait();
        taken.extend(all.into_inner().unwrap());
        let verified = run(&["verify", "--data", data.to_str().unwrap()]);
        assert!(verified.status.success(), "{slug}: {}", stdout(&verified));
        appliance = setup().on(&data).start();
    }
    let found = subjects(&appliance.client("messaging", &key));
    let unique: BTreeSet<&String> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "nothing came twice");
    assert!(taken.len() > 20, "{} were taken", taken.len());
    for number in taken {
        assert!(unique.contains(&format!("mail-{number}")), "mail-{number} was taken and is not there");
    }
}

#[test]
fn what_was_accepted_arrives_outside_whatever_is_killed() {
    let relay = Server::start("relay.py", &["fine"]);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = with_relay(&relay).on(&data).start();
    let key = {
        let workspace = open(&appliance);
        workspace.limit("external_out_per_day=unlimited");
        workspace.agent("ann").key
    };
    let (next, mut accepted) = (AtomicU64::new(1), BTreeSet::new());
    for round in 0..rounds("QUINTET_KILLS", 3) {
        let (all, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (running, is_over, all, next, key) = (&appliance, &is_over, &all, &next, &key);
            for _ in 0..4 {
                scope.spawn(move || {
                    let client = running.client("messaging", key);
                    while !is_over.load(Ordering::SeqCst) {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        let body = json!({"to": ["ben@example.com"], "subject": format!("mail-{number}"), "text": "x"});
                        let fields = [("content-type", "application/json")];
                        let answer = client.try_send("POST", "/v1/messages", &fields, body.to_string().as_bytes());
                        if let Ok(answer) = answer
                            && answer.status == 202
                        {
                            all.lock().unwrap().push(answer.json()["id"].as_str().unwrap().to_owned());
                        }
                        std::thread::sleep(Duration::from_millis(5));
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(300 + 130 * (round as u64 % 5)));
            running.signal("KILL");
            is_over.store(true, Ordering::SeqCst);
        });
        appliance.wait();
        accepted.extend(all.into_inner().unwrap());
        appliance = with_relay(&relay).on(&data).start();
    }
    let arrived = || -> BTreeSet<String> {
        let id = |mail: serde_json::Value| {
            let id = mail["id"].as_str().unwrap();
            id.trim_start_matches('<').split('@').next().unwrap().to_owned()
        };
        relay.mails().into_iter().map(id).collect()
    };
    assert!(accepted.len() > 20, "{} were accepted", accepted.len());
    until("all of it arrives", || accepted.is_subset(&arrived()));
    assert_eq!(appliance.stop(), Some(0));
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert!(verified.status.success(), "{}", stdout(&verified));
}
