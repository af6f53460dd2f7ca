//! The JSON of images: OCI's and Docker's, read for what is needed and no more.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ImageError;
use crate::description::{ARGUMENTS_BYTES_MAX, ARGUMENTS_MAX};
use crate::digest::Digest;
use crate::records::ImageConfig;

/// The longest document that is read.
pub(super) const DOCUMENT_BYTES_MAX: u64 = 4 << 20;
/// The longest user or directory.
const TEXT_BYTES_MAX: usize = 4096;
const INDEXES: [&str; 2] =
    ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"];
const MANIFESTS: [&str; 2] =
    ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"];

/// A reference to some content by its digest.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    pub platform: Option<Platform>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Platform {
    pub architecture: String,
    pub os: String,
}

impl Descriptor {
    pub fn is_index(&self) -> bool {
        INDEXES.contains(&self.media_type.as_str())
    }

    pub fn is_manifest(&self) -> bool {
        MANIFESTS.contains(&self.media_type.as_str())
    }

    /// What is for another machine says so; what says nothing may be for this one.
    pub fn fits_this_machine(&self) -> bool {
        self.platform.as_ref().is_none_or(|platform| platform.os == "linux" && platform.architecture == "amd64")
    }

    pub fn has_name(&self, name: &str) -> bool {
        ["org.opencontainers.image.ref.name", "io.containerd.image.name"]
            .iter()
            .any(|key| self.annotations.get(*key).is_some_and(|value| value == name))
    }
}

/// An index, or the `index.json` of a layout.
#[derive(Debug, Deserialize)]
pub(super) struct Index {
    pub manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub schema_version: u32,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

/// An entry of the `manifest.json` of a docker-archive.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DockerEntry {
    pub config: String,
    #[serde(default)]
    pub repo_tags: Option<Vec<String>>,
    pub layers: Vec<String>,
}

/// The configuration of an image.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub architecture: String,
    pub os: String,
    #[serde(default)]
    config: Option<Execution>,
    pub rootfs: RootFileSystem,
}

#[derive(Debug, Deserialize)]
pub(super) struct RootFileSystem {
    pub diff_ids: Vec<Digest>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Execution {
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    env: Option<Vec<String>>,
    user: Option<String>,
    working_dir: Option<String>,
    stop_signal: Option<String>,
}

impl Config {
    pub fn into_config(self) -> Result<ImageConfig, ImageError> {
        let execution = self.config.unwrap_or_default();
        let config = ImageConfig {
            entrypoint: execution.entrypoint.unwrap_or_default(),
            command: execution.cmd.unwrap_or_default(),
            env: execution.env.unwrap_or_default(),
            user: execution.user.unwrap_or_default(),
            directory: execution.working_dir.unwrap_or_default(),
            stop_signal: execution.stop_signal.as_deref().and_then(signal_number),
        };
        let texts = config.entrypoint.iter().chain(&config.command).chain(&config.env);
        if texts.chain([&config.user, &config.directory]).any(|text| text.contains('\0')) {
            return Err(ImageError::Bad("its configuration has a NUL".into()));
        }
        // What no program could be started with; and nothing later has to be ready for more.
        let words = [&config.entrypoint, &config.command, &config.env];
        let count: usize = words.iter().map(|list| list.len()).sum();
        let bytes: usize = words.iter().flat_map(|list| list.iter()).map(|text| text.len() + 9).sum();
        let is_long = [&config.user, &config.directory].iter().any(|text| text.len() > TEXT_BYTES_MAX);
        if count > ARGUMENTS_MAX || bytes > ARGUMENTS_BYTES_MAX || is_long {
            return Err(ImageError::Bad("its configuration has more to say than any program takes".into()));
        }
        Ok(config)
    }
}

/// `SIGTERM`, `TERM` or `15`. What is not known is as good as not said.
fn signal_number(name: &str) -> Option<i32> {
    let known =
        [("HUP", 1), ("INT", 2), ("QUIT", 3), ("KILL", 9), ("USR1", 10), ("USR2", 12), ("TERM", 15), ("WINCH", 28)];
    let short = name.strip_prefix("SIG").unwrap_or(name);
    let by_name = known.iter().find(|(known, _)| *known == short).map(|(_, number)| *number);
    by_name.or_else(|| name.parse().ok().filter(|number| (1..=31).contains(number)))
}

/// Reads one of these documents. What is refused is not repeated: only where it stands.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, ImageError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        ImageError::Bad(format!("its {what} is not what it should be at line {line}, column {column}"))
    })
}
