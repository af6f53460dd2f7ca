//! Links and tooltips.

use super::address;
use super::scene::{Item, Link};
use crate::graph::values::{Attributes, Value};
use crate::text::{Names, substitute};
use crate::warnings::Warnings;

/// What stands for a label that holds a table.
const TABLE: &str = "<TABLE>";

/// The link of an object, or of a part of an edge: of its line (`prefix` is then `edge`) or of one of its labels (`head`,
/// `tail` or `label`). Only a tooltip that the source sets makes a link of its own; where the link leads anywhere, the
/// label is the tooltip.
pub(super) fn of(
    attributes: &dyn Attributes,
    names: &Names<'_>,
    prefix: &str,
    label: Option<&str>,
    warnings: &mut Warnings,
) -> Option<Link> {
    let get = |name: &str| attributes.text(&format!("{prefix}{name}"));
    // The parts of an edge lead where the edge leads.
    let inherited = || attributes.text("href").or_else(|| attributes.text("URL"));
    let url = get("href").or_else(|| get("URL")).or_else(inherited);
    let tooltip = match prefix {
        "edge" => attributes.text("tooltip").or_else(|| get("tooltip")),
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

/// What a label says in a tooltip, as it is written: one that holds a table is only named.
pub(super) fn label_text<'a>(attributes: &'a dyn Attributes, name: &str) -> Option<&'a str> {
    let value = attributes.value(name)?;
    let has_table = |text: &str| text.as_bytes().windows(6).any(|start| start.eq_ignore_ascii_case(b"<TABLE"));
    match value {
        Value::Html(text) if has_table(text) => Some(TABLE),
        Value::Html(text) | Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
    }
}

/// What a node's label says in a tooltip. A record's is only read field by field, and so never named.
pub(super) fn node_label_text(attributes: &dyn Attributes, is_record: bool) -> Option<&str> {
    match attributes.value("label") {
        None => Some("\\N"),
        Some(value) if is_record => Some(value.as_str()).filter(|text| !text.is_empty()),
        Some(_) => label_text(attributes, "label"),
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
