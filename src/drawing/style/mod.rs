//! What things look like: colours and their names, fillings, lines, and the attribute `style`.

pub mod color;

mod filling;
mod ink;
mod list;

pub use color::Share;
pub use filling::{colors, fill_of, solid};
pub use ink::{Color, Dash, Fill, Gradient, Stroke};
pub use list::Style;
