//! Uploads.
//!
//! The way of an upload: its bytes become a large value as they arrive ([`Receiver`]). [`prepare_import`] reads its units,
//! finds what they change against the catalogue of the latest version, and stores the new catalogue and the list of
//! changes. [`publish_import`] then checks that the latest version is still that one, and that the source locale still
//! is what the file's root key says, and makes everything visible, in one small transaction.
//!
//! No upload rewrites a translation, nor counts any: that one is outdated follows from the versions of sources, and how
//! many are is counted when that is asked for.
//!
//! Reading order: `compare` · `manifest` · `latest` · `receive` · `prepare` · `publish`.

mod compare;
mod latest;
mod manifest;
mod prepare;
mod publish;
mod receive;

#[cfg(test)]
mod tests;

pub use manifest::{changed_numbers, get_import, get_manifest, imports_after, replaced_numbers};
pub use prepare::{ImportFile, prepare_import};
pub use publish::publish_import;
pub use receive::{Arrived, Original, Receiver};
#[cfg(test)]
pub use {compare::Counts, publish::PublishImport, publish::Root};
