//! Whether an agent may use a tool now, where a rule wants a person's approval (U3). What the rules say without one is told
//! without a transaction.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::secrets::Digest;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Action, Fit, GOOD_SECONDS, Rule, Use, first};
use super::rows;
use crate::approvals::action::Matter;
use crate::approvals::model::{GENERIC, Status, TITLE_CHARS_MAX};
use crate::approvals::{self, ByMail, NewApproval};
use crate::identity::{Attestation, Workspace};
use crate::model::{AgentKey, ApprovalId};
use crate::refusal::Refusal;

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Whether it may.
    pub(crate) is_allowed: bool,
    /// Why, for the agent.
    pub(crate) reason: String,
    /// The place of the rule that counted, from 1.
    pub(crate) rule: Option<usize>,
    /// The approval that is waited for, or was used up.
    pub(crate) approval: Option<ApprovalId>,
}

impl Answer {
    /// No.
    pub(super) fn deny(reason: impl Into<String>) -> Answer {
        Answer { is_allowed: false, reason: reason.into(), rule: None, approval: None }
    }

    /// Yes.
    pub(super) fn allow(reason: impl Into<String>) -> Answer {
        Answer { is_allowed: true, ..Answer::deny(reason) }
    }
}

/// What the rules alone say of a use; `Err`: the rule that wants an approval, and its place.
pub(super) fn judged<'r>(rules: &'r [Rule], agent: &str, wanted: &Use) -> Result<Answer, (usize, &'r Rule)> {
    let Some((place, rule, fit)) = first(rules, agent, wanted) else {
        return Ok(Answer::allow("no rule is of this"));
    };
    let reason = |usual: &str| rule.reason.clone().unwrap_or_else(|| usual.to_owned());
    let answer = match (rule.action, fit) {
        (Action::Allow, _) => Answer::allow(reason("a rule allows it")),
        (_, Fit::Unclear) => Answer::deny(format!(
            "the input was cut before it was asked about, so that it cannot be told whether a rule is of it: {}",
            reason("a rule may deny it")
        )),
        (Action::Deny, _) => Answer::deny(reason("a rule denies it")),
        (Action::Approval, _) if wanted.is_truncated => {
            Answer::deny("this needs an approval, and the input was cut: a person cannot approve what is not shown")
        }
        (Action::Approval, _) => return Err((place, rule)),
    };
    Ok(Answer { rule: Some(place), ..answer })
}

/// Who asks, for what.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The agent, and its name.
    pub(crate) agent: (AgentKey, String),
    /// What is known of it by its key.
    pub(crate) attestation: Attestation,
    /// What it wants to do.
    pub(crate) wanted: Use,
    /// The same as an approval shows it, with its digest; or why it cannot.
    pub(crate) matter: Result<(Matter, Digest), String>,
    /// How those who approve it are written to.
    pub(crate) by_mail: Option<ByMail>,
}

impl Asked {
    /// Who asks for this.
    pub(crate) fn of(agent: (AgentKey, String), attestation: Attestation, wanted: Use) -> Asked {
        let action = Json::object([
            ("tool_name", Json::from(wanted.tool_name.as_str())),
            ("tool_input", wanted.tool_input.clone()),
        ]);
        let matter = Matter::of(None, &action, &Json::Object(Vec::new()));
        let matter = matter.map_err(|refusal| match refusal {
            Refusal::Invalid(problems) => problems.first().map_or_else(String::new, |one| one.problem.clone()),
            _ => String::new(),
        });
        Asked { agent, attestation, wanted, matter, by_mail: None }
    }
}

/// Whether it may, by the rules as they stand: an approval that allows it is used up, and where there is none, one is
/// raised.
///
/// # Errors
/// The store's failures alone: what is refused is an answer.
pub(crate) fn check(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    asked: Asked,
) -> Result<Answer, Abort<Refusal>> {
    let rules = rows::rules(tx, workspace.no)?.map(|(rules, _)| rules).unwrap_or_default();
    let (place, rule) = match judged(&rules, &asked.agent.1, &asked.wanted) {
        Ok(answer) => return Ok(answer),
        Err(approval) => approval,
    };
    let (matter, digest) = match asked.matter {
        Ok(matter) => matter,
        Err(why) => {
            let answer = Answer::deny(format!("this needs an approval, and cannot be put before a person: it {why}"));
            return Ok(Answer { rule: Some(place), ..answer });
        }
    };
    let agent = asked.agent.0;
    if let Some((key, used_at)) = rows::last(tx, agent, &digest)? {
        let approval = approvals::rows::named(tx, key)?;
        // Whom the rule asks now is who must have said yes.
        let is_asked_for = approval.kind == rule.kind.as_deref().unwrap_or(GENERIC);
        let is_good = approval.decided_at.is_some_and(|at| now < at.plus_seconds(GOOD_SECONDS));
        match approval.status_at(now) {
            _ if !is_asked_for => {}
            Status::Approved if used_at.is_none() && is_good => {
                rows::use_up(tx, now, agent, digest, key)?;
                let answer = Answer::allow(format!("approved as {}, which is used up by this", ulid(key.1.0)));
                return Ok(Answer { rule: Some(place), approval: Some(key.1), ..answer });
            }
            Status::Pending => return Ok(waits("waits for an approval", place, rule, key.1)),
            _ => {}
        }
    }
    let summary = rule.reason.clone();
    let new = NewApproval {
        title: title(&asked.agent.1, &asked.wanted),
        kind: rule.kind.clone().unwrap_or_else(|| GENERIC.to_owned()),
        thread: None,
        matter: (Matter { summary, ..matter }, digest),
        expires_minutes: None,
        requester: (agent.1, asked.agent.1),
        attestation: asked.attestation,
        by_mail: asked.by_mail,
    };
    match tx.savepoint(|tx| approvals::raise(tx, now, workspace, new)) {
        Ok((key, _)) => {
            rows::put(tx, agent, digest, key)?;
            Ok(waits("needs an approval", place, rule, key.1))
        }
        Err(Abort::Failed(failure)) => Err(failure.into()),
        Err(Abort::Refused(refusal)) => {
            Ok(Answer { rule: Some(place), ..Answer::deny(format!("this needs an approval, and {}", why(&refusal))) })
        }
    }
}

/// What an agent is told that must wait.
fn waits(what: &str, place: usize, rule: &Rule, id: ApprovalId) -> Answer {
    let because = rule.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let ulid = ulid(id.0);
    let reason =
        format!("this {what}{because}: run `agentbus approval {ulid} --wait 300`, and try again once it is approved");
    Answer { rule: Some(place), approval: Some(id), ..Answer::deny(reason) }
}

/// Why none can be raised.
fn why(refusal: &Refusal) -> String {
    match refusal {
        Refusal::ApprovalsNotConfigured(kind) => format!("nobody approves kind {kind}"),
        Refusal::QuotaExceeded(used_up) => format!("{} is used up until {}", used_up.limit, used_up.reset_at),
        _ => "none can be raised".to_owned(),
    }
}

/// What an approval is called: the tool, and how its first text begins.
fn title(agent: &str, wanted: &Use) -> String {
    let mut text = format!("{agent}: {}", wanted.tool_name);
    let first = match &wanted.tool_input {
        Json::Object(members) => members.first().map(|(_, value)| value),
        _ => None,
    };
    if let Some(value) = first {
        let shown = value.as_str().map_or_else(|| to_compact(value), str::to_owned);
        text = format!("{text} {shown}");
    }
    let plain = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let short: String = plain.clone().take(TITLE_CHARS_MAX).collect();
    if plain.count() > TITLE_CHARS_MAX {
        let cut: String = short.chars().take(TITLE_CHARS_MAX - 1).collect();
        return format!("{cut}…");
    }
    short
}
