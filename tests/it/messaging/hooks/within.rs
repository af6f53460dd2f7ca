//! What this appliance tells an inbound endpoint of its own stays within it (6-messaging.md, H6): no rule about addresses
//! holds for it, no socket is opened, and it is checked as other calls are.

use serde_json::{Value, json};

use super::{Endpoint, advance};
use crate::support::appliance::{Appliance, Client, Setup};
use crate::support::messaging::{Agent, Workspace, refused};

/// An appliance that may call nobody, under a name that nobody resolves.
fn appliance() -> Appliance {
    Setup::new().rehearsal().env("QUINTET_MESSAGING__PUBLIC_URL", "http://agents.invalid/bus").start()
}

fn instant(appliance: &Appliance, seconds: i64) -> String {
    let now = appliance.cli_json(&["clock", "show"])["now"].as_str().unwrap().to_owned();
    let now = quintet_platform::clock::parse_rfc3339(&now).unwrap();
    format!("{}Z", &quintet_platform::clock::rfc3339(now.plus_seconds(seconds))[..23])
}

fn runs_of(workspace: &Workspace<'_>) -> Client {
    workspace.appliance.persona("runs", &workspace.tenant_id, &[])
}

/// The last message of an agent, with what it says.
fn last(agent: &Agent) -> Value {
    let inbox = agent.inbox(0);
    let id = inbox.last().unwrap()["delivery_id"].as_str().unwrap().to_owned();
    agent.client.get(&format!("/v1/deliveries/{id}")).expect(200)
}

#[test]
fn alarms_and_runs_of_this_appliance_reach_an_agent() {
    let appliance = appliance();
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    let endpoint = Endpoint::make(&ann.client, "ann");
    assert!(endpoint.url.starts_with("http://agents.invalid/bus/in/"), "{}", endpoint.url);
    let runs = runs_of(&workspace);
    let webhook = json!({"url": endpoint.url, "secret": endpoint.secret});
    let timer =
        json!({"fire_at": instant(&appliance, 60), "webhook": webhook, "payload": {"tea": true}, "name": "tea"});
    let timer = runs.post("/api/v1/timers", &timer).expect(201);
    advance(&appliance, 60);
    let told = last(&ann);
    assert_eq!((&told["subject"], &told["direction"]), (&json!("timer.fired"), &json!("ingress")));
    assert_eq!(told["payload"]["data"]["payload"], json!({"tea": true}));
    assert_eq!(told["payload"]["resource"]["id"], timer["timer_id"]);
    let delivery = runs.get(&format!("/api/v1/timers/{}", timer["timer_id"].as_str().unwrap())).expect(200);
    assert_eq!((&delivery["delivery"]["state"], &delivery["delivery"]["attempt"]), (&json!("delivered"), &json!(1)));
    // A run, by a webhook of its own; its end without a container is one, too.
    let webhook = json!({"url": endpoint.url, "secret": endpoint.secret, "events": ["run.terminal"]});
    runs.post("/api/v1/runs", &json!({"image": "a", "expires_at": "2020-01-01T00:00:00Z", "webhook": webhook}))
        .expect(202);
    advance(&appliance, 1);
    assert_eq!(last(&ann)["subject"], "run.failed");
    // And an endpoint of the tenant's.
    let wish = json!({"url": endpoint.url, "secret": endpoint.secret, "events": ["run.failed"]});
    runs.post("/api/v1/webhooks", &wish).expect(201);
    runs.post("/api/v1/runs", &json!({"image": "b", "expires_at": "2020-01-01T00:00:00Z"})).expect(202);
    advance(&appliance, 1);
    let told = last(&ann);
    assert_eq!((&told["payload"]["data"]["image"], ann.inbox(0).len()), (&json!("b"), 3));
    // What messaging tells others itself reaches it in the same way.
    let ben = workspace.agent("ben");
    let wish = json!({"url": endpoint.url, "secret": endpoint.secret, "agent": "ben"});
    ben.client.post("/v1/webhooks", &wish).expect(201);
    ann.send(&["ben"], "TOP SECRET");
    advance(&appliance, 1);
    let told = last(&ann);
    assert_eq!(told["payload"]["type"], "message.delivered");
    assert!(!told.to_string().contains("SECRET"));
    let counts = ann.client.get("/v1/agents/ann/inbound").expect(200);
    assert_eq!((&counts["accepted"], &counts["rejected_signature"]), (&json!(4), &json!(0)));
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn a_call_from_within_with_another_secret_is_refused_and_tried_as_others_are() {
    let appliance = appliance();
    let workspace = Workspace::open(&appliance);
    let ann = workspace.agent("ann");
    let endpoint = Endpoint::make(&ann.client, "ann");
    let runs = runs_of(&workspace);
    let timer = json!({"fire_at": instant(&appliance, 1), "webhook": {"url": endpoint.url, "secret": "wrong"}});
    let timer = runs.post("/api/v1/timers", &timer).expect(201);
    advance(&appliance, 7_200);
    let shown = runs.get(&format!("/api/v1/timers/{}", timer["timer_id"].as_str().unwrap())).expect(200);
    assert_eq!((&shown["delivery"]["state"], &shown["delivery"]["last_error"]), (&json!("dead"), &json!("bad_status")));
    assert_eq!(ann.inbox(0), Vec::<Value>::new());
    let counts = ann.client.get("/v1/agents/ann/inbound").expect(200);
    assert_eq!((&counts["accepted"], &counts["rejected_signature"]), (&json!(0), &json!(1)));
    // What only looks like an address of its own is none.
    for url in [
        "http://agents.invalid/in/01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
        endpoint.url.replace("http://", "http://user@"),
        endpoint.url.replace("agents.invalid", "agents.invalid.example"),
        format!("{}/more", endpoint.url),
    ] {
        let wish = json!({"fire_at": instant(&appliance, 1), "webhook": {"url": url}});
        crate::runs::refused(&runs.post("/api/v1/timers", &wish), 422, "url_not_allowed");
    }
    let wish = json!({"url": "http://agents.invalid/in/01ARZ3NDEKTSV4RRFFQ69G5FAV", "agent": "ann"});
    refused(&ann.client.post("/v1/webhooks", &wish), 422, "validation_error");
    assert_eq!(appliance.stop(), Some(0));
}

/// 6-messaging.md, E3.
#[test]
fn an_encrypted_workspace_hears_of_an_event_without_what_came_out_of_it() {
    let appliance = appliance();
    let workspace = Workspace::encrypted(&appliance);
    let ann = workspace.agent("ann");
    let endpoint = Endpoint::make(&ann.client, "ann");
    let runs = runs_of(&workspace);
    let webhook = json!({"url": endpoint.url, "secret": endpoint.secret});
    let timer =
        json!({"fire_at": instant(&appliance, 60), "webhook": webhook, "payload": {"word": "XYZZY"}, "name": "XYZZY"});
    let timer = runs.post("/api/v1/timers", &timer).expect(201);
    advance(&appliance, 60);
    let told = last(&ann);
    assert_eq!(
        (&told["subject"], &told["sealed"], &told["payload"]),
        (&json!("timer.fired"), &json!(false), &Value::Null)
    );
    let text: Value = serde_json::from_str(told["text_body"].as_str().unwrap()).unwrap();
    assert_eq!((&text["data"]["timer_id"], &text["event_type"]), (&timer["timer_id"], &json!("timer.fired")));
    assert!(!told.to_string().contains("XYZZY"), "{told}");
    // Others must seal what they say.
    let now = super::told_seconds(&appliance);
    let answer = endpoint.call(&appliance.stranger("messaging"), &endpoint.own(now, b"plain"), b"plain");
    refused(&answer, 422, "sealing_required");
    assert_eq!(appliance.stop(), Some(0));
}
