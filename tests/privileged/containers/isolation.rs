//! What a container tries, as root inside, and does not get.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use quintet_runtime::{Action, ContainerDescription, Limits};

use super::{TestRunner, shared};
use crate::loop_disk::LoopDisk;

/// Attempts that must fail: a name, and shell code that succeeds if the wall has a hole. `$HOST_FILE` is a file of the
/// host, `$HOST_PID` a process of the host's root, `$HOST_PORT` where it listens on its loopback.
pub const ATTEMPTS: &[(&str, &str)] = &[
    ("a file of the host", "cat $HOST_FILE"),
    ("a file of the host by process 1", "cat /proc/1/root$HOST_FILE"),
    ("a file of the host by a file descriptor of process 1", "ls /proc/1/fd/"),
    ("the environment of process 1", "cat /proc/1/environ"),
    ("memory of process 1", "head -c 1 /proc/1/mem"),
    ("the runner's directory", "ls /mnt/root || ls /mnt/u"),
    ("processes of the host", "test $(ls -d /proc/[0-9]* | wc -l) -gt 12"),
    ("a signal to a process of the host", "kill -0 $HOST_PID"),
    ("interfaces other than loopback", "test $(ls /sys/class/net | wc -l) -gt 1"),
    ("the host's loopback", "wget -q -O - http://127.0.0.1:$HOST_PORT/"),
    ("the network", "wget -q -T 1 -O - http://192.0.2.1/"),
    ("an interface up with an address", "ifconfig lo:1 10.0.0.1"),
    ("a mount", "mkdir -p /m && mount -t tmpfs none /m"),
    ("a mount of /proc", "mkdir -p /m && mount -t proc none /m"),
    ("a bind mount", "mkdir -p /m && mount -o bind /etc /m"),
    ("a mount made writable", "mount -o remount,rw /proc/sys"),
    ("a mount taken away", "umount /proc/sys || umount /sys || umount /proc/kcore || umount /sys/fs"),
    ("a user namespace", "unshare -U true"),
    ("a mount namespace", "unshare -m true"),
    ("a network namespace", "unshare -n true"),
    ("another's namespaces", "nsenter -t 1 -m true || nsenter -t 1 -n true"),
    ("another root", "mkdir -p /m/old && pivot_root /m /m/old"),
    ("a block device", "mknod /blk b 8 0"),
    ("a character device", "mknod /chr c 1 1"),
    ("a device that is there", "cat /dev/vda || cat /dev/mem || cat /dev/kmsg || cat /dev/fuse || cat /dev/loop0"),
    ("a loop device", "echo > /img && losetup /dev/loop9 /img"),
    ("the memory of process 1", "test -n \"$(head -c 1 /proc/1/maps)\" || head -c 1 /proc/1/mem"),
    ("the descriptors of process 1", "ls /proc/1/fd/* || echo > /proc/1/fd/0"),
    ("the program of process 1", "head -c 4 /proc/1/exe"),
    ("the environment of process 1", "head -c 1 /proc/1/environ"),
    ("the machine's power", "ls /sys/devices/virtual/powercap/*"),
    ("a kernel setting", "echo 1 > /proc/sys/kernel/panic || echo x > /proc/sys/kernel/core_pattern"),
    ("the magic key", "echo h > /proc/sysrq-trigger"),
    ("the kernel's memory", "test -n \"$(head -c 1 /proc/kcore)\""),
    ("the kernel's log", "dmesg || test -n \"$(head -c 1 /proc/kmsg)\""),
    ("keys", "test -s /proc/keys || test -s /proc/key-users"),
    ("timers", "test -s /proc/timer_list || test -s /proc/sched_debug"),
    ("firmware", "ls /sys/firmware/* "),
    ("control groups", "ls /sys/fs/cgroup"),
    ("a file of /sys", "for f in /sys/class/net/lo/mtu /sys/kernel/mm/ksm/run; do echo 1 > $f && exit 0; done; false"),
    ("the hostname", "hostname other"),
    ("the clock", "date -s 2000-01-01; test $(date +%Y) = 2000"),
    ("a reboot", "reboot -f"),
    ("swap", "swapoff -a && test -s /proc/swaps && swapoff /dev/zero"),
    ("a kernel module", "echo > /m.ko; insmod /m.ko"),
    ("an owner that does not exist", "touch /o && chown 70000 /o"),
    ("more priority", "nice -n -5 true && test $(nice -n -5 nice) -lt 0"),
    ("its own limit of memory", "find /sys -name memory.limit_in_bytes | grep -q ."),
    ("capabilities it was not given", "grep -q 'CapBnd:.*[2-9a-f]......$' /proc/self/status"),
    ("privileges by set-id", "grep -q 'NoNewPrivs:.0' /proc/self/status"),
    ("life without a filter", "grep -q 'Seccomp:.0' /proc/self/status"),
    (
        "the set-id bit as another user",
        "cp /bin/busybox /su && chmod 4755 /su && test -u /su && grep -q 'NoNewPrivs:.0' /proc/1/status",
    ),
];

/// What a container needs to be of use.
const NEEDED: &[(&str, &str)] = &[
    ("to write files", "echo x > /file && test -s /file"),
    ("to write to /tmp and /dev/shm", "echo x > /tmp/f && echo x > /dev/shm/f"),
    (
        "to use devices",
        "head -c 4 /dev/urandom | wc -c | grep -q 4 && echo x > /dev/null && head -c 1 /dev/zero >/dev/null",
    ),
    ("to open its own output", "echo > /dev/stdout && echo > /dev/stderr"),
    ("a named pipe", "mkfifo /pipe && test -p /pipe"),
    ("other users", "chown 33:33 /file && test $(stat -c %u /file) = 33"),
    ("another root below its own", "chroot / /bin/true"),
    (
        "its loopback",
        "ifconfig lo | grep -q 127.0.0.1 && (echo x | nc -l -p 9000 & sleep 0.2; nc 127.0.0.1 9000 < /dev/null | grep -q x)",
    ),
    ("to see itself", "test -r /proc/self/status && test $(cat /proc/sys/kernel/hostname) != \"$HOST_NAME\""),
    ("a read-only /sys", "ls /sys/class/net/lo"),
];

/// Tells a container what there is of the host to be reached: see [`ATTEMPTS`].
pub fn tell_of_host(description: &mut ContainerDescription, file: &Path, listener: &TcpListener) {
    let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for (name, value) in [
        ("HOST_FILE", file.display().to_string()),
        ("HOST_PID", std::process::id().to_string()),
        ("HOST_PORT", listener.local_addr().unwrap().port().to_string()),
        ("HOST_NAME", host_name.trim().to_owned()),
    ] {
        description.env.insert(name.into(), value);
    }
}

#[test]
fn nothing_of_the_host_is_in_reach() {
    let Some(runner) = shared() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let secret = runner.directory.join("secret");
    std::fs::write(&secret, "of the host").unwrap();
    let mut script = String::new();
    for (name, attempt) in ATTEMPTS.iter().chain(NEEDED) {
        script.push_str(&format!(
            "if ({attempt}) >/dev/null 2>&1; then echo \"yes {name}\"; else echo \"no {name}\"; fi\n"
        ));
    }
    let mut description = runner.script(&script, Limits { timeout_seconds: 120, ..Limits::default() });
    tell_of_host(&mut description, &secret, &listener);
    let id = runner.new_id();
    runner.runner.start(&id, &description).unwrap();
    let outcome = runner.outcome(&id);
    let said: Vec<String> =
        runner.lines(&id, quintet_runtime::Stream::Stdout).into_iter().map(|line| line.text).collect();
    let expected = |names: &'static [(&str, &str)], word: &'static str| {
        names.iter().map(move |(name, _)| format!("{word} {name}")).collect::<Vec<_>>()
    };
    let wanted: Vec<String> = [expected(ATTEMPTS, "no"), expected(NEEDED, "yes")].concat();
    let said: Vec<&String> = said.iter().filter(|line| line.starts_with("yes ") || line.starts_with("no ")).collect();
    let wrong: Vec<_> = said.iter().zip(&wanted).filter(|(said, wanted)| **said != *wanted).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(said.len(), wanted.len(), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "of the host");
}

#[test]
fn root_inside_is_nobody_outside_and_nobody_twice() {
    let Some(runner) = shared() else { return };
    let ids: Vec<_> = (0..2).map(|_| runner.start("sleep 60", Limits::default())).collect();
    let mut ranges = Vec::new();
    for id in &ids {
        for process in runner.processes(id) {
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
            let field = |name: &str| {
                let line = status.lines().find(|line| line.starts_with(name)).unwrap();
                line.split_whitespace().nth(1).unwrap().to_owned()
            };
            let uid: u32 = field("Uid:").parse().unwrap();
            assert!((0x7000_0000..0x8000_0000).contains(&uid), "{uid:#x}");
            ranges.push((id.clone(), uid >> 16));
            // Of all its namespaces none is the host's.
            for kind in ["user", "pid", "mnt", "ipc", "uts", "cgroup", "net"] {
                let theirs = std::fs::read_link(format!("/proc/{process}/ns/{kind}")).unwrap();
                let ours = std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
                assert_ne!(theirs, ours, "{kind}");
            }
        }
    }
    ranges.dedup();
    assert_eq!(ranges.len(), 2, "each has processes: {ranges:?}");
    if runner.runner.hello().unwrap().features.idmapped_layers {
        assert_ne!(ranges[0].1, ranges[1].1, "two containers share their ids");
    }
    runner.assert_no_mounts();
    for id in ids {
        runner.runner.control(&id, Action::Kill).unwrap();
        runner.outcome(&id);
    }
}

#[test]
fn without_idmapped_mounts_it_works_as_well() {
    let Some(runner) = TestRunner::make(&["--shared-ids"]) else { return };
    assert!(!runner.runner.hello().unwrap().features.idmapped_layers);
    let script = "stat -c %u:%g /bin/busybox; echo x > /new && stat -c %u /new; touch /bin/busybox && chown 33 /bin/busybox \
        && stat -c %u /bin/busybox";
    let (outcome, out, err) = runner.run(script, Limits::default());
    assert_eq!(outcome.exit_code, Some(0), "{err:?}");
    assert_eq!(out, ["0:0", "0", "33"]);
}

#[test]
fn only_root_and_the_group_may_speak_to_the_runner() {
    // Says hello and prints how long the answer is.
    const HELLO: &str = r#"
        use IO::Socket::UNIX;
        $SIG{PIPE} = 'IGNORE';
        my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or do { print "closed"; exit };
        my $call = '{"protocol":1,"request":"hello"}';
        syswrite($s, pack("N", length $call) . $call);
        my $n = sysread($s, my $b, 4);
        print $n ? "answered" : "hung up";
    "#;
    let ask = |runner: &TestRunner, uid: u32, gid: u32| {
        let mut perl = Command::new("perl");
        perl.args(["-e", HELLO]).arg(runner.runner.socket()).uid(uid).gid(gid).current_dir("/");
        String::from_utf8(perl.output().unwrap().stdout).unwrap()
    };
    let Some(runner) = TestRunner::make(&["--group", "54321"]) else { return };
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&runner.directory, open).unwrap();
    assert_eq!(ask(&runner, 0, 0), "answered");
    assert_eq!(ask(&runner, 12345, 54321), "answered");
    assert_eq!(ask(&runner, 12345, 12345), "closed");
    // Even if somebody opens the socket to everybody.
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(runner.runner.socket(), everybody).unwrap();
    assert_eq!(ask(&runner, 12345, 12345), "hung up");
}

#[test]
fn file_systems_of_the_host_are_not_held() {
    let Some(disk) = LoopDisk::make(16) else { return };
    let Some(runner) = TestRunner::make(&[]) else { return };
    let id = runner.start("sleep 1000", Limits::default());
    assert!(disk.is_attached());
    disk.unmount();
    // Neither by the supervisor that has a container nor by the one that is kept ready.
    runner.wait_until(|| !disk.is_attached());
    runner.runner.control(&id, Action::Kill).unwrap();
    runner.outcome(&id);
}
