//! The properties reader.
