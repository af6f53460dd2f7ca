//! What in a text is no prose: placeholders in every dialect, messages with plurals and choices, markup, addresses. Each
//! reader goes over a text once, takes time linear in its length, and neither fails nor panics, whatever the text is.
//!
//! Reading order: `bytes` (looking at a text byte by byte) · `enclosed` (which bracket closes which) · `links` · `markup` ·
//! `placeholder` (what a placeholder is) · `message` (ICU MessageFormat) · `percent`, `braces` (placeholders, by how they
//! begin) · `placeholders` (all of them, in the order in which dialects claim a text).

mod braces;
mod bytes;
mod enclosed;
mod links;
mod markup;
mod message;
mod percent;
mod placeholder;
mod placeholders;

pub use links::{Link, links};
pub use markup::{Attribute, Markup, Tag, TagKind, is_void, known_element, markup};
pub use message::{Complex, Message, MessageFault, Part, message};
pub use placeholder::{Dialect, Placeholder};
pub use placeholders::placeholders;
