//! What is wrong with a chain: places where it breaks (localization, U5).

/// More places say nothing new.
pub const BREAKS_MAX: usize = 1_000;

/// How a chain is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakKind {
    /// Events are missing before this one.
    Gap,
    /// It does not continue the event before it.
    Link,
    /// It is not what its hash says.
    Hash,
    /// The chain does not end where its head says.
    Head,
    /// A checkpoint does not fit.
    Checkpoint,
    /// An anchor does not fit, or is missing.
    Anchor,
}

impl BreakKind {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BreakKind::Gap => "gap",
            BreakKind::Link => "link",
            BreakKind::Hash => "hash",
            BreakKind::Head => "head",
            BreakKind::Checkpoint => "checkpoint",
            BreakKind::Anchor => "anchor",
        }
    }
}

/// A place where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The event it shows at.
    pub seq: u64,
    /// How.
    pub kind: BreakKind,
    /// The same as a sentence about the event.
    pub detail: String,
}

/// The first places that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breaks(pub Vec<Break>);

impl Breaks {
    /// Adds one, if there is room.
    pub fn add(&mut self, seq: u64, kind: BreakKind, detail: impl Into<String>) {
        if self.0.len() < BREAKS_MAX {
            self.0.push(Break { seq, kind, detail: detail.into() });
        }
    }
}
