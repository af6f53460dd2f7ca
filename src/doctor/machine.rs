//! Clock, memory and limits of the machine.

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_runs::calendar::Calendar;
use quintet_storage::{Timestamp, is_clock_synchronized};

use super::subject::{Finding, Stored, Subject};
use crate::admin::status::{CLOCK_JUMP_MILLIS_MAX, clock_jump};
use crate::measures::duration;
use crate::open_files;

/// How far in the future the last transaction may lie before it is told.
const FUTURE_SECONDS: i64 = 1;

/// What the appliance takes beside its configured buffers, in MiB.
const BASE_MB: u64 = 128;

/// Whether the clock is right, as far as that can be told.
pub fn check_clock(subject: &Subject) -> Vec<Finding> {
    let mut findings = vec![synchronization(is_clock_synchronized())];
    let last = match (&subject.stored, subject.status()) {
        (Stored::Last { time, has_transactions: true, .. }, _) => Some(*time),
        (_, Some(status)) => status.storage.last_transaction_at.as_deref().and_then(|text| parse_rfc3339(text).ok()),
        _ => None,
    };
    if let Some(last) = last.filter(|_| !subject.is_rehearsal()) {
        findings.extend(future(last, subject.now));
    }
    findings.extend(subject.status().and_then(|status| jump(status.clock_jump_millis)));
    findings
}

fn synchronization(synchronized: Option<bool>) -> Finding {
    match synchronized {
        Some(true) => Finding::ok("clock", "It is synchronized."),
        Some(false) => Finding::warning(
            "clock",
            "It is not synchronized.",
            "`timedatectl set-ntp true`, or `apt-get install chrony`; in a virtual machine or container its host may keep \
             the clock unseen.",
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
            "`chronyc makestep` sets the clock right. If it was wrong before and is right now, wait, or restore a backup \
             from before: `quintet restore SRC --data DIR`.",
        )
    })
}

/// A jump of the time of day while the appliance runs.
fn jump(millis: i64) -> Option<Finding> {
    (millis.unsigned_abs() > CLOCK_JUMP_MILLIS_MAX).then(|| {
        Finding::warning(
            "clock",
            clock_jump(millis),
            "See that one program alone sets the clock, and in small steps: `systemctl list-units '*chrony*' '*ntp*' \
             '*timesync*'`; `systemctl restart quintet` starts the count anew.",
        )
    })
}

/// Whether the appliance knows the zones of working hours.
pub fn check_zones(_: &Subject) -> Vec<Finding> {
    let known = Calendar::parse("shift doctor \"Doctor\" { timezone \"Europe/Berlin\" }").is_ok();
    vec![zones(known)]
}

fn zones(are_known: bool) -> Finding {
    match are_known {
        true => Finding::ok("time zones", "They are part of the program: nothing of this machine is needed."),
        false => Finding::problem(
            "time zones",
            "Europe/Berlin is unknown: calendars of working hours are refused.",
            "Install the program again: its own data of time zones cannot be read.",
        ),
    }
}

/// Whether there is memory for what is configured.
pub fn check_memory(subject: &Subject) -> Vec<Finding> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let configured = subject.config.as_ref().map_or(BASE_MB, |c| u64::from(c.write_buffer_mb) + u64::from(c.cache_mb));
    let used_mb = subject.status().map_or(0, |status| status.memory_bytes >> 20);
    let policy = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    let is_strict = policy.trim() == "2";
    let found = MemoryInfo(&text);
    [
        vec![memory(&found, configured + BASE_MB, used_mb)],
        address_space(&found, is_strict, configured + BASE_MB, used_mb),
    ]
    .concat()
}

/// `/proc/meminfo`.
struct MemoryInfo<'a>(&'a str);

impl MemoryInfo<'_> {
    /// One of its numbers, in MiB.
    fn mb(&self, name: &str) -> Option<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
    }
}

fn memory(found: &MemoryInfo<'_>, needed_mb: u64, used_mb: u64) -> Finding {
    let Some(available_mb) = found.mb("MemAvailable") else {
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
        "End other programs, add memory, or lower `[storage] cache_mb` and `write_buffer_mb`.",
    )
}

/// What keeps a process from memory that is there: a strict count of what was promised; or makes it slow: swapping.
fn address_space(found: &MemoryInfo<'_>, is_strict: bool, needed_mb: u64, used_mb: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    let promised = found.mb("CommitLimit").zip(found.mb("Committed_AS"));
    if let Some((limit, promised)) = promised.filter(|_| is_strict) {
        let (left, wanted) = (limit.saturating_sub(promised), needed_mb.saturating_sub(used_mb));
        if left < wanted {
            findings.push(Finding::warning(
                "memory",
                format!("The kernel counts strictly (vm.overcommit_memory is 2) and promises {left} MiB more at most."),
                "`sysctl -w vm.overcommit_memory=0`, and the same in a file of /etc/sysctl.d.",
            ));
        }
    }
    let swap = found.mb("SwapTotal").zip(found.mb("SwapFree"));
    if let Some((all, free)) = swap.filter(|(all, free)| *all > 0 && *free < all / 2) {
        findings.push(Finding::warning(
            "memory",
            format!("{} of {all} MiB of swap are in use: what lies there is slow, and on the disk.", all - free),
            "End other programs or add memory; `swapoff -a && swapon -a` brings back what fits.",
        ));
    }
    findings
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
    let cure = "`ulimit -Hn 65536` as root before the start, or `LimitNOFILE=65536` in the systemd unit.";
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
    use super::super::subject::{State, told};
    use super::*;

    #[test]
    fn clocks_that_are_wrong_are_told() {
        assert_eq!(told(&synchronization(Some(true))), "ok: It is synchronized.");
        assert_eq!(told(&synchronization(None)), "ok: This machine does not tell whether it is synchronized.");
        assert_eq!(
            told(&synchronization(Some(false))),
            "warning: It is not synchronized. => `timedatectl set-ntp true`, or `apt-get install chrony`; in a virtual \
             machine or container its host may keep the clock unseen."
        );
        let at = |seconds: i64| Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000);
        assert_eq!(future(at(0), at(0)), None);
        assert_eq!(future(at(1), at(0)), None);
        assert_eq!(
            future(at(7_200), at(0)).as_ref().map(told).unwrap(),
            "warning: The last transaction (2023-11-15T00:13:20.000000Z) lies 2 h 0 min in the future; new ones keep its time \
             until then. => `chronyc makestep` sets the clock right. If it was wrong before and is right now, wait, or \
             restore a backup from before: `quintet restore SRC --data DIR`."
        );
        assert_eq!(jump(2_000), None);
        assert_eq!(
            jump(-60_000).as_ref().map(told).unwrap(),
            "warning: Since the start the clock was set 1 min back, or the machine was suspended. => See that one program \
             alone sets the clock, and in small steps: `systemctl list-units '*chrony*' '*ntp*' '*timesync*'`; \
             `systemctl restart quintet` starts the count anew."
        );
    }

    #[test]
    fn zones_are_part_of_the_program() {
        assert_eq!(zones(true).state, State::Ok);
        assert_eq!(
            told(&zones(false)),
            "problem: Europe/Berlin is unknown: calendars of working hours are refused. => Install the program again: its \
             own data of time zones cannot be read."
        );
    }

    #[test]
    fn memory_is_weighed_against_the_configuration() {
        let meminfo = MemoryInfo("MemTotal:        8000000 kB\nMemAvailable:     409600 kB\n");
        assert_eq!(
            told(&memory(&meminfo, 256, 0)),
            "ok: 400 MiB are available; the appliance takes about 256 MiB at most."
        );
        assert_eq!(
            told(&memory(&meminfo, 512, 0)),
            "warning: 400 MiB are available; the appliance takes about 512 MiB more when it is busy. => End other \
             programs, add memory, or lower `[storage] cache_mb` and `write_buffer_mb`."
        );
        assert_eq!(
            told(&memory(&meminfo, 512, 200)),
            "ok: 400 MiB are available; the appliance takes about 512 MiB at most, and takes 200 MiB now."
        );
        assert_eq!(memory(&MemoryInfo(""), 512, 0).state, State::Ok);
    }

    #[test]
    fn promises_and_swap_are_told_of() {
        let text = "CommitLimit:  1024000 kB\nCommitted_AS:  819200 kB\nSwapTotal:  204800 kB\nSwapFree:  204800 kB\n";
        assert_eq!(address_space(&MemoryInfo(text), false, 512, 0), []);
        assert_eq!(address_space(&MemoryInfo(text), true, 200, 0), []);
        assert_eq!(
            address_space(&MemoryInfo(text), true, 512, 0).iter().map(told).collect::<Vec<_>>(),
            ["warning: The kernel counts strictly (vm.overcommit_memory is 2) and promises 200 MiB more at most. => \
              `sysctl -w vm.overcommit_memory=0`, and the same in a file of /etc/sysctl.d."]
        );
        let text = "SwapTotal:  204800 kB\nSwapFree:  51200 kB\n";
        assert_eq!(
            address_space(&MemoryInfo(text), false, 512, 0).iter().map(told).collect::<Vec<_>>(),
            [
                "warning: 150 of 200 MiB of swap are in use: what lies there is slow, and on the disk. => End other programs \
              or add memory; `swapoff -a && swapon -a` brings back what fits."
            ]
        );
        assert_eq!(address_space(&MemoryInfo("SwapTotal:  0 kB\nSwapFree:  0 kB\n"), false, 512, 0), []);
    }

    #[test]
    fn limits_are_read_from_the_kernel() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max open files            1024                 524288               files     \n";
        assert_eq!(open_files_in(limits), Some(1024));
        assert_eq!(open_files_in("Max open files  unlimited unlimited files"), Some(u64::MAX));
        assert_eq!(open_files_in(""), None);
        let cure = "`ulimit -Hn 65536` as root before the start, or `LimitNOFILE=65536` in the systemd unit.";
        assert_eq!(
            told(&open_files_finding(300, "It")),
            format!("problem: It may open 300 files at once; it needs at least 512. => {cure}")
        );
        assert_eq!(
            told(&open_files_finding(1_024, "It")),
            format!(
                "warning: It may open 1024 files at once: each connection takes one, so many clients at once are turned \
                 away. => {cure}"
            )
        );
        assert_eq!(told(&open_files_finding(65_536, "It")), "ok: It may open 65536 files at once.");
    }
}
