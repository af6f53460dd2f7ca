//! Runs without containers, and what their tests sit at. Nothing is ever started: the engine is off.
//! tests/privileged/runs has the containers.

mod backlog;
mod contract;
mod deliveries_crash;
mod endpoint_health;
mod followers;
mod keys;
mod mcp;
mod operator;
mod queue;
mod quotas;
mod receivers;
mod schedules;
mod templates;
mod timers;
mod timers_crash;
mod webhook_input;
mod webhooks;
mod workflow_reading;
mod workflows;

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client};

/// A tenant's client.
pub struct Desk {
    pub client: Client,
}

impl Desk {
    pub fn open(appliance: &Appliance) -> Desk {
        Desk { client: appliance.persona("runs", &appliance.tenant(), &[]) }
    }

    pub fn submit(&self, body: &Value) -> Answer {
        self.client.post("/api/v1/runs", body)
    }

    pub fn id(&self, body: &Value) -> String {
        self.submit(body).expect(202)["track_id"].as_str().unwrap().to_owned()
    }

    pub fn run(&self, id: &str) -> Value {
        self.client.get(&format!("/api/v1/runs/{id}")).expect(200)
    }

    pub fn delete(&self, id: &str) -> Answer {
        self.client.send("DELETE", &format!("/api/v1/runs/{id}"), &[], b"")
    }

    pub fn list(&self, query: &str) -> Value {
        self.client.get(&format!("/api/v1/runs?{query}")).expect(200)
    }
}

/// A refusal with this status and code, in the documented form.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    let problem = answer.expect(status);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)), "{problem}");
    assert_eq!(problem["type"], format!("urn:runs:problem:{code}"));
    assert_eq!(problem["request_id"], answer.header("x-request-id"), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    problem
}
