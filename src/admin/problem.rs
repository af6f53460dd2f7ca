//! What the command line and a running appliance say to each other: JSON over HTTP on the unix socket.
//!
//! Both ends are always the same binary, or neighbours of one upgrade: unknown members are ignored.

use quintet_storage::Failure;
use serde::{Deserialize, Serialize};

/// A tenant, as the command line shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantView {
    /// Its id.
    pub tenant_id: String,
    /// Its name.
    pub name: String,
    /// The services it is provisioned for.
    pub services: Vec<String>,
    /// `active` or `suspended`.
    pub status: String,
    /// When it was created; RFC 3339.
    pub created_at: String,
    /// The tenant it belongs to, if it is a sub-tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tenant_id: Option<String>,
}

/// Asks for a new tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TenantWish {
    /// Its name.
    pub name: String,
    /// Its id; one is minted if absent.
    #[serde(default)]
    pub id: Option<String>,
    /// The services it is provisioned for; all if absent.
    #[serde(default)]
    pub services: Option<Vec<String>>,
}

/// Asks for a new key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyWish {
    /// The tenant's id or name.
    pub tenant: String,
    /// What the key is for, in the operator's words.
    #[serde(default)]
    pub label: Option<String>,
    /// What it may do; empty, and no template: the ordinary permissions of the tenant's services.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// A template of localization that its principal is granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The template's scope: the text of a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// After how many days it expires; never if absent.
    #[serde(default)]
    pub ttl_days: Option<u32>,
    /// What it allows of runs; what its tenant may, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunTermsWish>,
}

/// What a key is to allow of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTermsWish {
    /// What its terms are called; with the seconds.
    #[serde(default)]
    pub tier: Option<String>,
    /// How many seconds its runs may run in all; not metered if absent.
    #[serde(default)]
    pub metered_seconds: Option<u64>,
    /// The images that its runs may have; any if empty.
    #[serde(default)]
    pub allowed_images: Vec<String>,
    /// How long its ended runs are kept at most.
    #[serde(default)]
    pub retention_days: Option<u64>,
}

/// What a key allows of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTermsView {
    /// What its terms are called.
    pub tier: Option<String>,
    /// How many seconds its runs may run in all; null: not metered.
    pub metered_seconds: Option<u64>,
    /// How many of them are left.
    pub remaining_seconds: Option<u64>,
    /// The images that its runs may have; null: any.
    pub allowed_images: Option<Vec<String>>,
    /// How long its ended runs are kept at most; null: as long as the tenant's.
    pub retention_days: Option<u64>,
}

/// A key just issued; the only time its secret is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct IssuedKeyView {
    /// The key's id.
    pub key_id: String,
    /// The key itself.
    pub api_key: String,
    /// The tenant it belongs to.
    pub tenant_id: String,
    /// What it is for.
    pub label: Option<String>,
    /// What it may do.
    pub permissions: Vec<String>,
    /// When it expires; RFC 3339.
    pub expires_at: Option<String>,
    /// What it allows of runs; absent: what its tenant may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunTermsView>,
}

/// A key without its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyView {
    /// The key's id.
    pub key_id: String,
    /// The tenant it belongs to.
    pub tenant_id: String,
    /// What it is for.
    pub label: Option<String>,
    /// What it may do.
    pub permissions: Vec<String>,
    /// When it was issued; RFC 3339.
    pub created_at: String,
    /// When it expires; RFC 3339.
    pub expires_at: Option<String>,
    /// When it was revoked; RFC 3339.
    pub revoked_at: Option<String>,
    /// When it was last used, to the minute; RFC 3339.
    pub last_used_at: Option<String>,
    /// What it allows of runs; absent: what its tenant may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunTermsView>,
}

/// How a check of the language core went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoreCheckView {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub ok: bool,
    /// How long it took.
    pub milliseconds: u64,
}

/// The end of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RevokedView {
    /// The key's id.
    pub key_id: String,
    /// Always true.
    pub revoked: bool,
}

/// A list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Items<T> {
    /// What it holds.
    pub items: Vec<T>,
}

/// What the clock says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClockView {
    /// The present instant; RFC 3339.
    pub now: String,
    /// `system` or `rehearsal`.
    pub mode: String,
}

/// Asks the rehearsal clock to move.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdvanceWish {
    /// By how many seconds.
    pub seconds: u64,
}

/// Where the rehearsal clock went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdvanceView {
    /// The instant it stands at now; RFC 3339.
    pub now: String,
    /// At how many instants something fell due on the way.
    pub steps: u64,
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

/// The workers of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkersView {
    /// Containers that hold a slot.
    pub busy: u64,
    /// Slots.
    pub total: u32,
    /// The runner: `up`, `down` (it does not answer) or `off` (there is to be none).
    pub runner: String,
}

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
}

/// What is said of the root key: never the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootKeyView {
    /// The name of the key in force.
    pub key_id: String,
    /// Where it comes from, as the configuration has it.
    pub source: String,
    /// Since when it is in force; RFC 3339.
    pub in_force_since: Option<String>,
    /// When a key last followed upon another; RFC 3339.
    pub rotated_at: Option<String>,
    /// `at_rest`, `rewrapping`, `keeping_previous`, `removing_previous` or `stuck`.
    pub state: String,
    /// The same as a sentence.
    pub explanation: String,
    /// The name of the key before it, as long as something may need that.
    pub previous_key_id: Option<String>,
    /// Until when the previous key is kept, once nothing but copies can need it; RFC 3339.
    pub previous_kept_until: Option<String>,
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

/// A checkpoint that is held for a while.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HoldView {
    /// By what it is extended and ended.
    pub hold_id: u64,
    /// Everything up to this transaction is in it.
    pub lsn: u64,
    /// Where it lies, relative to the data directory.
    pub checkpoint: String,
    /// How long it is held unless that is extended.
    pub hold_seconds: u64,
    /// The files without which what a backup restores cannot be read.
    pub key_files: Vec<KeyFileView>,
}

/// A file of the root key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyFileView {
    /// Where it lies; an absolute path.
    pub path: String,
    /// What it is called in a backup.
    pub name: String,
}

/// Tells of a backup that was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackupWish {
    /// Everything up to this transaction is in it.
    pub lsn: u64,
    /// Where it was put; an absolute path.
    pub destination: String,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the root key is in it.
    pub with_key: bool,
    /// How long it took, in milliseconds.
    pub duration_millis: u64,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupView {
    /// When it was finished; RFC 3339.
    pub finished_at: String,
    /// Everything up to this transaction is in it.
    pub lsn: u64,
    /// Where it was put; an absolute path.
    pub destination: String,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the root key is in it.
    pub with_key: bool,
    /// How long it took, in milliseconds.
    pub duration_millis: u64,
}

/// The last backup and its age.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackupView {
    /// The backup.
    #[serde(flatten)]
    pub backup: BackupView,
    /// How long ago it was finished.
    pub age_seconds: u64,
}

/// Why something could not be done, as a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// The request makes no sense.
    Unusable,
    /// What it is about does not exist.
    NotFound,
    /// What it is about is not in a state for it.
    Conflict,
    /// The writer was busy past the deadline; nothing was done.
    Busy,
    /// The disk is down to its reserve; nothing was done.
    StorageFull,
    /// Writing has stopped until a restart; nothing was done.
    Stopped,
    /// It may or may not have been done.
    OutcomeUnknown,
    /// Stored bytes are not what was written.
    Damaged,
    /// It is more than one transaction takes; nothing was done.
    TooLarge,
    /// The operating system refused.
    Io,
    /// The appliance made a mistake.
    #[serde(other)]
    Failed,
}

impl ProblemCode {
    /// The code of a failure of the store.
    #[must_use]
    pub fn of(failure: &Failure) -> ProblemCode {
        match failure {
            Failure::Busy => ProblemCode::Busy,
            Failure::StorageFull => ProblemCode::StorageFull,
            Failure::Stopped => ProblemCode::Stopped,
            Failure::OutcomeUnknown => ProblemCode::OutcomeUnknown,
            Failure::Damaged(_) => ProblemCode::Damaged,
            Failure::TooLarge => ProblemCode::TooLarge,
            Failure::Io(_) => ProblemCode::Io,
            Failure::Panicked => ProblemCode::Failed,
        }
    }

    /// What to do about it, where that does not depend on the request.
    #[must_use]
    pub fn hint(self) -> Option<&'static str> {
        match self {
            ProblemCode::Unusable | ProblemCode::Conflict => None,
            ProblemCode::NotFound => Some("`quintet tenant list` and `quintet key list` show what there is"),
            ProblemCode::Busy => Some("try again in a moment; `quintet status` shows how many requests wait"),
            ProblemCode::StorageFull => Some(
                "free space on the file system of the data directory (`quintet status` shows how much is kept in reserve), or lower storage.disk_reserve_mb and restart; writing resumes by itself once there is room",
            ),
            ProblemCode::Stopped => Some("`quintet status` shows why; mend that, then restart the appliance"),
            ProblemCode::OutcomeUnknown => {
                Some("restart the appliance, then look whether it was done before asking again")
            }
            ProblemCode::Damaged => Some(
                "stop the appliance; then `quintet verify --data DIR` lists all damage, `quintet verify --data DIR --salvage DEST` saves what is sound, and `quintet restore BACKUP --data DEST` goes back to a backup",
            ),
            ProblemCode::TooLarge => Some("ask for less at once"),
            ProblemCode::Io => Some("look at the disk and the appliance's log, then restart it"),
            ProblemCode::Failed => Some("see `quintet status` and the appliance's log"),
        }
    }
}

/// Why something could not be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// A stable code.
    pub code: ProblemCode,
    /// The reason, as a sentence.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
