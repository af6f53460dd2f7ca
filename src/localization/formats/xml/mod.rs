//! XML 1.0 with namespaces, as exchange formats need it: read strictly and piece by piece, and written.
//!
//! Nothing is fetched, no entity but the five is known, a DOCTYPE is passed over (localization, X2). Text, CDATA and comments
//! are read in pieces, and no other token may be longer than a mebibyte: reading takes a few of these, whatever the document.
//!
//! Reading order: `characters` · `place`, `fault`, `input` (bytes to characters) · `tag` · `scan` (where tokens end) ·
//! `reader` · `write`.

mod characters;
mod fault;
mod input;
mod place;
mod reader;
mod scan;
mod tag;
mod write;

pub use characters::is_writable;
pub use fault::ReadError;
pub use reader::{Reader, Token};
pub use tag::Namespace;
pub use write::{push_attribute, push_comment, push_text};
