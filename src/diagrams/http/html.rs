//! The page as text. Nothing that somebody typed is ever markup: text is escaped, a picture is an image, in which nothing
//! runs.

use data_encoding::BASE64URL_NOPAD;
use quintet_drawing::outline::Outline;
use quintet_platform::http::html::escape;
use quintet_platform::service::ServiceRefusal as _;

use crate::context::Context;
use crate::refusal::{Refusal, sentence};

/// The page around what is put into it.
const TEMPLATE: &str = include_str!("../../../assets/diagrams/page.html");

/// Sources to begin with: a name, and DOT.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("Order of work", include_str!("../../../assets/diagrams/examples/work.dot")),
    ("States", include_str!("../../../assets/diagrams/examples/states.dot")),
    ("Clusters", include_str!("../../../assets/diagrams/examples/clusters.dot")),
    ("Records", include_str!("../../../assets/diagrams/examples/records.dot")),
    ("Undirected", include_str!("../../../assets/diagrams/examples/undirected.dot")),
];

/// What stands on a page.
#[derive(Default)]
pub(super) struct Page {
    /// The source.
    pub(super) source: String,
    /// An address of the picture's bytes: `data:`.
    pub(super) picture: Option<String>,
    /// The picture in words.
    pub(super) outline: Option<Outline>,
    /// What was not honoured.
    pub(super) warnings: Vec<String>,
    /// What is wrong.
    pub(super) refusal: Option<Refusal>,
    /// What the AI engine was asked for.
    pub(super) prompt: String,
    /// Whether the picture is shown alone.
    pub(super) is_view: bool,
}

/// The page with everything put in. Each place is filled once, so what is put in is never taken for a place.
pub(super) fn text_of(context: &Context, page: &Page) -> String {
    let mut text = String::with_capacity(TEMPLATE.len() + 2 * page.source.len());
    let mut rest = TEMPLATE;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        text.push_str(before);
        match name {
            "body" => body_attributes(context, page, &mut text),
            "examples" => examples(&mut text),
            "source" => escape(&page.source, &mut text),
            "key" if context.requires_key => text.push_str(KEY_FIELD),
            "prompt" if context.generator.is_some() => prompt_box(&page.prompt, &mut text),
            "problems" => problems(page, &mut text),
            "picture" => picture(page, &mut text),
            "download" => download(page, &mut text),
            "outline" => outline_lists(page.outline.as_ref(), &mut text),
            _ => {}
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

const KEY_FIELD: &str = "<p class=\"key\"><label for=\"key\">API key</label>\
    <input id=\"key\" name=\"key\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\"></p>";

fn body_attributes(context: &Context, page: &Page, text: &mut String) {
    if page.is_view {
        text.push_str(" class=\"view\"");
    }
    if context.requires_key {
        text.push_str(" data-requires-key=\"true\"");
    }
}

fn examples(text: &mut String) {
    for (name, source) in EXAMPLES {
        text.push_str("<li><a href=\"./?inline=");
        text.push_str(&BASE64URL_NOPAD.encode(source.as_bytes()));
        text.push_str("\">");
        escape(name, text);
        text.push_str("</a></li>");
    }
}

fn prompt_box(prompt: &str, text: &mut String) {
    text.push_str("<p class=\"prompt\"><label for=\"prompt\">Describe a diagram</label><input id=\"prompt\" name=\"prompt\" value=\"");
    escape(prompt, text);
    text.push_str("\"><button name=\"action\" value=\"generate\">Write DOT</button></p>");
}

fn problems(page: &Page, text: &mut String) {
    if let Some(refusal) = &page.refusal {
        text.push_str("<ul><li>");
        escape(sentence(&refusal.verdict()), text);
        text.push_str("</li></ul>");
    }
    if !page.warnings.is_empty() {
        text.push_str("<ul class=\"warnings\">");
        for warning in &page.warnings {
            text.push_str("<li>Warning: ");
            escape(warning, text);
            text.push_str("</li>");
        }
        text.push_str("</ul>");
    }
}

fn picture(page: &Page, text: &mut String) {
    let Some(address) = &page.picture else {
        text.push_str("<img id=\"picture\" alt=\"\" hidden>");
        return;
    };
    text.push_str("<img id=\"picture\" alt=\"");
    escape(&summary(page.outline.as_ref()), text);
    text.push_str("\" src=\"");
    escape(address, text);
    text.push_str("\">");
}

fn download(page: &Page, text: &mut String) {
    if let Some(address) = &page.picture {
        text.push_str("<p class=\"plain\"><a download=\"diagram.svg\" href=\"");
        escape(address, text);
        text.push_str("\">Download SVG</a></p>");
    }
}

fn summary(outline: Option<&Outline>) -> String {
    match outline {
        Some(outline) => {
            format!("Diagram with {} and {}", counted(outline.nodes, "node"), counted(outline.edges, "edge"))
        }
        None => "Diagram".to_owned(),
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn outline_lists(outline: Option<&Outline>, text: &mut String) {
    let Some(outline) = outline else { return };
    for (title, count, lines) in
        [("Nodes", outline.nodes, &outline.node_lines), ("Edges", outline.edges, &outline.edge_lines)]
    {
        text.push_str("<h3>");
        text.push_str(title);
        text.push_str("</h3><ul>");
        for line in lines {
            text.push_str("<li>");
            escape(line, text);
            text.push_str("</li>");
        }
        if count > lines.len() {
            text.push_str(&format!("<li>and {} more</li>", count - lines.len()));
        }
        text.push_str("</ul>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_template_is_known() {
        let places: Vec<&str> =
            TEMPLATE.split("{{").skip(1).filter_map(|part| part.split_once("}}")).map(|(name, _)| name).collect();
        let known = ["body", "examples", "source", "key", "prompt", "problems", "picture", "download", "outline"];
        for name in known {
            assert_eq!(places.iter().filter(|place| **place == name).count(), 1, "{name}");
        }
        assert_eq!(places.len(), known.len(), "{places:?}");
        assert!(!TEMPLATE.contains("style="), "no inline styles");
        assert!(!TEMPLATE.contains(" on"), "no inline scripts");
        assert!(!TEMPLATE.contains("://"), "nothing from elsewhere");
    }
}
