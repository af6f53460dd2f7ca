//! The DOT in what an engine said: in fences of any kind or none, with prose around it, or as a text in JSON.
//!
//! Nothing is known of what stands around a graph, so it is found by how it begins, `strict graph name {` or a part of that,
//! and by its last brace, which is counted as DOT counts: not in strings, comments and labels of HTML.

use serde_json::Value;

/// Complete graphs that are looked at.
const GRAPHS_MAX: usize = 8;
/// What is read in vain, in bytes: what looks like the beginning of a graph may turn out at the end of the answer to be none.
const VAIN_BYTES_MAX: usize = 8 << 20;

/// What an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Complete graphs, the likeliest first: those that begin a line, in their order, and then those in the middle of one.
    pub graphs: Vec<String>,
    /// Whether something begins as a graph does, and never ends.
    pub is_cut_short: bool,
}

/// The graphs in an answer.
#[must_use]
pub fn graphs_in(said: &str) -> Found {
    let texts = texts_of_json(said);
    let mut found = Found { graphs: Vec::new(), is_cut_short: false };
    // In JSON line ends and quotes are escaped: what stands there as it is would be no DOT.
    for text in texts.iter().map(String::as_str).chain([said]) {
        let mut inside_lines = Vec::new();
        for (start, end) in graphs_at(text, &mut found.is_cut_short) {
            let graph = text.get(start..end).unwrap_or_default().to_owned();
            let is_first = text.get(..start).is_some_and(is_at_line_start);
            let list = if is_first { &mut found.graphs } else { &mut inside_lines };
            list.push(graph);
        }
        found.graphs.append(&mut inside_lines);
    }
    found.graphs.truncate(GRAPHS_MAX);
    found
}

/// The texts of an object of JSON, if there is one.
fn texts_of_json(said: &str) -> Vec<String> {
    let Some((start, end)) = said.find('{').zip(said.rfind('}')) else { return Vec::new() };
    let object = said.get(start..=end).and_then(|text| serde_json::from_str(text).ok());
    let Some(Value::Object(members)) = object else { return Vec::new() };
    let text = |value: Value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    members.into_iter().filter_map(|(_, value)| text(value)).collect()
}

/// Whether nothing but blanks, and what marks quotes and code, stands before on the line.
fn is_at_line_start(before: &str) -> bool {
    before.chars().rev().take_while(|c| *c != '\n').all(|c| c.is_whitespace() || matches!(c, '`' | '~' | '>'))
}

/// Where complete graphs are, in their order.
fn graphs_at(text: &str, is_cut_short: &mut bool) -> Vec<(usize, usize)> {
    let mut graphs = Vec::new();
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let mut vain_bytes = 0;
    while graphs.len() < GRAPHS_MAX && vain_bytes <= VAIN_BYTES_MAX && reader.seek_word() {
        let start = reader.at;
        let is_beginning = reader.pass_beginning();
        if is_beginning && reader.pass_body() {
            graphs.push((start, reader.at));
            continue;
        }
        *is_cut_short |= is_beginning;
        vain_bytes += reader.at - start;
        reader.at = start;
        reader.pass_word();
    }
    graphs
}

/// A place in a text, which only moves on.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes to the beginning of a word; false: there is none any more.
    fn seek_word(&mut self) -> bool {
        while self.peek().is_some_and(|byte| !is_word(byte)) {
            self.at += 1;
        }
        self.peek().is_some()
    }

    fn pass_word(&mut self) -> &'t [u8] {
        let start = self.at;
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn pass_blanks(&mut self) {
        loop {
            let rest = self.rest();
            match rest.first() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'#') => self.pass_until(b"\n"),
                Some(b'/') if rest.starts_with(b"//") => self.pass_until(b"\n"),
                Some(b'/') if rest.starts_with(b"/*") => self.pass_until(b"*/"),
                _ => return,
            }
        }
    }

    /// Goes behind the next of these; to the end if there is none.
    fn pass_until(&mut self, end: &[u8]) {
        let place = self.rest().windows(end.len()).position(|window| window == end);
        self.at = place.map_or(self.text.len(), |place| self.at + place + end.len());
    }

    /// Goes behind the brace that begins the body of a graph; false: that is none.
    fn pass_beginning(&mut self) -> bool {
        let mut word = self.pass_word();
        if word.eq_ignore_ascii_case(b"strict") {
            self.pass_blanks();
            word = self.pass_word();
        }
        if !word.eq_ignore_ascii_case(b"graph") && !word.eq_ignore_ascii_case(b"digraph") {
            return false;
        }
        self.pass_blanks();
        match self.peek() {
            Some(b'"') => self.pass_string(),
            Some(b'<') => self.pass_html(),
            Some(b'-' | b'.') => {
                self.at += 1;
                self.pass_number();
            }
            _ => self.pass_number(),
        }
        self.pass_blanks();
        let is_body = self.peek() == Some(b'{');
        self.at += usize::from(is_body);
        is_body
    }

    /// A name is a number as well, with its point.
    fn pass_number(&mut self) {
        while self.peek().is_some_and(|byte| is_word(byte) || byte == b'.') {
            self.at += 1;
        }
    }

    /// Goes behind the brace that ends a body; false: there is none.
    fn pass_body(&mut self) -> bool {
        let mut depth = 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.pass_string(),
                b'<' => self.pass_html(),
                b'#' => self.pass_blanks(),
                b'/' if self.rest().starts_with(b"//") || self.rest().starts_with(b"/*") => self.pass_blanks(),
                b'{' | b'}' => {
                    depth = if byte == b'{' { depth + 1 } else { depth - 1 };
                    self.at += 1;
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.at += 1,
            }
        }
        false
    }

    fn pass_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn pass_html(&mut self) {
        let mut depth = 0;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'<' => depth += 1,
                b'>' if depth == 1 => return,
                b'>' => depth -= 1,
                _ => {}
            }
        }
    }
}

/// Whether a byte is one of a name's.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_is_cut_out_of_whatever_stands_around_it() {
        for (said, expected) in [
            ("digraph { a -> b }", "digraph { a -> b }"),
            ("```dot\ndigraph { a }\n```", "digraph { a }"),
            ("```\r\n\tdigraph\t{ a }\r\n```", "digraph\t{ a }"),
            ("~~~~graphviz\ngraph { a }\n~~~~", "graph { a }"),
            ("````dot\ngraph { a [label=\"```\"] }\n````", "graph { a [label=\"```\"] }"),
            ("<pre><code>digraph { a }</code></pre>", "digraph { a }"),
            ("<dot>\nstrict digraph g { a }\n</dot>", "strict digraph g { a }"),
            ("In one line: `digraph { a -> b }`, as asked.", "digraph { a -> b }"),
            ("Here it is:\n```\ngraph g {\n}\n```\nEnjoy {it}!", "graph g {\n}"),
            ("```json\n{}\n```\n```dot\nstrict graph { a }\n```", "strict graph { a }"),
            ("Sure, a graph of it:\n\nDigraph G\n{ a }\nHope that helps.", "Digraph G\n{ a }"),
            ("A graph (see {1}) follows.\n    graph \"{\" { a }\n", "graph \"{\" { a }"),
            ("```dot\ndigraph { a -> { b } }", "digraph { a -> { b } }"),
            // What is in strings, comments and labels ends nothing.
            (
                "graph { a [label=\"}\\\"}\"] // }\n /* } */ b [label=<<i>}</i>>] } }",
                "graph { a [label=\"}\\\"}\"] // }\n /* } */ b [label=<<i>}</i>>] }",
            ),
            ("graph /* { */ g // {\n{ a }", "graph /* { */ g // {\n{ a }"),
            ("graph {\n# }\na }", "graph {\n# }\na }"),
            ("graph -.5 { a } graph", "graph -.5 { a }"),
            ("graph <b> { a }", "graph <b> { a }"),
            ("graph \u{e9}t\u{e9} { a }", "graph \u{e9}t\u{e9} { a }"),
            // One in the middle of a line is taken where none begins one.
            ("I drew a graph { for } you:\n\ndigraph { a }", "digraph { a }"),
            // The first is incomplete.
            ("```dot\ndigraph { a -> {\n```\nNo, so:\n```dot\ndigraph { b }\n```", "digraph { b }"),
            ("digraph { a }\n\ndigraph { b }", "digraph { a }"),
            // As a text in JSON.
            ("{\"dotfile\": \"digraph {\\n a -> \\\"b\\\" }\"}", "digraph {\n a -> \"b\" }"),
            ("```json\n{\"n\": 1, \"dot\": \"graph { a }\"}\n```", "graph { a }"),
        ] {
            let found = graphs_in(said);
            assert_eq!(found.graphs.first().map(String::as_str), Some(expected), "{said:?}");
        }
    }

    #[test]
    fn where_there_is_none_there_is_none() {
        for (said, is_cut_short) in [
            ("digraph", false),
            ("I would rather not.", false),
            ("a subgraph { b } of a multigraph { c } or my_graph { d }", false),
            ("", false),
            ("```", false),
            ("{\"dotfile\": 7}", false),
            ("}\ngraph {", true),
            ("digraph { a [label=\"} ] }", true),
            ("digraph { a [label=<} ] }", true),
            ("graph { a \\", true),
            ("graph { \"\\", true),
        ] {
            assert_eq!(graphs_in(said), Found { graphs: Vec::new(), is_cut_short }, "{said:?}");
        }
    }

    /// Whoever read each of them to its end from each place would be at it for hours.
    #[test]
    fn hostile_answers_are_not_read_again_and_again() {
        for said in ["graph{", "graph", "strict ", "{\"a\":", "\"", "graph{}", "graph /*", "graph <", "\u{e9}"] {
            let found = graphs_in(&said.repeat((1 << 20) / said.len()));
            assert!(found.graphs.len() <= GRAPHS_MAX, "{said}");
        }
    }
}
