//! The configuration file that packages install: every key at its default, with what it is for. quintet.toml(5) and the
//! manual's page are made from it.

/// The file.
pub const TEXT: &str = include_str!("../../packaging/quintet.toml");

/// A key of the file with what is said above it.
#[derive(Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The section it is in, as it is written; empty at the top.
    pub section: &'a str,
    /// The line that sets it, without the `#` before it.
    pub line: &'a str,
    /// What it is for, a sentence or several.
    pub meaning: String,
}

/// The keys of such a file, in order. A line `# …` explains, `#key = value` is a key at its default, `#[section]` and
/// `[section]` begin a section, and an empty line ends what is said about a key.
#[must_use]
pub fn keys(text: &str) -> Vec<Key<'_>> {
    let (mut keys, mut section, mut words) = (Vec::new(), "", Vec::new());
    for line in text.lines() {
        let bare = line.strip_prefix('#').unwrap_or(line);
        if let Some(comment) = line.strip_prefix("# ") {
            words.push(comment.trim());
        } else if let Some(name) = bare.strip_prefix('[') {
            section = name.split(']').next().unwrap_or_default();
            words.clear();
        } else if bare.contains(" = ") {
            keys.push(Key { section, line: bare, meaning: words.join(" ") });
            words.clear();
        } else {
            words.clear();
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_explained() {
        let keys = keys(TEXT);
        assert!(keys.len() > 50);
        let unexplained: Vec<_> = keys.iter().filter(|key| !key.meaning.ends_with('.')).collect();
        assert!(unexplained.is_empty(), "{unexplained:?}");
    }

    #[test]
    fn files_are_read_by_the_line() {
        let text =
            "# A file.\n\n# First,\n# and second.\n#a = 1\n\n[s]\n# Third.\nb = [] # c\n#[t.\"x:1\"]\n#d = \"\"\n";
        let keys: Vec<_> = keys(text).into_iter().map(|key| (key.section, key.line, key.meaning)).collect();
        assert_eq!(
            keys,
            [
                ("", "a = 1", "First, and second.".to_owned()),
                ("s", "b = [] # c", "Third.".to_owned()),
                ("t.\"x:1\"", "d = \"\"", String::new()),
            ]
        );
    }
}
