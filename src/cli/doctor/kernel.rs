//! Whether the kernel has what running containers takes. The ledger needs none of it, so what is missing is a warning.

use super::examination::{Finding, Subject};

/// What is said of everything that only containers need.
const NEEDED_BY: &str = "the runs service will need it, nothing else does";

/// The controllers that a container's limits are set with.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// Whether limits can be set on containers.
pub fn check_cgroups(_: &Subject) -> Vec<Finding> {
    let mounts = read("/proc/self/mounts").unwrap_or_default();
    vec![cgroups(&mounts, |place| read(&format!("{place}/cgroup.controllers")))]
}

fn cgroups(mounts: &str, controllers_of: impl Fn(&str) -> Option<String>) -> Finding {
    let mounts: Vec<Vec<&str>> = mounts.lines().map(|line| line.split(' ').collect()).collect();
    let of_type = |wanted: &'static str| {
        mounts.iter().filter_map(move |words| match words.as_slice() {
            [_, place, kind, options, ..] if *kind == wanted => Some((*place, *options)),
            _ => None,
        })
    };
    let unified: Vec<String> = of_type("cgroup2")
        .filter_map(|(place, _)| controllers_of(place))
        .flat_map(|text| text.split_whitespace().map(str::to_string).collect::<Vec<_>>())
        .collect();
    let older: Vec<&str> = of_type("cgroup").flat_map(|(_, options)| options.split(',')).collect();
    let missing: Vec<&str> = CONTROLLERS
        .into_iter()
        .filter(|name| !unified.iter().any(|found| found == name) && !older.contains(name))
        .collect();
    let is_all_unified = CONTROLLERS.iter().all(|name| unified.iter().any(|found| found == name));
    match (missing.is_empty(), is_all_unified) {
        (true, true) => Finding::ok("cgroups", "Version 2 with the controllers cpu, memory and pids."),
        (true, false) => Finding::ok("cgroups", "Version 1 or both, with the controllers cpu, memory and pids."),
        (false, _) => Finding::warning(
            "cgroups",
            format!("The controllers {} are missing: {NEEDED_BY}.", missing.join(", ")),
            "Boot with systemd.unified_cgroup_hierarchy=1; in a container or virtual machine, have its host delegate them.",
        ),
    }
}

/// Whether containers can have layers.
pub fn check_overlay(_: &Subject) -> Vec<Finding> {
    let modules = read("/proc/sys/kernel/osrelease").map(|release| format!("/lib/modules/{release}"));
    let module_lists =
        modules.iter().flat_map(|place| ["modules.dep", "modules.builtin"].map(|n| format!("{place}/{n}")));
    let module_lists: Vec<String> = module_lists.filter_map(|path| read(&path)).collect();
    vec![overlay(&read("/proc/filesystems").unwrap_or_default(), &module_lists)]
}

fn overlay(file_systems: &str, module_lists: &[String]) -> Finding {
    if file_systems.lines().any(|line| line.split_whitespace().last() == Some("overlay")) {
        return Finding::ok("overlayfs", "The kernel has it.");
    }
    if module_lists.iter().any(|list| list.contains("/overlay.ko")) {
        return Finding::ok("overlayfs", "The kernel loads it when it is needed.");
    }
    let says = format!("The kernel does not have it: {NEEDED_BY}.");
    Finding::warning("overlayfs", says, "Run a kernel with CONFIG_OVERLAY_FS, as all distributions have it.")
}

/// Whether containers can have users of their own.
pub fn check_user_namespaces(_: &Subject) -> Vec<Finding> {
    vec![user_namespaces(
        std::path::Path::new("/proc/self/ns/user").exists(),
        read("/proc/sys/user/max_user_namespaces").as_deref(),
        read("/proc/sys/kernel/unprivileged_userns_clone").as_deref(),
    )]
}

fn user_namespaces(has_any: bool, most: Option<&str>, unprivileged: Option<&str>) -> Finding {
    let name = "user namespaces";
    match (has_any, most, unprivileged) {
        (false, ..) => Finding::warning(
            name,
            format!("The kernel has none: {NEEDED_BY}."),
            "Run a kernel with CONFIG_USER_NS, as all distributions have it.",
        ),
        (_, Some("0"), _) => Finding::warning(
            name,
            format!("They are switched off: {NEEDED_BY}."),
            "Say `sysctl -w user.max_user_namespaces=15000`, and the same in /etc/sysctl.d.",
        ),
        (.., Some("0")) => Finding::warning(
            name,
            format!("Only root may make them: {NEEDED_BY}."),
            "Say `sysctl -w kernel.unprivileged_userns_clone=1`, and the same in /etc/sysctl.d.",
        ),
        _ => Finding::ok(name, "The kernel has them, and they are switched on."),
    }
}

/// Whether system calls can be filtered.
pub fn check_seccomp(_: &Subject) -> Vec<Finding> {
    vec![seccomp(read("/proc/sys/kernel/seccomp/actions_avail").as_deref())]
}

fn seccomp(actions: Option<&str>) -> Finding {
    let has = |wanted: &str| actions.is_some_and(|text| text.split_whitespace().any(|action| action == wanted));
    if has("errno") && has("kill_process") {
        return Finding::ok("seccomp", "The kernel filters system calls.");
    }
    let says = format!("The kernel does not filter system calls as is needed: {NEEDED_BY}.");
    Finding::warning("seccomp", says, "Run a kernel of version 4.14 or newer with CONFIG_SECCOMP_FILTER.")
}

#[cfg(test)]
mod tests {
    use super::super::examination::State;
    use super::*;

    #[test]
    fn cgroups_of_both_versions_are_understood() {
        let v2 = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let all = |place: &str| (place == "/sys/fs/cgroup").then(|| "cpuset cpu io memory pids".to_string());
        assert!(cgroups(v2, all).says.starts_with("Version 2"));
        let some = cgroups(v2, |_| Some("cpu memory".to_string()));
        assert_eq!(some.state, State::Warning);
        assert!(some.says.contains("The controllers pids are missing"), "{}", some.says);
        let v1 = "cgroup /c/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /c/m cgroup rw,memory 0 0\n\
                  cgroup /c/p cgroup rw,pids 0 0\ncgroup2 /c/unified cgroup2 rw 0 0\n";
        assert!(cgroups(v1, |_| Some(String::new())).says.starts_with("Version 1"));
        assert!(cgroups("", |_| None).says.contains("cpu, memory, pids"));
    }

    #[test]
    fn what_the_kernel_lacks_is_a_warning() {
        assert_eq!(overlay("nodev\tproc\nnodev\toverlay\n", &[]).state, State::Ok);
        assert_eq!(overlay("\text4\n", &["kernel/fs/overlayfs/overlay.ko.xz:".to_string()]).state, State::Ok);
        assert_eq!(overlay("\text4\n", &["kernel/fs/ext4.ko:".to_string()]).state, State::Warning);
        assert_eq!(user_namespaces(true, Some("15000"), Some("1")).state, State::Ok);
        assert_eq!(user_namespaces(true, None, None).state, State::Ok);
        for lacking in [(false, None, None), (true, Some("0"), None), (true, Some("9"), Some("0"))] {
            assert_eq!(user_namespaces(lacking.0, lacking.1, lacking.2).state, State::Warning, "{lacking:?}");
        }
        assert_eq!(seccomp(Some("kill_process kill_thread trap errno log allow")).state, State::Ok);
        assert_eq!(seccomp(None).state, State::Warning);
    }
}
