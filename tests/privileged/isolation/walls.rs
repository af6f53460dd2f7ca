//! What a shell tries, many small things in one container.

use quintet_runtime::{Limits, Stream};

use super::{Table, shared, verdict};
use crate::containers::isolation::{ATTEMPTS, tell_of_host};

/// As [`ATTEMPTS`]: a name, and shell code that succeeds if the wall has a hole. These look at everything there is.
const SWEEPS: &[(&str, &str)] = &[
    (
        "a setting of the kernel, each of them",
        "for f in $(busybox find /proc/sys -type f); do true >>$f && echo $f && exit 0; done; false",
    ),
    (
        "a file of /proc, each of them",
        "for f in $(ls -d /proc/[a-z]*); do case $f in /proc/self|/proc/thread-self) continue; esac; \
         for g in $(busybox find $f -type f); do case $g in */sys/*) continue; esac; \
         true >>$g && echo $g && exit 0; done; done; false",
    ),
    (
        "a file of /sys, each of them",
        "for f in $(busybox find /sys -type f); do true >>$f && echo $f && exit 0; done; false",
    ),
    (
        "a device other than those everybody has",
        "for d in $(busybox find /dev -type b -o -type c); do case $d in /dev/null|/dev/zero|/dev/full|/dev/random|\
         /dev/urandom|/dev/tty|/dev/ptmx|/dev/pts/*|/dev/console) ;; *) echo $d; exit 0;; esac; done; false",
    ),
    (
        "files behind block devices",
        "busybox find /sys/ -name backing_file 2>/dev/null | while read f; do cat $f; done | grep /",
    ),
    (
        "the runner's paths among its mounts",
        "grep -E \"$RUNNER|/containers/|/layers/\" /proc/mounts /proc/self/mountinfo",
    ),
    ("serial numbers of the machine", "cat /sys/class/dmi/id/*_serial /sys/class/dmi/id/product_uuid"),
    ("a shared part of the file system", "grep -E 'shared:|master:' /proc/self/mountinfo"),
    ("the filter of process 1 taken off", "grep -q 'Seccomp:.0' /proc/1/status"),
    ("routes out of the machine", "test $(cat /proc/net/route | wc -l) -gt 1"),
    ("sockets of the host by their names", "test $(grep -c '@' /proc/net/unix) -gt 0"),
    ("another's processes by their groups", "grep -vE ':/$' /proc/self/cgroup"),
];

#[test]
fn walls_hold_what_a_shell_tries() {
    let Some(ground) = shared() else { return };
    let mut script = String::new();
    for (name, attempt) in ATTEMPTS.iter().chain(SWEEPS) {
        // What it was told last is what held it.
        script.push_str(&format!(
            "if said=$( ({attempt}) 2>&1 ); then word=yes; else word=no; fi; echo \"$word|{name}|$(echo \"$said\" | tail -n 1 | head -c 100)\"\n"
        ));
    }
    let limits = Limits { timeout_seconds: 120, ..Limits::default() };
    let mut description = ground.runner.script(&script, limits);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let secret = ground.runner.directory.join("secret");
    std::fs::write(&secret, "of the host").unwrap();
    tell_of_host(&mut description, &secret, &listener);
    description.env.insert("RUNNER".into(), ground.runner.directory.display().to_string());
    let id = ground.runner.new_id();
    ground.runner.runner.start(&id, &description).unwrap();
    let outcome = ground.runner.outcome(&id);
    let lines = ground.runner.lines(&id, Stream::Stdout);
    let said: Vec<Vec<&str>> = lines.iter().map(|line| line.text.splitn(3, '|').collect()).collect();
    let mut table = Table::default();
    for (name, _) in ATTEMPTS.iter().chain(SWEEPS) {
        let row = said.iter().find(|row| row.len() == 3 && row[1] == *name);
        let row = row.unwrap_or_else(|| panic!("nothing was said of {name}: {outcome:?}"));
        table.add(name, "namespaces, rights, masks", &verdict(row[0] == "no", row[2]), None);
    }
    table.finish();
}
