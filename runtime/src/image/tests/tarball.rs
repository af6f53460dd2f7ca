//! Writes archives and images for tests: proper ones, and such as no tool would write.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

/// An archive that is being written.
#[derive(Default)]
pub struct Tarball(Vec<u8>);

impl Tarball {
    /// An empty one.
    pub fn new() -> Tarball {
        Tarball::default()
    }

    /// Any entry at all.
    pub fn entry(mut self, kind: u8, name: &[u8], link: &[u8], mode: u32, owner: u32, content: &[u8]) -> Tarball {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &name[..name.len().min(100)]);
        put(100, format!("{mode:07o}").as_bytes());
        put(108, format!("{owner:07o}").as_bytes());
        put(116, format!("{owner:07o}").as_bytes());
        put(124, format!("{:011o}", content.len()).as_bytes());
        put(136, b"14000000000");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, &link[..link.len().min(100)]);
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend_from_slice(&header);
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// A file that everybody may execute.
    pub fn file(self, name: &str, content: &[u8]) -> Tarball {
        self.entry(b'0', name.as_bytes(), b"", 0o755, 0, content)
    }

    /// A directory.
    pub fn directory(self, name: &str) -> Tarball {
        self.entry(b'5', name.as_bytes(), b"", 0o755, 0, b"")
    }

    /// A symbolic link.
    pub fn symbolic_link(self, name: &str, to: &str) -> Tarball {
        self.entry(b'2', name.as_bytes(), to.as_bytes(), 0o777, 0, b"")
    }

    /// A hard link.
    pub fn hard_link(self, name: &str, to: &str) -> Tarball {
        self.entry(b'1', name.as_bytes(), to.as_bytes(), 0o755, 0, b"")
    }

    /// What pax says about the entry that follows.
    pub fn pax(self, records: &[(&str, &[u8])]) -> Tarball {
        let mut content = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length = (rest..).find(|length| length.to_string().len() + rest == *length).unwrap();
            write!(content, "{length} {key}=").unwrap();
            content.extend_from_slice(value);
            content.push(b'\n');
        }
        self.entry(b'x', b"pax", b"", 0o644, 0, &content)
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

/// The digest of some bytes, as images name them; passed in, since two packages use this file.
pub type DigestOf = fn(&[u8]) -> String;

/// The files of an OCI layout with one image of these layers, each as it lies in the layout (compressed or not) with
/// the archive in it.
pub fn layout(layers: &[(Vec<u8>, Vec<u8>)], execution: &Value, digest_of: DigestOf) -> Vec<(String, Vec<u8>)> {
    let diff_ids: Vec<String> = layers.iter().map(|(_, plain)| digest_of(plain)).collect();
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": execution,
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    let config = config.to_string().into_bytes();
    let mut files = Vec::new();
    let mut blob = |content: &[u8]| {
        let digest = digest_of(content);
        files.push((format!("blobs/sha256/{}", digest.trim_start_matches("sha256:")), content.to_vec()));
        json!({ "digest": digest, "size": content.len() })
    };
    let with = |mut descriptor: Value, kind: &str| {
        descriptor["mediaType"] = json!(format!("application/vnd.oci.image.{kind}"));
        descriptor
    };
    let listed: Vec<Value> = layers.iter().map(|(stored, _)| with(blob(stored), "layer.v1.tar")).collect();
    let config = with(blob(&config), "config.v1+json");
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": listed }).to_string().into_bytes();
    let manifest = with(blob(&manifest), "manifest.v1+json");
    files.push(("index.json".into(), json!({ "schemaVersion": 2, "manifests": [manifest] }).to_string().into_bytes()));
    files.push(("oci-layout".into(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()));
    files
}

/// The files of a docker-archive with one image of these layers.
pub fn docker_archive(layers: &[Vec<u8>], execution: &Value, tag: &str, digest_of: DigestOf) -> Vec<(String, Vec<u8>)> {
    let diff_ids: Vec<String> = layers.iter().map(|layer| digest_of(layer)).collect();
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": execution,
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    let config = config.to_string().into_bytes();
    let name = format!("{}.json", digest_of(&config).trim_start_matches("sha256:"));
    let names: Vec<String> = (0..layers.len()).map(|number| format!("{number}/layer.tar")).collect();
    let manifest = json!([{ "Config": name, "RepoTags": [tag], "Layers": names }]).to_string().into_bytes();
    let mut files = vec![(name, config), ("manifest.json".into(), manifest)];
    files.extend(names.into_iter().zip(layers.iter().cloned()));
    files
}

/// These files in one archive.
pub fn pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    files.iter().fold(Tarball::new(), |tarball, (name, content)| tarball.file(name, content)).finish()
}

/// These files in a directory.
pub fn spread(files: &[(String, Vec<u8>)], directory: &Path) {
    for (name, content) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
