//! Sources as they are shown, with what must stay as it is set apart; and the fields that translations are typed into.

use std::fmt;

use askama::filters::HtmlSafe;
use quintet_localization::language::Locale;
use quintet_localization::quality::{Format, Reading};
use quintet_platform::http::visible::visible;

use super::wire::Forms;

/// The longest source that is shown whole, in bytes; of a longer one this much.
const SHOWN_BYTES_MAX: usize = 64 << 10;

/// A text in which placeholders, markup and addresses are chips. What it writes is markup, and safe.
pub struct Chipped<'a>(pub &'a str);

impl fmt::Display for Chipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.get(..self.0.floor_char_boundary(SHOWN_BYTES_MAX)).unwrap_or_default();
        let mut out = String::with_capacity(text.len() + 64);
        let mut from = 0;
        for span in Reading::of(text, Format::Json).spans {
            visible(text.get(from..span.range.start).unwrap_or_default(), &mut out);
            out.push_str("<bdi class=\"chip\">");
            visible(text.get(span.range.clone()).unwrap_or_default(), &mut out);
            out.push_str("</bdi>");
            from = span.range.end;
        }
        visible(text.get(from..).unwrap_or_default(), &mut out);
        if text.len() < self.0.len() {
            out.push('…');
        }
        f.write_str(&out)
    }
}

impl HtmlSafe for Chipped<'_> {}

/// A form of a source.
pub struct SourceForm {
    /// Its plural category; empty: it is no plural.
    pub category: String,
    /// Its text.
    pub text: String,
}

impl SourceForm {
    /// With chips.
    pub fn chipped(&self) -> Chipped<'_> {
        Chipped(&self.text)
    }
}

/// The forms of a source, in the order of categories.
pub fn source_forms(source: Option<String>, forms: Option<Forms>) -> Vec<SourceForm> {
    match source {
        Some(text) => vec![SourceForm { category: String::new(), text }],
        None => {
            let mut forms: Vec<_> = forms.unwrap_or_default().into_iter().collect();
            forms.sort_by_key(|(category, _)| order(category));
            forms.into_iter().map(|(category, text)| SourceForm { category, text }).collect()
        }
    }
}

fn order(category: &str) -> usize {
    ["zero", "one", "two", "few", "many", "other"].iter().position(|known| *known == category).unwrap_or(6)
}

/// What to show of a text that may have forms, in one line of a list.
pub fn in_short(text: Option<&str>, forms: Option<&Forms>) -> String {
    const CHARS_MAX: usize = 160;
    let text = text.or_else(|| forms.and_then(|forms| forms.get("other").map(String::as_str))).unwrap_or_default();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A field of the form.
pub struct Field {
    /// What the form calls it: `text`, or `form.` and the category.
    pub name: String,
    /// The plural category; empty: it is no plural.
    pub category: String,
    /// What stands in it.
    pub text: String,
    /// Lines that it is high.
    pub rows: usize,
    /// What somebody else has written meanwhile, where that is so.
    pub other: Option<String>,
}

/// The fields of a translation: one, or one for each plural category of the locale.
pub fn fields(locale: &Locale, is_plural: bool, text: impl Fn(&str) -> String) -> Vec<Field> {
    let field = |category: &str| {
        let text = text(category);
        let name = if category.is_empty() { "text".to_owned() } else { format!("form.{category}") };
        let rows = text.lines().map(|line| 1 + line.len() / 60).sum::<usize>().clamp(2, 12);
        Field { name, category: category.to_owned(), text, rows, other: None }
    };
    match is_plural {
        false => vec![field("")],
        true => locale.cardinal().names().into_iter().map(field).collect(),
    }
}

/// A text as the room stores it: browsers send line ends of two characters, whatever was typed. Where the source has such
/// ends they stay.
pub fn as_typed(text: &str, source_has_crlf: bool) -> String {
    if source_has_crlf { text.to_owned() } else { text.replace("\r\n", "\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_stay_is_a_chip_and_nothing_is_markup() {
        let shown = |text: &str| Chipped(text).to_string();
        assert_eq!(shown("Hello, {name}!"), "Hello, <bdi class=\"chip\">{name}</bdi>!");
        assert_eq!(shown("<b>x</b>"), "<bdi class=\"chip\">&lt;b&gt;</bdi>x<bdi class=\"chip\">&lt;/b&gt;</bdi>");
        assert_eq!(shown("a\u{202e}b"), "a<span class=\"char\">U+202E</span>b");
        assert!(shown(&"ä".repeat(60_000)).len() < 70_000);
    }

    #[test]
    fn a_plural_has_a_field_for_each_category_of_the_locale() {
        let names = |tag: &str, is_plural| {
            let locale = Locale::parse(tag).unwrap();
            fields(&locale, is_plural, |_| String::new()).into_iter().map(|field| field.name).collect::<Vec<_>>()
        };
        assert_eq!(names("de", false), ["text"]);
        assert_eq!(names("de", true), ["form.one", "form.other"]);
        assert_eq!(names("ja", true), ["form.other"]);
        assert_eq!(names("ar", true).len(), 6);
    }

    #[test]
    fn line_ends_are_those_of_the_source() {
        assert_eq!(as_typed("a\r\nb", false), "a\nb");
        assert_eq!(as_typed("a\r\nb", true), "a\r\nb");
    }
}
