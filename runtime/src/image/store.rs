//! The store of images: imports, looks up and removes them.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::manifest::{Config, DOCUMENT_BYTES_MAX, Descriptor, DockerEntry, Index, Manifest, parse};
use super::source::{Decompressed, GZIP, Given, Source, nameless};
use super::{ImageError, ImageLimits, fault, layer, open_directory};
use crate::digest::{Digest, HashingReader};
use crate::model::{ImageInfo, Pruned};
use crate::records::ImageRecord;
use crate::records::{LayerRecord, Records};

/// Images and their layers, below one directory.
pub(crate) struct Images {
    layers: PathBuf,
    staging: PathBuf,
    records: Arc<Records>,
    limits: ImageLimits,
    /// Added to the owners of all files: 0 where layers are mounted with other ids.
    shift: u32,
    /// Held while layers get their names or lose them.
    commit: Mutex<()>,
    imports: AtomicU64,
}

/// A layer as an image lists it.
struct Listed {
    file: String,
    /// Digest and size of the archive, where something states them.
    blob: Option<(Digest, u64)>,
}

/// What an image's documents say.
struct Documents {
    digest: Digest,
    config: Config,
    layers: Vec<Listed>,
}

const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Indexes within indexes.
const INDEX_DEPTH_MAX: usize = 4;

fn bad<T>(reason: impl Into<String>) -> Result<T, ImageError> {
    Err(ImageError::Bad(reason.into()))
}

impl Images {
    /// The store below this directory. Removes what interrupted imports have left, and records whose layers are gone.
    pub fn open(directory: &Path, records: Arc<Records>, limits: ImageLimits, shift: u32) -> Result<Self, ImageError> {
        // Layers with shifted owners are of no use where they are not shifted, and the other way round.
        let layers = directory.join(if shift == 0 { "layers" } else { "layers-shifted" });
        let staging = directory.join("staging");
        remove_tree(&staging)?;
        for made in [&layers, &staging] {
            make_private_directory(made)?;
        }
        let images =
            Images { layers, staging, records, limits, shift, commit: Mutex::new(()), imports: AtomicU64::new(0) };
        for record in images.records.images()? {
            if !record.layers.iter().all(|layer| images.layer_path(layer).is_dir()) {
                tracing::warn!(image = %record.digest, "layers of an image are gone: it is forgotten");
                images.records.remove_image(&record.digest)?;
            }
        }
        let _held = images.commit.lock().unwrap_or_else(PoisonError::into_inner);
        images.remove_unused_layers()?;
        drop(_held);
        Ok(images)
    }

    /// Where a layer lies once it is whole.
    pub fn layer_path(&self, layer: &Digest) -> PathBuf {
        self.layers.join(layer.hex())
    }

    /// Takes an image in.
    pub fn import(
        &self,
        given: Given<'_>,
        name: &str,
        select: Option<&str>,
        now_micros: i64,
    ) -> Result<ImageInfo, ImageError> {
        let well_formed = (1..=255).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !well_formed || Digest::parse(name).is_ok() {
            return bad("an image's name has 1 to 255 visible characters and is no digest");
        }
        let number = self.imports.fetch_add(1, Ordering::Relaxed);
        let staging = Staging(self.staging.join(number.to_string()));
        make_private_directory(&staging.0)?;
        let directory = open_directory(&staging.0)?;
        let source = Source::open(given, &self.limits, || nameless(&directory))?;
        let documents = documents_of(&source, select)?;
        let record = self.unpack_missing(&source, documents, &staging.0, name, now_micros)?;
        self.info(&record)
    }

    fn unpack_missing(
        &self,
        source: &Source<'_>,
        documents: Documents,
        staging: &Path,
        name: &str,
        now_micros: i64,
    ) -> Result<ImageRecord, ImageError> {
        let Documents { digest, config, layers: listed } = documents;
        if config.os != "linux" || config.architecture != "amd64" {
            return bad("it is for another kind of machine");
        }
        let diff_ids = config.rootfs.diff_ids.clone();
        if diff_ids.len() != listed.len() {
            return bad("its manifest and its configuration disagree about its layers");
        }
        if diff_ids.is_empty() || diff_ids.len() > self.limits.layers {
            return bad(format!("it has {} layers; 1 to {} are taken", diff_ids.len(), self.limits.layers));
        }
        let mut size_bytes = 0_u64;
        let mut unpacked: Vec<(Digest, PathBuf, LayerRecord)> = Vec::new();
        for (diff_id, listed) in diff_ids.iter().zip(&listed) {
            let known = unpacked.iter().find(|(digest, _, _)| digest == diff_id).map(|(_, _, record)| record.clone());
            let record = match known.or(self.records.layer(diff_id)?.filter(|_| self.layer_path(diff_id).is_dir())) {
                Some(record) => record,
                None => {
                    let left = self.limits.image_bytes.saturating_sub(size_bytes);
                    let path = staging.join(unpacked.len().to_string());
                    let record = self.unpack_layer(source, listed, diff_id, &path, left)?;
                    unpacked.push((diff_id.clone(), path, record.clone()));
                    record
                }
            };
            size_bytes = size_bytes.saturating_add(record.bytes);
            if size_bytes > self.limits.image_bytes {
                return bad("it unpacks to more than allowed");
            }
        }
        // A layer that comes twice counts where it lies highest: what is in it is there in any case.
        let mut layers: Vec<Digest> = Vec::new();
        for diff_id in diff_ids.into_iter().rev() {
            if !layers.contains(&diff_id) {
                layers.push(diff_id);
            }
        }
        layers.reverse();
        let place = |layer: &Digest| {
            let here = unpacked.iter().find(|(digest, _, _)| digest == layer);
            here.map_or_else(|| self.layer_path(layer), |(_, path, _)| path.clone())
        };
        layer::check_mount_points(&layers.iter().rev().map(place).collect::<Vec<_>>())?;
        let record =
            ImageRecord { digest, imported_at_micros: now_micros, layers, size_bytes, config: config.into_config()? };
        self.commit(name, &record, unpacked)?;
        Ok(record)
    }

    /// Everything is on the disk before a layer gets its name, and every layer has its name before the record is made.
    fn commit(
        &self,
        name: &str,
        record: &ImageRecord,
        unpacked: Vec<(Digest, PathBuf, LayerRecord)>,
    ) -> Result<(), ImageError> {
        let layers = open_directory(&self.layers)?;
        if !unpacked.is_empty() {
            rustix::fs::syncfs(&layers)?;
        }
        let _held = self.commit.lock().unwrap_or_else(PoisonError::into_inner);
        for (diff_id, path, layer) in unpacked {
            let place = self.layer_path(&diff_id);
            // Another import was first.
            if !place.is_dir() {
                std::fs::rename(&path, &place)?;
            }
            self.records.put_layer(&diff_id, &layer)?;
        }
        rustix::fs::fsync(&layers)?;
        if !record.layers.iter().all(|layer| self.layer_path(layer).is_dir()) {
            return Err(io::Error::other("a layer was removed meanwhile; try again").into());
        }
        self.records.put_image(name, record)?;
        Ok(())
    }

    fn unpack_layer(
        &self,
        source: &Source<'_>,
        listed: &Listed,
        diff_id: &Digest,
        path: &Path,
        left_bytes: u64,
    ) -> Result<LayerRecord, ImageError> {
        let Some(file) = source.file(&listed.file)? else {
            return bad("one of its layers is missing");
        };
        make_private_directory(path)?;
        let directory = open_directory(path)?;
        let mut limits = self.limits.clone();
        limits.layer_bytes =
            limits.layer_bytes.min(left_bytes).min(layer::free_bytes(&directory, limits.disk_reserve_bytes)?);
        rustix::fs::fchmod(&directory, rustix::fs::Mode::from_raw_mode(0o755))?;
        if self.shift != 0 {
            let (owner, group) = (rustix::fs::Uid::from_raw(self.shift), rustix::fs::Gid::from_raw(self.shift));
            rustix::fs::fchown(&directory, Some(owner), Some(group))?;
        }
        let mut archive = HashingReader::new(io::BufReader::with_capacity(1 << 16, file));
        let mut magic = Vec::new();
        (&mut archive).take(4).read_to_end(&mut magic)?;
        if magic == ZSTD {
            return bad("layers compressed by zstd are not supported; gzip and plain ones are");
        }
        let compressed = magic.starts_with(&GZIP);
        let mut whole = Cursor::new(magic).chain(archive);
        let plain: Box<dyn Read + '_> =
            if compressed { Box::new(Decompressed::new(&mut whole)) } else { Box::new(&mut whole) };
        // The archive itself may be longer than what it unpacks to by its headers.
        let headers = limits.entries.saturating_mul(2048).saturating_add(1 << 20);
        let bounded = Bounded { inner: plain, left: limits.layer_bytes.saturating_add(headers) };
        let mut plain = HashingReader::new(bounded);
        let (_, bytes) = layer::unpack(&mut plain, &directory, self.shift, &limits)?;
        io::copy(&mut plain, &mut io::sink())?;
        let (found, _) = plain.finish();
        if found != *diff_id {
            return bad(format!("a layer's content is not {diff_id}, which its configuration promises"));
        }
        io::copy(&mut whole, &mut io::sink())?;
        let (_, archive) = whole.into_inner();
        let (found, length) = archive.finish();
        if let Some((digest, size)) = &listed.blob
            && (*digest != found || *size != length)
        {
            return bad(format!("a layer is not {digest} with {size} bytes, which its manifest promises"));
        }
        Ok(LayerRecord { bytes, blob: found })
    }

    /// An image by name or digest.
    pub fn find(&self, reference: &str) -> Result<Option<ImageRecord>, ImageError> {
        match Digest::parse(reference) {
            Ok(digest) => Ok(self.records.image(&digest)?),
            Err(_) => match self.records.named_image(reference)? {
                Some(digest) => Ok(self.records.image(&digest)?),
                None => Ok(None),
            },
        }
    }

    /// What clients are told of an image.
    pub fn info(&self, record: &ImageRecord) -> Result<ImageInfo, ImageError> {
        Ok(ImageInfo {
            digest: record.digest.clone(),
            names: self.records.names_of(&record.digest)?,
            size_bytes: record.size_bytes,
            layers: u32::try_from(record.layers.len()).unwrap_or(u32::MAX),
            imported_at_micros: record.imported_at_micros,
        })
    }

    /// All images.
    pub fn list(&self) -> Result<Vec<ImageInfo>, ImageError> {
        self.records.images()?.iter().map(|record| self.info(record)).collect()
    }

    /// Takes a name or, by digest, an image away. `hold` gives nothing if a container needs the image; what else it
    /// gives keeps containers of it from being started, and is held until the image is forgotten.
    pub fn remove<H>(&self, reference: &str, hold: impl Fn(&Digest) -> Option<H>) -> Result<Removed, ImageError> {
        let _held = self.commit.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(record) = self.find(reference)? else { return Ok(Removed::Absent) };
        let names = self.records.names_of(&record.digest)?;
        let by_digest = Digest::parse(reference).is_ok();
        if !by_digest && names.iter().any(|name| name != reference) {
            self.records.remove_name(reference)?;
            return Ok(Removed::Done);
        }
        let Some(held) = hold(&record.digest) else { return Ok(Removed::InUse) };
        self.records.remove_image(&record.digest)?;
        drop(held);
        self.remove_unused_layers()?;
        Ok(Removed::Done)
    }

    /// Takes all images away that have no name and that no container needs; `hold` is that of [`Images::remove`].
    pub fn prune<H>(&self, hold: impl Fn(&Digest) -> Option<H>) -> Result<Pruned, ImageError> {
        let _held = self.commit.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pruned = Pruned::default();
        for digest in self.records.nameless_images()? {
            let Some(held) = hold(&digest) else { continue };
            self.records.remove_image(&digest)?;
            drop(held);
            pruned.images.push(digest);
        }
        (pruned.layers, pruned.bytes) = self.remove_unused_layers()?;
        Ok(pruned)
    }

    /// Which of these blobs an import would have to bring.
    pub fn missing(&self, blobs: &[Digest]) -> Result<Vec<Digest>, ImageError> {
        let known: BTreeSet<Digest> = self.records.layers()?.into_iter().map(|(_, layer)| layer.blob).collect();
        Ok(blobs.iter().filter(|blob| !known.contains(blob)).cloned().collect())
    }

    /// Returns how many layers went, and the bytes of their files. The record goes first: a layer without a record is
    /// removed at the next start.
    fn remove_unused_layers(&self) -> Result<(u32, u64), ImageError> {
        let used: BTreeSet<Digest> = self.records.images()?.into_iter().flat_map(|record| record.layers).collect();
        let mut removed = (0_u32, 0_u64);
        for (layer, record) in self.records.layers()? {
            if !used.contains(&layer) {
                self.records.remove_layer(&layer)?;
                removed = (removed.0.saturating_add(1), removed.1.saturating_add(record.bytes));
            }
        }
        let used: BTreeSet<&str> = used.iter().map(Digest::hex).collect();
        for entry in std::fs::read_dir(&self.layers)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| used.contains(name)) {
                remove_tree(&entry.path())?;
            }
        }
        Ok(removed)
    }
}

/// How a removal went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// It is gone.
    Done,
    /// There was none of that name.
    Absent,
    /// A container that has not ended needs it.
    InUse,
}

/// A directory that goes with whoever works in it, however that ends.
struct Staging(PathBuf);

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "what an import left cannot be removed");
        }
    }
}

/// Fails a read that goes on beyond a bound.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| fault("it unpacks to more than allowed"))?;
        Ok(count)
    }
}

fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

/// A document by its digest, which is checked.
fn blob(source: &Source<'_>, descriptor: &Descriptor, what: &str) -> Result<Vec<u8>, ImageError> {
    let content = source.document(&blob_path(&descriptor.digest), DOCUMENT_BYTES_MAX)?;
    let Some(content) = content else { return bad(format!("its {what} {} is missing", descriptor.digest)) };
    if Digest::of(&content) != descriptor.digest || content.len() as u64 != descriptor.size {
        return bad(format!("its {what} is not {} with {} bytes", descriptor.digest, descriptor.size));
    }
    Ok(content)
}

fn documents_of(source: &Source<'_>, select: Option<&str>) -> Result<Documents, ImageError> {
    if let Some(index) = source.document("index.json", DOCUMENT_BYTES_MAX)? {
        let descriptor = choose(parse::<Index>(&index, "index")?.manifests, select)?;
        return layout_documents(source, descriptor);
    }
    match source.document("manifest.json", DOCUMENT_BYTES_MAX)? {
        Some(manifest) => archive_documents(source, parse(&manifest, "manifest")?, select),
        None => bad("neither an OCI layout (index.json) nor a docker-archive (manifest.json)"),
    }
}

/// By the name asked for; else the only one that fits this machine.
fn choose(manifests: Vec<Descriptor>, select: Option<&str>) -> Result<Descriptor, ImageError> {
    let fitting = manifests
        .into_iter()
        .filter(|descriptor| (descriptor.is_manifest() || descriptor.is_index()) && descriptor.fits_this_machine());
    let mut fitting: Vec<Descriptor> = match select {
        Some(name) => fitting.filter(|descriptor| descriptor.has_name(name)).collect(),
        None => fitting.collect(),
    };
    match (fitting.pop(), fitting.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => bad("nothing in it is an image of that name for linux on amd64"),
        (Some(_), others) => bad(format!("it has {} images; say which by its name", others + 1)),
    }
}

fn layout_documents(source: &Source<'_>, mut descriptor: Descriptor) -> Result<Documents, ImageError> {
    for _ in 0..INDEX_DEPTH_MAX {
        let content = blob(source, &descriptor, "manifest")?;
        if descriptor.is_index() {
            descriptor = choose(parse::<Index>(&content, "index")?.manifests, None)?;
            continue;
        }
        let manifest: Manifest = parse(&content, "manifest")?;
        if manifest.schema_version != 2 {
            return bad("its manifest is of another version than 2");
        }
        let config = parse(&blob(source, &manifest.config, "configuration")?, "configuration")?;
        let layers = manifest.layers.into_iter();
        let layers =
            layers.map(|layer| Listed { file: blob_path(&layer.digest), blob: Some((layer.digest, layer.size)) });
        return Ok(Documents { digest: descriptor.digest, config, layers: layers.collect() });
    }
    bad("indexes within indexes within indexes")
}

fn archive_documents(
    source: &Source<'_>,
    entries: Vec<DockerEntry>,
    select: Option<&str>,
) -> Result<Documents, ImageError> {
    let named = |entry: &DockerEntry, name: &str| entry.repo_tags.iter().flatten().any(|tag| tag == name);
    let mut entries: Vec<DockerEntry> =
        entries.into_iter().filter(|entry| select.is_none_or(|name| named(entry, name))).collect();
    let entry = match (entries.pop(), entries.len()) {
        (Some(only), 0) => only,
        (None, _) => return bad("it has no image of that name"),
        (Some(_), others) => return bad(format!("it has {} images; say which by its name", others + 1)),
    };
    let Some(config) = source.document(&entry.config, DOCUMENT_BYTES_MAX)? else {
        return bad("its configuration is missing");
    };
    let digest = Digest::of(&config);
    // The file is named by the digest of what is in it: `HEX.json`, `blobs/sha256/HEX` or `sha256:HEX`.
    let name = entry.config.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("sha256:").unwrap_or(name);
    if name.strip_suffix(".json").unwrap_or(name) != digest.hex() {
        return bad("its configuration is not what the name of its file promises");
    }
    let layers = entry.layers.into_iter().map(|file| Listed { file, blob: None }).collect();
    Ok(Documents { digest, config: parse(&config, "configuration")?, layers })
}

/// Removes a directory with all that is in it, if it is there.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes a directory that only root looks into, with what is missing above it.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
