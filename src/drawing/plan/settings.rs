//! What the attributes of the whole graph ask of the layout.

use crate::geometry::{POINTS_PER_INCH, Size};
use crate::graph::Element;
use crate::graph::values::{Attributes, leading_number};
use crate::layout::{ClusterRank, Input, Ordering, RankDirection, Ratio, Splines};
use crate::warnings::Warnings;

/// The smallest space between ranks, whatever `ranksep` says, in points.
const SMALLEST_RANK_SEPARATION: f64 = 8.0;

/// The attributes of the whole graph.
pub(super) fn of_graph(root: Element<'_>) -> Input {
    let default = Input::default();
    // Whole points, as the documentation does not say but every drawing shows.
    let inches = |name: &str, default: f64| (root.number(name, default, 0.02) * POINTS_PER_INCH).round();
    let rank_separation = root.text("ranksep").unwrap_or_default();
    Input {
        rank_direction: match root.text("rankdir") {
            Some("LR") => RankDirection::LeftRight,
            Some("RL") => RankDirection::RightLeft,
            Some("BT") => RankDirection::BottomTop,
            _ => RankDirection::TopBottom,
        },
        node_separation: inches("nodesep", 0.25),
        rank_separation: inches("ranksep", 0.5).max(SMALLEST_RANK_SEPARATION),
        equal_ranks: rank_separation.contains("equally"),
        splines: splines(root),
        concentrate: root.flag("concentrate", false),
        compound: root.flag("compound", false),
        new_rank: root.flag("newrank", false),
        cluster_rank: match root.text("clusterrank") {
            Some("global") => ClusterRank::Global,
            Some("none") => ClusterRank::None,
            _ => ClusterRank::Local,
        },
        ordering: ordering(root),
        remincross: root.flag("remincross", true),
        mclimit: root.number("mclimit", default.mclimit, 0.0),
        nslimit: root.text("nslimit").and_then(leading_number).map(|(number, _)| number.max(0.0)),
        nslimit1: root.text("nslimit1").and_then(leading_number).map(|(number, _)| number.max(0.0)),
        search_size: usize::try_from(root.whole("searchsize", 30, 0)).unwrap_or(30).min(1_000),
        ratio: ratio(root),
        size: size(root),
        force_labels: root.flag("forcelabels", true),
        ..default
    }
}

fn splines(root: Element<'_>) -> Splines {
    let Some(text) = root.get("splines") else { return Splines::Spline };
    match &*text.text.to_ascii_lowercase() {
        "" | "none" => Splines::None,
        "line" | "false" | "no" | "0" => Splines::Line,
        "polyline" => Splines::Polyline,
        "ortho" => Splines::Ortho,
        "curved" => Splines::Curved,
        _ => Splines::Spline,
    }
}

pub(super) fn ordering(element: Element<'_>) -> Ordering {
    match element.text("ordering") {
        Some("out") => Ordering::Out,
        Some("in") => Ordering::In,
        _ => Ordering::Free,
    }
}

fn ratio(root: Element<'_>) -> Ratio {
    match root.text("ratio") {
        None => Ratio::None,
        Some("auto") => Ratio::Auto,
        Some("compress") => Ratio::Compress,
        Some("expand") => Ratio::Expand,
        Some("fill") => Ratio::Fill,
        Some(text) => match leading_number(text) {
            Some((number, _)) if number > 0.0 => Ratio::Value(number.clamp(0.001, 1_000.0)),
            _ => Ratio::None,
        },
    }
}

/// `size`: one or two numbers of inches, and perhaps `!`.
fn size(root: Element<'_>) -> Option<(Size, bool)> {
    let text = root.text("size")?;
    let (width, rest) = leading_number(text)?;
    let height = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(width, |(height, _)| height);
    let is_size = width > 0.0 && height > 0.0;
    is_size.then_some((Size::new(width * POINTS_PER_INCH, height * POINTS_PER_INCH), text.contains('!')))
}

/// Values that Graphviz complains of.
pub(super) fn complaints(root: Element<'_>) -> Warnings {
    const SPLINES: &[&str] =
        &["", "none", "line", "false", "no", "polyline", "ortho", "curved", "spline", "true", "yes", "compound"];
    let mut complaints = Warnings::default();
    if let Some(text) = root.text("splines")
        && !SPLINES.contains(&&*text.to_ascii_lowercase())
        && !text.starts_with(|c: char| c.is_ascii_digit())
    {
        complaints.push(format!("Unknown \"splines\" value: \"{text}\" - ignored"));
    }
    if let Some(text) = root.text("ordering")
        && !matches!(text, "in" | "out")
    {
        complaints.push(format!("ordering '{text}' not recognized."));
    }
    complaints
}
