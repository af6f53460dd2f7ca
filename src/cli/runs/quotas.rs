//! The quotas of runs, as they are given to `quintet tenant quota` and shown.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::cli::{CliError, output};

/// The longest file of working hours, in bytes; a calendar has at most 16 KiB.
const HOURS_BYTES_MAX: u64 = 32 << 10;

/// The quotas of runs, each up to the ceiling that the configuration sets for it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Quotas of runs, up to the configuration's runs.ceilings")]
pub struct RunQuotas {
    /// Runs at once
    #[arg(long, value_name = "N")]
    max_concurrent_runs: Option<u64>,
    /// Runs submitted a day, UTC
    #[arg(long, value_name = "N")]
    max_daily_runs: Option<u64>,
    /// The longest time a run may take
    #[arg(long, value_name = "S")]
    max_timeout_seconds: Option<u64>,
    /// The longest wait for a slot
    #[arg(long, value_name = "S")]
    max_queue_seconds: Option<u64>,
    /// Nodes of a workflow
    #[arg(long, value_name = "N")]
    max_nodes_per_workflow: Option<u64>,
    /// Workflows at once
    #[arg(long, value_name = "N")]
    max_concurrent_workflows: Option<u64>,
    /// The longest body of a delivery
    #[arg(long, value_name = "BYTES")]
    max_webhook_payload_bytes: Option<u64>,
    /// Cores of a run
    #[arg(long, value_name = "CORES")]
    max_cpu: Option<f64>,
    /// Memory of a run, in MiB
    #[arg(long, value_name = "MB")]
    max_memory_mb: Option<u64>,
    /// Time of a run that asks for none
    #[arg(long, value_name = "S")]
    default_timeout_seconds: Option<u64>,
    /// Cores of a run that asks for none
    #[arg(long, value_name = "CORES")]
    default_cpu: Option<f64>,
    /// Memory of a run that asks for none, in MiB
    #[arg(long, value_name = "MB")]
    default_memory_mb: Option<u64>,
    /// How long ended runs are kept; holds for those submitted from now on
    #[arg(long, value_name = "DAYS")]
    retention_days: Option<u64>,
    /// What a stop waits between SIGTERM and SIGKILL
    #[arg(long, value_name = "S")]
    stop_grace_seconds: Option<u64>,
    /// Endpoints of webhooks
    #[arg(long, value_name = "N")]
    max_webhook_endpoints: Option<u64>,
    /// What pulled images take unpacked, in MiB
    #[arg(long, value_name = "MB")]
    max_image_mb: Option<u64>,
    /// When runs may start: a file with a TaskJuggler shift
    #[arg(long, value_name = "FILE", conflicts_with = "no_working_hours")]
    working_hours: Option<PathBuf>,
    /// Let runs start at any time
    #[arg(long)]
    no_working_hours: bool,
}

impl RunQuotas {
    /// Those that are to be set, as the service takes them; none if there are none.
    pub fn wish(&self) -> Result<Option<Value>, CliError> {
        let numbers: [(&str, Option<Value>); 16] = [
            ("max_concurrent_runs", self.max_concurrent_runs.map(Value::from)),
            ("max_daily_runs", self.max_daily_runs.map(Value::from)),
            ("max_timeout_seconds", self.max_timeout_seconds.map(Value::from)),
            ("max_queue_seconds", self.max_queue_seconds.map(Value::from)),
            ("max_nodes_per_workflow", self.max_nodes_per_workflow.map(Value::from)),
            ("max_concurrent_workflows", self.max_concurrent_workflows.map(Value::from)),
            ("max_webhook_payload_bytes", self.max_webhook_payload_bytes.map(Value::from)),
            ("max_cpu", self.max_cpu.map(Value::from)),
            ("max_memory_mb", self.max_memory_mb.map(Value::from)),
            ("default_timeout_seconds", self.default_timeout_seconds.map(Value::from)),
            ("default_cpu", self.default_cpu.map(Value::from)),
            ("default_memory_mb", self.default_memory_mb.map(Value::from)),
            ("retention_days", self.retention_days.map(Value::from)),
            ("stop_grace_seconds", self.stop_grace_seconds.map(Value::from)),
            ("max_webhook_endpoints", self.max_webhook_endpoints.map(Value::from)),
            ("max_image_mb", self.max_image_mb.map(Value::from)),
        ];
        let mut wish: Map<String, Value> =
            numbers.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        if let Some(path) = &self.working_hours {
            wish.insert("working_hours_tjp".to_owned(), hours_of(path)?.into());
        }
        if self.no_working_hours {
            wish.insert("working_hours_tjp".to_owned(), Value::Null);
        }
        Ok((!wish.is_empty()).then_some(Value::Object(wish)))
    }
}

fn hours_of(path: &Path) -> Result<String, CliError> {
    let unreadable = |error: std::io::Error| CliError::failed(format!("{} cannot be read: {error}", path.display()));
    if std::fs::metadata(path).map_err(unreadable)?.len() > HOURS_BYTES_MAX {
        return Err(CliError::failed(format!("{} is too large: working hours have at most 16 KiB", path.display())));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Working hours in a line.
pub fn hours_shown(effective: Option<&Value>) -> String {
    let none = json!(null);
    let calendar = effective.unwrap_or(&none);
    let text = |name: &str| output::plain(calendar.get(name).and_then(Value::as_str).unwrap_or_default());
    match calendar.get("is_open").and_then(Value::as_bool) {
        None => "none, runs may start at any time".to_owned(),
        Some(true) => format!("{} ({}), open", text("name"), text("timezone")),
        Some(false) => format!("{} ({}), closed until {}", text("name"), text("timezone"), text("next_open")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn every_quota_of_runs_has_an_option() {
        let command = RunQuotas::augment_args(clap::Command::new("quota"));
        let words = quintet_runs::operator::quota_names()
            .flat_map(|name| [format!("--{}", name.replace('_', "-")), "2".into()]);
        let matches = command.try_get_matches_from(std::iter::once("quota".to_owned()).chain(words)).unwrap();
        let wish = RunQuotas::from_arg_matches(&matches).unwrap().wish().unwrap().unwrap();
        let wished: Vec<&str> = wish.as_object().unwrap().keys().map(String::as_str).collect();
        let mut names: Vec<&str> = quintet_runs::operator::quota_names().collect();
        names.sort_unstable();
        assert_eq!((wished, &wish["max_cpu"], &wish["max_memory_mb"]), (names, &json!(2.0), &json!(2)));
    }
}
