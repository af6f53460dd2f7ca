//! The files that hold secrets of the configuration: whether they are there, and whether others may read them.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::subject::{Finding, Subject};
use crate::config::schema::Kind;
use crate::config::value::Value;
use crate::config::{Config, Effective, Origin};
use crate::shell::quoted;

/// Bits of a mode by which others may read or change a secret. Its group may read it: `root:quintet`, mode 0640.
const STRANGERS: u32 = 0o027;

/// A file that holds a secret.
struct SecretFile {
    /// The key of the configuration.
    key: String,
    path: PathBuf,
    /// Whether nothing starts without it.
    is_needed: bool,
}

/// Whether every file with a secret is there and private.
pub fn check_secrets(subject: &Subject) -> Vec<Finding> {
    let name = "secret files";
    let Ok(config) = &subject.config else { return Vec::new() };
    let files = secret_files(config);
    let mut findings: Vec<Finding> = files.iter().filter_map(|file| secret(file, &mode(&file.path))).collect();
    findings.extend(config_file(config));
    if findings.is_empty() {
        let says = match files.len() {
            0 => "The configuration names none.".to_string(),
            count => format!("All {count} that the configuration names are there and private."),
        };
        findings.push(Finding::ok(name, says));
    }
    findings
}

fn secret_files(config: &Config) -> Vec<SecretFile> {
    let is_set = |key: &str| {
        let entry = config.effective.iter().find(|entry| entry.dotted() == key);
        matches!(entry.map(|entry| &entry.value), Some(Value::Text(text)) if !text.is_empty())
    };
    let referred = config.effective.iter().filter(|entry| entry.kind == Kind::Secret).filter_map(|entry| {
        let Value::Text(text) = &entry.value else { return None };
        let path = config.data_dir.join(text.strip_prefix("file:")?);
        let key = entry.dotted();
        let is_needed = match key.as_str() {
            "authorization.api_key" => is_set("authorization.url"),
            "ai.api_key" => is_set("ai.url"),
            "localization.identity.client_secret" => is_set("localization.identity.issuer"),
            _ => key.starts_with("runs.registries."),
        };
        Some(SecretFile { key, path, is_needed })
    });
    let mut files: Vec<SecretFile> = referred.collect();
    if let Some((_, key)) = &config.tls_pair {
        files.push(SecretFile { key: "tls.key".into(), path: key.clone(), is_needed: true });
    }
    files
}

/// The mode of a file; none if this user cannot see it.
fn mode(path: &Path) -> io::Result<Option<u32>> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(Some(found.mode())),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

fn secret(file: &SecretFile, mode: &io::Result<Option<u32>>) -> Option<Finding> {
    let name = "secret files";
    let SecretFile { key, path, is_needed } = file;
    let (shown, place) = (path.display(), quoted(path));
    match mode {
        Ok(None) => Some(Finding::ok(name, format!("{shown} ({key}) cannot be looked at by this user."))),
        Ok(Some(mode)) if mode & STRANGERS != 0 => {
            let says = format!("Others may read or change {shown} ({key}): its mode is {:04o}.", mode & 0o7777);
            Some(Finding::warning(name, says, format!("`chmod o-rwx,g-w {place}`.")))
        }
        Ok(Some(_)) => None,
        Err(error) => {
            let says = format!("{shown}, which {key} names, cannot be read: {error}");
            let cure = format!("Put it there: `install -m 600 /dev/stdin {place}` takes it from the terminal.");
            Some(match is_needed {
                true => Finding::problem(name, format!("{says}. Nothing starts without it."), cure),
                false => Finding::warning(name, format!("{says}."), cure),
            })
        }
    }
}

/// A secret that stands in the configuration file itself makes that file one.
fn config_file(config: &Config) -> Option<Finding> {
    let written = |entry: &&Effective| match (&entry.value, &entry.origin) {
        (Value::Text(text), Origin::File(..)) if entry.kind == Kind::Secret => {
            !text.is_empty() && !text.starts_with("file:") && !text.starts_with("credential:")
        }
        _ => false,
    };
    let entry = config.effective.iter().find(written)?;
    let Origin::File(path, line) = &entry.origin else { return None };
    let mode = mode(path).ok().flatten()?;
    inline_secret(path, *line, &entry.dotted(), mode)
}

fn inline_secret(path: &Path, line: usize, key: &str, mode: u32) -> Option<Finding> {
    (mode & STRANGERS != 0).then(|| {
        let says = format!("Others may read {}, whose line {line} holds a secret ({key}).", path.display());
        let cure =
            format!("`chmod o-rwx,g-w {}`, or put the secret into a file of its own: `\"file:PATH\"`.", quoted(path));
        Finding::warning("secret files", says, cure)
    })
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;

    #[test]
    fn files_that_are_missing_or_open_are_told() {
        let file = |is_needed| SecretFile { key: "ai.api_key".into(), path: "/s/k".into(), is_needed };
        let missing = || Err(io::Error::from(io::ErrorKind::NotFound));
        let cure = "Put it there: `install -m 600 /dev/stdin /s/k` takes it from the terminal.";
        let cases = [
            (true, Ok(Some(0o100_600)), None),
            (true, Ok(Some(0o100_640)), None),
            (true, Ok(None), Some("ok: /s/k (ai.api_key) cannot be looked at by this user.".to_string())),
            (
                false,
                Ok(Some(0o100_644)),
                Some(
                    "warning: Others may read or change /s/k (ai.api_key): its mode is 0644. => `chmod o-rwx,g-w \
                     /s/k`."
                        .to_string(),
                ),
            ),
            (
                true,
                missing(),
                Some(format!(
                    "problem: /s/k, which ai.api_key names, cannot be read: entity not found. Nothing starts without it. \
                     => {cure}"
                )),
            ),
            (
                false,
                missing(),
                Some(format!("warning: /s/k, which ai.api_key names, cannot be read: entity not found. => {cure}")),
            ),
        ];
        for (is_needed, mode, expected) in cases {
            assert_eq!(secret(&file(is_needed), &mode).as_ref().map(told), expected, "{mode:?}");
        }
    }

    #[test]
    fn a_configuration_with_a_secret_is_one() {
        let path = Path::new("/etc/q.toml");
        assert_eq!(inline_secret(path, 3, "ai.api_key", 0o100_640), None);
        assert_eq!(
            inline_secret(path, 3, "ai.api_key", 0o100_644).as_ref().map(told).as_deref(),
            Some(
                "warning: Others may read /etc/q.toml, whose line 3 holds a secret (ai.api_key). => `chmod \
                 o-rwx,g-w /etc/q.toml`, or put the secret into a file of its own: `\"file:PATH\"`."
            )
        );
    }
}
