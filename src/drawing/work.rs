//! The work a drawing may cost, counted in steps, so that the same source always gives the same picture.
//!
//! Every loop whose length the source decides spends steps here. A step is about as much as one look at an edge: some
//! nanoseconds. While steps are left, what is left decides how much care is taken ([`Care`]); when none are left the
//! drawing is refused. Behind the counter stands a clock for what the counter missed; it is looked at once every
//! [`STEPS_PER_LOOK`] steps, and it never changes a picture, it only ends the work.

use std::time::{Duration, Instant};

/// The steps a drawing may cost: somewhat less than two seconds on a slow core.
pub const BUDGET_STEPS: u64 = 150_000_000;

/// How long a drawing may take by the clock.
pub const DEADLINE_SECONDS: u64 = 10;

/// Steps between two looks at the clock.
pub const STEPS_PER_LOOK: u64 = 65_536;

/// How much care the rest of a drawing gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Care {
    /// All passes, splines as asked for.
    #[default]
    Full,
    /// Fewer passes.
    FewerPasses,
    /// Fewer passes, polylines in place of splines.
    Polylines,
    /// Straight lines through the ranks.
    StraightLines,
}

/// The work is spent: the drawing is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The steps were used up.
    Steps,
    /// The clock ran out first.
    Clock,
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Exhausted::Steps => "the graph takes too much work to draw",
            Exhausted::Clock => "the graph takes too long to draw",
        })
    }
}

impl std::error::Error for Exhausted {}

/// The steps of one drawing.
#[derive(Debug)]
pub struct Work {
    budget: u64,
    spent: u64,
    next_look: u64,
    deadline: Option<Instant>,
    care: Care,
}

impl Default for Work {
    fn default() -> Work {
        Work::new(BUDGET_STEPS, Some(Duration::from_secs(DEADLINE_SECONDS)))
    }
}

impl Work {
    /// Work of `budget` steps that ends after `limit` by the clock, if there is one.
    pub fn new(budget: u64, limit: Option<Duration>) -> Work {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        Work { budget, spent: 0, next_look: STEPS_PER_LOOK.min(budget), deadline, care: Care::Full }
    }

    /// Counts `steps` as done.
    ///
    /// # Errors
    /// When the budget is used up, or the clock ran out.
    pub fn spend(&mut self, steps: u64) -> Result<(), Exhausted> {
        self.spent = self.spent.saturating_add(steps);
        if self.spent < self.next_look {
            return Ok(());
        }
        if self.spent > self.budget {
            return Err(Exhausted::Steps);
        }
        self.next_look = self.spent.saturating_add(STEPS_PER_LOOK).min(self.budget);
        match self.deadline {
            Some(deadline) if Instant::now() > deadline => Err(Exhausted::Clock),
            _ => Ok(()),
        }
    }

    /// The steps done so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// The steps that are left.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.spent)
    }

    /// The count at which `percent` of what is left now will have been spent: the mark where a phase that could go
    /// on for ever stops. See [`Work::is_past`].
    pub fn share(&self, percent: u64) -> u64 {
        self.spent.saturating_add(self.left() / 100 * percent.min(100))
    }

    /// Whether the work has gone past a mark of [`Work::share`].
    pub fn is_past(&self, mark: u64) -> bool {
        self.spent > mark
    }

    /// How much care the drawing got: the least of what its phases could afford.
    pub fn care(&self) -> Care {
        self.care
    }

    /// Notes that a phase could only afford this much care.
    pub fn degrade(&mut self, care: Care) {
        self.care = self.care.max(care);
    }
}

/// What this thread has computed so far: what other programs and threads of the machine take does not count.
pub(crate) fn cpu_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(spent.tv_sec).unwrap_or_default(), u32::try_from(spent.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_out_exactly_where_they_should() {
        let mut work = Work::new(100, None);
        assert_eq!(work.spend(STEPS_PER_LOOK.min(100)), Ok(()));
        assert_eq!((work.left(), work.spent()), (0, 100));
    }

    #[test]
    fn more_than_the_budget_is_refused_and_stays_refused() {
        let mut work = Work::new(200_000, None);
        assert_eq!(work.spend(150_000), Ok(()));
        assert_eq!(work.spend(50_001), Err(Exhausted::Steps));
        assert_eq!(work.spend(0), Err(Exhausted::Steps));
    }

    #[test]
    fn the_clock_ends_what_the_counter_missed() {
        let mut work = Work::new(u64::MAX, Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(work.spend(1), Ok(()), "not looked at yet");
        assert_eq!(work.spend(STEPS_PER_LOOK), Err(Exhausted::Clock));
    }

    #[test]
    fn a_share_is_of_what_is_left() {
        let mut work = Work::new(1_000_000, None);
        work.spend(500_000).unwrap();
        let mark = work.share(50);
        assert!(!work.is_past(mark));
        work.spend(250_001).unwrap();
        assert!(work.is_past(mark));
    }

    #[test]
    fn care_only_sinks() {
        let mut work = Work::new(1, None);
        work.degrade(Care::Polylines);
        work.degrade(Care::FewerPasses);
        assert_eq!(work.care(), Care::Polylines);
    }
}
