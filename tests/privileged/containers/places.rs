//! Root among directories, sockets and files of others: the runner's own place, and what is read for a client.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use quintet_runtime::{Digest, Limits, Runner, RunnerError, Stream};
use serde_json::json;

use super::{PATIENCE, TestRunner, busybox_layer, shared};
use crate::support::appliance::{Setup, quintet, say_skipped};
use crate::tarball::{Tarball, layout, spread};

/// Nobody of the machine, and their group.
const OTHER: u32 = 12_345;
const GROUP: u32 = 54_321;

fn root_only() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        say_skipped("only root can act as another user");
        return None;
    }
    Some(tempfile::Builder::new().prefix("quintet-places-").tempdir().unwrap())
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn make(path: &Path, owner: u32, mode: u32) -> PathBuf {
    std::fs::create_dir(path).unwrap();
    chown(path, Some(owner), Some(owner)).unwrap();
    set_mode(path, mode);
    path.to_owned()
}

/// What a runner says that ends; one that goes on is ended.
fn runner_on(directory: &Path, socket: &Path) -> Output {
    let mut command = quintet();
    command.args(["runner", "--dir"]).arg(directory).arg("--socket").arg(socket).current_dir("/");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Runner::new(socket).find().is_err() && Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait_with_output().unwrap()
}

/// All names below a directory, with owner, mode, size and what links lead to.
fn listing(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let (link, owner) = (std::fs::read_link(&path).ok(), metadata.uid());
        found.push(format!("{} {owner} {:o} {} {link:?}", path.display(), metadata.mode(), metadata.len()));
        if metadata.is_dir() {
            found.extend(listing(&path));
        }
    }
    found.sort();
    found
}

/// Where somebody else decides what lies in the runner's directory, links lead root to files of root's.
#[test]
fn a_runner_takes_no_directory_that_is_not_roots_alone() {
    let Some(parent) = root_only() else { return };
    let parent = parent.path();
    let victim = parent.join("victim");
    std::fs::write(&victim, "of root").unwrap();
    let laid = |directory: PathBuf| {
        for name in ["lock", "identity", "records.redb", "containers", "scratch", "probe", "layers", "staging"] {
            symlink(&victim, directory.join(name)).unwrap();
        }
        directory
    };
    let of_others = laid(make(&parent.join("of-others"), OTHER, 0o700));
    let below_others = make(&make(&parent.join("others"), OTHER, 0o755).join("roots"), 0, 0o700);
    let missing_below_others = parent.join("others/missing");
    let below_open = make(&make(&parent.join("open"), 0, 0o775).join("roots"), 0, 0o700);
    let once_of_others = laid(make(&parent.join("once"), 0, 0o700));
    let link = parent.join("link");
    symlink(make(&parent.join("linked"), 0, 0o700), &link).unwrap();
    let a_file = parent.join("file");
    std::fs::write(&a_file, "").unwrap();
    let cases = [
        (of_others, "belongs to user 12345"),
        (below_others, "belongs to user 12345"),
        (missing_below_others, "belongs to user 12345"),
        (below_open, "can be written by others"),
        (once_of_others, "has something in it that no runner has made"),
        (link.clone(), "is a symbolic link"),
        (link.join("further"), "is a symbolic link"),
        (make(&parent.join("readable"), 0, 0o755), "chmod 700"),
        (make(&parent.join("everybodys"), 0, 0o1777), "chmod 700"),
        (a_file, "Not a directory"),
        (parent.join("linked/../linked"), "climbs with .."),
    ];
    let before = listing(parent);
    for (directory, expected) in cases {
        let ended = runner_on(&directory, &parent.join("socket"));
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{}: {said}", directory.display());
        assert!(said.contains(expected), "{}: {said}", directory.display());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "of root", "{}", directory.display());
        assert_eq!(listing(parent), before, "{}", directory.display());
    }
}

/// Whoever may write where the socket lies can put one of their own there.
#[test]
fn a_socket_that_somebody_else_has_laid_hears_nothing_and_is_replaced() {
    // Says that it listens, and then what it is told.
    const LISTEN: &str = r#"
        use IO::Socket::UNIX;
        my $l = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die $!;
        $| = 1; print "listening\n";
        for (1..2) { my ($s, $b) = $l->accept; print $b if sysread($s, $b, 1000); }
    "#;
    let Some(mut runner) = TestRunner::make(&[]) else { return };
    runner.kill_runner();
    let parent = tempfile::Builder::new().prefix("quintet-sockets-").tempdir().unwrap();
    set_mode(parent.path(), 0o755);
    let place = make(&parent.path().join("place"), OTHER, 0o755);
    let socket = place.join("runner.sock");
    let mut perl = Command::new("perl");
    perl.args(["-e", LISTEN]).arg(&socket).uid(OTHER).gid(OTHER).current_dir("/").stdout(Stdio::piped());
    let mut listener = perl.spawn().unwrap();
    let mut heard = listener.stdout.take().unwrap();
    let mut told = [0; 10];
    heard.read_exact(&mut told).unwrap();
    assert_eq!(&told, b"listening\n");
    let client = Runner::new(&socket);
    for called in [client.find().map(|()| None), client.image("secret").map(Some)] {
        let Err(error @ RunnerError::Unavailable { .. }) = called else { panic!("{called:?}") };
        assert!(error.to_string().contains("is not root"), "{error}");
    }
    listener.wait().unwrap();
    let mut told = String::new();
    heard.read_to_string(&mut told).unwrap();
    assert_eq!(told, "", "somebody was told something");
    // Of its own, a link, and what is neither.
    let victim = parent.path().join("victim");
    drop(UnixListener::bind(&victim).unwrap());
    set_mode(&victim, 0o600);
    runner.runner = client;
    for laid in ["a socket", "a link to a socket", "a link to nothing"] {
        match laid {
            "a socket" => chown(&socket, Some(OTHER), Some(OTHER)).unwrap(),
            "a link to a socket" => symlink(&victim, &socket).unwrap(),
            _ => symlink(parent.path().join("nothing"), &socket).unwrap(),
        }
        runner.start_runner().unwrap();
        let made = socket.symlink_metadata().unwrap();
        assert!(std::os::unix::fs::FileTypeExt::is_socket(&made.file_type()), "{laid}");
        assert_eq!((made.uid(), made.mode() & 0o777), (0, 0o600), "{laid}");
        assert_eq!(victim.symlink_metadata().unwrap().mode() & 0o777, 0o600, "{laid}");
        runner.kill_runner();
        std::fs::remove_file(&socket).unwrap();
    }
    std::fs::write(&socket, "not a socket").unwrap();
    let refused = runner_on(&runner.state(), &socket);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("something that is no socket lies there"), "{said}");
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "not a socket");
}

/// The runner opens nothing for its clients: a member of its group reads no more than anywhere else.
#[test]
fn an_import_reads_what_its_caller_may_read() {
    let Some(runner) = TestRunner::make(&["--group", "54321"]) else { return };
    set_mode(&runner.directory, 0o755);
    // Where everybody may start it: the directory of the build is root's alone.
    let open = make(&runner.directory.join("open"), 0, 0o755);
    let program = open.join("quintet");
    let built = quintet().get_program().to_owned();
    if std::fs::hard_link(&built, &program).is_err() {
        std::fs::copy(&built, &program).unwrap();
    }
    let plain = busybox_layer(b"not busybox");
    let digest_of = |bytes: &[u8]| Digest::of(bytes).to_string();
    let files = layout(&[(plain.clone(), plain)], &json!({}), digest_of);
    let images = open.join("image");
    spread(&files, &images);
    let import = || {
        let mut command = Command::new(&program);
        command.args(["image", "import"]).arg(&images).args(["--name", "others:1", "--socket"]);
        command.arg(runner.runner.socket()).uid(OTHER).gid(GROUP).current_dir("/");
        let ended = command.output().unwrap();
        (ended.status.success(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    for (private, _) in files.iter().filter(|(name, _)| name != "oci-layout") {
        set_mode(&images.join(private), 0o600);
        let (done, said) = import();
        assert!(!done && said.contains("ermission denied"), "{private}: {said}");
        assert!(said.contains(private.as_str()), "{private}: {said}");
        assert_eq!(runner.runner.image("others:1").unwrap(), None, "{private}");
        set_mode(&images.join(private), 0o644);
    }
    let index = images.join("index.json");
    let whole = std::fs::read(&index).unwrap();
    std::fs::write(&index, r#"{"manifests": "a secret"}"#).unwrap();
    let (done, said) = import();
    assert!(!done && said.contains("its index is not what it should be"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    std::fs::write(&index, whole).unwrap();
    let (done, said) = import();
    assert!(done, "{said}");
    assert!(runner.runner.image("others:1").unwrap().is_some());
}

/// As kaniko and umoci write layers: with an entry for the root, names from the root, and no end.
#[test]
fn an_image_as_builders_write_it_runs_with_the_root_that_it_says() {
    for runner in [shared(), TestRunner::make(&["--shared-ids"]).as_ref()] {
        let Some(runner) = runner else { return };
        let busybox = std::fs::read("/bin/busybox").unwrap();
        let below = Tarball::new().entry(b'5', b"/", b"", 0o700, 0, b"").file("/of-below", b"").finish();
        let root = Tarball::new().entry(b'5', b"/", b"", 0o1751, 33, b"").file("/bin/busybox", &busybox);
        let names = ["sh", "stat", "cat"].map(|name| format!("/bin/{name}"));
        let linked = names.iter().fold(root, |tarball, name| tarball.hard_link(name, "/bin/busybox"));
        let mut linked = linked.file("/etc/last", b"unpadded").finish();
        linked.truncate(linked.len() - 1024 - 504);
        let silent = Tarball::new().file("above", b"").finish();
        let layers = [below, linked, silent].map(|layer| (layer.clone(), layer));
        let digest_of = |bytes: &[u8]| Digest::of(bytes).to_string();
        let path = runner.directory.join("builders");
        spread(&layout(&layers, &json!({}), digest_of), &path);
        let opened = std::fs::File::open(&path).unwrap();
        let mut description =
            runner.script("stat -c '%a %u %g' /; cat /etc/last; stat -c %h /bin/sh", Limits::default());
        description.image = runner.runner.import(opened.into(), "builders:1", None).unwrap().digest;
        let id = runner.new_id();
        runner.runner.start(&id, &description).unwrap();
        assert_eq!(runner.outcome(&id).exit_code, Some(0));
        let lines: Vec<String> = runner.lines(&id, Stream::Stdout).into_iter().map(|line| line.text).collect();
        assert_eq!(lines, ["1751 33 33", "unpadded4"]);
        runner.assert_gone(&id);
    }
}

#[test]
fn a_command_about_images_waits_for_the_runner_of_an_appliance_that_has_just_started() {
    let Some(parent) = root_only() else { return };
    let (place, socket) = (parent.path().join("own"), parent.path().join("own.sock"));
    let environment = [
        ("QUINTET_RUNS__RUNNER_DIR", place.to_str().unwrap()),
        ("QUINTET_RUNS__RUNNER_SOCKET", socket.to_str().unwrap()),
    ];
    let setup = environment.iter().fold(Setup::new(), |setup, (name, value)| setup.env(name, value));
    let appliance = setup.start();
    let mut command = quintet();
    command.args(["image", "list", "--data"]).arg(appliance.data()).envs(environment);
    let listed = command.output().unwrap();
    if appliance.log().contains("cannot run containers") {
        return say_skipped("this machine runs no containers");
    }
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    assert_eq!(appliance.stop(), Some(0));
}
