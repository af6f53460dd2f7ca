//! Runs of images that are not here yet: pulled from Debian's `docker-registry` on loopback.

use serde_json::json;

use super::{House, shared};
use crate::pulls::registry::Registry;
use crate::support::appliance::say_skipped;
use crate::tarball::Tarball;

#[test]
fn an_image_that_is_not_here_is_pulled_once_and_run() {
    if shared().is_none() {
        return;
    }
    let registry = match Registry::start(false) {
        Ok(registry) => registry,
        Err(reason) => return say_skipped(&reason),
    };
    let busybox = std::fs::read("/bin/busybox").unwrap();
    let layer = Tarball::new().directory("bin").file("bin/echo", &busybox).finish();
    let execution = json!({"Entrypoint": ["/bin/echo"], "Cmd": ["nothing", "said"]});
    registry.push("tools/echo", "1", &[(layer.clone(), layer)], &execution);
    let host = registry.host.clone();
    let configuration =
        format!("[egress]\nallow_private = [\"127.0.0.0/8\"]\n[runs.registries.\"{host}\"]\nplain_http = true\n");
    let Some(house) = House::start_with(&[], Some(configuration)) else { return };
    let tenant = house.tenant();
    let image = format!("{host}/tools/echo:1");
    let submit = || tenant.submit(&json!({"image": image, "memory_limit_mb": 64}));
    let ids = [submit(), submit(), submit()];
    for id in &ids {
        let run = tenant.wait(id);
        assert_eq!(run["state"], "exited", "{run}");
        assert_eq!(tenant.lines(id), ["nothing said"]);
    }
    assert_eq!(house.runner.runner.images().unwrap().iter().filter(|known| known.names.contains(&image)).count(), 1);
    let id = tenant.submit(&json!({"image": format!("{host}/tools/echo:2")}));
    let run = tenant.wait(&id);
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_not_found")), "{run}");
    drop(registry);
    let run = tenant.wait(&tenant.submit(&json!({"image": format!("{host}/tools/echo:3")})));
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("image_pull_failed")), "{run}");
    let again = submit();
    assert_eq!(tenant.wait(&again)["state"], "exited", "it is here: nobody is asked");
    house.assert_clean();
}
