//! Runs of images that are not here yet: pulled from Debian's `docker-registry` on loopback.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{House, Tenant, script, shared, wait_until};
use crate::pulls::front::{Act, Front};
use crate::pulls::registry::Registry;
use crate::support::appliance::say_skipped;
use crate::tarball::Tarball;

/// A registry with `tools/echo:1`, and an appliance with these variables before which a server of this rule stands.
fn place(
    environment: &[(&str, &str)],
    rule: impl Fn(&str) -> Act + Send + Sync + 'static,
) -> Option<(Registry, Front, House)> {
    // Whatever is missing is said once.
    shared()?;
    let registry = Registry::start(false).map_err(|reason| say_skipped(&reason)).ok()?;
    let busybox = std::fs::read("/bin/busybox").unwrap();
    let layer = Tarball::new().directory("bin").file("bin/echo", &busybox).finish();
    let execution = json!({"Entrypoint": ["/bin/echo"], "Cmd": ["nothing", "said"]});
    registry.push("tools/echo", "1", &[(layer.clone(), layer)], &execution);
    let front = Front::before(&registry.host, move |asked| rule(&asked.path));
    let host = front.host();
    let configuration =
        format!("[egress]\nallow_private = [\"127.0.0.0/8\"]\n[runs.registries.\"{host}\"]\nplain_http = true\n");
    let house = House::start_with(environment, Some(configuration))?;
    Some((registry, front, house))
}

fn of_image(image: &str) -> Value {
    json!({"image": image, "memory_limit_mb": 64})
}

#[test]
fn an_image_that_is_not_here_is_pulled_once_and_run() {
    let slowly = |path: &str| {
        if path.contains("/manifests/") {
            std::thread::sleep(Duration::from_millis(300));
        }
        Act::Pass
    };
    let Some((registry, front, house)) = place(&[], slowly) else { return };
    let tenants = [house.tenant(), house.tenant()];
    let image = format!("{}/tools/echo:1", front.host());
    let ids: Vec<(&Tenant, String)> =
        (0..6).map(|number| &tenants[number % 2]).map(|tenant| (tenant, tenant.submit(&of_image(&image)))).collect();
    for (tenant, id) in &ids {
        let run = tenant.wait(id);
        assert_eq!(run["state"], "exited", "{run}");
        assert_eq!(tenant.lines(id), ["nothing said"]);
    }
    assert_eq!(front.count(|asked| asked.path.ends_with("/manifests/1")), 1, "one pull for all");
    assert_eq!(house.runner.runner.images().unwrap().iter().filter(|known| known.names.contains(&image)).count(), 1);
    let tenant = &tenants[0];
    let run = tenant.wait(&tenant.submit(&of_image(&format!("{}/tools/echo:2", front.host()))));
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_not_found")), "{run}");
    drop(registry);
    let run = tenant.wait(&tenant.submit(&of_image(&format!("{}/tools/echo:3", front.host()))));
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_pull_failed")), "{run}");
    let again = tenant.submit(&of_image(&image));
    assert_eq!(tenant.wait(&again)["state"], "exited", "it is here: nobody is asked");
    house.assert_clean();
}

#[test]
fn a_registry_that_hangs_holds_up_its_own_pulls_alone() {
    let rule = |path: &str| if path.contains("/slow/") { Act::Stall } else { Act::Pass };
    let Some((_registry, front, mut house)) = place(&[("WORKERS", "2")], rule) else { return };
    let (hurt, other) = (house.tenant(), house.tenant());
    let slow = |number: usize| of_image(&format!("{}/slow/image{number}:1", front.host()));
    // Each may be asked for several times, if all this takes long.
    let asked = || {
        let paths = front.asked().into_iter().map(|asked| asked.path).filter(|path| path.contains("/slow/"));
        paths.collect::<BTreeSet<String>>().len()
    };
    let ids: Vec<String> = (0..4).map(|number| hurt.submit(&slow(number))).collect();
    for id in &ids {
        hurt.until(id, "pulling");
    }
    wait_until("two are asked for", || asked() == 2);
    let workers = || house.appliance().stranger("runs").get("/health").expect(200)["workers"].clone();
    wait_until("they hold no worker", || workers() == json!({"total": 2, "busy": 0}));
    // Others pull, and images that are here start, the tenant's own as well.
    assert_eq!(other.wait(&other.submit(&of_image(&format!("{}/tools/echo:1", front.host()))))["state"], "exited");
    for tenant in [&other, &hurt] {
        assert_eq!(tenant.wait(&tenant.submit(&script("true")))["state"], "exited");
    }
    assert_eq!(asked(), 2, "two at a time");

    // Its owner can have it end, and then delete it.
    let path = format!("/api/v1/runs/{}", ids[0]);
    assert_eq!(hurt.client.send("DELETE", &path, &[], b"").expect(409)["code"], "run_active");
    assert_eq!(hurt.control(&ids[0], "stop").expect(409)["code"], "invalid_state");
    assert_eq!(hurt.control(&ids[0], "kill").status, 204);
    let run = hurt.get(&ids[0]);
    assert_eq!((&run["state"], &run["reason"]), (&json!("killed"), &json!("killed")), "{run}");
    assert_eq!(run["started_at"], json!(null));
    assert_eq!(hurt.control(&ids[0], "kill").expect(409)["code"], "invalid_state");
    assert_eq!(hurt.client.send("DELETE", &path, &[], b"").status, 200);
    wait_until("the next one's turn has come", || asked() == 3);

    // A pull that two wait for goes on for the one that is left.
    let joined = other.submit(&slow(1));
    other.until(&joined, "pulling");
    wait_until("it waits, too", || workers() == json!({"total": 2, "busy": 0}));
    std::thread::sleep(Duration::from_millis(200));
    for id in ids[1..].iter().rev() {
        assert_eq!(hurt.control(id, "kill").status, 204);
    }
    wait_until("only the joined one is left", || staged(&house) == 1);
    assert_eq!((other.get(&joined)["state"].clone(), asked()), (json!("pulling"), 3));

    // After a restart it waits again.
    let of_joined = || front.count(|asked| asked.path.contains("/slow/image1/"));
    let before = of_joined();
    house.kill_server();
    house.serve();
    let other = house.again(&other);
    other.until(&joined, "pulling");
    wait_until("it is asked for again", || of_joined() > before);
    assert_eq!(other.control(&joined, "kill").status, 204);
    assert_eq!(other.get(&joined)["state"], "killed");
    wait_until("nothing of the pulls is left", || staged(&house) == 0);
    house.assert_clean();
}

/// A pull that is called off takes away what it has brought, not what others have brought while it waited for its turn.
#[test]
fn a_pull_that_is_called_off_leaves_what_others_have_brought() {
    let rule = |path: &str| if path.contains("/slow/") { Act::Stall } else { Act::Pass };
    let Some((_registry, front, house)) = place(&[("WORKERS", "4")], rule) else { return };
    let (hasty, other) = (house.tenant(), house.tenant());
    let image = format!("{}/tools/echo:1", front.host());
    let slow: Vec<String> =
        (0..2).map(|number| hasty.submit(&of_image(&format!("{}/slow/image{number}:1", front.host())))).collect();
    wait_until("it has its two pulls", || staged(&house) == 2);
    let third = hasty.submit(&of_image(&image));
    hasty.until(&third, "pulling");
    assert_eq!(other.wait(&other.submit(&of_image(&image)))["state"], "exited");
    // Its turn comes while the runner does not say whether the image is there.
    let pid: i32 = std::fs::read_to_string(house.runner.directory.join("pid")).unwrap().parse().unwrap();
    let send = |signal| rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
    send(rustix::process::Signal::STOP);
    hasty.control(&slow[0], "kill");
    wait_until("its turn has come", || staged(&house) == 1);
    std::thread::sleep(Duration::from_millis(200));
    hasty.control(&third, "kill");
    send(rustix::process::Signal::CONT);
    assert_eq!(hasty.wait(&third)["state"], "killed");
    std::thread::sleep(Duration::from_millis(500));
    assert!(house.runner.runner.image(&image).unwrap().is_some(), "it was taken away");
    assert_eq!(hasty.control(&slow[1], "kill").status, 204);
    house.assert_clean();
}

#[test]
fn a_kill_while_it_is_being_started_ends_a_run() {
    let Some(house) = shared() else { return };
    let tenant = house.tenant();
    for _ in 0..5 {
        let id = tenant.submit(&script("sleep 600"));
        // Until it has a slot, a kill is refused.
        wait_until("it is killed", || match tenant.control(&id, "kill") {
            answer if answer.status == 204 => true,
            answer => {
                assert_eq!(answer.expect(409)["code"], "invalid_state");
                false
            }
        });
        assert_eq!(tenant.wait(&id)["state"], "killed");
    }
}

/// How many pulls have something on the disk.
fn staged(house: &House) -> usize {
    std::fs::read_dir(house.data_dir().join("pulls")).unwrap().count()
}
