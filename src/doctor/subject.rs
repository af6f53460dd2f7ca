//! What the checks of `quintet doctor` look at, and what they find.

use std::path::PathBuf;

use quintet_platform::backups::Backup;
use quintet_storage::{Format, Timestamp};
use serde::Serialize;

use crate::admin::status::StatusView;
use crate::config::{Config, Problems};
use crate::own_runner;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but not as well or as safely as it could.
    Warning,
    /// It does not work, or will not for long.
    Problem,
}

impl State {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How bad it is.
    pub state: State,
    /// What was found, as a sentence.
    pub says: String,
    /// How to mend it, unless it is as it should be.
    pub cure: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: &'static str, says: impl Into<String>) -> Finding {
        Finding { check, state: State::Ok, says: says.into(), cure: None }
    }

    /// Not as well as it could be.
    pub fn warning(check: &'static str, says: impl Into<String>, cure: impl Into<String>) -> Finding {
        Finding { check, state: State::Warning, says: says.into(), cure: Some(cure.into()) }
    }

    /// It does not work.
    pub fn problem(check: &'static str, says: impl Into<String>, cure: impl Into<String>) -> Finding {
        Finding { check, state: State::Problem, says: says.into(), cure: Some(cure.into()) }
    }
}

/// Whether an appliance runs.
#[derive(Debug)]
pub enum Life {
    /// It does, and says how it is.
    Running(Box<StatusView>),
    /// Nothing listens there.
    Stopped,
    /// Something is there, but does not answer as it should.
    Silent(String),
}

/// What is stored, seen from outside.
#[derive(Debug)]
pub enum Stored {
    /// The directory is absent or empty, or the appliance runs and has told everything.
    Nothing,
    /// The last transaction and the last backup of a stopped directory.
    Last {
        /// When the last transaction was made.
        time: Timestamp,
        /// Whether there is one.
        has_transactions: bool,
        /// The last backup.
        backup: Option<Backup>,
    },
    /// It cannot be read.
    Unreadable(String),
}

/// What the checks look at.
pub struct Subject {
    /// The data directory, whether or not it is there.
    pub data_dir: PathBuf,
    /// The configuration, or what is wrong with it.
    pub config: Result<Config, Problems>,
    /// The directory's FORMAT, if it is a data directory.
    pub format: Option<Format>,
    /// Whether an appliance runs.
    pub life: Life,
    /// What is stored.
    pub stored: Stored,
    /// The present.
    pub now: Timestamp,
    /// Why the data directory cannot be looked into, if it is for want of privilege.
    pub forbidden: Option<String>,
}

impl Subject {
    /// What a running appliance says.
    pub fn status(&self) -> Option<&StatusView> {
        if let Life::Running(status) = &self.life { Some(status) } else { None }
    }

    /// Whether the directory has a clock of its own.
    pub fn is_rehearsal(&self) -> bool {
        self.format.as_ref().is_some_and(|format| format.rehearsal)
    }
}

/// What is lacking for containers, where there are to be none, is nothing to mend.
pub fn needed_for_containers(subject: &Subject, finding: Finding) -> Vec<Finding> {
    let has_none = subject.config.as_ref().is_ok_and(own_runner::is_off);
    if finding.state == State::Ok || !has_none {
        return vec![finding];
    }
    vec![Finding::ok(finding.check, format!("{} There are to be no containers (runs.runner_socket).", finding.says))]
}

/// A finding in one text: state, what was found, cure.
#[cfg(test)]
pub fn told(finding: &Finding) -> String {
    let cure = finding.cure.as_deref().map(|cure| format!(" => {cure}")).unwrap_or_default();
    format!("{}: {}{cure}", finding.state.name(), finding.says)
}
