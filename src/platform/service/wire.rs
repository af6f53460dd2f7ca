//! What every service writes alike: ids, instants, and bodies of JSON.

use quintet_storage::{Failure, Timestamp, Uuid};
use serde::ser::{Serialize, Serializer};

use crate::time_text::rfc3339;

/// An id as text.
pub struct Id(pub Uuid);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

/// An instant as text, in UTC.
pub struct Instant(pub Timestamp);

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// A body of JSON.
///
/// # Errors
/// Something in it cannot be written, which a stored value can only be if it is damaged.
pub fn written(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::with_capacity(512);
    match serde_json::to_writer(&mut body, value) {
        Ok(()) => Ok(body),
        Err(error) => Err(Failure::Damaged(format!("a stored value cannot be written as JSON: {error}"))),
    }
}
