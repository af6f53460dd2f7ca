//! What does not fit into one transaction.
//!
//! Reading order: `value` (large values, in chunks) · `staging` (changes of many rows, in steps).

pub mod staging;
pub(crate) mod value;

pub use value::{
    CHUNK_BYTES, DEADLINES_TAG, LargeValue, StagedValue, TABLES, Upload, UploadRefusal, adopt, collect, is_sound,
    is_whole, next_deadline, read_chunk, release,
};
