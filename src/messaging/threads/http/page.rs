//! How much of what lies back is asked for.

use quintet_platform::service::{Parameter, Shape};

/// The most items of an answer.
pub(super) const LIMIT: Parameter = Parameter::new(
    "limit",
    Shape::Integer { min: 1, max: 200, default: Some(50) },
    "The most items. There can be fewer and still be more.",
);

/// What [`LIMIT`] is, which its shape keeps within bounds.
pub(super) fn count(limit: Option<i64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1)
}
