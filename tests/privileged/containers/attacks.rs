//! Containers and images that mean harm: to whoever supervises them, and to the host by what an image is made of.

use std::path::Path;
use std::time::{Duration, Instant};

use quintet_runtime::{ContainerState, Digest, EndReason, ImageInfo, Limits, Refusal, RunnerError, Stream};
use serde_json::{Value, json};

use super::{TestRunner, busybox_layer, shared};
use crate::tarball::{Tarball, docker_archive, pack};

/// Output that is gone when it is to be read must not hold its reader up: that one keeps the time, too.
#[test]
fn a_container_that_reads_its_own_output_is_still_watched() {
    let Some(runner) = shared() else { return };
    let thief = "while :; do echo x; done & while :; do echo y >&2; done & \
        while :; do head -c 1 /proc/self/fd/1; done >/dev/null & \
        cat /dev/stdout >/dev/null & cat /dev/stderr >/dev/null & cat /dev/stdout >/dev/null & wait";
    // Opened before it is sent elsewhere.
    let thief = thief.replace("cat /dev/stdout >/dev/null", "(exec 3</dev/stdout; cat <&3 >/dev/null)");
    let thief = thief.replace("cat /dev/stderr >/dev/null", "(exec 3</dev/stderr; cat <&3 >/dev/null)");
    for _ in 0..3 {
        let began = Instant::now();
        let id = runner.start(&thief, Limits { timeout_seconds: 1, cpu_millicores: 2000, ..Limits::default() });
        let outcome = runner.outcome(&id);
        assert_eq!(outcome.reason, EndReason::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert!(!runner.runner.samples(&id, 0).unwrap().is_empty());
        runner.assert_gone(&id);
    }
}

/// An image of busybox with these changes.
fn image(runner: &TestRunner, name: &str, config: &Value, change: impl Fn(Tarball) -> Tarball) -> Digest {
    import(runner, name, config, change).unwrap().digest
}

fn import(
    runner: &TestRunner,
    name: &str,
    config: &Value,
    change: impl Fn(Tarball) -> Tarball,
) -> Result<ImageInfo, RunnerError> {
    let busybox = std::fs::read("/bin/busybox").unwrap();
    let layers = [busybox_layer(&busybox), change(Tarball::new()).finish()];
    let digest_of = |bytes: &[u8]| Digest::of(bytes).to_string();
    let path = runner.directory.join(format!("{name}.tar"));
    std::fs::write(&path, pack(&docker_archive(&layers, config, name, digest_of))).unwrap();
    let opened = std::fs::File::open(&path).unwrap();
    runner.runner.import(opened.into(), name, None)
}

/// What lies below a directory, with owners and modes.
fn listing(directory: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let (mode, uid) = (metadata.mode(), metadata.uid());
        found.push(format!("{} {mode:o} {uid} {}", path.display(), metadata.len()));
        if metadata.is_dir() {
            found.extend(listing(&path));
        }
    }
    found.sort();
    found
}

/// Where things are mounted, the image may have links that lead out. Either they are taken as the container would take
/// them, or it does not start; of the host nothing changes.
#[test]
fn links_of_an_image_do_not_lead_out_of_it() {
    let Some(runner) = shared() else { return };
    let host = tempfile::Builder::new().prefix("quintet-host-").tempdir_in("/tmp").unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(host.path(), open).unwrap();
    std::fs::create_dir(host.path().join("inside")).unwrap();
    std::fs::write(host.path().join("inside/file"), "of the host").unwrap();
    let outward = host.path().to_str().unwrap();
    let upward = format!("{}{outward}", "../".repeat(12));
    let before = (listing(host.path()), listing(Path::new("/mnt")));
    let mut started = 0;
    for (number, place) in ["proc", "sys", "dev", "tmp", "dev/shm", "proc/sys", "etc", "work"].iter().enumerate() {
        for (kind, target) in [outward, &upward, "/", "/proc/self", "/proc/self/root", "../../.."].iter().enumerate() {
            let name = format!("links-{number}-{kind}:1");
            let config = json!({ "Cmd": ["/bin/true"], "WorkingDir": "/work/inside/new" });
            let imported = import(runner, &name, &config, |layer| {
                let layer = match place.split_once('/') {
                    Some((above, _)) => layer.directory(above),
                    None => layer,
                };
                // The layer below has a directory of that name.
                let (above, last) = place.rsplit_once('/').unwrap_or(("", place));
                let hidden = if above.is_empty() { format!(".wh.{last}") } else { format!("{above}/.wh.{last}") };
                let layer = if *place == "etc" { layer.file(&hidden, b"") } else { layer };
                if *place == "etc" { layer } else { layer.symbolic_link(place, target) }
            });
            let mut description = runner.script("ls -la / /proc/self/cwd > /tmp/x; echo ran", Limits::default());
            if ["proc", "sys", "dev"].contains(place) {
                let Err(RunnerError::Refused(Refusal::BadImage(why))) = imported else {
                    panic!("{name}: {imported:?}")
                };
                assert_eq!(why, format!("its /{place} is a symbolic link, where a container needs a directory"));
                continue;
            }
            description.image = imported.unwrap().digest;
            let id = runner.new_id();
            match runner.runner.start(&id, &description) {
                Ok(_) => {
                    started += 1;
                    runner.outcome(&id);
                }
                Err(RunnerError::Refused(Refusal::StartFailed(_))) => {}
                other => panic!("{name}: {other:?}"),
            }
            assert_eq!(runner.status(&id).state, ContainerState::Ended, "{name}");
            runner.assert_gone(&id);
            let after = (listing(host.path()), listing(Path::new("/mnt")));
            assert_eq!(before, after, "{place} -> {target}");
            runner.runner.remove(&id).unwrap();
            runner.runner.remove_image(&name).unwrap();
        }
    }
    assert!(started > 0, "nothing was tried");
}

/// A working directory that is a link to where a descriptor of the supervisor would lie.
#[test]
fn a_working_directory_is_not_a_way_to_what_was_left_open() {
    let Some(runner) = shared() else { return };
    for descriptor in 3..16 {
        let name = format!("workdir-{descriptor}:1");
        let digest = image(runner, &name, &json!({ "WorkingDir": "/way" }), |layer| {
            // Directories of the image, so that the way seems to be there before /proc is mounted over it.
            let there = format!("proc/self/fd/{descriptor}");
            layer.directory(&there).symbolic_link("way", &format!("/proc/self/fd/{descriptor}"))
        });
        let mut description =
            runner.script("pwd; ls -a; ls -a ../../../..; cat ../../../../etc/shadow", Limits::default());
        description.image = digest;
        let id = runner.new_id();
        match runner.runner.start(&id, &description) {
            Ok(_) => {
                runner.outcome(&id);
                let said: Vec<String> = runner.lines(&id, Stream::Stdout).into_iter().map(|line| line.text).collect();
                assert!(!said.iter().any(|line| line.contains("root:")), "{descriptor}: {said:?}");
                assert!(!said.iter().any(|line| line == "boot" || line == "work"), "{descriptor}: {said:?}");
            }
            Err(RunnerError::Refused(Refusal::StartFailed(_))) => {}
            other => panic!("{descriptor}: {other:?}"),
        }
        runner.assert_gone(&id);
    }
}

/// What is read of an image while a container is made is read as if it were hostile, and takes no time.
#[test]
fn lists_of_users_of_an_image_hold_nobody_up() {
    let Some(runner) = shared() else { return };
    let start = |name: &str, config: serde_json::Value, change: &dyn Fn(Tarball) -> Tarball| {
        let mut description = runner.script("echo up; echo $HOME", Limits::default());
        description.image = image(runner, name, &config, change);
        let id = runner.new_id();
        let began = std::time::Instant::now();
        let started = runner.runner.start(&id, &description);
        assert!(began.elapsed() < super::PATIENCE / 2, "{name}: {:?}", began.elapsed());
        (id, started)
    };
    let says = |name: &str, config: serde_json::Value, change: &dyn Fn(Tarball) -> Tarball| {
        let (id, started) = start(name, config, change);
        assert!(started.is_ok(), "{name}: {started:?}");
        assert_eq!(runner.outcome(&id).exit_code, Some(0), "{name}");
        runner.lines(&id, Stream::Stdout).into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    // One that never says anything, and one that never ends. Nothing in the script may look into them, as `id` would.
    let pipe = |layer: Tarball| layer.entry(b'6', b"etc/passwd", b"", 0o644, 0, b"");
    assert_eq!(says("users-pipe:1", json!({}), &pipe), ["up", "/"]);
    let zeros = |layer: Tarball| layer.symbolic_link("etc/passwd", "/dev/zero");
    assert_eq!(says("users-zeros:1", json!({}), &zeros), ["up", "/"]);
    // More groups than a process can be in, if each counted as often as it is named.
    let many: String = (0..70_000).map(|number| format!("g:x:{}:root\n", number % 60_000)).collect();
    let groups = |layer: Tarball| layer.file("etc/group", many.as_bytes());
    assert_eq!(says("users-groups:1", json!({ "User": "root" }), &groups), ["up", "/root"]);
    // Two thousand directories, each looked up from the root.
    let deep = "/a".repeat(2000);
    let (_, refused) = start("users-deep:1", json!({ "WorkingDir": deep }), &|layer| layer);
    assert!(matches!(refused, Err(RunnerError::Refused(Refusal::StartFailed(_)))), "{refused:?}");
}

/// A disk that is full takes lines and samples away, but not the truth about how a container ended.
#[test]
fn on_a_full_disk_containers_still_end_as_they_end() {
    let Some(runner) = TestRunner::make_on_own_disk() else { return };
    let limits = Limits { scratch_bytes: 4 << 20, timeout_seconds: 30, ..Limits::default() };
    let script = "echo begun; while [ ! -e /tmp/go ]; do sleep 0.1; i=$((i+1)); [ $i -lt 40 ] || touch /tmp/go; done; \
        yes | head -c 100000; exit 7";
    let id = runner.start(script, limits.clone());
    runner.wait_for_lines(&id, 1);
    let used = || {
        let disk = rustix::fs::statvfs(runner.state()).unwrap();
        (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    };
    // What is written meanwhile makes it too small.
    runner.wait_until(|| runner.resize_disk(&used().to_string()));
    let full = std::fs::write(runner.state().join("filler"), vec![1; 1 << 16]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    // It samples, writes and ends without a byte of room.
    let outcome = runner.outcome(&id);
    assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Exited, Some(7)));
    assert_eq!(outcome.stdout.bytes, 100_000 + 6);
    assert!(runner.resize_disk("1g"));
    let (outcome, out, _) = runner.run("echo again", limits);
    assert_eq!((outcome.exit_code, out.as_slice()), (Some(0), ["again".to_owned()].as_slice()));
}

/// The disk becomes smaller than what writable layers were promised of it. Whoever asks whether it was kept hears that it
/// was not; nobody else hears of it, and it is not for long.
#[test]
fn a_disk_smaller_than_its_writable_layers_costs_only_what_is_written_to_them() {
    let Some(runner) = TestRunner::make_on_own_disk() else { return };
    let limits = Limits { scratch_bytes: 256 << 20, timeout_seconds: 60, ..Limits::default() };
    let other = runner
        .start("while [ ! -e /go ]; do sleep 0.1; i=$((i+1)); [ $i -lt 60 ] || break; done; exit 9", limits.clone());
    let greedy = "echo begun; sleep 2; dd if=/dev/zero of=/big bs=1048576 count=128 conv=fsync 2>&1; echo $?; exit 5";
    let id = runner.start(greedy, limits.clone());
    runner.wait_for_lines(&id, 1);
    let disk = rustix::fs::statvfs(runner.state()).unwrap();
    let used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize;
    assert!(runner.resize_disk(&(used + (32 << 20)).to_string()));
    let outcome = runner.outcome(&id);
    assert_eq!((outcome.reason, outcome.exit_code), (EndReason::Exited, Some(5)));
    let lines: Vec<String> = runner.lines(&id, Stream::Stdout).into_iter().map(|line| line.text).collect();
    assert!(lines.iter().any(|line| line.contains("No space left")), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("1"), "{lines:?}");
    assert_eq!(runner.outcome(&other).exit_code, Some(9));
    // Its room comes back with its end.
    runner.wait_until(|| std::fs::write(runner.state().join("filler"), vec![1; 16 << 20]).is_ok());
    std::fs::remove_file(runner.state().join("filler")).unwrap();
    assert!(runner.resize_disk("1g"));
    let (outcome, out, _) = runner.run("echo again", limits);
    assert_eq!((outcome.exit_code, out.as_slice()), (Some(0), ["again".to_owned()].as_slice()));
}

/// Whoever may speak to the runner can call it often, but not away.
#[test]
fn a_thousand_idle_callers_do_not_end_the_runner() {
    let Some(runner) = TestRunner::make(&[]) else { return };
    let id = runner.start("sleep 3; exit 3", Limits::default());
    let mut callers = Vec::new();
    while let Ok(caller) = std::os::unix::net::UnixStream::connect(runner.runner.socket()) {
        caller.set_nonblocking(true).unwrap();
        callers.push(caller);
        if callers.len() == 1100 {
            break;
        }
    }
    assert!(callers.len() > 900, "{}", callers.len());
    drop(callers);
    assert_eq!(runner.outcome(&id).exit_code, Some(3));
}
