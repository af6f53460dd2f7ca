//! The store of images: imports, looks up and removes them.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::manifest::{Config, DOCUMENT_BYTES_MAX, Descriptor, DockerEntry, Index, Manifest, parse};
use super::source::{Decompressed, GZIP, Given, Source, nameless};
use super::{ImageError, ImageLimits, layer, open_directory};
use crate::digest::{Digest, HashingReader};
use crate::model::{ImageInfo, LayerInfo, Pruned};
use crate::protocol::ImportTerms;
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

/// Layers that were unpacked into a staging directory.
struct Unpacked {
    /// Of all layers of the image, those that were there included.
    size_bytes: u64,
    layers: Vec<(Digest, PathBuf, LayerRecord)>,
}

impl Unpacked {
    /// A layer by its digest.
    fn layer(&self, digest: &Digest) -> Option<&(Digest, PathBuf, LayerRecord)> {
        self.layers.iter().find(|(other, _, _)| other == digest)
    }
}

/// What a layer may take.
struct Left {
    /// Of what an image may.
    image_bytes: u64,
    /// Of what its caller gives.
    room_bytes: u64,
}

/// What bounds a layer, in bytes: whichever is the lowest.
struct Bounds {
    limit: u64,
    room: u64,
    free: u64,
}

impl Bounds {
    fn of(directory: &OwnedFd, limits: &ImageLimits, left: &Left) -> Result<Bounds, ImageError> {
        Ok(Bounds {
            limit: limits.layer_bytes.min(left.image_bytes),
            room: left.room_bytes,
            free: layer::free_bytes(directory, limits.disk_reserve_bytes)?,
        })
    }

    fn layer_bytes(&self) -> u64 {
        self.limit.min(self.room).min(self.free)
    }

    /// What is told of a layer that takes more.
    fn exceeded(&self) -> ImageError {
        if self.room <= self.limit.min(self.free) {
            ImageError::TooLarge(self.room)
        } else if self.free < self.limit {
            io::Error::from(io::ErrorKind::StorageFull).into()
        } else {
            ImageError::Bad("a layer unpacks to more than allowed".into())
        }
    }
}

impl ImageLimits {
    /// What a layer of this compressed size may be.
    fn expanded_bytes(&self, compressed_bytes: u64) -> u64 {
        compressed_bytes.saturating_mul(self.expansion).saturating_add(self.expansion_free_bytes)
    }

    /// What is told of an archive that is longer.
    fn stream_exceeded(&self, is_expansion: bool) -> ImageError {
        let (times, free) = (self.expansion, self.expansion_free_bytes);
        ImageError::Bad(match is_expansion {
            true => {
                format!("a layer unpacks to more than allowed: {times} times its compressed size, beyond {free} bytes")
            }
            false => "a layer unpacks to more than allowed".into(),
        })
    }
}

/// A layer that comes twice counts where it lies highest: what is in it is there in any case.
fn each_where_it_lies_highest(diff_ids: Vec<Digest>) -> Vec<Digest> {
    let mut layers: Vec<Digest> = Vec::new();
    for diff_id in diff_ids.into_iter().rev() {
        if !layers.contains(&diff_id) {
            layers.push(diff_id);
        }
    }
    layers.reverse();
    layers
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

    /// Takes an image in, on these terms.
    pub fn import(
        &self,
        given: Given<'_>,
        name: &str,
        select: Option<&str>,
        now_micros: i64,
        terms: &ImportTerms,
    ) -> Result<ImageInfo, ImageError> {
        let well_formed = (1..=255).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !well_formed || Digest::parse(name).is_ok() {
            return bad("an image's name has 1 to 255 visible characters and is no digest");
        }
        let number = self.imports.fetch_add(1, Ordering::Relaxed);
        let staging = Staging(self.staging.join(number.to_string()));
        make_private_directory(&staging.0)?;
        let directory = open_directory(&staging.0)?;
        let disk_reserve_bytes = terms.reserve_bytes.unwrap_or(self.limits.disk_reserve_bytes);
        let limits = ImageLimits { disk_reserve_bytes, ..self.limits.clone() };
        let source = Source::open(given, &limits, || nameless(&directory))?;
        let Documents { digest, config, layers: listed } = documents_of(&source, select)?;
        if config.os != "linux" || config.architecture != "amd64" {
            return bad("it is for another kind of machine");
        }
        let diff_ids = config.rootfs.diff_ids.clone();
        if diff_ids.len() != listed.len() {
            return bad("its manifest and its configuration disagree about its layers");
        }
        let unpacked = self.unpack_missing(&source, &diff_ids, &listed, &staging.0, &limits, terms)?;
        let layers = each_where_it_lies_highest(diff_ids);
        let place =
            |layer: &Digest| unpacked.layer(layer).map_or_else(|| self.layer_path(layer), |(_, path, _)| path.clone());
        layer::check_mount_points(&layers.iter().rev().map(place).collect::<Vec<_>>())?;
        let record = ImageRecord {
            digest,
            imported_at_micros: now_micros,
            layers,
            size_bytes: unpacked.size_bytes,
            config: config.into_config()?,
            is_pulled: terms.is_pulled,
            used_at_micros: None,
        };
        self.commit(name, record, unpacked.layers).and_then(|record| self.info(&record))
    }

    /// Unpacks the layers that are not there.
    fn unpack_missing(
        &self,
        source: &Source<'_>,
        diff_ids: &[Digest],
        listed: &[Listed],
        staging: &Path,
        limits: &ImageLimits,
        terms: &ImportTerms,
    ) -> Result<Unpacked, ImageError> {
        if diff_ids.is_empty() || diff_ids.len() > limits.layers {
            return bad(format!("it has {} layers; 1 to {} are taken", diff_ids.len(), limits.layers));
        }
        let mut unpacked = Unpacked { size_bytes: 0, layers: Vec::new() };
        let (mut counted, mut taken_bytes) = (BTreeSet::from_iter(&terms.counted), 0_u64);
        let room_bytes = terms.room_bytes.unwrap_or(u64::MAX);
        for (diff_id, listed) in diff_ids.iter().zip(listed) {
            let is_new = counted.insert(diff_id);
            let record = match self.known_layer(diff_id, &unpacked)? {
                Some(record) => record,
                None => {
                    let left = Left {
                        image_bytes: limits.image_bytes.saturating_sub(unpacked.size_bytes),
                        room_bytes: if is_new { room_bytes.saturating_sub(taken_bytes) } else { u64::MAX },
                    };
                    let path = staging.join(unpacked.layers.len().to_string());
                    let unpacking = self.unpack_layer(source, listed, diff_id, &path, limits, &left);
                    let record = unpacking.map_err(|error| match error {
                        ImageError::TooLarge(_) => ImageError::TooLarge(room_bytes),
                        other => other,
                    })?;
                    unpacked.layers.push((diff_id.clone(), path, record.clone()));
                    record
                }
            };
            unpacked.size_bytes = unpacked.size_bytes.saturating_add(record.bytes);
            if unpacked.size_bytes > limits.image_bytes {
                return bad("it unpacks to more than allowed");
            }
            taken_bytes = taken_bytes.saturating_add(if is_new { record.bytes } else { 0 });
            if taken_bytes > room_bytes {
                return Err(ImageError::TooLarge(room_bytes));
            }
        }
        Ok(unpacked)
    }

    /// A layer that was unpacked before, by this import or another one.
    fn known_layer(&self, diff_id: &Digest, unpacked: &Unpacked) -> Result<Option<LayerRecord>, ImageError> {
        if let Some((_, _, record)) = unpacked.layer(diff_id) {
            return Ok(Some(record.clone()));
        }
        Ok(self.records.layer(diff_id)?.filter(|_| self.layer_path(diff_id).is_dir()))
    }

    /// Everything is on the disk before a layer gets its name, and every layer has its name before the record is made.
    fn commit(
        &self,
        name: &str,
        mut record: ImageRecord,
        unpacked: Vec<(Digest, PathBuf, LayerRecord)>,
    ) -> Result<ImageRecord, ImageError> {
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
        // What somebody has imported stays his, whoever pulls the same.
        if let Some(before) = self.records.image(&record.digest)? {
            record.is_pulled &= before.is_pulled;
            record.used_at_micros = before.used_at_micros;
        }
        self.records.put_image(name, &record)?;
        Ok(record)
    }

    /// A container of it is being started. Noted to a day, and on the disk with the next thing that is.
    pub fn used(&self, record: &ImageRecord, now_micros: i64) {
        const DAY_MICROS: i64 = 86_400_000_000;
        if record.used_at_micros.is_some_and(|before| now_micros.abs_diff(before) < DAY_MICROS.unsigned_abs()) {
            return;
        }
        if let Err(error) = self.records.put_use(&record.digest, now_micros) {
            tracing::warn!(image = %record.digest, %error, "the use of an image is not noted");
        }
    }

    /// The layers of an image, lowest first.
    pub fn layers_of(&self, record: &ImageRecord) -> Result<Vec<LayerInfo>, ImageError> {
        let info = |digest: &Digest| {
            let found = self.records.layer(digest)?;
            Ok(LayerInfo { digest: digest.clone(), bytes: found.map_or(0, |layer| layer.bytes) })
        };
        record.layers.iter().map(info).collect()
    }

    /// Unpacks one layer. [`ImageError::TooLarge`] if it takes more than `left.room_bytes`.
    fn unpack_layer(
        &self,
        source: &Source<'_>,
        listed: &Listed,
        diff_id: &Digest,
        path: &Path,
        limits: &ImageLimits,
        left: &Left,
    ) -> Result<LayerRecord, ImageError> {
        let Some((file, size)) = source.file(&listed.file)? else {
            return bad("one of its layers is missing");
        };
        let directory = self.layer_directory(path)?;
        let bounds = Bounds::of(&directory, limits, left)?;
        let limits = ImageLimits { layer_bytes: bounds.layer_bytes(), ..limits.clone() };
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
        let expanded = if compressed { limits.expanded_bytes(size) } else { u64::MAX };
        // The archive itself may be longer than what it unpacks to by its headers.
        let headers = limits.entries.saturating_mul(2048).saturating_add(1 << 20);
        let stream_bytes = limits.layer_bytes.saturating_add(headers).min(expanded);
        let is_over = Cell::new(false);
        let mut plain = HashingReader::new(Bounded { inner: plain, left: stream_bytes, is_over: &is_over });
        let unpacked = layer::unpack(&mut plain, &directory, self.shift, &limits).and_then(|bytes| {
            io::copy(&mut plain, &mut io::sink())?;
            Ok(bytes)
        });
        let bytes = unpacked.map_err(|error| match error {
            ImageError::TooMuch => bounds.exceeded(),
            _ if is_over.get() => limits.stream_exceeded(stream_bytes == expanded),
            other => other,
        })?;
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

    /// A directory for a layer, which belongs to whom it does in containers.
    fn layer_directory(&self, path: &Path) -> Result<OwnedFd, ImageError> {
        make_private_directory(path)?;
        let directory = open_directory(path)?;
        rustix::fs::fchmod(&directory, rustix::fs::Mode::from_raw_mode(0o755))?;
        if self.shift != 0 {
            let (owner, group) = (rustix::fs::Uid::from_raw(self.shift), rustix::fs::Gid::from_raw(self.shift));
            rustix::fs::fchown(&directory, Some(owner), Some(group))?;
        }
        Ok(directory)
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
            is_pulled: record.is_pulled,
            used_at_micros: record.used_at_micros,
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
struct Bounded<'a, R> {
    inner: R,
    left: u64,
    /// Says why it failed.
    is_over: &'a Cell<bool>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let Some(left) = self.left.checked_sub(count as u64) else {
            self.is_over.set(true);
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.left = left;
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
