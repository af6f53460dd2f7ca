//! Debian's `docker-registry`, on a free port of the loopback, and what fills it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quintet_runtime::Digest;
use serde_json::{Value, json};

use crate::tarball::layout;

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// Its user, password, and what `htpasswd` makes of them.
pub const USER: (&str, &str) = ("someone", "s3cret");
const HTPASSWD: &str = "someone:$2y$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n";

/// A registry that goes with the tests, however they end.
pub struct Registry {
    pub host: String,
    agent: ureq::Agent,
    with_password: bool,
    guard: Child,
}

/// Runs the registry until its input ends.
const GUARD: &str = r#"
    /usr/bin/docker-registry serve "$1/config.yml" </dev/null >"$1/log" 2>&1 &
    registry=$!
    cat >/dev/null
    kill -9 "$registry"
    rm -rf "$1"
"#;

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

impl Registry {
    /// Starts one, or says why there is none.
    pub fn start(with_password: bool) -> Result<Registry, String> {
        if !Path::new("/usr/bin/docker-registry").exists() {
            return Err("/usr/bin/docker-registry (docker-registry) is missing".into());
        }
        let directory = tempfile::Builder::new().prefix("quintet-registry-").tempdir().unwrap().keep();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let mut configuration = json!({
            "version": 0.1,
            "log": { "level": "error" },
            "storage": { "filesystem": { "rootdirectory": directory.join("store") } },
            "http": { "addr": host, "secret": "of these tests" },
        });
        if with_password {
            let path = directory.join("htpasswd");
            std::fs::write(&path, HTPASSWD).unwrap();
            configuration["auth"] = json!({ "htpasswd": { "realm": "here", "path": path } });
        }
        // JSON is YAML, too.
        std::fs::write(directory.join("config.yml"), configuration.to_string()).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARD, "guard"]).arg(&directory).stdin(Stdio::piped());
        let guard = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let registry = Registry { host, agent, with_password, guard };
        let until = Instant::now() + Duration::from_secs(30);
        while registry.agent.get(format!("http://{}/v2/", registry.host)).call().is_err() {
            let log = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "docker-registry does not start: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(registry)
    }

    fn authorization(&self) -> String {
        // "someone:s3cret"
        if self.with_password { "Basic c29tZW9uZTpzM2NyZXQ=".into() } else { "none".into() }
    }

    /// Puts a blob into a repository.
    pub fn push_blob(&self, repository: &str, content: &[u8]) -> Digest {
        let digest = Digest::of(content);
        let begun = self.agent.post(format!("http://{}/v2/{repository}/blobs/uploads/", self.host));
        let begun = begun.header("authorization", self.authorization()).send_empty().unwrap();
        assert_eq!(begun.status().as_u16(), 202);
        let place = begun.headers()["location"].to_str().unwrap().to_owned();
        let place = if place.starts_with('/') { format!("http://{}{place}", self.host) } else { place };
        let separator = if place.contains('?') { '&' } else { '?' };
        let put = self.agent.put(format!("{place}{separator}digest={digest}"));
        let put = put.header("authorization", self.authorization()).header("content-type", "application/octet-stream");
        assert_eq!(put.send(content).unwrap().status().as_u16(), 201);
        digest
    }

    /// Puts a manifest or an index into a repository.
    pub fn push_manifest(&self, repository: &str, tag: &str, kind: &str, content: &[u8]) -> Digest {
        let put = self.agent.put(format!("http://{}/v2/{repository}/manifests/{tag}", self.host));
        let put = put.header("authorization", self.authorization()).header("content-type", kind);
        let mut answer = put.send(content).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        assert_eq!(answer.status().as_u16(), 201, "{text}");
        Digest::of(content)
    }

    /// Puts an image of these layers (each as it is stored, and its archive) into a repository; its manifest.
    pub fn push(&self, repository: &str, tag: &str, layers: &[(Vec<u8>, Vec<u8>)], execution: &Value) -> Pushed {
        let files = layout(layers, execution, |bytes| Digest::of(bytes).to_string());
        let file = |name: &str| files.iter().find(|(known, _)| known == name).unwrap().1.clone();
        let index: Value = serde_json::from_slice(&file("index.json")).unwrap();
        let digest = index["manifests"][0]["digest"].as_str().unwrap();
        let manifest = file(&format!("blobs/sha256/{}", digest.trim_start_matches("sha256:")));
        for (name, content) in &files {
            if name.starts_with("blobs/") && *content != manifest {
                self.push_blob(repository, content);
            }
        }
        let digest = self.push_manifest(repository, tag, MANIFEST, &manifest);
        Pushed { digest, manifest }
    }
}

/// An image in a registry.
pub struct Pushed {
    pub digest: Digest,
    pub manifest: Vec<u8>,
}

impl Pushed {
    /// As an index lists it.
    pub fn listed(&self, architecture: &str) -> Value {
        json!({
            "mediaType": MANIFEST, "digest": self.digest.as_str(), "size": self.manifest.len(),
            "platform": { "os": "linux", "architecture": architecture },
        })
    }
}
