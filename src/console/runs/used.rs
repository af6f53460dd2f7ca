//! What a run used, as plots.

use http::Method;
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::http::query::encode_segment;

use super::wire::{Sample, Utilization};
use crate::console::notice::Notice;
use crate::console::plot::{Between, Curve, curve};
use crate::console::rooms::{Asking, Room, With};

/// Samples that a table has.
const TABLE_ROWS: usize = 60;

/// The plots of a run.
pub struct Used {
    /// Processor time.
    pub cpu: Curve,
    /// The least and the most of it.
    pub cpu_range: (String, String),
    /// Memory.
    pub memory: Curve,
    /// The least and the most of it.
    pub memory_range: (String, String),
    /// From when to when.
    pub span: (String, String),
    /// Some samples, evenly taken.
    pub samples: Vec<Sample>,
}

/// What a run used; nothing if it has not been seen running, or nobody knows at the moment.
pub async fn read(asking: &Asking, run: &str) -> Result<Option<Used>, Notice> {
    let address = format!("/api/v1/runs/{}/utilization", encode_segment(run));
    let found = asking.ask::<Utilization>(Room::Runs, Method::GET, &address, With::default()).await?;
    Ok(found.ok().and_then(|found| plotted(&found.samples)))
}

fn plotted(samples: &[Sample]) -> Option<Used> {
    let (first, last) = (samples.first()?, samples.last()?);
    let of = |value: fn(&Sample) -> f64| -> Vec<_> {
        samples.iter().filter_map(|sample| Some((parse_rfc3339(&sample.ts).ok()?, value(sample)))).collect()
    };
    let cpu_most = samples.iter().map(|sample| sample.cpu_percent).fold(0.0, f64::max);
    let cpu_least = samples.iter().map(|sample| sample.cpu_percent).fold(cpu_most, f64::min);
    let memory = |value: Option<u64>| format!("{} MiB", value.unwrap_or_default());
    let limit = samples.iter().map(|sample| sample.memory_limit_mb.max(sample.memory_mb)).max().unwrap_or(1);
    Some(Used {
        cpu: curve(&of(|sample| sample.cpu_percent), Between::Line, Some((0.0, cpu_most.max(100.0)))),
        cpu_range: (format!("{cpu_least:.1} %"), format!("{cpu_most:.1} %")),
        memory: curve(&of(|sample| sample.memory_mb as f64), Between::Line, Some((0.0, limit as f64))),
        memory_range: (
            memory(samples.iter().map(|sample| sample.memory_mb).min()),
            memory(samples.iter().map(|sample| sample.memory_mb).max()),
        ),
        span: (first.ts.clone(), last.ts.clone()),
        samples: samples.iter().step_by(samples.len().div_ceil(TABLE_ROWS)).cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_two_curves_and_a_short_table() {
        let sample = |second: usize| Sample {
            ts: format!("2026-01-31T09:{:02}:{:02}Z", second / 60, second % 60),
            cpu_percent: if second == 77 { 250.0 } else { 50.0 },
            memory_mb: second as u64,
            memory_limit_mb: 1_000,
        };
        let samples: Vec<Sample> = (0..600).map(sample).collect();
        let used = plotted(&samples).unwrap();
        assert_eq!(used.cpu_range, ("50.0 %".to_owned(), "250.0 %".to_owned()));
        assert_eq!(used.memory_range, ("0 MiB".to_owned(), "599 MiB".to_owned()));
        assert_eq!(used.samples.len(), 60);
        assert!(used.cpu.path.starts_with("M0 ") && used.memory.path.starts_with("M0 156.0"), "{}", used.memory.path);
        assert!(plotted(&[]).is_none());
    }
}
