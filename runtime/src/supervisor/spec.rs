//! From a description to the OCI configuration: the security profile that every container gets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::process::Resource;
use serde_json::{Value, json};

use super::order::Shape;
use crate::cgroup::Hierarchies;
use crate::description::{ContainerDescription, ContainerId};
use crate::image::IDS;
use crate::records::ImageConfig;

/// What root of a container may do within its own namespaces: Docker's set without MKNOD, NET_RAW, AUDIT_WRITE, and
/// without SETFCAP, which no_new_privs makes useless.
const CAPABILITIES: [&str; 10] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];

/// Files of /proc and /sys that tell of the host, or let it be changed. Of block devices without a machine's part the
/// files behind them are told: among them the runner's.
const MASKED: [&str; 17] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/config.gz",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/sys/devices/virtual/block",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/fs",
];

const READ_ONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

const DEFAULT_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Terminals of a container: all containers share what the kernel has of them (kernel.pty.max).
const TERMINALS_MAX: u32 = 128;

/// Signals and timers of a container that the kernel keeps. What a hundred thousand of them take when they go at once, the
/// processor spends for nobody, and others wait for it.
const SIGNALS_MAX: u64 = 4096;

/// Who the command runs as.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// The command: the image's entrypoint, then the description's words or the image's own.
pub(super) fn command(description: &ContainerDescription, config: &ImageConfig) -> io::Result<Vec<String>> {
    let own = &description.command;
    let words = if own.is_empty() { &config.command } else { own };
    let command: Vec<String> = config.entrypoint.iter().chain(words).cloned().collect();
    if command.first().is_none_or(String::is_empty) {
        return Err(io::Error::other("neither the image nor the run says which command"));
    }
    Ok(command)
}

/// The environment: the image's, and over it the description's.
pub(super) fn environment(description: &ContainerDescription, config: &ImageConfig) -> Vec<String> {
    let name_of = |variable: &str| variable.split('=').next().unwrap_or_default().to_owned();
    let mut environment: Vec<String> = Vec::new();
    let described = description.env.iter().map(|(name, value)| format!("{name}={value}"));
    let all = [DEFAULT_PATH.to_owned()].into_iter().chain(config.env.iter().cloned()).chain(described);
    for variable in all.filter(|variable| variable.contains('=')) {
        let name = name_of(&variable);
        environment.retain(|other| name_of(other) != name);
        environment.push(variable);
    }
    environment
}

/// Finds a user of an image, by number or by the image's own files.
pub(super) fn user(wanted: &str, passwd: &str, group: &str) -> io::Result<User> {
    let (name, wanted_group) = wanted.split_once(':').unwrap_or((wanted, ""));
    let name = if name.is_empty() { "0" } else { name };
    let row = |file: &str, name: &str, columns: usize| -> Option<Vec<String>> {
        let mut rows = file.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
        rows.find(|row| row.len() >= columns && row.first().is_some_and(|first| first == name))
    };
    let column = |row: &[String], number: usize| row.get(number).and_then(|text| text.parse::<u32>().ok());
    let unknown = |what: &str| io::Error::other(format!("the image's user is {wanted:?}, and it has no such {what}"));
    let by_name = row(passwd, name, 4);
    let (uid, own_group) = match (name.parse::<u32>(), &by_name) {
        (Ok(uid), _) => {
            let rows = passwd.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
            let of_uid = rows.into_iter().find(|row| column(row, 2) == Some(uid));
            (uid, of_uid.and_then(|row| column(&row, 3)).unwrap_or(0))
        }
        (Err(_), Some(row)) => {
            (column(row, 2).ok_or_else(|| unknown("user"))?, column(row, 3).ok_or_else(|| unknown("user"))?)
        }
        (Err(_), None) => return Err(unknown("user")),
    };
    let gid = match wanted_group.parse::<u32>() {
        Ok(gid) => gid,
        Err(_) if wanted_group.is_empty() => own_group,
        Err(_) => row(group, wanted_group, 3).and_then(|row| column(&row, 2)).ok_or_else(|| unknown("group"))?,
    };
    if uid >= IDS || gid >= IDS {
        return Err(unknown("user"));
    }
    let mut groups = Vec::new();
    for line in group.lines() {
        let columns: Vec<&str> = line.split(':').collect();
        if let [_, _, number, members] = columns.as_slice()
            && members.split(',').any(|member| member == name)
            && let Ok(number) = number.parse::<u32>()
            && number < IDS
        {
            groups.push(number);
        }
    }
    groups.sort_unstable();
    // All there are inside are as many as the kernel takes.
    groups.dedup();
    Ok(User { uid, gid, groups })
}

/// The name by which a container knows itself.
pub(super) fn hostname(id: &ContainerId) -> String {
    id.as_str().to_lowercase().replace('_', "-").chars().take(63).collect()
}

/// The whole configuration but for what is known later: the command, its environment, the host name, the limits.
pub(super) fn configuration(
    shape: &Shape,
    root: &Path,
    user: &User,
    users: BorrowedFd<'_>,
    hierarchies: &Hierarchies,
) -> Value {
    let directory = if shape.config.directory.is_empty() { "/" } else { shape.config.directory.as_str() };
    let group = hierarchies.group(&shape.group);
    // Raising a hard limit needs a privilege that root of a virtual machine may lack.
    let at_most = |resource, most: u64| rustix::process::getrlimit(resource).maximum.unwrap_or(most).min(most);
    let files = at_most(Resource::Nofile, 1 << 20);
    // What takes core files through a pipe asks for limits only up to one byte: 0 does not stop it (core(5)).
    let core = at_most(Resource::Core, 1);
    let signals = at_most(Resource::Sigpending, SIGNALS_MAX);
    let mut namespaces: Vec<Value> =
        ["pid", "mount", "ipc", "uts", "cgroup", "network"].iter().map(|kind| json!({ "type": kind })).collect();
    namespaces.push(json!({ "type": "user", "path": format!("/proc/self/fd/{}", users.as_raw_fd()) }));
    let terminals = format!("max={TERMINALS_MAX}");
    // In version 1 the group has them already.
    let devices = (hierarchies.version() != 1).then(|| json!([{ "allow": false, "access": "rwm" }]));
    let linux = json!({
        "namespaces": namespaces,
        "cgroupsPath": group.absolute_path(),
        "maskedPaths": MASKED,
        "readonlyPaths": READ_ONLY,
        "resources": devices.map(|devices| json!({ "devices": devices })),
    });
    json!({
        "ociVersion": "1.2.0",
        "root": { "path": root, "readonly": false },
        "process": {
            "terminal": false,
            "user": { "uid": user.uid, "gid": user.gid, "additionalGids": user.groups, "umask": 0o022 },
            "args": ["init"],
            // Else libcontainer looks for one in the image's list of users, whatever that is: what never comes to an end is
            // read for ever.
            "env": ["HOME=/"],
            "cwd": directory,
            "capabilities": {
                "bounding": CAPABILITIES, "effective": CAPABILITIES, "permitted": CAPABILITIES,
                "inheritable": [], "ambient": [],
            },
            "rlimits": [
                { "type": "RLIMIT_NOFILE", "soft": files.min(1024), "hard": files },
                { "type": "RLIMIT_CORE", "soft": core, "hard": core },
                { "type": "RLIMIT_SIGPENDING", "soft": signals, "hard": signals },
            ],
            "noNewPrivileges": true,
        },
        "mounts": [
            mount("/proc", "proc", &["nosuid", "noexec", "nodev"]),
            mount("/dev", "tmpfs", &["nosuid", "noexec", "strictatime", "mode=755", "size=64k"]),
            mount("/dev/pts", "devpts",
                &["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5", &terminals]),
            mount("/dev/shm", "tmpfs", &["nosuid", "noexec", "nodev", "mode=1777", "size=64m"]),
            mount("/dev/mqueue", "mqueue", &["nosuid", "noexec", "nodev"]),
            mount("/sys", "sysfs", &["nosuid", "noexec", "nodev", "ro"]),
            // What lies there is the container's memory, and counts as such.
            mount("/tmp", "tmpfs", &["nosuid", "nodev", "mode=1777", "size=100%"]),
        ],
        "linux": linux,
    })
}

fn mount(destination: &str, kind: &str, options: &[&str]) -> Value {
    json!({ "destination": destination, "type": kind, "source": kind, "options": options })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nweb:x:33:34::/srv:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nweb:x:34:\ndisk:x:6:web,other\nfar:x:70000:web\n";

    #[test]
    fn users_are_found_as_images_name_them() {
        let found = |wanted| user(wanted, PASSWD, GROUP).map(|user| (user.uid, user.gid, user.groups));
        for (wanted, expected) in [
            ("", (0, 0, vec![])),
            ("root", (0, 0, vec![])),
            ("web", (33, 34, vec![6])),
            ("33", (33, 34, vec![])),
            ("1000", (1000, 0, vec![])),
            ("1000:7", (1000, 7, vec![])),
            ("web:disk", (33, 6, vec![6])),
        ] {
            assert_eq!(found(wanted).unwrap(), expected, "{wanted}");
        }
        for wanted in ["nobody", "web:nobody", "65536", "0:65536", "-1"] {
            assert!(found(wanted).is_err(), "{wanted}");
        }
        // Each group counts once; all that are possible are not too many.
        let many: String = (0..70_000).map(|number| format!("g:x:{}:root\n", number % IDS)).collect();
        assert_eq!(user("root", PASSWD, &many).unwrap().groups.len(), IDS as usize);
    }
}
