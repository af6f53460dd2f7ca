//! What a project says of its words: terms, what stays as it is, what is never said, and the register. Compiled once for
//! a project and a locale, and looked at by every check of its translations.

/// What the glossary and the style of a project say for one target locale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Source terms and their targets, several for one source term being alternatives.
    pub terms: Vec<Term>,
    /// Terms that stay as they are.
    pub do_not_translate: Vec<String>,
    /// Terms that no translation has.
    pub forbidden: Vec<String>,
    /// Whether the register is formal.
    pub is_formal: bool,
}

/// A term of the source and what it may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// In the source.
    pub source: String,
    /// In the target: one of them is enough.
    pub targets: Vec<String>,
}
