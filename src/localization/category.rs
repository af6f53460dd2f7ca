//! The six plural categories of CLDR, as files and translations name them.

pub use crate::core::Category;
