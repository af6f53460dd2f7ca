//! A program that is started to see whether it can.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With exit code 0.
    Well,
    /// Otherwise; what it said, or that it took too long.
    Badly(String),
    /// It is not there.
    NotRun,
}

/// Runs a program and waits for its end, so long at most.
pub fn run(program: &str, arguments: &[&str], patience: Duration) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return Ended::NotRun };
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if begun.elapsed() < patience => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                // It is not asked again; what becomes of it is of no interest.
                let _ = child.kill();
                let _ = child.wait();
                return Ended::Badly(format!("{program} did not come to an end"));
            }
        }
    }
    match child.wait_with_output() {
        Ok(output) if output.status.success() => Ended::Well,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Ended::Badly(said.lines().next().unwrap_or("it failed").trim().to_string())
        }
        Err(error) => Ended::Badly(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_end_well_badly_or_not_in_time() {
        let soon = Duration::from_secs(10);
        assert_eq!(run("true", &[], soon), Ended::Well);
        assert_eq!(run("sh", &["-c", "echo no luck >&2; exit 3"], soon), Ended::Badly("no luck".into()));
        assert_eq!(run("/no/such/program", &[], soon), Ended::NotRun);
        let hung = run("sleep", &["60"], Duration::from_millis(50));
        assert_eq!(hung, Ended::Badly("sleep did not come to an end".into()));
    }
}
