//! What takes more than a container: an appliance with other tenants, registries, users of the machine. All of it is for
//! `make isolation`; each wall has a test of its own where it stands.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quintet_runtime::Digest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Others, Table, Verdict, beside, is_loud, p99, starts, verdict};
use crate::containers::TestRunner;
use crate::loop_disk::LoopDisk;
use crate::runs::{House, Tenant, script, script_with};
use crate::tarball::{Tarball, docker_archive, layout, pack, spread};

const PATIENCE: Duration = Duration::from_secs(30);
/// A user of the machine who is nobody to the runner but a member of its group.
const MEMBER: (u32, u32) = (12345, 54321);

/// Waits until something holds; whether it did.
fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A run of another tenant ends well.
fn runs(tenant: &Tenant) -> Verdict {
    let id = tenant.submit(&script("true"));
    let mut run = Value::Null;
    let is_over = comes_true(|| {
        run = tenant.get(&id);
        ["exited", "failed", "killed", "timeout"].contains(&run["state"].as_str().unwrap())
    });
    let found = format!("another's run: {}, {}", run["state"], run["scheduling_info"]["blocked_by"]);
    verdict(is_over && run["exit_code"] == 0, found)
}

/// How long another tenant's run takes.
fn run_time(tenant: &Tenant) -> Duration {
    let began = Instant::now();
    let id = tenant.submit(&script("true"));
    let run = tenant.wait(&id);
    assert_eq!(run["exit_code"], 0, "{run}");
    began.elapsed()
}

/// Kills what a tenant has, and waits until it has ended.
fn kill_all(tenant: &Tenant, ids: &[String]) {
    for id in ids {
        tenant.control(id, "kill");
        // One that never got a slot is not there to be killed.
        tenant.client.send("DELETE", &format!("/api/v1/runs/{id}"), &[], b"");
    }
    comes_true(|| {
        ids.iter().all(|id| {
            let answer = tenant.client.get(&format!("/api/v1/runs/{id}"));
            answer.status == 404
                || ["exited", "failed", "killed", "timeout"]
                    .contains(&answer.json()["state"].as_str().unwrap_or_default())
        })
    });
}

/// An attack of one tenant's runs beside another tenant's.
fn of_runs(name: &str, holder: &str, house: &House, attack: &dyn Fn(&Tenant) -> Vec<String>) {
    let (hostile, other) = (house.tenant(), house.tenant());
    run_time(&other);
    let count = starts().unwrap();
    let without = p99(count, || run_time(&other));
    let ids = attack(&hostile);
    let found = runs(&other);
    // Nothing can be measured where nothing runs.
    let others = found.is_ok().then(|| Others { without, beside: p99(count, || run_time(&other)) });
    kill_all(&hostile, &ids);
    let mut table = Table::default();
    table.add(name, holder, &found, others);
    table.finish();
}

#[test]
fn slots_are_not_taken_for_ever() {
    if !is_loud("sleep in every slot") {
        return;
    }
    let Some(house) = House::start(&[("WORKERS", "4")]) else { return };
    of_runs("sleep in every slot", "a place for whoever has none", &house, &|tenant| {
        let ids: Vec<String> = (0..10).map(|_| tenant.submit(&script("sleep 3600"))).collect();
        tenant.until(&ids[0], "running");
        ids
    });
}

/// A registry that never comes to an end: a byte now and then. Its address, and how many speak to it.
fn slow_registry() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, count) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let counted = counted.clone();
            std::thread::spawn(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                let mut said = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
                while said.is_ok() {
                    std::thread::sleep(Duration::from_secs(1));
                    said = stream.write_all(b" ");
                }
            });
        }
    });
    (address, count)
}

#[test]
fn slow_registries_hold_nobody_up() {
    if !is_loud("slow registries") {
        return;
    }
    let (host, asked) = slow_registry();
    let configuration =
        format!("[egress]\nallow_private = [\"127.0.0.0/8\"]\n[runs.registries.\"{host}\"]\nplain_http = true\n");
    let Some(house) = House::start_with(&[("WORKERS", "4")], Some(configuration)) else { return };
    of_runs("slow registries", "pulls that hold no worker, two a tenant", &house, &|tenant| {
        let image = |number: usize| json!({"image": format!("{host}/slow/image:{number}")});
        let ids: Vec<String> = (0..8).map(|number| tenant.submit(&image(number))).collect();
        assert!(comes_true(|| asked.load(Ordering::Relaxed) > 0), "nobody pulls");
        ids
    });
}

#[test]
fn a_flood_of_output_is_capped() {
    if !is_loud("a flood of output") {
        return;
    }
    let Some(house) = House::start(&[("WORKERS", "4")]) else { return };
    of_runs("a flood of output", "caps of streams, the processor limit", &house, &|tenant| {
        let ids: Vec<String> = (0..2).map(|_| tenant.submit(&script("yes"))).collect();
        tenant.until(&ids[0], "running");
        std::thread::sleep(Duration::from_secs(2));
        ids
    });
}

#[test]
fn a_disk_filled_beside_others_makes_them_wait() {
    if !is_loud("a disk filled beside others") {
        return;
    }
    let Some(disk) = LoopDisk::make(1024) else { return };
    let Some(runner) = TestRunner::make_on(&disk) else { return };
    // Each may write more than a third of what is there.
    let environment = [("WORKERS", "8"), ("SCRATCH_MB", "360")];
    let house = House::on(runner, &environment, Some("[storage]\ndisk_reserve_mb = 16\n".into()), false);
    let tenants = [house.tenant(), house.tenant()];
    let fill = "dd if=/dev/zero of=/f bs=1048576 count=330 conv=fsync 2>/dev/null && sleep 1";
    let more = json!({"memory_limit_mb": 128});
    let ids: Vec<(&Tenant, String)> = tenants
        .iter()
        .cycle()
        .take(4)
        .map(|tenant| (tenant, tenant.submit(&script_with(fill, more.clone()))))
        .collect();
    let ends: Vec<Value> = ids.iter().map(|(tenant, id)| tenant.wait(id)).collect();
    let told: Vec<String> =
        ends.iter().map(|run| format!("{} {} {}", run["state"], run["reason"], run["exit_code"])).collect();
    let mut table = Table::default();
    let verdict = verdict(ends.iter().all(|run| run["exit_code"] == 0), told.join("; "));
    table.add("a disk filled beside others", "room promised at the start", &verdict, None);
    table.finish();
}

/// A few words of Perl, as that member of the group.
fn perl(code: &str, arguments: &[&Path]) -> Command {
    let mut command = Command::new("perl");
    command.args(["-e", code]).args(arguments).uid(MEMBER.0).gid(MEMBER.1).current_dir("/");
    command
}

/// Waits for the first line of a child.
fn first_line(child: &mut Child) -> String {
    let mut line = Vec::new();
    let out = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while out.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

fn open_to_everybody(path: &Path) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn silent_connections_shut_nobody_out() {
    const CALLS: &str = r#"
        use IO::Socket::UNIX;
        $| = 1;
        my $call = sub { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0], Timeout => 1) or return; push @held, $s; };
        while (@held < 1100) { $call->() or last; }
        print scalar(@held), "\n";
        # What is closed is opened again.
        while (1) { $call->() for 1 .. 20; sleep 1; }
    "#;
    if !is_loud("silent connections") {
        return;
    }
    let Some(runner) = TestRunner::make(&["--group", &MEMBER.1.to_string()]) else { return };
    open_to_everybody(&runner.directory);
    let ground = super::Ground::of(runner);
    let mut found = Err(String::new());
    let others = beside(
        true,
        || ground.others_start(),
        || {
            let mut child = perl(CALLS, &[ground.runner.runner.socket()]).stdout(Stdio::piped()).spawn().unwrap();
            let count = first_line(&mut child);
            // It is given no more than the time in which a machine that has much to do answers.
            let socket = ground.runner.runner.socket().to_owned();
            let call = std::thread::spawn(|| quintet_runtime::Runner::new(socket).hello().is_ok());
            let is_answered = comes_true(|| call.is_finished()) && call.join().unwrap();
            found = verdict(is_answered, format!("{count} connections of one user; root is answered: {is_answered}"));
            if found.is_err() {
                child.kill().unwrap();
            }
            child
        },
        |mut child| {
            let _ = child.kill();
            child.wait().unwrap();
        },
    );
    let mut table = Table::default();
    table.add("silent connections", "64 connections a user", &found, others);
    table.finish();
}

#[test]
fn a_runner_that_hangs_is_told() {
    if !is_loud("a runner that hangs") {
        return;
    }
    let Some(house) = House::start(&[]) else { return };
    let tenant = house.tenant();
    let id = tenant.submit(&script("sleep 600"));
    tenant.until(&id, "running");
    let pid = std::fs::read_to_string(house.runner.directory.join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let signal = |signal: Signal| kill_process(pid, signal).unwrap();
    signal(Signal::STOP);
    let is_told = comes_true(|| house.engine() != "up");
    let state = house.engine();
    let answer = is_told.then(|| tenant.control(&id, "pause").status);
    signal(Signal::CONT);
    let mut table = Table::default();
    let verdict = verdict(is_told && answer == Some(503), format!("engine {state}, a pause is answered {answer:?}"));
    table.add("a runner that hangs", "five seconds for an answer", &verdict, None);
    table.finish();
}

/// The binary where that member may run it.
fn as_member(arguments: &[&str], directory: &Path) -> Output {
    let binary = std::fs::File::open(env!("CARGO_BIN_EXE_quintet")).unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&binary));
    let mut command = Command::new(path);
    command.args(arguments).uid(MEMBER.0).gid(MEMBER.1).current_dir(directory).env_clear().env("HOME", directory);
    command.output().unwrap()
}

#[test]
fn what_others_laid_there_is_not_trusted() {
    if !is_loud("files of others") {
        return;
    }
    let Some(runner) = TestRunner::make(&["--group", &MEMBER.1.to_string()]) else { return };
    open_to_everybody(&runner.directory);
    let place = tempfile::Builder::new().prefix("quintet-member-").tempdir_in("/tmp").unwrap();
    open_to_everybody(place.path());
    let theirs = place.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(MEMBER.0), Some(MEMBER.1)).unwrap();
    let mut table = Table::default();
    let verdict = directory_of_another(&runner, place.path());
    table.add("somebody else's directory", "root's own directories alone", &verdict, None);
    table.add("a socket that was there first", "who answers must be root", &socket_of_another(&theirs), None);
    table.add(
        "a private file in an import",
        "files opened with the caller's rights",
        &private_file(&runner, &theirs),
        None,
    );
    table.finish();
}

/// A runner is started on a directory whose files are links to root's.
fn directory_of_another(running: &TestRunner, place: &Path) -> Verdict {
    let (state, victims) = (place.join("state"), place.join("victims"));
    for path in [&state, &victims] {
        std::fs::create_dir(path).unwrap();
    }
    let names: Vec<PathBuf> = std::fs::read_dir(running.state()).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &names {
        let name = path.file_name().unwrap();
        if path.is_dir() {
            std::fs::create_dir(victims.join(name)).unwrap();
        } else {
            std::fs::write(victims.join(name), "of root").unwrap();
        }
        std::os::unix::fs::symlink(victims.join(name), state.join(name)).unwrap();
    }
    std::os::unix::fs::chown(&state, Some(MEMBER.0), Some(MEMBER.1)).unwrap();
    let mut command = crate::support::appliance::quintet();
    command.args(["runner", "--dir"]).arg(&state).arg("--socket").arg(place.join("new-socket"));
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let has_ended = comes_true(|| child.try_wait().unwrap().is_some() || place.join("new-socket").exists());
    let status = child.try_wait().unwrap();
    let _ = child.kill();
    child.wait().unwrap();
    let is_whole = |path: &PathBuf| {
        let victim = victims.join(path.file_name().unwrap());
        if victim.is_dir() {
            std::fs::read_dir(victim).unwrap().count() == 0
        } else {
            std::fs::read(victim).unwrap() == b"of root"
        }
    };
    let changed: Vec<&PathBuf> = names.iter().filter(|path| !is_whole(path)).collect();
    let is_refused = has_ended && status.is_some_and(|status| !status.success());
    verdict(is_refused && changed.is_empty(), format!("ended {status:?}, changed by links: {}", changed.len()))
}

/// A member listens where the runner would; a client of root's must not say a word.
fn socket_of_another(theirs: &Path) -> Verdict {
    const LISTENS: &str = r#"
        use IO::Socket::UNIX;
        $| = 1;
        my $l = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die;
        print "listening\n";
        my $s = $l->accept; my $n = sysread($s, my $b, 1000); print $n + 0, "\n";
    "#;
    let socket = theirs.join("socket");
    let mut child = perl(LISTENS, &[&socket]).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut child), "listening");
    let mut client = crate::support::appliance::quintet();
    let output = client.args(["image", "list", "--socket"]).arg(&socket).output().unwrap();
    let heard = first_line(&mut child);
    child.wait().unwrap();
    verdict(heard == "0" && !output.status.success(), format!("the listener heard {heard} bytes"))
}

/// A member names a directory that only root may read.
fn private_file(runner: &TestRunner, theirs: &Path) -> Verdict {
    let private = theirs.parent().unwrap().join("private");
    let layer = Tarball::new().file("file", b"content").finish();
    let files = layout(&[(layer.clone(), layer)], &json!({}), |bytes| Digest::of(bytes).to_string());
    spread(&files, &private);
    std::fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let socket = runner.runner.socket().to_str().unwrap();
    let import = || {
        let words = ["image", "import", private.to_str().unwrap(), "--name", "stolen:1", "--socket", socket];
        let output = as_member(&words, theirs);
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), said.trim().lines().last().unwrap_or_default().to_owned())
    };
    let (is_taken, said) = import();
    std::fs::write(private.join("index.json"), "secret-of-root").unwrap();
    let (_, quoted) = import();
    let is_held = !is_taken && !quoted.contains("secret-of-root");
    verdict(is_held, format!("a whole image: {said}; a text: {quoted}"))
}

#[test]
fn a_bomb_of_an_image_is_refused() {
    if !is_loud("an image that swells") {
        return;
    }
    let Some(ground) = super::shared() else { return };
    let place = tempfile::tempdir().unwrap();
    let plain = Tarball::new().file("zeros", &vec![0; 400 << 20]).finish();
    let layer = place.path().join("layer");
    std::fs::write(&layer, &plain).unwrap();
    let packed = Command::new("gzip").args(["-9", "-c"]).arg(&layer).output().unwrap().stdout;
    let size = packed.len();
    let files = layout(&[(packed, plain)], &json!({}), |bytes| Digest::of(bytes).to_string());
    let path = place.path().join("bomb.tar");
    std::fs::write(&path, pack(&files)).unwrap();
    let opened = std::fs::File::open(&path).unwrap();
    let answer = ground.runner.runner.import(opened.into(), "bomb:1", None);
    let mut table = Table::default();
    let found = format!("400 MiB of {} KiB: {:?}", size >> 10, answer.as_ref().err());
    table.add("an image that swells", "200 times its size", &verdict(answer.is_err(), found), None);
    // An image that is not there is no reason to trust the answer above.
    let archive = docker_archive(&[Tarball::new().file("small", b"x").finish()], &json!({}), "small:1", |bytes| {
        Digest::of(bytes).to_string()
    });
    std::fs::write(&path, pack(&archive)).unwrap();
    ground.runner.runner.import(std::fs::File::open(&path).unwrap().into(), "small:1", None).unwrap();
    table.finish();
}
