//! The form of archives, and what making them comes to.

mod making;
mod zip;
