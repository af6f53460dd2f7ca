//! What holds for every page, and how pages are read and shown.

use std::collections::BTreeSet;
use std::path::Path;

use super::document::{Block, Document, Span, anchor, page_of_link, plain};
use super::terminal::{Look, render};
use super::{PAGES, html, page, tour};
use crate::config::{sample, schema::SETTINGS};

const README: &str = include_str!("../../README.md");

/// The longest summary, in characters: lists show it beside the topic.
const SUMMARY_LEN_MAX: usize = 64;

/// All blocks, those within lists included.
fn all_blocks(blocks: &[Block]) -> Vec<&Block> {
    let mut found = Vec::new();
    for block in blocks {
        found.push(block);
        if let Block::List { items, .. } = block {
            items.iter().for_each(|item| found.extend(all_blocks(item)));
        }
    }
    found
}

/// All spans of a page, those within others included.
fn all_spans(blocks: &[Block]) -> Vec<Span> {
    fn within(spans: &[Span], found: &mut Vec<Span>) {
        for span in spans {
            found.push(span.clone());
            match span {
                Span::Strong(inner) | Span::Emphasis(inner) | Span::Link { text: inner, .. } => within(inner, found),
                Span::Text(_) | Span::Code(_) => {}
            }
        }
    }
    let mut found = Vec::new();
    for block in all_blocks(blocks) {
        match block {
            Block::Heading { text, .. } | Block::Paragraph(text) => within(text, &mut found),
            Block::Table { head, rows } => {
                rows.iter().chain([head]).flatten().for_each(|cell| within(cell, &mut found));
            }
            Block::List { .. } | Block::Code { .. } => {}
        }
    }
    found
}

/// What the headings of a page are called in addresses.
fn anchors(document: &Document) -> Vec<String> {
    document.blocks.iter().filter_map(Block::as_heading).map(|(_, text)| anchor(&text)).collect()
}

#[test]
fn every_file_is_a_page() {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/manual")).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect();
    let pages: BTreeSet<String> = PAGES.iter().map(|page| page.topic.to_owned()).filter(|t| t != "tour").collect();
    assert_eq!(files, pages);
    assert!(PAGES.iter().all(|page| !page.markdown().is_empty() && page.topic.chars().all(|c| c.is_ascii_lowercase())));
}

#[test]
fn pages_are_written_in_what_is_read() {
    for page in PAGES {
        let document = page.document();
        assert_eq!(document.left_out, Vec::<String>::new(), "{}", page.topic);
        let [Block::Heading { level: 1, .. }, Block::Paragraph(summary), ..] = document.blocks.as_slice() else {
            panic!("{} begins otherwise", page.topic);
        };
        let summary = plain(summary);
        assert!(summary.chars().count() <= SUMMARY_LEN_MAX, "{}: {summary}", page.topic);
        assert_eq!(summary, page.summary());
        let levels = document.blocks.iter().filter_map(Block::as_heading).map(|(level, _)| level);
        assert!(levels.skip(1).all(|level| level == 2 || level == 3), "{}", page.topic);
        let (anchors, mut seen) = (anchors(&document), BTreeSet::new());
        assert!(anchors.iter().all(|anchor| seen.insert(anchor)), "{}: {anchors:?}", page.topic);
    }
}

#[test]
fn links_lead_somewhere() {
    let documents = PAGES.iter().map(|page| (page.topic, page.document())).chain([("README", Document::read(README))]);
    let mut count = 0;
    for (topic, document) in documents {
        for span in all_spans(&document.blocks) {
            let Span::Link { target, .. } = span else { continue };
            count += 1;
            let is_there = match (page_of_link(&target), target.strip_prefix('#')) {
                _ if topic == "README" => Path::new(env!("CARGO_MANIFEST_DIR")).join(&target).exists(),
                (Some((other, heading)), _) => page(other).is_some_and(|page| {
                    heading.is_none_or(|heading| anchors(&page.document()).iter().any(|known| known == heading))
                }),
                (None, Some(heading)) => anchors(&document).iter().any(|known| known == heading),
                (None, None) => target.starts_with("https://"),
            };
            assert!(is_there, "{topic}: {target}");
        }
    }
    assert!(count > 30, "{count} links found");
}

#[test]
fn pages_fit_a_terminal_of_80_columns() {
    for page in PAGES {
        let text = render(&page.document(), Look { width: 80, is_bold: false });
        let lines: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(lines.is_empty(), "{}: {lines:#?}", page.topic);
        assert!(!text.contains(['\u{1b}', '\t']), "{}", page.topic);
    }
}

/// The page about the configuration is made of the sample file, which `src/config/tests.rs` holds against the schema.
#[test]
fn the_configuration_has_every_key() {
    let page = page("configuration").unwrap();
    let spans = all_spans(&page.document().blocks);
    let shown: BTreeSet<&str> = spans
        .iter()
        .filter_map(|span| if let Span::Code(code) = span { code.split(" = ").next() } else { None })
        .collect();
    let missing: Vec<_> = SETTINGS.iter().filter(|setting| !shown.contains(setting.path.last().unwrap())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(sample::keys(sample::TEXT).len() > 50);
}

#[test]
fn the_tour_is_the_readmes_chapter() {
    let readme = "# A\n## Tour\nWords.\n### B\ntext\n## C\nmore";
    assert_eq!(tour(readme), "# Tour\nWords.\n## B\ntext");
    let link = "../../README.md#tour";
    assert_eq!(page_of_link(link), Some(("tour", None)));
    assert!(page("install").unwrap().markdown().contains(&format!("[tour]({link})")), "the tour comes after it");
    assert!(README.contains("\n## Tour\n"));
}

const SAMPLE: &str = "# A *page*\n\nWords `of <code>`\nand **more**.\n\n- one\n- [two](backup.md#damage)\n\n1. first\n\n   ```sh x\n   a &&\n   ```\n2. second\n\n| a | b |\n|---|---|\n| `x` | \"y\" & z |\n";

#[test]
fn markdown_is_read_into_blocks() {
    let document = Document::read(SAMPLE);
    assert_eq!(document.left_out, Vec::<String>::new());
    let text = |text: &str| Span::Text(text.to_owned());
    assert_eq!(
        document.blocks,
        [
            Block::Heading { level: 1, text: vec![text("A "), Span::Emphasis(vec![text("page")])] },
            Block::Paragraph(vec![
                text("Words "),
                Span::Code("of <code>".to_owned()),
                text(" "),
                text("and "),
                Span::Strong(vec![text("more")]),
                text("."),
            ]),
            Block::List {
                first_number: None,
                items: vec![
                    vec![Block::Paragraph(vec![text("one")])],
                    vec![Block::Paragraph(vec![Span::Link {
                        target: "backup.md#damage".to_owned(),
                        text: vec![text("two")]
                    }])],
                ],
            },
            Block::List {
                first_number: Some(1),
                items: vec![
                    vec![
                        Block::Paragraph(vec![text("first")]),
                        Block::Code { info: "sh x".to_owned(), text: "a &&\n".to_owned() },
                    ],
                    vec![Block::Paragraph(vec![text("second")])],
                ],
            },
            Block::Table {
                head: vec![vec![text("a")], vec![text("b")]],
                rows: vec![vec![vec![Span::Code("x".to_owned())], vec![text("\"y\" & z")]]],
            },
        ]
    );
}

#[test]
fn what_pages_may_not_contain_is_named() {
    for (text, named) in [
        ("<b>x</b>", "InlineHtml"),
        ("<div>\nx\n</div>", "HtmlBlock"),
        ("![x](y.png)", "Image"),
        ("> x", "BlockQuote"),
        ("---", "Rule"),
    ] {
        let left_out = Document::read(text).left_out.join(" ");
        assert!(left_out.contains(named), "{text}: {left_out}");
    }
}

#[test]
fn pages_are_shown_in_a_terminal() {
    let shown = render(&Document::read(SAMPLE), Look { width: 30, is_bold: false });
    let expected = "\
A page
======

Words `of <code>` and more.

- one
- two (`quintet manual
  backup`)

1. first

     a &&

2. second

a  b
x  \"y\" & z
";
    assert_eq!(shown, expected);
    let bold = render(&Document::read("# A b\n\n**c** d"), Look { width: 80, is_bold: true });
    assert_eq!(bold, "\u{1b}[1mA\u{1b}[0m \u{1b}[1mb\u{1b}[0m\n===\n\n\u{1b}[1mc\u{1b}[0m d\n");
}

#[test]
fn tables_fit_as_well_as_they_can() {
    let table = "| key | what it says |\n|---|---|\n| `a.b` | one two three four five six seven |\n";
    let wide = render(&Document::read(table), Look { width: 80, is_bold: false });
    assert_eq!(wide, "key  what it says\na.b  one two three four five six seven\n");
    let narrow = render(&Document::read(table), Look { width: 32, is_bold: false });
    assert_eq!(narrow, "key  what it says\na.b  one two three four five six\n     seven\n");
    let long = table.replace("`a.b`", "`a.very.long.name.of.a.key`");
    let stacked = render(&Document::read(&long), Look { width: 40, is_bold: false });
    let expected = "key\n    what it says\na.very.long.name.of.a.key\n    one two three four five six seven\n";
    assert_eq!(stacked, expected);
}

#[test]
fn nothing_in_a_page_is_markup_but_its_own() {
    let hostile = "# \\<script>\n\nA `<img src=x onerror=\"y\">` & [b](javascript:alert(1)) [c](https://x.example/?a='b') \
        [d](../../etc/passwd) [e](data:text/html,x)\n\n```sh\n</code><script>\n```\n";
    let document = Document::read(hostile);
    let html = html::blocks(&document.blocks);
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("javascript"), "{html}");
    assert!(!html.contains("passwd") && !html.contains("data:"), "{html}");
    assert!(html.contains("href=\"https://x.example/?a=&#39;b&#39;\""), "{html}");
    assert!(html.contains("<h1 id=\"script\">&lt;script&gt;</h1>"), "{html}");
    assert!(html.contains("<code>&lt;/code&gt;&lt;script&gt;\n</code>"), "{html}");
}

#[test]
fn pages_are_shown_in_a_browser() {
    let html = html::blocks(&Document::read(SAMPLE).blocks);
    assert!(html.contains("<a href=\"/manual/backup#damage\">two</a>"), "{html}");
    assert!(html.contains("<th scope=\"col\">a</th>"), "{html}");
    assert!(html.contains("<ol start=\"1\">"), "{html}");
    for page in PAGES {
        let html = html::show(page);
        assert!(html.contains("<title>") && html.contains(" aria-current=\"page\""), "{}", page.topic);
        assert_eq!(html.matches("<h1").count(), 1, "{}", page.topic);
        assert!(!html.contains("<script") && !html.contains(" style="), "{}", page.topic);
    }
    let list = html::list();
    assert!(PAGES.iter().all(|page| list.contains(&format!("href=\"/manual/{}\"", page.topic))));
}
