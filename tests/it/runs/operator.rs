//! What the operator sees of webhooks, schedules and workflows, and how what was given up is sent once more. Under the
//! system's clock: what is due is done at once.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use quintet::admin::client::Client as Socket;
use quintet::admin::webhooks::{DeadWish, REDELIVER_DEAD};
use serde_json::{Value, json};

use crate::runs::receivers::odd::{Odd, Wire, read};
use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, stderr, stdout};
use crate::support::receiver::Receiver;

static APPLIANCE: LazyLock<Appliance> =
    LazyLock::new(|| Setup::new().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8").start());

/// A tenant, its desk, and a receiver.
struct Scene {
    tenant: String,
    desk: Desk,
    receiver: Receiver,
}

impl Scene {
    fn open() -> Scene {
        let tenant = APPLIANCE.tenant();
        let desk = Desk { client: APPLIANCE.persona("runs", &tenant, &[]) };
        Scene { tenant, desk, receiver: Receiver::start() }
    }

    /// An endpoint whose receiver answers with this status; its id and its secret.
    fn endpoint(&self, status: u16) -> (String, String) {
        let asked = json!({"url": self.receiver.url(status, "hook"), "events": ["*"]});
        let made = self.desk.client.post("/api/v1/webhooks", &asked).expect(201);
        (made["endpoint_id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
    }

    fn change(&self, endpoint: &str, change: &Value) {
        self.desk.client.patch(&format!("/api/v1/webhooks/{endpoint}"), change).expect(200);
    }

    /// So many events, two for each run that may not start any more.
    fn happen(&self, runs: usize) {
        for _ in 0..runs {
            self.desk.id(&json!({"image": "a", "expires_at": "2020-01-01T00:00:00Z"}));
        }
    }

    fn usage(&self) -> Value {
        self.desk.client.get("/api/v1/usage").expect(200)["webhooks"].clone()
    }

    /// Waits until so many have been given up, and nothing waits.
    #[track_caller]
    fn wait_for_dead(&self, count: u64) {
        let begun = Instant::now();
        loop {
            let usage = self.usage();
            if (&usage["dead_deliveries_total"], &usage["pending_deliveries"]) == (&json!(count), &json!(0)) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{usage}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn deliveries(&self, arguments: &[&str]) -> Value {
        let all: Vec<&str> =
            ["webhook", "deliveries", "--tenant", &self.tenant].iter().chain(arguments).copied().collect();
        APPLIANCE.cli_json(&all)
    }
}

/// A command that fails with exit code 1: what it says.
#[track_caller]
fn fails(arguments: &[&str]) -> String {
    let output = APPLIANCE.cli(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stdout(&output));
    stderr(&output)
}

#[test]
fn endpoints_are_shown_tried_and_enabled() {
    let scene = Scene::open();
    let (endpoint, secret) = scene.endpoint(204);
    let (other, _) = scene.endpoint(503);
    let listed = APPLIANCE.cli_json(&["webhook", "list", "--tenant", &scene.tenant]);
    let ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|one| one["endpoint_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [other.as_str(), &endpoint], "newest first");
    let mut own = scene.desk.client.get(&format!("/api/v1/webhooks/{endpoint}")).expect(200);
    own["tenant_id"] = json!(scene.tenant);
    let shown = APPLIANCE.cli_json(&["webhook", "show", &endpoint]);
    own["tenant_name"] = shown["tenant_name"].clone();
    assert_eq!(shown, own, "what the tenant sees, and whose it is");
    let all = APPLIANCE.cli_json(&["webhook", "list"]);
    assert!(all["items"].as_array().unwrap().contains(&shown), "without a tenant it is all of them");
    for arguments in [vec!["webhook", "list"], vec!["webhook", "show", &endpoint]] {
        let text = stdout(&APPLIANCE.cli(&arguments));
        assert!(text.contains(&endpoint) && text.contains("active") && !text.contains(&secret), "{text}");
    }
    assert!(!shown.to_string().contains(&secret) && !all.to_string().contains(&secret));
    // A test tells at once what comes of it.
    let told = stdout(&APPLIANCE.cli(&["webhook", "test", &endpoint]));
    assert!(told.ends_with("/204/hook answered 204\n"), "{told}");
    let tried = APPLIANCE.cli_json(&["webhook", "test", &endpoint, "--tenant", &scene.tenant]);
    assert_eq!(
        (&tried["state"], &tried["event_type"], &tried["attempt"]),
        (&json!("delivered"), &json!("webhook.test"), &json!(1))
    );
    let failed = fails(&["webhook", "test", &other]);
    assert!(failed.contains("the test did not arrive: bad_status") && failed.contains("what to do: "), "{failed}");
    assert_eq!(
        scene.usage(),
        json!({"endpoints": 2, "endpoints_disabled": 0, "pending_deliveries": 0, "dead_deliveries_total": 0})
    );
    // One that is inactive is enabled again; its tenant sees that.
    scene.change(&endpoint, &json!({"active": false}));
    assert_eq!(scene.usage()["endpoints_disabled"], 1);
    let refused = fails(&["webhook", "test", &endpoint]);
    assert!(refused.contains("inactive") && refused.contains("`quintet webhook enable ENDPOINT`"), "{refused}");
    let text = stdout(&APPLIANCE.cli(&["webhook", "list", "--tenant", &scene.tenant]));
    assert!(text.contains("disabled: manual"), "{text}");
    assert_eq!(APPLIANCE.cli_json(&["webhook", "enable", &endpoint])["active"], true);
    assert_eq!(
        scene.desk.client.get(&format!("/api/v1/webhooks/{endpoint}")).expect(200)["disabled_reason"],
        Value::Null
    );
    let again = stdout(&APPLIANCE.cli(&["webhook", "enable", &endpoint]));
    assert!(again.contains("was active already"), "{again}");
    scene.receiver.wait("hook", 3);
}

#[test]
fn what_is_not_there_or_makes_no_sense_is_said() {
    let scene = Scene::open();
    let (endpoint, _) = scene.endpoint(204);
    let stranger = APPLIANCE.tenant();
    let none = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for arguments in [
        vec!["webhook", "show", none],
        vec!["webhook", "show", "no id"],
        vec!["webhook", "show", &endpoint, "--tenant", &stranger],
        vec!["webhook", "enable", none],
        vec!["webhook", "test", none],
        vec!["webhook", "deliveries", "--endpoint", none],
        vec!["webhook", "redeliver", "--endpoint", none, "--dead-since", "2026-01-01T00:00:00Z"],
        vec!["webhook", "redeliver", "--tenant", &scene.tenant, "77"],
    ] {
        let said = fails(&arguments);
        assert!(
            said.contains("there is no webhook endpoint") || said.contains("delivery 77: no such delivery"),
            "{said}"
        );
        assert!(said.contains("`quintet webhook list`"), "{said}");
    }
    let said = fails(&["webhook", "list", "--tenant", "nobody"]);
    assert!(said.contains("no tenant has the id or name") && said.contains("`quintet tenant list`"), "{said}");
    for arguments in [
        vec!["webhook", "deliveries", "--state", "deda"],
        vec!["webhook", "deliveries", "--limit", "0"],
        vec!["webhook", "redeliver", "--endpoint", &endpoint, "--dead-since", "yesterday"],
        vec!["webhook", "redeliver", "--endpoint", &endpoint],
        vec!["webhook", "redeliver", "1"],
        vec!["webhook", "redeliver"],
        vec!["webhook", "redeliver", "--tenant", &scene.tenant, "0"],
    ] {
        let output = APPLIANCE.cli(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    }
    let said = stderr(&APPLIANCE.cli(&["webhook", "deliveries", "--state", "deda"]));
    assert!(said.contains("did you mean dead?"), "{said}");
    let text = stdout(&APPLIANCE.cli(&["webhook", "deliveries", "--tenant", &scene.tenant]));
    assert_eq!(text, "There are no such deliveries.\n");
}

#[test]
fn deliveries_are_listed_and_sent_once_more_by_their_numbers() {
    let scene = Scene::open();
    let (endpoint, _) = scene.endpoint(410);
    let (silent, _) = scene.endpoint(503);
    scene.happen(1);
    let begun = Instant::now();
    while scene.usage()["dead_deliveries_total"] != 2 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = scene.deliveries(&["--endpoint", &endpoint, "--state", "dead"]);
    let dead: Vec<u64> =
        found["items"].as_array().unwrap().iter().map(|one| one["delivery_id"].as_u64().unwrap()).collect();
    assert_eq!((dead.len(), &found["truncated"]), (2, &json!(false)), "{found}");
    assert!(dead.is_sorted() && found["items"][0]["tenant_id"] == *scene.tenant, "{found}");
    let page = scene.desk.client.get("/api/v1/webhooks/deliveries").expect(200);
    let shown = scene.deliveries(&[]);
    assert_eq!(shown["items"].as_array().unwrap().len(), page["items"].as_array().unwrap().len());
    let newest = scene.deliveries(&["--limit", "1"]);
    assert_eq!((newest["items"].as_array().unwrap().len(), &newest["truncated"]), (1, &json!(true)));
    assert_eq!(newest["items"][0]["delivery_id"], 4);
    let text = stdout(&APPLIANCE.cli(&["webhook", "deliveries", "--tenant", &scene.tenant, "--limit", "1"]));
    assert!(text.starts_with("TENANT") && text.ends_with("There are older ones: --limit shows more.\n"), "{text}");
    // One that still waits spoils all of them.
    let waiting = scene.deliveries(&["--endpoint", &silent])["items"][0]["delivery_id"].to_string();
    let first = dead[0].to_string();
    let redeliver = |ids: &[&str]| {
        let arguments: Vec<&str> =
            ["webhook", "redeliver", "--tenant", &scene.tenant].iter().chain(ids).copied().collect();
        APPLIANCE.cli(&arguments)
    };
    let refused = redeliver(&[&first, &waiting]);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said.contains(&format!("delivery {waiting}: the delivery has not ended")) && said.contains("leave it out"),
        "{said}"
    );
    assert_eq!(scene.usage()["pending_deliveries"], 2, "nothing was enqueued");
    scene.change(&endpoint, &json!({"url": scene.receiver.url(204, "mended")}));
    let made = redeliver(&[&first, &dead[1].to_string(), "--json"]);
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(
        (&made["items"][0]["redelivery_of"], &made["items"][1]["redelivery_of"]),
        (&json!(dead[0]), &json!(dead[1]))
    );
    scene.receiver.wait("mended", 2);
}

/// A delivery that somebody is being told at this moment.
#[test]
fn what_is_on_its_way_is_listed_as_such() {
    fn listens(wire: &mut dyn Wire, _: usize) -> std::io::Result<()> {
        read(wire)?;
        wire.read_exact(&mut [0])
    }
    let (scene, silent) = (Scene::open(), Odd::start("127.0.0.1:0", listens, None));
    let url = format!("http://127.0.0.1:{}/", silent.port());
    let asked = json!({"url": url, "events": ["run.failed"]});
    let made = scene.desk.client.post("/api/v1/webhooks", &asked).expect(201);
    scene.happen(1);
    let begun = Instant::now();
    while silent.connections() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let found = scene.desk.deliveries("state_filter=delivering");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["state"], &found[0]["attempt"]), (&json!("delivering"), &json!(1)), "it has begun");
    assert_eq!((&found[0]["endpoint_id"], &found[0]["last_error"]), (&made["endpoint_id"], &Value::Null));
    for state in ["pending", "delivered", "dead"] {
        assert_eq!(scene.desk.deliveries(&format!("state_filter={state}")), [Value::Null; 0], "{state}");
    }
    let own = format!("/api/v1/webhooks/{}/deliveries", made["endpoint_id"].as_str().unwrap());
    let own = |state: &str| scene.desk.client.get(&format!("{own}?state_filter={state}")).expect(200)["items"].clone();
    assert_eq!((own("delivering"), own("pending")), (json!(found), json!([])));
    let again = format!("/api/v1/webhooks/deliveries/{}/redeliver", found[0]["delivery_id"]);
    refused(&scene.desk.client.post(&again, &json!(null)), 409, "invalid_state");
    assert_eq!(scene.deliveries(&["--state", "delivering"])["items"][0]["delivery_id"], found[0]["delivery_id"]);
    assert_eq!(scene.usage()["pending_deliveries"], 1, "it still waits for its end");
}

#[test]
fn all_that_was_given_up_is_sent_once_more_but_nothing_twice() {
    let scene = Scene::open();
    let (endpoint, _) = scene.endpoint(204);
    // One success within a day: it is not disabled, whatever follows.
    scene.happen(1);
    scene.receiver.wait("hook", 2);
    scene.change(&endpoint, &json!({"url": scene.receiver.url(410, "gone")}));
    scene.happen(75);
    scene.wait_for_dead(150);
    let redeliver =
        |since: &str| APPLIANCE.cli_json(&["webhook", "redeliver", "--endpoint", &endpoint, "--dead-since", since]);
    let counts = |told: &Value| (told["redelivered"].as_u64().unwrap(), told["looked_at"].as_u64().unwrap());
    assert_eq!(counts(&redeliver("2099-01-01T00:00:00Z")), (0, 152), "later than all of them");
    // What dies again meanwhile is not sent a third time by the same command.
    assert_eq!(counts(&redeliver("2020-01-01T00:00:00Z")), (150, 152));
    scene.wait_for_dead(300);
    scene.change(&endpoint, &json!({"url": scene.receiver.url(204, "mended")}));
    // Cut off after its first part ...
    let part = Socket::new(APPLIANCE.data())
        .ask(REDELIVER_DEAD.of(&[&endpoint]).wishing(&DeadWish {
            since: "2020-01-01T00:00:00Z".into(),
            from: 0,
            until: None,
        }))
        .unwrap();
    assert_eq!((part.redelivered, part.next.is_some()), (64, true));
    // ... it goes on with the rest.
    assert_eq!(redeliver("2020-01-01T00:00:00Z")["redelivered"], 150 - 64);
    assert_eq!(redeliver("2020-01-01T00:00:00Z")["redelivered"], 0);
    let events: Vec<String> =
        scene.receiver.wait("mended", 150).iter().map(|one| one.header("x-svc-event-id").to_owned()).collect();
    assert_eq!((events.len(), events.iter().collect::<BTreeSet<_>>().len()), (150, 150), "each event, and each once");
    scene.wait_for_dead(300);
    // The endpoint must be there and active.
    scene.change(&endpoint, &json!({"active": false}));
    let said = fails(&["webhook", "redeliver", "--endpoint", &endpoint, "--dead-since", "2020-01-01T00:00:00Z"]);
    assert!(said.contains("the endpoint is inactive (0 deliveries were enqueued before that)"), "{said}");
    assert!(said.contains("`quintet webhook enable ENDPOINT`"), "{said}");
}

#[test]
fn status_doctor_and_metrics_tell_of_webhooks() {
    let scene = Scene::open();
    let (endpoint, _) = scene.endpoint(410);
    let lost = json!({"url": "https://no-such-name.invalid/hook", "events": ["run.exited"]});
    scene.desk.client.post("/api/v1/webhooks", &lost).expect(201);
    // Twenty that nobody takes.
    scene.happen(10);
    let begun = Instant::now();
    while scene.usage()["endpoints_disabled"] != 1 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    scene.wait_for_dead(20);
    let shown = APPLIANCE.cli_json(&["webhook", "show", &endpoint]);
    assert_eq!(shown["disabled_reason"], "dead_without_success_24h");
    let status = APPLIANCE.cli_json(&["status"]);
    let webhooks = &status["webhooks"];
    assert!(
        webhooks["endpoints"].as_u64() >= Some(2) && webhooks["endpoints_given_up"].as_u64() >= Some(1),
        "{webhooks}"
    );
    let warnings = status["warnings"].to_string();
    assert!(warnings.contains("given up within a day and none was taken; see `quintet webhook list`"), "{warnings}");
    let text = stdout(&APPLIANCE.cli(&["status"]));
    assert!(text.contains("\nwebhooks     ") && text.contains(" disabled; "), "{text}");
    let told = APPLIANCE.cli_json(&["doctor"]);
    let says: Vec<(&str, &str)> = told["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["check"] == "webhooks")
        .map(|one| (one["state"].as_str().unwrap(), one["says"].as_str().unwrap()))
        .collect();
    assert!(says.iter().any(|(state, says)| *state == "warning" && says.contains("within a day")), "{says:?}");
    let unresolved = "Names of endpoints do not resolve: no-such-name.invalid:443 (1 endpoint).";
    assert!(says.contains(&("warning", unresolved)), "{says:?}");
    let metrics = ureq::get(format!("http://{}/metrics", APPLIANCE.address("operations"))).call().unwrap();
    let metrics = metrics.into_body().read_to_string().unwrap();
    let dead = format!("quintet_tenant_delivery_dead_total{{tenant=\"{}\"}} 20", scene.tenant);
    assert!(metrics.lines().any(|line| line == dead), "{metrics}");
    for name in [
        "quintet_deliveries_delivered_total",
        "quintet_deliveries_retried_total",
        "quintet_deliveries_dead_total",
        "quintet_deliveries_latency_seconds_total",
        "quintet_deliveries_waiting",
        "quintet_deliveries_in_flight",
        "quintet_deliveries_oldest_due_seconds",
    ] {
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        assert!(line.is_some_and(|value| value.parse::<f64>().is_ok()), "{name}");
    }
}

#[test]
fn schedules_are_listed() {
    let scene = Scene::open();
    let list = |arguments: &[&str]| {
        let all: Vec<&str> = ["schedule", "list", "--tenant", &scene.tenant].iter().chain(arguments).copied().collect();
        APPLIANCE.cli(&all)
    };
    assert!(stdout(&list(&[])).starts_with("There are no schedules."), "{}", stderr(&list(&[])));
    let mut made = Vec::new();
    for (name, is_enabled) in [("nightly", true), ("rarely", false)] {
        let asked = json!({"name": name, "cron": "5 4 * * *", "timezone": "Europe/Berlin", "enabled": is_enabled,
            "webhook": {"url": scene.receiver.url(204, "cron")}});
        made.push(scene.desk.client.post("/api/v1/schedules", &asked).expect(201));
    }
    let listed: Value = serde_json::from_slice(&list(&["--json"]).stdout).unwrap();
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{listed}");
    for (item, made) in items.iter().zip(&made) {
        for member in ["schedule_id", "name", "cron", "timezone", "enabled", "misfire", "fire_count", "missed_count"] {
            assert_eq!(item[member], made[member], "{member}");
        }
        assert_eq!((&item["tenant_id"], &item["url"]), (&json!(scene.tenant), &made["webhook"]["url"]));
        assert!(!listed.to_string().contains(made["secret"].as_str().unwrap()));
    }
    assert_eq!(items[0]["next_fire_at"], made[0]["next_fire_at"]);
    let text = stdout(&list(&[]));
    assert!(text.contains("nightly") && text.contains("  paused  "), "{text}");
    let all = APPLIANCE.cli_json(&["schedule", "list"]);
    assert!(items.iter().all(|item| all["items"].as_array().unwrap().contains(item)));
}

#[test]
fn workflows_are_listed_shown_drawn_and_cancelled() {
    let scene = Scene::open();
    let of_tenant = |arguments: &[&str]| {
        let all: Vec<&str> = ["workflow"].iter().chain(arguments).copied().chain(["--tenant", &scene.tenant]).collect();
        APPLIANCE.cli(&all)
    };
    assert!(stdout(&of_tenant(&["list"])).starts_with("There are no such workflows."));
    let gates = |name: &str| {
        let asked = json!({"name": name, "edges": [{"from": "first", "to": "then"}], "nodes": [
            {"ref": "first", "type": "approval"}, {"ref": "then", "image": "busybox", "env": {"TOKEN": "sesame"}}]});
        let made = scene.desk.client.post("/api/v1/workflows", &asked).expect(202);
        made["workflow_id"].as_str().unwrap().to_owned()
    };
    let (stays, goes) = (gates("stays"), gates("goes\u{202e}back"));
    scene.desk.client.post(&format!("/api/v1/workflows/{stays}/nodes/first/reject"), &json!({})).expect(200);
    let listed: Value = serde_json::from_slice(&of_tenant(&["list", "--json"]).stdout).unwrap();
    let ids: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|item| &item["workflow_id"]).collect();
    assert_eq!((ids, &listed["truncated"]), (vec![&json!(goes), &json!(stays)], &json!(false)), "newest first");
    assert_eq!(listed["items"][1]["failed_nodes"], json!(["first"]));
    assert_eq!(listed["items"][1]["tenant_id"], json!(scene.tenant));
    let text = stdout(&of_tenant(&["list", "--state", "pending"]));
    assert!(!text.contains(&stays), "{text}");
    let text = stdout(&of_tenant(&["list", "--state", "running"]));
    assert!(text.contains(&goes) && text.contains("0 of 2 ended, 1 at a gate") && !text.contains(&stays), "{text}");
    assert!(!text.contains('\u{202e}'), "a name says nothing to the terminal: {text:?}");
    assert!(stdout(&of_tenant(&["list", "--limit", "1"])).contains("There are older ones"));
    let wrong = stderr(&of_tenant(&["list", "--state", "runing"]));
    assert!(wrong.contains("running"), "what was meant is told: {wrong}");
    // One is found without its tenant as well.
    let shown = APPLIANCE.cli_json(&["workflow", "show", &stays]);
    let known = scene.desk.client.get(&format!("/api/v1/workflows/{stays}")).expect(200);
    assert_eq!(
        (&shown["nodes"], &shown["edges"], &shown["state"]),
        (&known["nodes"], &known["edges"], &json!("failed"))
    );
    assert!(!shown.to_string().contains("sesame"));
    let text = stdout(&APPLIANCE.cli(&["workflow", "show", &stays]));
    assert!(text.contains("skipped") && text.contains("rejected"), "{text}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("graph.svg");
    let said = stdout(&APPLIANCE.cli(&["workflow", "show", &stays, "--svg", file.to_str().unwrap()]));
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.contains("<svg") && svg.contains("first") && said.contains("graph.svg"), "{said}");
    let nowhere = directory.path().join("absent/graph.svg");
    let failed = stderr(&APPLIANCE.cli(&["workflow", "show", &stays, "--svg", nowhere.to_str().unwrap()]));
    assert!(failed.contains("--svg"), "{failed}");
    let cancelled = stdout(&APPLIANCE.cli(&["workflow", "cancel", &goes]));
    assert!(cancelled.contains("is cancelled: 2 of 2 ended"), "{cancelled}");
    assert_eq!(scene.desk.client.get(&format!("/api/v1/workflows/{goes}")).expect(200)["state"], "cancelled");
    let again = APPLIANCE.cli(&["workflow", "cancel", &goes]);
    assert!(!again.status.success() && stderr(&again).contains("the workflow was cancelled"), "{}", stderr(&again));
    for id in ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "no-id"] {
        let absent = APPLIANCE.cli(&["workflow", "show", id]);
        assert!(!absent.status.success() && stderr(&absent).contains("quintet workflow list"), "{}", stderr(&absent));
    }
    let elsewhere = APPLIANCE.cli(&["workflow", "show", &stays, "--tenant", &APPLIANCE.tenant()]);
    assert!(!elsewhere.status.success(), "another tenant has no such workflow");
}
