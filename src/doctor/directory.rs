//! The data directory: whose it is, the disk it lies on, the root key.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quintet_platform::secrets::random_bytes;
use quintet_storage::has_file_handles;

use super::subject::{Finding, Subject};
use crate::admin::root_key::RootKeyView;
use crate::measures::disk_free_bytes;
use crate::measures::size;
use crate::root_key::KeyPlace;
use crate::shell::quoted;
use crate::start_error::StartError;

/// Syncs that are measured.
const SYNCS: u32 = 8;

/// A sync that takes longer is told: every answer waits for one.
const SLOW_SYNC: Duration = Duration::from_millis(50);

/// Free inodes below which it is told, and below which it is a problem: a start makes some dozens of files.
const INODES_FEW: u64 = 10_000;
const INODES_TOO_FEW: u64 = 200;

/// What is said where a user sees too little.
const AS_ROOT: &str = "Run this as root or as the user that runs the appliance: `sudo quintet doctor`.";

/// Files that are asked for their owner in one directory.
const FILES_MAX: usize = 10_000;

/// Whose the directory and its files are.
pub fn check_owner(subject: &Subject) -> Vec<Finding> {
    let name = "data directory";
    let data = &subject.data_dir;
    let place = quoted(data);
    let found = match std::fs::metadata(data) {
        Ok(found) if found.is_dir() => found,
        Ok(_) => {
            let says = format!("{} is not a directory.", data.display());
            return vec![Finding::problem(name, says, "Name another place with --data or data_dir.")];
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return vec![Finding::ok(name, format!("{} is not there yet; a start makes it.", data.display()))];
        }
        Err(error) => {
            let says = format!("{} cannot be looked at: {error}.", data.display());
            return vec![Finding::problem(name, says, AS_ROOT)];
        }
    };
    let own = rustix::process::geteuid().as_raw();
    let owner = found.uid();
    let mut findings = Vec::new();
    if found.mode() & 0o022 != 0 {
        let says = format!("Other users may write to {}: the appliance does not start on it.", data.display());
        findings.push(Finding::problem(name, says, format!("See that all in it is yours; then `chmod 700 {place}`.")));
    }
    if own != 0 && own != owner {
        let says = format!("{} belongs to the user {owner}, not to this one ({own}).", data.display());
        findings.push(Finding::problem(
            name,
            says,
            format!("Run the appliance as {owner}, or `chown -R {own} {place}`."),
        ));
    }
    let strange = files_of_others(data, owner);
    if let Some(first) = strange.first() {
        let says = format!(
            "{} files in it belong to another user than the directory, {} first.",
            strange.len(),
            first.display()
        );
        let cure = format!("`chown -R {owner} {place}`; a command run as root may have made them.");
        findings.push(Finding::problem(name, says, cure));
    }
    if findings.is_empty() {
        let kind = match (&subject.format, subject.is_rehearsal()) {
            (None, _) => ", and is no data directory yet",
            (_, true) => ", and is for rehearsals",
            (_, false) => "",
        };
        findings.push(Finding::ok(name, format!("{} belongs to the user {owner}{kind}.", data.display())));
    }
    findings
}

/// Files right in the data directory and in the directories of storage whose owner is another one.
fn files_of_others(data: &Path, owner: u32) -> Vec<PathBuf> {
    let directories = [data.to_path_buf(), data.join("wal"), data.join("live"), data.join("checkpoints")];
    let entries = directories.iter().filter_map(|place| std::fs::read_dir(place).ok());
    let entries = entries.flat_map(|entries| entries.filter_map(Result::ok).take(FILES_MAX));
    let strange = entries.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() != owner));
    strange.map(|entry| entry.path()).collect()
}

/// Whether the root key is there, whole, and private.
pub fn check_root_key(subject: &Subject) -> Vec<Finding> {
    let name = "root key";
    let Ok(config) = &subject.config else { return Vec::new() };
    let source = &config.root_key;
    let key = KeyPlace::of(config);
    if subject.format.is_none() && matches!(key.check(), Err(StartError::RootKeyMissing(_))) {
        return vec![Finding::ok(name, format!("It will be made with the directory ({source})."))];
    }
    let restore =
        "Put it back from a backup or another copy of the directory: what is sealed cannot be read without it.";
    let mut findings = match key.check() {
        Ok(()) => vec![Finding::ok(name, format!("It is there and whole ({source})."))],
        Err(error @ (StartError::RootKeyMissing(_) | StartError::RootKeyDamaged { .. })) => {
            vec![Finding::problem(name, format!("{error}."), restore)]
        }
        Err(error) => {
            vec![Finding::problem(name, format!("{error}."), AS_ROOT)]
        }
    };
    let standing = subject.status().and_then(|status| status.root_key.as_ref());
    findings.extend(previous(config.root_key_previous.as_deref(), standing));
    for (path, _) in key.backup_files() {
        if std::fs::metadata(&path).is_ok_and(|found| found.mode() & 0o077 != 0) {
            let says = format!("Other users may read {}.", path.display());
            findings.push(Finding::warning(name, says, format!("`chmod 600 {}`.", quoted(&path))));
        }
    }
    findings
}

/// What is to be said of a key that another one has followed, or is to.
fn previous(configured: Option<&str>, standing: Option<&RootKeyView>) -> Option<Finding> {
    let name = "root key";
    match (configured, standing.map(|standing| (standing.state.as_str(), standing))) {
        (_, Some(("stuck", standing))) => Some(Finding::problem(
            name,
            format!("Its rotation cannot come to an end: {}.", standing.explanation),
            "See that its file and directory can be written; then `systemctl restart quintet`.",
        )),
        (Some(source), Some(("at_rest", _))) => Some(Finding::warning(
            name,
            format!("Nothing needs the previous one ({source}) any more."),
            "Take storage.root_key_previous out of the configuration; then `systemctl restart quintet`.",
        )),
        (_, Some(("at_rest", _))) => None,
        (_, Some((_, standing))) => {
            Some(Finding::ok(name, format!("The previous one is still needed: {}.", standing.explanation)))
        }
        (Some(source), None) => Some(Finding::ok(
            name,
            format!("Whether the previous one ({source}) is still needed, `quintet root-key show` says while it runs."),
        )),
        (None, None) => None,
    }
}

/// The nearest directory above that exists.
fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("/")).to_path_buf()
}

/// How much is free, and what kind of file system it is.
pub fn check_disk(subject: &Subject) -> Vec<Finding> {
    let place = existing(&subject.data_dir);
    let reserve_mb = subject.config.as_ref().map_or(0, |config| config.disk_reserve_mb);
    let mut findings = Vec::new();
    match disk_free_bytes(&place) {
        Some(free) => findings.push(free_space(free, reserve_mb << 20)),
        None => findings.push(Finding::problem(
            "disk",
            format!("The free space beside {} cannot be told.", place.display()),
            AS_ROOT,
        )),
    }
    if let Ok(found) = rustix::fs::statvfs(&place) {
        findings.extend(inodes(found.f_files, found.f_favail));
    }
    if let Ok(found) = rustix::fs::statfs(&place) {
        findings.extend(file_system(found.f_type as u64));
    }
    findings.extend(handles(has_file_handles(&place)));
    findings
}

fn free_space(free: u64, reserve: u64) -> Finding {
    let says = format!("{} are free, {} are kept in reserve", size(free), size(reserve));
    let cure = "Free space on it, or lower storage.disk_reserve_mb and restart.";
    if free < reserve {
        Finding::problem("disk", format!("{says}: writes are refused."), cure)
    } else if free < reserve.saturating_mul(2) {
        Finding::warning(
            "disk",
            format!("{says}: what is kept for copies is given up before writes are refused."),
            cure,
        )
    } else {
        Finding::ok("disk", format!("{says}."))
    }
}

/// Files that can still be made, where the file system counts them.
fn inodes(all: u64, free: u64) -> Option<Finding> {
    if all == 0 || free >= INODES_FEW {
        return None;
    }
    let says = format!("{free} more files can be made on it (inodes)");
    let cure = "Remove small files from it: `df -i` and `du --inodes -xd1` tell where they are.";
    Some(match free < INODES_TOO_FEW {
        true => Finding::problem("disk", format!("{says}: nothing goes on without new ones."), cure),
        false => Finding::warning("disk", format!("{says}."), cure),
    })
}

/// What is said of a file system by its number (statfs(2)); nothing of those that are fit.
fn file_system(number: u64) -> Option<Finding> {
    let (says, cure) = match number & 0xFFFF_FFFF {
        0x0102_1994 => (
            "The data directory lies in memory (tmpfs): it is gone with the next restart of the machine.".to_string(),
            "Move it to a disk.",
        ),
        0x794C_7630 => (
            "The data directory lies in a container's own layer (overlay): it is gone with that container.".to_string(),
            "Mount a volume where it lies.",
        ),
        0x4D44 | 0x2011_BAB0 | 0x5346_544E | 0x7366_746E => (
            "Its file system (FAT or NTFS) knows no owners, and may keep a rename by halves when the power fails."
                .to_string(),
            "Move the data directory to ext4, XFS or Btrfs.",
        ),
        number => (
            format!(
                "The data directory lies on a network file system ({}): syncs are slow and may be less than they say.",
                match number {
                    0x6969 => "NFS",
                    0xFF53_4D42 | 0xFE53_4D42 | 0x517B => "SMB",
                    0x6573_5546 => "FUSE",
                    0x0102_1997 => "9P",
                    0x00C3_6400 => "Ceph",
                    0x5346_414F => "AFS",
                    _ => return None,
                }
            ),
            "Move it to a local disk; copies and backups may lie on the network.",
        ),
    };
    Some(Finding::warning("disk", says, cure))
}

fn handles(found: io::Result<bool>) -> Option<Finding> {
    match found {
        Ok(true) => Some(Finding::ok("disk", "Its file system tells files from their copies.")),
        Ok(false) => Some(Finding::warning(
            "disk",
            "Its file system does not tell files from their copies: every start makes the tables anew, which takes longer.",
            "Move the data directory to ext4, XFS or Btrfs.",
        )),
        Err(_) => None,
    }
}

/// How long a sync takes.
pub fn check_sync(subject: &Subject) -> Vec<Finding> {
    if subject.format.is_none() {
        return Vec::new();
    }
    match measure(&subject.data_dir) {
        Ok(times) => vec![syncing(times)],
        Err(error) => vec![Finding::problem(
            "syncing",
            format!("Nothing can be written to {}: {error}.", subject.data_dir.display()),
            "Run this as root or as the user that runs the appliance; if it was, `mount -o remount,rw` the file system.",
        )],
    }
}

/// How long some small writes take until they are on the disk; ascending. Also tries what a start relies on: that a file
/// is renamed over another, and the directory synced. Others may do the same at the same time.
fn measure(data: &Path) -> io::Result<Vec<Duration>> {
    let path = data.join(format!("doctor-{:032x}.tmp", u128::from_ne_bytes(random_bytes())));
    let renamed = path.with_extension("tmp2");
    let file = create(&path)?;
    let measured = create(&renamed).and_then(|_| removed(&renamed, try_writes(file, data, &path, &renamed)));
    removed(&path, measured)
}

fn create(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Removes what was made for a trial, if it is still there. That it cannot be removed fails a trial that went well.
fn removed<T>(made: &Path, tried: io::Result<T>) -> io::Result<T> {
    match (tried, std::fs::remove_file(made)) {
        (Ok(_), Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        (tried, _) => tried,
    }
}

fn try_writes(mut file: File, data: &Path, path: &Path, renamed: &Path) -> io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        file.write_all(&[0; 4096])?;
        let begun = Instant::now();
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    std::fs::rename(path, renamed)?;
    File::open(data)?.sync_all()?;
    let length = u64::from(SYNCS) * 4096;
    if path.exists() || std::fs::metadata(renamed)?.len() != length {
        return Err(io::Error::other("a renamed file is not where it should be"));
    }
    times.sort_unstable();
    Ok(times)
}

fn syncing(times: Vec<Duration>) -> Finding {
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let longest = times.last().copied().unwrap_or_default();
    let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let says = format!("A write is on the disk after {}, after {} at most", millis(median), millis(longest));
    if median > SLOW_SYNC {
        let cure = "Use a disk that syncs faster (an SSD with power-loss protection), or see what else keeps it busy.";
        return Finding::warning("syncing", format!("{says}: every answer to a change waits for that."), cure);
    }
    Finding::ok("syncing", format!("{says}."))
}

#[cfg(test)]
mod tests {
    use super::super::subject::{State, told};
    use super::*;

    #[test]
    fn disks_are_told_of_by_what_is_free() {
        let cure = "Free space on it, or lower storage.disk_reserve_mb and restart.";
        let cases = [
            (100, 512, format!("problem: 100 B are free, 512 B are kept in reserve: writes are refused. => {cure}")),
            (
                1_000,
                512,
                format!(
                    "warning: 1000 B are free, 512 B are kept in reserve: what is kept for copies is given up before \
                     writes are refused. => {cure}"
                ),
            ),
            (2_000, 512, "ok: 2.0 KiB are free, 512 B are kept in reserve.".replace("2.0 KiB", "1.9 KiB")),
            (0, 0, "ok: 0 B are free, 0 B are kept in reserve.".to_string()),
        ];
        for (free, reserve, expected) in cases {
            assert_eq!(told(&free_space(free, reserve)), expected);
        }
        let cure = "Remove small files from it: `df -i` and `du --inodes -xd1` tell where they are.";
        assert_eq!(inodes(1 << 20, 10_000), None);
        assert_eq!(inodes(0, 0), None, "Btrfs does not count them");
        assert_eq!(
            inodes(1 << 20, 9_999).as_ref().map(told),
            Some(format!("warning: 9999 more files can be made on it (inodes). => {cure}"))
        );
        assert_eq!(
            inodes(1 << 20, 3).as_ref().map(told),
            Some(format!(
                "problem: 3 more files can be made on it (inodes): nothing goes on without new ones. => {cure}"
            ))
        );
    }

    #[test]
    fn file_systems_are_told_of_by_their_kind() {
        let network = |name: &str| {
            Some(format!(
                "warning: The data directory lies on a network file system ({name}): syncs are slow and may be less than \
                 they say. => Move it to a local disk; copies and backups may lie on the network."
            ))
        };
        let memory = "warning: The data directory lies in memory (tmpfs): it is gone with the next restart of the \
                      machine. => Move it to a disk.";
        let layer = "warning: The data directory lies in a container's own layer (overlay): it is gone with that \
                     container. => Mount a volume where it lies.";
        let fat = "warning: Its file system (FAT or NTFS) knows no owners, and may keep a rename by halves when the power \
                   fails. => Move the data directory to ext4, XFS or Btrfs.";
        let cases = [
            (0xEF53, None),
            (0x5846_5342, None),
            (0x9123_683E, None),
            (0x6969, network("NFS")),
            // The number may be negative.
            (0xFFFF_FFFF_FF53_4D42, network("SMB")),
            (0x6573_5546, network("FUSE")),
            (0x0102_1997, network("9P")),
            (0x00C3_6400, network("Ceph")),
            (0x5346_414F, network("AFS")),
            (0x0102_1994, Some(memory.to_string())),
            (0x794C_7630, Some(layer.to_string())),
            (0x4D44, Some(fat.to_string())),
        ];
        for (number, expected) in cases {
            assert_eq!(file_system(number).as_ref().map(told), expected, "{number:x}");
        }
        assert_eq!(
            handles(Ok(false)).as_ref().map(told).unwrap(),
            "warning: Its file system does not tell files from their copies: every start makes the tables anew, which \
             takes longer. => Move the data directory to ext4, XFS or Btrfs."
        );
        assert_eq!(handles(Ok(true)).unwrap().state, State::Ok);
    }

    #[test]
    fn previous_root_keys_are_told_of() {
        let view = |state: &str, explanation: &str| RootKeyView {
            key_id: "k".into(),
            source: "file:root.key".into(),
            in_force_since: None,
            rotated_at: None,
            state: state.into(),
            explanation: explanation.into(),
            previous_key_id: None,
            previous_kept_until: None,
        };
        let told_of = |configured, standing: Option<RootKeyView>| {
            previous(configured, standing.as_ref()).as_ref().map(told).unwrap_or_default()
        };
        assert_eq!(told_of(None, None), "");
        assert_eq!(told_of(None, Some(view("at_rest", "one key"))), "");
        assert_eq!(
            told_of(Some("file:old"), Some(view("at_rest", "one key"))),
            "warning: Nothing needs the previous one (file:old) any more. => Take storage.root_key_previous out of the \
             configuration; then `systemctl restart quintet`."
        );
        assert_eq!(
            told_of(Some("file:old"), Some(view("rewrapping", "3 of 9 are under the new key"))),
            "ok: The previous one is still needed: 3 of 9 are under the new key."
        );
        assert_eq!(
            told_of(None, Some(view("stuck", "the file cannot be written"))),
            "problem: Its rotation cannot come to an end: the file cannot be written. => See that its file and directory \
             can be written; then `systemctl restart quintet`."
        );
        assert_eq!(
            told_of(Some("file:old"), None),
            "ok: Whether the previous one (file:old) is still needed, `quintet root-key show` says while it runs."
        );
    }

    #[test]
    fn slow_syncs_are_told_and_measuring_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let times = measure(directory.path()).unwrap();
        assert_eq!(times.len(), SYNCS as usize);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(
            told(&syncing(vec![Duration::from_millis(80); 8])),
            "warning: A write is on the disk after 80.0 ms, after 80.0 ms at most: every answer to a change waits for \
             that. => Use a disk that syncs faster (an SSD with power-loss protection), or see what else keeps it busy."
        );
        assert_eq!(syncing(vec![Duration::from_millis(2); 8]).state, State::Ok);
        assert!(measure(Path::new("/proc")).is_err());
    }

    #[test]
    fn several_measure_at_once_and_remove_what_they_made_alone() {
        let directory = tempfile::tempdir().unwrap();
        // What another one, or one that was killed, has left.
        let others = directory.path().join(format!("doctor-{}.tmp", std::process::id()));
        std::fs::write(&others, "theirs").unwrap();
        std::thread::scope(|scope| {
            let measuring: Vec<_> = (0..8).map(|_| scope.spawn(|| measure(directory.path()))).collect();
            for measured in measuring {
                assert_eq!(measured.join().unwrap().unwrap().len(), SYNCS as usize);
            }
        });
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(&others).unwrap(), "theirs");
    }

    #[test]
    fn a_directory_that_is_to_be_made_is_judged_by_where_it_will_lie() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(existing(&directory.path().join("a/b/c")), directory.path());
    }
}
