//! What a source may ask for at most. All of it is checked before memory or time is spent on it.

use std::fmt;

/// The bounds of one drawing. The default is what the service allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of DOT source.
    pub source_bytes: usize,
    /// Nodes of a graph.
    pub nodes: usize,
    /// Edges of a graph.
    pub edges: usize,
    /// Subgraphs of a graph, clusters among them.
    pub subgraphs: usize,
    /// Clusters within clusters.
    pub cluster_depth: usize,
    /// Open braces in the source.
    pub brace_depth: usize,
    /// Bytes of one label, of any other value that is drawn, and of a name.
    pub label_bytes: usize,
    /// Bytes of all labels together, each counted for every object that has it.
    pub labels_bytes: usize,
    /// Steps of reading that the length of the source does not bound: memberships in subgraphs, edges between
    /// subgraphs, attributes taken over from defaults.
    pub reading_steps: usize,
    /// Pixels of a picture, in millions.
    pub canvas_megapixels: usize,
    /// Bytes of a finished picture.
    pub output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            source_bytes: 1 << 20,
            nodes: 5_000,
            edges: 20_000,
            subgraphs: 5_000,
            cluster_depth: 64,
            brace_depth: 512,
            label_bytes: 16 << 10,
            labels_bytes: 1 << 20,
            reading_steps: 4_000_000,
            canvas_megapixels: 40,
            output_bytes: 16_000_000,
        }
    }
}

/// A bound that a source went past, as a sentence that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMuch {
    /// The source has more than this many bytes.
    SourceBytes(usize),
    /// The graph has more than this many nodes.
    Nodes(usize),
    /// The graph has more than this many edges.
    Edges(usize),
    /// The graph has more than this many subgraphs.
    Subgraphs(usize),
    /// Clusters lie more than this deep in each other.
    ClusterDepth(usize),
    /// Braces are open more than this deep.
    BraceDepth(usize),
    /// A label, a name or another value that is drawn has more than this many bytes.
    LabelBytes(usize),
    /// All labels together have more than this many bytes.
    LabelsBytes(usize),
    /// Nodes, edges and attributes are repeated in too many subgraphs.
    Reading,
    /// The picture has more than this many million pixels.
    CanvasMegapixels(usize),
    /// The finished picture has more than this many bytes.
    OutputBytes(usize),
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooMuch::SourceBytes(limit) => write!(f, "the source is larger than {limit} bytes"),
            TooMuch::Nodes(limit) => write!(f, "the graph has more than {limit} nodes"),
            TooMuch::Edges(limit) => write!(f, "the graph has more than {limit} edges"),
            TooMuch::Subgraphs(limit) => write!(f, "the graph has more than {limit} subgraphs"),
            TooMuch::ClusterDepth(limit) => write!(f, "clusters are nested more than {limit} deep"),
            TooMuch::BraceDepth(limit) => write!(f, "braces are nested more than {limit} deep"),
            TooMuch::LabelBytes(limit) => write!(f, "a label, a name or another value is longer than {limit} bytes"),
            TooMuch::LabelsBytes(limit) => write!(f, "the labels have more than {limit} bytes together"),
            TooMuch::Reading => f.write_str("too many nodes, edges and attributes are repeated in subgraphs"),
            TooMuch::CanvasMegapixels(limit) => write!(f, "the picture is larger than {limit} megapixels"),
            TooMuch::OutputBytes(limit) => write!(f, "the finished picture is larger than {limit} bytes"),
        }
    }
}

impl std::error::Error for TooMuch {}
