//! What keys allow of runs, and what the operator sets for tenants: metered time, images, retention, quotas.

use serde_json::{Value, json};

use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, shared, stderr, stdout};
use crate::support::contract::faults;

/// Issues a key with these terms; its id and itself.
fn issue(appliance: &Appliance, tenant_id: &str, terms: &[&str]) -> (String, String) {
    let issued = appliance.cli_json(&[&["key", "issue", "--tenant", tenant_id], terms].concat());
    (issued["key_id"].as_str().unwrap().to_owned(), issued["api_key"].as_str().unwrap().to_owned())
}

/// The policy of this name.
fn policy(desk: &Desk, name: &str) -> Value {
    let usage = desk.client.get("/api/v1/usage").expect(200);
    let policies = usage["usage"].as_array().unwrap();
    policies.iter().find(|policy| policy["policy"] == name).cloned().unwrap_or(Value::Null)
}

#[test]
fn a_metered_key_is_charged_once_whatever_happens() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).rehearsal().start();
    let tenant_id = appliance.tenant();
    let terms = ["--tier", "free", "--metered-seconds", "1000", "--retention-days", "2", "--ttl-days", "9"];
    let (key_id, key) = issue(&appliance, &tenant_id, &terms);
    let desk = Desk { client: appliance.client("runs", &key) };
    let run = |seconds: u64| json!({"image": "a", "timeout_seconds": seconds});
    let spent = |desk: &Desk| {
        let metered = policy(desk, "metered_seconds");
        let (used, left) = (metered["used"].as_u64().unwrap(), metered["remaining"].as_u64().unwrap());
        assert_eq!((used + left, &metered["limit"], &metered["resets_at"]), (1000, &json!(1000), &Value::Null));
        used
    };
    let usage = desk.client.get("/api/v1/usage").expect(200);
    assert_eq!((&usage["tier"], &usage["metered"]), (&json!("free"), &json!(true)));
    assert_eq!((&usage["allowed_images"], &usage["limits"]["retention_days"]), (&Value::Null, &json!(2)));
    assert!(usage["expires_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{usage}");
    let document = desk.client.get("/openapi.json").expect(200);
    let schema = json!({"$ref": "#/components/schemas/Usage"});
    assert_eq!(faults(&document, &schema, &usage, ""), Vec::<String>::new());

    let first = desk.id(&run(600));
    let answer = desk.submit(&run(401));
    let problem = refused(&answer, 429, "metered_quota_exceeded");
    assert_eq!(problem["detail"], "the key has 400 seconds left, and the run would be charged 401");
    assert_eq!((spent(&desk), &policy(&desk, "daily_runs")["used"]), (600, &json!(1)));
    assert_eq!(desk.delete(&first).status, 200);
    assert_eq!(spent(&desk), 0, "it had not started");
    let second = desk.id(&run(600));
    let third = desk.id(&run(400));
    refused(&desk.submit(&run(1)), 429, "metered_quota_exceeded");
    // Another key of the tenant is not metered, and does not pay for the first one's runs.
    let other = Desk { client: appliance.client("runs", &appliance.key(&tenant_id, &[]).1) };
    other.id(&run(600));
    assert_eq!(policy(&other, "metered_seconds"), Value::Null);
    assert_eq!(other.delete(&third).status, 200, "all keys of a tenant share its runs");
    assert_eq!(spent(&desk), 600);

    appliance.kill();
    let appliance = Setup::new().on(&data).rehearsal().start();
    let desk = Desk { client: appliance.client("runs", &key) };
    assert_eq!(spent(&desk), 600, "neither lost nor charged again");
    appliance.cli_json(&["clock", "advance", "3600"]);
    assert_eq!(desk.run(&second)["reason"], "queue_timeout");
    assert_eq!(spent(&desk), 0, "it never ran");
    appliance.kill();
    let appliance = Setup::new().on(&data).rehearsal().start();
    let desk = Desk { client: appliance.client("runs", &key) };
    desk.id(&run(30));
    assert_eq!(spent(&desk), 30);

    // The operator sees the same.
    let shown = appliance.cli_json(&["key", "show", &key_id]);
    let terms = json!({
        "tier": "free", "metered_seconds": 1000, "remaining_seconds": 970, "allowed_images": null, "retention_days": 2,
    });
    assert_eq!(shown["runs"], terms);
    let list = appliance.cli_json(&["key", "list", "--tenant", &tenant_id]);
    let listed = list["items"].as_array().unwrap().iter().find(|listed| listed["key_id"] == *key_id).unwrap();
    assert_eq!(listed["runs"], terms);
    assert_eq!(list["items"].as_array().unwrap().iter().filter(|listed| listed.get("runs").is_none()).count(), 1);
    for arguments in [&["key", "show", key_id.as_str()][..], &["key", "list"]] {
        let text = stdout(&appliance.cli(arguments));
        assert!(text.contains("free: 970 of 1000 s left; kept 2 days at most"), "{text}");
        assert!(!text.contains(&key), "a key is told");
    }

    // What has ended is kept for the key's two days, not for the tenant's thirty.
    appliance.cli_json(&["clock", "advance", &(2 * 86_400 - 1).to_string()]);
    assert_eq!(desk.run(&second)["state"], "failed");
    appliance.cli_json(&["clock", "advance", "1"]);
    refused(&desk.client.get(&format!("/api/v1/runs/{second}")), 404, "not_found");
    assert_eq!(policy(&desk, "daily_runs")["used"], 0, "another day");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn a_key_allows_some_images() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    let images = ["--allowed-image", "busybox", "--allowed-image", "quay.io/team/tool:1"];
    let (_, key) = issue(appliance, &tenant_id, &images);
    let desk = Desk { client: appliance.client("runs", &key) };
    let usage = desk.client.get("/api/v1/usage").expect(200);
    assert_eq!(
        (&usage["allowed_images"], &usage["metered"]),
        (&json!(["busybox", "quay.io/team/tool:1"]), &json!(false))
    );
    for image in ["busybox:1.36", "docker.io/library/busybox", "quay.io/team/tool:1"] {
        assert_eq!(desk.submit(&json!({"image": image})).status, 202, "{image}");
    }
    for image in ["alpine", "quay.io/team/tool", "quay.io/team/tool:2", "quay.io/library/busybox", "Busybox"] {
        assert_eq!(refused(&desk.submit(&json!({"image": image})), 403, "image_not_allowed")["field"], "image");
    }
    assert_eq!(policy(&desk, "daily_runs")["used"], 3, "what is refused is not counted");
}

/// What a key began goes on under its terms once nobody can use it any more: containers are launched, paid for and refused by
/// them, and what is retried is as well.
#[test]
fn a_revoked_key_leaves_its_workflows_and_triggers_their_terms() {
    let appliance = Setup::new().rehearsal().start();
    let tenant_id = appliance.tenant();
    let terms = ["--tier", "free", "--metered-seconds", "100", "--allowed-image", "busybox", "--retention-days", "2"];
    let (key_id, key) = issue(&appliance, &tenant_id, &terms);
    let (poor, other) = (appliance.client("runs", &key), appliance.persona("runs", &tenant_id, &[]));
    let container = |name: &str| json!({"ref": name, "image": "busybox", "timeout_seconds": 60, "retries": 3});
    let body = json!({
        "nodes": [{"ref": "agree", "type": "approval"}, container("a"), container("b")],
        "edges": [{"from": "agree", "to": "a"}, {"from": "agree", "to": "b"}], "failure_policy": "continue",
    });
    let workflow_id = poor.post("/api/v1/workflows", &body).expect(202)["workflow_id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/workflows/{workflow_id}");
    let params = json!([{"name": "image", "type": "string", "default": "busybox"}]);
    let node = json!({"ref": "t", "image": "${{ image }}", "timeout_seconds": 30});
    let template = json!({"name": "nightly", "params": params, "definition": {"nodes": [node]}});
    poor.post("/api/v1/templates", &template).expect(201);
    let triggers = "/api/v1/templates/nightly/triggers";
    let made = poor.post(triggers, &json!({"cron": "* * * * *", "overlap": "allow"})).expect(201);
    let trigger = format!("{triggers}/{}", made["trigger_id"].as_str().unwrap());
    let remaining = || appliance.cli_json(&["key", "show", &key_id])["runs"]["remaining_seconds"].clone();
    assert_eq!(remaining(), 100);

    appliance.cli_json(&["key", "revoke", &key_id]);
    refused(&poor.get(&path), 401, "unauthorized");
    let post = |way: &str| other.send("POST", way, &[], b"");
    post(&format!("{path}/nodes/agree/approve")).expect(200);
    let nodes = || other.get(&path).expect(200)["nodes"].clone();
    assert_eq!((&nodes()[1]["state"], &nodes()[2]["state"]), (&json!("running"), &json!("failed")));
    assert_eq!(nodes()[2]["reason"], "metered_quota_exceeded", "it pays for what it began, and no other key does");
    assert_eq!(remaining(), 40);
    // The trigger fires with what is left of it, and with its images alone.
    appliance.cli_json(&["clock", "advance", "60"]);
    assert_eq!(remaining(), 10);
    let fired = other.get(&trigger).expect(200);
    assert_eq!((&fired["fire_count"], &fired["last_error"]), (&json!(1), &Value::Null), "{fired}");
    other.patch(&trigger, &json!({"params": {"image": "alpine"}})).expect(200);
    appliance.cli_json(&["clock", "advance", "60"]);
    let fired = other.get(&trigger).expect(200);
    assert_eq!((&fired["fire_count"], &fired["last_error"]["code"]), (&json!(2), &json!("image_not_allowed")));
    refused(&post(&format!("{trigger}/run")), 403, "image_not_allowed");
    post(&format!("{trigger}/pause")).expect(200);
    // A retry is of the same workflow; who asks for it has no say in its terms.
    let retried = other.post(&format!("{path}/nodes/b/retry"), &json!({})).expect(200);
    assert_eq!(retried["reset"], json!(["b"]));
    assert_eq!((&nodes()[2]["state"], &nodes()[2]["reason"]), (&json!("failed"), &json!("metered_quota_exceeded")));
    // What did not run is given back, to the same key.
    post(&format!("{path}/cancel")).expect(200);
    assert_eq!(remaining(), 70);
    post(&format!("{path}/nodes/b/retry")).expect(200);
    assert_eq!((&nodes()[2]["state"], remaining()), (&json!("running"), json!(10)));
    post(&format!("{path}/cancel")).expect(200);
    // And it is kept for the key's two days.
    appliance.cli_json(&["clock", "advance", &(2 * 86_400 - 1).to_string()]);
    assert_eq!(other.get(&path).expect(200)["state"], "cancelled");
    appliance.cli_json(&["clock", "advance", "1"]);
    refused(&other.get(&path), 404, "not_found");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn terms_that_make_no_sense_are_refused() {
    let appliance = shared();
    let tenant_id = appliance.tenant();
    let elsewhere = appliance.cli_json(&["tenant", "create", "bookkeeping alone", "--services", "ledger"]);
    let elsewhere = elsewhere["tenant_id"].as_str().unwrap();
    let keys =
        |tenant: &str| appliance.cli_json(&["key", "list", "--tenant", tenant])["items"].as_array().unwrap().len();
    let before = keys(&tenant_id);
    for (tenant, terms, part) in [
        (tenant_id.as_str(), &["--tier", "free"][..], "--metered-seconds"),
        (&tenant_id, &["--metered-seconds", "5"], "--tier"),
        (&tenant_id, &["--tier", "free", "--metered-seconds", "0"], "metered seconds are 1 to"),
        (&tenant_id, &["--tier", "", "--metered-seconds", "1"], "a tier has 1 to 64 characters"),
        (&tenant_id, &["--retention-days", "0"], "retention days are 1 to"),
        (&tenant_id, &["--allowed-image", "Busy Box"], "\"Busy Box\""),
        (elsewhere, &["--retention-days", "1"], "not provisioned for"),
    ] {
        let output = appliance.cli(&[&["key", "issue", "--tenant", tenant], terms].concat());
        assert_eq!(output.status.code(), Some(2), "{terms:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{terms:?}: {}", stderr(&output));
    }
    assert_eq!((keys(&tenant_id), keys(elsewhere)), (before, 0), "no key was issued");
    assert_eq!(appliance.cli(&["key", "show", "0000000000000000000000000Z"]).status.code(), Some(1));
}

#[test]
fn the_operator_sets_quotas_up_to_the_ceilings() {
    let appliance = Setup::new()
        .env("QUINTET_RUNS__CEILINGS__MAX_CONCURRENT_RUNS", "4")
        .env("QUINTET_RUNS__CEILINGS__MAX_CPU", "0.5")
        .start();
    let tenant_id = appliance.tenant();
    let desk = Desk { client: appliance.persona("runs", &tenant_id, &[]) };
    let quota = |more: &[&str]| appliance.cli(&[&["tenant", "quota", &tenant_id], more].concat());
    let quota_json = |more: &[&str]| appliance.cli_json(&[&["tenant", "quota", &tenant_id], more].concat());
    let quotas = || desk.client.get("/api/v1/tenant/quotas").expect(200);
    let hours = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(hours.path(), "shift office \"Office\" { timezone \"Europe/Berlin\" }").unwrap();
    let file = hours.path().to_str().unwrap();

    let set = quota_json(&[
        "--max-concurrent-runs",
        "0",
        "--max-cpu",
        "0.25",
        "--max-daily-runs",
        "7",
        "--working-hours",
        file,
    ]);
    assert_eq!((&set["service"], &set["quotas"]["max_cpu"]), (&json!("runs"), &json!(0.25)));
    let ceilings = |name: &str| &set["ceilings"][name];
    let said = (ceilings("max_concurrent_runs"), ceilings("max_cpu"), ceilings("default_cpu"));
    assert_eq!(said, (&json!(4), &json!(0.5), &json!(0.5)));
    assert_eq!(ceilings("max_daily_runs"), &json!(1_000_000), "what was not said has a ceiling, too");
    let now = quotas();
    assert_eq!((&now["max_concurrent_runs"], &now["max_daily_runs"]), (&json!(0), &json!(7)));
    assert_eq!(now["working_hours_effective"]["timezone"], "Europe/Berlin");
    assert!(appliance.log().contains("max_daily_runs,max_cpu,working_hours_tjp"), "the log says what was changed");
    quota_json(&["--no-working-hours", "--service", "runs"]);
    assert_eq!(quotas()["working_hours_tjp"], Value::Null);
    // What waits hears of it at once.
    let id = desk.id(&json!({"image": "a"}));
    let blocked = || desk.run(&id)["scheduling_info"].clone();
    assert_eq!((&blocked()["blocked_by"], &blocked()["estimated_start"]), (&json!("concurrency"), &Value::Null));
    quota_json(&["--max-concurrent-runs", "4"]);
    assert_eq!(blocked()["blocked_by"], "engine");

    std::fs::write(hours.path(), "shift s \"S\" { workinghours mon - sun off }").unwrap();
    let before = quotas();
    for (arguments, part) in [
        (&["--max-daily-runs", "8", "--max-concurrent-runs", "5"][..], "runs.ceilings.max_concurrent_runs"),
        (&["--max-daily-runs", "8", "--default-cpu", "0.6"], "runs.ceilings.max_cpu"),
        (&["--max-daily-runs", "8", "--max-memory-mb", "1"], "max_memory_mb must be a whole number from 6"),
        (&["--max-daily-runs", "8", "--max-cpu", "0"], "max_cpu must be a number of cores from 0.01"),
        (&["--max-daily-runs=-1"], "--max-daily-runs"),
        (&["--max-daily-runs", "many"], "--max-daily-runs"),
        (&["--max-daily-runs", "8", "--working-hours", file], "the working hours: line 1"),
        (&["--working-hours", file, "--no-working-hours"], "--no-working-hours"),
        (&["--max-daily-runs", "8", "--service", "ledger"], "quotas of runs"),
        (&["--monthly-calls", "8"], "--service"),
    ] {
        let output = quota(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(quota(&["--working-hours", "/no/such/file"]).status.code(), Some(1));
    assert_eq!(quotas(), before);

    // Calls and quotas in one: both or neither.
    let output = quota(&["--service", "runs", "--burst-per-second", "0", "--max-daily-runs", "8"]);
    assert_eq!((output.status.code(), quotas() == before), (Some(2), true));
    quota_json(&["--service", "runs", "--monthly-calls", "5000", "--burst-per-second", "900", "--max-daily-runs", "8"]);
    let calls = policy(&desk, "monthly_calls");
    assert_eq!((&calls["limit"], calls["resets_at"].as_str().map(|at| &at[8..11])), (&json!(5000), Some("01T")));
    let rate = policy(&desk, "calls_per_second");
    let told = (&rate["limit"], &rate["used"], &rate["remaining"], &rate["resets_at"]);
    assert_eq!(told, (&json!(900), &Value::Null, &Value::Null, &Value::Null));
    assert_eq!(policy(&desk, "daily_runs")["limit"], 8);

    // Without a service: those of all.
    let all = quota_json(&[]);
    let services: Vec<&str> =
        all["items"].as_array().unwrap().iter().map(|view| view["service"].as_str().unwrap()).collect();
    assert_eq!(services, ["localization", "runs", "ledger", "messaging", "diagrams"]);
    assert_eq!(all["items"][1]["quotas"], quotas());
    assert!(all["items"][2].get("quotas").is_none());
    let text = stdout(&quota(&[]));
    for part in ["max_daily_runs", "5000", "working hours: none", "ledger"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let elsewhere = appliance.cli_json(&["tenant", "create", "bookkeeping alone", "--services", "ledger"]);
    let output = appliance.cli(&["tenant", "quota", elsewhere["tenant_id"].as_str().unwrap(), "--max-daily-runs", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("not provisioned for runs"), "{}", stderr(&output));
    assert_eq!(appliance.cli(&["tenant", "quota", "nobody", "--max-daily-runs", "1"]).status.code(), Some(1));
}
