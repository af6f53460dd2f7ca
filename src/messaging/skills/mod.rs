//! What coding agents are told about their mail: a document for each harness, in the form that it keeps skills in. Clients
//! install them as they are served, and take any other byte for a newer version.

pub(crate) mod http;

/// The harnesses that there are documents for, and other names that their clients have for them.
const HARNESSES: [Harness; 3] = [
    Harness {
        name: "claude-code",
        alias: Some("claude"),
        document: concat!(include_str!("claude-code.md"), include_str!("every-day.md")),
    },
    Harness {
        name: "opencode",
        alias: None,
        document: concat!(include_str!("opencode.md"), include_str!("every-day.md")),
    },
    Harness {
        name: "antigravity",
        alias: Some("agy"),
        document: concat!(include_str!("antigravity.md"), include_str!("every-day.md")),
    },
];

struct Harness {
    name: &'static str,
    alias: Option<&'static str>,
    /// What differs between harnesses, then what does not.
    document: &'static str,
}

/// The names of all harnesses.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    HARNESSES.iter().map(|harness| harness.name)
}

/// Other names, each with the one it stands for.
pub(crate) fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    HARNESSES.iter().filter_map(|harness| Some((harness.alias?, harness.name)))
}

/// The document of a harness, by its name or the other one.
pub(crate) fn document(name: &str) -> Option<&'static str> {
    let is_named = |harness: &&Harness| harness.name == name || harness.alias == Some(name);
    HARNESSES.iter().find(is_named).map(|harness| harness.document)
}

#[cfg(test)]
mod tests;
