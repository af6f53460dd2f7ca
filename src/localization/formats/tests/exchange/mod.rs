//! Tests of the formats in which translations are exchanged.

mod random;
mod tbx;
mod tmx;
mod toolkit;
mod xliff;
mod xml;

use super::judge;
use super::soon;
use crate::formats::ReadError;

/// A refusal's code and place.
fn refused(error: ReadError) -> String {
    match error {
        ReadError::Refused(refusal) => format!("{} {}:{}", refusal.code, refusal.line, refusal.column),
        ReadError::Failed(error) => panic!("{error}"),
    }
}
