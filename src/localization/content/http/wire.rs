//! What several kinds of content write.

use serde::ser::{Serialize, Serializer};

/// A digest as text.
pub struct Hex(pub [u8; 32]);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

/// Texts by the names of their categories, in CLDR's order.
pub struct Forms<'a>(pub Vec<(&'static str, &'a str)>);

impl Serialize for Forms<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
