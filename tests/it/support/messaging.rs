//! What tests of messaging start with: a workspace, keys of it, and agents that act with keys of their own.

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client, unique};

/// The header field that says as which agent a request acts.
pub const AS_AGENT: &str = "x-agentbus-agent";

/// A workspace of a tenant of its own.
pub struct Workspace<'a> {
    pub appliance: &'a Appliance,
    pub tenant_id: String,
    pub slug: String,
    /// The text of an unbound key of scope `admin`.
    pub admin_key: String,
    /// A client with that key, for no agent.
    pub admin: Client,
}

/// An agent, and what it acts with.
pub struct Agent {
    pub name: String,
    /// The text of its key, of scope `send`, bound to it alone.
    pub key: String,
    /// A client with that key.
    pub client: Client,
}

impl<'a> Workspace<'a> {
    /// A plain workspace.
    pub fn open(appliance: &'a Appliance) -> Workspace<'a> {
        Workspace::of(appliance, &[])
    }

    /// An encrypted workspace.
    pub fn encrypted(appliance: &'a Appliance) -> Workspace<'a> {
        Workspace::of(appliance, &["--encrypted"])
    }

    fn of(appliance: &'a Appliance, further: &[&str]) -> Workspace<'a> {
        let (tenant_id, slug) = (appliance.tenant(), format!("w{}", unique()));
        let create = ["messaging", "workspace", "create", &slug, "--tenant", &tenant_id];
        appliance.cli_json(&[&create[..], further].concat());
        let admin_key = key_of(appliance, &slug, "admin", &[]);
        let admin = appliance.client("messaging", &admin_key);
        Workspace { appliance, tenant_id, slug, admin_key, admin }
    }

    /// The text of a new key with this scope, bound to these agents.
    pub fn key(&self, scope: &str, agents: &[&str]) -> String {
        key_of(self.appliance, &self.slug, scope, agents)
    }

    /// A client with a new key of this scope, bound to these agents.
    pub fn client(&self, scope: &str, agents: &[&str]) -> Client {
        self.appliance.client("messaging", &self.key(scope, agents))
    }

    /// A client with the admin's key that acts as an agent.
    pub fn acting(&self, agent: &str) -> Client {
        self.admin.clone().with(AS_AGENT, agent)
    }

    /// Registers an agent of this name, which gets a key of its own.
    pub fn agent(&self, name: &str) -> Agent {
        self.agent_with(name, json!({}))
    }

    /// The same with further members of the registration.
    pub fn agent_with(&self, name: &str, mut registration: Value) -> Agent {
        registration["name"] = name.into();
        let answer = self.admin.post("/v1/agents/register", &registration);
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        let key = self.key("send", &[name]);
        Agent { name: name.to_owned(), client: self.appliance.client("messaging", &key), key }
    }

    /// Sets a limit, `messages_per_day=3` for instance.
    pub fn limit(&self, limit: &str) {
        self.appliance.cli_json(&["messaging", "workspace", "limits", &self.slug, limit]);
    }
}

fn key_of(appliance: &Appliance, slug: &str, scope: &str, agents: &[&str]) -> String {
    let mut arguments = vec!["messaging", "key", "issue", "--workspace", slug, "--scope", scope];
    for agent in agents {
        arguments.extend(["--agent", agent]);
    }
    appliance.cli_json(&arguments)["api_key"].as_str().unwrap().to_owned()
}

impl Agent {
    /// Sends a message to others; the answer, which must be a success.
    #[track_caller]
    pub fn send(&self, to: &[&str], text: &str) -> Value {
        self.send_with(to, text, json!({})).expect(202)
    }

    /// The same with further members.
    pub fn send_with(&self, to: &[&str], text: &str, mut message: Value) -> Answer {
        message["to"] = to.into();
        message["text"] = text.into();
        self.client.post("/v1/messages", &message)
    }

    /// What its inbox holds behind a place.
    #[track_caller]
    pub fn inbox(&self, cursor: u64) -> Vec<Value> {
        let found = self.client.get(&format!("/v1/inbox?cursor={cursor}&limit=200")).expect(200);
        found["messages"].as_array().unwrap().clone()
    }
}

/// A refusal with this status and code, in the documented form; the whole of it.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/problem+json", "{answer:?}");
    let told = answer.json();
    assert_eq!((&told["code"], &told["status"]), (&json!(code), &json!(status)), "{told}");
    let is_text = |name: &str| told[name].as_str().is_some_and(|text| !text.is_empty());
    assert!(["type", "title", "detail", "request_id"].into_iter().all(is_text), "{told}");
    told
}
