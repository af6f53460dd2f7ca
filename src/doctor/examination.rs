//! What `quintet doctor` looks at: the machine, the data directory, the configuration, the appliance if it runs. Each
//! finding says in a sentence what was found, and how to mend it.
//!
//! Every check runs in a thread of its own and has some seconds: a disk or a network file system that hangs is itself a
//! finding. Nothing is changed, but for two small files in the data directory that are synced, renamed and removed. What
//! only root can see or try is told as such, and not guessed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use quintet_platform::backups::list_backups;
use quintet_platform::clock::Clock;
use quintet_storage::{Tables, Verification, read_format};

use super::subject::{Finding, Life, Stored, Subject};
use super::{
    appliance, audit, authorization, decisions, directory, identity, kernel, listeners, machine, messaging, runner,
    secrets, webhooks,
};
use crate::admin::client::{CallError, Client};
use crate::admin::status::{self, StatusView};
use crate::app::TABLES;
use crate::config::{Config, Sources};

/// How long a check may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a running appliance may take to say how it is.
const STATUS_PATIENCE: Duration = Duration::from_secs(3);

type Check = fn(&Subject) -> Vec<Finding>;

/// Every check there is, in the order in which they are told.
const CHECKS: &[(&str, Check)] = &[
    ("configuration", appliance::check_configuration),
    ("secret files", secrets::check_secrets),
    ("appliance", appliance::check_life),
    ("data directory", directory::check_owner),
    ("rehearsal", appliance::check_rehearsal),
    ("root key", directory::check_root_key),
    ("disk", directory::check_disk),
    ("syncing", directory::check_sync),
    ("copies", appliance::check_copies),
    ("backup", appliance::check_backup),
    ("ports", listeners::check_ports),
    ("certificate", listeners::check_certificate),
    ("encryption", listeners::check_encryption),
    ("proxies", listeners::check_proxies),
    ("clock", machine::check_clock),
    ("time zones", machine::check_zones),
    ("memory", machine::check_memory),
    ("open files", machine::check_open_files),
    ("webhooks", webhooks::check_webhooks),
    ("audit", audit::check_anchors),
    ("messaging", messaging::check_messaging),
    ("mail", messaging::check_mail),
    ("decisions", decisions::check_decisions),
    ("sign-in", identity::check_identity),
    ("authorization", authorization::check_authorization),
    ("runner", runner::check_runner),
    ("cgroups", kernel::check_cgroups),
    ("overlayfs", kernel::check_overlay),
    ("user namespaces", kernel::check_user_namespaces),
    ("container ids", kernel::check_ids),
    ("seccomp", kernel::check_seccomp),
];

/// Which checks of former examinations still hang: they are not started again, or each examination would leave its threads
/// behind. Clones share it.
#[derive(Clone)]
pub struct LeftBehind(Arc<[AtomicBool]>);

impl Default for LeftBehind {
    fn default() -> LeftBehind {
        LeftBehind(CHECKS.iter().map(|_| AtomicBool::new(false)).collect())
    }
}

impl LeftBehind {
    /// Begins a check by its place among all. `None`: it is still under way.
    fn begin(&self, place: usize) -> Option<UnderWay> {
        let is_under_way = self.0.get(place)?.swap(true, Ordering::AcqRel);
        (!is_under_way).then(|| UnderWay { checks: Arc::clone(&self.0), place })
    }
}

/// A check that is under way until this is dropped.
struct UnderWay {
    checks: Arc<[AtomicBool]>,
    place: usize,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(is_under_way) = self.checks.get(self.place) {
            is_under_way.store(false, Ordering::Release);
        }
    }
}

/// Looks at everything. Takes some seconds at most, whatever hangs.
#[must_use]
pub fn examine(config: Option<PathBuf>, data: Option<PathBuf>) -> Vec<Finding> {
    let gathered = start(move || gather(config, data));
    let Ok(subject) = gathered.recv_timeout(2 * PATIENCE) else {
        return vec![hangs("data directory", 2 * PATIENCE)];
    };
    check_all(subject, &LeftBehind::default())
}

/// Looks at everything from within an appliance that runs: with its configuration, by its user's rights. Takes some seconds
/// at most, whatever hangs; what hung in a former examination and still does is `left` alone.
#[must_use]
pub fn examine_running(config: &Config, data_dir: &Path, status: StatusView, left: &LeftBehind) -> Vec<Finding> {
    let subject = Subject {
        data_dir: data_dir.to_path_buf(),
        config: Ok(config.clone()),
        format: read_format(data_dir).ok().flatten(),
        life: Life::Running(Box::new(status)),
        stored: Stored::Nothing,
        now: Clock::system().now(),
        forbidden: forbidden(data_dir),
    };
    check_all(subject, left)
}

fn check_all(subject: Subject, left: &LeftBehind) -> Vec<Finding> {
    let subject = Arc::new(subject);
    let begun = Instant::now();
    let running = CHECKS.iter().enumerate().map(|(place, (name, check))| {
        let (subject, check) = (Arc::clone(&subject), *check);
        let begin = |under_way: UnderWay| {
            start(move || {
                let _under_way = under_way;
                check(&subject)
            })
        };
        (*name, left.begin(place).map(begin))
    });
    let running: Vec<_> = running.collect();
    let wait = |(name, findings): (&'static str, Option<Receiver<Vec<Finding>>>)| {
        let patience = PATIENCE.saturating_sub(begun.elapsed());
        let found = findings.and_then(|findings| findings.recv_timeout(patience).ok());
        found.unwrap_or_else(|| vec![hangs(name, PATIENCE)])
    };
    running.into_iter().flat_map(wait).collect()
}

/// Runs something in a thread that nobody waits for longer than they like.
fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    // Without a thread there is no answer, which is what the caller then tells.
    let _ = std::thread::Builder::new().name("doctor".into()).spawn(move || sender.send(work()));
    receiver
}

fn hangs(check: &'static str, waited: Duration) -> Finding {
    let says = format!("This check has not come to an end within {} s.", waited.as_secs());
    Finding::problem(check, says, "See whether the disk or the file system it looks at hangs: `dmesg` tells of errors.")
}

fn gather(config: Option<PathBuf>, data: Option<PathBuf>) -> Subject {
    let named = data.clone();
    let config = Config::load(&Sources::of_process(config, data));
    let configured = config.as_ref().map(|config| config.data_dir.clone()).ok();
    let data_dir = named.or(configured).unwrap_or_else(|| PathBuf::from("/var/lib/quintet"));
    let format = read_format(&data_dir).ok().flatten();
    let life = match Client::new(&data_dir).with_patience(STATUS_PATIENCE).ask(&status::SHOW) {
        Ok(status) => Life::Running(Box::new(status)),
        Err(CallError::NotRunning(_)) => Life::Stopped,
        Err(CallError::NotAllowed(_)) => Life::Silent("this user may not talk to it".into()),
        Err(CallError::Refused(_, problem)) => Life::Silent(problem.message),
        Err(CallError::NoConnection(..) | CallError::NoAnswer(..)) => Life::Silent("it does not answer".into()),
        Err(CallError::Unreachable(_, error)) => Life::Silent(error.to_string()),
        Err(CallError::Broken(reason)) => Life::Silent(reason),
    };
    let stored = match (&life, &format) {
        (Life::Stopped, Some(_)) => look_into(&data_dir),
        _ => Stored::Nothing,
    };
    let forbidden = forbidden(&data_dir);
    Subject { data_dir, config, format, life, stored, now: Clock::system().now(), forbidden }
}

/// Why this user cannot look into the directory, if that is so.
fn forbidden(data_dir: &Path) -> Option<String> {
    match std::fs::read_dir(data_dir) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Some(format!("{} cannot be looked into by this user", data_dir.display()))
        }
        _ => None,
    }
}

/// Reads what a stopped directory says of itself; nothing is locked or changed.
fn look_into(data_dir: &std::path::Path) -> Stored {
    let look = || {
        let verification = Verification::begin(data_dir, true, TABLES).map_err(|error| error.to_string())?;
        let read = verification.peek(&Tables::Own).map_err(|error| error.to_string())?;
        let backup = list_backups(&read, 1).map_err(|error| error.to_string())?.into_iter().next();
        Ok(Stored::Last { time: read.time(), has_transactions: read.lsn() > 0, backup })
    };
    look().unwrap_or_else(Stored::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::super::subject::State;
    use super::*;

    #[test]
    fn what_hangs_is_not_waited_for() {
        let begun = Instant::now();
        let never = start(|| std::thread::sleep(Duration::from_secs(3_600)));
        assert!(never.recv_timeout(Duration::from_millis(50)).is_err());
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(hangs("disk", PATIENCE).state, State::Problem);
    }

    #[test]
    fn what_still_hangs_is_not_started_again() {
        let left = LeftBehind::default();
        let under_way = left.begin(3).unwrap();
        let (again, other) = (left.clone().begin(3), left.begin(4));
        assert!(again.is_none() && other.is_some(), "the same check, and another one");
        drop(under_way);
        let ended = left.begin(3).unwrap();
        let (go, gone) = channel::<()>();
        let never = start(move || {
            let _ended = ended;
            gone.recv().is_ok()
        });
        assert!(left.begin(3).is_none(), "it hangs in its thread");
        drop(go);
        assert_eq!(never.recv(), Ok(false));
        assert!(left.begin(3).is_some());
    }

    #[test]
    fn every_finding_that_is_not_ok_has_a_cure() {
        let directory = tempfile::tempdir().unwrap();
        let findings = examine(None, Some(directory.path().join("absent")));
        // What is to be said of an appliance that runs, or of what it is told to use, is not said here.
        assert!(findings.len() > CHECKS.len() / 2, "{findings:?}");
        for finding in findings {
            assert_eq!(finding.cure.is_none(), finding.state == State::Ok, "{finding:?}");
            assert!(finding.says.ends_with('.'), "{finding:?}");
        }
    }
}
