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
    assert_eq!(both("?since=2999-01-01T00:00:00.000000Z")["next_since"], "2999-01-01T00:00:00.000000Z");
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

/// Reads page after page from a position on, until there is nothing more; with the position behind the last.
fn pages(tenant: &Tenant, id: &str, query: &str, from: &str) -> (Vec<Value>, String) {
    let (mut pages, mut since) = (Vec::new(), from.to_owned());
    loop {
        let page = tenant.logs(id, &format!("{query}&since={since}"));
        let next = page["next_since"].as_str().unwrap().to_owned();
        if page["lines"].as_array().unwrap().is_empty() {
            assert_eq!(next, since, "nothing behind it yet");
            return (pages, since);
        }
        pages.push(page);
        since = next;
    }
}

fn lines_of(pages: &[Value]) -> Vec<Value> {
    pages.iter().flat_map(|page| page["lines"].as_array().unwrap().clone()).collect()
}

#[test]
fn everything_that_is_kept_can_be_read() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    // A hundred thousand lines, and forty that take six bytes in JSON for each of theirs: more than an answer holds.
    let text = "seq 1 100000; i=0; while [ $i -lt 40 ]; do head -c 60000 /dev/zero >&2; echo >&2; i=$((i+1)); done; \
                echo written; sleep 600";
    let id = tenant.submit(&script(text));
    wait_until("it has written", || tenant.logs(&id, "?tail=1")["lines"] == json!(["written"]));
    let tail = tenant.logs(&id, "?tail=100001");
    assert_eq!((tail["lines"].as_array().unwrap().len(), &tail["truncated"]), (100_001, &json!(false)));
    assert_eq!((&tail["lines"][0], &tail["lines"][99_999]), (&json!("1"), &json!("100000")));
    let (live, end) = pages(&tenant, &id, "?stream=both", "p0-0");
    assert!(live.len() > 1 && live[0]["truncated"] == true, "more than one page");
    let last = live.last().unwrap();
    assert_eq!(last["truncated"], false);
    let of = |pages: &[Value], stream: &str| -> Vec<Value> {
        let entries = pages.iter().flat_map(|page| page["entries"].as_array().unwrap());
        entries.filter(|entry| entry["stream"] == stream).map(|entry| entry["line"].clone()).collect()
    };
    assert_eq!(of(&live, "stdout"), *tail["lines"].as_array().unwrap());
    assert_eq!(of(&live, "stderr"), vec![json!("\0".repeat(60_000)); 40]);
    // The last ones, as many as fit.
    let full = tenant.logs(&id, "?stream=both&tail=1000000");
    assert_eq!(full["truncated"], true);
    assert_eq!(full["entries"].as_array().unwrap().last(), last["entries"].as_array().unwrap().last());
    assert_eq!(full["next_since"], json!(end));

    // The same, and from the same positions, once it has ended.
    assert_eq!(tenant.control(&id, "kill").status, 204);
    tenant.wait(&id);
    wait_until("it is archived", || source(&tenant, &id) == "archive");
    let middle = live[0]["next_since"].as_str().unwrap();
    let (archived, archived_end) = pages(&tenant, &id, "?stream=both", middle);
    assert_eq!((lines_of(&archived), archived_end), (lines_of(&live[1..]), end));
    assert_eq!(tenant.logs(&id, "?stream=both&tail=1000000")["lines"], full["lines"]);
    assert_eq!(tenant.logs(&id, "?tail=100001")["lines"], tail["lines"]);
}

#[test]
fn what_follows_a_gap_and_a_position_is_told_truly() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let text = "x=$(head -c 50000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 400 ]; do echo $x; i=$((i+1)); done; \
                echo last; sleep 600";
    let id = tenant.submit(&script(text));
    wait_until("it has written", || tenant.logs(&id, "?tail=1")["lines"] == json!(["last"]));
    let told = |which: &str| {
        let (pages, end) = pages(&tenant, &id, "?", "p0-0");
        let lines = lines_of(&pages);
        let at = lines.iter().position(|line| line.as_str().unwrap().contains("lines left out")).unwrap();
        let missing: usize = lines[at].as_str().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let position: u64 = end[1..].split('-').next().unwrap().parse().unwrap();
        assert_eq!((lines.len() - 1 + missing) as u64, position, "{which}: every line is there or counted");
        // Behind the gap, and in it.
        for (since, expected) in [(at + missing, false), (at + missing - 1, true)] {
            let page = tenant.logs(&id, &format!("?since=p{since}-7"));
            assert_eq!(page["truncated"], expected, "{which}: {since}");
            assert_eq!(page["lines"].as_array().unwrap().last().unwrap(), "last");
            assert!(page["next_since"].as_str().unwrap().ends_with("-7"), "the other stream's place stays");
        }
        let few = tenant.logs(&id, "?since=p0-0&tail=2");
        assert_eq!((few["lines"].as_array().unwrap().len(), &few["truncated"]), (2, &json!(true)));
        lines
    };
    let live = told("live");
    assert_eq!(tenant.control(&id, "kill").status, 204);
    tenant.wait(&id);
    wait_until("it is archived", || source(&tenant, &id) == "archive");
    assert_eq!(told("archived"), live);
}

#[test]
fn the_end_of_a_flood_of_empty_lines_is_told_while_it_goes_on() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("while :; do echo; done"));
    wait_until("it writes", || tenant.logs(&id, "?tail=1")["truncated"] == true);
    let ends: Vec<u64> = (0..5)
        .map(|_| {
            let last = tenant.logs(&id, "?tail=1");
            assert_eq!((&last["lines"], &last["truncated"]), (&json!([""]), &json!(true)));
            last["next_since"].as_str().unwrap()[1..].split('-').next().unwrap().parse().unwrap()
        })
        .collect();
    assert!(ends.is_sorted(), "{ends:?}");
    // A page of it ends, though the flood does not.
    let page = tenant.logs(&id, &format!("?since=p{}-0", ends[4]));
    assert!(page["next_since"].as_str().unwrap().starts_with('p'));
    assert_eq!(tenant.control(&id, "kill").status, 204);
    tenant.wait(&id);
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
    let afterwards = follow(&address, &tenant, &id, "&since=p9-0&stream=both", usize::MAX);
    let lines: Vec<&str> = afterwards.iter().filter_map(|event| event["line"].as_str()).collect();
    assert_eq!(lines, ["10", "done"], "from a position on");
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
