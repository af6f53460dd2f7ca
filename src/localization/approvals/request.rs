//! A request as it stands.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Read, Uuid};

use super::states::RequestStatus;
use super::tables::{APPROVAL_REQUESTS, ApprovalRequestRow};
use crate::decisions::{Raise, Subject, SubjectKind};
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// A request as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// What a decision about it is about.
    pub subject: Subject,
    /// In which project.
    pub project_id: ProjectId,
    /// Everything else that is stored of it.
    pub row: ApprovalRequestRow,
}

impl ApprovalRequest {
    /// How it stands.
    #[must_use]
    pub const fn status(&self) -> RequestStatus {
        self.row.status
    }

    /// The decision that is wanted (contract, approval requests): by which policy, and of this context.
    #[must_use]
    pub fn raise(&self, policy: &str, context: String) -> Raise {
        let row = &self.row;
        let action = Json::object([
            ("project", Json::from(self.project_id.0.to_string())),
            ("file", Json::from(row.file_id.0.to_string())),
            ("locale", Json::from(row.locale.as_str())),
            ("revision", Json::from(row.file_revision)),
            ("count", Json::from(row.item_count)),
        ]);
        Raise { subject: self.subject, policy: policy.to_owned(), action, context, expires_at: row.expires_at }
    }
}

/// One request.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_request(read: &impl Read, tenant_id: TenantId, id: Uuid) -> Result<ApprovalRequest, Abort<Refusal>> {
    let row = read.get(&APPROVAL_REQUESTS, &(tenant_id, id))?.ok_or(Refusal::NotFound)?;
    let subject = Subject { tenant_id, kind: SubjectKind::ApprovalRequest, id };
    Ok(ApprovalRequest { subject, project_id: row.project_id, row })
}
