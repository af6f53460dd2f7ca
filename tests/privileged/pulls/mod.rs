//! Pulls from Debian's `docker-registry`, as it is and through a server between that cuts, lies, stalls and redirects;
//! into a runner of the real binary.

mod command;
pub mod front;
mod hostile;
pub mod registry;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use front::{Act, Asked, Front, answer};
use quintet_platform::egress::Egress;
use quintet_runs::RegistrySettings;
use quintet_runs::registry::{Progress, PullError, PullLimits, Puller, Reference, Registries};
use quintet_runtime::{Digest, ImageInfo, Limits, Stream};
use registry::{DOCKER_INDEX, INDEX, Pushed, Registry, USER};
use serde_json::{Value, json};

use crate::containers::TestRunner;
use crate::support::appliance::say_skipped;
use crate::tarball::Tarball;

/// A runner and a registry, for all tests here.
struct Place {
    runner: TestRunner,
    registry: Registry,
    directory: tempfile::TempDir,
}

fn place() -> Option<&'static Place> {
    static PLACE: LazyLock<Option<Place>> = LazyLock::new(|| {
        let registry = Registry::start(false).map_err(|reason| say_skipped(&reason)).ok()?;
        let runner = TestRunner::make(&[])?;
        Some(Place { runner, registry, directory: tempfile::tempdir().unwrap() })
    });
    PLACE.as_ref()
}

/// A name nobody else uses.
fn unique(name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A layer with one file, as it is stored and as it is.
fn layer(name: &str, content: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let plain = Tarball::new().file(name, content).finish();
    (plain.clone(), plain)
}

/// Bytes that do not compress and differ.
fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::new();
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

/// A registry that may be spoken to in plain HTTP.
fn plain(host: &str) -> RegistrySettings {
    RegistrySettings { host: host.into(), plain_http: true, username: String::new(), password: String::new().into() }
}

/// The same, with a password.
fn with_password(host: &str, password: &str) -> RegistrySettings {
    RegistrySettings { username: USER.0.into(), password: password.to_owned().into(), ..plain(host) }
}

/// Limits that are soon reached.
fn short() -> PullLimits {
    PullLimits { idle: Duration::from_millis(600), time: Duration::from_secs(5), ..PullLimits::default() }
}

impl Place {
    /// Pulls as it may be pulled on this machine.
    fn puller(&self, registries: &[RegistrySettings], limits: PullLimits) -> (Puller, PathBuf) {
        let egress = Egress::new(|address| address.is_loopback());
        let directory = self.directory.path().join(unique("pulls"));
        let registries = Registries::new(registries).unwrap();
        (Puller::new(egress, registries, &directory, limits).unwrap(), directory)
    }

    fn pull_with(
        &self,
        registries: &[RegistrySettings],
        limits: PullLimits,
        name: &str,
    ) -> Result<ImageInfo, PullError> {
        let (puller, directory) = self.puller(registries, limits);
        let reference = Reference::parse(name).unwrap();
        let pulled = puller.pull(&self.runner.runner, &reference, &AtomicBool::new(false), &|_| {});
        assert_empty(&directory);
        if pulled.is_err() {
            assert_eq!(
                self.runner.runner.image(&reference.to_string()).unwrap(),
                None,
                "the name stands for something"
            );
        }
        pulled
    }

    /// Pulls by this name from a host that speaks plain HTTP.
    fn pull(&self, name: &str) -> Result<ImageInfo, PullError> {
        self.pull_with(&[plain(name.split('/').next().unwrap())], short(), name)
    }

    /// Pulls in vain: nothing of these layers is left, not even half unpacked.
    fn pull_in_vain(&self, name: &str, layers: &[(Vec<u8>, Vec<u8>)]) -> PullError {
        let error = self.pull(name).unwrap_err();
        self.assert_nothing_of(layers);
        error
    }

    fn assert_nothing_of(&self, layers: &[(Vec<u8>, Vec<u8>)]) {
        for (_, archive) in layers {
            let unpacked = self.runner.state().join("layers").join(Digest::of(archive).hex());
            assert!(!unpacked.exists(), "a layer is left");
        }
    }

    /// A repository with one image of these layers.
    fn push(&self, layers: &[(Vec<u8>, Vec<u8>)]) -> (String, Pushed) {
        let repository = unique("image");
        let pushed = self.registry.push(&repository, "1", layers, &json!({}));
        (repository, pushed)
    }

    /// A server before the registry.
    fn front(&self, rule: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Front {
        Front::before(&self.registry.host, rule)
    }
}

fn assert_empty(directory: &Path) {
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0, "a pull has left something");
}

#[test]
fn an_image_is_pulled_and_runs() {
    let Some(place) = place() else { return };
    let busybox = std::fs::read("/bin/busybox").unwrap();
    let base = Tarball::new().directory("bin").file("bin/busybox", &busybox).hard_link("bin/cat", "bin/busybox");
    let base = base.finish();
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut compressed, &base).unwrap();
    let layers = [(compressed.finish().unwrap(), base), layer("greeting", b"from a registry\n")];
    let repository = unique("team/tool");
    let execution = json!({ "Entrypoint": ["/bin/cat"], "Cmd": ["/greeting"] });
    let pushed = place.registry.push(&repository, "v1", &layers, &execution);
    let front = place.front(|_| Act::Pass);
    let name = format!("{}/{repository}:v1", front.host());

    let (puller, directory) = place.puller(&[plain(&front.host())], PullLimits::default());
    let told = std::sync::Mutex::new(Vec::new());
    let reference = Reference::parse(&name).unwrap();
    let tell = |progress| told.lock().unwrap().push(progress);
    let image = puller.pull(&place.runner.runner, &reference, &AtomicBool::new(false), &tell).unwrap();
    assert_eq!((&image.digest, image.names.as_slice(), image.layers), (&pushed.digest, &[name.clone()][..], 2));
    assert_empty(&directory);
    let told = told.into_inner().unwrap();
    let total_bytes = layers.iter().map(|(stored, _)| stored.len() as u64).sum();
    assert_eq!((told.first(), told.last()), (Some(&Progress::Asking), Some(&Progress::Unpacking)));
    assert!(told.contains(&Progress::Fetching { done_bytes: total_bytes, total_bytes }), "{told:?}");
    assert_eq!(front.count(Asked::is_blob), 3, "the configuration and two layers");

    let id = place.runner.new_id();
    let mut description = place.runner.script("", Limits::default());
    (description.image, description.command) = (image.digest.clone(), Vec::new());
    place.runner.runner.start(&id, &description).unwrap();
    assert_eq!(place.runner.outcome(&id).exit_code, Some(0));
    assert_eq!(place.runner.lines(&id, Stream::Stdout)[0].text, "from a registry");

    // Once more, and another image that shares a layer: what is there is not fetched.
    place.pull(&name).unwrap();
    assert_eq!(front.count(Asked::is_blob), 4, "the configuration alone");
    let more = [layers[0].clone(), layer("more", b"of it")];
    place.registry.push(&repository, "v2", &more, &execution);
    place.pull(&format!("{}/{repository}:v2", front.host())).unwrap();
    assert_eq!(front.count(Asked::is_blob), 6, "its configuration and one layer");
    // The newest has no tag that was asked for.
    assert!(matches!(place.pull(&format!("{}/{repository}", front.host())), Err(PullError::NotFound)));
    assert_eq!(Puller::present(&place.runner.runner, &name).unwrap().unwrap().digest, image.digest);
    assert_eq!(Puller::present(&place.runner.runner, "no such name").unwrap(), None);
}

#[test]
fn of_several_platforms_this_one_is_pulled() {
    let Some(place) = place() else { return };
    let repository = unique("platforms");
    let push = |tag: &str| place.registry.push(&repository, tag, &[layer("which", &noise(64))], &json!({}));
    let (here, elsewhere) = (push("here"), push("elsewhere"));
    let index = |kind: &str, listed: &[Value]| {
        json!({ "schemaVersion": 2, "mediaType": kind, "manifests": listed }).to_string().into_bytes()
    };
    let both = [elsewhere.listed("arm64"), here.listed("amd64")];
    let host = &place.registry.host;
    let by_digest = place.registry.push_manifest(&repository, "oci", INDEX, &index(INDEX, &both));
    place.registry.push_manifest(&repository, "docker", DOCKER_INDEX, &index(DOCKER_INDEX, &both));
    let other = [elsewhere.listed("arm64")];
    place.registry.push_manifest(&repository, "other", INDEX, &index(INDEX, &other));
    for name in [":oci", ":docker", ":here", &format!("@{by_digest}"), &format!("@{}", here.digest)] {
        let image = place.pull(&format!("{host}/{repository}{name}")).unwrap();
        assert_eq!(image.digest, here.digest, "{name}");
        assert!(image.names.contains(&format!("{host}/{repository}{name}")), "{:?}", image.names);
    }
    match place.pull(&format!("{host}/{repository}:other")) {
        Err(PullError::BadImage(reason)) => assert!(reason.contains("amd64"), "{reason}"),
        other => panic!("{other:?}"),
    }
    // An index within an index, and one that never ends.
    let inner = json!({ "mediaType": INDEX, "digest": by_digest.as_str(), "size": index(INDEX, &both).len() });
    place.registry.push_manifest(&repository, "nested", INDEX, &index(INDEX, &[inner]));
    assert_eq!(place.pull(&format!("{host}/{repository}:nested")).unwrap().digest, here.digest);
    let mut last = json!({ "mediaType": INDEX, "digest": by_digest.as_str(), "size": index(INDEX, &both).len() });
    for depth in 0..5 {
        let content = index(INDEX, &[last]);
        let digest = place.registry.push_manifest(&repository, &format!("deep{depth}"), INDEX, &content);
        last = json!({ "mediaType": INDEX, "digest": digest.as_str(), "size": content.len() });
    }
    assert!(matches!(place.pull(&format!("{host}/{repository}:deep4")), Err(PullError::BadImage(_))));
}

#[test]
fn a_password_opens_what_it_is_for() {
    let Some(place) = place() else { return };
    let registry = Registry::start(true).unwrap();
    let name = format!("{}/{}:1", registry.host, unique("secret"));
    let repository = name.split(['/', ':']).nth(2).unwrap();
    registry.push(repository, "1", &[layer("a", b"for those who know")], &json!({}));
    let pull = |settings: RegistrySettings| place.pull_with(&[settings], short(), &name);
    for wrong in [plain(&registry.host), with_password(&registry.host, "guess")] {
        match pull(wrong) {
            Err(PullError::Denied) => {}
            other => panic!("{other:?}"),
        }
    }
    // A password of another registry is not shown here.
    let host = registry.host.split(':').next().unwrap();
    let others = [plain(&registry.host), with_password(host, USER.1), with_password("localhost", USER.1)];
    assert!(matches!(place.pull_with(&others, short(), &name), Err(PullError::Denied)));
    pull(with_password(&registry.host, USER.1)).unwrap();
}

/// A server that wants a token, and one that gives it out. The token is worth so many requests.
fn token_servers(place: &'static Place, worth: u32) -> (Front, Front) {
    let tokens = Front::before(&place.registry.host, |asked| {
        if asked.header("authorization") == Some("Basic c29tZW9uZTpndWVzcw==") {
            return answer("401 Unauthorized", &[], b"");
        }
        let member = asked.header("authorization") == Some("Basic c29tZW9uZTpzM2NyZXQ=");
        let field = if member { "token" } else { "access_token" };
        answer("200 OK", &["content-type: application/json"], json!({ field: "t0ken" }).to_string().as_bytes())
    });
    let (realm, used) = (tokens.host(), AtomicU32::new(0));
    let front = place.front(move |asked| {
        if asked.header("authorization") == Some("Bearer t0ken") && used.fetch_add(1, Ordering::Relaxed) < worth {
            return Act::Pass;
        }
        used.store(0, Ordering::Relaxed);
        let challenge = format!(
            "www-authenticate: Bearer realm=\"http://{realm}/token?a=b\",service=\"the service\",\
             scope=\"repository:other/one:pull,push\""
        );
        answer("401 Unauthorized", &[&challenge], b"{}")
    });
    (front, tokens)
}

#[test]
fn a_token_is_asked_for_and_shown_to_the_registry_alone() {
    let Some(place) = place() else { return };
    let (repository, _) = place.push(&[layer("a", &noise(64)), layer("b", &noise(64))]);
    let (front, tokens) = token_servers(place, 2);
    let name = format!("{}/{repository}:1", front.host());
    let both = |registry: RegistrySettings| [registry, plain(&tokens.host())];
    let is_token = |asked: &Asked| asked.path.starts_with("/token");

    place.pull_with(&both(plain(&front.host())), short(), &name).unwrap();
    assert!(front.count(|asked| asked.header("authorization").is_some()) > 2);
    assert!(tokens.count(is_token) > 1, "it ran out in the middle");
    let asked = tokens.asked();
    // What is asked for is what is needed, whatever the registry would have had asked for.
    let expected = format!("/token?a=b&scope=repository%3A{repository}%3Apull&service=the%20service");
    assert!(asked.iter().all(|asked| asked.path == expected && asked.header("authorization").is_none()), "{asked:?}");

    place.pull_with(&both(with_password(&front.host(), USER.1)), short(), &name).unwrap();
    assert_eq!(tokens.asked().last().unwrap().header("authorization"), Some("Basic c29tZW9uZTpzM2NyZXQ="));
    assert!(front.count(|asked| asked.header("authorization").is_some_and(|shown| shown.starts_with("Basic"))) == 0);

    let other = unique("other");
    place.registry.push(&other, "1", &[layer("a", &noise(64))], &json!({}));
    let other = format!("{}/{other}:1", front.host());
    let denied = place.pull_with(&both(with_password(&front.host(), "guess")), short(), &other);
    assert!(matches!(denied, Err(PullError::Denied)), "{denied:?}");
    // A token server without TLS that nobody allowed.
    let before = tokens.asked().len();
    let refused = place.pull_with(&[with_password(&front.host(), USER.1)], short(), &other);
    assert!(matches!(refused, Err(PullError::Unreachable(_))), "{refused:?}");
    assert_eq!(tokens.asked().len(), before, "it was called all the same");
}

#[test]
fn a_token_that_is_never_good_enough_is_not_asked_for_for_ever() {
    let Some(place) = place() else { return };
    let (repository, _) = place.push(&[layer("a", &noise(64))]);
    let (front, tokens) = token_servers(place, 0);
    let registries = [plain(&front.host()), plain(&tokens.host())];
    let denied = place.pull_with(&registries, short(), &format!("{}/{repository}:1", front.host()));
    assert!(matches!(denied, Err(PullError::Denied)), "{denied:?}");
    assert_eq!((front.asked().len(), tokens.asked().len()), (2, 1));
}

#[test]
fn a_redirect_is_followed_without_the_credential() {
    let Some(place) = place() else { return };
    let elsewhere = Front::on("127.0.0.2", &place.registry.host, |_| Act::Pass);
    let (repository, pushed) = place.push(&[layer("a", &noise(5000))]);
    let to = elsewhere.host();
    let front = place.front(move |asked| {
        if asked.header("authorization").is_none() {
            return answer("401 Unauthorized", &["www-authenticate: Basic realm=x"], b"");
        }
        match asked.is_blob() {
            true => answer("307 Temporary Redirect", &[&format!("location: http://{to}{}", asked.path)], b""),
            false => Act::Pass,
        }
    });
    let name = format!("{}/{repository}:1", front.host());
    let own = with_password(&front.host(), USER.1);
    // Where it leads must be allowed, too.
    let refused = place.pull_with(std::slice::from_ref(&own), short(), &name);
    assert!(matches!(refused, Err(PullError::Unreachable(_))), "{refused:?}");
    assert_eq!(elsewhere.asked().len(), 0);
    let image = place.pull_with(&[own, plain(&elsewhere.host())], short(), &name).unwrap();
    assert_eq!(image.digest, pushed.digest);
    assert_eq!(elsewhere.count(Asked::is_blob), 2);
    assert!(elsewhere.asked().iter().all(|asked| asked.header("authorization").is_none()));
    assert!(front.count(|asked| asked.header("authorization").is_some()) >= 3);
}

#[test]
fn a_connection_that_breaks_is_taken_up_where_it_broke() {
    let Some(place) = place() else { return };
    let (repository, pushed) = place.push(&[layer("a", &noise(100_000))]);
    let size = layer("a", &noise(100_000)).0.len();
    let of_layer = |asked: &Asked, config: &str| asked.is_blob() && !asked.path.contains(config);
    let manifest: Value = serde_json::from_slice(&pushed.manifest).unwrap();
    let config = manifest["config"]["digest"].as_str().unwrap().to_owned();
    let rule = config.clone();
    let front = place.front(move |asked| if of_layer(asked, &rule) { Act::Cut(30_000) } else { Act::Pass });
    let image = place.pull(&format!("{}/{repository}:1", front.host())).unwrap();
    assert_eq!(image.digest, pushed.digest);
    let ranges: Vec<_> = front.asked().into_iter().filter(|asked| of_layer(asked, &config)).collect();
    let ranges: Vec<_> = ranges.iter().map(|asked| asked.header("range").unwrap_or("whole").to_owned()).collect();
    let expected: Vec<String> = (0..size.div_ceil(30_000))
        .map(|part| if part == 0 { "whole".into() } else { format!("bytes={}-", part * 30_000) })
        .collect();
    assert_eq!(ranges, expected, "nothing came twice");
}

#[test]
fn where_parts_are_not_known_a_layer_is_fetched_from_its_beginning() {
    let Some(place) = place() else { return };
    let (repository, pushed) = place.push(&[layer("a", &noise(100_000))]);
    let front = place.front(|asked| match (asked.is_blob(), asked.header("range")) {
        (true, None) => Act::Cut(30_000),
        _ => Act::PassWhole,
    });
    assert_eq!(place.pull(&format!("{}/{repository}:1", front.host())).unwrap().digest, pushed.digest);
}

#[test]
fn a_pull_that_is_called_off_ends_at_once() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(2000))];
    let (repository, _) = place.push(&layers);
    let front = place.front(|asked| if asked.is_blob() { Act::Drip } else { Act::Pass });
    let (puller, directory) = place.puller(&[plain(&front.host())], PullLimits::default());
    let reference = Reference::parse(&format!("{}/{repository}:1", front.host())).unwrap();
    let cancelled = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pull = scope.spawn(|| puller.pull(&place.runner.runner, &reference, &cancelled, &|_| {}));
        std::thread::sleep(Duration::from_millis(300));
        cancelled.store(true, Ordering::Relaxed);
        let called_off = Instant::now();
        let ended = pull.join().unwrap();
        assert!(matches!(ended, Err(PullError::Cancelled)), "{ended:?}");
        assert!(called_off.elapsed() < Duration::from_secs(1));
    });
    assert_empty(&directory);
    place.assert_nothing_of(&layers);
}
