//! Pulls: images from registries by the OCI distribution protocol, handed to the runner.
//!
//! A registry is a stranger, even if its operator is a friend: every document and layer is checked against size and
//! digest while it arrives, everything is bounded in size and time, and nothing of a pull that fails is kept. What the
//! runner has already is not fetched. A layer whose connection breaks goes on where it broke.
//!
//! Names and passwords go to the registry they belong to and to the token server that it names, never along a redirect.
//! Connections are opened by the platform's egress, with its rules on addresses. `http://` is for the hosts that
//! `runs.registries` lists as plain, and there for the networks of `egress.allow_private` alone.
//!
//! Reading order: `reference` (what is asked for), `access` (who asks), `session` (the conversation), `documents` (what
//! is answered), `layout` (where it is put), and here the whole.

mod access;
mod documents;
mod layout;
mod reference;
mod session;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use quintet_platform::egress::Egress;
use quintet_runtime::{Digest, ImageInfo, Refusal, Runner, RunnerError};

pub use access::Registries;
pub use reference::{NotAReference, Reference};

use documents::{ACCEPTED, Descriptor, Document, Manifest};
use layout::Layout;
use session::{Ask, Session, Trouble};

/// What a pull may take.
#[derive(Clone, Debug)]
pub struct PullLimits {
    /// Bytes of one index, manifest or configuration.
    pub document_bytes: usize,
    /// Indexes within indexes.
    pub depth: u32,
    /// Layers of an image.
    pub layers: usize,
    /// Bytes of all layers of an image, as the registry keeps them.
    pub image_bytes: u64,
    /// Free space that is left on the disk they are put on, in bytes.
    pub disk_reserve_bytes: u64,
    /// The whole pull, without the unpacking.
    pub time: Duration,
    /// The wait for an answer to begin or to go on.
    pub idle: Duration,
    /// Attempts in a row that bring nothing new.
    pub attempts: u32,
    /// Attempts at one layer in all.
    pub attempts_in_all: u32,
}

impl Default for PullLimits {
    /// Ten minutes and 16 GiB: a run that waits for its image ends as `image_pull_failed` after that.
    fn default() -> PullLimits {
        PullLimits {
            document_bytes: 4 << 20,
            depth: 4,
            layers: 127,
            image_bytes: 16 << 30,
            disk_reserve_bytes: 512 << 20,
            time: Duration::from_secs(600),
            idle: Duration::from_secs(30),
            attempts: 4,
            attempts_in_all: 40,
        }
    }
}

/// Why an image was not pulled. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The registry has no such image.
    #[error("the registry has no such image")]
    NotFound,
    /// It does not show it to us.
    #[error("the registry denies it; runs.registries takes a name and a password for it")]
    Denied,
    /// It cannot be spoken to, or does not answer as registries do.
    #[error("the registry cannot be reached: {0}")]
    Unreachable(String),
    /// What it sent is not what it was asked for.
    #[error("the registry sent something else than it promised: {0}")]
    Lies(String),
    /// The image is damaged, too large, or not for this machine.
    #[error("the image cannot be used: {0}")]
    BadImage(String),
    /// All the time that a pull has is over.
    #[error("the pull took too long")]
    TooLong,
    /// It was called off.
    #[error("the pull was called off")]
    Cancelled,
    /// The runner failed.
    #[error(transparent)]
    Runner(RunnerError),
    /// This machine did: its disk, most likely.
    #[error("the image cannot be put down: {0}")]
    Local(io::Error),
}

impl From<io::Error> for PullError {
    fn from(error: io::Error) -> Self {
        PullError::Local(error)
    }
}

impl From<RunnerError> for PullError {
    fn from(error: RunnerError) -> Self {
        match error {
            RunnerError::Refused(Refusal::BadImage(reason)) => PullError::BadImage(reason),
            other => PullError::Runner(other),
        }
    }
}

/// How far a pull is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The registry is asked for the image.
    Asking,
    /// Layers arrive: bytes of those that were missing.
    Fetching {
        /// Here.
        done_bytes: u64,
        /// In all.
        total_bytes: u64,
    },
    /// Everything is here; the runner unpacks it.
    Unpacking,
}

/// Pulls images. One value serves the whole process: two pulls of the same image become one.
#[derive(Debug)]
pub struct Puller {
    egress: Egress,
    registries: Registries,
    directory: PathBuf,
    limits: PullLimits,
    under_way: Mutex<HashMap<String, Arc<Gate>>>,
}

/// One pull that others wait for.
#[derive(Debug, Default)]
struct Gate {
    is_over: Mutex<bool>,
    over: Condvar,
}

/// How often a pull that waits for another one looks whether it was called off.
const WAIT_POLL: Duration = Duration::from_millis(50);

impl Puller {
    /// `directory` is where layers are put while they arrive. It is this value's alone and is emptied now: what lies
    /// there was left by a process that was killed.
    ///
    /// # Errors
    /// The directory cannot be made or emptied.
    pub fn new(egress: Egress, registries: Registries, directory: &Path, limits: PullLimits) -> io::Result<Puller> {
        layout::make_empty(directory)?;
        Ok(Puller { egress, registries, directory: directory.to_owned(), limits, under_way: Mutex::default() })
    }

    /// An image that is there already, by the name as it is written or in full.
    ///
    /// # Errors
    /// The runner does not answer.
    pub fn present(runner: &Runner, name: &str) -> Result<Option<ImageInfo>, RunnerError> {
        if let Some(found) = runner.image(name)? {
            return Ok(Some(found));
        }
        match Reference::parse(name) {
            Ok(reference) => runner.image(&reference.to_string()),
            Err(_) => Ok(None),
        }
    }

    /// Pulls an image and hands it to the runner, under its name in full. Blocks, for ten minutes at most and the time
    /// that unpacking takes. Whoever sets `cancelled` is heard until the unpacking begins.
    ///
    /// # Errors
    /// See [`PullError`].
    pub fn pull(
        &self,
        runner: &Runner,
        reference: &Reference,
        cancelled: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ImageInfo, PullError> {
        let name = reference.to_string();
        loop {
            let (gate, is_first) = {
                let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
                match under_way.get(&name) {
                    Some(gate) => (Arc::clone(gate), false),
                    None => {
                        let gate = Arc::<Gate>::default();
                        under_way.insert(name.clone(), Arc::clone(&gate));
                        (gate, true)
                    }
                }
            };
            if is_first {
                let _turn = Turn { puller: self, name: &name, gate };
                return self.pull_now(runner, reference, &name, cancelled, progress);
            }
            progress(Progress::Asking);
            gate.wait(cancelled)?;
            if let Some(found) = runner.image(&name)? {
                return Ok(found);
            }
        }
    }

    fn pull_now(
        &self,
        runner: &Runner,
        reference: &Reference,
        name: &str,
        cancelled: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ImageInfo, PullError> {
        // Its own: a pull is called from threads that may block, with and without a runtime around them.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let mut session = Session::new(&self.egress, &self.registries, &self.limits, reference, cancelled);
        let pulled = Layout::make(&self.directory).map_err(PullError::from).and_then(|layout| {
            progress(Progress::Asking);
            let manifest = runtime.block_on(self.documents(&mut session, reference, &layout))?;
            let mut is_first = true;
            loop {
                let missing = missing_layers(runner, &manifest, &layout)?;
                self.check_room(&missing)?;
                runtime.block_on(self.layers(&mut session, &missing, &layout, progress))?;
                if cancelled.load(Ordering::Relaxed) {
                    return Err(PullError::Cancelled);
                }
                progress(Progress::Unpacking);
                let imported = runner.import(layout.open()?, name, None);
                // A layer that was there may have been removed meanwhile: once more, with it.
                let is_refused = matches!(imported, Err(RunnerError::Refused(Refusal::BadImage(_))));
                if !(is_refused && is_first && !missing_layers(runner, &manifest, &layout)?.is_empty()) {
                    return Ok(imported?);
                }
                is_first = false;
            }
        });
        // A name that does not resolve is not waited for.
        runtime.shutdown_background();
        pulled
    }

    /// Gets index, manifest and configuration, and puts them into the layout.
    async fn documents(
        &self,
        session: &mut Session<'_>,
        reference: &Reference,
        layout: &Layout,
    ) -> Result<Manifest, PullError> {
        let response = session.document(&format!("manifests/{}", reference.manifest_name()), Some(ACCEPTED)).await?;
        let mut kind = header(&response, "content-type");
        let mut content = response.body().clone();
        let promised = match reference.digest() {
            Some(digest) => Some(digest.clone()),
            None => Digest::parse(&header(&response, "docker-content-digest")).ok(),
        };
        let mut digest = Digest::of(&content);
        if promised.is_some_and(|promised| promised != digest) {
            return Err(PullError::Lies(format!("the manifest {}", reference.manifest_name())));
        }
        for _ in 0..self.limits.depth {
            match documents::read(&content, &kind)? {
                Document::Index(chosen) => {
                    content = self.named(session, &chosen, "manifests", Some(ACCEPTED)).await?;
                    (kind, digest) = (chosen.media_type, chosen.digest);
                }
                Document::Manifest(manifest) => {
                    self.check(&manifest)?;
                    let config = self.named(session, &manifest.config, "blobs", None).await?;
                    layout.put(&manifest.config.digest, &config)?;
                    layout.put(&digest, &content)?;
                    layout.put_index(&manifest.media_type, &digest, content.len())?;
                    return Ok(manifest);
                }
            }
        }
        Err(PullError::BadImage("indexes within indexes within indexes".into()))
    }

    /// A document that another one names.
    async fn named(
        &self,
        session: &mut Session<'_>,
        descriptor: &Descriptor,
        place: &str,
        accept: Option<&str>,
    ) -> Result<bytes::Bytes, PullError> {
        if descriptor.size > self.limits.document_bytes as u64 {
            return Err(PullError::BadImage("one of its documents is too long".into()));
        }
        let content = session.document(&format!("{place}/{}", descriptor.digest), accept).await;
        let content = content.map_err(missing_part)?.into_body();
        if content.len() as u64 != descriptor.size || Digest::of(&content) != descriptor.digest {
            return Err(PullError::Lies(format!("{} with {} bytes", descriptor.digest, descriptor.size)));
        }
        Ok(content)
    }

    fn check(&self, manifest: &Manifest) -> Result<(), PullError> {
        if manifest.layers.is_empty() || manifest.layers.len() > self.limits.layers {
            let (has, most) = (manifest.layers.len(), self.limits.layers);
            return Err(PullError::BadImage(format!("it has {has} layers; 1 to {most} are taken")));
        }
        let total = manifest.layers.iter().try_fold(0_u64, |sum, layer| sum.checked_add(layer.size));
        if total.is_none_or(|total| total > self.limits.image_bytes) {
            return Err(PullError::BadImage("it is larger than allowed".into()));
        }
        Ok(())
    }

    fn check_room(&self, missing: &[Descriptor]) -> Result<(), PullError> {
        let needed = missing.iter().fold(self.limits.disk_reserve_bytes, |sum, layer| sum.saturating_add(layer.size));
        let disk = rustix::fs::statvfs(&self.directory).map_err(io::Error::from)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < needed {
            return Err(PullError::Local(io::ErrorKind::StorageFull.into()));
        }
        Ok(())
    }

    /// Gets layers, one after the other.
    async fn layers(
        &self,
        session: &mut Session<'_>,
        missing: &[Descriptor],
        layout: &Layout,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), PullError> {
        let total_bytes = missing.iter().map(|layer| layer.size).sum();
        let mut before = 0;
        for layer in missing {
            let tell = |done: u64| progress(Progress::Fetching { done_bytes: before + done, total_bytes });
            self.layer(session, layer, layout, &tell).await?;
            before += layer.size;
        }
        Ok(())
    }

    /// Gets one layer, in as many parts as the network makes of it.
    async fn layer(
        &self,
        session: &mut Session<'_>,
        layer: &Descriptor,
        layout: &Layout,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<(), PullError> {
        let mut blob = layout.blob(&layer.digest, layer.size)?;
        let mut in_vain = 0;
        for _ in 0..self.limits.attempts_in_all {
            let before = blob.length();
            let trouble = match self.layer_part(session, layer, &mut blob, tell).await {
                Ok(()) => return blob.finish(),
                Err(trouble) => trouble,
            };
            in_vain = if blob.length() > before { 0 } else { in_vain + 1 };
            match trouble {
                Trouble::Passing(_) if in_vain < self.limits.attempts => session.pause(in_vain).await?,
                trouble => return Err(missing_part(trouble.into_error())),
            }
        }
        Err(PullError::Unreachable("its connections break again and again".into()))
    }

    /// Reads on from where the blob ends.
    async fn layer_part(
        &self,
        session: &mut Session<'_>,
        layer: &Descriptor,
        blob: &mut layout::Blob,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<(), Trouble> {
        if blob.is_complete() {
            return Ok(());
        }
        let ask = Ask { accept: None, from: blob.length() };
        let response = session.get(&format!("blobs/{}", layer.digest), ask).await?;
        let range = header(&response, "content-range");
        let goes_on = response.status() == http::StatusCode::PARTIAL_CONTENT
            && range.strip_prefix(&format!("bytes {}-", blob.length())).is_some();
        if !goes_on {
            if response.status() == http::StatusCode::PARTIAL_CONTENT {
                return Err(PullError::Lies("another part of a layer".into()).into());
            }
            // It does not know of parts: from the beginning.
            blob.begin_again()?;
        }
        let mut body = response.into_body();
        while let Some(bytes) = session.next(&mut body).await? {
            blob.take(&bytes)?;
            tell(blob.length());
        }
        match blob.is_complete() {
            true => Ok(()),
            false => Err(PullError::Lies(format!("{} with {} bytes", layer.digest, layer.size)).into()),
        }
    }
}

/// A pull's turn: however it ends, those that wait for it go on.
struct Turn<'a> {
    puller: &'a Puller,
    name: &'a str,
    gate: Arc<Gate>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.puller.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(self.name);
        *self.gate.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.gate.over.notify_all();
    }
}

impl Gate {
    fn wait(&self, cancelled: &AtomicBool) -> Result<(), PullError> {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_over {
            if cancelled.load(Ordering::Relaxed) {
                return Err(PullError::Cancelled);
            }
            (is_over, _) = self.over.wait_timeout(is_over, WAIT_POLL).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

/// An image that lacks a part is damaged; it is not that there is no such image.
fn missing_part(error: PullError) -> PullError {
    match error {
        PullError::NotFound => PullError::BadImage("the registry lacks a part of it".into()),
        other => other,
    }
}

/// The layers that neither the runner nor the layout has, each once.
fn missing_layers(runner: &Runner, manifest: &Manifest, layout: &Layout) -> Result<Vec<Descriptor>, PullError> {
    let digests: Vec<Digest> = manifest.layers.iter().map(|layer| layer.digest.clone()).collect();
    let missing = runner.missing_layers(&digests)?;
    let mut listed: Vec<Descriptor> = Vec::new();
    for layer in &manifest.layers {
        let is_new = listed.iter().all(|other| other.digest != layer.digest);
        if is_new && missing.contains(&layer.digest) && !layout.has(&layer.digest) {
            listed.push(layer.clone());
        }
    }
    Ok(listed)
}

fn header<B>(response: &http::Response<B>, name: &str) -> String {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
