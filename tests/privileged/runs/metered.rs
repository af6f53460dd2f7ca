//! Metered keys and real containers: what a key has spent is what its containers ran, a killed server in between or not.

use serde_json::{Value, json};

use super::{House, Tenant, script_with};

/// What the key has spent, and what its run used by its result.
fn spent(tenant: &Tenant) -> u64 {
    let usage = tenant.client.get("/api/v1/usage").expect(200);
    let policies = usage["usage"].as_array().unwrap();
    let metered = policies.iter().find(|policy| policy["policy"] == "metered_seconds").unwrap();
    metered["used"].as_u64().unwrap()
}

/// The seconds that a run has used, by the rule of the manual (runs, keys that allow less).
fn used(result: &Value) -> u64 {
    let seconds = |name: &str| result[name].as_f64().unwrap();
    (seconds("duration_seconds") - seconds("paused_seconds")).ceil() as u64
}

#[test]
fn a_metered_key_pays_for_the_seconds_that_containers_ran() {
    let Some(mut house) = House::start(&[]) else { return };
    let tenant_id = house.appliance().tenant();
    let terms = ["key", "issue", "--tenant", &tenant_id, "--tier", "free", "--metered-seconds", "100"];
    let issued = house.appliance().cli_json(&terms);
    let key = issued["api_key"].as_str().unwrap().to_owned();
    let tenant = Tenant { client: house.appliance().client("runs", &key), key };
    let timed = |text: &str| script_with(text, json!({"timeout_seconds": 50}));

    let first = tenant.submit(&timed("sleep 1.2"));
    assert_eq!(spent(&tenant), 50, "charged at once");
    tenant.wait(&first);
    let mut sum = used(&tenant.result(&first));
    assert!((2..=10).contains(&sum) && spent(&tenant) == sum, "{sum}");

    // Paused time is not paid for; the server is killed while it runs, and it ends meanwhile.
    let second = tenant.submit(&timed("sleep 2"));
    tenant.until(&second, "running");
    assert_eq!(tenant.control(&second, "pause").status, 204);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(tenant.control(&second, "resume").status, 204);
    house.kill_server();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    house.serve();
    let tenant = house.again(&tenant);
    tenant.wait(&second);
    sum += used(&tenant.result(&second));
    assert_eq!(spent(&tenant), sum);

    // One that takes longer than it may pays for what it was charged, and no more.
    let third = tenant.submit(&script_with("sleep 60", json!({"timeout_seconds": 1})));
    assert_eq!(tenant.wait(&third)["state"], "timeout");
    assert_eq!(spent(&tenant), sum + 1);
    let fourth = tenant.submit(&script_with("true", json!({"image": "no/such:image", "timeout_seconds": 20})));
    tenant.wait(&fourth);
    assert_eq!(spent(&tenant), sum + 1, "it never started");
    assert_eq!(house.appliance().cli(&["verify"]).status.code(), Some(0));
}
