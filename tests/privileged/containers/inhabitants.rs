//! Who is in control groups, and what they wait for: said of groups that do not go.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// All processes of these groups and of those below them, each with its state, what it waits for in the kernel, and the
/// groups it is in.
pub fn of(groups: &[PathBuf]) -> String {
    let mut said = String::new();
    let mut found = BTreeSet::new();
    let mut left = groups.to_vec();
    while let Some(group) = left.pop() {
        // Version 2 lists no tasks of a group that has threads of another one.
        let listed = ["tasks", "cgroup.threads", "cgroup.procs"].map(|file| text(&group.join(file)));
        let pids: BTreeSet<i32> = listed.iter().flat_map(|text| text.lines()).filter_map(|l| l.parse().ok()).collect();
        let _ = writeln!(said, "{}: {pids:?}", group.display());
        found.extend(pids);
        let entries = std::fs::read_dir(&group).into_iter().flatten().flatten().map(|entry| entry.path());
        left.extend(entries.filter(|path| path.is_dir()));
    }
    for pid in found {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let status = text(&process.join("status"));
        let kept = ["Name", "State", "PPid", "Threads", "SigPnd", "ShdPnd", "SigBlk"];
        let rows = status.lines().filter(|line| line.split(':').next().is_some_and(|key| kept.contains(&key)));
        let rows: Vec<String> = rows.map(|row| row.replace('\t', " ")).collect();
        let _ = writeln!(said, "{pid}: {}", rows.join(", "));
        for file in ["cmdline", "wchan", "stack", "cgroup"] {
            let _ = writeln!(said, "  {file}: {}", text(&process.join(file)).replace(['\0', '\n'], " "));
        }
    }
    said
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
