//! What a browser would follow, and what it would run, in SVGs of hostile sources: read by an XML parser that is not ours.

use std::fmt::Write as _;

use fastrand::Rng;
use quick_xml::escape::unescape;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

use crate::render::{Format, Options, Rendered, render};

fn drawn(source: &str) -> Rendered {
    render(source.as_bytes(), Format::Svg, &Options::default()).unwrap_or_else(|error| panic!("{error}: {source}"))
}

/// Elements and attributes of a picture, decoded: element, attribute, value.
fn attributes(svg: &[u8]) -> Vec<(String, String, String)> {
    let text = std::str::from_utf8(svg).unwrap();
    let mut reader = Reader::from_str(text);
    let mut all = Vec::new();
    loop {
        let (Event::Start(element) | Event::Empty(element)) = (match reader.read_event().unwrap() {
            Event::Eof => return all,
            event => event,
        }) else {
            continue;
        };
        let name = element.name().as_ref().to_owned();
        all.push((name.clone(), String::new(), String::new()));
        for attribute in element.attributes() {
            let attribute = attribute.unwrap();
            let key = attribute.key.as_ref().to_owned();
            // As XML has it, and as HTML has it, which leaves tabs and line ends alone.
            let normal = attribute.normalized_value(XmlVersion::Explicit1_0).unwrap().into_owned();
            let whole = unescape(&attribute.value).unwrap().into_owned();
            if whole != normal {
                all.push((name.clone(), key.clone(), whole));
            }
            all.push((name.clone(), key, normal));
        }
    }
}

fn hrefs(svg: &[u8]) -> Vec<String> {
    attributes(svg).into_iter().filter(|(_, key, _)| key.ends_with("href")).map(|(_, _, value)| value).collect()
}

/// The scheme that a browser reads in an address, by the steps of the URL standard.
fn scheme(address: &str) -> Option<String> {
    let trimmed = address.trim_matches(|c: char| c <= ' ');
    let mut scheme = String::new();
    for c in trimmed.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')) {
        match c {
            ':' if !scheme.is_empty() => return Some(scheme),
            c if c.is_ascii_alphabetic() => scheme.push(c.to_ascii_lowercase()),
            '0'..='9' | '+' | '-' | '.' if !scheme.is_empty() => scheme.push(c),
            _ => return None,
        }
    }
    None
}

/// Panics if a picture leads where it may not, or holds anything that runs or loads.
fn check(svg: &[u8], source: &str) {
    const ELEMENTS: [&str; 13] = [
        "svg",
        "g",
        "title",
        "a",
        "polygon",
        "polyline",
        "path",
        "ellipse",
        "text",
        "defs",
        "linearGradient",
        "radialGradient",
        "stop",
    ];
    for (element, key, value) in attributes(svg) {
        assert!(ELEMENTS.contains(&element.as_str()), "<{element}> of {source}");
        assert!(!key.to_ascii_lowercase().starts_with("on"), "{key} of {source}");
        if key.ends_with("href") {
            assert_eq!((element.as_str(), key.as_str()), ("a", "xlink:href"), "{source}");
            let scheme = scheme(&value);
            let is_followed = scheme.as_deref().is_none_or(|scheme| ["http", "https", "mailto"].contains(&scheme));
            assert!(is_followed, "{value:?} of {source}");
        }
        if key == "style" {
            assert!(
                element == "stop" && value.starts_with("stop-color:") && !value.contains("url"),
                "{value}: {source}"
            );
        }
        if value.contains("url(") && matches!(key.as_str(), "fill" | "stroke") {
            assert!(value.starts_with("url(#") && value.ends_with(')'), "{value}: {source}");
        }
    }
}

/// Attributes that hold links, with what has them.
const LINKS: [(&str, &str); 13] = [
    ("graph", "URL"),
    ("graph", "href"),
    ("node", "URL"),
    ("node", "href"),
    ("edge", "URL"),
    ("edge", "href"),
    ("edge", "edgeURL"),
    ("edge", "edgehref"),
    ("edge", "headURL"),
    ("edge", "headhref"),
    ("edge", "tailURL"),
    ("edge", "labelURL"),
    ("edge", "labelhref"),
];

/// A text as a quoted string of DOT.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A graph with `link` in `attribute` of everything that has it.
fn linked(kind: &str, attribute: &str, link: &str) -> String {
    let link = quoted(link);
    format!(
        "digraph {{ label=G {kind} [{attribute}={link}] subgraph cluster_c {{ label=C a }} \
         a -> b [label=L headlabel=H taillabel=T xlabel=X] }}"
    )
}

#[test]
fn no_attribute_leads_where_it_may_not() {
    for (kind, attribute) in LINKS {
        for link in [
            "javascript:alert(1)",
            "&#106;avascript:alert(1)",
            "&#x6a;avascript&#x3A;alert(1)",
            "java&#9;script:alert(1)",
            "javascript&#58;alert(1)",
            "&amp;#106;avascript:alert(1)",
            " \u{1}javascript:alert(1)",
            "javascript&colon;alert(1)",
            "java&Tab;script&NewLine;&colon;alert(1)",
            "data:text/html,x",
        ] {
            let source = linked(kind, attribute, link);
            let rendered = drawn(&source);
            check(&rendered.bytes, &source);
            let svg = String::from_utf8(rendered.bytes).unwrap();
            assert!(hrefs(svg.as_bytes()).is_empty(), "{svg}");
            for label in ["G", "C", "L", "H", "T", "X", "b"] {
                assert!(svg.contains(&format!(">{label}</text>")), "{label} is gone from {source}");
            }
            let is_told = rendered.warnings.iter().any(|warning| warning.contains("is left out: only http"));
            assert!(is_told, "{source}: {:?}", rendered.warnings);
        }
        let source = linked(kind, attribute, "http://a/?b=1&amp;c=2");
        let rendered = drawn(&source);
        let hrefs = hrefs(&rendered.bytes);
        assert!(!hrefs.is_empty(), "{source}");
        assert!(hrefs.iter().all(|href| href == "http://a/?b=1&c=2"), "{hrefs:?}");
        assert!(rendered.warnings.is_empty(), "{:?}", rendered.warnings);
    }
}

#[test]
fn no_cell_leads_where_it_may_not() {
    for link in [
        "javascript:alert(1)",
        "&#106;avascript:alert(1)",
        "&amp;#106;avascript:alert(1)",
        "&amp;amp;#106;avascript:alert(1)",
        "javascript&amp;#58;alert(1)",
        "java&#9;script:alert(1)",
        "java&amp;#9;script:alert(1)",
    ] {
        for place in ["<table HREF=\"x\"><tr><td>c</td></tr></table>", "<table><tr><td HREF='x'>c</td></tr></table>"] {
            let source = format!("graph {{ a [label=<{}>] }}", place.replace('x', link));
            let rendered = drawn(&source);
            check(&rendered.bytes, &source);
            assert!(hrefs(&rendered.bytes).is_empty(), "{source}");
            assert!(rendered.warnings.iter().any(|warning| warning.contains("is left out")), "{source}");
            assert!(String::from_utf8(rendered.bytes).unwrap().contains(">c</text>"), "{source}");
        }
    }
}

/// Pieces of which hostile texts are made.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "javascript", "JAVAscript", "java", "script", "vbscript", "data", "text/html,", "http", "https", "mailto", "alert(1)",
    ":", "/", "//", "?", "#", "&", ";", "&amp;", "&amp", "&AMP;", "&lt;", "&quot;", "&apos;", "&#39;", "&#34;", "\"", "'",
    "<", ">", "<script>", "</a>", "-->", "<!--", "]]>", "&#58;", "&#58", "&#x3a;", "&#x3A", "&#0000058;", "&colon;",
    "&COLON;", "&Tab;", "&NewLine;", "&num;", "&semi;", "&sol;", "&nbsp;", "&#106;", "&#x6a;", "&#74", "&#000000000106;",
    "&#9;", "&#10;", "&#13;", "&#1;", "&#0;", "&#xD800;", "&#x110000;", "\t", "\n", "\r", " ", "\u{1}", "\u{7f}",
    "\u{a0}", "\u{200b}", "\u{fffe}", "\u{ff1a}", "x", "j", "\\", "\\N", "\\G", "%6a", "%3A", " onload=", "style=",
];

fn hostile(random: &mut Rng) -> String {
    (0..random.usize(1..9)).map(|_| PIECES[random.usize(..PIECES.len())]).collect()
}

#[test]
fn whatever_a_source_says_nothing_runs_and_nothing_leads_astray() {
    let cases = std::env::var("QUINTET_DIAGRAMS_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    let mut followed = 0;
    for seed in 0..cases {
        let mut random = Rng::with_seed(seed);
        let mut source = String::from("digraph ");
        let _ = write!(source, "{} {{ ", quoted(&hostile(&mut random)));
        for (kind, attribute) in LINKS {
            let _ = write!(source, "{kind} [{attribute}={}] ", quoted(&hostile(&mut random)));
        }
        for kind in ["graph", "node", "edge"] {
            for attribute in ["tooltip", "target", "id", "class", "comment", "label", "fontname", "color", "fillcolor"]
            {
                if random.u32(..3) == 0 {
                    let _ = write!(source, "{kind} [{attribute}={}] ", quoted(&hostile(&mut random)));
                }
            }
        }
        let cell = hostile(&mut random).replace(['<', '>', '"'], "");
        let _ = write!(
            source,
            "node [style=filled fillcolor=\"red:blue\"] subgraph cluster_c {{ a }} {} -> a [headlabel=h] \
             t [label=<<table HREF=\"{cell}\" TITLE=\"{cell}\" ID=\"{cell}\"><tr><td TARGET=\"{cell}\">c</td></tr></table>>] }}",
            quoted(&hostile(&mut random)),
        );
        let Ok(rendered) = render(source.as_bytes(), Format::Svg, &Options::default()) else {
            panic!("seed {seed}: {source}");
        };
        check(&rendered.bytes, &source);
        followed += hrefs(&rendered.bytes).len();
    }
    assert!(followed > 100, "almost no link was kept: {followed}");
}
