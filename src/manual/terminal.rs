//! Pages as a terminal shows them: lines of a bounded width, tables in columns, or a row below the other where columns
//! would not fit. Without a terminal the same as plain text.

use super::document::{Block, Cells, Document, Span, page_of_link};

/// How a page is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The longest line, in columns; code, and words without a space, may be longer: nothing breaks them.
    pub width: usize,
    /// Whether headings and what matters are bold.
    pub is_bold: bool,
}

/// How far code is indented.
const CODE_INDENT: usize = 2;
/// How far what belongs to the line above it is indented.
const INDENT: usize = 4;
/// What stands between two columns of a table.
const GAP: usize = 2;
/// A table whose last column would be narrower, in columns, has its rows one below the other.
const LAST_COLUMN_MIN: usize = 24;

/// The page as text.
#[must_use]
pub fn render(document: &Document, look: Look) -> String {
    let lines = blocks(&document.blocks, look);
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A word with its width: the marks that make it bold have none.
#[derive(Clone, Debug, Default)]
struct Word {
    text: String,
    width: usize,
}

fn blocks(blocks: &[Block], look: Look) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        lines.extend(lines_of(block, look));
    }
    lines
}

fn lines_of(block: &Block, look: Look) -> Vec<String> {
    match block {
        Block::Heading { level, text } => heading(*level, text, look),
        Block::Paragraph(text) => wrap(&words(text, look, true), look.width),
        Block::List { first_number, items } => list(*first_number, items, look),
        Block::Table { head, rows } => table(head, rows, look),
        Block::Code { text, .. } => text.lines().map(|line| format!("{:CODE_INDENT$}{line}", "")).collect(),
    }
}

fn heading(level: u8, text: &[Span], look: Look) -> Vec<String> {
    let line = wrap(&words(&[Span::Strong(text.to_vec())], look, true), usize::MAX).concat();
    let width = words(text, look, true).iter().map(|word| word.width + 1).sum::<usize>().saturating_sub(1);
    match level {
        1 => vec![line, "=".repeat(width)],
        2 => vec![line, "-".repeat(width)],
        _ => vec![line],
    }
}

fn list(first_number: Option<u64>, items: &[Vec<Block>], look: Look) -> Vec<String> {
    let is_tight = items.iter().all(|item| matches!(item.as_slice(), [Block::Paragraph(_)]));
    let mut lines = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 && !is_tight {
            lines.push(String::new());
        }
        let mark = first_number.map_or("- ".to_owned(), |first| format!("{}. ", first + index as u64));
        let indent = mark.len();
        let narrower = Look { width: look.width.saturating_sub(indent), ..look };
        for (number, line) in blocks(item, narrower).into_iter().enumerate() {
            let before = if number == 0 { mark.clone() } else { " ".repeat(indent) };
            lines.push(before + &line);
        }
    }
    lines
}

fn table(head: &Cells, rows: &[Cells], look: Look) -> Vec<String> {
    let cells = |row: &Cells| row.iter().map(|cell| words(cell, look, false)).collect::<Vec<_>>();
    let titles = |row: &Cells| row.iter().map(|cell| words(&[Span::Strong(cell.clone())], look, false)).collect();
    let mut all: Vec<Vec<Vec<Word>>> = rows.iter().map(cells).collect();
    if head.iter().any(|cell| !cell.is_empty()) {
        all.insert(0, titles(head));
    }
    match column_widths(&all, look.width) {
        Some(widths) => all.iter().flat_map(|row| in_columns(row, &widths)).collect(),
        None => all.iter().flat_map(|row| below_each_other(row, look.width)).collect(),
    }
}

fn in_columns(row: &[Vec<Word>], widths: &[usize]) -> Vec<String> {
    let cells: Vec<Vec<Vec<Word>>> = row.iter().zip(widths).map(|(cell, width)| break_lines(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let here = cell.get(number).map_or(&[] as &[Word], Vec::as_slice);
            let taken = width_of(here);
            line.push_str(&joined(here));
            line.push_str(&" ".repeat((width + GAP).saturating_sub(taken)));
        }
        line
    };
    (0..height).map(line).collect()
}

/// What does not fit side by side: all cells but the last one behind the other, and that indented below them.
fn below_each_other(row: &[Vec<Word>], width: usize) -> Vec<String> {
    let Some((last, first)) = row.split_last() else { return Vec::new() };
    let mut lines: Vec<(usize, String)> = Vec::new();
    for cell in first.iter().filter(|cell| !cell.is_empty()) {
        let (text, taken) = (joined(cell), width_of(cell));
        match lines.last_mut() {
            Some((so_far, line)) if *so_far + GAP + taken <= width => {
                line.push_str(&format!("{:GAP$}{text}", ""));
                *so_far += GAP + taken;
            }
            _ => lines.push((taken, text)),
        }
    }
    let rest = wrap(last, width.saturating_sub(INDENT)).into_iter();
    lines.into_iter().map(|(_, line)| line).chain(rest.map(|line| format!("{:INDENT$}{line}", ""))).collect()
}

/// The widths of the columns, if the table fits: each as wide as its longest cell, or else the widest ones narrower.
fn column_widths(rows: &[Vec<Vec<Word>>], width: usize) -> Option<Vec<usize>> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of_column = |measure: fn(&[Word]) -> usize, column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| measure(cell)).max().unwrap_or(0)
    };
    let longest_word = |cell: &[Word]| cell.iter().map(|word| word.width).max().unwrap_or(0);
    let wanted: Vec<usize> = (0..columns).map(|column| of_column(width_of, column)).collect();
    let least: Vec<usize> = (0..columns).map(|column| of_column(longest_word, column)).collect();
    let available = width.checked_sub(GAP * columns.saturating_sub(1))?;
    let capped = |cap: usize| -> Vec<usize> {
        wanted.iter().zip(&least).map(|(wanted, least)| (*wanted).min(cap).max(*least)).collect()
    };
    let widths = (1..=width).rev().map(capped).find(|widths| widths.iter().sum::<usize>() <= available)?;
    let (last, wanted) = (*widths.last()?, *wanted.last()?);
    (last >= wanted.min(LAST_COLUMN_MIN)).then_some(widths)
}

/// The words of spans. Outside tables code stands in back quotes, since it may end a sentence.
fn words(spans: &[Span], look: Look, is_quoting: bool) -> Vec<Word> {
    let mut words = Words { list: Vec::new(), is_open: false, look, is_quoting, bold: 0 };
    words.take(spans);
    words.list
}

struct Words {
    list: Vec<Word>,
    /// Whether the last word goes on with what comes next.
    is_open: bool,
    look: Look,
    is_quoting: bool,
    /// How many bold spans this is inside of.
    bold: usize,
}

impl Words {
    fn take(&mut self, spans: &[Span]) {
        for span in spans {
            match span {
                Span::Text(text) => self.text(text),
                Span::Code(code) if self.is_quoting => self.text(&format!("`{code}`")),
                Span::Code(code) => self.text(code),
                Span::Strong(inner) => {
                    self.bold += 1;
                    self.take(inner);
                    self.bold -= 1;
                }
                Span::Emphasis(inner) => self.take(inner),
                Span::Link { target, text } => {
                    self.take(text);
                    match page_of_link(target) {
                        Some((topic, _)) => self.text(&format!(" (`quintet manual {topic}`)")),
                        None if target.starts_with('#') => {}
                        None => self.text(&format!(" <{target}>")),
                    }
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        for (index, part) in text.split(' ').enumerate() {
            if index > 0 {
                self.is_open = false;
            }
            if part.is_empty() {
                continue;
            }
            let shown =
                if self.bold > 0 && self.look.is_bold { format!("\u{1b}[1m{part}\u{1b}[0m") } else { part.into() };
            if !self.is_open {
                self.list.push(Word::default());
            }
            if let Some(word) = self.list.last_mut() {
                word.text.push_str(&shown);
                word.width += part.chars().count();
            }
            self.is_open = true;
        }
    }
}

fn wrap(words: &[Word], width: usize) -> Vec<String> {
    break_lines(words, width).iter().map(|line| joined(line)).collect()
}

/// Lines of at most `width` columns; a word that is longer has one for itself.
fn break_lines(words: &[Word], width: usize) -> Vec<Vec<Word>> {
    let mut lines: Vec<Vec<Word>> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if width_of(line) + 1 + word.width <= width => line.push(word.clone()),
            _ => lines.push(vec![word.clone()]),
        }
    }
    lines
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn width_of(words: &[Word]) -> usize {
    words.iter().map(|word| word.width + 1).sum::<usize>().saturating_sub(1)
}
