//! How far a grant has come: the one table of what may become what (contract, Grant state; localization, S4 and S5).

use bincode::{Decode, Encode};

/// How far a grant, or one intent of it, has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum IntentState {
    /// The authorization system has not taken it yet.
    Granting,
    /// It holds.
    Granted,
    /// The authorization system has not removed it yet.
    Revoking,
    /// It holds no more.
    Revoked,
}

impl IntentState {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            IntentState::Granting => "granting",
            IntentState::Granted => "granted",
            IntentState::Revoking => "revoking",
            IntentState::Revoked => "revoked",
        }
    }

    /// Whether the authorization system has something to do.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, IntentState::Granting | IntentState::Revoking)
    }
}

/// How far a grant has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantState {
    /// The authorization system has not taken all of it.
    Granting,
    /// All of it holds.
    Granted,
    /// Nothing of it holds, and the authorization system does not know that yet.
    Revoking,
    /// Nothing of it holds.
    Revoked,
    /// It stands, and some or all of it was removed in the authorization system.
    Degraded,
}

impl GrantState {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            GrantState::Granting => "granting",
            GrantState::Granted => "granted",
            GrantState::Revoking => "revoking",
            GrantState::Revoked => "revoked",
            GrantState::Degraded => "degraded",
        }
    }
}

/// What happens to an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentStep {
    /// The authorization system has taken it.
    Taken,
    /// Its grant is revoked, and no authorization system knows of it.
    End,
    /// Its grant is revoked, and the authorization system must be told.
    EndThere,
    /// The authorization system has removed it.
    Removed,
    /// The authorization system lacks it, though it had taken it.
    Missing,
    /// The authorization system has it, though its grant is revoked: what was told first may have arrived last.
    StillThere,
}

impl IntentStep {
    /// What it makes of a state; `None`: it changes nothing there.
    ///
    /// | from | taken | end | end there | removed | missing | still there |
    /// |---|---|---|---|---|---|---|
    /// | granting | granted | revoked | revoking | | | |
    /// | granted | | revoked | revoking | | revoked | |
    /// | revoking | | | | revoked | | |
    /// | revoked | | | | | | revoking |
    #[must_use]
    pub const fn from(self, state: IntentState) -> Option<IntentState> {
        use IntentState::{Granted, Granting, Revoked, Revoking};
        match (self, state) {
            (IntentStep::Taken, Granting) => Some(Granted),
            (IntentStep::End, Granting | Granted) => Some(Revoked),
            (IntentStep::EndThere, Granting | Granted) | (IntentStep::StillThere, Revoked) => Some(Revoking),
            (IntentStep::Removed, Revoking) | (IntentStep::Missing, Granted) => Some(Revoked),
            _ => None,
        }
    }
}

/// The state of a grant whose record is revoked or not, with intents in these states.
#[must_use]
pub fn grant_state(is_revoked: bool, intents: impl IntoIterator<Item = IntentState>) -> GrantState {
    let (mut is_granting, mut is_revoking, mut is_degraded) = (false, false, false);
    for state in intents {
        match state {
            IntentState::Granting => is_granting = true,
            IntentState::Granted => {}
            IntentState::Revoking => is_revoking = true,
            IntentState::Revoked => is_degraded = true,
        }
    }
    match (is_revoked, is_revoking) {
        (true, true) => GrantState::Revoking,
        (true, false) => GrantState::Revoked,
        (false, _) if is_degraded => GrantState::Degraded,
        (false, _) if is_granting => GrantState::Granting,
        (false, _) => GrantState::Granted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IntentState::{Granted, Granting, Revoked, Revoking};

    #[test]
    fn the_table_of_intents() {
        use IntentStep::{End, EndThere, Missing, Removed, StillThere, Taken};
        let row = |state| [Taken, End, EndThere, Removed, Missing, StillThere].map(|step| step.from(state));
        assert_eq!(row(Granting), [Some(Granted), Some(Revoked), Some(Revoking), None, None, None]);
        assert_eq!(row(Granted), [None, Some(Revoked), Some(Revoking), None, Some(Revoked), None]);
        assert_eq!(row(Revoking), [None, None, None, Some(Revoked), None, None]);
        assert_eq!(row(Revoked), [None, None, None, None, None, Some(Revoking)]);
    }

    #[test]
    fn a_grant_is_what_its_intents_are() {
        for (is_revoked, intents, expected) in [
            (false, &[Granted][..], GrantState::Granted),
            (false, &[Granted, Granting], GrantState::Granting),
            (false, &[Granted, Revoked], GrantState::Degraded),
            (false, &[Revoked, Granting], GrantState::Degraded),
            (true, &[Revoked], GrantState::Revoked),
            (true, &[Revoked, Revoking], GrantState::Revoking),
            (true, &[], GrantState::Revoked),
        ] {
            assert_eq!(grant_state(is_revoked, intents.iter().copied()), expected, "{is_revoked} {intents:?}");
        }
    }
}
