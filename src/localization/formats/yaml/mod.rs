//! YAML: block and flow style, all five kinds of scalars. Where YAML 1.1 and 1.2 read a file differently, it is
//! refused, or the value is no unit: programs of both kinds read these files.

mod blocks;
mod breaks;
mod marks;
mod plurals;
mod read;
mod resolve;
mod write;

#[cfg(test)]
pub(super) use resolve::is_string;

pub(super) use plurals::rewrite_plural;
pub(super) use read::scan;
pub(super) use write::{write_key, write_value};
