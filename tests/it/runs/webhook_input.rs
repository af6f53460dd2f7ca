//! What a webhook must not be, wherever it is given: an address that lies about where it is, patterns nobody emits, secrets
//! without end. Nothing of it is stored.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Answer, Appliance, Setup};

/// It may call this machine by IPv4 alone.
static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start());

/// A desk with an endpoint that is right.
struct Scene {
    desk: Desk,
    endpoint: String,
}

impl Scene {
    fn open() -> Scene {
        let desk = Desk::open(&APPLIANCE);
        let right = json!({"url": "http://127.0.0.1:9/", "events": ["run.exited"], "secret": "s"});
        let made = desk.client.post("/api/v1/webhooks", &right).expect(201);
        Scene { desk, endpoint: format!("/api/v1/webhooks/{}", made["endpoint_id"].as_str().unwrap()) }
    }

    /// Gives these members in each of the three places that take them: a new endpoint, one that is changed, a run. What a
    /// run is told of stands below `webhook`.
    fn give(&self, members: &Value) -> [Answer; 3] {
        let with = |mut body: Value| {
            body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            body
        };
        let whole = with(json!({"url": "http://127.0.0.1:9/", "events": ["*"]}));
        [
            self.desk.client.post("/api/v1/webhooks", &whole),
            self.desk.client.patch(&self.endpoint, members),
            self.desk.submit(&json!({"image": "a", "webhook": whole})),
        ]
    }

    /// What is stored.
    fn stored(&self) -> Value {
        let all = |path: &str| self.desk.client.get(path).expect(200);
        json!([all("/api/v1/webhooks"), all("/api/v1/runs")["items"], all("/api/v1/webhooks/deliveries")])
    }

    #[track_caller]
    fn refuses(&self, members: &Value, code: &str, field: &str) {
        let before = self.stored();
        for (answer, prefix) in self.give(members).iter().zip(["", "", "webhook."]) {
            let problem = refused(answer, 422, code);
            let found = problem["field"].as_str().unwrap();
            assert!(found.starts_with(&format!("{prefix}{field}")), "{members}: {problem}");
        }
        assert_eq!(self.stored(), before, "{members}");
    }
}

/// With `--nocapture` it prints the table of addresses: each in its notation, and what becomes of it.
#[test]
fn an_address_that_lies_about_where_it_is_is_refused() {
    let scene = Scene::open();
    let long = format!("https://example.com/{}", "a".repeat(2048 - 19));
    for url in [
        "https://10.1/",
        "https://0x0a.0.0.1/",
        "https://012.0.0.1/",
        "https://167772161/",
        "https://0xa000001/",
        "https://10.0.0.1./",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[::ffff:a00:1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
        "https://[fe80::1%25eth0]/",
        "https://[fd00::1]/",
        "https://localhost/",
        "https://a.localhost./",
        "https://example.com@10.0.0.1/",
        "https://10.0.0.1:443@example.com/",
        "https://example.com#@10.0.0.1/",
        "https://example.com\\@10.0.0.1/",
        "https://%31%30.0.0.1/",
        "https://\u{ff11}\u{ff10}.0.0.1/",
        "https://10\u{3002}0\u{3002}0\u{3002}1/",
        "https://example.com:65536/",
        "https://example.com:0/",
        "https://example.com:/\r\nx: y",
        "https://example.com/ a",
        "https:///",
        "https://",
        "//example.com/",
        "HTTP://example.com/",
        "http://no-such-name.invalid/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "unix:/data/admin.sock",
        long.as_str(),
    ] {
        scene.refuses(&json!({"url": url}), "url_not_allowed", "url");
        println!("{:<40}  refused: url_not_allowed, nothing is stored", format!("{:?}", shortened(url)));
    }
    // As long as it may be, and a name that nobody knows yet: it is vetted whenever it is called.
    let long = format!("https://no-such-name.invalid/{}", "a".repeat(2048 - 29));
    let given = scene.give(&json!({"url": long}));
    assert_eq!(given.each_ref().map(|answer| answer.status), [201, 200, 202], "{given:?}");
    assert_eq!(given[0].json()["url"], long, "it is shown as it was given");
    println!("{:<40}  taken, and vetted at each attempt", format!("{:?}", shortened(&long)));
}

/// The beginning of an address, for a table.
fn shortened(url: &str) -> String {
    url.chars().take(36).chain(url.chars().nth(36).map(|_| '…')).collect()
}

#[test]
fn patterns_nobody_emits_are_refused() {
    let scene = Scene::open();
    for pattern in [
        "",
        " ",
        "run",
        "run.",
        ".",
        "*.*",
        "**",
        "run.*.*",
        "*.exited",
        "run.exit",
        "run.exited ",
        "RUN.EXITED",
        "run.succeeded",
        "node.terminal",
        "timer.fired",
        "schedule.fired",
        "webhook.test",
        "webhook.*",
        "webhook",
        "run.exited,run.failed",
        "run\u{0}",
        "r\u{fc}n.exited",
    ] {
        scene.refuses(&json!({"events": [pattern]}), "validation_failed", "events");
        scene.refuses(&json!({"events": ["run.exited", pattern]}), "validation_failed", "events");
    }
    for events in
        [json!([]), json!("*"), json!({}), json!([1]), json!([["*"]]), json!(["*", null]), json!(vec!["*"; 65])]
    {
        scene.refuses(&json!({"events": events}), "validation_failed", "events");
    }
    let notice = json!({"url": "http://127.0.0.1:9/", "events": ["webhook.endpoint_degraded"]});
    refused(&scene.desk.submit(&json!({"image": "a", "webhook": notice})), 422, "validation_failed");
}

#[test]
fn secrets_without_end_are_refused() {
    let scene = Scene::open();
    for secret in ["", &"s".repeat(257), &"\u{e9}".repeat(129), &"s".repeat(60_000)] {
        scene.refuses(&json!({"secret": secret}), "validation_failed", "secret");
    }
    for secret in [json!(1), json!(true), json!(["s"]), json!({"s": 1})] {
        scene.refuses(&json!({"secret": secret}), "validation_failed", "secret");
    }
    // Longer than any body.
    for answer in scene.give(&json!({"secret": "s".repeat(20 << 20)})) {
        refused(&answer, 413, "payload_too_large");
    }
    let given = scene.give(&json!({"secret": "\u{e9}".repeat(128)}));
    assert_eq!(given.each_ref().map(|answer| answer.status), [201, 200, 202], "256 bytes are the most");
    assert!(given.iter().all(|answer| !answer.text.contains('\u{e9}')), "it is not shown");
}
