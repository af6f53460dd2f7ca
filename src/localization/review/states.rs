//! How far a translation has come: the one table of what may become what (contract, Translation state).

use crate::access::Action;
use crate::content::{ReviewState, State};

/// What a reviewer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A draft is right.
    Review,
    /// What was reviewed is not right after all.
    Reject,
    /// What was reviewed may be released.
    Approve,
    /// What was approved may not be released.
    Revoke,
}

impl Step {
    /// Every step.
    pub const ALL: [Step; 4] = [Step::Review, Step::Reject, Step::Approve, Step::Revoke];

    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Step::Review => "review",
            Step::Reject => "reject",
            Step::Approve => "approve",
            Step::Revoke => "revoke",
        }
    }

    /// The step of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Step> {
        Step::ALL.into_iter().find(|step| step.name() == name)
    }

    /// What it takes to be allowed to.
    #[must_use]
    pub const fn permission(self) -> Action {
        match self {
            Step::Review | Step::Reject => Action::Review,
            Step::Approve | Step::Revoke => Action::Approve,
        }
    }

    /// Whether a failed check that blocks refuses it.
    #[must_use]
    pub const fn is_judged(self) -> bool {
        matches!(self, Step::Review | Step::Approve)
    }

    /// What it makes of a state; `None`: it cannot be asked for there.
    ///
    /// | from | review | reject | approve | revoke |
    /// |---|---|---|---|---|
    /// | untranslated | | | | |
    /// | draft, needs_attention | reviewed | | | |
    /// | reviewed | | draft | approved | |
    /// | approved | | | | reviewed |
    /// | outdated | | | | |
    ///
    /// `needs_attention` behaves like draft (localization, T3).
    #[must_use]
    pub const fn from(self, state: State) -> Option<ReviewState> {
        use ReviewState::{Approved, Draft, NeedsAttention, Reviewed};
        match (self, state) {
            (Step::Review, State::Stored(Draft | NeedsAttention)) => Some(Reviewed),
            (Step::Reject, State::Stored(Reviewed)) => Some(Draft),
            (Step::Approve, State::Stored(Reviewed)) => Some(Approved),
            (Step::Revoke, State::Stored(Approved)) => Some(Reviewed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_contracts() {
        use ReviewState::{Approved, Draft, NeedsAttention, Reviewed};
        let states =
            [State::Untranslated, State::Stored(Draft), State::Stored(NeedsAttention), State::Stored(Reviewed)];
        let states = states.into_iter().chain([State::Stored(Approved), State::Outdated]);
        let table: Vec<[Option<ReviewState>; 4]> = states.map(|state| Step::ALL.map(|step| step.from(state))).collect();
        let [review, none] = [[Some(Reviewed), None, None, None], [None; 4]];
        let reviewed = [None, Some(Draft), Some(Approved), None];
        let approved = [None, None, None, Some(Reviewed)];
        assert_eq!(table, [none, review, review, reviewed, approved, none]);
    }

    /// The manual's table says the same: rows are states, the first four columns steps.
    #[test]
    fn the_manual_has_the_table() {
        use ReviewState::{Approved, Draft, Reviewed};
        let manual = include_str!("../../../assets/manual/localization.md");
        let states = [State::Untranslated, State::Stored(Draft), State::Stored(Reviewed), State::Stored(Approved)];
        for state in states.into_iter().chain([State::Outdated]) {
            let to = |step: Step| step.from(state).map_or("", |to| State::Stored(to).name());
            let outdated = if state == State::Untranslated { "" } else { "outdated" };
            let cells = Step::ALL.map(to).into_iter().chain(["draft", outdated]);
            let row: String = std::iter::once(state.name()).chain(cells).map(|cell| format!("| {cell} ")).collect();
            let row = format!("{row}|").replace("|  |", "| |").replace("|  |", "| |");
            assert!(manual.contains(&row), "{row}");
        }
    }

    #[test]
    fn words_are_read_back() {
        assert!(Step::ALL.into_iter().all(|step| Step::from_name(step.name()) == Some(step)));
        assert_eq!(Step::from_name("Review"), None);
    }
}
