//! What of the appliance needs somebody's attention.

use super::view::StatusView;
use crate::admin::localization::AuditView;
use crate::admin::webhooks::WebhooksView;
use crate::followers::{FollowerView, LAG_SECONDS_MAX};
use crate::measures::{counted, duration, size};

/// A backup that is older is told.
pub const BACKUP_AGE_SECONDS_MAX: u64 = 7 * 86_400;

/// For how long an attempt at a delivery may be due before that is told.
pub const BACKLOG_SECONDS_MAX: u64 = 300;

/// A jump of the time of day that is told, in milliseconds. Keeping a clock in step takes steps as well, small ones.
pub const CLOCK_JUMP_MILLIS_MAX: u64 = 2_000;

/// How long a runner has, from the start on, before it is missed.
const RUNNER_GRACE_SECONDS: u64 = 15;

/// What needs somebody's attention, as sentences, the worst first.
pub(super) fn warnings(status: &StatusView, failing_checks: &[String]) -> Vec<String> {
    let mut told = Vec::new();
    let StatusView { storage, workers, clock_jump_millis, .. } = status;
    let (free, reserve) = (storage.disk_free_bytes, storage.disk_reserve_bytes);
    if storage.state == "stopped" {
        let reason = storage.reason.as_deref().unwrap_or("unknown");
        told.push(format!("Writing has stopped: {reason}. Mend that, then restart."));
    }
    if storage.state == "full" {
        told.push(format!(
            "Writes are refused: {} are free, {} are kept in reserve. Free disk space; writing resumes by itself.",
            size(free),
            size(reserve)
        ));
    } else if free < reserve.saturating_mul(2) {
        told.push(format!("Disk is short: {} are free, {} are kept in reserve.", size(free), size(reserve)));
    }
    if let Some(tls) = &status.tls {
        told.extend(tls.complaint.clone());
        told.extend(tls.refused.as_ref().map(|reason| {
            format!("The certificate's files have changed and cannot be used; the one before stays in use. {reason}.")
        }));
    }
    if let Some(key) = status.root_key.as_ref().filter(|key| key.state == "stuck") {
        told.push(format!("The rotation of the root key is stuck: {}.", key.explanation));
    }
    if workers.runner == "down" && status.uptime_seconds > RUNNER_GRACE_SECONDS {
        told.push("The runner does not answer: runs wait. `quintet doctor` says more.".into());
    }
    if workers.disk == "short" {
        told.push(
            "The runner's disk has no room for another container: runs wait until one ends or somebody makes room."
                .into(),
        );
    }
    told.extend(behind(&status.webhooks));
    told.extend(disabled(&status.webhooks));
    told.extend(unanchored(&status.audit));
    if !failing_checks.is_empty() {
        told.push(format!("Checks of the language core fail: {}.", failing_checks.join(", ")));
    }
    if clock_jump_millis.unsigned_abs() > CLOCK_JUMP_MILLIS_MAX {
        told.push(clock_jump(*clock_jump_millis));
    }
    if storage.copy_window_seconds < storage.copy_window_wanted_seconds {
        told.push(format!(
            "A plain copy of the directory may take {} only: see storage.copy_keep_mb.",
            duration(storage.copy_window_seconds)
        ));
    }
    told.extend(status.followers.iter().filter(|follower| is_behind(follower)).map(lagging));
    told.extend(unsaved(status));
    told
}

/// Tells of data of which there is no backup, or an old one.
fn unsaved(status: &StatusView) -> Option<String> {
    // A rehearsal's data are nobody's, and whoever is followed has a backup.
    let is_followed = status.followers.iter().any(|follower| !is_behind(follower));
    if status.clock != "system" || status.tenants == 0 || is_followed {
        return None;
    }
    match &status.last_backup {
        None => Some("No backup was ever made: `quintet backup create DEST`.".into()),
        Some(last) if last.age_seconds > BACKUP_AGE_SECONDS_MAX => {
            Some(format!("The last backup is {} old.", duration(last.age_seconds)))
        }
        Some(_) => None,
    }
}

fn is_behind(follower: &FollowerView) -> bool {
    follower.lag_seconds > LAG_SECONDS_MAX
}

/// Tells of a continuous backup that is behind.
#[must_use]
pub fn lagging(follower: &FollowerView) -> String {
    let FollowerView { destination, lag_seconds, .. } = follower;
    format!(
        "The continuous backup at {destination} is {} behind: see whether its disk is there and \
         quintet-follow.service runs.",
        duration(*lag_seconds)
    )
}

/// Tells of checkpoints of audit chains that cannot be anchored.
#[must_use]
pub fn unanchored(audit: &AuditView) -> Option<String> {
    let (file, reason) = (audit.anchor_file.as_ref()?, audit.complaint.as_ref()?);
    let waiting = counted(audit.anchors_waiting, "checkpoint waits", "checkpoints wait");
    Some(format!("Audit checkpoints cannot be anchored in {file}: {reason}; {waiting}."))
}

/// Tells of deliveries that nobody gets around to.
#[must_use]
pub fn behind(webhooks: &WebhooksView) -> Option<String> {
    let seconds = webhooks.oldest_due_seconds.filter(|seconds| *seconds > BACKLOG_SECONDS_MAX)?;
    let waiting = counted(webhooks.pending_deliveries, "delivery waits", "deliveries wait");
    Some(format!("Webhooks are behind: {waiting}, and an attempt has been due for {}.", duration(seconds)))
}

/// Tells of endpoints that were disabled because nothing arrived.
#[must_use]
pub fn disabled(webhooks: &WebhooksView) -> Option<String> {
    let count = webhooks.endpoints_given_up;
    let disabled = counted(count, "webhook endpoint was disabled", "webhook endpoints were disabled");
    (count > 0).then(|| {
        format!(
            "{disabled}: twenty deliveries were given up within a day and none was taken; see `quintet webhook list`, also with `--service localization`."
        )
    })
}

/// Tells a jump of the time of day.
#[must_use]
pub fn clock_jump(millis: i64) -> String {
    let far = duration(millis.unsigned_abs() / 1_000);
    let way = if millis > 0 { "ahead" } else { "back" };
    format!("Since the start the clock was set {far} {way}, or the machine was suspended.")
}

#[cfg(test)]
mod tests {
    use quintet_platform::backups::MadeBackup;

    use super::*;
    use crate::admin::backups::{BackupView, LastBackupView};
    use crate::admin::root_key::RootKeyView;
    use crate::admin::status::TlsView;

    /// A status with nothing to tell.
    fn quiet() -> StatusView {
        let gib = |count: u64| count << 30;
        let text = serde_json::json!({
            "version": "1", "commit": "c", "pid": 1, "uptime_seconds": 60, "data_dir": "/d", "clock": "system",
            "now": "", "services": [], "tenants": 0, "memory_bytes": 1,
            "workers": { "busy": 0, "total": 4, "runner": "up" },
            "storage": {
                "state": "writing", "lsn": 1, "disk_free_bytes": gib(9), "disk_reserve_bytes": gib(1),
                "copy_window_seconds": 900, "copy_window_wanted_seconds": 900,
            },
        });
        serde_json::from_value(text).unwrap()
    }

    fn told(change: impl FnOnce(&mut StatusView)) -> String {
        let mut status = quiet();
        change(&mut status);
        warnings(&status, &[]).join("\n")
    }

    fn backup(age_seconds: u64) -> LastBackupView {
        let backup = BackupView {
            finished_at: String::new(),
            made: MadeBackup {
                lsn: 1,
                destination: "/b".into(),
                files: 1,
                bytes: 1,
                with_key: true,
                duration_millis: 1,
            },
        };
        LastBackupView { backup, age_seconds }
    }

    fn following(lag_seconds: u64) -> FollowerView {
        FollowerView { destination: "/f".into(), lsn: 1, lag_seconds }
    }

    fn certificate(complaint: Option<&str>, refused: Option<&str>) -> Option<TlsView> {
        let text = |text: &str| text.to_owned();
        Some(TlsView {
            cert: text("/c"),
            names: Vec::new(),
            not_before: text(""),
            not_after: text(""),
            loaded_at: text(""),
            complaint: complaint.map(text),
            refused: refused.map(text),
            refused_at: None,
        })
    }

    #[test]
    fn what_is_well_is_not_told() {
        assert_eq!(told(|_| ()), "");
        assert_eq!(told(|status| status.tls = certificate(None, None)), "");
        assert_eq!(told(|status| status.workers.runner = "off".into()), "");
        let just_started = |status: &mut StatusView| {
            status.workers.runner = "down".into();
            status.uptime_seconds = 15;
        };
        assert_eq!(told(just_started), "");
        assert_eq!(told(|status| status.clock_jump_millis = -2_000), "");
        assert_eq!(told(|status| status.webhooks.oldest_due_seconds = Some(300)), "");
        assert_eq!(told(|status| status.webhooks.endpoints_disabled = 2), "", "somebody wanted that");
        let backed_up = |status: &mut StatusView| {
            status.tenants = 1;
            status.last_backup = Some(backup(7 * 86_400));
        };
        assert_eq!(told(backed_up), "");
        let followed = |status: &mut StatusView| {
            status.tenants = 1;
            status.followers = vec![following(60)];
        };
        assert_eq!(told(followed), "");
        let rehearsed = |status: &mut StatusView| {
            status.tenants = 1;
            status.clock = "rehearsal".into();
        };
        assert_eq!(told(rehearsed), "");
    }

    #[test]
    fn what_is_wrong_is_told_in_words() {
        type Change = fn(&mut StatusView);
        let cases: &[(Change, &str)] = &[
            (
                |status| {
                    status.storage.state = "stopped".into();
                    status.storage.reason = Some("the log could not be synced".into());
                },
                "Writing has stopped: the log could not be synced. Mend that, then restart.",
            ),
            (
                |status| {
                    status.storage.state = "full".into();
                    status.storage.disk_free_bytes = 1 << 20;
                },
                "Writes are refused: 1.0 MiB are free, 1.0 GiB are kept in reserve. Free disk space; writing resumes by \
                 itself.",
            ),
            (
                |status| {
                    let (file, reason) = (Some("/srv/anchors".into()), Some("Permission denied".into()));
                    status.audit = AuditView { anchor_file: file, anchors_waiting: 2, complaint: reason };
                },
                "Audit checkpoints cannot be anchored in /srv/anchors: Permission denied; 2 checkpoints wait.",
            ),
            (
                |status| status.storage.disk_free_bytes = (2 << 30) - 1,
                "Disk is short: 1.9 GiB are free, 1.0 GiB are kept in reserve.",
            ),
            (|status| status.tls = certificate(Some("The certificate expires."), None), "The certificate expires."),
            (
                |status| status.tls = certificate(None, Some("tls.key: /k holds no private key")),
                "The certificate's files have changed and cannot be used; the one before stays in use. \
                 tls.key: /k holds no private key.",
            ),
            (
                |status| {
                    status.root_key = Some(RootKeyView {
                        key_id: "k".into(),
                        source: "file:k".into(),
                        in_force_since: None,
                        rotated_at: None,
                        state: "stuck".into(),
                        explanation: "the file cannot be written".into(),
                        previous_key_id: None,
                        previous_kept_until: None,
                    });
                },
                "The rotation of the root key is stuck: the file cannot be written.",
            ),
            (
                |status| status.workers.runner = "down".into(),
                "The runner does not answer: runs wait. `quintet doctor` says more.",
            ),
            (
                |status| status.workers.disk = "short".into(),
                "The runner's disk has no room for another container: runs wait until one ends or somebody makes room.",
            ),
            (
                |status| {
                    status.webhooks.pending_deliveries = 12;
                    status.webhooks.oldest_due_seconds = Some(301);
                },
                "Webhooks are behind: 12 deliveries wait, and an attempt has been due for 5 min.",
            ),
            (
                |status| {
                    status.webhooks.endpoints_disabled = 3;
                    status.webhooks.endpoints_given_up = 1;
                },
                "1 webhook endpoint was disabled: twenty deliveries were given up within a day and none was taken; see `quintet webhook list`, also with `--service localization`.",
            ),
            (
                |status| status.clock_jump_millis = 3_600_000,
                "Since the start the clock was set 1 h 0 min ahead, or the machine was suspended.",
            ),
            (
                |status| status.clock_jump_millis = -5_000,
                "Since the start the clock was set 5 s back, or the machine was suspended.",
            ),
            (
                |status| status.storage.copy_window_seconds = 60,
                "A plain copy of the directory may take 1 min only: see storage.copy_keep_mb.",
            ),
            (|status| status.tenants = 1, "No backup was ever made: `quintet backup create DEST`."),
            (
                |status| status.followers = vec![following(61)],
                "The continuous backup at /f is 1 min behind: see whether its disk is there and quintet-follow.service runs.",
            ),
            (
                |status| {
                    status.tenants = 1;
                    status.last_backup = Some(backup(8 * 86_400));
                },
                "The last backup is 8 d 0 h old.",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(told(change), *expected);
        }
        let failing = warnings(&quiet(), &["plural_rules".to_owned(), "icu".to_owned()]);
        assert_eq!(failing, ["Checks of the language core fail: plural_rules, icu."]);
    }
}
