//! The bounds of a check: how many steps it may take, and how deep it may go.

/// The steps of one check. One takes between 5 and 100 ns; the sum is what a check may hold up its caller.
const STEPS_MAX: u64 = 1_000_000;

/// How deep schemas may apply schemas in a check. Each takes a part of the caller's stack.
const DEPTH_MAX: usize = 400;

/// What ends a check before it is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its steps are used up.
    Steps,
    /// It went as deep as it may.
    Depth,
    /// As much was found wrong as is told.
    Enough,
}

/// What a check has left.
pub(super) struct Budget {
    steps: u64,
    depth: usize,
}

impl Budget {
    /// That of a whole check.
    pub(super) fn whole() -> Budget {
        Budget { steps: STEPS_MAX, depth: DEPTH_MAX }
    }

    /// Takes steps.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Stop> {
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::Steps)?;
        Ok(())
    }

    /// Takes what looking at so many bytes takes.
    pub(super) fn spend_for_bytes(&mut self, bytes: usize) -> Result<(), Stop> {
        self.spend(1 + (bytes / 32) as u64)
    }

    /// Goes one deeper; [`Budget::leave`] goes back.
    pub(super) fn enter(&mut self) -> Result<(), Stop> {
        self.depth = self.depth.checked_sub(1).ok_or(Stop::Depth)?;
        self.spend(1)
    }

    /// Goes back from where [`Budget::enter`] went.
    pub(super) fn leave(&mut self) {
        self.depth += 1;
    }
}
