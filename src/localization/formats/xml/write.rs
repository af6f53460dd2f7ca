//! Writes what a document says so that it is read as it was: line ends, tabs and markup become references.

/// Adds a text. Characters that XML cannot hold must have been looked for before
/// ([`is_writable`](super::is_writable)).
pub fn push_text(document: &mut String, text: &str) {
    push(document, text, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        // As part of `]]>` it must not stand there.
        b'>' => Some("&gt;"),
        // A reader would make a line feed of it.
        b'\r' => Some("&#13;"),
        _ => None,
    });
}

/// Adds an attribute, with a space before it.
pub fn push_attribute(document: &mut String, name: &str, value: &str) {
    document.push(' ');
    document.push_str(name);
    document.push_str("=\"");
    push(document, value, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#9;"),
        b'\n' => Some("&#10;"),
        b'\r' => Some("&#13;"),
        _ => None,
    });
    document.push('"');
}

/// Adds a comment in a line of its own; `text` has no two hyphens in a row and ends with none.
pub fn push_comment(document: &mut String, text: &str) {
    document.push_str("<!-- ");
    document.push_str(text);
    document.push_str(" -->\n");
}

fn push(document: &mut String, text: &str, replaced: impl Fn(u8) -> Option<&'static str>) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if let Some(reference) = replaced(byte) {
            document.push_str(text.get(written..at).unwrap_or_default());
            document.push_str(reference);
            written = at + 1;
        }
    }
    document.push_str(text.get(written..).unwrap_or_default());
}
