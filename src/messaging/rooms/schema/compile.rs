//! A schema made ready.

use quintet_platform::json::{Json, Limits, parse};

use super::circles::refuse_circles;
use super::fault::{Misfit, SchemaFault};
use super::model::Compiled;
use super::places::Places;
use super::rules::{PatternsSoFar, read};
use super::verdict::check;

/// The most bytes of a schema (D5).
pub(crate) const SCHEMA_BYTES_MAX: usize = 16 << 10;

/// A schema that payloads are checked with.
pub(crate) struct Schema(Compiled);

impl Schema {
    /// Makes a schema ready.
    ///
    /// # Errors
    /// It is none, or not within the bounds; which of its places is wrong, and what would be right.
    pub(crate) fn compile(text: &str) -> Result<Schema, SchemaFault> {
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(SchemaFault::TooLong(SCHEMA_BYTES_MAX));
        }
        let document = parse(text.as_bytes(), Limits::default())?;
        let places = Places::of(&document)?;
        let mut so_far = PatternsSoFar::default();
        let nodes = places.ids().map(|id| read(&places, id, &mut so_far)).collect::<Result<_, _>>()?;
        let compiled = Compiled { nodes, dynamic_anchors: places.dynamic_anchors() };
        refuse_circles(&compiled, &places)?;
        Ok(Schema(compiled))
    }

    /// Checks a payload. Takes a bounded time, whatever the schema says and however large the payload is: what cannot be
    /// checked within it does not fit.
    ///
    /// # Errors
    /// What of it does not fit; 20 things at most, and at least one.
    pub(crate) fn check(&self, payload: &Json) -> Result<(), Vec<Misfit>> {
        check(&self.0, payload)
    }
}
