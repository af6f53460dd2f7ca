//! Localization from outside, and what its tests sit at.

mod access;
mod accounts;
mod approvals;
mod audit;
mod authorization;
mod contract;
mod crash;
mod decisions;
mod exchange;
mod figures;
pub mod files;
mod grants;
mod l10n;
mod late;
mod licences;
mod members;
mod memory;
mod order;
mod releases;
mod review;
mod rivals;
mod sign_in;
mod spaces;
mod terms;
mod translate;
mod webhooks;

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client, fresh_key, unique};

/// A tenant's localization, as one key sees it.
#[derive(Clone)]
pub struct Desk {
    pub client: Client,
    pub tenant_id: String,
}

impl Desk {
    /// A fresh tenant, with a key that may do everything in it.
    pub fn open(appliance: &Appliance) -> Desk {
        let tenant_id = appliance.tenant();
        Desk::of(appliance, &tenant_id, &[])
    }

    /// A fresh key of a tenant, issued with these arguments.
    pub fn of(appliance: &Appliance, tenant_id: &str, arguments: &[&str]) -> Desk {
        let issued = appliance.cli_json(&[&["key", "issue", "--tenant", tenant_id], arguments].concat());
        let client = appliance.client("localization", issued["api_key"].as_str().unwrap());
        Desk { client, tenant_id: tenant_id.to_owned() }
    }

    /// A fresh key of the tenant with a template within a scope.
    pub fn template(&self, appliance: &Appliance, template: &str, scope: &Value) -> Desk {
        Desk::of(appliance, &self.tenant_id, &["--template", template, "--scope", &scope.to_string()])
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let tenant = [("l10n-tenant", self.tenant_id.as_str())];
        self.client.send(method, path, &[&tenant, headers].concat(), body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// JSON under a fresh Idempotency-Key.
    pub fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.json_under(&fresh_key(), method, path, body)
    }

    pub fn json_under(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        self.send(method, path, &headers, body.to_string().as_bytes())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.json("POST", path, body)
    }

    pub fn put_if_match(&self, path: &str, etag: &str, body: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("if-match", etag)];
        self.send("PUT", path, &headers, body.to_string().as_bytes())
    }

    /// A fresh workspace.
    pub fn workspace(&self) -> Value {
        self.post("/v1/workspaces", &json!({"slug": format!("w-{}", unique()), "name": "Workspace"})).expect(201)
    }

    /// A fresh project in a workspace, its source locale English.
    pub fn project_in(&self, workspace: &Value) -> Value {
        let body = json!({
            "workspace_id": workspace["id"], "slug": format!("p-{}", unique()), "name": "Project", "source_locale": "en",
        });
        self.post("/v1/projects", &body).expect(201)
    }

    /// A fresh project in a fresh workspace.
    pub fn project(&self) -> Value {
        self.project_in(&self.workspace())
    }
}

pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name} in {value}")).to_owned()
}

/// The answer is this problem; its body.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/problem+json", "{answer:?}");
    let body = answer.json();
    assert_eq!(body["code"], code, "{answer:?}");
    assert_eq!(body["status"], status, "{answer:?}");
    assert_eq!(body["type"], format!("urn:l10n:problem:{code}"), "{answer:?}");
    assert!(body["title"].is_string(), "{answer:?}");
    body
}
