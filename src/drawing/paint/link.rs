//! Links and tooltips.

use super::scene::{Item, Link};
use crate::graph::values::{Attributes, Value};
use crate::text::{Names, substitute};

/// Whether a link may be followed: http, https, mailto, or relative to where the picture lies.
pub(super) fn is_safe(url: &str) -> bool {
    let url = url.trim_start_matches(|c: char| c.is_control() || c.is_whitespace());
    let end = url.find(['/', '?', '#']).unwrap_or(url.len());
    let head = url.get(..end).unwrap_or_default();
    match head.split_once(':') {
        None => true,
        Some((scheme, _)) => ["http", "https", "mailto"].iter().any(|safe| scheme.eq_ignore_ascii_case(safe)),
    }
}

/// The link of an object, or of one label of an edge (`prefix` is then `head`, `tail` or `label`). Only a tooltip
/// that the source sets makes a link of its own; with a target, the label is the tooltip.
pub(super) fn of(attributes: &dyn Attributes, names: &Names<'_>, prefix: &str, label: Option<&str>) -> Option<Link> {
    let get = |name: &str| attributes.text(&format!("{prefix}{name}"));
    let own = get("href").or_else(|| get("URL"));
    // The labels of an edge lead where the edge leads.
    let inherited = || attributes.text("href").or_else(|| attributes.text("URL"));
    let url = if prefix.is_empty() { own } else { own.or_else(inherited) };
    let tooltip = match prefix {
        "" => get("tooltip").or_else(|| attributes.text("edgetooltip")),
        _ => get("tooltip"),
    };
    if url.is_none() && tooltip.is_none() {
        return None;
    }
    let put = |text: &str| substitute(text, names);
    let href = url.map(put).filter(|url| is_safe(url));
    let title = tooltip.map(|text| unescape(&put(text))).or_else(|| label.map(put));
    let target = get("target").or_else(|| attributes.text("target")).map(put);
    (href.is_some() || title.is_some()).then_some(Link { href, title, target })
}

/// What a label says in a tooltip: one that is HTML-like is only named.
pub(super) fn label_text<'a>(attributes: &'a dyn Attributes, name: &str) -> Option<&'a str> {
    match attributes.value(name)? {
        Value::Html(_) => Some("<TABLE>"),
        Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
    }
}

/// Line escapes of a tooltip are line ends.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\l", "\n").replace("\\r", "\n")
}

/// Puts items under a link, if there is one; `id` is that of the object's own element.
pub(super) fn wrap(
    attributes: &dyn Attributes,
    names: &Names<'_>,
    prefix: &str,
    id: &str,
    label: Option<&str>,
    items: Vec<Item>,
) -> Vec<Item> {
    match of(attributes, names, prefix, label) {
        Some(link) => vec![Item::Linked { id: format!("a_{id}"), link, items }],
        None => items,
    }
}

#[cfg(test)]
mod tests {
    use super::is_safe;

    #[test]
    fn only_safe_links_are_kept() {
        for url in ["http://a/b", "HTTPS://x", "mailto:a@b", "x.html", "/a:b", "#c", "?q=javascript:", "a/b:c", ""] {
            assert!(is_safe(url), "{url}");
        }
        for url in
            ["javascript:alert(1)", " javascript:x", "\u{1}data:text/html,x", "JaVaScript:x", "file:///etc", "x:y"]
        {
            assert!(!is_safe(url), "{url}");
        }
    }
}
