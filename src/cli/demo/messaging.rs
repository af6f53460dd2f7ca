//! The demo's workspace: two agents that have written to each other, a message that is held for one of them, what one of them
//! asks a person for, and an address at which machines reach it.

use std::net::SocketAddr;
use std::path::Path;

use data_encoding::HEXLOWER;
use quintet_messaging::operator::{KeyWish, WorkspaceWish};
use quintet_platform::secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::content::{Line, Service};
use crate::admin::messaging::{self, NewWorkspace};
use crate::admin::task::TaskError;
use crate::app::App;
use crate::cli::CliError;

/// The workspace's slug; that of a later demo has a part of its tenant's id behind it.
const SLUG: &str = "demo";
/// The agents. The second one does not want to be disturbed.
const BUILDER: &str = "builder";
const REVIEWER: &str = "reviewer";
/// How long it does not: as long as an agent may.
const AWAY_SECONDS: u32 = 86_400;

/// What the demo has made of messaging.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagingContent {
    /// What every Idempotency-Key of this content begins with; empty: nothing was begun.
    key_prefix: String,
    /// The workspace's slug.
    slug: String,
    /// The key of whoever runs the workspace.
    pub admin_key: String,
    /// The agents' own keys.
    builder_key: String,
    reviewer_key: String,
    /// Whether everything was posted that the agents say to each other.
    is_complete: bool,
    /// What a person is asked for; empty: nothing yet.
    #[serde(default)]
    approval_id: String,
    /// Where machines reach an agent, and what they sign with; empty: nowhere yet.
    #[serde(default)]
    inbound_url: String,
    #[serde(default)]
    inbound_secret: String,
}

impl MessagingContent {
    /// Fixes what repetitions have in common. Whether anything changed.
    pub fn plan(&mut self) -> bool {
        let is_new = self.key_prefix.is_empty();
        if is_new {
            self.key_prefix = format!("demo-messaging-{}", HEXLOWER.encode(&secrets::random_bytes::<8>()));
        }
        is_new
    }

    /// Makes the workspace, and a key for whoever runs it. Whether anything changed.
    pub async fn open(&mut self, app: &App, tenant_id: &str) -> Result<bool, CliError> {
        if !self.admin_key.is_empty() {
            return Ok(false);
        }
        if self.slug.is_empty() {
            let part = tenant_id.get(..8).unwrap_or_default();
            self.slug = match create(app, tenant_id, SLUG).await {
                Err(TaskError::Conflict(_)) => create(app, tenant_id, &format!("{SLUG}-{part}")).await,
                made => made,
            }
            .map_err(|error| CliError::from(error.problem()))?;
        }
        let wish = KeyWish {
            workspace: self.slug.clone(),
            scope: "admin".to_owned(),
            agents: Vec::new(),
            label: Some("demo".to_owned()),
        };
        let issued = messaging::issue_key(app, wish).await.map_err(|error| CliError::from(error.problem()))?;
        self.admin_key = issued.api_key;
        Ok(true)
    }

    /// Has the agents register and write to each other, unless they have. Whether anything changed.
    pub async fn make(&mut self, address: SocketAddr) -> Result<bool, CliError> {
        if self.is_complete {
            return self.open_to_others(address).await;
        }
        let (admin_key, prefix) = (self.admin_key.clone(), self.key_prefix.clone());
        let as_admin = Service { name: "messaging", address, key: &admin_key, tenant_id: "", key_prefix: &prefix };
        for (name, labels) in [(BUILDER, json!({"lang": "rust"})), (REVIEWER, json!({"skill:review": ""}))] {
            let wish = json!({"name": name, "role": name, "labels": labels, "capabilities": ["demo"]});
            as_admin.create("/v1/agents/register", &format!("register-{name}"), &wish).await?;
        }
        self.builder_key = own_key(&as_admin, BUILDER).await?;
        self.reviewer_key = own_key(&as_admin, REVIEWER).await?;
        let builder = Service { key: &self.builder_key, ..as_admin };
        let reviewer = Service { key: &self.reviewer_key, ..as_admin };
        let asked = json!({
            "to": ["tag:skill:review"], "subject": "Ready for review",
            "text": "The parser is done. Would somebody look at how it treats unfinished input?",
        });
        let sent = builder.create("/v1/messages", "ask", &asked).await?;
        let id = sent.get("id").and_then(Value::as_str).unwrap_or_default();
        let answer = json!({"text": "It drops the last token without a word. Otherwise good."});
        reviewer.create(&format!("/v1/messages/{id}/reply"), "answer", &answer).await?;
        let away = json!({"state": "dnd", "seconds": AWAY_SECONDS, "reason": "reading"});
        reviewer.change("PUT", &format!("/v1/agents/{REVIEWER}/availability"), "away", &away).await?;
        let held = json!({
            "to": [REVIEWER], "subject": "Mended", "text": "It tells of the token now. No hurry.",
        });
        builder.create("/v1/messages", "held", &held).await?;
        self.is_complete = true;
        self.open_to_others(address).await?;
        Ok(true)
    }

    /// Has an agent ask a person for something, and machines reach it, unless they do. Whether anything changed.
    async fn open_to_others(&mut self, address: SocketAddr) -> Result<bool, CliError> {
        if !self.inbound_url.is_empty() {
            return Ok(false);
        }
        let (key, prefix) = (self.builder_key.clone(), self.key_prefix.clone());
        let builder = Service { name: "messaging", address, key: &key, tenant_id: "", key_prefix: &prefix };
        let text = |found: &Value, name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let asked = json!({
            "title": "Deploy version 7", "summary": "All tests are green, and the reviewer has nothing against it.",
            "proposed_action": {"run": "deploy", "version": 7, "to": "production"}, "expires_in_minutes": 10_080,
        });
        self.approval_id = text(&builder.create("/v1/approvals", "approval", &asked).await?, "id");
        let path = format!("/v1/agents/{BUILDER}/inbound");
        let opened = builder.create(&path, "inbound", &json!({"label": "ci"})).await?;
        self.inbound_secret = text(&opened, "secret");
        self.inbound_url = text(&opened, "url");
        Ok(true)
    }

    /// Lines to paste into a shell: decide what an agent asks for, at the command line or on a page; call an agent as a
    /// machine does that signs itself; give a model tools.
    pub fn lines_of_others(&self, address: SocketAddr, program: &str, data_dir: &Path) -> Vec<Line> {
        if self.inbound_url.is_empty() {
            return Vec::new();
        }
        let (approval_id, data_dir) = (&self.approval_id, data_dir.display());
        let decide = format!("{program} messaging approval decide {approval_id} --verdict approved --data {data_dir}");
        let page = format!("{program} messaging approval link {approval_id} --data {data_dir}");
        let call = format!(
            "T=$(date +%s); B='{{\"build\":\"green\"}}'; S=$(printf %s \"$T.$B\" | openssl dgst -sha256 -hmac '{}' | sed \
             's/.* //'); curl -s {} -H \"X-Svc-Timestamp: $T\" -H \"X-Svc-Event-Id: call-$T\" -H 'X-Svc-Event: build.done' \
             -H \"X-Svc-Signature: sha256=$S\" -d \"$B\"",
            self.inbound_secret, self.inbound_url,
        );
        let tools = format!(
            "claude mcp add --transport http agentbus http://{address}/mcp --header 'Authorization: Bearer {}'",
            self.builder_key
        );
        vec![
            Line::new("decide what an agent asks a person for", decide),
            Line::new("or print a page for whoever is to decide it", page),
            Line::new("call an agent as a build server does, signed", call),
            Line::new("give a model the tools of messaging (Claude Code)", tools),
        ]
    }

    /// Lines to paste into a shell: sign the client in, send, be woken, take what was held.
    pub fn curl_lines(&self, address: SocketAddr) -> Vec<Line> {
        if !self.is_complete {
            return Vec::new();
        }
        let base = format!("http://{address}/v1");
        let as_builder = format!("-H 'Authorization: Bearer {}'", self.builder_key);
        let as_reviewer = format!("-H 'Authorization: Bearer {}'", self.reviewer_key);
        let urgent =
            json!({"to": [REVIEWER], "subject": "Look at this", "text": "It is on fire.", "priority": "urgent"});
        let wake = format!(
            "curl -sN -m 4 {base}/stream {as_reviewer} -H 'X-AgentBus-Wake-Capable: 1' & sleep 1; curl -s {base}/messages \
             {as_builder} -d '{urgent}'; wait; curl -s '{base}/inbox?unread=true' {as_reviewer}"
        );
        let online =
            format!("curl -s -X PUT {base}/agents/{REVIEWER}/availability {as_reviewer} -d '{{\"state\":\"online\"}}'");
        vec![
            Line::new("see who is there", format!("curl -s {base}/agents {as_builder}")),
            Line::new("wake an agent: its stream tells of what is urgent, and its inbox has it", wake),
            Line::new("take what was held for it meanwhile", online),
        ]
    }

    /// A line to paste into a shell: sign the public client in.
    pub fn client_line(&self, address: SocketAddr) -> Line {
        let command = format!(
            "pip install rodmena-agentbus && AGENTBUS_BASE_URL=http://{address} agentbus signin {}",
            self.admin_key
        );
        Line::new("sign the client of messaging in (Python)", command)
    }
}

/// Makes a workspace; its slug.
async fn create(app: &App, tenant_id: &str, slug: &str) -> Result<String, TaskError> {
    let workspace = WorkspaceWish { slug: slug.to_owned(), name: Some("Demo".to_owned()), encrypted: false };
    let made = messaging::create(app, NewWorkspace { tenant: Some(tenant_id.to_owned()), workspace }).await?;
    Ok(made.slug)
}

/// A key of an agent's own.
async fn own_key(admin: &Service<'_>, name: &str) -> Result<String, CliError> {
    let wish = json!({"scope": "send", "agents": [name], "label": "demo"});
    let made = admin.create("/v1/keys", &format!("key-{name}"), &wish).await?;
    Ok(made.get("key").and_then(Value::as_str).unwrap_or_default().to_owned())
}
