//! Checking everything of a data directory, as `quintet verify` and `quintet restore` do it, and telling what was found.

use std::path::{Path, PathBuf};

use quintet_localization::AnchorFile;
use quintet_storage::{Finding, Snapshot, Tables, Verification, Verified, seal};
use serde::Serialize;

use crate::app::VERIFICATIONS;
use crate::cli::output;
use crate::cli::progress::Progress;
use crate::measures::size_of_files;
use crate::root_key::KeyPlace;
use crate::shell::quoted;
use crate::start_error::StartError;

/// One kind of thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What it is.
    pub name: String,
    /// What was read of it.
    pub read: String,
    /// The size of it in bytes, where it has one.
    pub bytes: Option<u64>,
    /// How many things are wrong with it.
    pub findings: usize,
    /// Whether it could be looked at.
    pub is_checked: bool,
}

/// Everything that was checked.
pub struct Report {
    /// What was checked, in order.
    pub parts: Vec<Part>,
    /// What was read and found.
    pub verified: Verified,
    /// The file that the audit chains' anchors were looked for in.
    pub anchor_file: Option<PathBuf>,
}

/// The anchors of audit chains that the rows are held against.
pub struct Anchors {
    /// Their file.
    pub file: AnchorFile,
    /// How long it was before the state of the rows that is checked was taken; 0: that may be any older one.
    pub known_bytes: u64,
}

/// What a directory is held against that is no part of its rows.
#[derive(Clone, Copy, Default)]
pub struct Against<'a> {
    /// The root key, which must open every data key.
    pub root_key: Option<&'a KeyPlace>,
    /// Keys to open what is sealed with, if they can be had.
    pub opening: Option<&'a KeyPlace>,
    /// The anchors of audit chains.
    pub anchors: Option<&'a Anchors>,
}

/// Runs every check there is: of storage, of the root key if one is given, of each package.
pub fn check_all(
    mut verification: Verification,
    data: &Path,
    tables: &Tables,
    against: &Against<'_>,
    progress: &mut Progress,
) -> Report {
    let Against { root_key, opening, anchors } = *against;
    let mut parts = Vec::new();
    let mut tell = |what: &str, done| progress.bytes(&format!("checking: {what}"), done, 0);
    let found = |verification: &Verification| verification.verified().findings.len();

    let before = found(&verification);
    verification.check_backup(&mut tell);
    let of_backup = found(&verification) - before;
    if of_backup > 0 {
        parts.push(part("backup", "its files against its manifest".into(), None, of_backup));
    }

    let before = found(&verification);
    verification.check_log(&mut tell);
    let bytes = Some(size_of_files(&data.join("wal")));
    parts.push(part("log", log_text(verification.verified()), bytes, found(&verification) - before));

    let before = found(&verification);
    verification.check_checkpoints(&mut tell);
    let (text, bytes) = (format!("{} sound", verification.verified().checkpoints), data.join("checkpoints"));
    parts.push(part("checkpoints", text, Some(size_of_files(&bytes)), found(&verification) - before));

    let before = found(&verification);
    let snapshot = verification.check_tables(tables, &mut tell);
    let text = format!("{} rows", verification.verified().rows);
    let bytes = Some(verification.verified().row_bytes);
    let of_tables = found(&verification) - before;
    parts.push(part("tables", text, bytes, of_tables));
    let unchecked = match of_tables {
        0 => "not checked: the rows have an older format",
        _ => "not checked: the tables are damaged",
    };

    // Whether the keys fit is told further down.
    let ring = opening.and_then(|place| place.ring().ok().flatten());
    let opened = match (&snapshot, ring) {
        (Some(snapshot), Some(ring)) => Some(snapshot.clone().with_root_keys(ring)),
        _ => snapshot.clone(),
    };
    for (name, check) in VERIFICATIONS {
        progress.step(&format!("checking: {name}"));
        let Some(snapshot) = &opened else {
            parts.push(Part { is_checked: false, ..part(name, unchecked.into(), None, 0) });
            continue;
        };
        let findings = check(snapshot).unwrap_or_else(|failure| vec![format!("its rows cannot be read: {failure}")]);
        parts.push(part(name, "its rows against each other".into(), None, findings.len()));
        verification.add(name, findings);
    }
    if let Some(anchors) = anchors {
        progress.step("checking: anchors");
        parts.push(check_anchors(&mut verification, anchors, snapshot.as_ref()));
    }
    if let Some(root_key) = root_key {
        parts.push(check_root_key(&mut verification, root_key, snapshot.as_ref()));
    }
    progress.finish();
    Report { parts, verified: verification.finish(), anchor_file: anchors.map(|anchors| anchors.file.path().into()) }
}

/// What was read of the log.
fn log_text(read: &Verified) -> String {
    match (read.log_segments, read.log_frames) {
        (0, _) => "none".to_string(),
        (segments, 0) => format!("{segments} segments, empty"),
        (segments, frames) => {
            format!("{segments} segments, {frames} groups, transactions {} to {}", read.log_first_lsn, read.last_lsn)
        }
    }
}

fn part(name: &str, read: String, bytes: Option<u64>, findings: usize) -> Part {
    Part { name: name.to_string(), read, bytes, findings, is_checked: true }
}

/// Whether the audit chains are what they were when their anchors were written.
fn check_anchors(verification: &mut Verification, anchors: &Anchors, snapshot: Option<&Snapshot>) -> Part {
    let file = anchors.file.path();
    let Some(snapshot) = snapshot else {
        return Part { is_checked: false, ..part("anchors", "not checked: the tables are not".into(), None, 0) };
    };
    let found = quintet_localization::verify_anchors(snapshot, &anchors.file, anchors.known_bytes);
    let reasons = found.unwrap_or_else(|failure| vec![format!("the chains cannot be read: {failure}")]);
    let count = reasons.len();
    for reason in reasons {
        verification.add_finding(Finding { file: file.into(), offset: None, reason });
    }
    part("anchors", "the audit chains against them".into(), anchors.file.bytes().ok(), count)
}

/// Whether the key is there and opens every data key. A key that is elsewhere is no damage: a backup may do without, and
/// the configuration may name another place.
fn check_root_key(verification: &mut Verification, root_key: &KeyPlace, snapshot: Option<&Snapshot>) -> Part {
    let file = root_key.backup_files().into_iter().next().map_or_else(PathBuf::new, |(path, _)| path);
    let checked = root_key.check().and_then(|()| root_key.ring());
    let reasons = match checked {
        Ok(Some(ring)) => match snapshot.map(|snapshot| seal::rotation::check(snapshot, &ring)) {
            Some(Ok(reasons)) => reasons,
            Some(Err(failure)) => vec![format!("the data keys cannot be read: {failure}")],
            None => Vec::new(),
        },
        Ok(None) => {
            verification.add_note("the root key is not here: whether it opens the data keys is told by a start".into());
            return Part { is_checked: false, ..part("root key", "not checked: it is not here".into(), None, 0) };
        }
        Err(StartError::RootKeyDamaged { .. }) => vec!["this is not a root key".to_string()],
        Err(error) => {
            verification.add_note(format!("{error}: it is needed to read what is sealed"));
            return Part { is_checked: false, ..part("root key", "not checked: it is not here".into(), None, 0) };
        }
    };
    let count = reasons.len();
    for reason in reasons {
        verification.add_finding(Finding { file: file.clone(), offset: None, reason });
    }
    part("root key", "the data keys it opens".into(), None, count)
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.verified.findings.is_empty()
    }

    /// Prints it for people.
    pub fn say(&self) {
        let rows = self.parts.iter().map(|part| {
            let result = match (part.is_checked, part.findings) {
                (false, _) => "-".to_string(),
                (true, 0) => "sound".to_string(),
                (true, findings) => format!("{findings} findings"),
            };
            vec![part.name.clone(), result, part.bytes.map_or("-".to_string(), output::size), part.read.clone()]
        });
        output::say_table(&["what", "result", "size", "read"], &rows.collect::<Vec<_>>());
        for finding in &self.verified.findings {
            output::say(&output::plain(&format!("damage: {finding}")));
        }
        for note in &self.verified.notes {
            output::say(&output::plain(&format!("note: {note}")));
        }
    }

    /// What was found as JSON: `[{file, offset, reason}]`.
    pub fn findings_json(&self) -> serde_json::Value {
        let findings = self.verified.findings.iter().map(|finding| {
            serde_json::json!({ "file": finding.file.display().to_string(), "offset": finding.offset, "reason": finding.reason })
        });
        findings.collect::<Vec<_>>().into()
    }

    /// What to do about what was found in `data`.
    pub fn next_step(&self, data: &Path, is_running: bool, root_key: Option<&KeyPlace>) -> String {
        let findings = &self.verified.findings;
        let place = quoted(data);
        let is_key = |finding: &Finding| {
            root_key.is_some_and(|key| key.backup_files().iter().any(|(path, _)| *path == finding.file))
        };
        if findings.iter().all(is_key) {
            return "put the root key back from a backup or another copy of the directory; nothing else is damaged"
                .into();
        }
        if findings.iter().all(|finding| self.anchor_file.as_ref() == Some(&finding.file)) {
            return "the audit chains are not those that were anchored: the directory was put back to an older state, or events were taken out of it; if somebody restored it on purpose, keep the anchor file and name a new one in audit.anchor_file".into();
        }
        if findings.iter().all(|finding| finding.file.starts_with(data.join("checkpoints"))) {
            return if is_running {
                "nothing is lost: the next checkpoint takes the place of the damaged one; look at the disk, and make a backup with `quintet backup create DEST`".into()
            } else {
                format!(
                    "nothing is lost: once `quintet serve --data {place}` runs, the next checkpoint takes the place of the damaged one; look at the disk, and make a backup"
                )
            };
        }
        let of_storage = |part: &&Part| {
            part.findings > 0 && ["backup", "log", "checkpoints", "tables"].contains(&part.name.as_str())
        };
        if self.parts.iter().find(of_storage).is_none() {
            return format!(
                "every row is what was written, but rows contradict each other: a mistake of the product, not of the disk; keep a copy (`cp -a {place} {place}.copy`), report what is printed here, and see whether a backup is without it"
            );
        }
        if self.parts.iter().any(|part| part.name == "backup" && part.findings > 0) {
            return format!(
                "this backup is damaged: take another one, or save what is sound with `quintet verify --data {place} --salvage DEST`"
            );
        }
        let salvage =
            format!("`quintet verify --data {place} --salvage DEST` saves all that is sound and names the rest");
        let restore = "`quintet restore BACKUP --data DEST` goes back to a backup (`quintet backup list` names them)";
        if is_running {
            format!("stop the appliance and check again, since more can be read then; {salvage}; {restore}")
        } else {
            format!("nothing was changed; {salvage}; {restore}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use quintet_platform::clock::Clock;
    use quintet_storage::bincode::{Decode, Encode};
    use quintet_storage::{Abort, Family, Row, Store, StoreOptions, Table, Uuid};

    use super::*;
    use crate::app::TABLES;

    /// The platform's list of a tenant's keys, written to past its rules.
    #[derive(Clone, Debug, Encode, Decode)]
    #[bincode(crate = "quintet_storage::bincode")]
    struct Mark;
    impl Row for Mark {}
    const KEYS_BY_TENANT: Table<(Uuid, Uuid), Mark> = Table::new(0x0104, Family::APPLIANCE, "platform.keys_by_tenant");

    #[test]
    fn rows_that_contradict_each_other_are_found_and_are_no_damage_of_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let store = Store::open(StoreOptions::new(&data, Arc::new(Clock::system())), TABLES).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let written = store.write_blocking(deadline, |tx, _| {
            Ok::<_, Abort<Infallible>>(tx.put(&KEYS_BY_TENANT, &(Uuid::from_u128(1), Uuid::from_u128(2)), &Mark)?)
        });
        written.unwrap();
        store.shutdown();
        drop(store);
        let verification = Verification::begin(&data, false, TABLES).unwrap();
        let report = check_all(verification, &data, &Tables::Own, &Against::default(), &mut Progress::new(true));
        assert_eq!(report.verified.findings.len(), 1, "{:?}", report.verified.findings);
        assert!(report.verified.findings[0].reason.starts_with("platform: the list of keys of tenant"));
        assert!(!report.is_sound());
        let platform = report.parts.iter().find(|part| part.name == "platform").unwrap();
        assert_eq!((platform.findings, platform.is_checked), (1, true));
        assert!(report.next_step(&data, false, None).contains("rows contradict each other"));
    }
}
