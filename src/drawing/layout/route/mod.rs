//! How edges run: through corridors between nodes, ending at outlines, arrows taken off.
//!
//! In reading order: `edges` (all of them), `router` (what each kind needs), `chain` (from rank to rank), `flat` (along
//! a rank), `loops`, `ortho` (upright and level pieces), `labels` (beside edges); `corridor`, `fit`, `clip` and `curve`
//! are their tools.

pub mod curve;

mod chain;
mod clip;
mod corridor;
mod edges;
mod fit;
mod flat;
mod labels;
mod loops;
mod ortho;
mod router;

pub use clip::Shape;

pub use edges::route;
pub use labels::place_labels;
