//! The yaml reader.
