//! The json reader.
