//! A pull from beginning to end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use quintet_platform::egress::Egress;
use quintet_runtime::{Digest, ImageInfo, ImportTerms, Refusal, Runner, RunnerError};

use super::access::Registries;
use super::documents::{self, ACCEPTED, Descriptor, Document, Manifest};
use super::layout::{self, Layout};
use super::model::{Progress, PullError, PullLimits};
use super::reference::Reference;
use super::session::{Ask, Session, Trouble};

/// Pulls images.
#[derive(Debug)]
pub struct Puller {
    egress: Egress,
    registries: Registries,
    directory: PathBuf,
    limits: PullLimits,
}

/// Bytes that arrive between two looks at the disk.
const LOOK_BYTES: u64 = 4 << 20;

impl Puller {
    /// `directory` is where layers are put while they arrive. It is this value's alone and is emptied now: what lies
    /// there was left by a process that was killed.
    ///
    /// # Errors
    /// The directory cannot be made or emptied.
    pub fn new(egress: Egress, registries: Registries, directory: &Path, limits: PullLimits) -> io::Result<Puller> {
        layout::make_empty(directory)?;
        Ok(Puller { egress, registries, directory: directory.to_owned(), limits })
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
        self.pull_on(runner, reference, &ImportTerms::default(), cancelled, progress)
    }

    /// The same, on these terms.
    ///
    /// # Errors
    /// See [`PullError`].
    pub fn pull_on(
        &self,
        runner: &Runner,
        reference: &Reference,
        terms: &ImportTerms,
        cancelled: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<ImageInfo, PullError> {
        let name = reference.to_string();
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
                let imported = runner.import_with(layout.open()?, &name, None, terms.clone());
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
        let needed = missing.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.size));
        self.check_free(needed)
    }

    /// What arrives leaves the reserve free, and a quarter of it besides: at the reserve itself nothing of what the
    /// appliance is for could be written any more.
    fn check_free(&self, needed: u64) -> Result<(), PullError> {
        let reserve = self.limits.disk_reserve_bytes;
        let disk = rustix::fs::statvfs(&self.directory).map_err(io::Error::from)?;
        let left = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_sub(reserve.saturating_add(reserve / 4));
        if left < needed { Err(PullError::NoRoom) } else { Ok(()) }
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
        let mut looked_at = blob.length();
        while let Some(bytes) = session.next(&mut body).await? {
            blob.take(&bytes)?;
            // Others write, too.
            if blob.length() - looked_at >= LOOK_BYTES {
                self.check_free(0)?;
                looked_at = blob.length();
            }
            tell(blob.length());
        }
        match blob.is_complete() {
            true => Ok(()),
            false => Err(PullError::Lies(format!("{} with {} bytes", layer.digest, layer.size)).into()),
        }
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
