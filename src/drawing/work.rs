//! The work a drawing may cost, counted in steps, so that the same source always gives the same picture.
//!
//! Every loop whose length the source decides spends steps here. A step is about ten nanoseconds: two or three looks at
//! things that lie all over the memory, as edges of large graphs do. While steps are left, what is left decides how much
//! care is taken ([`Care`]); when none are left the drawing is refused. Behind the counter stands a clock for what the
//! counter missed. It counts what this thread computes, not what passes while others have the processor; it is looked
//! at once every [`STEPS_PER_LOOK`] steps, and it never changes a picture, it only ends the work.

use std::time::Duration;

/// The steps a drawing may cost: less than two seconds of a quiet core.
pub const BUDGET_STEPS: u64 = 160_000_000;

/// Those of them that a layout leaves to the painter, whatever it could do with them.
pub const PAINTING_STEPS: u64 = 60_000_000;

/// How long a drawing may compute, from the first byte of the source to the last of the picture: twice the two seconds,
/// so that what steps allow is drawn by a core, too, that is half as fast, or shared with others.
pub const DEADLINE: Duration = Duration::from_secs(4);

/// The steps of a first try: what takes more is not small. Most drawings take a tenth of it.
pub const TRY_STEPS: u64 = 4_000_000;

/// What one drawing may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Steps in all. They decide how much care is taken.
    pub steps: u64,
    /// Steps after which it is given up, though more would do: a first try. Nothing else is different.
    pub given_up_after: Option<u64>,
    /// What the thread may compute.
    pub time: Option<Duration>,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { steps: BUDGET_STEPS, given_up_after: None, time: Some(DEADLINE) }
    }
}

impl Effort {
    /// A first try at a drawing that may turn out to be small.
    pub fn a_try() -> Effort {
        Effort { given_up_after: Some(TRY_STEPS), ..Effort::default() }
    }
}

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
    /// It was a first try only, and is no small drawing.
    GivenUp,
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Exhausted::Steps => "the graph takes too much work to draw",
            Exhausted::Clock => "the graph takes too long to draw",
            Exhausted::GivenUp => "the graph is not small",
        })
    }
}

impl std::error::Error for Exhausted {}

/// The steps of one drawing.
#[derive(Debug)]
pub struct Work {
    budget: u64,
    /// What is left out of the budget for what comes later.
    kept: u64,
    spent: u64,
    next_look: u64,
    given_up_after: u64,
    /// What this thread has computed when time is up.
    deadline: Option<Duration>,
    care: Care,
}

impl Default for Work {
    fn default() -> Work {
        Work::of(Effort::default())
    }
}

impl Work {
    /// The work of one drawing.
    pub fn of(effort: Effort) -> Work {
        let deadline = effort.time.map(|time| cpu_time().saturating_add(time));
        let given_up_after = effort.given_up_after.unwrap_or(u64::MAX);
        let mut work =
            Work { budget: effort.steps, kept: 0, spent: 0, next_look: 0, given_up_after, deadline, care: Care::Full };
        work.set_next_look();
        work
    }

    /// Work of `budget` steps that ends when this thread has computed for `time`, if that is said.
    pub fn new(budget: u64, time: Option<Duration>) -> Work {
        Work::of(Effort { steps: budget, given_up_after: None, time })
    }

    fn set_next_look(&mut self) {
        self.next_look = self.spent.saturating_add(STEPS_PER_LOOK).min(self.budget).min(self.given_up_after);
    }

    /// Leaves some of the steps out until they are released.
    pub fn keep(&mut self, steps: u64) {
        self.kept = steps.min(self.left());
        self.budget -= self.kept;
        self.set_next_look();
    }

    /// Puts back what was kept.
    pub fn release(&mut self) {
        self.budget += std::mem::take(&mut self.kept);
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
        if self.spent > self.given_up_after {
            return Err(Exhausted::GivenUp);
        }
        self.set_next_look();
        self.look()
    }

    /// Looks at the clock, before and after what does not count steps.
    ///
    /// # Errors
    /// When time is up.
    pub fn look(&self) -> Result<(), Exhausted> {
        match self.deadline {
            Some(deadline) if cpu_time() > deadline => Err(Exhausted::Clock),
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
        assert_eq!(work.spend(1), Ok(()), "not looked at yet");
        assert_eq!(work.spend(STEPS_PER_LOOK), Err(Exhausted::Clock));
    }

    #[test]
    fn a_try_is_given_up_and_is_like_the_whole_until_then() {
        let mut work = Work::of(Effort { given_up_after: Some(1_000), ..Effort::default() });
        assert_eq!((work.left(), work.share(50)), (BUDGET_STEPS, Work::default().share(50)));
        assert_eq!((work.spend(1_000), work.spend(1)), (Ok(()), Err(Exhausted::GivenUp)));
    }

    #[test]
    fn what_is_kept_is_there_later() {
        let mut work = Work::new(1_000, None);
        work.keep(400);
        assert_eq!((work.left(), work.spend(601)), (600, Err(Exhausted::Steps)));
        work.release();
        assert_eq!((work.left(), work.spend(399), work.spend(1)), (399, Ok(()), Err(Exhausted::Steps)));
        work.keep(9_999);
        assert_eq!(work.left(), 0);
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
