//! Limits of time and size: a reader counts its steps, and looks at the clock now and then; it counts values, too.

use std::time::Instant;

use super::limits::{FILE_BYTES_MAX, PATHS_BYTES_MAX, UNITS_MAX, VALUES_MAX};
use super::refusal::{Code, Offence};

/// How many steps pass between two looks at the clock. A step is a token or a few dozen bytes, so this is well under
/// a millisecond.
const STEPS_BETWEEN_LOOKS: u32 = 2_048;

/// What is left of a reader's time, and of what a file may have.
pub(super) struct Budget {
    deadline: Instant,
    steps: u32,
    values: usize,
    units: usize,
    path_bytes: usize,
    is_capped: bool,
}

impl Budget {
    /// For a file from outside.
    pub fn until(deadline: Instant) -> Budget {
        // The first step looks, so that a deadline which has passed refuses the smallest file, too.
        let steps = STEPS_BETWEEN_LOOKS;
        Budget { deadline, steps, values: 0, units: 0, path_bytes: 0, is_capped: true }
    }

    /// For a file that was written here: a target may have more plural forms than the source, and longer texts, so it
    /// may be larger in every way than what may be uploaded.
    pub fn for_written(deadline: Instant) -> Budget {
        Budget { is_capped: false, ..Budget::until(deadline) }
    }

    /// Judges the size of a file.
    ///
    /// # Errors
    /// [`Code::UploadTooLarge`]
    pub fn size(&self, bytes: usize) -> Result<(), Offence> {
        let exceeds = self.is_capped && bytes > FILE_BYTES_MAX;
        if exceeds { Err(Offence::new(Code::UploadTooLarge, 0)) } else { Ok(()) }
    }

    /// Counts a string value with a path of so many bytes.
    ///
    /// # Errors
    /// [`Code::TooManyUnits`]
    pub fn unit(&mut self, at: usize, path_bytes: usize) -> Result<(), Offence> {
        self.units += 1;
        self.path_bytes += path_bytes;
        let exceeds = self.is_capped && (self.units > UNITS_MAX || self.path_bytes > PATHS_BYTES_MAX);
        if exceeds { Err(Offence::new(Code::TooManyUnits, at)) } else { Ok(()) }
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
        if self.is_capped && self.values > VALUES_MAX {
            return Err(Offence::new(Code::TooManyUnits, at));
        }
        self.step(at)
    }
}
