//! The one place that knows how a row becomes bytes: a version byte, then bincode.
//!
//! Versions let a table's shape change without touching old rows: a row is read by the version it was written
//! with and rewritten in the newest one when it is next put. The version byte also leaves room for another codec.

use bincode::{Decode, Encode};

use crate::error::Failure;

const CONFIG: bincode::config::Configuration = bincode::config::standard();

/// A value that a table stores.
pub trait Row: Encode + Decode<()> + Clone + Send + Sync + 'static {
    /// The version this type is written in; raise it with every change of shape.
    const VERSION: u8 = 1;

    /// Reads the body of an older version.
    ///
    /// # Errors
    /// [`Failure::Damaged`] if the version is unknown or the bytes do not fit it.
    fn migrate(version: u8, _body: &[u8]) -> Result<Self, Failure> {
        Err(Failure::Damaged(format!("a row has unknown version {version}")))
    }
}

/// Encodes plain data that needs no version of its own (parts of rows, cursors).
///
/// # Errors
/// [`Failure::Damaged`] if the value cannot be encoded, which for stored types does not happen.
pub fn encode_plain<T: Encode>(value: &T) -> Result<Vec<u8>, Failure> {
    bincode::encode_to_vec(value, CONFIG).map_err(|e| Failure::Damaged(format!("encoding: {e}")))
}

/// Decodes what [`encode_plain`] wrote; every byte must be used.
///
/// # Errors
/// [`Failure::Damaged`] if the bytes do not fit the type.
pub fn decode_plain<T: Decode<()>>(bytes: &[u8]) -> Result<T, Failure> {
    match bincode::decode_from_slice(bytes, CONFIG) {
        Ok((value, used)) if used == bytes.len() => Ok(value),
        Ok(_) => Err(Failure::Damaged("a row has bytes left over".to_owned())),
        Err(e) => Err(Failure::Damaged(format!("a row does not decode: {e}"))),
    }
}

pub(crate) fn encode_row<V: Row>(value: &V) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(64);
    bytes.push(V::VERSION);
    bincode::encode_into_std_write(value, &mut bytes, CONFIG)
        .map_err(|e| Failure::Damaged(format!("encoding: {e}")))?;
    Ok(bytes)
}

pub(crate) fn decode_row<V: Row>(bytes: &[u8]) -> Result<V, Failure> {
    let (version, body) = bytes.split_first().ok_or_else(|| Failure::Damaged("a row is empty".to_owned()))?;
    if *version == V::VERSION { decode_plain(body) } else { V::migrate(*version, body) }
}
