//! What runs write: live, archived, followed, and of hostile shape.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use super::{House, Tenant, script, shared, wait_until};

fn source(tenant: &Tenant, id: &str) -> String {
    tenant.client.get(&format!("/api/v1/runs/{id}/logs?tail=1")).header("x-log-source").to_owned()
}

#[test]
fn lines_are_the_same_live_and_archived() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("echo one; echo two >&2; sleep 0.05; echo three; sleep 60"));
    wait_until("it has written", || tenant.lines(&id).len() == 2);
    assert_eq!(source(&tenant, &id), "live");
    let both = |query: &str| tenant.logs(&id, query);
    let live = both("?stream=both");
    assert_eq!(live["lines"], json!(["one", "two", "three"]));
    assert_eq!(live["entries"][1]["stream"], "stderr");
    assert_eq!(both("?stream=stderr")["lines"], json!(["two"]));
    let tail = both("?stream=both&tail=1");
    assert_eq!((&tail["lines"], &tail["truncated"]), (&json!(["three"]), &json!(true)));
    let since = live["entries"][2]["ts"].as_str().unwrap();
    assert_eq!(both(&format!("?stream=both&since={since}"))["lines"], json!(["three"]));
    assert_eq!(tenant.control(&id, "kill").status, 204);
    tenant.wait(&id);
    wait_until("it is archived", || source(&tenant, &id) == "archive");
    let archived = both("?stream=both");
    assert_eq!((&archived["entries"], &archived["truncated"]), (&live["entries"], &json!(false)));
    assert_eq!(both("?tail=1")["lines"], json!(["three"]));
}

#[test]
fn hostile_output_is_told_as_it_is_and_bounded() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let text = "printf 'no end'; printf '\\377\\376 \\000 \\033[31m\\n' >&2; printf '\\r\\n\\n' >&2; \
                echo 'data: not an event' >&2";
    let id = tenant.submit(&script(text));
    tenant.wait(&id);
    assert_eq!(tenant.lines(&id), ["no end"]);
    let told = tenant.logs(&id, "?stream=stderr");
    let first = told["lines"][0].as_str().unwrap();
    assert!(first.contains('\u{fffd}') && first.contains('\u{1b}'), "{told}");
    assert_eq!(told["lines"].as_array().unwrap().last().unwrap(), "data: not an event");

    // More than is kept: the first MiB, a marker, the last.
    let id = tenant.submit(&script("yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 30000000; echo; echo last"));
    tenant.wait(&id);
    let result = tenant.result(&id);
    assert_eq!((&result["stdout_truncated"], &result["stderr_truncated"]), (&json!(true), &json!(false)));
    assert!(result["result_summary"].as_str().unwrap().ends_with("\nlast"));
    assert!(result["result_summary"].as_str().unwrap().len() <= 1024);
    wait_until("it is archived", || source(&tenant, &id) == "archive");
    let told = tenant.logs(&id, "?tail=3");
    assert_eq!((told["lines"].as_array().unwrap().len(), &told["truncated"]), (3, &json!(true)));
    assert_eq!(told["lines"][2], "last");
    let all = tenant.client.get(&format!("/api/v1/runs/{id}/logs?tail=50000"));
    assert!(all.text.len() < 16 << 20, "{}", all.text.len());
    let followed = follow(&house_of(house), &tenant, &id, "", usize::MAX);
    let marker =
        followed.iter().filter(|event| event["line"].as_str().is_some_and(|line| line.contains("lines left out")));
    assert_eq!(marker.count(), 1, "the gap is marked once");
    assert_eq!(followed.last().unwrap(), &json!({"state": "exited"}));
}

fn house_of(house: &House) -> String {
    house.appliance().address("runs").to_owned()
}

/// Follows a run until its end, or for so many events.
#[expect(clippy::disallowed_methods, reason = "tests call the appliance under test, on loopback")]
fn follow(address: &str, tenant: &Tenant, id: &str, query: &str, most: usize) -> Vec<Value> {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = format!("/api/v1/runs/{id}/logs?follow=true{query}");
    let key = tenant.key();
    write!(stream, "GET {path} HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n").unwrap();
    let mut events = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            events.push(serde_json::from_str(data).unwrap());
        }
        if events.len() >= most {
            break;
        }
    }
    events
}

#[test]
fn a_follower_hears_every_line_once_and_the_end() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.05; done; echo done >&2"));
    let address = house_of(house);
    let followed = follow(&address, &tenant, &id, "&stream=both", usize::MAX);
    let lines: Vec<&str> = followed.iter().filter_map(|event| event["line"].as_str()).collect();
    assert_eq!(lines, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "done"]);
    assert_eq!(followed.last().unwrap(), &json!({"state": "exited"}));
    wait_until("it is archived", || source(&tenant, &id) == "archive");
    let afterwards = follow(&address, &tenant, &id, "&tail=2", usize::MAX);
    assert_eq!(afterwards.len(), 3, "{afterwards:?}");
    assert_eq!(afterwards[0]["line"], "9");
}

#[test]
fn a_follower_who_does_not_read_costs_no_memory() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("yes 0123456789abcdefghijklmnopqrstuvwxyz"));
    tenant.until(&id, "running");
    let address = house_of(house);
    let before = resident_mb(house);
    let connections: Vec<_> = (0..8)
        .map(|_| {
            #[expect(clippy::disallowed_methods, reason = "tests call the appliance under test, on loopback")]
            let mut stream = std::net::TcpStream::connect(&address).unwrap();
            let (path, key) = (format!("/api/v1/runs/{id}/logs?follow=true&tail=1"), tenant.key());
            write!(stream, "GET {path} HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n").unwrap();
            let mut some = [0; 64];
            stream.read_exact(&mut some).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_secs(2));
    let grown = resident_mb(house).saturating_sub(before);
    assert!(grown < 150, "{grown} MB for eight who do not read");
    drop(connections);
    assert_eq!(tenant.control(&id, "kill").status, 204);
    tenant.wait(&id);
}

fn resident_mb(house: &House) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", house.appliance().pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
