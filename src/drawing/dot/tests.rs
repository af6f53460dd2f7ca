//! The language, case by case. Each expectation is what Graphviz 16.1 answers.

use super::{ParseError, Parsed, Place, parse, validate};
use crate::graph::Graph;
use crate::graph::values::{Attributes, Value};
use crate::limits::{Limits, TooMuch};

fn read(source: impl AsRef<[u8]>) -> Result<Parsed, ParseError> {
    parse(source.as_ref(), &Limits::default())
}

fn graph(source: impl AsRef<[u8]>) -> Graph {
    read(source).unwrap().graph
}

fn nodes(graph: &Graph) -> Vec<&str> {
    graph.nodes.iter().map(|node| &*node.name.text).collect()
}

fn edges(graph: &Graph) -> String {
    let name = |node: usize| graph.nodes[node].name.text.to_string();
    graph.edges.iter().map(|edge| name(edge.tail) + &name(edge.head)).collect::<Vec<_>>().join(" ")
}

/// One line a source: what is wrong with it, or nothing.
#[test]
fn verdicts() {
    for (source, expected) in [
        ("graph{a}", ""),
        ("STRICT DiGraph \"x\" {a->b}", ""),
        ("graph{a;;b}", "syntax error in line 1 near ';'"),
        ("graph{;}", "syntax error in line 1 near ';'"),
        ("graph{a,b -- c,d}", ""),
        ("graph{a,b=c}", "syntax error in line 1 near '='"),
        ("graph{{b},a}", "syntax error in line 1 near ','"),
        ("graph{a=b,c=d}", "syntax error in line 1 near ','"),
        ("graph{a[b]}", "syntax error in line 1 near ']'"),
        ("graph{a[b=1;c=2 d=3]}", ""),
        ("graph{a[b=1,,c=2]}", "syntax error in line 1 near ','"),
        ("graph{a[b=1,]}", ""),
        ("graph{a[][b=1]}", ""),
        ("graph{node}", "syntax error in line 1 near '}'"),
        ("graph{node=x}", "syntax error in line 1 near '='"),
        ("graph{edge[a=b] -- c}", "syntax error in line 1 near '--'"),
        ("graph{a:b:c:d}", "syntax error in line 1 near ':'"),
        ("graph{a:b=c}", "syntax error in line 1 near '='"),
        ("graph{subgraph x}", "syntax error in line 1 near '}'"),
        ("graph{subgraph{}=b}", "syntax error in line 1 near '='"),
        ("graph{a->b}", "syntax error in line 1 near '->'"),
        ("digraph{a--b}", "syntax error in line 1 near '--'"),
        ("digraph{a- >b}", "syntax error in line 1 near '-'"),
        ("graph{a", "syntax error in line 1"),
        ("graph{a}}", ""),
        ("graph", "syntax error in line 1"),
        ("graph \"a\" \"b\"", "syntax error in line 1 near '\"'"),
        ("graph <a> <b>", "syntax error in line 1 near '>'"),
        ("graph{strict=b}", "syntax error in line 1 near 'strict'"),
        ("graph{a[b=node]}", "syntax error in line 1 near 'node'"),
        ("graph{\"node\"[a=b]}", ""),
        ("graph{a@b}", "syntax error in line 1 near '@'"),
        ("graph{\x0ba}", "syntax error in line 1 near '\x0b'"),
        ("graph{-a}", "syntax error in line 1 near '-'"),
        ("graph{.1.}", "syntax error in line 1 near '.'"),
        ("graph{-5-- -6 1--.5}", ""),
        ("graph{\"a\"+\"b\" \"a\"+<b>}", ""),
        ("graph{\"a\"+b}", "syntax error in line 1 near 'b'"),
        ("graph{a+\"b\"}", "syntax error in line 1 near '+'"),
        ("graph{a#b}", "syntax error in line 1"),
        ("graph{a #b\n}", ""),
        ("graph{/***/a//b\n}", ""),
        ("graph{\n\"a\nb\"]", "syntax error in line 3 near ']'"),
        ("graph{\"a\\\nb\"]", "syntax error in line 2 near ']'"),
        ("graph{\r]", "syntax error in line 1 near ']'"),
        ("graph{<a<b>c> <\\> ]", "syntax error in line 1 near ']'"),
        ("graph{<<!-- > -->>}", "syntax error in line 1 near '>'"),
        ("graph{\n# 12 \"foo\"\n]", "foo: syntax error in line 12 near ']'"),
        ("graph{\n#line 12\n\n]", "syntax error in line 13 near ']'"),
        ("graph{\n # 12\n]", "syntax error in line 3 near ']'"),
        ("graph{\n# line 12\n]", "syntax error in line 3 near ']'"),
        ("graph{\n# 0\n]", "syntax error in line 3 near ']'"),
        ("graph{\n# 2147483648\n]", "syntax error in line 3 near ']'"),
        ("graph{\u{feff} ]", "syntax error in line 1 near ']'"),
        ("graph{\u{feff}a ]", "syntax error in line 1 near ']'"),
        ("graph{\n/* a\n b", "syntax error in line 3 scanning a /*...*/ comment (missing '*/? longer than 16384?)"),
        (
            "graph{ \"x\\\"y",
            "syntax error in line 1 scanning a quoted string (missing endquote? longer than 16384?)\nString starting:\"x\"y",
        ),
        (
            "graph{\n<a\nb",
            "syntax error in line 3 scanning a HTML string (missing '>'? bad nesting? longer than 16384?)\nString starting:<a\nb",
        ),
        ("graph{\"", "syntax error in line 1 scanning a quoted string (missing endquote? longer than 16384?)"),
    ] {
        let found = read(source).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(found, expected, "{source:?}");
    }
}

#[test]
fn a_source_without_a_graph_is_none() {
    for (source, line, column) in [
        ("", 1, 1),
        (" \n", 2, 1),
        ("// a", 1, 5),
        ("/* \u{e9}\n */ ", 2, 5),
        ("\0graph{}", 1, 1),
        ("# 1", 1, 4),
        ("# 7\n", 7, 1),
        ("\u{feff}", 1, 1),
    ] {
        assert_eq!(read(source).unwrap_err(), ParseError::Empty(Place { line, column }), "{source:?}");
    }
}

#[test]
fn what_breaks_off_is_shown_to_eighty_bytes() {
    let error = read(format!("graph{{<{}", "y".repeat(200))).unwrap_err().to_string();
    assert_eq!(error.split_once("starting:").unwrap().1, format!("<{}", "y".repeat(80)));
}

#[test]
fn columns_count_characters_of_the_line() {
    for (source, line, column) in [
        ("graph{\n  é é ]", 2, 7),
        ("graph{a}".trim_end_matches('}'), 1, 8),
        ("\u{feff}graph]", 1, 6),
        ("graph{\n\"a\nb\" -> c", 3, 4),
        ("graph a \"x\ny\"", 2, 2),
    ] {
        let error = read(source).unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(line), Some(column)), "{source:?} {error}");
    }
    assert_eq!(read(b"graph{\xe9\xe8 = ]").unwrap_err().column(), Some(12));
}

#[test]
fn text_is_what_graphviz_makes_of_it() {
    let values = graph(
        r#"graph{a[l="x\
y",o="a\\b\"c\n",c="1" + "2",h=<x <b>>,m=<a>+"b",n=-.5]}"#,
    );
    let a = values.node(0);
    assert_eq!(a.value("l"), Some(Value::Text("xy")));
    assert_eq!(a.value("o"), Some(Value::Text("a\\\\b\"c\\n")));
    assert_eq!(a.value("c"), Some(Value::Text("12")));
    assert_eq!(a.value("h"), Some(Value::Html("x <b>")));
    assert_eq!(a.value("m"), Some(Value::Html("ab")));
    assert_eq!(a.value("n"), Some(Value::Text("-.5")));
    assert_eq!(a.value("x"), None);
    assert_eq!(graph("graph{\"a\\\r\nb\"}").nodes[0].name.text.as_ref(), "a\\\r\nb");
}

#[test]
fn bytes_that_are_no_utf8_are_latin1() {
    let mixed = graph(b"graph{\"\xe9\xe8\"; \xc3\xa9}");
    assert_eq!(nodes(&mixed), ["éè", "é"]);
    let latin1 = graph(b"graph{charset=\"ISO-8859-1\" \"\xe9\xe8\"; \xc3\xa9}");
    assert_eq!(nodes(&latin1), ["éè", "Ã©"]);
}

#[test]
fn numbers_end_with_a_warning_where_letters_follow() {
    let parsed = read("graph{1abc 1.2.3 1<b> 1\"c\" 0x1}").unwrap();
    assert_eq!(nodes(&parsed.graph), ["1", "abc", "1.2", ".3", "b", "c", "0", "x1"]);
    let warning = |text: &str| {
        format!("syntax ambiguity - badly delimited number '{text}' in line 1 of input splits into two tokens")
    };
    assert_eq!(*parsed.warnings, [warning("1a"), warning("1.2."), warning("0x")]);
}

#[test]
fn edges_join_everything_on_their_sides() {
    assert_eq!(edges(&graph("graph{a,b -- c,d}")), "ac ad bc bd");
    assert_eq!(edges(&graph("digraph{a->{b c}->d}")), "ab ac bd cd");
    // In the order the nodes came about, not in which they were named.
    assert_eq!(edges(&graph("digraph{b;a;{a b}->subgraph{c}}")), "bc ac");
    assert_eq!(edges(&graph("digraph{a->a->a {}->b}")), "aa aa");
}

#[test]
fn strict_graphs_and_keys_find_edges_again() {
    assert_eq!(edges(&graph("strict graph{a--b; b--a; a--a; a--a}")), "ab aa");
    assert_eq!(edges(&graph("strict digraph{a->b; b->a; a->b}")), "ab ba");
    assert_eq!(edges(&graph("graph{a--b[key=1]; b--a[key=1,x=2]; b--a[key=2]; a--b}")), "ab ba ab");
    let turned = graph("strict graph{a:p--b:q; b:r--a}");
    assert_eq!(turned.edge(0).text("tailport"), Some("p"));
    assert_eq!(turned.edge(0).text("headport"), Some("r"));
    assert_eq!(turned.edge(0).value("key"), None);
}

#[test]
fn ports_are_attributes_of_the_edge() {
    let ports = graph("graph{a:x:n--\"b\":\"y z\"[tailport=w]; a:c--d:<e>}");
    assert_eq!(ports.edge(0).text("tailport"), Some("w"));
    assert_eq!(ports.edge(0).text("headport"), Some("y z"));
    assert_eq!(ports.edge(1).text("tailport"), Some("c"));
    assert_eq!(ports.edge(1).value("headport"), Some(Value::Html("e")));
    assert_eq!(graph("graph{a:x:n--b}").edge(0).text("tailport"), Some("x:n"));
}

#[test]
fn objects_take_over_the_defaults_at_their_creation() {
    let defaults = graph(
        "graph{a; node[color=red,fill=x]; b; subgraph s{node[color=blue] c subgraph t{node[fill=y] d}} \
         node[fill=z]; subgraph s{e} f; a[own=1]}",
    );
    let value = |node: &str, name: &str| {
        let index = nodes(&defaults).iter().position(|other| *other == node).unwrap();
        defaults.node(index).value(name).map(|value| value.as_str().to_owned())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!((value("a", "color"), value("a", "own"), value("a", "none")), (some(""), some("1"), None));
    assert_eq!((value("b", "color"), value("b", "own")), (some("red"), some("")));
    assert_eq!((value("c", "color"), value("c", "fill")), (some("blue"), some("x")));
    assert_eq!((value("d", "color"), value("d", "fill")), (some("blue"), some("y")));
    assert_eq!((value("e", "color"), value("e", "fill")), (some("blue"), some("z")));
    assert_eq!((value("f", "color"), value("f", "fill")), (some("red"), some("z")));
}

#[test]
fn a_label_that_only_others_have_is_none_for_nodes_and_empty_for_edges() {
    let labels = graph("graph{a--b; node[label=x]; c--d[label=y]}");
    assert_eq!(labels.node(0).value("label"), None);
    assert_eq!(labels.node(2).value("label"), Some(Value::Text("x")));
    assert_eq!(labels.edge(0).value("label"), Some(Value::Text("")));
}

#[test]
fn subgraphs_take_over_values_at_their_first_opening() {
    let tree = graph(
        "graph{color=red; subgraph cluster_a{x subgraph t{y}} color=blue; subgraph cluster_a{z} subgraph t{u} {v}}",
    );
    let shown = tree.subgraphs.iter().skip(1).map(|subgraph| {
        let name = subgraph.name.as_ref().map_or("", |name| &name.text);
        (name, subgraph.parent, subgraph.nodes.len())
    });
    let expected = [("cluster_a", Some(0), 3), ("t", Some(1), 1), ("t", Some(0), 1), ("", Some(0), 1)];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert_eq!((tree.subgraph(1).text("color"), tree.subgraph(3).text("color")), (Some("red"), Some("blue")));
    assert!(tree.is_cluster(1) && !tree.is_cluster(2) && !tree.is_cluster(0));
    assert!(graph("graph{subgraph a{cluster=true}}").is_cluster(1));
    assert!(graph("graph{subgraph ClusterX{cluster=false}}").is_cluster(1));
    assert!(!graph("graph{subgraph clustér{}}").is_cluster(1));
}

#[test]
fn macros_do_nothing_and_say_so() {
    let parsed = read("graph{node x = [a=b] q}").unwrap();
    assert_eq!(*parsed.warnings, ["attribute macros not implemented"]);
    assert_eq!(parsed.graph.node(0).text("a"), Some("b"));
}

#[test]
fn only_the_first_graph_is_drawn_but_all_are_validated() {
    let limits = Limits::default();
    let two = b"graph{a}\ndigraph{b->}";
    assert_eq!(nodes(&graph(two)), ["a"]);
    assert_eq!(validate(two, &limits).unwrap_err().to_string(), "syntax error in line 2 near '}'");
    assert_eq!(validate(b"graph{a} digraph{b->c} // end", &limits), Ok(()));
    assert_eq!(validate(b"graph{a} x", &limits).unwrap_err().to_string(), "syntax error in line 1 near 'x'");
    assert_eq!(validate(b"", &limits), Err(ParseError::Empty(Place { line: 1, column: 1 })));
}

/// Each bound, reached and passed by one.
#[test]
fn bounds_are_kept() {
    let limits = Limits {
        source_bytes: 1000,
        nodes: 3,
        edges: 4,
        subgraphs: 2,
        brace_depth: 3,
        label_bytes: 5,
        reading_steps: 60,
        ..Limits::default()
    };
    for (source, expected) in [
        (format!("graph{{a}}{}", " ".repeat(992)), None),
        (format!("graph{{a}}{}", " ".repeat(993)), Some(TooMuch::SourceBytes(1000))),
        ("graph{a b c a}".to_owned(), None),
        ("graph{a b c d}".to_owned(), Some(TooMuch::Nodes(3))),
        ("graph{a--b--a--b--a}".to_owned(), None),
        ("graph{a--b--a--b--a--b}".to_owned(), Some(TooMuch::Edges(4))),
        ("graph{subgraph a{} {} subgraph a{}}".to_owned(), None),
        ("graph{{} {} {}}".to_owned(), Some(TooMuch::Subgraphs(2))),
        ("graph{{{}}}".to_owned(), None),
        ("graph{{{{}}}}".to_owned(), Some(TooMuch::BraceDepth(3))),
        ("graph{a[xlabel=12345]}".to_owned(), None),
        ("graph{a[xlabel=123456]}".to_owned(), Some(TooMuch::LabelBytes(5))),
        ("graph{a[comment=123456]}".to_owned(), Some(TooMuch::LabelBytes(5))),
        ("graph{a[pos=123456 nosuch=123456]}".to_owned(), None),
        ("graph{node[label=123456]}".to_owned(), Some(TooMuch::LabelBytes(5))),
        ("graph 12345{subgraph 12345{12345}}".to_owned(), None),
        ("graph 123456{}".to_owned(), Some(TooMuch::LabelBytes(5))),
        ("graph{subgraph 123456{}}".to_owned(), Some(TooMuch::LabelBytes(5))),
        ("graph{123456}".to_owned(), Some(TooMuch::LabelBytes(5))),
        (format!("strict graph{{{}}}", "a--b ".repeat(60)), None),
        (format!("strict graph{{{}}}", "a--b ".repeat(61)), Some(TooMuch::Reading)),
    ] {
        let found = parse(source.as_bytes(), &limits).err();
        assert_eq!(found, expected.map(ParseError::TooMuch), "{source:.60}");
    }
}

#[test]
fn of_a_long_token_its_beginning_is_told() {
    let (shown, long) = ("\u{e9}".repeat(100), "\u{e9}".repeat(1_000));
    for (source, expected) in [
        (shown.clone(), format!("syntax error in line 1 near '{shown}'")),
        (long.clone(), format!("syntax error in line 1 near '{shown}\u{2026}'")),
    ] {
        assert_eq!(read(&source).map_err(|error| error.to_string()).err(), Some(expected));
    }
    let warnings = read(format!("graph{{{}a}}", "7".repeat(1_000))).unwrap().warnings.into_list();
    assert!(warnings.len() == 1 && warnings.iter().all(|warning| warning.len() < 250), "{warnings:?}");
}

/// Sources whose cost is far larger than they are, if nothing bounds it.
#[test]
fn small_sources_cannot_cost_much() {
    let body = |text: String| format!("strict digraph{{{text}}}");
    let many = (0..500).map(|i| format!("n{i} ")).collect::<String>();
    for source in [
        body(format!("subgraph a{{{many}}} {}", "subgraph a{}->subgraph a{} ".repeat(2_000))),
        body((0..30_000).map(|i| format!("node[a{i}=1] n{} ", i % 4_000)).collect::<String>()),
        body(format!("{}{many}", "{".repeat(500)).repeat(20)),
        body("{".repeat(100_000)),
        body("[".repeat(100_000)),
        "graph{".to_owned() + &"<".repeat(100_000),
        body(format!("a{}", "->a".repeat(100_000))),
    ] {
        let started = std::time::Instant::now();
        let _ = read(&source);
        assert!(started.elapsed().as_secs() < 5, "{source:.60}");
    }
}
