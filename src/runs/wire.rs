//! How answers of all folders write instants and amounts.

use quintet_platform::clock::rfc3339;
use quintet_storage::Timestamp;
use serde_json::{Value, json};

/// An instant, or null.
pub(crate) fn at(instant: Option<Timestamp>) -> Value {
    instant.map_or(Value::Null, |instant| rfc3339(instant).into())
}

/// Microseconds as seconds.
pub(crate) fn seconds(micros: u64) -> Value {
    // Milliseconds are what anybody can make use of; a float holds them exactly enough.
    json!((micros / 1000) as f64 / 1000.0)
}

/// Thousandths of a core as cores.
pub(crate) fn cores(millicores: u64) -> Value {
    json!(millicores as f64 / 1000.0)
}
