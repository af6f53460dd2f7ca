//! Text that others wrote, in a page: no markup, apart from the direction of what stands around it, and with what is
//! invisible in it made visible.

use std::fmt;

use askama::filters::HtmlSafe;
use quintet_platform::http::visible::visible;

/// A foreign text. What it writes is markup, and safe.
pub struct Foreign<'a>(pub &'a str);

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::with_capacity(self.0.len() + 24);
        out.push_str("<bdi dir=\"auto\">");
        visible(self.0, &mut out);
        out.push_str("</bdi>");
        f.write_str(&out)
    }
}

impl HtmlSafe for Foreign<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_text() {
        let shown = |text: &str| Foreign(text).to_string();
        assert_eq!(shown("Acme"), "<bdi dir=\"auto\">Acme</bdi>");
        assert_eq!(shown("<script>&\""), "<bdi dir=\"auto\">&lt;script&gt;&amp;&quot;</bdi>");
        assert_eq!(shown("a\u{202e}b"), "<bdi dir=\"auto\">a<span class=\"char\">U+202E</span>b</bdi>");
        assert_eq!(shown("</bdi>"), "<bdi dir=\"auto\">&lt;/bdi&gt;</bdi>");
    }
}
