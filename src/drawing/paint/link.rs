//! Links and tooltips.

use super::address;
use super::scene::{Item, Link};
use crate::graph::values::{Attributes, Value};
use crate::text::{Names, substitute};
use crate::warnings::Warnings;

/// The link of an object, or of one label of an edge (`prefix` is then `head`, `tail` or `label`). Only a tooltip
/// that the source sets makes a link of its own; with a target, the label is the tooltip.
pub(super) fn of(
    attributes: &dyn Attributes,
    names: &Names<'_>,
    prefix: &str,
    label: Option<&str>,
    warnings: &mut Warnings,
) -> Option<Link> {
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
    let href = url.and_then(|url| address::followed(&put(url), warnings));
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
pub(super) fn wrap(id: &str, link: Option<Link>, items: Vec<Item>) -> Vec<Item> {
    match link {
        Some(link) => vec![Item::Linked { id: format!("a_{id}"), link, items }],
        None => items,
    }
}
