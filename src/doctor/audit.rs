//! The file that audit chains are anchored in: whether it can be written, and whether it lies where it is of use.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::subject::{Finding, Subject};
use crate::admin::status::unanchored;

const NAME: &str = "audit";

/// Whether checkpoints of audit chains can be anchored.
pub fn check_anchors(subject: &Subject) -> Vec<Finding> {
    let configured = subject.config.as_ref().ok().and_then(|config| config.audit_anchor_file.clone());
    let running = subject.status().map(|status| &status.audit);
    let in_use = running.and_then(|audit| audit.anchor_file.clone()).map(PathBuf::from);
    match in_use.or(configured) {
        Some(path) => vec![anchors(&path, &subject.data_dir, running.and_then(unanchored))],
        None => Vec::new(),
    }
}

/// `told`: what the running appliance complains of.
fn anchors(path: &Path, data_dir: &Path, told: Option<String>) -> Finding {
    let shown = path.display();
    let cure = "Give the user that runs the appliance a directory for it (`install -d -o quintet -m 750 DIR`), or name \
                another file in audit.anchor_file and restart.";
    if let Some(says) = told {
        return Finding::problem(NAME, says, cure);
    }
    if let Err(reason) = try_to_append(path) {
        return Finding::problem(NAME, format!("Audit checkpoints cannot be anchored in {shown}: {reason}."), cure);
    }
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    if absolute(path).starts_with(absolute(data_dir)) {
        return Finding::warning(
            NAME,
            format!(
                "The anchors of audit chains, {shown}, lie in the data directory: an older copy of that brings older anchors."
            ),
            "Name a file elsewhere in audit.anchor_file, best on another machine's disk, and restart.",
        );
    }
    Finding::ok(NAME, format!("Audit checkpoints are anchored in {shown}."))
}

/// Whether the file could be appended to; nothing is written, nor made.
fn try_to_append(path: &Path) -> Result<(), String> {
    match OpenOptions::new().read(true).append(true).open(path) {
        Ok(file) if file.metadata().is_ok_and(|found| found.is_file()) => Ok(()),
        Ok(_) => Err("it is no file".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !parent.is_dir() {
                return Err(format!("there is no directory {}", parent.display()));
            }
            access(parent, Access::WRITE_OK).map_err(|error| format!("{}: {error}", parent.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::State;
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let (outside, data) = (directory.path().join("anchors"), directory.path().join("data"));
        let judged = |path: &Path, told: Option<&str>| anchors(path, &data, told.map(str::to_owned));
        assert_eq!(judged(&outside, None).state, State::Ok);
        assert!(!outside.exists(), "looking makes nothing");
        std::fs::write(&outside, "x").unwrap();
        assert_eq!(judged(&outside, None).state, State::Ok);
        assert_eq!(judged(&outside, Some("It complains.")).says, "It complains.");
        assert_eq!(judged(&directory.path().join("absent/anchors"), None).state, State::Problem);
        assert_eq!(judged(directory.path(), None).state, State::Problem);
        std::fs::create_dir(&data).unwrap();
        assert_eq!(judged(&data.join("anchors"), None).state, State::Warning);
    }
}
