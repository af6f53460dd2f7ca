//! The configuration, and the appliance itself: whether it runs, what there is to go back to, its ports.

use std::io;
use std::net::TcpListener;
use std::path::Path;

use quintet_storage::backup;

use super::examination::{Finding, Life, Stored, Subject};
use crate::admin::tasks::seconds_between;
use crate::cli::copying::quoted;
use crate::cli::output::duration;
use crate::config::Problems;
use crate::router::SERVICES;
use crate::tls;

/// A backup that is older is told.
const BACKUP_AGE_SECONDS_MAX: u64 = 7 * 86_400;

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
    let cure = "Correct it; `quintet config check FILE` tells what is left.";
    problems
        .iter()
        .map(|problem| Finding::problem(name, format!("{}: {}.", problem.place, problem.message), cure))
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
    vec![copy_window(status.storage.copy_window_seconds, status.storage.copy_window_wanted_seconds)]
}

fn copy_window(in_force: u64, wanted: u64) -> Finding {
    let says = format!("A plain copy of the data directory may take {}", duration(in_force));
    if in_force >= wanted {
        return Finding::ok("copies", format!("{says}."));
    }
    Finding::warning(
        "copies",
        format!("{says}, not {} as configured: what is kept for it came to its limit.", duration(wanted)),
        "Raise storage.copy_keep_mb or free disk space; or copy with `quintet backup create`, which needs no window.",
    )
}

/// How old the last backup is.
pub fn check_backup(subject: &Subject) -> Vec<Finding> {
    let last = match (&subject.stored, subject.status()) {
        (_, Some(status)) => {
            status.last_backup.as_ref().map(|last| (last.age_seconds, last.backup.destination.clone(), last.backup.lsn))
        }
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
    vec![last_backup(last.as_ref().map(|(age, destination, _)| (*age, destination.as_str())), is_there)]
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

/// Whether the ports are free for a start.
pub fn check_ports(subject: &Subject) -> Vec<Finding> {
    let (Life::Stopped, Ok(config)) = (&subject.life, &subject.config) else { return Vec::new() };
    let mut findings = Vec::new();
    for name in SERVICES {
        let Some(address) = config.listen.of(name).filter(|address| address.port() != 0) else { continue };
        let Err(error) = TcpListener::bind(address) else { continue };
        let cure = match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("`ss -ltnp` names the program that has it: stop that, or set another address in listen.{name}.")
            }
            _ => format!("Set another address in listen.{name}."),
        };
        findings.push(Finding::problem("ports", format!("{address} for {name} cannot be had: {error}."), cure));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("ports", "All of them are free."));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::examination::State;
    use super::*;

    #[test]
    fn what_there_is_to_go_back_to_is_judged() {
        assert_eq!(last_backup(None, false).state, State::Warning);
        assert_eq!(last_backup(Some((3_600, "/b")), true).state, State::Ok);
        assert!(last_backup(Some((3_600, "/b")), false).says.contains("is not at /b any more"));
        assert!(last_backup(Some((8 * 86_400, "/b")), true).says.contains("8 d 0 h old"));
        assert_eq!(copy_window(900, 900).state, State::Ok);
        assert!(copy_window(60, 900).says.contains("may take 1 min, not 15 min"));
    }
}
