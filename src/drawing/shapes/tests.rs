//! Shapes against sizes and corners that Graphviz 16.1 gave for the same attributes.

use super::*;
use crate::graph::values::tests::Written;
use crate::html::label::Label;
use crate::text::Names;
use crate::warnings::Warnings;

fn shape(attributes: &str) -> NodeShape {
    let names = Names { graph: Some("%1"), node: Some("a"), ..Names::default() };
    let attributes = attributes.strip_prefix("LR ;; ").map_or((attributes, false), |rest| (rest, true));
    NodeShape::new(&Written::new(attributes.0), &names, attributes.1, &mut Warnings::default())
}

/// Each line: attributes, tab, width, tab, height, in points.
fn mismatches(cases: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in cases.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (Some(attributes), Some(width), Some(height)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (width, height): (f64, f64) = (width.parse().unwrap(), height.parse().unwrap());
        let size = shape(attributes).size;
        if (size.width - width).abs() > 0.5 || (size.height - height).abs() > 0.5 {
            wrong.push(format!("{attributes}: {:.2} x {:.2}, not {width} x {height}", size.width, size.height));
        }
    }
    wrong
}

#[test]
fn boxes_are_graphviz_s() {
    let cases = include_str!("cases.txt");
    let wrong = mismatches(cases);
    assert!(cases.lines().count() > 2_000);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ports_lie_where_graphviz_puts_them() {
    let record = "shape=record ;; label=<f>a|<g>b|{<h>c|d}";
    for (attributes, port, point, expected) in [
        ("shape=box", None, Some("ne"), Some((27.0, 18.0, false))),
        ("shape=ellipse", Some("e"), None, Some((27.5, 0.0, false))),
        ("shape=ellipse", None, Some("sw"), Some((-15.35, -15.35, false))),
        ("shape=none", None, Some("ne"), Some((18.5, 18.5, false))),
        ("shape=diamond", None, Some("c"), Some((0.0, 0.0, true))),
        ("shape=ellipse", Some("foo"), None, None),
        (record, Some("f"), None, Some((-23.11, 0.0, true))),
        (record, Some("h"), Some("w"), Some((11.11, 12.4, false))),
        (record, Some("h"), Some("ne"), Some((34.11, 24.8, false))),
        (record, Some("f"), Some("zz"), Some((-23.11, 0.0, true))),
        (record, Some("zz"), Some("n"), None),
        (record, Some("e"), None, Some((34.11, 0.0, false))),
    ] {
        let found = shape(attributes).port("a", port, point, &mut Warnings::default());
        match (found, expected) {
            (None, None) => {}
            (Some(port), Some((x, y, clip))) => {
                let close = (port.point.x - x).abs() < 0.6 && (port.point.y - y).abs() < 0.6;
                assert!(close && port.clip == clip, "{attributes} {point:?}: {port:?}");
            }
            _ => panic!("{attributes} {port:?} {point:?}: {found:?}"),
        }
    }
}

/// What Graphviz 16.1 draws of such labels.
#[test]
fn html_like_records_are_cut_into_fields() {
    let cases: [(&str, &[&str]); 12] = [
        ("{Cluster|name : str<br ALIGN=\"LEFT\"/>size|draw()}", &["Cluster", "name : str/size", "draw()"]),
        ("<b>x</b>|{y|<i>w</i>}", &["x", "y", "w"]),
        ("a b  c |  d\\ne\\|f", &["a b  c", "d\\ne|f"]),
        ("x|  |y", &["x", " ", "y"]),
        ("  a  ", &["a "]),
        ("a\\ \\ b  c\\ ", &["a\\ \\ b  c\\"]),
        ("a}b|c", &["a"]),
        ("a|<b>x|y</b>", &["a", "", ""]),
        ("{a|b}|c{d", &["a"]),
        ("x\\N|\\Gy", &["xa", "%1y"]),
        ("a &amp; b|&lt;f&gt;|&#124;", &["a & b", "<f>", "|"]),
        ("{}", &[" "]),
    ];
    for (label, expected) in cases {
        let shape = shape(&format!("shape=record ;; label=HTML:{label}"));
        let labels = shape.fields.iter().filter_map(|field| field.label.as_ref()).map(|placed| &placed.label);
        let said: Vec<String> = labels
            .map(|label| match label {
                Label::Html(html) => html.lines().join("/"),
                Label::Text(_) => String::new(),
            })
            .collect();
        assert_eq!(said, expected, "{label}");
    }
}
