//! A chain of containers, beside the same submitted one by one by a client that waits for each, and beside a shell that runs
//! them with Debian's `crun`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use quintet_platform::clock::parse_rfc3339;
use serde_json::{Value, json};

use super::NODES;
use super::appliance::Appliance;
use super::bundle::{bundle_at, crun_ground};
use super::client::{Connection, Tenant};
use super::processes::succeed;

/// A runner of its own. It ends with its input, and thereby with the bench, whatever ends that.
struct Runner(Child);

impl Runner {
    fn start(directory: &Path) -> Runner {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
        command.args(["runner", "--log-level", "error", "--dir"]).arg(directory.join("state"));
        command.arg("--socket").arg(directory.join("socket")).arg("--with-parent");
        Runner(command.stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A root file system with a program that does nothing.
fn rootfs(directory: &Path) -> String {
    let (root, file) = (directory.join("root"), directory.join("root.tar"));
    for name in ["bin", "proc", "sys", "dev"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    std::fs::copy("/bin/busybox", root.join("bin/true")).unwrap();
    let packed = Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&file).arg(".").status().unwrap();
    assert!(packed.success());
    file.to_str().unwrap().to_owned()
}

pub fn measure(rounds: usize) {
    if !rustix::process::geteuid().is_root() {
        println!("\ncontainers: only root may run them");
        return;
    }
    let directory = tempfile::Builder::new().prefix("quintet-bench-").tempdir_in("/var/tmp").unwrap();
    let _runner = Runner::start(directory.path());
    let socket = directory.path().join("socket").to_str().unwrap().to_owned();
    let appliance = Appliance::start(&std::env::temp_dir(), &[("QUINTET_RUNS__RUNNER_SOCKET", &socket)]);
    let mut import = Command::new(env!("CARGO_BIN_EXE_quintet"));
    import.args(["image", "import", &rootfs(directory.path()), "--rootfs", "--name", "true:1"]);
    import.args(["--socket", &socket]).env("QUINTET_RUNS__RUNNER_SOCKET", &socket);
    succeed(&mut import);
    let tenant = Tenant::new(&appliance, "containers");
    let (mut chain_took, mut single_took, mut crun_took) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let mut between = Vec::new();
    let crun = bundle_at("crun", &directory.path().join("crun"), &directory.path().join("root"), |_| ());
    for _ in 0..rounds {
        single_took = single_took.min(tenant.at_once(1, 1, |connection| Box::pin(one_by_one(connection)))[0]);
        let (took, waits) = tenant.at_once(1, 1, |connection| Box::pin(chain(connection))).remove(0);
        chain_took = chain_took.min(took);
        between.extend(waits);
        if crun.is_ok() {
            crun_took = crun_took.min(crun_loop(&directory.path().join("crun")));
        }
    }
    between.sort_by(f64::total_cmp);
    let millis = |seconds: f64| seconds * 1e3 / NODES as f64;
    println!("\n{NODES} containers `true`, one after the other, best of {rounds} rounds");
    println!(
        "| as a chain, ms each | by a client that waits for each, ms | ratio | a shell loop over `crun run`, ms each |"
    );
    println!("|---|---|---|---|");
    let crun = if crun.is_ok() { format!("{:.1}", millis(crun_took)) } else { "is not there".to_owned() };
    println!("| {:.1} | {:.1} | {:.2} | {crun} |", millis(chain_took), millis(single_took), chain_took / single_took);
    println!("from a container's end to the submission of its successor, ms, all rounds:");
    println!("| median | longest |\n|---|---|");
    println!("| {:.2} | {:.2} |", between[between.len() / 2], between[between.len() - 1]);
}

/// The same containers, by a shell.
fn crun_loop(bundle: &Path) -> f64 {
    let script = format!(
        "{} && cd \"$1\" && begun=$(date +%s%N) && for i in $(seq {NODES}); do crun run bench-$$-$i </dev/null || exit 1; done \
         && echo $(($(date +%s%N) - begun))",
        crun_ground()
    );
    let ran = Command::new("unshare").args(["-m", "sh", "-c", &script, "sh"]).arg(bundle).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().parse::<f64>().unwrap() / 1e9
}

/// What the chain took, in seconds, and what lay between the end of each container and the submission of the next, in
/// milliseconds.
async fn chain(connection: &mut Connection) -> (f64, Vec<f64>) {
    let node = |number: usize| json!({"ref": format!("n{number}"), "image": "true:1", "command": ["/bin/true"]});
    let nodes: Vec<Value> = (0..NODES).map(node).collect();
    let edges = (1..NODES).map(|number| json!({"from": format!("n{}", number - 1), "to": format!("n{number}")}));
    let body = json!({"nodes": nodes, "edges": edges.collect::<Vec<_>>()}).to_string();
    let begun = Instant::now();
    let answer = connection.post("/api/v1/workflows", &body).await;
    let path = format!("/api/v1/workflows/{}?wait=60", answer["workflow_id"].as_str().unwrap());
    let ended = connection.get(&path).await;
    assert_eq!(ended["state"], "succeeded", "{ended}");
    let took = begun.elapsed().as_secs_f64();
    let mut runs = Vec::new();
    for node in ended["nodes"].as_array().unwrap() {
        let path = format!("/api/v1/runs/{}", node["current_track_id"].as_str().unwrap());
        runs.push(connection.get(&path).await);
    }
    let at = |run: &Value, name: &str| parse_rfc3339(run[name].as_str().unwrap()).unwrap().as_micros();
    let between = |two: &[Value]| (at(&two[1], "submitted_at") - at(&two[0], "finished_at")) as f64 / 1e3;
    (took, runs.windows(2).map(between).collect())
}

async fn one_by_one(connection: &mut Connection) -> f64 {
    let begun = Instant::now();
    for _ in 0..NODES {
        let answer = connection.post("/api/v1/runs", r#"{"image":"true:1","command":["/bin/true"]}"#).await;
        let ended = connection.get(&format!("/api/v1/runs/{}?wait=60", answer["track_id"].as_str().unwrap())).await;
        assert_eq!(ended["state"], "exited", "{ended}");
    }
    begun.elapsed().as_secs_f64()
}
