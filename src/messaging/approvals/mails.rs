//! What approvers are written: each a mail of his own, with a link of his own.
//!
//! They are put into the outbox in the transaction that raises the approval, sealed: the text of a link is kept nowhere
//! else. Tokens are drawn before the transaction, as many as there can be approvers.

use quintet_platform::clock::rfc3339;
use quintet_platform::secrets::Secret;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::kinds::{self, APPROVERS_MAX, is_of};
use super::links::{Token, make};
use super::model::Person;
use super::rows;
use crate::context::Context;
use crate::identity::Workspace;
use crate::model::ApprovalKey;
use crate::outbox::{Note, enqueue_note};
use crate::refusal::Refusal;

/// A mail to an approver.
#[derive(Clone, Debug)]
pub(super) struct ApproverMail {
    /// His address.
    pub(super) to: String,
    /// What it is about.
    pub(super) subject: String,
    /// What it says: a secret, for it has the link.
    pub(super) text: Secret,
}

/// What it takes to write to approvers.
#[derive(Clone, Debug)]
pub(crate) struct ByMail {
    /// Under which address pages are.
    pub(super) base_url: String,
    /// What agents' addresses end with.
    pub(super) domain: String,
    /// As many as one approval can need.
    pub(super) tokens: Vec<Token>,
}

impl ByMail {
    /// `None`: no mail leaves here.
    pub(crate) fn drawn(context: &Context) -> Option<ByMail> {
        let leaves = context.settings.mail.relay.is_some() && !context.settings.domain.is_empty();
        leaves.then(|| ByMail {
            base_url: context.base_url(),
            domain: context.domain().to_owned(),
            tokens: (0..APPROVERS_MAX).map(|_| Token::draw()).collect(),
        })
    }
}

/// Writes to the approvers of an approval that was just raised.
///
/// # Errors
/// There is no such approval, or it has a verdict.
pub(super) fn write(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: ApprovalKey,
    by_mail: ByMail,
) -> Result<(), Abort<Refusal>> {
    for ApproverMail { to, subject, text } in mails(tx, now, workspace, key, by_mail)? {
        enqueue_note(tx, now, workspace, Note { to: &to, subject: &subject, text: text.expose() })?;
    }
    Ok(())
}

/// The mails to the approvers of an approval that was just raised, and their links. An address of agents' own domain gets
/// none: what reaches an agent is read by a program. On an encrypted workspace a mail says who asks, and not for what (E3).
///
/// # Errors
/// There is no such approval, or it has a verdict.
pub(super) fn mails(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: ApprovalKey,
    ByMail { base_url, domain, tokens }: ByMail,
) -> Result<Vec<ApproverMail>, Abort<Refusal>> {
    let approval = rows::named(tx, key)?;
    let kind = kinds::find(tx, key.0, &approval.kind)?.unwrap_or_default();
    let outside = kind.approvers.into_iter().filter(|address| !is_of(address, &domain));
    let mut mails = Vec::new();
    for (to, token) in outside.zip(tokens) {
        make(tx, now, key, Person::Approver(to.clone()), &token)?;
        let what = if workspace.is_encrypted { "an action" } else { approval.title.as_str() };
        let url = token.url(&base_url);
        let text = format!(
            "{} of workspace {} asks for your approval: {what}\n\nLook at it and decide here, until {}:\n{}\n\nThe link is \
             for you alone: whoever has it decides in your name. Opening it decides nothing.\n",
            approval.requested_by,
            workspace.slug,
            rfc3339(approval.expires_at),
            url.expose(),
        );
        mails.push(ApproverMail { to, subject: format!("Approval wanted: {what}"), text: text.into() });
    }
    Ok(mails)
}
