//! Kinds of approvals: who approves, and how long is waited (P1). Every workspace has `generic`, whether or not the operator
//! has said anything of it; others are there once he has.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::model::{GENERIC, check_kind, check_minutes};
use super::tables::{KINDS, KindRow};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;
use crate::words::address::is_address;

/// Approvers of one kind.
pub(crate) const APPROVERS_MAX: usize = 10;
/// Kinds of one workspace.
const KINDS_MAX: usize = 100;

/// A kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Addresses of those who approve; none: it is decided at the command line, or in the console.
    pub(crate) approvers: Vec<String>,
    /// How long is waited if the request does not say, in minutes.
    pub(crate) expires_minutes: Option<i64>,
    /// When the operator said so; `None`: he has not.
    pub(crate) changed_at: Option<Timestamp>,
}

impl Kind {
    fn of(row: KindRow) -> Kind {
        let KindRow { approvers, expires_minutes, changed_at } = row;
        Kind { approvers, expires_minutes, changed_at: Some(changed_at) }
    }
}

/// A kind of a workspace.
pub(crate) fn find(read: &impl Read, workspace: WorkspaceNo, name: &str) -> Result<Option<Kind>, Failure> {
    let row = read.get(&KINDS, &(workspace, name.to_owned()))?;
    let usual = || if name == GENERIC { Some(Kind::default()) } else { None };
    Ok(row.map(Kind::of).or_else(usual))
}

/// All kinds of a workspace, by name.
pub(crate) fn list(read: &impl Read, workspace: WorkspaceNo) -> Result<Vec<(String, Kind)>, Failure> {
    let rows = read.scan(&KINDS, Scan::prefix(&(workspace,)))?;
    let mut all: Vec<(String, Kind)> = rows.into_iter().map(|((_, name), row)| (name, Kind::of(row))).collect();
    if !all.iter().any(|(name, _)| name == GENERIC) {
        all.push((GENERIC.to_owned(), Kind::default()));
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    Ok(all)
}

/// Makes a kind, or replaces what was said of it. `domain` is that of agents' addresses.
///
/// # Errors
/// It cannot be, or there are as many as there may be.
pub(crate) fn set(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: WorkspaceNo,
    domain: &str,
    name: &str,
    (approvers, expires_minutes): (Vec<String>, Option<i64>),
) -> Result<Kind, Abort<Refusal>> {
    check_kind(name)?;
    expires_minutes.map_or(Ok(()), check_minutes)?;
    let approvers = checked(approvers, domain)?;
    let before = tx.scan(&KINDS, Scan::prefix(&(workspace,)))?;
    if before.len() >= KINDS_MAX && !before.iter().any(|((_, known), _)| known == name) {
        return Err(Refusal::LimitReached("approval_kinds", KINDS_MAX as u64).into());
    }
    let row = KindRow { approvers, expires_minutes, changed_at: now };
    tx.put(&KINDS, &(workspace, name.to_owned()), &row)?;
    Ok(Kind::of(row))
}

/// Removes a kind: nothing is raised of it any more, and the links of its approvers end. What is pending can be decided at
/// the command line. Of `generic` what was said is forgotten.
///
/// # Errors
/// There is none.
pub(crate) fn remove(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, name: &str) -> Result<Kind, Abort<Refusal>> {
    let key = (workspace, name.to_owned());
    let row = tx.get(&KINDS, &key)?.ok_or_else(|| Refusal::NotFound(format!("kind {name:?} that was set")))?;
    tx.delete(&KINDS, &key);
    Ok(Kind::of(row))
}

/// Approvers, each once. An agent is none: what reaches it is read by a program, and no program decides (P4).
fn checked(approvers: Vec<String>, domain: &str) -> Result<Vec<String>, Refusal> {
    let mut all: Vec<String> = Vec::with_capacity(approvers.len());
    for address in approvers {
        let problem = |problem: String| Err(Refusal::field("approver", problem));
        if !is_address(&address) {
            return problem(format!("{address:?} is no address of mail"));
        }
        if is_of(&address, domain) {
            return problem(format!("{address:?} is the address of an agent, and agents decide nothing"));
        }
        if !all.contains(&address) {
            all.push(address);
        }
    }
    match all.len() {
        ..=APPROVERS_MAX => Ok(all),
        _ => Err(Refusal::field("approver", format!("can be given {APPROVERS_MAX} times at most"))),
    }
}

/// Whether an address is of agents' own domain.
pub(crate) fn is_of(address: &str, domain: &str) -> bool {
    address.rsplit_once('@').is_some_and(|(_, of)| of.eq_ignore_ascii_case(domain))
}
