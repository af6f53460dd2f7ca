//! `quintet render`: files and standard input in, pictures out, mistakes told with line and column.

use std::io::Write as _;
use std::process::{Output, Stdio};

use crate::support::appliance::{quintet, run, stderr};

fn render(arguments: &[&str], source: &[u8]) -> Output {
    let mut child = quintet()
        .arg("render")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let source = source.to_owned();
    // It may end without having read everything.
    let writer = std::thread::spawn(move || drop(input.write_all(&source)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn a_source_on_standard_input_becomes_an_svg_on_standard_output() {
    let output = render(&["-"], b"digraph g { a -> b }");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let svg = String::from_utf8(output.stdout).unwrap();
    assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains("<title>a&#45;&gt;b</title>"), "{svg}");
}

#[test]
fn the_extension_of_the_output_says_the_format() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(place("a.gv"), "graph { a -- b }").unwrap();
    for (name, flags, begin) in [
        ("a.svg", &[][..], b"<?xml".as_slice()),
        ("a.PNG", &[], b"\x89PNG\r\n\x1a\n"),
        ("a.out", &["-T", "png"], b"\x89PNG\r\n\x1a\n"),
    ] {
        let output = run(&[&["render", &place("a.gv"), "-o", &place(name)], flags].concat());
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{name}");
        assert!(output.stdout.is_empty());
        assert!(std::fs::read(place(name)).unwrap().starts_with(begin), "{name}");
    }
}

#[test]
fn fonts_of_a_directory_paint_the_text_of_png_and_move_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let fonts = directory.path().to_str().unwrap();
    let mono = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/LiberationMono-Bold.ttf");
    std::fs::copy(mono, directory.path().join("LiberationMono-Bold.ttf")).unwrap();
    // Only the bold style of this family is there, so it stands for the regular one as well.
    let source = br#"graph { a [fontname="Liberation Mono"] }"#;
    let drawn = |flags: &[&str]| {
        let output = render(&[flags, &["-"]].concat(), source);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
        output.stdout
    };
    assert_ne!(drawn(&["-T", "png"]), drawn(&["-T", "png", "--fonts", fonts]));
    assert_eq!(drawn(&["-T", "svg"]), drawn(&["-T", "svg", "--fonts", fonts]));
    let output = render(&["-", "--fonts", "/nonexistent/fonts"], source);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the fonts of /nonexistent/fonts cannot be used"), "{output:?}");
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    let output = render(&["-"], b"digraph {\n a -> ; b\n}");
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("quintet: -: syntax error in line 2 near ';'"), "{told}");
    assert!(told.contains("look at line 2, column 7"), "{told}");
    assert!(output.stdout.is_empty());
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let many = format!("graph {{ {} }}", (0..5_001).map(|i| format!("n{i} ")).collect::<String>());
    for (source, expected) in [
        (Vec::new(), "there is no graph in the source"),
        (many.into_bytes(), "the graph has more than 5000 nodes"),
        (vec![b' '; (1 << 20) + 1], "the source is larger than 1048576 bytes"),
        (b"graph {\x1b[31m}".to_vec(), "near '\\u{1b}'"),
    ] {
        let output = render(&["-"], &source);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let output = run(&["render", "/nonexistent/x.gv"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be read"), "{}", stderr(&output));
}

#[test]
fn warnings_go_to_standard_error() {
    let output = render(&["-"], b"graph { layout=neato; a [shape=nosuch, width=\x1b] }");
    assert_eq!(output.status.code(), Some(1), "an escape outside of quotes is no DOT");
    let output = render(&["-"], b"graph { layout=neato; a [shape=\"no\x1bsuch\"] }");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(told.contains("warning: layout=neato is not available: drawn with dot"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told:?}");
}
