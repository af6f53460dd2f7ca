//! What takes decisions.

use quintet_platform::clock::BoxFuture;

use super::model::{Raise, Raised, Reading, Unavailable};

/// What takes decisions: another system, or the desk of this one.
pub trait DecisionService: Send + Sync {
    /// Has a decision taken. Raising it again under the same subject's id makes no second one.
    fn raise(&self, raise: Raise) -> BoxFuture<'_, Result<Raised, Unavailable>>;

    /// Reads a decision.
    fn look<'s>(&'s self, decision_id: &'s str) -> BoxFuture<'s, Result<Reading, Unavailable>>;

    /// Whether it answers at all; why not, if it does not.
    fn probe(&self) -> BoxFuture<'_, Result<(), Unavailable>>;
}
