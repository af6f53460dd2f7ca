//! Waiting for workflows, following them while they go on, and finding them among others.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use super::workflows::gates;
use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup};

static APPLIANCE: LazyLock<Appliance> = LazyLock::new(|| Setup::new().start());

const WORKFLOWS: &str = "/api/v1/workflows";

#[test]
fn whoever_waits_is_answered_when_it_has_ended_or_when_the_time_is_over() {
    let desk = Desk::open(&APPLIANCE);
    let path = desk.workflow(&json!({"nodes": gates(&["a"])}));
    let begun = Instant::now();
    assert_eq!(desk.client.get(&format!("{path}?wait=1")).expect(200)["state"], "running");
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| desk.client.get(&format!("{path}?wait=60")).expect(200));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished(), "nothing has ended");
        desk.post_to(&path, "nodes/a/approve");
        assert_eq!(waiting.join().unwrap()["state"], "succeeded");
    });
    assert!(begun.elapsed() < Duration::from_secs(40), "it was not waited for to the end");
    refused(&desk.client.get(&format!("{path}?wait=61")), 422, "validation_failed");
    refused(&desk.client.get(&format!("{path}?wait=0")), 422, "validation_failed");
}

#[test]
fn a_follower_hears_every_event_once_while_the_workflow_goes_on() {
    let desk = Desk::open(&APPLIANCE);
    let edges = json!([{"from": "a", "to": "b"}, {"from": "a", "to": "c", "condition": "on_failure"}]);
    let path = desk.workflow(&json!({"nodes": gates(&["a", "b", "c"]), "edges": edges}));
    let follow = |since: u64| desk.client.get(&format!("{path}/events?follow=true&since={since}"));
    let text = std::thread::scope(|scope| {
        let (whole, part) = (scope.spawn(|| follow(0)), scope.spawn(|| follow(2)));
        for step in ["nodes/a/approve", "pause", "resume", "nodes/b/reject"] {
            std::thread::sleep(Duration::from_millis(100));
            assert!(!whole.is_finished() && !part.is_finished(), "the workflow goes on");
            desk.post_to(&path, step);
        }
        let (whole, part) = (whole.join().unwrap().text, part.join().unwrap().text);
        let behind = whole.find("id: 3\n").unwrap();
        assert_eq!(part, whole[behind..], "a number heard before is where one goes on");
        whole
    });
    assert!(text.ends_with("event: end\ndata: {\"state\":\"failed\"}\n\n"), "{text}");
    let heard: Vec<Value> = text
        .split("\n\n")
        .filter(|piece| piece.contains("event: event\n"))
        .map(|piece| serde_json::from_str(piece.rsplit("data: ").next().unwrap()).unwrap())
        .collect();
    assert_eq!(json!(heard), desk.client.get(&format!("{path}/events?limit=1000")).expect(200));
}

#[test]
fn workflows_are_found_by_what_they_are_and_when_they_came() {
    let desk = Desk::open(&APPLIANCE);
    let mut paths = Vec::new();
    for (name, tags) in [("x", json!(["t"])), ("y", json!(["t", "u"])), ("x", json!(["u"]))] {
        paths.push(desk.workflow(&json!({"name": name, "tags": tags, "nodes": gates(&["a"])})));
        // Instants are told in milliseconds.
        std::thread::sleep(Duration::from_millis(5));
    }
    let template = json!({"name": "once", "definition": {"name": "z", "nodes": gates(&["a"])}});
    let template = desk.client.post("/api/v1/templates", &template).expect(201);
    let of_template = desk.client.post("/api/v1/templates/once/run", &json!({})).expect(202);
    paths.push(format!("{WORKFLOWS}/{}", of_template["workflow_id"].as_str().unwrap()));
    desk.post_to(&paths[1], "nodes/a/approve");
    let at = |place: usize| desk.client.get(&paths[place]).expect(200)["submitted_at"].as_str().unwrap().to_owned();
    let later = |place: usize| rfc3339(parse_rfc3339(&at(place)).unwrap().plus_seconds(1));
    // Newest first.
    for (asked, places) in [
        (String::new(), vec![3, 2, 1, 0]),
        ("name=x".to_owned(), vec![2, 0]),
        ("tag=t".to_owned(), vec![1, 0]),
        ("tag=u&name=x".to_owned(), vec![2]),
        ("state=succeeded".to_owned(), vec![1]),
        ("state=cancelled".to_owned(), vec![]),
        (format!("submitted_after={}", at(1)), vec![3, 2, 1]),
        (format!("submitted_before={}", at(1)), vec![0]),
        (format!("submitted_after={}&submitted_before={}", at(1), at(2)), vec![1]),
        (format!("submitted_after={}", later(3)), vec![]),
        (format!("template_id={}", template["template_id"].as_str().unwrap()), vec![3]),
        (format!("trigger_id={}", template["template_id"].as_str().unwrap()), vec![]),
    ] {
        let asked = asked.replace('+', "%2B");
        let mut found = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = desk.client.get(&format!("{WORKFLOWS}?limit=1&{asked}{cursor}")).expect(200);
            found.extend(page["items"].as_array().unwrap().iter().map(|item| item["workflow_id"].clone()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let wanted: Vec<Value> =
            places.into_iter().map(|place: usize| paths[place].rsplit('/').next().unwrap().into()).collect();
        assert_eq!(found, wanted, "{asked}");
    }
    for wrong in ["state=done", "submitted_after=today", "template_id=1", "limit=201", "cursor=x"] {
        refused(&desk.client.get(&format!("{WORKFLOWS}?{wrong}")), 422, "validation_failed");
    }
}
