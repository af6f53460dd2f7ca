//! The operator's side of the tool guard: setting, showing and clearing the rules of a workspace.

use quintet_platform::clock::rfc3339;
use quintet_platform::json::to_compact;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approvals::kinds;
use crate::context::Context;
use crate::guard::model::Rule;
use crate::guard::{file, rows};
use crate::identity::Workspace;
use crate::operator::{Missing, NotDone, named, not_done_for};

/// The most bytes that rules have as they are written.
pub const FILE_BYTES_MAX: usize = file::FILE_BYTES_MAX;

/// Says what the rules are to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RulesWish {
    /// The file that has them, as it is.
    pub rules: String,
}

/// The rules of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulesView {
    /// Its slug.
    pub workspace: String,
    /// The rules in their order; none: every use of a tool is allowed.
    pub rules: Vec<Value>,
    /// Since when they hold; RFC 3339.
    pub changed_at: Option<String>,
}

fn shown(workspace: &Workspace, rules: &[Rule], changed_at: Option<Timestamp>) -> Result<RulesView, Failure> {
    let rules = serde_json::from_str(&to_compact(&file::write(rules)));
    let rules = rules.map_err(|error| Failure::Io(format!("rules are no JSON: {error}")))?;
    Ok(RulesView { workspace: workspace.slug.clone(), rules, changed_at: changed_at.map(rfc3339) })
}

/// Replaces the rules of a workspace.
///
/// # Errors
/// There is no such workspace, or a rule makes no sense. The rules stay as they are then.
pub fn set(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    slug: &str,
    RulesWish { rules }: &RulesWish,
) -> Result<RulesView, Abort<NotDone>> {
    let workspace = named(tx, slug)?;
    let rules = file::read(rules).map_err(|refusal| not_done_for(Missing::Workspace, refusal.into()))?;
    for (place, rule) in rules.iter().enumerate() {
        check_kind(tx, &workspace, place, rule)?;
    }
    rows::set_rules(tx, now, workspace.no, rules.clone())?;
    Ok(shown(&workspace, &rules, Some(now))?)
}

/// A rule that wants an approval nobody gives would only deny.
fn check_kind(read: &impl Read, workspace: &Workspace, place: usize, rule: &Rule) -> Result<(), Abort<NotDone>> {
    let Some(kind) = &rule.kind else { return Ok(()) };
    match kinds::find(read, workspace.no, kind)? {
        Some(_) => Ok(()),
        None => Err(NotDone::Unusable(format!(
            "rule {}.kind is {kind:?}, and the workspace has no such kind; make it with `quintet messaging approval kind set`",
            place + 1
        ))
        .into()),
    }
}

/// The rules of a workspace.
///
/// # Errors
/// There is no such workspace, or the store's failures.
pub fn show(context: &Context, slug: &str) -> Result<RulesView, Abort<NotDone>> {
    let read = context.store.read();
    let workspace = named(&read, slug)?;
    let (rules, changed_at) = rows::rules(&read, workspace.no)?.map_or((Vec::new(), None), |(all, at)| (all, Some(at)));
    Ok(shown(&workspace, &rules, changed_at)?)
}

/// Takes the rules of a workspace away: every use of a tool is allowed then.
///
/// # Errors
/// There is no such workspace.
pub fn clear(tx: &mut WriteTx<'_>, slug: &str) -> Result<RulesView, Abort<NotDone>> {
    let workspace = named(tx, slug)?;
    rows::clear_rules(tx, workspace.no);
    Ok(shown(&workspace, &[], None)?)
}
