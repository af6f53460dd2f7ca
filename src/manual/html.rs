//! Pages as a browser shows them. Whatever stands in a page is escaped, and links lead to pages of the manual or to
//! `https://` addresses, or are none.

use quintet_platform::http::html::escape;

use super::document::{Block, Cells, Span, anchor, page_of_link, plain};
use super::{EXAMPLES, PAGES, Page};

/// Where the list of all pages is; a page is below it.
pub const PATH: &str = "/manual";
/// Where the style sheet is. No topic has a point in its name.
pub const STYLE_PATH: &str = "/manual/style.css";

/// The list of all pages.
#[must_use]
pub fn list() -> String {
    let mut body = String::from("<h1>Manual</h1>\n<dl>\n");
    for page in PAGES {
        let (topic, title, summary) = (page.topic, escaped(&page.title()), escaped(&page.summary()));
        body.push_str(&format!("<dt><a href=\"{PATH}/{topic}\">{title}</a></dt>\n<dd>{summary}</dd>\n"));
    }
    body.push_str("</dl>\n");
    let examples = super::document::Document::read(EXAMPLES);
    body.push_str(&blocks(&examples.blocks));
    whole("Manual", &body, "")
}

/// A page.
#[must_use]
pub fn show(page: &Page) -> String {
    let document = page.document();
    whole(&page.title(), &blocks(&document.blocks), &navigation(page, &document.blocks))
}

/// What is around a page, and around the list of them.
fn whole(title: &str, body: &str, navigation: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let title = escaped(title);
    let skip = if navigation.is_empty() { "" } else { " <a class=\"skip\" href=\"#topics\">Topics</a>" };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} - quintet</title>\n<link rel=\"stylesheet\" href=\"{STYLE_PATH}\">\n</head>\n<body>\n\
         <header><a href=\"{PATH}\">quintet {version}: manual</a>{skip}</header>\n\
         <main>\n{body}</main>\n{navigation}</body>\n</html>\n"
    )
}

/// The list of topics, with the chapters of the page that is shown.
fn navigation(shown: &Page, blocks: &[Block]) -> String {
    let mut html = String::from("<nav id=\"topics\" aria-label=\"Topics\">\n<ul>\n");
    for page in PAGES {
        let (topic, title) = (page.topic, escaped(&page.title()));
        let (current, chapters) = match topic == shown.topic {
            true => (" aria-current=\"page\"", chapters(blocks)),
            false => ("", String::new()),
        };
        html.push_str(&format!("<li><a href=\"{PATH}/{topic}\"{current}>{title}</a>{chapters}</li>\n"));
    }
    html.push_str("</ul>\n</nav>\n");
    html
}

/// A list of the headings of the second level, if there are any.
fn chapters(blocks: &[Block]) -> String {
    let headings = blocks.iter().filter_map(Block::as_heading).filter(|(level, _)| *level == 2);
    let items: String = headings
        .map(|(_, text)| format!("<li><a href=\"#{}\">{}</a></li>", escaped(&anchor(&text)), escaped(&text)))
        .collect();
    if items.is_empty() { items } else { format!("\n<ul>{items}</ul>") }
}

pub(super) fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading { level, text } => {
            let id = escaped(&anchor(&plain(text)));
            format!("<h{level} id=\"{id}\">{}</h{level}>\n", spans(text))
        }
        Block::Paragraph(text) => format!("<p>{}</p>\n", spans(text)),
        Block::List { first_number, items } => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", item_of_list(item))).collect();
            match first_number {
                None => format!("<ul>\n{items}</ul>\n"),
                Some(number) => format!("<ol start=\"{number}\">\n{items}</ol>\n"),
            }
        }
        Block::Table { head, rows } => table(head, rows),
        Block::Code { info, text } => {
            let class = if info == "text" { " class=\"printed\"" } else { "" };
            format!("<pre tabindex=\"0\"{class}><code>{}</code></pre>\n", escaped(text))
        }
    }
}

/// An item that is one paragraph is no paragraph within a list.
fn item_of_list(item: &[Block]) -> String {
    match item {
        [Block::Paragraph(text)] => spans(text),
        several => blocks(several),
    }
}

/// A table that is wider than the window is moved by itself, by the keyboard, too.
fn table(head: &Cells, rows: &[Cells]) -> String {
    let titles: String = head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", spans(cell))).collect();
    let cells = |row: &Cells| row.iter().map(|cell| format!("<td>{}</td>", spans(cell))).collect::<String>();
    let rows: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row))).collect();
    format!(
        "<div class=\"table\" tabindex=\"0\">\n<table>\n\
         <thead><tr>{titles}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn spans(list: &[Span]) -> String {
    list.iter().map(span).collect()
}

fn span(span: &Span) -> String {
    match span {
        Span::Text(text) => escaped(text),
        Span::Code(code) => format!("<code>{}</code>", escaped(code)),
        Span::Strong(inner) => format!("<strong>{}</strong>", spans(inner)),
        Span::Emphasis(inner) => format!("<em>{}</em>", spans(inner)),
        Span::Link { target, text } => match address(target) {
            Some(address) => format!("<a href=\"{}\">{}</a>", escaped(&address), spans(text)),
            None => spans(text),
        },
    }
}

/// Where a link leads in a browser; nowhere, if it leads to something else than a page, a chapter or a web site.
fn address(target: &str) -> Option<String> {
    match page_of_link(target) {
        Some((topic, None)) => Some(format!("{PATH}/{topic}")),
        Some((topic, Some(heading))) => Some(format!("{PATH}/{topic}#{heading}")),
        None => (target.starts_with('#') || target.starts_with("https://")).then(|| target.to_owned()),
    }
}

/// Text that is text wherever it stands in HTML, in an attribute's quotes, too.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(text, &mut out);
    out
}
