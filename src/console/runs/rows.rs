//! Lines of a log as pages show them: a bounded part, the last of it, and what is searched for.

use quintet_platform::http::visible::visible;

use super::ansi::plain;
use super::wire::LogEntry;

/// Rows that a page has.
pub const ROWS_MAX: usize = 2_000;
/// Text that they have together, in bytes.
const SHOWN_BYTES_MAX: usize = 256 << 10;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it was written.
    pub ts: String,
    /// The time of it alone.
    pub time: String,
    /// Whether it was an error stream's.
    pub is_error: bool,
    /// The text, without what terminals would make of it.
    pub text: String,
}

impl Row {
    /// Of a line.
    pub fn of(entry: LogEntry) -> Row {
        Row {
            time: entry.ts.get(11..23).unwrap_or_default().to_owned(),
            ts: entry.ts,
            is_error: entry.stream == "stderr",
            text: plain(&entry.line),
        }
    }
}

/// The last rows that fit, of those with a text; and whether others were left out.
pub fn last(entries: Vec<LogEntry>, sought: Option<&str>) -> (Vec<Row>, bool) {
    let sought = sought.map(str::to_lowercase);
    let is_sought = |row: &Row| sought.as_ref().is_none_or(|sought| row.text.to_lowercase().contains(sought));
    let mut rows = Vec::new();
    let mut bytes = 0_usize;
    for row in entries.into_iter().rev().map(Row::of).filter(is_sought) {
        bytes = bytes.saturating_add(row.text.len());
        if rows.len() == ROWS_MAX || bytes > SHOWN_BYTES_MAX {
            rows.reverse();
            return (rows, true);
        }
        rows.push(row);
    }
    rows.reverse();
    (rows, false)
}

/// The pieces of a text, for a script that writes text alone: in turn what can be seen, and the number of a character that
/// cannot.
pub fn pieces(text: &str) -> Vec<String> {
    const CHIP: &str = "<span class=\"char\">";
    let mut shown = String::with_capacity(text.len());
    visible(text, &mut shown);
    let mut pieces = Vec::new();
    for (place, part) in shown.split(CHIP).enumerate() {
        match part.split_once("</span>").filter(|_| place > 0) {
            Some((chip, rest)) => pieces.extend([chip.to_owned(), unescaped(rest)]),
            None => pieces.push(unescaped(part)),
        }
    }
    pieces
}

/// What was escaped for markup, as it was.
fn unescaped(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'")];
    let text = marks.iter().fold(text.to_owned(), |text, (escaped, mark)| text.replace(escaped, mark));
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> LogEntry {
        LogEntry { ts: "2026-01-31T09:00:00.123456Z".to_owned(), stream: "stderr".to_owned(), line: line.to_owned() }
    }

    #[test]
    fn the_last_rows_are_shown_and_no_more_than_fit() {
        let (rows, is_cut) = last((0..3_000).map(|n| entry(&format!("\u{1b}[1mline {n}"))).collect(), None);
        assert_eq!((rows.len(), is_cut), (ROWS_MAX, true));
        assert_eq!((rows[0].text.as_str(), rows[ROWS_MAX - 1].text.as_str()), ("line 1000", "line 2999"));
        assert_eq!((rows[0].time.as_str(), rows[0].is_error), ("09:00:00.123", true));
        let (rows, is_cut) = last((0..30).map(|_| entry(&"x".repeat(10_000))).collect(), None);
        assert_eq!((rows.len(), is_cut), (26, true));
        let (rows, is_cut) = last(vec![entry("One"), entry("\u{1b}[31mtw\u{1b}[0mo"), entry("one more")], Some("ONE"));
        assert_eq!((rows.len(), is_cut), (2, false));
        let (rows, _) = last(vec![entry("\u{1b}[31mtw\u{1b}[0mo")], Some("two"));
        assert_eq!(rows.len(), 1, "colours are not in the way of a search");
    }

    #[test]
    fn a_script_is_given_text_and_numbers() {
        assert_eq!(pieces("a<b>&amp;\"'"), ["a<b>&amp;\"'"]);
        assert_eq!(pieces("pay \u{202e}001\0"), ["pay ", "U+202E", "001", "U+0000", ""]);
        assert_eq!(pieces("<span class=\"char\">U+0041</span>"), ["<span class=\"char\">U+0041</span>"]);
        assert_eq!(pieces(""), [""]);
    }
}
