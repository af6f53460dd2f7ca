//! Shapes against sizes and corners that Graphviz 16.1 gave for the same attributes.

use super::*;
use crate::values::tests::Written;

fn shape(attributes: &str) -> NodeShape {
    let names = Names { graph: Some("%1"), node: Some("a"), ..Names::default() };
    NodeShape::new(&Written::new(attributes), &names, &mut Vec::new())
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
