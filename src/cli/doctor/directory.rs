//! The data directory: whose it is, the disk it lies on, the root key.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quintet_storage::has_file_handles;

use super::examination::{Finding, Subject};
use crate::cli::copying::quoted;
use crate::cli::output::size;
use crate::metrics::disk_free_bytes;
use crate::root_key::KeyPlace;
use crate::start_error::StartError;

/// Syncs that are measured.
const SYNCS: u32 = 8;

/// A sync that takes longer is told: every answer waits for one.
const SLOW_SYNC: Duration = Duration::from_millis(50);

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
            return vec![Finding::problem(name, says, "Run this as root or as the user that runs the appliance.")];
        }
    };
    let own = rustix::process::geteuid().as_raw();
    let owner = found.uid();
    let mut findings = Vec::new();
    if found.mode() & 0o022 != 0 {
        let says = format!("Other users may write to {}: the appliance does not start on it.", data.display());
        findings.push(Finding::problem(name, says, format!("See that all in it is yours, then `chmod 700 {place}`.")));
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
            let cure = "Run this as root or as the user that runs the appliance.";
            vec![Finding::problem(name, format!("{error}."), cure)]
        }
    };
    for (path, _) in key.backup_files() {
        if std::fs::metadata(&path).is_ok_and(|found| found.mode() & 0o077 != 0) {
            let says = format!("Other users may read {}.", path.display());
            findings.push(Finding::warning(name, says, format!("`chmod 600 {}`.", quoted(&path))));
        }
    }
    findings
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
            "Run this as root or as the user that runs the appliance.",
        )),
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

/// What is said of a file system by its number (statfs(2)); nothing of those that are fit.
fn file_system(number: u64) -> Option<Finding> {
    let network = match number & 0xFFFF_FFFF {
        0x6969 => "NFS",
        0xFF53_4D42 | 0xFE53_4D42 | 0x517B => "SMB",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9P",
        0x00C3_6400 => "Ceph",
        0x5346_414F => "AFS",
        0x0102_1994 => {
            return Some(Finding::warning(
                "disk",
                "The data directory lies in memory (tmpfs): it is gone with the next restart of the machine.",
                "Move it to a disk.",
            ));
        }
        _ => return None,
    };
    Some(Finding::warning(
        "disk",
        format!(
            "The data directory lies on a network file system ({network}): syncs are slow and may be less than they say."
        ),
        "Move it to a local disk; copies and backups may lie on the network.",
    ))
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
            "Run this as root or as the user that runs the appliance; if it was so, mount the file system for writing.",
        )],
    }
}

/// How long some small writes take until they are on the disk; ascending.
fn measure(data: &Path) -> io::Result<Vec<Duration>> {
    let path = data.join(format!("doctor-{}.tmp", std::process::id()));
    let measured = (|| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        let mut times = Vec::new();
        for _ in 0..SYNCS {
            file.write_all(&[0; 4096])?;
            let begun = Instant::now();
            file.sync_data()?;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        Ok(times)
    })();
    if measured.is_ok() || path.exists() {
        std::fs::remove_file(&path)?;
    }
    measured
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
    use super::super::examination::State;
    use super::*;

    #[test]
    fn disks_are_judged_by_what_is_free_and_by_their_kind() {
        assert_eq!(free_space(100, 512).state, State::Problem);
        assert_eq!(free_space(1_000, 512).state, State::Warning);
        assert_eq!(free_space(2_000, 512).state, State::Ok);
        assert_eq!(free_space(0, 0).state, State::Ok, "no reserve, no refusal");
        assert!(file_system(0x6969).unwrap().says.contains("NFS"));
        assert!(file_system(0xFFFF_FFFF_FF53_4D42).unwrap().says.contains("SMB"), "the number may be negative");
        assert!(file_system(0x0102_1994).unwrap().says.contains("tmpfs"));
        assert_eq!(file_system(0xEF53), None);
        assert_eq!(handles(Ok(false)).unwrap().state, State::Warning);
        assert_eq!(handles(Ok(true)).unwrap().state, State::Ok);
    }

    #[test]
    fn slow_syncs_are_told_and_measuring_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let times = measure(directory.path()).unwrap();
        assert_eq!(times.len(), SYNCS as usize);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(syncing(vec![Duration::from_millis(80); 8]).state, State::Warning);
        assert_eq!(syncing(vec![Duration::from_millis(2); 8]).state, State::Ok);
        assert!(measure(Path::new("/proc")).is_err());
    }

    #[test]
    fn a_directory_that_is_to_be_made_is_judged_by_where_it_will_lie() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(existing(&directory.path().join("a/b/c")), directory.path());
    }
}
