//! Units: a text, and what is known of it.

/// What an index knows of a unit.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// What it is known by.
    pub id: u128,
    /// When it was written, in microseconds since 1970.
    pub written_micros: i64,
    /// Its source text.
    pub source: &'a str,
}

/// What is found: a unit as it is stored.
pub trait Unit {
    /// Its source text.
    fn source(&self) -> &str;
    /// When it was written, in microseconds since 1970.
    fn written_micros(&self) -> i64;
}
