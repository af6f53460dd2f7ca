//! Patterns of paths: `*` stands for any part of a name, `**` as a name of its own for any number of folders, and
//! `{locale}` for a locale. What the wildcards of one pattern stand for is put into those of another.

use std::collections::HashSet;

/// The most parts of a pattern: matching takes time in proportion to them and to the square of a path's length.
const TOKENS_MAX: usize = 64;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Token>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    /// Any part of a name, none as well.
    Part,
    /// Any number of folders, none as well, each with the slash behind it.
    Folders,
    Locale,
}

impl Pattern {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is none, for people.
    pub fn parse(text: &str) -> Result<Pattern, &'static str> {
        let mut tokens = Vec::new();
        let mut names = text.split('/').peekable();
        while let Some(name) = names.next() {
            let is_last = names.peek().is_none();
            match name {
                "" => return Err("has an empty name between its slashes"),
                "." | ".." => return Err("leads elsewhere: name files below the map's own directory"),
                "**" if is_last => return Err("ends with **, which stands for folders: put a name behind it"),
                "**" => tokens.push(Token::Folders),
                name if name.contains("**") => return Err("has ** beside other characters: it is a name of its own"),
                name => parse_name(name, is_last, &mut tokens),
            }
        }
        if tokens.len() > TOKENS_MAX {
            return Err("has too many wildcards");
        }
        Ok(Pattern(tokens))
    }

    /// How many wildcards it has, in order: whether each stands for folders.
    pub fn wildcards(&self) -> Vec<bool> {
        let of = |token: &Token| match token {
            Token::Part => Some(false),
            Token::Folders => Some(true),
            Token::Text(_) | Token::Locale => None,
        };
        self.0.iter().filter_map(of).collect()
    }

    /// Whether it says where a locale stands.
    pub fn has_locale(&self) -> bool {
        self.0.contains(&Token::Locale)
    }

    /// The folder in which everything lies that it matches: empty, or with a slash at its end.
    pub fn folder(&self) -> &str {
        match self.0.first() {
            Some(Token::Text(text)) => text.rfind('/').and_then(|end| text.get(..=end)).unwrap_or_default(),
            _ => "",
        }
    }

    /// What its wildcards stand for in a path; `None`: it does not match. `{locale}` matches nothing.
    pub fn matches(&self, path: &str) -> Option<Vec<String>> {
        let mut found = Vec::new();
        matches(&self.0, path, 0, &mut HashSet::new(), &mut found).then_some(())?;
        found.reverse();
        Some(found)
    }

    /// The path that it stands for with these in the places of its wildcards.
    pub fn filled(&self, wildcards: &[String], locale: &str) -> String {
        let mut wildcards = wildcards.iter();
        let of = |token: &Token| match token {
            Token::Text(text) => text.clone(),
            Token::Locale => locale.to_owned(),
            Token::Part | Token::Folders => wildcards.next().cloned().unwrap_or_default(),
        };
        self.0.iter().map(of).collect()
    }
}

fn parse_name(name: &str, is_last: bool, tokens: &mut Vec<Token>) {
    let mut rest = name;
    let mut text = String::new();
    while let Some(c) = rest.chars().next() {
        let token = match (c, rest.strip_prefix("{locale}")) {
            (_, Some(behind)) => {
                rest = behind;
                Token::Locale
            }
            ('*', None) => {
                rest = rest.get(1..).unwrap_or_default();
                Token::Part
            }
            _ => {
                text.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
                continue;
            }
        };
        push_text(std::mem::take(&mut text), tokens);
        tokens.push(token);
    }
    if !is_last {
        text.push('/');
    }
    push_text(text, tokens);
}

/// Texts beside one another are one.
fn push_text(text: String, tokens: &mut Vec<Token>) {
    match tokens.last_mut() {
        _ if text.is_empty() => {}
        Some(Token::Text(last)) => last.push_str(&text),
        _ => tokens.push(Token::Text(text)),
    }
}

/// Whether the tokens match the whole rest of a path; what their wildcards stand for then lies in `found`, the last
/// first. `hopeless`: which rests were tried in vain, so that each is tried once.
fn matches(
    tokens: &[Token],
    path: &str,
    at: usize,
    hopeless: &mut HashSet<(usize, usize)>,
    found: &mut Vec<String>,
) -> bool {
    let rest = path.get(at..).unwrap_or_default();
    let Some((first, behind)) = tokens.split_first() else { return rest.is_empty() };
    if hopeless.contains(&(tokens.len(), at)) {
        return false;
    }
    let is_there = match first {
        Token::Text(text) => rest.starts_with(text) && matches(behind, path, at + text.len(), hopeless, found),
        Token::Locale => false,
        Token::Part | Token::Folders => {
            let mut lengths = lengths(rest, *first == Token::Folders);
            let fits = lengths.find(|length| matches(behind, path, at + length, hopeless, found));
            found.extend(fits.and_then(|length| rest.get(..length)).map(str::to_owned));
            fits.is_some()
        }
    };
    if !is_there {
        hopeless.insert((tokens.len(), at));
    }
    is_there
}

/// How much of a rest a wildcard may stand for, the least first.
fn lengths(rest: &str, is_folders: bool) -> Box<dyn Iterator<Item = usize> + '_> {
    match is_folders {
        true => Box::new(std::iter::once(0).chain(rest.match_indices('/').map(|(at, _)| at + 1))),
        false => {
            let name = rest.split('/').next().unwrap_or_default();
            Box::new(name.char_indices().map(|(at, _)| at).chain([name.len()]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, path: &str) -> Option<Vec<String>> {
        Pattern::parse(pattern).unwrap().matches(path)
    }

    #[test]
    fn wildcards_stand_for_parts_of_names_and_for_folders() {
        for (pattern, path, expected) in [
            ("a.json", "a.json", Some(vec![])),
            ("a.json", "b.json", None),
            ("en/*.json", "en/shop.json", Some(vec!["shop"])),
            ("en/*.json", "en/x/shop.json", None),
            ("en/*.json", "en/.json", Some(vec![""])),
            ("**/*.yml", "a.yml", Some(vec!["", "a"])),
            ("**/*.yml", "x/y/a.yml", Some(vec!["x/y/", "a"])),
            ("x/**/en/*.yml", "x/y/z/en/a.yml", Some(vec!["y/z/", "a"])),
            ("x/**/en/*.yml", "x/en/a.yml", Some(vec!["", "a"])),
            ("x/**/en/*.yml", "y/en/a.yml", None),
            ("*_*_en.*", "a_b_c_en.txt", Some(vec!["a", "b_c", "txt"])),
            ("ä*ö.json", "äüö.json", Some(vec!["ü"])),
            ("{locale}.json", "de.json", None),
        ] {
            let expected = expected.map(|parts: Vec<&str>| parts.into_iter().map(str::to_owned).collect());
            assert_eq!(found(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn what_one_pattern_finds_another_takes() {
        let (from, to) =
            (Pattern::parse("app/**/en/*.json").unwrap(), Pattern::parse("app/**/{locale}/*.json").unwrap());
        assert_eq!(from.wildcards(), to.wildcards());
        assert!(to.has_locale() && !from.has_locale());
        let wildcards = from.matches("app/web/shop/en/pay.json").unwrap();
        assert_eq!(to.filled(&wildcards, "pt-BR"), "app/web/shop/pt-BR/pay.json");
        assert_eq!(Pattern::parse("messages_{locale}.properties").unwrap().filled(&[], "de"), "messages_de.properties");
    }

    #[test]
    fn folders_to_look_in() {
        for (pattern, folder) in [("a/b/c*.json", "a/b/"), ("*.json", ""), ("a/**/b.json", "a/"), ("a/b.json", "a/")] {
            assert_eq!(Pattern::parse(pattern).unwrap().folder(), folder, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for wrong in ["", "/etc/passwd", "a//b", "../a", "a/./b", "a/**", "**", "a**/b", "a/"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Pattern::parse(&"*a".repeat(40)).is_err());
    }

    #[test]
    fn matching_ends_soon_whatever_the_path() {
        let pattern = Pattern::parse(&format!("{}b", "*a".repeat(30))).unwrap();
        let begun = std::time::Instant::now();
        assert_eq!(pattern.matches(&"a".repeat(512)), None);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
