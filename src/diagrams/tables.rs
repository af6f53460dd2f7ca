//! Everything the room stores: finished pictures, under the hash of what they were made from.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0600 | results | content hash | format, size, when it was last used, what to tell about it, where its bytes are |
//! | 0x0601 | small bytes | content hash | the bytes of a small picture |
//! | 0x0602 | results by use | last use, content hash | the order in which pictures are pruned |
//! | 0x0603 | totals (hot) | 0 | how many pictures there are, and how large they are together |
//!
//! A small picture lies in a row of its own, a larger one is a large value of the store. The row that says when a
//! picture was used is rewritten with every noted use, and carries no bytes for that reason.

use bincode::{Decode, Encode};
use quintet_storage::large::LargeValue;
use quintet_storage::{Failure, Family, Key, Row, Table, TableSpec, Timestamp};

use quintet_drawing::render::Format;

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("diagrams");

/// The SHA-256 of what a picture was made from: engine, format and source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl Key for ContentHash {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
        let parts = input.split_first_chunk::<32>();
        let (hash, rest) = parts.ok_or_else(|| Failure::Damaged("a content hash is too short".to_owned()))?;
        *input = rest;
        Ok(ContentHash(*hash))
    }
}

/// Finished pictures.
pub const RESULTS: Table<ContentHash, ResultRow> = Table::new(0x0600, FAMILY, "diagrams_results");
/// The bytes of small pictures.
pub const SMALL_BYTES: Table<ContentHash, SmallBytesRow> = Table::new(0x0601, FAMILY, "diagrams_small_bytes");
/// Pictures by their last noted use.
pub const RESULTS_BY_USE: Table<(Timestamp, ContentHash), ByUseRow> =
    Table::new(0x0602, FAMILY, "diagrams_results_by_use");
/// All pictures together; one row.
pub const TOTALS: Table<u8, TotalsRow> = Table::new(0x0603, FAMILY, "diagrams_totals").hot();

/// The key of the one row of [`TOTALS`].
pub const THE_TOTALS: u8 = 0;

/// Every table of this room.
pub const TABLES: &[TableSpec] = &[RESULTS.spec(), SMALL_BYTES.spec(), RESULTS_BY_USE.spec(), TOTALS.spec()];

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FormatRow {
    /// PNG.
    Png,
    /// SVG.
    Svg,
}

impl From<Format> for FormatRow {
    fn from(format: Format) -> FormatRow {
        match format {
            Format::Png => FormatRow::Png,
            Format::Svg => FormatRow::Svg,
        }
    }
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResultRow {
    /// What the bytes are.
    pub format: FormatRow,
    /// How many there are.
    pub size_bytes: u64,
    /// When it was last used, as far as that was noted.
    pub used_at: Timestamp,
    /// Whether the drawing was simplified to stay within its bounds.
    pub is_degraded: bool,
    /// What the drawing could not honour.
    pub warnings: Vec<String>,
    /// The bytes, unless they are small.
    pub large: Option<LargeValue>,
}

impl Row for ResultRow {}

/// The bytes of a small picture.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SmallBytesRow(pub Vec<u8>);

impl Row for SmallBytesRow {}

/// Nothing but its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ByUseRow;

impl Row for ByUseRow {}

/// All pictures together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct TotalsRow {
    /// How many there are.
    pub results: u64,
    /// Their bytes, with what each costs besides.
    pub bytes: u64,
}

impl Row for TotalsRow {}
