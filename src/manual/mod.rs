//! The manual: a page a topic in `assets/manual/`, carried in the binary, shown by `quintet manual` and by the operations
//! listener under `/manual`.
//!
//! A page is Markdown: a heading, a paragraph of one line that lists show beside the topic, and chapters. Two pages have
//! no second copy of what stands elsewhere: the tour is a chapter of the README, and the list of keys is made from the
//! configuration file that packages install. Whatever a page shows to be typed is run by `tests/privileged/manual.rs`.
//!
//! Reading order: this file (the pages) · [`document`] (Markdown into blocks) · [`terminal`], [`html`] (blocks into what
//! people look at) · [`http`] (the routes).

pub mod document;
pub mod html;
pub mod http;
pub mod terminal;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::config::sample;
use document::{Block, Document};

/// What all examples of the manual take for granted.
pub const EXAMPLES: &str = "Examples are typed where an appliance runs and commands find it by themselves: installed, or \
    after `export QUINTET_DATA_DIR=./data`. `$TENANT` is the id of a tenant and `$KEY` a key of it, as `quintet manual \
    install` makes them.";

/// A page of the manual.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// What it is called for.
    pub topic: &'static str,
    text: fn() -> Cow<'static, str>,
}

/// A page that is a file and nothing else.
macro_rules! page {
    ($topic:literal) => {
        Page { topic: $topic, text: || Cow::Borrowed(include_str!(concat!("../../assets/manual/", $topic, ".md"))) }
    };
}

/// Every page, in the order in which somebody new may want them.
pub const PAGES: &[Page] = &[
    page!("install"),
    Page { topic: "tour", text: || Cow::Owned(tour(include_str!("../../README.md"))) },
    Page { topic: "configuration", text: || Cow::Owned(configuration()) },
    page!("commands"),
    page!("tenants"),
    page!("ledger"),
    page!("localization"),
    page!("runs"),
    page!("containers"),
    page!("isolation"),
    page!("webhooks"),
    page!("timers"),
    page!("workflows"),
    page!("templates"),
    page!("mcp"),
    page!("messaging"),
    page!("diagrams"),
    page!("console"),
    page!("routes"),
    page!("errors"),
    page!("backup"),
    page!("durability"),
    page!("operations"),
    page!("tls"),
    page!("security"),
    page!("house"),
    page!("dependencies"),
];

/// The page of a topic.
#[must_use]
pub fn page(topic: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.topic == topic)
}

impl Page {
    /// The page as it is written.
    #[must_use]
    pub fn markdown(&self) -> Cow<'static, str> {
        (self.text)()
    }

    /// The page, read.
    #[must_use]
    pub fn document(&self) -> Document {
        Document::read(&self.markdown())
    }

    /// Its heading.
    #[must_use]
    pub fn title(&self) -> String {
        let blocks = self.document().blocks;
        blocks.iter().find_map(Block::as_heading).map(|(_, title)| title).unwrap_or_default()
    }

    /// What it is about, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        self.document().blocks.iter().find_map(Block::as_paragraph).unwrap_or_default()
    }
}

/// The README's chapter, as a page: its headings are one level higher there.
fn tour(readme: &str) -> String {
    let chapter = readme.split_once("\n## Tour\n").map_or("", |(_, after)| after);
    let chapter = chapter.split("\n## ").next().unwrap_or_default();
    format!("# Tour\n{}", chapter.replace("\n### ", "\n## "))
}

/// The page about the configuration, and behind it every key of the file that packages install.
fn configuration() -> String {
    let mut page = include_str!("../../assets/manual/configuration.md").to_owned();
    let mut last = None;
    for key in sample::keys(sample::TEXT) {
        if last != Some(key.section) {
            let heading = if key.section.is_empty() { "At the top".to_owned() } else { format!("`[{}]`", key.section) };
            page.push_str(&format!("\n### {heading}\n\n"));
            last = Some(key.section);
        }
        page.push_str(&format!("- `{}`: {}\n", key.line, key.meaning));
    }
    page
}
