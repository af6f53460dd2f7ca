//! The format that the rows have, as a row beside them.
//!
//! FORMAT says which format the directory is to have. A copy of the directory may have a FORMAT of another moment than its
//! rows, and a migration may have been cut short: what the rows themselves say is what counts.

use bincode::{Decode, Encode};

use super::codec::Row;
use super::family::Family;
use super::table::Table;
use crate::time::Timestamp;

/// One row, written by the first migration: before it the rows have the format that the directory was made in.
pub(crate) const ROWS_FORMAT: Table<(), RowsFormatRow> = Table::new(0x0006, Family::APPLIANCE, "storage_rows_format");

/// Which format the rows have.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RowsFormatRow {
    pub(crate) version: u32,
    /// The time at which it was reached.
    pub(crate) since: Timestamp,
}

impl Row for RowsFormatRow {}
