//! How long functions are: a body should fit a screen. Longer ones are counted, and what is counted only falls.

use super::checks::manifests;
use super::source::{Source, is_word, tokens};

/// What fits a screen.
const SCREEN_LINES: usize = 60;

/// How long a package's functions are, tests left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    pub longest_lines: usize,
    /// How many bodies have more lines than a screen.
    pub over_a_screen: usize,
}

/// What each package has today. A change may lower its row and must do so when it can; nothing raises it.
#[rustfmt::skip]
pub const RATCHET: &[(&str, Lengths)] = &[
    ("src/drawing", Lengths { longest_lines: 108, over_a_screen: 13 }),
];

struct Function {
    place: String,
    name: String,
    lines: usize,
}

/// What of the packages is not as `ratchet` says.
pub fn lengths_that_differ(files: &[Source], ratchet: &[(&str, Lengths)]) -> Vec<String> {
    let mut complaints = Vec::new();
    for manifest in manifests(files) {
        let package = manifest.path.trim_end_matches("Cargo.toml").trim_end_matches('/');
        let mut functions = functions_of(package, files);
        functions.sort_by_key(|function| std::cmp::Reverse(function.lines));
        let longest_lines = functions.first().map_or(0, |function| function.lines);
        functions.retain(|function| function.lines > SCREEN_LINES);
        let found = Lengths { longest_lines, over_a_screen: functions.len() };
        let row = ratchet.iter().find(|(name, _)| *name == package).map(|(_, lengths)| *lengths);
        let allowed = row.unwrap_or(Lengths { longest_lines: SCREEN_LINES, over_a_screen: 0 });
        if found.longest_lines > allowed.longest_lines || found.over_a_screen > allowed.over_a_screen {
            complaints.push(too_long(package, allowed, &functions));
        } else if row.is_some_and(|row| row != found) {
            complaints.push(better(package, found));
        }
    }
    complaints
}

fn too_long(package: &str, allowed: Lengths, functions: &[Function]) -> String {
    let list: Vec<String> = functions
        .iter()
        .map(|Function { place, name, lines }| format!("    {place}: {name} has {lines} lines"))
        .collect();
    format!(
        "{package:?}: the longest function may have {} lines, and {} may have more than {SCREEN_LINES}. Give a part of \
         one a name and a function of its own:\n{}",
        allowed.longest_lines,
        allowed.over_a_screen,
        list.join("\n")
    )
}

fn better(package: &str, found: Lengths) -> String {
    let row = match found {
        Lengths { over_a_screen: 0, .. } => "take its row out".to_owned(),
        Lengths { longest_lines, over_a_screen } => {
            format!(
                "its row is now ({package:?}, Lengths {{ longest_lines: {longest_lines}, over_a_screen: {over_a_screen} }})"
            )
        }
    };
    format!("{package:?}: functions are shorter than RATCHET in tests/it/tidy/functions.rs says: {row}")
}

/// The functions of the package in `directory` that have a body; the root package is the empty one.
fn functions_of(directory: &str, files: &[Source]) -> Vec<Function> {
    let packages: Vec<&str> = manifests(files).map(|manifest| manifest.path.trim_end_matches("Cargo.toml")).collect();
    let package_of =
        |file: &Source| packages.iter().filter(|top| file.path.starts_with(**top)).max_by_key(|top| top.len());
    let ours = |file: &&Source| package_of(file).is_some_and(|top| top.trim_end_matches('/') == directory);
    files.iter().filter(|file| file.is_rust()).filter(ours).flat_map(functions).collect()
}

fn functions(file: &Source) -> Vec<Function> {
    let code = file.product_code();
    let tokens = tokens(&code);
    let mut functions = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if pair[0].text != "fn" || !is_word(pair[1].text) {
            continue;
        }
        let mut depth = 0;
        let mut open = None;
        for token in &tokens[at..] {
            match token.text {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                ";" if depth == 0 => break,
                "{" => {
                    open = open.or(Some((token.line, depth)));
                    depth += 1;
                }
                "}" => depth -= 1,
                _ => {}
            }
            if let Some((line, outside)) = open
                && depth == outside
            {
                let lines = (token.line - line).saturating_sub(1);
                functions.push(Function {
                    place: format!("{}:{}", file.path, pair[0].line),
                    name: pair[1].text.to_owned(),
                    lines,
                });
                break;
            }
        }
    }
    functions
}
