//! `quintet image`, as people use it.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::front::{Act, Asked};
use super::{layer, noise, place};
use crate::support::appliance::{quintet, stderr, stdout};

fn image(arguments: &[&str], config: &Path) -> Output {
    let mut command = quintet();
    command.arg("image").args(arguments).arg("--config").arg(config).env_remove("QUINTET_RUNS__RUNNER_SOCKET");
    command.output().unwrap()
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn images_are_pulled_listed_removed_and_pruned() {
    let Some(place) = place() else { return };
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("quintet.toml");
    let front =
        place.front(|asked| if asked.path.contains("denied") { super::answer("403 x", &[], b"") } else { Act::Pass });
    let host = front.host();
    let text = format!(
        "data_dir = {:?}\n[runs]\nrunner_socket = {:?}\n[runs.registries.{host:?}]\nplain_http = true\n\
         [egress]\nallow_private = [\"127.0.0.0/8\"]\n",
        directory.path().join("data"),
        place.runner.runner.socket(),
    );
    std::fs::write(&config, text).unwrap();
    let (repository, pushed) = place.push(&[layer("a", &noise(3000))]);
    let name = format!("{host}/{repository}:1");

    let pulled = image(&["pull", &name], &config);
    assert!(stdout(&pulled).starts_with(pushed.digest.as_str()), "{}", stderr(&pulled));
    assert!(stderr(&pulled).contains("unpacking"), "{}", stderr(&pulled));
    let again = image(&["pull", &name, "--json"], &config);
    assert_eq!((json_of(&again)["digest"].as_str(), stderr(&again).as_str()), (Some(pushed.digest.as_str()), ""));
    let listed = stdout(&image(&["list"], &config));
    assert!(listed.lines().any(|line| line.contains(&name) && line.contains(pushed.digest.as_str())), "{listed}");
    let items = json_of(&image(&["list", "--json"], &config));
    assert!(items["items"].as_array().unwrap().iter().any(|item| item["names"] == json!([name])), "{items}");

    // A newer image takes the name; the older one is pruned.
    place.registry.push(&repository, "1", &[layer("a", &noise(4000))], &json!({}));
    let newer = json_of(&image(&["pull", &name, "--json"], &config));
    let pruned = json_of(&image(&["prune", "--json"], &config));
    assert!(pruned["images"].as_array().unwrap().contains(&json!(pushed.digest.as_str())), "{pruned}");
    assert!(pruned["bytes"].as_u64().unwrap() >= 3000, "{pruned}");
    assert!(stdout(&image(&["prune"], &config)).contains("freed"));
    assert_eq!(stdout(&image(&["remove", &name], &config)).trim(), format!("removed {name}"));
    assert_eq!(place.runner.runner.image(newer["digest"].as_str().unwrap()).unwrap(), None);

    for (arguments, code, reason, hint) in [
        (&["pull", "Not A Name"][..], 2, "repository", ""),
        (&["pull", &format!("{host}/{repository}:other")], 1, "no such image", "the tag"),
        (&["pull", &format!("{host}/denied")], 1, "denies", "runs.registries"),
        (&["pull", "127.0.0.1:1/x"], 1, "cannot be reached", "allow_private"),
        (&["pull", "10.0.0.1/x"], 1, "allow_private", "plain_http"),
        (&["pull", &name, "--socket", "/nowhere"], 1, "does not answer", "--socket"),
        (&["remove", &name], 1, "no such image", "image list"),
        (&["import", "/nowhere", "--name", "x"], 1, "No such file", ""),
        (&["import", config.to_str().unwrap(), "--name", "x"], 1, "damaged", ""),
    ] {
        let output = image(arguments, &config);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(reason) && said.contains(hint), "{arguments:?}: {said}");
    }
}

#[test]
fn a_pull_that_is_interrupted_leaves_nothing() {
    let Some(place) = place() else { return };
    let directory = tempfile::tempdir().unwrap();
    let front = place.front(|asked: &Asked| if asked.is_blob() { Act::Drip } else { Act::Pass });
    let (repository, _) = place.push(&[layer("a", &noise(3000))]);
    let config = directory.path().join("quintet.toml");
    let text = format!(
        "data_dir = {:?}\n[runs.registries.{:?}]\nplain_http = true\n[egress]\nallow_private = [\"127.0.0.0/8\"]\n",
        directory.path().join("data"),
        front.host(),
    );
    std::fs::write(&config, text).unwrap();
    let room = directory.path().join("room");
    std::fs::create_dir(&room).unwrap();
    let mut command = quintet();
    command.args(["image", "pull", &format!("{}/{repository}:1", front.host()), "--config"]).arg(&config);
    command.arg("--socket").arg(place.runner.runner.socket()).env("TMPDIR", &room);
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    place.runner.wait_until(|| front.count(Asked::is_blob) > 0);
    assert_eq!(std::fs::read_dir(&room).unwrap().count(), 1);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("called off"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&room).unwrap().count(), 0);
}
