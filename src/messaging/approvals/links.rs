//! Links to the page of an approval: each is for one approval and one person (P3). A link ends with the approval's verdict,
//! and when its person is no approver of the kind any more.

use quintet_platform::secrets::{Secret, constant_time_eq, digest, random_bytes};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::kinds;
use super::model::{Approval, Person};
use super::tables::{LINKS, LINKS_OF, LinkRow};
use crate::identity::keys::token_place;
use crate::model::{ApprovalKey, Mark};
use crate::refusal::Refusal;

/// Links of one approval.
const LINKS_MAX: usize = 100;
/// Bytes of a token: 256 bits (P3).
const TOKEN_BYTES: usize = 32;
/// Where pages are.
pub(crate) const PAGES: &str = "/approve/";

/// The token of a link, drawn before the transaction that makes it. Use each once.
#[derive(Clone, Debug)]
pub(crate) struct Token(Secret);

impl Token {
    /// Draws one from the system's random source.
    pub(crate) fn draw() -> Token {
        Token(data_encoding::BASE64URL_NOPAD.encode(&random_bytes::<TOKEN_BYTES>()).into())
    }

    /// The address of the page, as it is given to the person. Nobody else is to see it.
    pub(crate) fn url(&self, base_url: &str) -> Secret {
        format!("{base_url}{PAGES}{}", self.0.expose()).into()
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        self.0.expose()
    }
}

/// Makes a link to an approval that is pending.
///
/// # Errors
/// The approval has a verdict, the person is none of its approvers, or it has as many links as it may.
pub(crate) fn make(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ApprovalKey,
    person: Person,
    token: &Token,
) -> Result<Approval, Abort<Refusal>> {
    let approval = super::rows::named(tx, key)?;
    approval.check_pending(now)?;
    if !is_entitled(tx, key, &approval, &person)? {
        let problem = format!("{:?} is no approver of kind {:?}", person.name(), approval.kind);
        return Err(Refusal::field("approver", problem).into());
    }
    let held = tx.scan(&LINKS_OF, Scan::prefix(&(key.0, key.1)).limit(LINKS_MAX))?.len();
    if held >= LINKS_MAX {
        return Err(Refusal::LimitReached("approval_links", LINKS_MAX as u64).into());
    }
    let digest = digest(token.0.expose().as_bytes());
    let place = token_place(&digest);
    tx.put(&LINKS_OF, &(key.0, key.1, place), &Mark)?;
    tx.put(&LINKS, &place, &LinkRow { digest, workspace: key.0, approval: key.1, person, made_at: now })?;
    Ok(approval)
}

/// The approval and the person that a link is for.
pub(crate) fn find(read: &impl Read, token: &str) -> Result<Option<(ApprovalKey, Person)>, Failure> {
    let digest = digest(token.as_bytes());
    let row = read.get(&LINKS, &token_place(&digest))?;
    let row = row.filter(|row| constant_time_eq(&row.digest, &digest));
    Ok(row.map(|row| ((row.workspace, row.approval), row.person)))
}

/// Whether a person may decide an approval on a page, as things stand now.
pub(crate) fn is_entitled(
    read: &impl Read,
    key: ApprovalKey,
    approval: &Approval,
    person: &Person,
) -> Result<bool, Failure> {
    match person {
        Person::Operator(_) => Ok(true),
        Person::Approver(address) => {
            let kind = kinds::find(read, key.0, &approval.kind)?;
            Ok(kind.is_some_and(|kind| kind.approvers.contains(address)))
        }
    }
}
