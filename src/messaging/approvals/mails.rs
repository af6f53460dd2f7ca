//! What approvers are written: each a mail of his own, with a link of his own.
//!
//! Whoever takes mail to the outside calls [`mails`] in the transaction that raises an approval, right behind
//! [`raise`](super::raise), and puts what it gets into its outbox, sealed: the text of a link is kept nowhere else. Tokens
//! are drawn before the transaction, as many as there can be approvers.

use quintet_platform::clock::rfc3339;
use quintet_platform::secrets::Secret;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::kinds::{self, APPROVERS_MAX, is_of};
use super::links::{Token, make};
use super::model::Person;
use super::rows;
use crate::identity::Workspace;
use crate::model::ApprovalKey;
use crate::refusal::Refusal;

/// A mail to an approver.
#[derive(Clone, Debug)]
pub(crate) struct ApproverMail {
    /// His address.
    pub(crate) to: String,
    /// What it is about.
    pub(crate) subject: String,
    /// What it says: a secret, for it has the link.
    pub(crate) text: Secret,
}

/// As many tokens as one approval can need.
pub(crate) fn draw_tokens() -> Vec<Token> {
    (0..APPROVERS_MAX).map(|_| Token::draw()).collect()
}

/// The mails to the approvers of an approval that was just raised, and their links. An address of agents' own domain gets
/// none: what reaches an agent is read by a program. On an encrypted workspace a mail says who asks, and not for what (E3).
///
/// # Errors
/// There is no such approval, or it has a verdict.
pub(crate) fn mails(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: ApprovalKey,
    (base_url, domain): (&str, &str),
    tokens: Vec<Token>,
) -> Result<Vec<ApproverMail>, Abort<Refusal>> {
    let approval = rows::named(tx, key)?;
    let kind = kinds::find(tx, key.0, &approval.kind)?.unwrap_or_default();
    let outside = kind.approvers.into_iter().filter(|address| !is_of(address, domain));
    let mut mails = Vec::new();
    for (to, token) in outside.zip(tokens) {
        make(tx, now, key, Person::Approver(to.clone()), &token)?;
        let what = if workspace.is_encrypted { "an action" } else { approval.title.as_str() };
        let url = token.url(base_url);
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
