//! What a container is described with, in a run and in a node alike: members with their bounds.

use quintet_platform::http::shown_name;
use quintet_platform::json::{Fields, Json, Number};

use crate::allowances::model::MEMORY_MB_LEAST;
use crate::containers::model::{WORDS_BYTES_MAX, WORDS_MAX, words_bytes};
use crate::form::{field, optional, texts};
use crate::refusal::Refusal;

/// The longest name of an image, in characters.
pub(super) const IMAGE_CHARS_MAX: usize = 512;
/// The longest argument, and the longest variable with its name, in bytes.
const WORD_BYTES_MAX: usize = 128 << 10;
/// The least of a core, and the most cores that can be asked for; more is clamped anyway.
const CPU_LEAST: f64 = 0.01;
const CPU_MOST: f64 = 1_000_000.0;

/// The image.
pub(crate) fn image(fields: &mut Fields) -> Result<String, Refusal> {
    let image: String = fields.required("image").map_err(field)?;
    if image.is_empty() || image.chars().count() > IMAGE_CHARS_MAX || !image.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Refusal::field(
            fields.path_of("image"),
            "must be a reference of 1 to 512 printable ASCII characters",
        ));
    }
    Ok(image)
}

/// The command.
pub(crate) fn command(fields: &mut Fields) -> Result<Vec<String>, Refusal> {
    let command = texts(fields, "command", WORDS_MAX)?;
    if command.first().is_some_and(String::is_empty) {
        return Err(Refusal::field(fields.path_of("command"), "must begin with a program"));
    }
    if command.iter().any(|word| word.len() > WORD_BYTES_MAX || word.contains('\0')) {
        return Err(Refusal::field(fields.path_of("command"), "must have arguments of at most 128 KiB, without NUL"));
    }
    Ok(command)
}

/// The environment.
pub(crate) fn env(fields: &mut Fields) -> Result<Vec<(String, String)>, Refusal> {
    let members = match fields.take("env") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Object(members)) => members,
        Some(_) => return Err(Refusal::field(fields.path_of("env"), "must be an object of strings")),
    };
    if members.len() > WORDS_MAX {
        return Err(Refusal::field(fields.path_of("env"), format!("must have at most {WORDS_MAX} variables")));
    }
    let variable = |(name, value): (String, Json)| {
        let shown = format!("{}.{}", fields.path_of("env"), shown_name(&name));
        let Json::String(value) = value else { return Err(Refusal::field(shown, "must be a string")) };
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Refusal::field(shown, "must have a name without = and NUL"));
        }
        if value.contains('\0') || name.len() + value.len() > WORD_BYTES_MAX {
            return Err(Refusal::field(shown, "must be at most 128 KiB, without NUL"));
        }
        Ok((name, value))
    };
    members.into_iter().map(variable).collect()
}

/// Command and environment together are no more than the kernel takes.
pub(crate) fn check_size(fields: &Fields, command: &[String], env: &[(String, String)]) -> Result<(), Refusal> {
    if words_bytes(command, env) > WORDS_BYTES_MAX {
        return Err(Refusal::field(fields.path_of("command"), "must take at most 512 KiB together with env"));
    }
    Ok(())
}

/// A whole number.
pub(crate) fn at_least(fields: &mut Fields, name: &str, least: u64) -> Result<Option<u64>, Refusal> {
    let number = optional::<Number>(fields, name)?;
    let Some(number) = number else { return Ok(None) };
    // More digits than any number has are more than any quota.
    let is_huge = number.is_integer() && !number.as_str().starts_with('-') && number.as_u64().is_none();
    match if is_huge { Some(u64::MAX) } else { number.as_u64() } {
        Some(value) if value >= least => Ok(Some(value)),
        _ => Err(Refusal::field(fields.path_of(name), format!("must be a whole number, at least {least}"))),
    }
}

/// The limit of processor time, in thousandths of a core.
pub(crate) fn cpu(fields: &mut Fields) -> Result<Option<u64>, Refusal> {
    let Some(number) = optional::<Number>(fields, "cpu_limit")? else { return Ok(None) };
    let cores: f64 = number.as_str().parse().unwrap_or(0.0);
    if !(CPU_LEAST..=f64::INFINITY).contains(&cores) {
        return Err(Refusal::field(fields.path_of("cpu_limit"), "must be a number of cores, at least 0.01"));
    }
    Ok(Some((cores.min(CPU_MOST) * 1000.0).round() as u64))
}

/// The limit of memory, in MiB.
pub(crate) fn memory_mb(fields: &mut Fields) -> Result<Option<u64>, Refusal> {
    at_least(fields, "memory_limit_mb", MEMORY_MB_LEAST)
}
