//! What an XLIFF document consists of, whatever its version.

/// The grammars. 1.1 is read like 1.2, 2.0 like 2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 1.2
    V1,
    /// 2.1
    V2,
}

impl Version {
    /// How it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Version::V1 => "1.2",
            Version::V2 => "2.1",
        }
    }
}

/// The languages that a document says it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// Of the sources.
    pub source: Option<String>,
    /// Of the targets.
    pub target: Option<String>,
}

/// A unit: what 1.2 calls `trans-unit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Its id.
    pub id: String,
    /// Its source.
    pub source: Said,
    /// Its target; none if there is none, or if a part of it is missing.
    pub target: Option<Said>,
}

/// What a source or a target says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its text, with that of inline codes in it.
    pub text: String,
    /// Whether there is an inline code in it that has no text: what it says in full is not known.
    pub has_bare_code: bool,
}
