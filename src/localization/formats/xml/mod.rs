//! XML 1.0 with namespaces, as exchange formats need it: read strictly and piece by piece, and written.
//!
//! The tokens are [`quick_xml`]'s; what it lets pass and XML does not is refused here: names, characters, attributes,
//! entities, what stands outside the root. Nothing is fetched, no entity but the five is known, a DOCTYPE is passed over
//! (localization, X2). What a document may take in memory is what its longest tag or run of text takes, twice.
//!
//! Reading order: `characters` · `place`, `input` (bytes to characters) · `tag` · `reader` · `write`.

mod characters;
mod input;
mod place;
mod reader;
mod tag;
mod write;

pub use characters::is_writable;
pub use reader::{ReadError, Reader, Token};
pub use tag::Namespace;
pub use write::{push_attribute, push_comment, push_text};
