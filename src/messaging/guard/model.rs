//! Rules, and which of them fits what an agent wants to do (U2).

use bincode::{Decode, Encode};
use quintet_platform::json::{Json, to_compact};

use super::glob::fits;

/// Rules of a workspace.
pub(crate) const RULES_MAX: usize = 100;
/// An approval allows a use for so long after it was given, in seconds (U3).
pub(crate) const GOOD_SECONDS: i64 = 3_600;
/// Clients cut a text that is longer than 4,096 characters to its first and last 2,000, and say so: a shorter one is whole.
const CUT_CHARS_MIN: usize = 4_000;

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Action {
    /// It may.
    Allow,
    /// It may not.
    Deny,
    /// It may once a person has approved it.
    Approval,
}

impl Action {
    /// All of them.
    pub(crate) const ALL: [Action; 3] = [Action::Allow, Action::Deny, Action::Approval];

    /// As rules are written.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Deny => "deny",
            Action::Approval => "approval",
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Rule {
    /// Of which tools it is: a glob.
    pub(crate) tool: String,
    /// Of which member of the input it is.
    pub(crate) field: Option<String>,
    /// What that has in it; without a member, what any text of the input has in it.
    pub(crate) contains: Option<String>,
    /// Of which agents it is: globs; none: of all.
    pub(crate) agents: Vec<String>,
    /// What it says.
    pub(crate) action: Action,
    /// The kind of the approval.
    pub(crate) kind: Option<String>,
    /// Why, for the agent.
    pub(crate) reason: Option<String>,
}

/// What an agent wants to do.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// The tool.
    pub(crate) tool_name: String,
    /// The input, an object.
    pub(crate) tool_input: Json,
    /// Whether the client has cut texts of it.
    pub(crate) is_truncated: bool,
}

/// Whether a rule fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Nobody can tell: the text that it looks at was cut.
    Unclear,
}

impl Rule {
    /// Whether it is of this.
    pub(super) fn fits(&self, agent: &str, wanted: &Use) -> Fit {
        let is_of_agent = self.agents.is_empty() || self.agents.iter().any(|glob| fits(glob, agent));
        if !is_of_agent || !fits(&self.tool, &wanted.tool_name) {
            return Fit::No;
        }
        let looked_at = match &self.field {
            Some(field) => wanted.tool_input.get(field),
            None => Some(&wanted.tool_input),
        };
        let Some(looked_at) = looked_at else { return Fit::No };
        let Some(text) = &self.contains else { return Fit::Yes };
        contains(looked_at, text, wanted.is_truncated)
    }
}

/// Whether a value has a text in it: in any of its texts, or as it is written if it is none. Calls itself; the depth of a
/// body is bounded.
fn contains(value: &Json, text: &str, is_truncated: bool) -> Fit {
    let mut fit = Fit::No;
    let mut see = |one: Fit| {
        if one == Fit::Yes || fit == Fit::No {
            fit = one;
        }
    };
    match value {
        Json::String(own) if own.contains(text) => see(Fit::Yes),
        Json::String(own) if is_truncated && own.chars().count() >= CUT_CHARS_MIN => see(Fit::Unclear),
        Json::String(_) => {}
        Json::Array(items) => items.iter().for_each(|item| see(contains(item, text, is_truncated))),
        Json::Object(members) => members.iter().for_each(|(_, item)| see(contains(item, text, is_truncated))),
        plain if to_compact(plain).contains(text) => see(Fit::Yes),
        _ => {}
    }
    fit
}

/// What the rules say of a use: the place of the first that fits, from 1, and the rule. One that says no, or that somebody
/// must be asked, also counts where it cannot be told whether it fits.
pub(super) fn first<'r>(rules: &'r [Rule], agent: &str, wanted: &Use) -> Option<(usize, &'r Rule, Fit)> {
    rules.iter().enumerate().find_map(|(place, rule)| match (rule.fits(agent, wanted), rule.action) {
        (Fit::Yes, _) => Some((place + 1, rule, Fit::Yes)),
        (Fit::Unclear, Action::Deny | Action::Approval) => Some((place + 1, rule, Fit::Unclear)),
        _ => None,
    })
}
