//! Schemas by hand-made cases, by hostile ones, by the official suite, and beside another validator.

mod cases;
mod hostile;
mod random;
mod suite;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use quintet_platform::json::{Json, Limits, parse};

use super::Schema;
use super::compile::SCHEMA_BYTES_MAX;
use super::fault::{Misfit, SchemaFault};

fn json(text: &str) -> Json {
    parse(text.as_bytes(), Limits::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The directory with the official suite and the other validator.
fn fetched() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/schemas/fetch.sh");
    let fetched = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(fetched.status.success(), "what schemas are tested with cannot be had");
    PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim())
}
