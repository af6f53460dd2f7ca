//! What the tests of all folders share: a store under a rehearsal clock, a workspace in it, keys, agents, mail between them,
//! and requests that go the whole way.

use axum::body::Body;
use axum::response::Response;
use http_body_util::BodyExt as _;
use quintet_platform::Foundation;
use quintet_platform::access::{Authority, Service, activate_tenant, suspend_tenant};
use quintet_platform::clock::Clock;
use quintet_platform::egress::{Egress, Place};
use quintet_platform::http::request_id::RequestId;
use quintet_storage::{Abort, Timestamp, WriteTx};
use quintet_support::OpenStore;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::agents::{Registration, register};
use crate::context::{Context, Mail, Relay, RelayEncryption, Settings};
use crate::identity::keys::{self, PreparedKey};
use crate::identity::{Key, Priority, Scope, Status, Workspace, agents, mailboxes, workspaces};
use crate::mail::messages::encode;
use crate::mail::model::{Addressee, Contents, Role, Sender};
use crate::mail::post::{From, Letter, Posted, Said, post};
use crate::model::{AgentKey, WorkspaceNo};
use crate::refusal::Refusal;
use crate::words::agent_name::AgentName;

/// Half past noon of some day, UTC.
pub(crate) const NOON: i64 = 1_764_160_200_000_000;
/// What agents' addresses end with.
pub(crate) const DOMAIN: &str = "mail.example";

/// A service with one workspace, `acme`, under a clock that stands at [`NOON`] until it is moved.
pub(crate) struct Bench {
    /// What handlers work with.
    pub(crate) context: Context,
    /// The workspace, as it was made.
    pub(crate) workspace: Workspace,
    /// An unbound key of scope `admin`.
    pub(crate) admin: String,
    clock: Clock,
    store: OpenStore,
    _directory: TempDir,
}

impl Bench {
    /// With a plain workspace.
    pub(crate) fn new() -> Bench {
        Bench::with(false, Mail::none())
    }

    /// With a plain workspace, and what the operator says of mail.
    pub(crate) fn with_mail(mail: Mail) -> Bench {
        Bench::with(false, mail)
    }

    /// With an encrypted workspace.
    pub(crate) fn encrypted() -> Bench {
        Bench::with(true, Mail::none())
    }

    fn with(is_encrypted: bool, mail: Mail) -> Bench {
        let (directory, store, clock) = quintet_support::rehearsal_of_a_room(crate::TABLES, NOON);
        let (tenant_id, _) = quintet_support::tenant_and_key(&store, Service::Messaging, &[]);
        let settings = Settings {
            domain: DOMAIN.to_owned(),
            public_url: "https://messages.example".to_owned(),
            rate_per_second: 0,
            rate_burst: 0,
            egress: Egress::new(|_| true),
            mail,
            is_signup_open: false,
        };
        let context = Context::new(Foundation::new(store.clone(), clock.clone(), Authority::Embedded), settings);
        for work in crate::due_work(&context) {
            clock.register(work);
        }
        let workspace = quintet_support::write(&store, move |tx, now| -> Result<Workspace, Abort<Refusal>> {
            let workspace = Workspace {
                no: workspaces::next_no(tx)?,
                id: tx.new_id(),
                slug: "acme".to_owned(),
                name: "Acme".to_owned(),
                tenant_id,
                is_encrypted,
                is_ingress_open: true,
                status: Status::Active,
                created_at: now,
                limits: Vec::new(),
            };
            workspaces::put(tx, &workspace)?;
            Ok(workspace)
        });
        let mut bench = Bench { context, workspace, admin: String::new(), clock, store, _directory: directory };
        bench.admin = bench.key(Scope::Admin, &[]);
        bench
    }

    /// The present instant.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the clock on, and does what falls due meanwhile.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.clock.advance(seconds).await.unwrap();
    }

    /// A transaction; a failure of the store ends the test.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        match self.store.write_blocking(deadline, verb) {
            Ok(value) => Ok(value),
            Err(Abort::Refused(refusal)) => Err(refusal),
            Err(Abort::Failed(failure)) => panic!("the store failed: {failure}"),
        }
    }

    /// Changes the workspace: its limits, whether mail from outside is taken, whether it serves.
    pub(crate) fn set(&mut self, change: impl FnOnce(&mut Workspace)) {
        change(&mut self.workspace);
        let workspace = self.workspace.clone();
        self.run(move |tx, _| Ok(workspaces::put(tx, &workspace)?)).unwrap();
    }

    /// Another workspace of the same tenant.
    pub(crate) fn another(&self, slug: &str) -> Workspace {
        let mut workspace = self.workspace.clone();
        workspace.slug = slug.to_owned();
        self.run(move |tx, _| {
            workspace.no = workspaces::next_no(tx)?;
            workspace.id = tx.new_id();
            workspaces::put(tx, &workspace)?;
            Ok(workspace)
        })
        .unwrap()
    }

    /// The text of a new key of the workspace, bound to these agents.
    pub(crate) fn key(&self, scope: Scope, bound: &[&str]) -> String {
        self.key_of(self.workspace.no, scope, bound)
    }

    /// The same of any workspace.
    pub(crate) fn key_of(&self, workspace: WorkspaceNo, scope: Scope, bound: &[&str]) -> String {
        let prepared = PreparedKey::draw();
        let text = prepared.text().expose().clone();
        let key = Key {
            id: prepared.id.clone(),
            workspace,
            scope,
            agents: bound.iter().map(|name| (*name).to_owned()).collect(),
            label: String::new(),
            created_at: self.now(),
            revoked_at: None,
        };
        self.run(move |tx, _| {
            let mut counts = workspaces::counts(tx, key.workspace)?;
            let count = if key.is_bound() { &mut counts.bound_keys } else { &mut counts.operator_keys };
            *count += 1;
            workspaces::put_counts(tx, key.workspace, counts)?;
            Ok(keys::put_new(tx, &key, prepared.digest())?)
        })
        .unwrap();
        text
    }

    /// Registers an agent of this name.
    pub(crate) fn agent(&self, name: &str) -> AgentKey {
        self.register(Registration { name: Some(AgentName::parse(name).unwrap()), ..nobody() })
    }

    /// Registers an agent with the admin's key.
    pub(crate) fn register(&self, registration: Registration) -> AgentKey {
        let workspace = self.workspace.clone();
        let id = self.admin.split('_').nth(2).unwrap().to_owned();
        let registered = self.run(move |tx, now| {
            let key = keys::find(tx, &id)?.unwrap();
            register(tx, now, &workspace, &key, &registration)
        });
        (self.workspace.no, registered.unwrap().no)
    }

    /// An agent of this name that wears these tags, each `KEY` or `KEY=VALUE`.
    pub(crate) fn wearer(&self, name: &str, tags: &[&str]) -> AgentKey {
        let labels = tags.iter().map(|tag| {
            let (key, value) = tag.split_once('=').unwrap_or((tag, ""));
            (key.to_owned(), value.to_owned())
        });
        let labels = labels.collect();
        self.register(Registration { name: Some(AgentName::parse(name).unwrap()), labels, ..nobody() })
    }

    /// The number of the agent of this name.
    pub(crate) fn named(&self, name: &str) -> AgentKey {
        let no = agents::by_name(&self.store.read(), self.workspace.no, name).unwrap();
        (self.workspace.no, no.unwrap())
    }

    /// Has an agent post a message to others by name, as the verbs do it: no rule of sending is asked.
    pub(crate) fn post(&self, from: &str, to: &[&str], text: &str, change: impl FnOnce(&mut Letter)) -> Posted {
        let sender = self.named(from);
        let addressee = |name: &&str| {
            let key = self.named(name);
            let mailbox = mailboxes::get(&self.store.read(), key).unwrap();
            Addressee { no: key.1, role: Role::To, mailbox }
        };
        let agents = to.iter().map(addressee).collect();
        let mut letter = Letter {
            thread: None,
            in_reply_to: None,
            from: From {
                sender: Sender::Agent(sender.1),
                name: from.to_owned(),
                address: self.context.address(&self.workspace, from),
                lane: None,
                attestation: crate::identity::Attestation::Platform,
            },
            subject: format!("About {text}"),
            to: to.iter().map(|name| (*name).to_owned()).collect(),
            cc: Vec::new(),
            agents,
            outside: Vec::new(),
            rooms: Vec::new(),
            priority: Priority::Normal,
            is_sealed: false,
            is_signed: false,
            has_claim: false,
            said: Said::Here(encode(&Contents { text: text.to_owned(), ..Contents::default() }).unwrap()),
            attachments: Vec::new(),
        };
        change(&mut letter);
        let workspace = self.workspace.clone();
        self.run(move |tx, now| Ok(post(tx, now, &workspace, letter)?)).unwrap()
    }

    /// A request with a key, as it goes the whole way; its answer's status and body.
    pub(crate) async fn call(&self, key: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.asked(key, None, method, path, body).await
    }

    /// The same of the admin's key that acts as an agent.
    pub(crate) async fn call_as(&self, agent: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.asked(&self.admin, Some(agent), method, path, body).await
    }

    /// The same of any key, as any agent or as none. A body of null is none.
    pub(crate) async fn asked(
        &self,
        key: &str,
        agent: Option<&str>,
        method: &str,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let mut request = http::Request::builder().method(method).uri(path);
        if !key.is_empty() {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        if let Some(agent) = agent {
            request = request.header("x-agentbus-agent", agent);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let mut response = self.answer(request.body(body).unwrap()).await;
        let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
        (response.status().as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// The answer to any request.
    pub(crate) async fn answer(&self, request: http::Request<Body>) -> Response {
        self.answering(request).await
    }

    /// The same, while the bench is used for something else.
    pub(crate) fn answering(&self, mut request: http::Request<Body>) -> impl Future<Output = Response> + Send + use<> {
        // As the listener does.
        let id = RequestId::of(request.headers());
        request.extensions_mut().insert(id);
        let routes = crate::http::routes(self.context.clone());
        async move { routes.oneshot(request).await.unwrap() }
    }

    /// Suspends the tenant, with all its workspaces.
    pub(crate) fn suspend_tenant(&self) {
        let tenant_id = self.workspace.tenant_id;
        quintet_support::write(&self.store, move |tx, now| suspend_tenant(tx, now, tenant_id));
    }

    /// Activates it again.
    pub(crate) fn activate_tenant(&self) {
        let tenant_id = self.workspace.tenant_id;
        quintet_support::write(&self.store, move |tx, now| activate_tenant(tx, now, tenant_id));
    }
}

/// Mail that leaves by a relay at which nobody is.
pub(crate) fn mail_with_relay() -> Mail {
    let place = Place { host: "127.0.0.1".to_owned(), port: 1 };
    let relay = Relay { place, encryption: RelayEncryption::Opportunistic, credentials: None };
    Mail { relay: Some(relay), ..Mail::none() }
}

/// A registration that says nothing.
pub(crate) fn nobody() -> Registration {
    Registration {
        name: None,
        role: None,
        session: None,
        device_hash: None,
        repo_fingerprint: None,
        capabilities: None,
        labels: Vec::new(),
        is_unlisted: None,
        is_ephemeral: None,
        persona: None,
        spare_name: AgentName::made([1, 2, 3]),
    }
}

/// What a refusal must say: status, code, and a detail that has these words.
#[track_caller]
pub(crate) fn assert_refused((status, body): &(u16, Value), expected: (u16, &str), words: &str) {
    assert_eq!((*status, body["code"].as_str().unwrap_or_default()), expected, "{body}");
    assert!(body["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{words}: {body}");
    assert_eq!(body["status"], json!(status));
}
