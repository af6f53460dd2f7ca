//! Whether the kernel has what running containers takes. Nothing else needs any of it, so what is missing is a warning,
//! and none where the configuration says that there are to be no containers.

use std::path::Path;
use std::time::Duration;

use quintet_runtime::CONTAINER_IDS;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen};

use super::subject::{Finding, Subject, needed_for_containers};
use super::trial::{self, Ended};

/// What is said of everything that only containers need.
const NEEDED_BY: &str = "the runs service needs it, nothing else does";

/// The controllers of version 2 that a container's limits are set with.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// The controllers of version 1 that do the same.
const OLDER_CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "memory", "pids", "freezer"];

/// What limits the memory of a container's sockets, in version 1, which counts it apart from the rest.
const SOCKETS_LIMIT: &str = "memory.kmem.tcp.limit_in_bytes";

/// What brings version 2.
const NEWER: &str = "Boot with `systemd.unified_cgroup_hierarchy=1` on the kernel's command line.";

/// How long a trial may take.
const TRIAL_PATIENCE: Duration = Duration::from_secs(3);

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether limits can be set on containers.
pub fn check_cgroups(subject: &Subject) -> Vec<Finding> {
    let mounts = read("/proc/self/mounts").unwrap_or_default();
    let controllers_of = |place: &str| read(&format!("{place}/cgroup.controllers"));
    let limits_sockets = |place: &str| Path::new(place).join(SOCKETS_LIMIT).exists();
    needed_for_containers(subject, cgroups(&mounts, controllers_of, limits_sockets))
}

/// A hierarchy of control groups.
struct Hierarchy<'a> {
    place: &'a str,
    options: Vec<&'a str>,
}

fn cgroups(
    mounts: &str,
    controllers_of: impl Fn(&str) -> Option<String>,
    limits_sockets: impl Fn(&str) -> bool,
) -> Finding {
    let name = "cgroups";
    let of_kind = |wanted: &str| -> Vec<Hierarchy<'_>> {
        let words = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let found = words.filter_map(|words| match words.as_slice() {
            [_, place, kind, options, ..] if *kind == wanted => {
                Some(Hierarchy { place, options: options.split(',').collect() })
            }
            _ => None,
        });
        found.collect()
    };
    let (older, unified) = (of_kind("cgroup"), of_kind("cgroup2"));
    let has_older = |controller: &&str| older.iter().any(|hierarchy| hierarchy.options.contains(controller));
    // The runner goes by version 1 as soon as one controller that it needs is there.
    let is_older = OLDER_CONTROLLERS.iter().any(has_older);
    if older.is_empty() && unified.is_empty() {
        return Finding::warning(
            name,
            format!("No control groups are mounted: {NEEDED_BY}."),
            "`mount -t cgroup2 none /sys/fs/cgroup`; in a container, have its host mount them.",
        );
    }
    let in_use = if is_older { &older } else { &unified };
    let is_read_only = |hierarchy: &&Hierarchy<'_>| hierarchy.options.contains(&"ro");
    if let Some(Hierarchy { place, .. }) = in_use.iter().find(is_read_only) {
        return Finding::warning(
            name,
            format!("The control groups at {place} cannot be changed (mounted read-only): {NEEDED_BY}."),
            format!("`mount -o remount,rw {place}`; in a container, have its host mount them for writing."),
        );
    }
    let (version, needed, missing): (_, &[&str], Vec<&str>) = if is_older {
        let missing = OLDER_CONTROLLERS.into_iter().filter(|controller| !has_older(controller));
        let version = if unified.is_empty() { "Version 1" } else { "Version 1 beside version 2 (hybrid)" };
        (version, &OLDER_CONTROLLERS, missing.collect())
    } else {
        let listed: Vec<String> = unified.iter().filter_map(|hierarchy| controllers_of(hierarchy.place)).collect();
        let has = |wanted: &&str| listed.iter().any(|text| text.split_whitespace().any(|found| found == *wanted));
        ("Version 2", &CONTROLLERS, CONTROLLERS.into_iter().filter(|controller| !has(controller)).collect())
    };
    let memory = older.iter().find(|hierarchy| hierarchy.options.contains(&"memory"));
    if missing.is_empty() && is_older && memory.is_some_and(|memory| !limits_sockets(memory.place)) {
        return Finding::warning(
            name,
            format!("{version} without {SOCKETS_LIMIT}: what sockets of containers hold is limited by nothing."),
            NEWER,
        );
    }
    if missing.is_empty() {
        return Finding::ok(name, format!("{version} with the controllers {}.", needed.join(", ")));
    }
    let says = format!("{version}, but the controllers {} are missing: {NEEDED_BY}.", missing.join(", "));
    Finding::warning(name, says, cure_of(is_older, missing.contains(&"memory")))
}

/// What brings controllers that are missing.
fn cure_of(is_older: bool, lacks_memory: bool) -> &'static str {
    match (is_older, lacks_memory) {
        (_, true) => {
            "Boot with `cgroup_enable=memory` on the kernel's command line; in a container, have its host delegate it."
        }
        (true, _) => NEWER,
        (false, _) => {
            "Boot with `cgroup_no_v1=all` on the kernel's command line; in a container, have its host delegate them."
        }
    }
}

/// Whether containers can have layers.
pub fn check_overlay(subject: &Subject) -> Vec<Finding> {
    let tried = is_root().then(try_overlay);
    let modules = read("/proc/sys/kernel/osrelease").map(|release| format!("/lib/modules/{release}"));
    let module_lists =
        modules.iter().flat_map(|place| ["modules.dep", "modules.builtin"].map(|n| format!("{place}/{n}")));
    let module_lists: Vec<String> = module_lists.filter_map(|path| read(&path)).collect();
    let file_systems = read("/proc/filesystems").unwrap_or_default();
    needed_for_containers(subject, overlay(tried, &file_systems, &module_lists))
}

/// Lays one directory over another, in a mount that no path leads to and that is gone when this returns.
fn try_overlay() -> Result<(), rustix::io::Errno> {
    let file_system = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&file_system, "lowerdir", "/etc:/usr")?;
    fsconfig_create(&file_system)?;
    fsmount(&file_system, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY).map(drop)
}

fn overlay(tried: Option<Result<(), rustix::io::Errno>>, file_systems: &str, module_lists: &[String]) -> Finding {
    let name = "overlayfs";
    let is_known = file_systems.lines().any(|line| line.split_whitespace().last() == Some("overlay"));
    let is_module = module_lists.iter().any(|list| list.contains("/overlay.ko"));
    match tried {
        Some(Ok(())) => Finding::ok(name, "The kernel has it; a trial succeeded."),
        Some(Err(error)) if is_known || is_module => Finding::warning(
            name,
            format!("The kernel has it, but it cannot be mounted here ({error}): {NEEDED_BY}."),
            "In a container, have its host allow mounts (CAP_SYS_ADMIN, no filter of system calls); else see `dmesg`.",
        ),
        None if is_known => Finding::ok(name, "The kernel has it. Only root can try it."),
        None if is_module => Finding::ok(name, "The kernel loads it when it is needed. Only root can try it."),
        _ => Finding::warning(
            name,
            format!("The kernel does not have it: {NEEDED_BY}."),
            "Run a kernel with CONFIG_OVERLAY_FS, as all distributions have it; `modprobe overlay` loads it.",
        ),
    }
}

/// What the kernel says of user namespaces.
struct UserNamespaces<'a> {
    exist: bool,
    most: Option<&'a str>,
    unprivileged: Option<&'a str>,
    apparmor: Option<&'a str>,
    /// What a trial as root came to.
    tried: Option<Ended>,
}

/// Whether containers can have users of their own.
pub fn check_user_namespaces(subject: &Subject) -> Vec<Finding> {
    let most = read("/proc/sys/user/max_user_namespaces");
    let unprivileged = read("/proc/sys/kernel/unprivileged_userns_clone");
    let apparmor = read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    let try_one = || trial::run("unshare", &["--user", "--map-root-user", "true"], TRIAL_PATIENCE);
    let found = UserNamespaces {
        exist: Path::new("/proc/self/ns/user").exists(),
        most: most.as_deref(),
        unprivileged: unprivileged.as_deref(),
        apparmor: apparmor.as_deref(),
        tried: is_root().then(try_one),
    };
    needed_for_containers(subject, user_namespaces(&found))
}

fn user_namespaces(found: &UserNamespaces<'_>) -> Finding {
    let name = "user namespaces";
    if !found.exist {
        return Finding::warning(
            name,
            format!("The kernel has none: {NEEDED_BY}."),
            "Run a kernel with CONFIG_USER_NS, as all distributions have it.",
        );
    }
    if found.most == Some("0") {
        return Finding::warning(
            name,
            format!("They are switched off (user.max_user_namespaces is 0): {NEEDED_BY}."),
            "`sysctl -w user.max_user_namespaces=15000`, and the same in a file of /etc/sysctl.d.",
        );
    }
    if let Some(Ended::Badly(reason)) = &found.tried {
        return Finding::warning(
            name,
            format!("The kernel has them, but none can be made here ({reason}): {NEEDED_BY}."),
            "In a container, have its host allow them; else `sysctl -w user.max_user_namespaces=15000`.",
        );
    }
    let tried = match &found.tried {
        Some(Ended::Well) => "; a trial succeeded",
        Some(_) => "; they could not be tried (no `unshare` here)",
        None => "",
    };
    if found.unprivileged == Some("0") || found.apparmor == Some("1") {
        let says = format!("Only root may make them, which is whom the runner runs as{tried}.");
        return Finding::ok(name, says);
    }
    Finding::ok(name, format!("The kernel has them, and they are switched on{tried}."))
}

/// Whether system calls can be filtered.
pub fn check_seccomp(subject: &Subject) -> Vec<Finding> {
    needed_for_containers(subject, seccomp(read("/proc/sys/kernel/seccomp/actions_avail").as_deref()))
}

fn seccomp(actions: Option<&str>) -> Finding {
    let has = |wanted: &str| actions.is_some_and(|text| text.split_whitespace().any(|action| action == wanted));
    if has("errno") && has("kill_process") {
        return Finding::ok("seccomp", "The kernel filters system calls.");
    }
    let says = format!("The kernel does not filter system calls as is needed: {NEEDED_BY}.");
    Finding::warning("seccomp", says, "Run a kernel of version 4.14 or newer with CONFIG_SECCOMP_FILTER.")
}

/// Whether the ids of containers are theirs alone: nothing has to be delegated to the runner, which is root, but nobody
/// else may give out the same ids.
pub fn check_ids(subject: &Subject) -> Vec<Finding> {
    let lists = ["/etc/subuid", "/etc/subgid"].map(|path| (path, read(path).unwrap_or_default()));
    needed_for_containers(subject, ids(&lists))
}

fn ids(lists: &[(&str, String)]) -> Finding {
    let name = "container ids";
    let overlapping = lists.iter().find_map(|(path, text)| {
        let line = text.lines().find(|line| {
            let mut parts = line.split(':').skip(1).map(str::parse::<u64>);
            let (Some(Ok(first)), Some(Ok(count))) = (parts.next(), parts.next()) else { return false };
            first < CONTAINER_IDS.end && first.saturating_add(count) > CONTAINER_IDS.start
        })?;
        Some((*path, line))
    });
    let (first, last) = (CONTAINER_IDS.start, CONTAINER_IDS.end - 1);
    match overlapping {
        None => Finding::ok(name, format!("Nobody else gives out the ids of containers ({first} to {last}).")),
        Some((path, line)) => Finding::warning(
            name,
            format!("{path} gives ids of containers ({first} to {last}) to somebody else: {line}."),
            format!("Give that user other ids in {path}: `usermod --help` tells of --add-subuids and --del-subuids."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::super::subject::{State, told};
    use super::*;

    const V2: &str = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
    const V1: &str = "cgroup /c/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /c/m cgroup rw,memory 0 0\n\
                      cgroup /c/p cgroup rw,pids 0 0\ncgroup /c/f cgroup rw,freezer 0 0\n";

    #[test]
    fn cgroups_of_both_versions_are_understood() {
        let hybrid = format!("{V1}cgroup2 /c/unified cgroup2 rw 0 0\n");
        let cases: &[(&str, &str, &str)] = &[
            (V2, "cpuset cpu io memory pids", "ok: Version 2 with the controllers cpu, memory, pids."),
            (
                V2,
                "cpu memory",
                "warning: Version 2, but the controllers pids are missing: the runs service needs it, nothing else does. \
                 => Boot with `cgroup_no_v1=all` on the kernel's command line; in a container, have its host delegate \
                 them.",
            ),
            (
                V2,
                "cpu pids",
                "warning: Version 2, but the controllers memory are missing: the runs service needs it, nothing else \
                 does. => Boot with `cgroup_enable=memory` on the kernel's command line; in a container, have its host \
                 delegate it.",
            ),
            (V1, "", "ok: Version 1 with the controllers cpu, cpuacct, memory, pids, freezer."),
            (
                &hybrid,
                "",
                "ok: Version 1 beside version 2 (hybrid) with the controllers cpu, cpuacct, memory, pids, freezer.",
            ),
            (
                "cgroup /c/cpu cgroup rw,cpu,cpuacct,memory,pids 0 0\n",
                "",
                "warning: Version 1, but the controllers freezer are missing: the runs service needs it, nothing else \
                 does. => Boot with `systemd.unified_cgroup_hierarchy=1` on the kernel's command line.",
            ),
            (
                "cgroup2 /sys/fs/cgroup cgroup2 ro,nosuid 0 0\n",
                "cpu memory pids",
                "warning: The control groups at /sys/fs/cgroup cannot be changed (mounted read-only): the runs service \
                 needs it, nothing else does. => `mount -o remount,rw /sys/fs/cgroup`; in a container, have its host \
                 mount them for writing.",
            ),
            (
                "proc /proc proc rw 0 0\n",
                "",
                "warning: No control groups are mounted: the runs service needs it, nothing else does. => `mount -t \
                 cgroup2 none /sys/fs/cgroup`; in a container, have its host mount them.",
            ),
        ];
        for (mounts, controllers, expected) in cases {
            let found = cgroups(mounts, |_| Some((*controllers).to_string()), |_| true);
            assert_eq!(told(&found), *expected, "{mounts}");
        }
        let unlimited = cgroups(V1, |_| None, |place| place != "/c/m");
        assert_eq!(
            told(&unlimited),
            "warning: Version 1 without memory.kmem.tcp.limit_in_bytes: what sockets of containers hold is limited by \
             nothing. => Boot with `systemd.unified_cgroup_hierarchy=1` on the kernel's command line."
        );
    }

    #[test]
    fn layers_are_tried_or_judged_by_what_the_kernel_says() {
        let (known, unknown) = ("nodev\tproc\nnodev\toverlay\n", "\text4\n");
        let module = vec!["kernel/fs/overlayfs/overlay.ko.xz:".to_string()];
        let refused = "warning: The kernel has it, but it cannot be mounted here (Operation not permitted (os error 1)): \
                       the runs service needs it, nothing else does. => In a container, have its host allow mounts \
                       (CAP_SYS_ADMIN, no filter of system calls); else see `dmesg`.";
        let absent = "warning: The kernel does not have it: the runs service needs it, nothing else does. => Run a \
                      kernel with CONFIG_OVERLAY_FS, as all distributions have it; `modprobe overlay` loads it.";
        type Tried = Option<Result<(), Errno>>;
        let cases: &[(Tried, &str, &[String], &str)] = &[
            (Some(Ok(())), known, &[], "ok: The kernel has it; a trial succeeded."),
            (Some(Err(Errno::PERM)), known, &[], refused),
            (Some(Err(Errno::NODEV)), unknown, &[], absent),
            (None, known, &[], "ok: The kernel has it. Only root can try it."),
            (None, unknown, &module, "ok: The kernel loads it when it is needed. Only root can try it."),
            (None, unknown, &[], absent),
        ];
        for (tried, file_systems, modules, expected) in cases {
            assert_eq!(told(&overlay(*tried, file_systems, modules)), *expected);
        }
    }

    #[test]
    fn users_of_containers_are_told_of() {
        let usual = || UserNamespaces {
            exist: true,
            most: Some("15000"),
            unprivileged: Some("1"),
            apparmor: None,
            tried: Some(Ended::Well),
        };
        let only_root = "ok: Only root may make them, which is whom the runner runs as; a trial succeeded.";
        let cases = [
            (usual(), "ok: The kernel has them, and they are switched on; a trial succeeded."),
            (UserNamespaces { tried: None, ..usual() }, "ok: The kernel has them, and they are switched on."),
            (
                UserNamespaces { tried: Some(Ended::NotRun), ..usual() },
                "ok: The kernel has them, and they are switched on; they could not be tried (no `unshare` here).",
            ),
            (UserNamespaces { unprivileged: Some("0"), ..usual() }, only_root),
            (UserNamespaces { apparmor: Some("1"), ..usual() }, only_root),
            (
                UserNamespaces { exist: false, ..usual() },
                "warning: The kernel has none: the runs service needs it, nothing else does. => Run a kernel with \
                 CONFIG_USER_NS, as all distributions have it.",
            ),
            (
                UserNamespaces { most: Some("0"), ..usual() },
                "warning: They are switched off (user.max_user_namespaces is 0): the runs service needs it, nothing else \
                 does. => `sysctl -w user.max_user_namespaces=15000`, and the same in a file of /etc/sysctl.d.",
            ),
            (
                UserNamespaces { tried: Some(Ended::Badly("unshare failed".into())), ..usual() },
                "warning: The kernel has them, but none can be made here (unshare failed): the runs service needs it, \
                 nothing else does. => In a container, have its host allow them; else `sysctl -w \
                 user.max_user_namespaces=15000`.",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(told(&user_namespaces(&found)), expected);
        }
    }

    #[test]
    fn filters_and_ids_are_told_of() {
        assert_eq!(seccomp(Some("kill_process kill_thread trap errno log allow")).state, State::Ok);
        assert_eq!(
            told(&seccomp(None)),
            "warning: The kernel does not filter system calls as is needed: the runs service needs it, nothing else \
             does. => Run a kernel of version 4.14 or newer with CONFIG_SECCOMP_FILTER."
        );
        let given = |text: &str| ids(&[("/etc/subuid", text.to_string()), ("/etc/subgid", String::new())]);
        assert_eq!(
            told(&given("joe:100000:65536\nno sense\n:::\n")),
            "ok: Nobody else gives out the ids of containers (1879048192 to 2147483647)."
        );
        assert_eq!(
            told(&given("joe:100000:65536\nann:1879000000:65536\n")),
            "warning: /etc/subuid gives ids of containers (1879048192 to 2147483647) to somebody else: \
             ann:1879000000:65536. => Give that user other ids in /etc/subuid: `usermod --help` tells of --add-subuids \
             and --del-subuids."
        );
        assert_eq!(given("ann:2147483648:65536\n").state, State::Ok);
        assert_eq!(given("ann:1:18446744073709551615\n").state, State::Warning);
    }
}
