//! Bundles for other runtimes, and the ground on which they run.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// What a shell in a mount namespace of its own does before `crun` starts there: Debian's refuses hosts whose controllers
/// sit in version 1 of control groups, so it sees version 2 alone, with a group for the container but without limits.
pub fn crun_ground() -> &'static str {
    match Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        true => "true",
        false => "mount --make-rprivate / && umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup",
    }
}

/// What the program itself writes, with `true` as the command, on this root.
pub fn bundle_at(program: &str, bundle: &Path, root: &Path, change: impl FnOnce(&mut Value)) -> Result<(), String> {
    std::fs::create_dir(bundle).unwrap();
    let specified = Command::new(program).arg("spec").current_dir(bundle).status();
    if !specified.as_ref().is_ok_and(std::process::ExitStatus::success) {
        return Err(format!("{program} is not there or writes no description"));
    }
    let file = bundle.join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["process"]["terminal"] = json!(false);
    config["process"]["args"] = json!(["/bin/true"]);
    config["root"] = json!({ "path": root, "readonly": true });
    // What limits which devices it may open needs a privilege that root of a virtual machine may lack.
    config["linux"].as_object_mut().unwrap().remove("resources");
    change(&mut config);
    std::fs::write(file, config.to_string()).unwrap();
    Ok(())
}
