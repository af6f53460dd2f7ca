//! What came of an action on many strings.

/// What came of it.
pub struct Outcome {
    /// The key of what was done.
    pub word: &'static str,
    /// To how many.
    pub done: usize,
    /// To which not.
    pub skipped: Vec<Skipped>,
}

/// A string that stayed as it was.
pub struct Skipped {
    /// Its page.
    pub address: String,
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}
