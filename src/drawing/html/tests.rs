//! HTML-like labels against sizes that Graphviz 16.1 gave for them.

use super::Html;
use crate::geometry::Size;
use crate::text::{Font, Names};
use crate::warnings::Warnings;

fn html(source: &str) -> Result<Html, Vec<String>> {
    let names = Names { node: Some("a"), ..Names::default() };
    let mut warnings = Warnings::default();
    Html::new(source, &names, Font::default(), &mut warnings).map_err(|_| warnings.into_list())
}

/// Each line: the label, tab, width, tab, height, in points.
fn mismatches(cases: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let mut fields = line.rsplitn(3, '\t');
        let (Some(height), Some(width), Some(source)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (width, height): (f64, f64) = (width.parse().unwrap(), height.parse().unwrap());
        let size = match html(source) {
            Ok(label) => label.size,
            Err(_) => Size::default(),
        };
        // A node is never smaller than this.
        let size = Size::new(size.width.max(0.72), size.height.max(1.44));
        if (size.width - width).abs() > 0.5 || (size.height - height).abs() > 0.5 {
            wrong.push(format!("{source}: {:.2} x {:.2}, not {width} x {height}", size.width, size.height));
        }
    }
    wrong
}

#[test]
fn labels_are_as_large_as_graphviz_s() {
    let cases = include_str!("cases.txt");
    let wrong = mismatches(cases);
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.lines().count(), wrong.join("\n"));
}

#[test]
fn bad_labels_are_refused_in_graphviz_s_words() {
    for (source, expected) in [
        ("<b>x</i>", "mismatched tag in line 1"),
        ("<foo>x</foo>", "Unknown HTML element <foo> on line 1"),
        ("x<table><tr><td>a</td></tr></table>", "Syntax error: non-space string used before <TABLE> in line 1"),
        ("<table></table>", "syntax error in line 1"),
        ("<table><td>a</td></table>", "syntax error in line 1"),
        ("<i></i>x", "syntax error in line 1"),
        ("a&foo;", "undefined entity in line 1"),
        ("\n<table><hr/><tr><td>a</td></tr></table>", "syntax error in line 2"),
    ] {
        assert_eq!(html(source), Err(vec![expected.to_owned(), "in label of node a".to_owned()]), "{source}");
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = "<table><tr><td>".repeat(1_000);
    assert!(html(&deep).is_err());
    let spans = "<b>".repeat(1_000);
    assert!(html(&spans).is_err());
    let wide = format!("<table><tr>{}</tr></table>", "<td colspan=\"65000\" rowspan=\"65000\">x</td>".repeat(300));
    assert!(html(&wide).is_ok());
}

#[test]
fn cells_with_ports_are_found() {
    let label = html("<table><tr><td port=\"p\">aaa</td><td port=\"q\">b</td></tr></table>").unwrap();
    let (p, q) = (label.port("p").unwrap(), label.port("q").unwrap());
    assert!(p.high.x < q.low.x && p.low.y == q.low.y);
    assert_eq!(label.port("r"), None);
}
