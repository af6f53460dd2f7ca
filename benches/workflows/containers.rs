//! A chain of containers, beside the same submitted one by one by a client that waits for each.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::NODES;
use super::appliance::Appliance;
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
    let (mut chain_took, mut single_took) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        single_took = single_took.min(tenant.at_once(1, 1, |connection| Box::pin(one_by_one(connection)))[0]);
        chain_took = chain_took.min(tenant.at_once(1, 1, |connection| Box::pin(chain(connection)))[0]);
    }
    let millis = |seconds: f64| seconds * 1e3 / NODES as f64;
    println!("\n{NODES} containers `true`, one after the other, best of {rounds} rounds");
    println!("| as a chain, ms each | by a client that waits for each, ms | ratio |\n|---|---|---|");
    println!("| {:.1} | {:.1} | {:.2} |", millis(chain_took), millis(single_took), chain_took / single_took);
}

async fn chain(connection: &mut Connection) -> f64 {
    let node = |number: usize| json!({"ref": format!("n{number}"), "image": "true:1", "command": ["/bin/true"]});
    let nodes: Vec<Value> = (0..NODES).map(node).collect();
    let edges = (1..NODES).map(|number| json!({"from": format!("n{}", number - 1), "to": format!("n{number}")}));
    let body = json!({"nodes": nodes, "edges": edges.collect::<Vec<_>>()}).to_string();
    let begun = Instant::now();
    let answer = connection.post("/api/v1/workflows", &body).await;
    let path = format!("/api/v1/workflows/{}?wait=60", answer["workflow_id"].as_str().unwrap());
    let ended = connection.get(&path).await;
    assert_eq!(ended["state"], "succeeded", "{ended}");
    begun.elapsed().as_secs_f64()
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
