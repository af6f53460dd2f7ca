//! Registries that lie, break, stall and flood: each pull fails with its reason, and nothing of it is left.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quintet_platform::egress::Egress;
use quintet_runs::registry::{PullError, PullLimits, Puller, Reference, Registries};
use quintet_runtime::{Digest, Runner, RunnerError};
use serde_json::json;

use super::front::{Act, Asked, answer};
use super::registry::{DOCKER_MANIFEST, MANIFEST};
use super::{layer, noise, place, plain, short, unique};

/// Answers that are not what was asked for.
#[test]
fn what_is_not_what_it_should_be_is_refused() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(2000))];
    let (repository, pushed) = place.push(&layers);
    let blob = Digest::of(&layers[0].0);
    let stored = layers[0].0.clone();
    let with = |mut bytes: Vec<u8>, change: fn(&mut Vec<u8>)| {
        change(&mut bytes);
        bytes
    };
    let ok = |body: Vec<u8>| move || answer("200 OK", &[], &body);
    type Make = Box<dyn Fn() -> Act + Send + Sync>;
    let cases: Vec<(&str, Make)> = vec![
        ("another byte", Box::new(ok(with(stored.clone(), |bytes| bytes[100] ^= 1)))),
        ("one byte less", Box::new(ok(with(stored.clone(), |bytes| bytes.truncate(bytes.len() - 1))))),
        ("one byte more", Box::new(ok(with(stored.clone(), |bytes| bytes.push(0))))),
        ("nothing", Box::new(ok(Vec::new()))),
        ("no end", Box::new(|| Act::Raw([&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 100_000]].concat()))),
        ("a part that nobody asked for", {
            let part = stored[10..].to_vec();
            Box::new(move || answer("206 Partial Content", &["content-range: bytes 10-99/100"], &part))
        }),
    ];
    for (name, make) in cases {
        let blob = blob.clone();
        let front = place.front(move |asked| if asked.path.ends_with(blob.as_str()) { make() } else { Act::Pass });
        let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
        assert!(matches!(error, PullError::Lies(_)), "{name}: {error:?}");
    }
    // A manifest, by its digest and by what the registry itself says of it.
    let altered = json!({ "schemaVersion": 2 }).to_string().into_bytes();
    let front = place.front(move |asked| if asked.is_manifest() { answer("200 OK", &[], &altered) } else { Act::Pass });
    let error = place.pull_in_vain(&format!("{}/{repository}@{}", front.host(), pushed.digest), &layers);
    assert!(matches!(error, PullError::Lies(_)), "{error:?}");
    let (said, content) = (format!("docker-content-digest: {}", Digest::of(b"another")), pushed.manifest.clone());
    let front =
        place.front(move |asked| if asked.is_manifest() { answer("200 OK", &[&said], &content) } else { Act::Pass });
    let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
    assert!(matches!(error, PullError::Lies(_)), "{error:?}");
    // The configuration.
    let layer_blob = blob.clone();
    let front = place.front(move |asked| match asked.is_blob() && !asked.path.ends_with(layer_blob.as_str()) {
        true => answer("200 OK", &[], b"{}"),
        false => Act::Pass,
    });
    let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
    assert!(matches!(error, PullError::Lies(_)), "{error:?}");
}

#[test]
fn images_that_cannot_be_used_are_refused_before_they_are_fetched() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(64))];
    let (repository, pushed) = place.push(&layers);
    let manifest: serde_json::Value = serde_json::from_slice(&pushed.manifest).unwrap();
    let listed = manifest["layers"][0].clone();
    let sized = |size: u64| {
        let mut listed = listed.clone();
        listed["size"] = json!(size);
        listed
    };
    let changed = |key: &str, value: serde_json::Value| {
        let mut changed = manifest.clone();
        changed[key] = value;
        changed.to_string().into_bytes()
    };
    for (name, kind, content) in [
        ("too long", MANIFEST, changed("note", json!("x".repeat(5 << 20)))),
        ("no layers", MANIFEST, changed("layers", json!([]))),
        ("too many layers", MANIFEST, changed("layers", json!(vec![listed.clone(); 128]))),
        ("too large", MANIFEST, changed("layers", json!([sized(17 << 30)]))),
        ("larger than there are numbers", MANIFEST, changed("layers", json!([sized(u64::MAX), sized(u64::MAX)]))),
        ("a huge configuration", MANIFEST, {
            let mut config = manifest["config"].clone();
            config["size"] = json!(5 << 20);
            changed("config", config)
        }),
        ("an old kind", "application/vnd.docker.distribution.manifest.v1+json", changed("schemaVersion", json!(1))),
        ("two kinds at once", MANIFEST, changed("manifests", json!([]))),
        ("another kind", DOCKER_MANIFEST, changed("mediaType", json!(MANIFEST))),
        ("another algorithm", MANIFEST, {
            let mut listed = listed.clone();
            listed["digest"] = json!(format!("sha512:{}", "a".repeat(128)));
            changed("layers", json!([listed]))
        }),
        ("a way out", MANIFEST, {
            let mut listed = listed.clone();
            listed["digest"] = json!("sha256:../../../../etc/passwd");
            changed("layers", json!([listed]))
        }),
        ("no JSON", MANIFEST, b"<html>".to_vec()),
    ] {
        let kind = format!("content-type: {kind}");
        let front = place.front(move |asked| match asked.is_manifest() {
            true => answer("200 OK", &[&kind], &content),
            false => Act::Pass,
        });
        let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
        assert!(matches!(error, PullError::BadImage(_)), "{name}: {error:?}");
        assert_eq!(front.count(Asked::is_blob), 0, "{name}");
    }
    // The disk would not hold it.
    let limits = PullLimits { disk_reserve_bytes: u64::MAX, ..short() };
    let host = &place.registry.host;
    let full = place.pull_with(&[plain(host)], limits, &format!("{host}/{repository}:1"));
    assert!(matches!(full, Err(PullError::NoRoom)), "{full:?}");
    place.assert_nothing_of(&layers);
}

#[test]
fn an_image_whose_parts_do_not_belong_together_is_refused() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(64))];
    let (repository, pushed) = place.push(&layers);
    let manifest: serde_json::Value = serde_json::from_slice(&pushed.manifest).unwrap();
    let front = place.front(|asked| if asked.is_blob() { answer("404 Not Found", &[], b"") } else { Act::Pass });
    let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
    assert!(matches!(&error, PullError::BadImage(reason) if reason.contains("lacks")), "{error:?}");
    // The configuration promises another layer than the manifest brings.
    let config = json!({
        "architecture": "amd64", "os": "linux",
        "rootfs": { "type": "layers", "diff_ids": [Digest::of(b"another").as_str()] },
    });
    let config = config.to_string().into_bytes();
    let digest = place.registry.push_blob(&repository, &config);
    let mut lying = manifest.clone();
    lying["config"] =
        json!({ "mediaType": manifest["config"]["mediaType"], "digest": digest.as_str(), "size": config.len() });
    place.registry.push_manifest(&repository, "lying", MANIFEST, lying.to_string().as_bytes());
    let error = place.pull_in_vain(&format!("{}/{repository}:lying", place.registry.host), &layers);
    assert!(matches!(error, PullError::BadImage(_)), "{error:?}");
    // A layer that would climb out.
    let outward = [layer("../../../../out", b"x")];
    let (repository, _) = place.push(&outward);
    let error = place.pull_in_vain(&format!("{}/{repository}:1", place.registry.host), &outward);
    assert!(matches!(&error, PullError::BadImage(reason) if reason.contains("climbs")), "{error:?}");
}

#[test]
fn addresses_that_are_not_allowed_are_not_called() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(64))];
    let (repository, _) = place.push(&layers);
    let front = place.front(|_| Act::Pass);
    let reference = Reference::parse(&format!("{}/{repository}:1", front.host())).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let settings = [plain(&front.host())];
    for (allows, settings) in [(false, &settings[..]), (true, &[])] {
        let egress = Egress::new(move |_| allows);
        let registries = Registries::new(settings).unwrap();
        let puller = Puller::new(egress, registries, &directory.path().join("pulls"), short()).unwrap();
        let refused = puller.pull(&place.runner.runner, &reference, &false.into(), &|_| {});
        match refused {
            // TLS is tried, and is not spoken there.
            Err(PullError::Unreachable(_)) if allows => {}
            Err(PullError::Unreachable(reason)) => assert!(reason.contains("allow_private"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(front.count(Asked::is_manifest), 0);
    place.assert_nothing_of(&layers);
}

#[test]
fn a_redirect_does_not_lead_just_anywhere() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(64))];
    let (repository, _) = place.push(&layers);
    for location in ["/v2/again", "ftp://127.0.0.1/x", "http://a@127.0.0.1/x", "http://127.0.0.1:1/x", "x", "http://"] {
        let line = format!("location: {location}");
        let front = place.front(move |asked| match asked.is_manifest() || asked.path == "/v2/again" {
            true => answer("302 Found", &[&line], b""),
            false => Act::Pass,
        });
        let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
        assert!(matches!(error, PullError::Unreachable(_)), "{location}: {error:?}");
        assert!(front.asked().len() <= 7, "{location}: {}", front.asked().len());
    }
    // Elsewhere nobody is shown a password, however it is asked for.
    let elsewhere = place.front(|_| answer("401 Unauthorized", &["www-authenticate: Basic realm=x"], b""));
    let line = format!("location: http://{}/x", elsewhere.host());
    let front = place.front(move |_| answer("302 Found", &[&line], b""));
    let settings = [super::with_password(&front.host(), "s3cret"), super::with_password(&elsewhere.host(), "other")];
    let denied = place.pull_with(&settings, short(), &format!("{}/{repository}:1", front.host()));
    assert!(matches!(denied, Err(PullError::Denied)), "{denied:?}");
    assert_eq!(elsewhere.count(|asked| asked.header("authorization").is_some()), 0);
}

#[test]
fn a_registry_that_is_ill_is_asked_again_but_not_for_ever() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(64))];
    let (repository, pushed) = place.push(&layers);
    let count = AtomicU32::new(0);
    let front = place.front(move |_| match count.fetch_add(1, Ordering::Relaxed) % 2 {
        0 => answer("503 Service Unavailable", &[], b""),
        _ => Act::Pass,
    });
    assert_eq!(place.pull(&format!("{}/{repository}:1", front.host())).unwrap().digest, pushed.digest);
    let layers = [layer("a", &noise(64))];
    let (repository, _) = place.push(&layers);
    for (name, act) in [
        ("too many requests", (|_| answer("429 Too Many Requests", &[], b"")) as fn(&Asked) -> Act),
        ("a teapot", |_| answer("418 I'm a teapot", &[], b"")),
        ("cut at once", |_| Act::Raw(Vec::new())),
        ("nonsense", |_| Act::Raw(b"hello\r\n\r\n".to_vec())),
        ("layers cut at once", |asked| if asked.is_blob() { Act::Cut(0) } else { Act::Pass }),
        ("no password is asked for", |_| answer("401 Unauthorized", &["www-authenticate: Digest x=y"], b"")),
    ] {
        let front = place.front(act);
        let error = place.pull_in_vain(&format!("{}/{repository}:1", front.host()), &layers);
        let is_expected = match name {
            "no password is asked for" => matches!(error, PullError::Denied),
            _ => matches!(error, PullError::Unreachable(_)),
        };
        assert!(is_expected, "{name}: {error:?}");
        assert!(front.asked().len() <= 6, "{name}: {} requests", front.asked().len());
    }
    // An address of its own, for the port would be given to the next who asks for one.
    let nobody = std::net::TcpListener::bind("127.0.0.9:0").unwrap().local_addr().unwrap();
    let error = place.pull_in_vain(&format!("{nobody}/{repository}:1"), &layers);
    assert!(matches!(error, PullError::Unreachable(_)), "{error:?}");
}

#[test]
fn a_registry_that_is_slow_is_not_waited_for() {
    let Some(place) = place() else { return };
    let layers = [layer("a", &noise(64))];
    let (repository, _) = place.push(&layers);
    let stalling = place.front(|asked| if asked.is_blob() { Act::Stall } else { Act::Pass });
    let began = Instant::now();
    let error = place.pull_in_vain(&format!("{}/{repository}:1", stalling.host()), &layers);
    assert!(matches!(error, PullError::Unreachable(_)), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // A byte now and then is an answer, but there is an end to it.
    let dripping = place.front(|asked| if asked.is_blob() { Act::Drip } else { Act::Pass });
    let limits = PullLimits { time: Duration::from_secs(1), ..short() };
    let began = Instant::now();
    let name = format!("{}/{repository}:1", dripping.host());
    let late = place.pull_with(&[plain(&dripping.host())], limits, &name);
    assert!(matches!(late, Err(PullError::TooLong)), "{late:?}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    place.assert_nothing_of(&layers);
}

#[test]
fn without_a_runner_nothing_is_left_either() {
    let Some(place) = place() else { return };
    let (repository, _) = place.push(&[layer("a", &noise(64))]);
    let (puller, directory) = place.puller(&[plain(&place.registry.host)], short());
    let reference = Reference::parse(&format!("{}/{repository}:1", place.registry.host)).unwrap();
    let gone = Runner::new(directory.join(unique("no-socket")));
    let failed = puller.pull(&gone, &reference, &false.into(), &|_| {});
    assert!(matches!(failed, Err(PullError::Runner(RunnerError::Unavailable { .. }))), "{failed:?}");
    super::assert_empty(&directory);
    // What a process that was killed has left goes when the next one starts.
    std::fs::write(directory.join("left"), "x").unwrap();
    let (egress, registries) = (Egress::new(|_| false), Registries::default());
    Puller::new(egress, registries, &directory, short()).unwrap();
    super::assert_empty(&directory);
}
