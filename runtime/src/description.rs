//! What a container is to be: the one thing a client says about it, checked before anything privileged happens.
//!
//! There is no way to say host path, host namespace, capability, device or mount: a description that tries does not
//! parse.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The name of a container: 1 to 64 letters, digits, `-` or `_`, beginning with a letter or digit. The client chooses
/// it; a name that was used once is refused until the container is removed, which is how nothing is started twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContainerId(String);

impl ContainerId {
    /// Reads a name.
    pub fn parse(text: &str) -> Result<ContainerId, InvalidDescription> {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if starts_well && text.len() <= 64 && text.bytes().all(letters) {
            Ok(ContainerId(text.to_owned()))
        } else {
            Err(InvalidDescription::new("id", "1 to 64 letters, digits, - or _, beginning with a letter or digit"))
        }
    }

    /// The name itself: a safe file name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ContainerId {
    type Error = InvalidDescription;

    fn try_from(text: String) -> Result<Self, InvalidDescription> {
        ContainerId::parse(&text)
    }
}

impl From<ContainerId> for String {
    fn from(id: ContainerId) -> String {
        id.0
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A container as its client describes it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerDescription {
    /// The image, by the digest that [`ImageInfo`](crate::ImageInfo) gives it. It must be present.
    pub image: Digest,
    /// The command. As `docker run` has it: it takes the place of the image's `Cmd` and follows its `Entrypoint`;
    /// empty, the image's own command is run.
    #[serde(default)]
    pub command: Vec<String>,
    /// Environment variables, added to the image's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its limits.
    pub limits: Limits,
}

/// What a container may take. Everything is enforced by the kernel, except the times, which its supervisor keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processor time, in thousandths of a core: 10 to 1,024,000.
    pub cpu_millicores: u32,
    /// Memory, caches and tmpfs files included: 6 MiB to 1 TiB. Swap is not given.
    pub memory_bytes: u64,
    /// Processes and threads at once: 8 to 32,768.
    pub pids: u32,
    /// The writable layer over the image: 1 MiB to 1 TiB.
    pub scratch_bytes: u64,
    /// Time to run, without the time it is paused: 1 s to a year. Then it is killed.
    pub timeout_seconds: u64,
    /// What a stop waits after SIGTERM before SIGKILL: 0 to 3,600 s.
    pub grace_seconds: u64,
}

impl Default for Limits {
    /// One core, 512 MiB, 512 processes, 1 GiB of scratch, ten minutes, 10 s of grace: for callers that say nothing.
    fn default() -> Limits {
        Limits {
            cpu_millicores: 1000,
            memory_bytes: 512 << 20,
            pids: 512,
            scratch_bytes: 1 << 30,
            timeout_seconds: 600,
            grace_seconds: 10,
        }
    }
}

/// What a container's output, samples and outcome take on the disk at most, in bytes: twice a stream's 12 MiB and a
/// little.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 26 << 20;

/// A description asks for what no container is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct InvalidDescription {
    /// The field, as it is written.
    pub field: String,
    /// What it must be.
    pub reason: String,
}

impl InvalidDescription {
    fn new(field: &str, reason: &str) -> InvalidDescription {
        InvalidDescription { field: field.to_owned(), reason: reason.to_owned() }
    }
}

/// What command and environment may take together, below the kernel's own limit for an `execve` (2 MiB on x86-64).
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 512 << 10;
const ARGUMENT_BYTES_MAX: usize = 128 << 10;
pub(crate) const ARGUMENTS_MAX: usize = 4096;

impl ContainerDescription {
    /// Checks everything that can be checked without the image, in the order of the fields.
    pub fn validate(&self) -> Result<(), InvalidDescription> {
        if self.command.len() > ARGUMENTS_MAX {
            return Err(InvalidDescription::new("command", "at most 4096 arguments"));
        }
        if self.command.first().is_some_and(String::is_empty) {
            return Err(InvalidDescription::new("command", "the program must not be empty"));
        }
        if self.command.iter().any(|word| word.contains('\0') || word.len() > ARGUMENT_BYTES_MAX) {
            return Err(InvalidDescription::new("command", "no NUL, at most 128 KiB each"));
        }
        if self.env.len() > ARGUMENTS_MAX {
            return Err(InvalidDescription::new("env", "at most 4096 variables"));
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(InvalidDescription::new("env", "names without = and NUL, values without NUL"));
            }
            if name.len() + value.len() > ARGUMENT_BYTES_MAX {
                return Err(InvalidDescription::new("env", "at most 128 KiB each"));
            }
        }
        let words = self.command.iter().map(|word| word.len() + 9);
        let variables = self.env.iter().map(|(name, value)| name.len() + value.len() + 10);
        if words.chain(variables).sum::<usize>() > ARGUMENTS_BYTES_MAX {
            return Err(InvalidDescription::new("command", "command and env together take at most 512 KiB"));
        }
        self.limits.validate()
    }
}

impl Limits {
    fn validate(&self) -> Result<(), InvalidDescription> {
        const MIB: u64 = 1 << 20;
        const TIB: u64 = 1 << 40;
        let within = [
            ("cpu_millicores", u64::from(self.cpu_millicores), 10, 1_024_000),
            ("memory_bytes", self.memory_bytes, 6 * MIB, TIB),
            ("pids", u64::from(self.pids), 8, 32_768),
            ("scratch_bytes", self.scratch_bytes, MIB, TIB),
            ("timeout_seconds", self.timeout_seconds, 1, 31_536_000),
            ("grace_seconds", self.grace_seconds, 0, 3_600),
        ];
        for (name, value, least, most) in within {
            if !(least..=most).contains(&value) {
                return Err(InvalidDescription::new(&format!("limits.{name}"), &format!("{least} to {most}")));
            }
        }
        Ok(())
    }
}

/// Environment values may be secrets: they are never shown.
impl fmt::Debug for ContainerDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ContainerDescription")
            .field("image", &self.image)
            .field("command", &self.command.first())
            .field("arguments", &self.command.len().saturating_sub(1))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("limits", &self.limits)
            .finish()
    }
}
