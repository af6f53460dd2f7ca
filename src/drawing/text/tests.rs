//! Text against what Graphviz 16.1 says of the same labels.

use super::*;

fn names() -> Names<'static> {
    Names { graph: Some("G"), node: Some("node1"), ..Names::default() }
}

fn lines(text: &str) -> Vec<(String, Justify)> {
    expand(text, &names())
}

#[test]
fn escapes_end_lines_and_name_things() {
    use Justify::*;
    let plain = |text: &str| vec![(text.to_owned(), Center)];
    for (label, expected) in [
        ("", vec![]),
        ("a", plain("a")),
        ("a\\n", plain("a")),
        ("a\\lb\\rc", vec![("a".to_owned(), Left), ("b".to_owned(), Right), ("c".to_owned(), Center)]),
        ("\\n", plain("")),
        ("\\N in \\G", plain("node1 in G")),
        ("\\E\\T\\H\\L", plain("ETHL")),
        ("\\q\\\\n", plain("q\\n")),
        ("a\nb", vec![("a".to_owned(), Center), ("b".to_owned(), Center)]),
        ("a\\", plain("a")),
    ] {
        assert_eq!(lines(label), expected, "{label:?}");
    }
}

#[test]
fn entities_are_those_graphviz_knows() {
    for (text, expected) in [
        ("&#65;&#x42;&#X43;", "ABC"),
        ("&eacute;&lang;&thetasym;", "é\u{3008}&thetasym;"),
        ("&amp;lt; &amp &;& ;", "&lt; &amp &;& ;"),
        ("&#1114112;&#99999999999;&#xD800;", "&#1114112;&#99999999999;&#xD800;"),
        ("&lt", "&lt"),
        ("é&", "é&"),
        ("&ééééé;", "&ééééé;"),
    ] {
        assert_eq!(decode_entities(text), expected, "{text:?}");
    }
}

#[test]
fn widths_are_graphviz_s() {
    let width = |text: &str, name: &str, size: f64| {
        line_width(text, &Font { name: name.into(), size, style: FontStyle::default() })
    };
    let hundred = "a".repeat(100);
    for (text, name, size, expected) in [
        (hundred.as_str(), "Times-Roman", 14.0, 621.3888),
        ("é", "Times", 14.0, 7.0),
        ("日日日日日日日日日日", "", 14.0, 105.0),
        ("WilmXyzWilmXyz", "Nimbus  Sans", 100.0, 777.65),
        ("WilmXyzWilmXyz", "ARIAL12", 100.0, 777.65),
        ("WilmXyzWilmXyz", "Arial-Bold", 100.0, 788.67),
        ("\t", "Times", 14.0, 0.0),
    ] {
        let found = width(text, name, size);
        assert!((found - expected).abs() < 0.05, "{text} in {name}: {found}, not {expected}");
    }
}

#[test]
fn empty_lines_are_whole_points_high() {
    let height = |label: &str, size: f64| TextBlock::new(lines(label), Font { size, ..Font::default() }).size.height;
    assert!((height("x\\n\\ny", 8.0) - 28.2).abs() < 1e-9);
    assert!((height("\\n", 10.5) - 12.0).abs() < 1e-9);
    assert!((height("x\\n", 14.0) - 16.8).abs() < 1e-9);
    assert!(height("", 14.0).abs() < 1e-9);
}
