//! Which room a path names.

use quintet_platform::service::{Segment, Shape};

/// The room that a path names, without `room:`.
pub(crate) const ROOM: Segment = Segment::new("room", Shape::ANY);
