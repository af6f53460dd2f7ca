//! What requests may ask for at most, as callers are told.

use quintet_drawing::limits::Limits;
use serde_json::{Value, json};

use crate::generate::PROMPT_BYTES_MAX;

/// Every limit by its name.
pub(super) fn limits() -> Value {
    let limits = Limits::default();
    json!({
        "source_bytes": limits.source_bytes,
        "nodes": limits.nodes,
        "edges": limits.edges,
        "cluster_depth": limits.cluster_depth,
        "brace_depth": limits.brace_depth,
        "label_bytes": limits.label_bytes,
        "canvas_megapixels": limits.canvas_megapixels,
        "output_bytes": limits.output_bytes,
        "prompt_bytes": PROMPT_BYTES_MAX,
    })
}
