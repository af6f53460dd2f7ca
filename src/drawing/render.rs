//! The whole way from a source to a picture.

use std::fmt;
use std::sync::Arc;

use crate::bound::Bound;
use crate::dot::{ParseError, parse};
use crate::fonts::Collection;
use crate::graph::Graph;
use crate::graph::values::Attributes;
use crate::layout::layout;
use crate::limits::{Limits, TooMuch};
use crate::paint::paint;
use crate::plan::Plan;
use crate::png;
use crate::svg;
use crate::work::{Care, Effort, Exhausted, PAINTING_STEPS, Work};

/// Counted up whenever the same source may give another picture, so that nobody who keeps pictures gives the old one.
pub const REVISION: u32 = 8;

/// What a picture is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// PNG.
    #[default]
    Png,
    /// SVG.
    Svg,
}

impl Format {
    /// The format of this name, in small letters.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "png" => Some(Format::Png),
            "svg" => Some(Format::Svg),
            _ => None,
        }
    }

    /// Its name, which is also the extension of its files.
    pub fn name(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Svg => "image/svg+xml",
        }
    }
}

/// How a source is drawn.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it may ask for.
    pub limits: Limits,
    /// By how much a PNG's resolution is larger than it would be: 2 for screens with two dots for one.
    pub enlarge: f64,
    /// Fonts that text of a PNG is painted with before the embedded ones.
    pub fonts: Arc<Collection>,
    /// What it may cost.
    pub effort: Effort,
}

impl Default for Options {
    fn default() -> Options {
        Options { limits: Limits::default(), enlarge: 1.0, fonts: Arc::default(), effort: Effort::default() }
    }
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the user should know, in Graphviz's words where it has any, each once.
    pub warnings: Vec<String>,
    /// How much care the drawing got; less than [`Care::Full`] only where the graph takes too much work.
    pub care: Care,
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// The source is no graph.
    Source(ParseError),
    /// The graph, or its picture, goes past a bound.
    TooMuch(TooMuch),
    /// The graph takes too much work.
    Exhausted(Exhausted),
}

impl RenderError {
    /// The line of what is wrong with the source.
    pub fn line(&self) -> Option<u32> {
        match self {
            RenderError::Source(error) => error.line(),
            RenderError::TooMuch(_) | RenderError::Exhausted(_) => None,
        }
    }

    /// The column of it.
    pub fn column(&self) -> Option<u32> {
        match self {
            RenderError::Source(error) => error.column(),
            RenderError::TooMuch(_) | RenderError::Exhausted(_) => None,
        }
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenderError::Source(error) => error.fmt(f),
            RenderError::TooMuch(error) => error.fmt(f),
            RenderError::Exhausted(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RenderError {}

impl From<ParseError> for RenderError {
    fn from(error: ParseError) -> RenderError {
        match error {
            ParseError::TooMuch(limit) => RenderError::TooMuch(limit),
            ParseError::Syntax(_) | ParseError::Empty(_) => RenderError::Source(error),
        }
    }
}

impl From<TooMuch> for RenderError {
    fn from(limit: TooMuch) -> RenderError {
        RenderError::TooMuch(limit)
    }
}

impl From<Bound> for RenderError {
    fn from(bound: Bound) -> RenderError {
        match bound {
            Bound::TooMuch(limit) => RenderError::TooMuch(limit),
            Bound::Exhausted(error) => RenderError::Exhausted(error),
        }
    }
}

impl From<Exhausted> for RenderError {
    fn from(error: Exhausted) -> RenderError {
        RenderError::Exhausted(error)
    }
}

/// Draws the first graph of `source`.
///
/// The same source, format and options give the same bytes, on every machine.
///
/// # Errors
/// See [`RenderError`].
pub fn render(source: &[u8], format: Format, options: &Options) -> Result<Rendered, RenderError> {
    let limits = &options.limits;
    let mut work = Work::of(options.effort);
    let parsed = parse(source, limits)?;
    let mut warnings = parsed.warnings;
    warnings.extend(other_engine(&parsed.graph));
    let plan = Plan::new(&parsed.graph, limits, &mut work)?;
    work.keep(PAINTING_STEPS);
    let output = layout(&plan.input, &mut work)?;
    work.release();
    let (scene, painting) = paint(&parsed.graph, &plan, &output, &mut work)?;
    warnings.extend(plan.warnings.into_list());
    warnings.extend(painting.into_list());
    let bytes = match format {
        Format::Svg => svg::write(&scene, limits.output_bytes)?.into_bytes(),
        Format::Png => png::write(&scene, options.enlarge, &options.fonts, limits, &mut work)?,
    };
    Ok(Rendered { bytes, warnings: warnings.into_list(), care: work.care() })
}

/// The warning that another engine than `dot` was asked for.
fn other_engine(graph: &Graph) -> Option<String> {
    let root = graph.root();
    let engine = root.text("layout").filter(|engine| *engine != "dot")?;
    let shown: String = engine.chars().take(40).collect();
    Some(format!("layout={shown} is not available: drawn with dot"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(source: &str) -> Result<Rendered, RenderError> {
        render(source.as_bytes(), Format::Svg, &Options::default())
    }

    #[test]
    fn the_same_source_gives_the_same_bytes() {
        let source =
            "digraph { a -> b -> c; a -> c; subgraph cluster_x { b c } node [shape=record] d [label=\"x|y\"] }";
        for format in [Format::Svg, Format::Png] {
            let one = render(source.as_bytes(), format, &Options::default()).unwrap();
            let two = render(source.as_bytes(), format, &Options::default()).unwrap();
            assert_eq!(one, two);
            assert_eq!(one.care, Care::Full);
        }
    }

    #[test]
    fn formats_are_what_they_say() {
        for (name, begin) in [("svg", b"<?xml".as_slice()), ("png", b"\x89PNG\r\n\x1a\n")] {
            let format = Format::named(name).unwrap();
            assert_eq!(format.name(), name);
            assert!(format.content_type().contains(name));
            assert!(render(b"graph{a}", format, &Options::default()).unwrap().bytes.starts_with(begin));
        }
        assert_eq!(Format::named("gif"), None);
    }

    #[test]
    fn each_reason_has_its_own_error() {
        let error = svg("digraph { a -> }").unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(1), Some(16)));
        assert_eq!(error.to_string(), "syntax error in line 1 near '}'");
        assert_eq!(svg("").unwrap_err().line(), Some(1));
        let deep = format!("graph {{ {} a {} }}", "subgraph cluster { ".repeat(65), "} ".repeat(65));
        assert_eq!(svg(&deep).unwrap_err(), RenderError::TooMuch(TooMuch::ClusterDepth(64)));
        let huge = render(b"graph { a [width=9999, height=9999] }", Format::Png, &Options::default());
        assert_eq!(huge.unwrap_err(), RenderError::TooMuch(TooMuch::CanvasMegapixels(40)));
        let limits = Limits { output_bytes: 100, ..Limits::default() };
        let small = Options { limits, ..Options::default() };
        for format in [Format::Svg, Format::Png] {
            let error = render(b"graph { a -- b }", format, &small).unwrap_err();
            assert_eq!(error, RenderError::TooMuch(TooMuch::OutputBytes(100)));
        }
    }

    /// Each of these once took gigabytes, minutes, or both.
    #[test]
    fn short_sources_make_nothing_huge() {
        let long = "x".repeat(16_000);
        let nodes: String = (0..5_000).map(|number| format!("n{number} ")).collect();
        let chain: String = (0..4_000).map(|number| format!("n{number} -> ")).collect::<String>() + "n";
        let few: String = (0..60).map(|number| format!("n{number} ")).collect();
        let too_much = |limit: TooMuch| Some(RenderError::TooMuch(limit));
        let exhausted = Some(RenderError::Exhausted(Exhausted::Steps));
        let limits = Limits::default();
        // Of long texts on many nodes, painting and writing may be the first to end.
        let too_long = too_much(TooMuch::OutputBytes(limits.output_bytes));
        // Steps alone end a drawing here, however slow a build for tests is.
        let options = Options { effort: Effort { time: None, ..Effort::default() }, ..Options::default() };
        for (source, expected) in [
            (format!("graph {{ node [tooltip=\"{long}\"] {nodes} }}"), exhausted.clone()),
            (format!("graph {{ node [id=\"{long}\"] {nodes} }}"), exhausted.clone()),
            (format!("graph {{ \"{long}\" -- {{ {nodes} }} }}"), too_much(TooMuch::Nodes(limits.nodes))),
            (format!("graph \"{long}\" {{ node [URL=\"{}\"] {nodes} }}", "\\G".repeat(8_000)), exhausted.clone()),
            (format!("graph {{ \"{long}\" [label=\"\\N\\N\"] }}"), too_much(TooMuch::LabelBytes(limits.label_bytes))),
            (
                format!("graph {{ node [shape=record, label=\"{}\"] {few} }}", "|".repeat(16_000)),
                too_much(TooMuch::LabelsBytes(limits.labels_bytes)),
            ),
            (format!("digraph {{ edge [minlen=1000] {chain} }}"), exhausted.clone()),
            (format!("graph {{ node [shape=polygon, sides=999999, peripheries=999999] {few} }}"), None),
            (format!("graph {{ node [color=\"{long}\", style=\"{}\"] {few} }}", "a,".repeat(8_000)), None),
        ] {
            let drawn = render(source.as_bytes(), Format::Svg, &options);
            if let Ok(drawn) = &drawn {
                assert!(drawn.bytes.len() < 4 << 20, "{source:.60}: {} bytes", drawn.bytes.len());
                assert!(drawn.warnings.len() < 10, "{source:.60}: {:?}", drawn.warnings.len());
            }
            let error = drawn.err();
            let is_too_long = expected == exhausted && error == too_long;
            assert!(is_too_long || error == expected, "{source:.60}: {error:?}");
        }
    }

    #[test]
    fn warnings_are_told_once() {
        let rendered =
            svg("digraph { layout=neato; ordering=up; a, b, c [shape=nosuch] a -> b [color=nosuch] }").unwrap();
        let warnings = rendered.warnings;
        assert_eq!(warnings.first().map(String::as_str), Some("layout=neato is not available: drawn with dot"));
        for part in ["ordering 'up' not recognized.", "nosuch"] {
            assert!(warnings.iter().any(|warning| warning.contains(part)), "{warnings:?}");
        }
        let unique: std::collections::HashSet<&String> = warnings.iter().collect();
        assert_eq!(unique.len(), warnings.len(), "{warnings:?}");
    }
}
