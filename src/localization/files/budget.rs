//! Time as a limit: a reader counts its steps, and looks at the clock now and then.

use std::time::Instant;

use super::refusal::{Code, Offence};

/// How many steps pass between two looks at the clock. A step is a token or a few dozen bytes, so this is well under
/// a millisecond.
const STEPS_BETWEEN_LOOKS: u32 = 2_048;

/// What is left of a reader's time.
pub(super) struct Budget {
    deadline: Instant,
    steps: u32,
}

impl Budget {
    pub fn until(deadline: Instant) -> Budget {
        // The first step looks, so that a deadline which has passed refuses the smallest file, too.
        Budget { deadline, steps: STEPS_BETWEEN_LOOKS }
    }

    /// Counts a step.
    ///
    /// # Errors
    /// [`Code::ParseTimeout`] at that place, once the deadline has passed.
    pub fn step(&mut self, at: usize) -> Result<(), Offence> {
        self.steps += 1;
        if self.steps >= STEPS_BETWEEN_LOOKS {
            self.steps = 0;
            if Instant::now() >= self.deadline {
                return Err(Offence::new(Code::ParseTimeout, at));
            }
        }
        Ok(())
    }
}
