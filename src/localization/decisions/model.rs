//! Decisions and what they are about.

use bincode::{Decode, Encode};
use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_platform::json::{Json, to_canonical};
use quintet_storage::{Timestamp, Uuid};

use crate::model::TenantId;

/// How long a decision may take, in seconds: 168 hours (contract, approval requests).
pub const DECISION_SECONDS: i64 = 168 * 3600;
/// The longest name of who decided, and the longest reason, in characters (localization, W2).
pub const WORDS_CHARS_MAX: usize = 2_000;

/// How a decision stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Status {
    /// It is not taken.
    Pending,
    /// Yes.
    Approved,
    /// No.
    Rejected,
    /// Not so.
    ChangesRequested,
    /// Nobody took it in time.
    TimedOut,
    /// It was taken back.
    Cancelled,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 6] = [
        Status::Pending,
        Status::Approved,
        Status::Rejected,
        Status::ChangesRequested,
        Status::TimedOut,
        Status::Cancelled,
    ];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::ChangesRequested => "changes_requested",
            Status::TimedOut => "timed_out",
            Status::Cancelled => "cancelled",
        }
    }

    /// The status of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// What kind of thing a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SubjectKind {
    /// An approval request.
    ApprovalRequest,
    /// A licence.
    Licence,
}

impl SubjectKind {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SubjectKind::ApprovalRequest => "approval_request",
            SubjectKind::Licence => "licence",
        }
    }

    /// The kind of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<SubjectKind> {
        [SubjectKind::ApprovalRequest, SubjectKind::Licence].into_iter().find(|kind| kind.name() == name)
    }

    /// Its byte in keys.
    #[must_use]
    pub(super) const fn code(self) -> u8 {
        match self {
            SubjectKind::ApprovalRequest => 1,
            SubjectKind::Licence => 2,
        }
    }

    /// The kind of a byte.
    #[must_use]
    pub(super) const fn from_code(code: u8) -> Option<SubjectKind> {
        match code {
            1 => Some(SubjectKind::ApprovalRequest),
            2 => Some(SubjectKind::Licence),
            _ => None,
        }
    }
}

/// What a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Whose.
    pub tenant_id: TenantId,
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Which; the decision is raised under this id.
    pub id: Uuid,
}

impl Subject {
    /// As it is told.
    #[must_use]
    pub fn to_json(self) -> Json {
        Json::object([
            ("type", Json::from(self.kind.name())),
            ("id", Json::from(self.id.to_string())),
            ("tenant_id", Json::from(self.tenant_id.0.to_string())),
        ])
    }
}

/// A decision that is wanted (localization, W1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// About what.
    pub subject: Subject,
    /// By which policy.
    pub policy: String,
    /// What would be done.
    pub action: Json,
    /// What is to be looked at: the canonical text of an object.
    pub context: String,
    /// Until when.
    pub expires_at: Timestamp,
}

impl Raise {
    /// What is sent; the context stands in it byte for byte.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!(
            r#"{{"policy":{},"subject":{},"action":{},"context":{},"expires_at":{}}}"#,
            to_canonical(&Json::from(self.policy.as_str())),
            to_canonical(&self.subject.to_json()),
            to_canonical(&self.action),
            self.context,
            to_canonical(&Json::from(rfc3339(self.expires_at))),
        )
    }
}

impl Raise {
    /// What was sent; `None`: it is none.
    #[must_use]
    pub fn read(json: &Json) -> Option<Raise> {
        let text = |json: &Json, name: &str| json.get(name)?.as_str().map(str::to_owned);
        let subject = json.get("subject")?;
        let context = json.get("context").filter(|context| matches!(context, Json::Object(_)))?;
        Some(Raise {
            subject: Subject {
                tenant_id: TenantId(text(subject, "tenant_id")?.parse().ok()?),
                kind: SubjectKind::from_name(&text(subject, "type")?)?,
                id: text(subject, "id")?.parse().ok()?,
            },
            policy: text(json, "policy")?,
            action: json.get("action").filter(|action| matches!(action, Json::Object(_)))?.clone(),
            context: to_canonical(context),
            expires_at: parse_rfc3339(&text(json, "expires_at")?).ok()?,
        })
    }
}

/// A decision that was taken on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Its id, which the service gives.
    pub decision_id: String,
    /// What the service says it was shown.
    pub context_hash: Option<String>,
    /// Where people look at it.
    pub review_url: Option<String>,
}

/// A decision as the service tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How it stands.
    pub status: Status,
    /// Who took it.
    pub decided_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
}

/// Why the service cannot be asked, or what is wrong with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub String);

/// What came of settling what a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is settled now.
    Now,
    /// It was settled before.
    Before,
    /// Its decision is not taken.
    NotYet,
    /// Something has changed since it was looked up: look again.
    Again,
}
