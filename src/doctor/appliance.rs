//! The configuration, and the appliance itself: whether it runs, and what there is to go back to.

use std::path::Path;

use quintet_storage::backup;

use super::subject::{Finding, Life, Stored, Subject};
use crate::admin::status::{BACKUP_AGE_SECONDS_MAX, StorageView};
use crate::config::{Problem, Problems};
use crate::followers::{FollowerView, LAG_SECONDS_MAX};
use crate::measures::{duration, seconds_between, size};
use crate::shell::quoted;
use crate::tls;

/// Whether the configuration is valid.
pub fn check_configuration(subject: &Subject) -> Vec<Finding> {
    let name = "configuration";
    let outside = subject.config.as_ref().map(tls::problems);
    let problems = match &outside {
        Ok(Problems(problems)) => problems.as_slice(),
        Err(Problems(problems)) => problems.as_slice(),
    };
    if problems.is_empty() {
        return vec![Finding::ok(name, "It is valid.")];
    }
    let cure = "Correct it there; `quintet config check FILE` tells what is left.";
    let is_root = rustix::process::geteuid().is_root();
    problems
        .iter()
        .map(|Problem { place, message }| match is_root || !message.contains("Permission denied") {
            true => Finding::problem(name, format!("{place}: {message}."), cure),
            false => Finding::warning(
                name,
                format!("{place}: {message}, by this user."),
                "Run this as root or as the user that runs the appliance: `sudo quintet doctor`.",
            ),
        })
        .collect()
}

/// Whether it runs, and how it is.
pub fn check_life(subject: &Subject) -> Vec<Finding> {
    let name = "appliance";
    let place = quoted(&subject.data_dir);
    let finding = match (&subject.life, &subject.stored) {
        (Life::Running(status), _) => match status.storage.state.as_str() {
            "stopped" => Finding::problem(
                name,
                format!("It runs, but writing has stopped: {}.", status.storage.reason.as_deref().unwrap_or("unknown")),
                "Look at the disk and at the appliance's log, mend what is told there, then restart it.",
            ),
            "full" => Finding::problem(
                name,
                "It runs, but the disk is down to its reserve: writes are refused.",
                "Free space; writing resumes by itself.",
            ),
            _ => Finding::ok(name, format!("It runs: process {}, version {}.", status.pid, status.version)),
        },
        (Life::Silent(reason), _) => Finding::problem(
            name,
            format!("It may run, but cannot be asked: {reason}."),
            "Run this as root or as the user that runs the appliance; if it hangs, see its log and restart it.",
        ),
        (Life::Stopped, _) if subject.forbidden.is_some() => Finding::warning(
            name,
            format!("Whether it runs cannot be seen: {}.", subject.forbidden.as_deref().unwrap_or_default()),
            "Run this as root or as the user that runs the appliance: `sudo quintet doctor`.",
        ),
        (Life::Stopped, Stored::Unreadable(reason)) => Finding::problem(
            name,
            format!("It does not run, and what is stored cannot be read: {reason}."),
            format!("`quintet verify --data {place}` tells what is damaged and what to do about it."),
        ),
        (Life::Stopped, _) => Finding::ok(name, "It does not run."),
    };
    vec![finding]
}

/// Whether plain copies may take as long as configured.
pub fn check_copies(subject: &Subject) -> Vec<Finding> {
    let Some(status) = subject.status() else { return Vec::new() };
    let limit_mb = subject.config.as_ref().map_or(0, |config| config.copy_keep_mb);
    vec![copy_window(&status.storage, limit_mb)]
}

fn copy_window(storage: &StorageView, limit_mb: u64) -> Finding {
    let (in_force, wanted) = (storage.copy_window_seconds, storage.copy_window_wanted_seconds);
    let says = format!("A plain copy of the data directory may take {}", duration(in_force));
    let limit = match limit_mb {
        0 => "a tenth of the disk, 8.0 GiB at most".to_string(),
        mb => size(mb << 20),
    };
    let kept = format!("{} are kept on disk for it, of {limit}", size(storage.kept_for_copies_bytes));
    if in_force >= wanted {
        return Finding::ok("copies", format!("{says}; {kept}."));
    }
    Finding::warning(
        "copies",
        format!("{says}, not {} as configured: {kept}.", duration(wanted)),
        "Free disk space, or raise the limit, `[storage] copy_keep_mb = 16384` for instance, and restart; or copy with \
         `quintet backup create DEST`, which needs no window.",
    )
}

/// How old the last backup is.
pub fn check_backup(subject: &Subject) -> Vec<Finding> {
    let last = match (&subject.stored, subject.status()) {
        (_, Some(status)) => status
            .last_backup
            .as_ref()
            .map(|last| (last.age_seconds, last.backup.made.destination.clone(), last.backup.made.lsn)),
        (Stored::Last { backup, time, .. }, _) => backup.as_ref().map(|backup| {
            // A rehearsal's time is its own.
            let now = if subject.is_rehearsal() { *time } else { subject.now };
            let age = seconds_between(backup.finished_at, now);
            (age, backup.made.destination.clone(), backup.made.lsn)
        }),
        _ => return Vec::new(),
    };
    let is_there = last.as_ref().is_some_and(|(_, destination, lsn)| {
        backup::describe(Path::new(destination)).is_some_and(|found| found.lsn == *lsn)
    });
    if let Some(status) = subject.status().filter(|status| !status.followers.is_empty()) {
        return status.followers.iter().map(follower).collect();
    }
    vec![last_backup(last.as_ref().map(|(age, destination, _)| (*age, destination.as_str())), is_there)]
}

/// How a continuous backup stands.
fn follower(follower: &FollowerView) -> Finding {
    let FollowerView { destination, lsn, lag_seconds } = follower;
    match *lag_seconds > LAG_SECONDS_MAX {
        false => Finding::ok("backup", format!("{destination} follows: transaction {lsn} is there.")),
        true => Finding::warning(
            "backup",
            format!("The continuous backup at {destination} is {} behind.", duration(*lag_seconds)),
            "See whether its disk is there and has room, and start `quintet backup follow` again \
             (`systemctl status quintet-follow`).",
        ),
    }
}

fn last_backup(last: Option<(u64, &str)>, is_there: bool) -> Finding {
    let cure = "Make one: `quintet backup create DEST`, by a timer every night, to another disk or machine.";
    match last {
        None => Finding::warning("backup", "None was ever made.", cure),
        Some((age, _)) if age > BACKUP_AGE_SECONDS_MAX => {
            Finding::warning("backup", format!("The last one is {} old.", duration(age)), cure)
        }
        Some((age, destination)) if is_there => {
            Finding::ok("backup", format!("The last one was made {} ago ({destination}).", duration(age)))
        }
        Some((age, destination)) => Finding::warning(
            "backup",
            format!("The last one, made {} ago, is not at {destination} any more.", duration(age)),
            "If it was moved to a safe place, all is well; if not, make another: `quintet backup create DEST`.",
        ),
    }
}

/// Whether its clock is a rehearsal's.
pub fn check_rehearsal(subject: &Subject) -> Vec<Finding> {
    match &subject.format {
        Some(format) => vec![rehearsal(format.rehearsal)],
        None => Vec::new(),
    }
}

fn rehearsal(is_rehearsal: bool) -> Finding {
    Finding::ok(
        "rehearsal",
        match is_rehearsal {
            true => {
                "The directory is for rehearsals, for good: its clock moves only when told (`quintet clock advance`)."
            }
            false => "The directory is for real work, for good: its clock is the system's.",
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;

    #[test]
    fn what_there_is_to_go_back_to_is_told() {
        let make = "Make one: `quintet backup create DEST`, by a timer every night, to another disk or machine.";
        let moved = "If it was moved to a safe place, all is well; if not, make another: `quintet backup create DEST`.";
        let cases = [
            (None, false, format!("warning: None was ever made. => {make}")),
            (Some((3_600, "/b")), true, "ok: The last one was made 1 h 0 min ago (/b).".to_string()),
            (
                Some((3_600, "/b")),
                false,
                format!("warning: The last one, made 1 h 0 min ago, is not at /b any more. => {moved}"),
            ),
            (Some((8 * 86_400, "/b")), true, format!("warning: The last one is 8 d 0 h old. => {make}")),
        ];
        for (last, is_there, expected) in cases {
            assert_eq!(told(&last_backup(last, is_there)), expected);
        }
    }

    #[test]
    fn the_time_for_copies_is_told() {
        let storage = |in_force: u64| -> StorageView {
            serde_json::from_value(serde_json::json!({
                "state": "writing", "lsn": 1, "disk_free_bytes": 1, "disk_reserve_bytes": 1,
                "copy_window_seconds": in_force, "copy_window_wanted_seconds": 900, "kept_for_copies_bytes": 3 << 20,
            }))
            .unwrap()
        };
        assert_eq!(
            told(&copy_window(&storage(900), 0)),
            "ok: A plain copy of the data directory may take 15 min; 3.0 MiB are kept on disk for it, of a tenth of the \
             disk, 8.0 GiB at most."
        );
        assert_eq!(
            told(&copy_window(&storage(60), 100)),
            "warning: A plain copy of the data directory may take 1 min, not 15 min as configured: 3.0 MiB are kept on \
             disk for it, of 100.0 MiB. => Free disk space, or raise the limit, `[storage] copy_keep_mb = 16384` for \
             instance, and restart; or copy with `quintet backup create DEST`, which needs no window."
        );
    }

    #[test]
    fn whose_clock_it_is_is_told() {
        assert_eq!(
            told(&rehearsal(true)),
            "ok: The directory is for rehearsals, for good: its clock moves only when told (`quintet clock advance`)."
        );
        assert_eq!(told(&rehearsal(false)), "ok: The directory is for real work, for good: its clock is the system's.");
    }
}
