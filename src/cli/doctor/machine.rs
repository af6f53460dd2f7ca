//! Clock, memory and limits of the machine.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_storage::Timestamp;

use super::examination::{Finding, Stored, Subject};
use crate::cli::output::duration;
use crate::open_files;

/// How far in the future the last transaction may lie before it is told.
const FUTURE_SECONDS: i64 = 1;

/// How long `timedatectl` may take.
const COMMAND_PATIENCE: Duration = Duration::from_secs(3);

/// What the appliance takes beside its configured buffers, in MiB.
const BASE_MB: u64 = 128;

/// Whether the clock is right, as far as that can be told.
pub fn check_clock(subject: &Subject) -> Vec<Finding> {
    let mut findings = vec![synchronization(is_synchronized())];
    let last = match (&subject.stored, subject.status()) {
        (Stored::Last { time, has_transactions: true, .. }, _) => Some(*time),
        (_, Some(status)) => status.storage.last_transaction_at.as_deref().and_then(|text| parse_rfc3339(text).ok()),
        _ => None,
    };
    if let Some(last) = last.filter(|_| !subject.is_rehearsal()) {
        findings.extend(future(last, subject.now));
    }
    findings
}

fn synchronization(synchronized: Option<bool>) -> Finding {
    match synchronized {
        Some(true) => Finding::ok("clock", "It is synchronized."),
        Some(false) => Finding::warning(
            "clock",
            "It is not synchronized.",
            "Switch time synchronization on: `timedatectl set-ntp true`, or install chrony.",
        ),
        None => Finding::ok("clock", "This machine does not tell whether it is synchronized."),
    }
}

fn future(last: Timestamp, now: Timestamp) -> Option<Finding> {
    let ahead_micros = last.as_micros().saturating_sub(now.as_micros());
    (ahead_micros > FUTURE_SECONDS * 1_000_000).then(|| {
        let ahead = duration(u64::try_from(ahead_micros / 1_000_000).unwrap_or(0));
        Finding::warning(
            "clock",
            format!(
                "The last transaction ({}) lies {ahead} in the future; new ones keep its time until then.",
                rfc3339(last)
            ),
            "Set the clock right. If it was wrong before and is right now, wait, or restore a backup from before.",
        )
    })
}

/// What systemd knows, which asks the kernel; chrony and ntpd tell it as well.
fn is_synchronized() -> Option<bool> {
    let mut command = Command::new("timedatectl");
    command.args(["show", "--property=NTPSynchronized", "--value"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > COMMAND_PATIENCE {
            // It has said nothing so far, and it is not asked again.
            let _ = child.kill();
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().ok()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Whether there is memory for what is configured.
pub fn check_memory(subject: &Subject) -> Vec<Finding> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let configured = subject.config.as_ref().map_or(BASE_MB, |c| u64::from(c.write_buffer_mb) + u64::from(c.cache_mb));
    let used_mb = subject.status().map_or(0, |status| status.memory_bytes >> 20);
    vec![memory(&text, configured + BASE_MB, used_mb)]
}

fn memory(meminfo: &str, needed_mb: u64, used_mb: u64) -> Finding {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
    };
    let Some(available_mb) = field("MemAvailable").map(|kib| kib / 1024) else {
        return Finding::ok("memory", "This machine does not tell how much is available.");
    };
    let left_mb = needed_mb.saturating_sub(used_mb);
    if available_mb >= left_mb {
        let used = if used_mb > 0 { format!(", and takes {used_mb} MiB now") } else { String::new() };
        return Finding::ok(
            "memory",
            format!("{available_mb} MiB are available; the appliance takes about {needed_mb} MiB at most{used}."),
        );
    }
    Finding::warning(
        "memory",
        format!("{available_mb} MiB are available; the appliance takes about {left_mb} MiB more when it is busy."),
        "End other programs, add memory, or lower storage.cache_mb and storage.write_buffer_mb.",
    )
}

/// Whether files and connections enough can be open.
pub fn check_open_files(subject: &Subject) -> Vec<Finding> {
    let (limit, whose) = match subject.status() {
        Some(status) => {
            let limits = std::fs::read_to_string(format!("/proc/{}/limits", status.pid)).unwrap_or_default();
            (open_files_in(&limits), "The appliance")
        }
        None => (Some(open_files::highest_limit()), "A process of this user"),
    };
    let Some(limit) = limit else {
        return vec![Finding::ok("open files", "The appliance's limit cannot be read by this user.")];
    };
    vec![open_files_finding(limit, whose)]
}

/// The soft limit of open files in `/proc/PID/limits`.
fn open_files_in(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = line.split_whitespace().next()?;
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

fn open_files_finding(limit: u64, whose: &str) -> Finding {
    let says = format!("{whose} may open {limit} files at once");
    let cure = "Raise the hard limit: `ulimit -Hn 65536` as root, LimitNOFILE=65536 in a systemd unit.";
    if limit < open_files::NEEDED {
        Finding::problem("open files", format!("{says}; it needs at least {}.", open_files::NEEDED), cure)
    } else if limit < 4 * open_files::KEPT {
        let most = "each connection takes one, so many clients at once are turned away";
        Finding::warning("open files", format!("{says}: {most}."), cure)
    } else {
        Finding::ok("open files", format!("{says}."))
    }
}

#[cfg(test)]
mod tests {
    use super::super::examination::State;
    use super::*;

    #[test]
    fn clocks_that_are_wrong_are_told() {
        assert_eq!(synchronization(Some(true)).state, State::Ok);
        assert_eq!(synchronization(None).state, State::Ok);
        assert_eq!(synchronization(Some(false)).state, State::Warning);
        let at = |seconds: i64| Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000);
        assert_eq!(future(at(0), at(0)), None);
        assert_eq!(future(at(1), at(0)), None);
        let told = future(at(7_200), at(0)).unwrap();
        assert!(told.says.contains("lies 2 h 0 min in the future"), "{}", told.says);
    }

    #[test]
    fn memory_is_weighed_against_the_configuration() {
        let meminfo = "MemTotal:        8000000 kB\nMemAvailable:     409600 kB\n";
        assert_eq!(memory(meminfo, 256, 0).state, State::Ok);
        assert_eq!(memory(meminfo, 512, 0).state, State::Warning);
        assert_eq!(memory(meminfo, 512, 200).state, State::Ok, "what it has taken it need not find");
        assert_eq!(memory("", 512, 0).state, State::Ok);
    }

    #[test]
    fn limits_are_read_from_the_kernel() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(open_files_in(limits), Some(1024));
        assert_eq!(open_files_in("Max open files  unlimited unlimited files"), Some(u64::MAX));
        assert_eq!(open_files_in(""), None);
        assert_eq!(open_files_finding(300, "It").state, State::Problem);
        assert_eq!(open_files_finding(1_024, "It").state, State::Warning);
        assert_eq!(open_files_finding(65_536, "It").state, State::Ok);
    }
}
