//! Text in HTML.

/// Adds text as it stands in markup, between tags or in quotes.
pub fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What HTML knows no character for.
            '\0' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let mut text = String::new();
        escape("</textarea><script>\"'&{{source}}\0", &mut text);
        assert_eq!(text, "&lt;/textarea&gt;&lt;script&gt;&quot;&#39;&amp;{{source}}\u{fffd}");
    }
}
