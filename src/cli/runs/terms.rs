//! What a key allows of runs, as it is given to `quintet key issue` and shown.

use crate::admin::runs::{RunTermsView, RunTermsWish};
use crate::cli::output;

/// What the key allows of runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What the key allows of runs; it stays as it is issued")]
pub struct RunTerms {
    /// The name of a metered key's terms
    #[arg(long, value_name = "NAME", requires = "metered_seconds")]
    tier: Option<String>,
    /// How many seconds the key's runs may run in all: each is charged its timeout, and given back what it does not use
    #[arg(long, value_name = "N", requires = "tier")]
    metered_seconds: Option<u64>,
    /// An image that runs may have; without a tag and a digest: all of its repository. May be given several times
    #[arg(long = "allowed-image", value_name = "REF")]
    allowed_images: Vec<String>,
    /// How long ended runs are kept at most; the tenant's quota counts if it is shorter
    #[arg(long, value_name = "N")]
    retention_days: Option<u64>,
}

impl RunTerms {
    /// What is wished, if anything is said.
    pub fn wish(&self) -> Option<RunTermsWish> {
        let wish = RunTermsWish {
            tier: self.tier.clone(),
            metered_seconds: self.metered_seconds,
            allowed_images: self.allowed_images.clone(),
            retention_days: self.retention_days,
        };
        (wish != RunTermsWish::default()).then_some(wish)
    }
}

/// What a key allows of runs, in a line.
pub fn terms_shown(runs: &RunTermsView) -> String {
    let metered = runs.metered_seconds.map(|most| {
        let tier = output::plain(runs.tier.as_deref().unwrap_or_default());
        format!("{tier}: {} of {most} s left", runs.remaining_seconds.unwrap_or(0))
    });
    let images = runs.allowed_images.as_ref().map(|images| format!("images {}", images.join(", ")));
    let retention = runs.retention_days.map(|days| format!("kept {days} days at most"));
    metered.into_iter().chain(images).chain(retention).collect::<Vec<_>>().join("; ")
}
