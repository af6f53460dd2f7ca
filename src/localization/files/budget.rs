//! Limits of time and size: a reader counts its steps, and looks at the clock now and then; it counts values, too.

use std::time::Instant;

use super::VALUES_MAX;

use super::refusal::{Code, Offence};

/// How many steps pass between two looks at the clock. A step is a token or a few dozen bytes, so this is well under
/// a millisecond.
const STEPS_BETWEEN_LOOKS: u32 = 2_048;

/// What is left of a reader's time.
pub(super) struct Budget {
    deadline: Instant,
    steps: u32,
    values: usize,
}

impl Budget {
    pub fn until(deadline: Instant) -> Budget {
        // The first step looks, so that a deadline which has passed refuses the smallest file, too.
        Budget { deadline, steps: STEPS_BETWEEN_LOOKS, values: 0 }
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

    /// Counts a value, which is a step as well.
    ///
    /// # Errors
    /// [`Code::TooManyUnits`], and as [`Budget::step`].
    pub fn value(&mut self, at: usize) -> Result<(), Offence> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(Offence::new(Code::TooManyUnits, at));
        }
        self.step(at)
    }
}
