//! How long functions are: a body should fit a screen. Longer ones are listed, and what is listed only gets shorter.
//!
//! Product code alone: a test tells a story from its beginning to its end, and is as long as that is.

use super::source::{Source, is_word, tokens};

/// What fits a screen.
const SCREEN_LINES: usize = 60;

/// A function that is longer than a screen: its file, its name, and the lines of its body.
pub type Row<'a> = (&'a str, &'a str, usize);

/// Those there are today, exactly. A function that gets shorter gets a lower number, and its row goes when it fits; nothing
/// is put in, except a row that moves with its function.
#[rustfmt::skip]
pub const RATCHET: &[Row<'_>] = &[
    ("src/drawing/html/parse.rs", "start", 90),
    ("src/drawing/layout/order/build.rs", "build_with", 62),
    ("src/drawing/layout/order/links.rs", "link_levels", 63),
    ("src/drawing/layout/order/polish.rs", "polish", 63),
    ("src/drawing/layout/place.rs", "heights", 81),
    ("src/drawing/layout/rank.rs", "rank", 70),
    ("src/drawing/layout/route/chain.rs", "route_chain", 73),
    ("src/drawing/layout/route/corridor.rs", "shortest_path", 66),
    ("src/drawing/layout/route/flat.rs", "route_flat", 64),
    ("src/drawing/layout/route/ortho.rs", "wires_of_chains", 69),
    ("src/drawing/layout/start.rs", "first_positions", 66),
    ("src/drawing/shapes/arrows.rs", "paint", 108),
];

struct Function {
    file: String,
    line: usize,
    name: String,
    lines: usize,
}

impl Function {
    fn row(&self) -> Row<'_> {
        (&self.file, &self.name, self.lines)
    }

    /// What is wrong with it, whose row has another number or is missing.
    fn complaint(&self, listed_lines: Option<usize>) -> String {
        let Function { file, line, name, lines } = self;
        let place = format!("{file}:{line}: {name} has {lines} lines");
        let split = "Give a part of it a name and a function of its own";
        let row = self.row();
        match listed_lines {
            None => format!(
                "{place}, and {SCREEN_LINES} are the most. {split}; if it only moved here, its row is\n    {row:?},"
            ),
            Some(listed) if listed < *lines => {
                format!("{place}, and may have {listed}. {split}; nothing raises its row, which would be\n    {row:?},")
            }
            Some(listed) => format!("{place}, and its row in {HERE} says {listed}. It is now\n    {row:?},"),
        }
    }
}

/// Where the rows stand.
const HERE: &str = "tests/it/tidy/functions.rs";

/// Which functions are not as `ratchet` says.
pub fn lengths_that_differ(files: &[Source], ratchet: &[Row<'_>]) -> Vec<String> {
    let mut rows = ratchet.to_vec();
    let mut take = |is_wanted: &dyn Fn(&Row<'_>) -> bool| {
        let at = rows.iter().position(is_wanted)?;
        Some(rows.remove(at))
    };
    let long = files.iter().filter(|file| file.is_rust()).flat_map(functions);
    let mut long: Vec<Function> = long.filter(|function| function.lines > SCREEN_LINES).collect();
    // First those that are as listed: a file may have several functions of one name.
    long.retain(|function| take(&|row| *row == function.row()).is_none());
    let mut complaints = Vec::new();
    for function in &long {
        let listed = take(&|(file, name, _)| (*file, *name) == (&function.file, &function.name));
        complaints.push(function.complaint(listed.map(|(_, _, lines)| lines)));
    }
    let gone = rows.iter().map(|row| format!("{HERE}: it fits a screen or is gone; take its row out\n    {row:?},"));
    complaints.extend(gone);
    complaints
}

/// The functions of a file that have a body, tests left out.
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
                let (file, name) = (file.path.clone(), pair[1].text.to_owned());
                functions.push(Function { file, line: pair[0].line, name, lines });
                break;
            }
        }
    }
    functions
}
