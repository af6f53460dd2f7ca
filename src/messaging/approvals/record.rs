//! How an approval is told, to programs and to the operator alike (P2, P5).

use data_encoding::HEXLOWER;
use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Failure, Read, Timestamp};

use super::action::Matter;
use super::model::{Approval, Status, Verdict};
use super::rows;
use crate::identity::Workspace;
use crate::model::ApprovalKey;
use crate::wire::{instant, instant_or_null};

/// Everything that is known of an approval.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Which.
    pub(crate) key: ApprovalKey,
    /// How it stands.
    pub(crate) approval: Approval,
    /// What it is about.
    pub(crate) matter: Matter,
    /// What was recorded of its end.
    pub(crate) verdict: Option<Verdict>,
}

/// Everything that is known of an approval, if there is one.
pub(crate) fn known(read: &impl Read, workspace: &Workspace, key: ApprovalKey) -> Result<Option<Known>, Failure> {
    let Some(approval) = rows::find(read, key)? else { return Ok(None) };
    of(read, workspace, key, approval).map(Some)
}

/// Everything that is known of this approval.
pub(crate) fn of(
    read: &impl Read,
    workspace: &Workspace,
    key: ApprovalKey,
    approval: Approval,
) -> Result<Known, Failure> {
    let (matter, verdict) = (rows::matter(read, workspace, key)?, rows::verdict(read, workspace, key)?);
    Ok(Known { key, approval, matter, verdict })
}

impl Known {
    /// About how many bytes its record has.
    pub(crate) fn bytes(&self) -> usize {
        let Matter { summary, action, context } = &self.matter;
        let reason = self.verdict.as_ref().map_or(0, |verdict| 2 * verdict.reason.len());
        1_024 + summary.as_ref().map_or(0, String::len) + action.len() + context.len() + reason
    }

    /// Its record.
    pub(crate) fn members(&self, now: Timestamp) -> Vec<(&'static str, Json)> {
        let (approval, matter) = (&self.approval, &self.matter);
        vec![
            ("id", Json::from(ulid(self.key.1.0))),
            ("status", approval.status_at(now).name().into()),
            ("title", approval.title.as_str().into()),
            ("kind", approval.kind.as_str().into()),
            ("summary", matter.summary.as_deref().into()),
            ("proposed_action", object(&matter.action)),
            ("context", object(&matter.context)),
            ("action_sha256", HEXLOWER.encode(&approval.action_sha256).into()),
            ("thread_id", approval.thread.map(|thread| ulid(thread.0)).into()),
            ("requested_by", approval.requested_by.as_str().into()),
            ("created_at", instant(approval.created_at)),
            ("expires_at", instant(approval.expires_at)),
            ("decided_at", instant_or_null(approval.decided_by(now))),
            ("outcome", self.outcome(now)),
        ]
    }

    /// How it ended; null while it is pending (P5).
    fn outcome(&self, now: Timestamp) -> Json {
        let status = self.approval.status_at(now);
        if status == Status::Pending {
            return Json::Null;
        }
        let (by, reason) = self.verdict.as_ref().map_or(("", ""), |verdict| (&*verdict.by, &*verdict.reason));
        let message = match (status, reason) {
            (Status::TimedOut, _) => format!("nobody decided until {}", rfc3339(self.approval.expires_at)),
            (Status::Cancelled, _) => format!("cancelled by {by}"),
            (_, "") => format!("{} by {by}", status.name()),
            (_, reason) => reason.to_owned(),
        };
        let reasons = match reason {
            "" => Vec::new(),
            text => vec![Json::object([
                ("code", Json::from("OTHER")),
                ("text", Json::from(text)),
                ("actor_id", Json::from(by)),
            ])],
        };
        let none = || Json::Array(Vec::new());
        Json::object([
            ("status", Json::from(status.name())),
            (
                "feedback_for_agent",
                Json::object([("message", Json::from(message)), ("reason_codes", none()), ("change_requests", none())]),
            ),
            (
                "outcome",
                Json::object([
                    ("result", Json::from(status.name())),
                    ("reasons", Json::Array(reasons)),
                    ("justifications", none()),
                ]),
            ),
        ])
    }
}

/// An object that was stored as text; an empty one where there is none any more.
fn object(text: &str) -> Json {
    parse(text.as_bytes(), Limits::default()).unwrap_or_else(|_| Json::Object(Vec::new()))
}
