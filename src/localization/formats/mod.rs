//! Readers and writers of string files. Pure: bytes in, bytes out; no storage, no locale data, no clock but a deadline.
//!
//! A reader finds out which bytes of a file are the values of which keys, and what they say. An export copies the
//! file's bytes and replaces those ranges alone. So a file without edits comes back byte for byte by construction,
//! and an edit changes nothing beside it. Before an export is handed out it is read again, and every value compared
//! with what was meant.
//!
//! ```text
//! let document = formats::read(Kind::Rails { root: "en" }, &bytes, deadline)?;      // or a ReaderRefusal
//! for unit in document.units() { unit.path(), unit.content() }                    // in file order
//! let edits = vec![Edit::Keep; document.units().len()];                           // one for each unit
//! let bytes = document.export(Some("de"), &edits, deadline)?;
//! ```
//!
//! Beside them are the formats in which translations are exchanged, XLIFF, TMX and TBX: they are read and written in a
//! stream, and have no bytes to keep.
//!
//! Reading order: `limits`, `model` ([`Kind`], [`Document`]), `refusal`, [`read()`], `json`, `properties`, `yaml` · `plan`,
//! `export` · `xml`, [`xliff`], [`tmx`], [`tbx`].

mod budget;
mod bytes;
mod export;
mod json;
mod limits;
mod model;
mod plan;
mod properties;
mod read;
mod refusal;
pub mod tbx;
pub mod tmx;
pub mod xliff;
mod xml;
mod yaml;

#[cfg(test)]
mod tests;

pub use export::{Edit, ExportRefusal};
pub use limits::{
    DEPTH_MAX, FILE_BYTES_MAX, PATH_CHARACTERS_MAX, PATHS_BYTES_MAX, READING_SECONDS_MAX, UNITS_MAX, VALUES_MAX,
};
pub use model::{Content, Document, Forms, Kind, Unit, is_representable};
pub use read::read;
pub use refusal::{Code, ReaderRefusal};
pub use xml::ReadError;
