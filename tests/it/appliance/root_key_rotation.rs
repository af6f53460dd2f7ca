//! A root key in a file follows another while the appliance runs: what is in the file when, and what a kill or a copy
//! at any moment leaves behind. `QUINTET_KILLS=N` makes more kills.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::appliance::root_key::{Sample, ring_of, settled};
use crate::support::appliance::{Setup, fresh_key, quintet, run, stderr, stdout};

/// The copy window, in seconds: the default.
const WINDOW_SECONDS: &str = "900";

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

#[test]
fn a_rotation_puts_everything_under_a_new_key() {
    let sample = Sample::make(1_203);
    let old = lines(&sample.key_file());
    let appliance = sample.setup().arg("--log-level").arg("trace").start();
    let before = appliance.cli_json(&["root-key", "show"]);
    assert_eq!(before["key_id"], ring_of(&sample.key_file()).current().id().to_string());
    assert_eq!((&before["state"], &before["rotated_at"]), (&"at_rest".into(), &serde_json::Value::Null));
    let view = appliance.cli_json(&["root-key", "rotate"]);
    assert_eq!((&view["state"], &view["previous_key_id"]), (&"keeping_previous".into(), &before["key_id"]));
    assert_ne!(view["key_id"], before["key_id"]);
    let both = lines(&sample.key_file());
    assert_eq!((both.len(), &both[1]), (2, &old[0]));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(sample.key_file()).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let again = appliance.cli(&["root-key", "rotate"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("a rotation is under way: the previous key is kept until"), "{}", stderr(&again));
    let status = stdout(&appliance.cli(&["status"])).split_whitespace().collect::<Vec<_>>().join(" ");
    let told =
        format!("root key {} from file:root.key; the previous key is kept until", view["key_id"].as_str().unwrap());
    assert!(status.contains(&told), "{status}");

    appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
    let after = settled(&appliance);
    assert_eq!((&after["state"], &after["previous_key_id"]), (&"at_rest".into(), &serde_json::Value::Null));
    assert_eq!((&after["key_id"], &after["rotated_at"]), (&view["key_id"], &view["rotated_at"]));
    assert!(after["rotated_at"].is_string());
    assert_eq!(lines(&sample.key_file()), both[..1]);
    let shown = stdout(&appliance.cli(&["root-key", "show"]));
    assert!(shown.contains("no previous key is needed"), "{shown}");
    let log = appliance.log();
    for secret in both {
        assert!(!log.contains(&secret) && !shown.contains(&secret));
    }
    assert_eq!(appliance.stop(), Some(0));
    sample.check(&sample.data, ring_of(&sample.key_file()));
}

#[test]
fn a_copy_of_before_during_or_after_a_rotation_opens() {
    let sample = Sample::make(40);
    let place = sample.data.with_file_name("copy");
    let old = std::fs::read(sample.key_file()).unwrap();
    let opens = |key: &[u8]| {
        copy(&sample.data, &place);
        std::fs::write(place.join("root.key"), key).unwrap();
        let key_file = place.join("root.key");
        sample.check(&place, ring_of(&key_file));
        // The binary takes it from there, to its end.
        let appliance = Setup::new().on(&place).rehearsal().start();
        settled(&appliance);
        appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
        assert_eq!(settled(&appliance)["state"], "at_rest");
        assert_eq!(appliance.stop(), Some(0));
        assert_eq!(lines(&key_file).len(), 1);
        sample.check(&place, ring_of(&key_file));
    };
    opens(&old);
    let appliance = sample.setup().start();
    appliance.cli_json(&["root-key", "rotate"]);
    assert_eq!(appliance.stop(), Some(0));
    let both = std::fs::read(sample.key_file()).unwrap();
    // Files are copied one by one: the key's may be of before or of after.
    opens(&both);
    opens(&old);
    let new = format!("{}\n", lines(&sample.key_file())[0]);
    opens(new.as_bytes());

    let appliance = sample.setup().start();
    appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
    assert_eq!(settled(&appliance)["state"], "at_rest");
    assert_eq!(appliance.stop(), Some(0));
    assert_eq!(std::fs::read_to_string(sample.key_file()).unwrap(), new);
    opens(new.as_bytes());
    opens(&both);
    // A copy that took longer than the window is refused, not wrong.
    copy(&sample.data, &place);
    std::fs::write(place.join("root.key"), &old).unwrap();
    let output = run(&["serve", "--rehearsal-clock", "--data", place.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("wrong root key"), "{}", stderr(&output));
}

#[test]
fn a_kill_right_after_the_file_was_replaced_is_gone_on_from() {
    let sample = Sample::make(5);
    let old = lines(&sample.key_file())[0].clone();
    let new = "5a".repeat(32);
    std::fs::write(sample.key_file(), format!("{new}\n{old}\n")).unwrap();
    // And one in the making of another.
    let leftover = sample.data.join("root.key.00112233aabbccdd.tmp");
    std::fs::write(&leftover, "half a k").unwrap();
    let appliance = sample.setup().start();
    assert!(!leftover.exists());
    assert_eq!(settled(&appliance)["key_id"], ring_of(&sample.key_file()).current().id().to_string());
    appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
    assert_eq!(settled(&appliance)["state"], "at_rest");
    assert_eq!(lines(&sample.key_file()), [new.as_str()]);
    appliance.kill();
    // Right before the previous key would have left the file.
    std::fs::write(sample.key_file(), format!("{new}\n{old}\n")).unwrap();
    let appliance = sample.setup().start();
    assert_eq!(settled(&appliance)["state"], "at_rest");
    assert_eq!(lines(&sample.key_file()), [new.as_str()]);
    appliance.kill();
    sample.check(&sample.data, ring_of(&sample.key_file()));
}

#[test]
fn a_file_that_cannot_be_replaced_keeps_its_key() {
    let sample = Sample::make(2);
    let appliance = sample.setup().start();
    let key = std::fs::read(sample.key_file()).unwrap();
    for wrong in ["11".repeat(32), "nonsense".to_owned()] {
        std::fs::write(sample.key_file(), &wrong).unwrap();
        let output = appliance.cli(&["root-key", "rotate"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("the root key's file cannot be changed"), "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(sample.key_file()).unwrap(), wrong);
        assert!(!stderr(&output).contains(&wrong));
    }
    std::fs::write(sample.key_file(), &key).unwrap();
    appliance.cli_json(&["root-key", "rotate"]);
    // Gone at the moment at which the previous key should leave it: it is told, and nothing is lost.
    let both = std::fs::read(sample.key_file()).unwrap();
    std::fs::remove_file(sample.key_file()).unwrap();
    appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
    let view = settled(&appliance);
    assert_eq!(view["state"], "stuck", "{view}");
    assert!(view["explanation"].as_str().unwrap().contains("is missing"), "{view}");
    std::fs::write(sample.key_file(), &both).unwrap();
    assert_eq!(appliance.stop(), Some(0));
    let appliance = sample.setup().start();
    assert_eq!(settled(&appliance)["state"], "at_rest");
    assert_eq!(lines(&sample.key_file()).len(), 1);
    appliance.kill();
    sample.check(&sample.data, ring_of(&sample.key_file()));
}

#[test]
fn a_kill_at_any_moment_of_a_rotation_loses_nothing() {
    let rounds = std::env::var("QUINTET_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(9_u64);
    let sample = Sample::make(4_000);
    let place = sample.data.with_file_name("copy");
    let mut rotations = 0;
    let mut last = String::new();
    for round in 0..rounds {
        let appliance = sample.setup().start();
        if round % 3 == 0 {
            // The last one comes to its end, so that another can begin.
            settled(&appliance);
            appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
        }
        // Load: everybody's writes go on, and nobody waits for the rotation.
        let (_, key) = appliance.key(&appliance.tenant(), &[]);
        let client = appliance.client("ledger", &key);
        let load = std::thread::spawn(move || {
            let asset = |n: i32| serde_json::json!({"code": format!("A{n}"), "kind": "custom", "scale": 0});
            // The kill ends it.
            while (0..1_000).all(|n| client.try_post_under(&fresh_key(), "/v1/asset-types", &asset(n)).is_some()) {}
        });
        let spawn = |arguments: &[&str]| {
            let mut command = quintet();
            command.args(arguments).arg("--data").arg(&sample.data);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        };
        let mut rotate = spawn(&["root-key", "rotate"]);
        let mut advance = (round % 3 == 2).then(|| spawn(&["clock", "advance", WINDOW_SECONDS]));
        std::thread::sleep(Duration::from_millis(round * 67 % 400));
        appliance.kill();
        load.join().unwrap();
        rotate.wait().unwrap();
        if let Some(advance) = &mut advance {
            advance.wait().unwrap();
        }
        let key_lines = lines(&sample.key_file());
        rotations += u32::from(key_lines[0] != last);
        last.clone_from(&key_lines[0]);
        copy(&sample.data, &place);
        println!("{} keys in the file, {:?}", key_lines.len(), sample.check(&place, ring_of(&place.join("root.key"))));
    }
    assert!(rounds < 9 || rotations >= 2, "the same key all the time: the kills come too early");
    let appliance = sample.setup().start();
    settled(&appliance);
    appliance.cli_json(&["clock", "advance", WINDOW_SECONDS]);
    assert_eq!(settled(&appliance)["state"], "at_rest");
    assert_eq!(appliance.stop(), Some(0));
    assert_eq!(lines(&sample.key_file()).len(), 1);
    sample.check(&sample.data, ring_of(&sample.key_file()));
}
