//! What the appliance says of itself.

use quintet_messaging::operator::StandingView as MessagingView;
use serde::{Deserialize, Serialize};

use crate::admin::backups::LastBackupView;
use crate::admin::localization::AuditView;
use crate::admin::root_key::RootKeyView;
use crate::admin::runs::WorkersView;
use crate::admin::webhooks::WebhooksView;
use crate::admin::workflows::StandingView as WorkflowsView;
use crate::followers::FollowerView;

/// What runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StatusView {
    /// What needs somebody's attention, as sentences, the worst first.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The binary's version.
    pub version: String,
    /// The commit it was built from.
    pub commit: String,
    /// The server's process id.
    pub pid: u32,
    /// How long it has run.
    pub uptime_seconds: u64,
    /// When it was started, by the time of day; RFC 3339.
    #[serde(default)]
    pub started_at: String,
    /// How far the time of day has gone ahead of the time that passed since then, in milliseconds; negative if it was
    /// set back.
    #[serde(default)]
    pub clock_jump_millis: i64,
    /// The data directory.
    pub data_dir: String,
    /// `system` or `rehearsal`.
    pub clock: String,
    /// The present instant; RFC 3339.
    pub now: String,
    /// The listeners.
    pub services: Vec<ServiceView>,
    /// The listeners' certificate; absent if they speak plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsView>,
    /// How many tenants there are.
    pub tenants: u64,
    /// The workers of runs.
    #[serde(default)]
    pub workers: WorkersView,
    /// Workflows of all tenants.
    #[serde(default)]
    pub workflows: WorkflowsView,
    /// Webhooks of all tenants.
    #[serde(default)]
    pub webhooks: WebhooksView,
    /// Messaging's workspaces and agents, of all tenants.
    #[serde(default)]
    pub messaging: MessagingView,
    /// The anchors of localization's audit chains, of all tenants.
    #[serde(default)]
    pub audit: AuditView,
    /// The server's resident memory in bytes.
    pub memory_bytes: u64,
    /// The store's state.
    pub storage: StorageView,
    /// The root key's; never the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_key: Option<RootKeyView>,
    /// The last backup; absent if none was ever made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_backup: Option<LastBackupView>,
    /// Continuous backups that were heard of since the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followers: Vec<FollowerView>,
}

/// A service and where it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceView {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether it speaks TLS.
    #[serde(default)]
    pub tls: bool,
}

/// The listeners' certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsView {
    /// Its file.
    pub cert: String,
    /// The first names it is for.
    pub names: Vec<String>,
    /// From when it is valid; RFC 3339.
    pub not_before: String,
    /// Until when it is valid; RFC 3339.
    pub not_after: String,
    /// Since when it is in use; RFC 3339.
    pub loaded_at: String,
    /// What is wrong with it, as a sentence, if callers may or will refuse it.
    pub complaint: Option<String>,
    /// Why its files, as they are now, were not taken.
    pub refused: Option<String>,
    /// When that was tried; RFC 3339.
    pub refused_at: Option<String>,
}

/// The store's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StorageView {
    /// `writing`, `full` (below the disk reserve: writes are refused until there is room) or `stopped`.
    pub state: String,
    /// Why writing stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last durable transaction.
    pub lsn: u64,
    /// Requests that wait for the writer.
    #[serde(default)]
    pub queue_depth: u64,
    /// Transactions that wait for the disk, and for the tables: nobody sees them yet.
    #[serde(default)]
    pub unpublished_transactions: u64,
    /// Transactions that the tables do not have on disk yet: a start reads them again from the log.
    #[serde(default)]
    pub unflushed_transactions: u64,
    /// The size of the log's files, in bytes.
    #[serde(default)]
    pub log_bytes: u64,
    /// The size of the tables' files, in bytes.
    #[serde(default)]
    pub tables_bytes: u64,
    /// When the last durable transaction was made; RFC 3339; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transaction_at: Option<String>,
    /// For how long a plain copy of the directory may take and still open, as things are.
    #[serde(default)]
    pub copy_window_seconds: u64,
    /// The same, as the configuration asks for it.
    #[serde(default)]
    pub copy_window_wanted_seconds: u64,
    /// How many checkpoints there are.
    #[serde(default)]
    pub checkpoints: u64,
    /// The last transaction in the newest of them.
    #[serde(default)]
    pub newest_checkpoint_lsn: u64,
    /// How old that one is; since the start of the process at most. Absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_checkpoint_age_seconds: Option<u64>,
    /// Bytes on disk that are kept for copies alone.
    #[serde(default)]
    pub kept_for_copies_bytes: u64,
    /// Free space on the data directory's file system, in bytes.
    pub disk_free_bytes: u64,
    /// The size of that file system, in bytes.
    #[serde(default)]
    pub disk_bytes: u64,
    /// Free space below which writes are refused, in bytes.
    pub disk_reserve_bytes: u64,
}
