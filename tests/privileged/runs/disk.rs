//! Runs where the runner's disk is short: they wait for room, images that nobody uses go, and quotas bound what pulls
//! bring.

use serde_json::{Value, json};

use super::{House, Tenant, script, script_with, wait_until};
use crate::containers::TestRunner;
use crate::loop_disk::{Ballast, LoopDisk};
use crate::pulls::registry::Registry;
use crate::support::appliance::say_skipped;
use crate::tarball::Tarball;

const RESERVE: &str = "[storage]\ndisk_reserve_mb = 16\n";

fn is_blocked_by_disk(tenant: &Tenant, id: &str) -> bool {
    let run = tenant.get(id);
    (&run["state"], &run["scheduling_info"]["blocked_by"]) == (&json!("scheduled"), &json!("disk"))
}

#[test]
fn runs_that_fill_their_layers_wait_for_one_another_and_all_end_well() {
    let Some(disk) = LoopDisk::make(256) else { return };
    let Some(runner) = TestRunner::make_on(&disk) else { return };
    let house = House::on(runner, &[("WORKERS", "8")], Some(RESERVE.into()), false);
    let tenants = [house.tenant(), house.tenant()];
    // All that it may, but for what the file system keeps of it for itself.
    let fill = "trap 'exit 0' TERM; dd if=/dev/zero of=/big bs=1048576 count=52 conv=fsync && echo full
        while :; do sleep 0.1; done";
    let ids: Vec<(&Tenant, String)> =
        tenants.iter().cycle().take(4).map(|tenant| (tenant, tenant.submit(&script(fill)))).collect();
    let running = || ids.iter().filter(|(tenant, id)| tenant.get(id)["state"] == "running").count();
    let waiting = || ids.iter().filter(|(tenant, id)| is_blocked_by_disk(tenant, id)).count();
    wait_until("two find room and two wait", || running() == 2 && waiting() == 2);
    let short = house.appliance().cli_json(&["status"])["workers"]["disk"].clone();
    assert_eq!(short, "short");
    let (mut left, mut attempts) = (ids.iter().collect::<Vec<_>>(), 0);
    while !left.is_empty() {
        attempts += 1;
        assert!(attempts < 10, "they do not end");
        wait_until("one has written all", || {
            left.iter().any(|(tenant, id)| tenant.get(id)["state"] == "running" && tenant.lines(id) == ["full"])
        });
        left.retain(|(tenant, id)| {
            let is_full = tenant.get(id)["state"] == "running" && tenant.lines(id) == ["full"];
            if is_full {
                assert_eq!(tenant.control(id, "stop").status, 204);
                let run = tenant.wait(id);
                assert_eq!((&run["state"], &run["attempt"]), (&json!("exited"), &json!(1)), "{run}");
            }
            !is_full
        });
    }
    house.assert_clean();
}

#[test]
fn a_run_without_room_waits_until_there_is_some_or_its_time_is_over() {
    let Some(disk) = LoopDisk::make(256) else { return };
    let Some(runner) = TestRunner::make_on(&disk) else { return };
    let house = House::on(runner, &[("WORKERS", "8")], Some(RESERVE.into()), false);
    let (tenant, hasty) = (house.tenant(), house.tenant());
    let ballast = Ballast::new(&disk);
    ballast.leave(64 << 20);
    let id = tenant.submit(&script("echo done"));
    wait_until("it waits for the disk", || is_blocked_by_disk(&tenant, &id));
    let soon = super::slots::jiff_in(std::time::Duration::from_millis(500));
    let late = hasty.submit(&script_with("true", json!({"expires_at": soon})));
    assert_eq!(hasty.wait(&late)["reason"], "expired", "whoever waits for the disk waits as others do");
    assert!(is_blocked_by_disk(&tenant, &id));
    ballast.release();
    assert_eq!(tenant.wait(&id)["state"], "exited");
    // It was tried when there was no room, and when there was: not over and over in between.
    let number = tenant.client.get(&format!("/api/v1/runs/{id}")).expect(200)["attempt"].clone();
    assert_eq!(number, 1);
    wait_until("the disk is ample", || house.appliance().cli_json(&["status"])["workers"]["disk"] == "ample");
    house.assert_clean();
}

/// A registry with images of a layer of so many MiB that does not compress, beside one that all of them have.
struct Images {
    registry: Registry,
    busybox: Vec<u8>,
}

impl Images {
    fn make() -> Option<Images> {
        let registry = Registry::start(false).map_err(|reason| say_skipped(&reason)).ok()?;
        Some(Images { registry, busybox: std::fs::read("/bin/busybox").unwrap() })
    }

    /// Puts one there; its name.
    fn push(&self, name: &str, mb: usize) -> String {
        let mut random = fastrand::Rng::new();
        let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(mb << 20).collect();
        let base = Tarball::new().directory("bin").file("bin/echo", &self.busybox).finish();
        let own = Tarball::new().file("noise", &noise).finish();
        self.registry.push(
            name,
            "1",
            &[(base.clone(), base), (own.clone(), own)],
            &json!({"Entrypoint": ["/bin/echo"]}),
        );
        format!("{}/{name}:1", self.registry.host)
    }

    fn configuration(&self) -> String {
        let host = &self.registry.host;
        format!(
            "{RESERVE}[egress]\nallow_private = [\"127.0.0.0/8\"]\n[runs.registries.\"{host}\"]\nplain_http = true\n"
        )
    }
}

fn echo(image: &str) -> Value {
    json!({"image": image, "command": ["hello"], "memory_limit_mb": 64})
}

#[test]
fn a_tenants_images_take_what_its_quota_gives() {
    let Some(images) = Images::make() else { return };
    let Some(house) = House::start_with(&[], Some(images.configuration())) else { return };
    let (first, second) = (images.push("first", 3), images.push("second", 4));
    let (tenant_id, other) = (house.appliance().tenant(), house.tenant());
    let tenant = house.tenant_of(&tenant_id);
    let quota = |mb: &str| {
        house.appliance().cli_json(&["tenant", "quota", &tenant_id, "--service", "runs", "--max-image-mb", mb]);
    };
    let is_here = |name: &str| house.runner.runner.image(name).unwrap().is_some();
    // The base is busybox of two MiB or so: the first fits, the second does not beside it.
    quota("8");
    assert_eq!(tenant.wait(&tenant.submit(&echo(&first)))["state"], "exited");
    let refused = || {
        let run = tenant.wait(&tenant.submit(&echo(&second)));
        assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_pull_failed")), "{run}");
        let message = run["message"].as_str().unwrap();
        assert!(message.contains("max_image_mb") && message.contains("of 8 MiB"), "{message}");
    };
    refused();
    assert!(!is_here(&second), "nothing of it is left");
    let told = tenant.client.get("/api/v1/usage").expect(200)["usage"].clone();
    let told = told.as_array().unwrap().iter().find(|policy| policy["policy"] == "image_mb").unwrap().clone();
    assert_eq!((&told["limit"], &told["resets_at"]), (&json!(8), &Value::Null), "{told}");
    assert!((4..=7).contains(&told["used"].as_u64().unwrap()), "{told}");
    // Another tenant has room of its own for it. That it is here then helps nobody who has none.
    assert_eq!(other.wait(&other.submit(&echo(&second)))["state"], "exited");
    refused();
    assert!(is_here(&second), "it is somebody's");
    assert_eq!(
        tenant.wait(&tenant.submit(&script("true")))["state"],
        "exited",
        "an operator's image counts for nobody"
    );
    quota("12");
    assert_eq!(tenant.wait(&tenant.submit(&echo(&second)))["state"], "exited", "the base counts once");
    // What an operator removes counts no more.
    house.runner.runner.remove_image(&first).unwrap();
    house.runner.runner.remove_image(&second).unwrap();
    quota("8");
    assert_eq!(tenant.wait(&tenant.submit(&echo(&second)))["state"], "exited");
    house.assert_clean();
}

#[test]
fn images_that_no_run_uses_make_room_and_are_pulled_again() {
    let Some(images) = Images::make() else { return };
    let Some(disk) = LoopDisk::make(384) else { return };
    let Some(runner) = TestRunner::make_on(&disk) else { return };
    let house = House::on(runner, &[("WORKERS", "8")], Some(images.configuration()), true);
    let (unused, wanted) = (images.push("unused", 30), images.push("wanted", 10));
    let tenant = house.tenant();
    for image in [&unused, &wanted] {
        assert_eq!(tenant.wait(&tenant.submit(&echo(image)))["state"], "exited");
    }
    let names = || {
        let images = house.runner.runner.images().unwrap().into_iter();
        let mut names: Vec<String> = images.flat_map(|image| image.names).collect();
        names.sort();
        names
    };
    let mut all = vec!["busybox:test".to_owned(), unused.clone(), wanted.clone()];
    all.sort();
    let ballast = Ballast::new(&disk);
    // For three weeks they stay, whatever waits.
    house.appliance().cli_json(&["clock", "advance", &(21 * 86_400).to_string()]);
    ballast.leave(90 << 20);
    let waits = tenant.submit(&script("true"));
    wait_until("it waits for the disk", || is_blocked_by_disk(&tenant, &waits));
    assert_eq!(names(), all);
    ballast.release();
    assert_eq!(tenant.wait(&waits)["state"], "exited");
    // After five, what was pulled and is not wanted goes; what an operator has imported does not.
    let later = "2999-01-01T00:00:00Z";
    let deferred = echo(&wanted).as_object().unwrap().clone();
    let mut deferred = Value::Object(deferred);
    deferred["scheduled_start"] = json!(later);
    tenant.submit(&deferred);
    house.appliance().cli_json(&["clock", "advance", &(14 * 86_400).to_string()]);
    house.runner.runner.remove_image("none:1").unwrap_err();
    ballast.leave(90 << 20);
    let starts = tenant.submit(&script("true"));
    wait_until("it has made room", || names().len() == 2);
    assert!(names().contains(&wanted) && names().contains(&"busybox:test".to_owned()), "{:?}", names());
    assert_eq!(tenant.wait(&starts)["state"], "exited");
    ballast.release();
    let again = tenant.submit(&echo(&unused));
    assert_eq!(tenant.wait(&again)["state"], "exited");
    assert_eq!(names(), all);
}
