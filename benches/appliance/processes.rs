//! What processes have used, and commands that must succeed.

use std::process::{Command, Stdio};

/// What a process and its children have used so far, in seconds.
pub fn cpu_seconds(id: u32) -> f64 {
    // Behind the name, which may hold anything: state, parent, …, and from the 12th on its time and that of its children
    // that have ended.
    let fields = |id: u32| -> Option<Vec<String>> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some(stat.rsplit(')').next()?.split_whitespace().map(str::to_owned).collect())
    };
    let used =
        |fields: &[String]| fields[11..15].iter().map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0;
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let children = processes.filter_map(fields).filter(|fields| fields[1] == id.to_string());
    fields(id).map_or(0.0, |own| used(&own)) + children.map(|child| used(&child)).sum::<f64>()
}

/// Runs a command to its end, which must be a good one.
pub fn succeed(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
