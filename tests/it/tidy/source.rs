//! The files of the tree, and the little of Rust's grammar that the checks need: what is code, and what is test code.

use std::fs;
use std::path::Path;

/// A text file of the tree.
pub struct Source {
    /// From the top of the tree, with slashes.
    pub path: String,
    /// The whole file.
    pub text: String,
    /// Whether a parent declares this module under `#[cfg(test)]`.
    declared_as_test: bool,
}

/// Directories that hold nothing of ours.
const NOT_OURS: [&str; 3] = [".git", "target", "quintet-data"];

/// Folders of the tree that hold nothing which ends up in the product.
const TEST_FOLDERS: [&str; 2] = ["tests/", "benches/"];

const TEST_MARK: &str = "#[cfg(test)]";

impl Source {
    /// A file on its own; [`tree_of`] finds out how files belong together.
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned(), declared_as_test: false }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is test code: it lies among the tests of the whole, or whoever declares it says so. What a
    /// file or folder is called does not count: nothing keeps `mod tests;` out of the product but its `#[cfg(test)]`.
    pub fn is_test(&self) -> bool {
        self.declared_as_test || TEST_FOLDERS.iter().any(|folder| self.path.starts_with(folder))
    }

    /// Where the modules lie that this file declares, with a slash at the end.
    pub fn children(&self) -> String {
        let (directory, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        match name {
            "lib.rs" | "main.rs" | "mod.rs" => format!("{directory}/"),
            _ => format!("{}/", self.path.trim_end_matches(".rs")),
        }
    }

    /// The code alone, line by line as in the file: comments, strings and characters are blank.
    pub fn code(&self) -> String {
        blank_all_but_code(&self.text)
    }

    /// The code that ends up in the product: [`Source::code`] without items under `#[cfg(test)]`.
    pub fn product_code(&self) -> String {
        if self.is_test() { String::new() } else { without_test_items(&self.code()) }
    }
}

/// All text files below `top`, in the order of their paths.
pub fn read_tree(top: &Path) -> Vec<Source> {
    let mut files = Vec::new();
    read_directory(top, "", &mut files);
    tree_of(files)
}

/// Sorts files by path and marks those that are modules under `#[cfg(test)]`.
pub fn tree_of(mut files: Vec<Source>) -> Vec<Source> {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let test_modules: Vec<String> = files.iter().filter(|file| file.is_rust()).flat_map(test_modules).collect();
    for file in &mut files {
        let stem = file.path.trim_end_matches(".rs");
        file.declared_as_test =
            test_modules.iter().any(|module| stem == module || file.path.starts_with(&format!("{module}/")));
    }
    files
}

/// The modules that a file declares with `#[cfg(test)] mod name;`, as paths without their ending.
fn test_modules(file: &Source) -> Vec<String> {
    let code = file.code();
    code.split(TEST_MARK)
        .skip(1)
        .filter_map(|after| after_visibility(after.trim_start()).strip_prefix("mod ")?.split_once(';'))
        .filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map(|(name, _)| format!("{}{name}", file.children()))
        .collect()
}

/// An item without its `pub`, `pub(crate)` and the like.
fn after_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    let rest = rest.strip_prefix('(').and_then(|inside| inside.split_once(')')).map_or(rest, |(_, rest)| rest);
    rest.trim_start()
}

/// Passes over what vanishes meanwhile or is no text: other tests and measurements make directories, too.
fn read_directory(directory: &Path, prefix: &str, files: &mut Vec<Source>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = !NOT_OURS.contains(&name.as_str()) && !name.starts_with(".tmp");
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if ours && is_directory {
            read_directory(&entry.path(), &format!("{prefix}{name}/"), files);
        } else if ours && let Ok(text) = fs::read_to_string(entry.path()) {
            files.push(Source::new(&format!("{prefix}{name}"), &text));
        }
    }
}

/// The lines of `code` that contain `word`, counted from 1.
pub fn lines_with(code: &str, word: &str) -> Vec<usize> {
    code.lines().enumerate().filter(|(_, line)| line.contains(word)).map(|(index, _)| index + 1).collect()
}

/// A word, `::`, or one other character.
pub struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
}

pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, mut rest) in code.lines().enumerate() {
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                word => word,
            };
            let (text, after) = rest.split_at(length);
            if !first.is_whitespace() {
                tokens.push(Token { text, line: index + 1 });
            }
            rest = after;
        }
    }
    tokens
}

pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// A stretch of a Rust file.
pub enum Piece<'a> {
    Code(&'a str),
    Comment(&'a str),
    /// A string or character, with its quotes.
    Literal(&'a str),
}

/// What a Rust file is made of, in its order; all pieces together are the file.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut code, mut at) = (0, 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let Some(length) = comment_or_literal(rest) else {
            at += first.len_utf8();
            continue;
        };
        pieces.push(Piece::Code(&text[code..at]));
        let piece = &rest[..length];
        let is_comment = piece.starts_with("//") || piece.starts_with("/*");
        pieces.push(if is_comment { Piece::Comment(piece) } else { Piece::Literal(piece) });
        at += length;
        code = at;
    }
    pieces.push(Piece::Code(&text[code..]));
    pieces
}

fn blank_all_but_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Code(code) => out.push_str(code),
            Piece::Comment(words) | Piece::Literal(words) => {
                out.extend(words.chars().map(|c| if c == '\n' { c } else { ' ' }));
            }
        }
    }
    out
}

/// How many bytes the comment, string or character takes that starts here, if one does.
fn comment_or_literal(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        Some(rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        Some(block_comment(rest))
    } else if let Some(inside) = rest.strip_prefix('"') {
        Some(1 + up_to_quote(inside, '"'))
    } else if rest.starts_with("r\"") || rest.starts_with("r#") {
        raw_string(rest)
    } else if let Some(inside) = rest.strip_prefix('\'') {
        character(inside).map(|length| 1 + length)
    } else {
        None
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The bytes up to and with the closing quote; a backslash takes the next character with it.
fn up_to_quote(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    inside.len()
}

/// `r"…"`, `r#"…"#` and so on; nothing for a raw identifier.
fn raw_string(rest: &str) -> Option<usize> {
    let fence = "#".repeat(rest.chars().skip(1).take_while(|c| *c == '#').count());
    let opening = format!("r{fence}\"");
    let inside = rest.strip_prefix(&opening)?;
    let closing = format!("\"{fence}");
    Some(inside.find(&closing).map_or(rest.len(), |at| opening.len() + at + closing.len()))
}

/// `x'` and `\n'`; nothing for a lifetime.
fn character(inside: &str) -> Option<usize> {
    if inside.starts_with('\\') {
        return Some(up_to_quote(inside, '\''));
    }
    let mut chars = inside.chars();
    let length = chars.next()?.len_utf8();
    (chars.next() == Some('\'')).then_some(length + 1)
}

/// Takes out each `#[cfg(test)]` with the item it stands before: up to a semicolon, or to the brace that closes it.
fn without_test_items(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(TEST_MARK) {
        let (before, item) = rest.split_at(start);
        let (item, after) = item.split_at(item_length(item));
        out.push_str(before);
        out.extend(item.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn item_length(item: &str) -> usize {
    let mut depth = 0;
    for (at, c) in item.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[test]
fn code_is_told_from_words() {
    for (text, code) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("a\"b") + 1"#, "f(      ) + 1"),
        ("r#\"a\"b\"# + r#type", "         + r#type"),
        ("'a' 'b: '\\'' x", "    'b:      x"),
        ("b\"x\" '\"' y", "b        y"),
    ] {
        assert_eq!(Source::new("a.rs", text).code(), code, "{text}");
    }
}

#[test]
fn test_items_are_no_product_code() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { '}' }\n}\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}";
    let product = Source::new("src/a.rs", text).product_code();
    assert_eq!(product, "fn a() {}\n\n\n\n\nfn c() {}\n\n\nfn e() {}");
    assert_eq!(Source::new("tests/it/a.rs", "fn a() {}").product_code(), "");
}

#[test]
fn modules_declared_as_tests_are_tests() {
    let tree = tree_of(vec![
        Source::new("src/a/lib.rs", "#[cfg(test)]\nmod auditor;\n#[cfg(test)] mod inline {}\nmod b;"),
        Source::new("src/a/b.rs", "#[cfg(test)]\npub(crate) mod c;\n#[cfg(test)]\npub mod e;"),
        Source::new("src/a/auditor.rs", ""),
        Source::new("src/a/auditor/more.rs", ""),
        Source::new("src/a/b/c.rs", ""),
        Source::new("src/a/b/e.rs", ""),
        Source::new("src/a/c.rs", ""),
        Source::new("src/a/inline.rs", ""),
        Source::new("src/d/mod.rs", "mod tests;\n// #[cfg(test)] mod benches;\nmod benches;"),
        Source::new("src/d/tests/mod.rs", "mod more;"),
        Source::new("src/d/tests/more.rs", ""),
        Source::new("src/d/benches.rs", ""),
        Source::new("src/e/tests.rs", ""),
        Source::new("storage/src/tests/a.rs", ""),
        Source::new("tests/it/a.rs", ""),
        Source::new("benches/a/main.rs", ""),
    ]);
    let tests: Vec<&str> = tree.iter().filter(|file| file.is_test()).map(|file| file.path.as_str()).collect();
    assert_eq!(
        tests,
        [
            "benches/a/main.rs",
            "src/a/auditor.rs",
            "src/a/auditor/more.rs",
            "src/a/b/c.rs",
            "src/a/b/e.rs",
            "tests/it/a.rs"
        ],
        "a name alone makes no test"
    );
}
