//! The runner's records: which containers and images there are. In redb, since what is recorded must be durable before
//! anything is started.
//!
//! A record is JSON under a text key, so that an older file is read by a newer runner as long as fields are only added.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use redb::backends::FileBackend;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::description::ContainerId;
use crate::digest::Digest;
use crate::model::Outcome;

type Table = TableDefinition<'static, &'static str, &'static [u8]>;

const CONTAINERS: Table = TableDefinition::new("containers");
const IMAGES: Table = TableDefinition::new("images");
const NAMES: Table = TableDefinition::new("names");
const LAYERS: Table = TableDefinition::new("layers");

/// A container as it is recorded: before it is started, and again with its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ContainerRecord {
    pub image: Digest,
    /// Its range of ids: root inside is `IDS_FIRST + slot * 65536` outside.
    pub slot: u32,
    /// The order of the ends, from 1; 0 while it has not ended.
    pub ended: u64,
    pub outcome: Option<Outcome>,
    /// The life of the machine in which it was admitted, by the kernel's name for it: what a file of it tells is certain
    /// for as long as that lasts. Empty if that is not known.
    #[serde(default)]
    pub boot: String,
    /// What it may write to the disk, in bytes: its writable layer, if that lies there, and its output.
    #[serde(default)]
    pub promised_bytes: u64,
}

/// An image as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageRecord {
    pub digest: Digest,
    pub imported_at_micros: i64,
    /// Digests of the uncompressed layers, lowest first, each once.
    pub layers: Vec<Digest>,
    pub size_bytes: u64,
    pub config: ImageConfig,
    /// Nobody but runs has ever wanted it: it can go and be pulled again.
    #[serde(default)]
    pub is_pulled: bool,
    /// When a container of it was started last, to a day.
    #[serde(default)]
    pub used_at_micros: Option<i64>,
}

/// What an image says about its containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageConfig {
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    pub env: Vec<String>,
    /// `user`, `user:group`, by name or number; empty: root.
    pub user: String,
    /// Empty: `/`.
    pub directory: String,
    /// Number of the signal that asks it to stop.
    pub stop_signal: Option<i32>,
}

/// A layer as it is recorded, by the digest of its uncompressed archive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LayerRecord {
    /// Of its files.
    pub bytes: u64,
    /// The digest of the archive it came in.
    pub blob: Digest,
}

/// The open records.
pub(crate) struct Records {
    path: PathBuf,
    /// None while they could not be opened again.
    database: RwLock<Option<Database>>,
}

/// The records cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct RecordsError {
    pub reason: String,
    /// The disk failed before, and nothing is done any more until the file is opened again.
    is_closed: bool,
}

fn failed(error: impl Into<redb::Error>) -> RecordsError {
    let error = error.into();
    RecordsError { reason: error.to_string(), is_closed: matches!(error, redb::Error::PreviousIo) }
}

fn unreadable(error: impl std::fmt::Display) -> RecordsError {
    RecordsError { reason: error.to_string(), is_closed: false }
}

type Result<T> = std::result::Result<T, RecordsError>;

/// Opens the file itself, or makes it: no link is followed.
fn open_file(path: &Path) -> Result<Database> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path).map_err(redb::StorageError::from).map_err(failed)?;
    Database::builder().create_with_backend(FileBackend::new(file).map_err(failed)?).map_err(failed)
}

impl Records {
    /// Opens them, or makes them.
    pub fn open(path: &Path) -> Result<Records> {
        let database = open_file(path)?;
        let write = database.begin_write().map_err(failed)?;
        for table in [CONTAINERS, IMAGES, NAMES, LAYERS] {
            write.open_table(table).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(Records { path: path.to_owned(), database: RwLock::new(Some(database)) })
    }

    /// Does something with them. After a failure of the disk (it was full) they are closed, and opened once more here.
    fn with<T>(&self, work: impl Fn(&Database) -> Result<T>) -> Result<T> {
        if let Some(database) = self.database.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            match work(database) {
                Err(error) if error.is_closed => {}
                done => return done,
            }
        }
        let mut held = self.database.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been faster.
        if let Some(database) = held.as_ref() {
            match work(database) {
                Err(error) if error.is_closed => {}
                done => return done,
            }
        }
        tracing::warn!("the records were closed by a failure of the disk; opening them again");
        // Two at once cannot have it open.
        drop(held.take());
        work(held.insert(open_file(&self.path)?))
    }

    fn get<T: DeserializeOwned>(&self, table: Table, key: &str) -> Result<Option<T>> {
        self.with(|database| {
            let read = database.begin_read().map_err(failed)?;
            let table = read.open_table(table).map_err(failed)?;
            let found = table.get(key).map_err(failed)?;
            found.map(|value| serde_json::from_slice(value.value()).map_err(unreadable)).transpose()
        })
    }

    fn all<T: DeserializeOwned>(&self, table: Table) -> Result<Vec<(String, T)>> {
        self.with(|database| {
            let read = database.begin_read().map_err(failed)?;
            let table = read.open_table(table).map_err(failed)?;
            let mut found = Vec::new();
            for row in table.iter().map_err(failed)? {
                let (key, value) = row.map_err(failed)?;
                found.push((key.value().to_owned(), serde_json::from_slice(value.value()).map_err(unreadable)?));
            }
            Ok(found)
        })
    }

    fn put(&self, table: Table, key: &str, value: &impl Serialize) -> Result<()> {
        let value = serde_json::to_vec(value).map_err(unreadable)?;
        self.with(|database| {
            let write = database.begin_write().map_err(failed)?;
            write.open_table(table).map_err(failed)?.insert(key, value.as_slice()).map_err(failed)?;
            write.commit().map_err(failed)
        })
    }

    fn remove(&self, table: Table, keys: &[&str]) -> Result<()> {
        self.with(|database| {
            let write = database.begin_write().map_err(failed)?;
            {
                let mut table = write.open_table(table).map_err(failed)?;
                for key in keys {
                    table.remove(key).map_err(failed)?;
                }
            }
            write.commit().map_err(failed)
        })
    }

    /// Records a container under a name that must be new; false if it is not. Durable when it returns.
    pub fn add_container(&self, id: &ContainerId, record: &ContainerRecord) -> Result<bool> {
        let value = serde_json::to_vec(record).map_err(unreadable)?;
        self.with(|database| {
            let write = database.begin_write().map_err(failed)?;
            {
                let mut table = write.open_table(CONTAINERS).map_err(failed)?;
                if table.get(id.as_str()).map_err(failed)?.is_some() {
                    return Ok(false);
                }
                table.insert(id.as_str(), value.as_slice()).map_err(failed)?;
            }
            write.commit().map_err(failed)?;
            Ok(true)
        })
    }

    /// Records what has become of a container. It is on the disk with the next thing that is: until then its outcome
    /// lies in its directory, where it is found again.
    pub fn put_end(&self, id: &ContainerId, record: &ContainerRecord) -> Result<()> {
        let value = serde_json::to_vec(record).map_err(unreadable)?;
        self.with(|database| {
            let mut write = database.begin_write().map_err(failed)?;
            write.set_durability(Durability::None).map_err(failed)?;
            write.open_table(CONTAINERS).map_err(failed)?.insert(id.as_str(), value.as_slice()).map_err(failed)?;
            write.commit().map_err(failed)
        })
    }

    pub fn containers(&self) -> Result<Vec<(ContainerId, ContainerRecord)>> {
        let all = self.all(CONTAINERS)?;
        all.into_iter().map(|(id, record)| Ok((ContainerId::parse(&id).map_err(unreadable)?, record))).collect()
    }

    pub fn remove_container(&self, id: &ContainerId) -> Result<()> {
        self.remove(CONTAINERS, &[id.as_str()])
    }

    pub fn image(&self, digest: &Digest) -> Result<Option<ImageRecord>> {
        self.get(IMAGES, digest.as_str())
    }

    pub fn images(&self) -> Result<Vec<ImageRecord>> {
        Ok(self.all(IMAGES)?.into_iter().map(|(_, record)| record).collect())
    }

    /// Records an image and gives it a name, which another one loses.
    pub fn put_image(&self, name: &str, record: &ImageRecord) -> Result<()> {
        let value = serde_json::to_vec(record).map_err(unreadable)?;
        let digest = serde_json::to_vec(&record.digest).map_err(unreadable)?;
        self.with(|database| {
            let write = database.begin_write().map_err(failed)?;
            {
                let mut images = write.open_table(IMAGES).map_err(failed)?;
                images.insert(record.digest.as_str(), value.as_slice()).map_err(failed)?;
                let mut names = write.open_table(NAMES).map_err(failed)?;
                names.insert(name, digest.as_slice()).map_err(failed)?;
            }
            write.commit().map_err(failed)
        })
    }

    /// Notes that an image was used. On the disk with the next thing that is.
    pub fn put_use(&self, image: &Digest, now_micros: i64) -> Result<()> {
        self.with(|database| {
            let mut write = database.begin_write().map_err(failed)?;
            write.set_durability(Durability::None).map_err(failed)?;
            {
                let mut images = write.open_table(IMAGES).map_err(failed)?;
                let found = images.get(image.as_str()).map_err(failed)?;
                let found = found.map(|value| serde_json::from_slice(value.value()).map_err(unreadable));
                let Some(found) = found.transpose()? else { return Ok(()) };
                let used = ImageRecord { used_at_micros: Some(now_micros), ..found };
                let value = serde_json::to_vec(&used).map_err(unreadable)?;
                images.insert(image.as_str(), value.as_slice()).map_err(failed)?;
            }
            write.commit().map_err(failed)
        })
    }

    /// Forgets an image and its names.
    pub fn remove_image(&self, digest: &Digest) -> Result<()> {
        let names = self.names_of(digest)?;
        self.remove(NAMES, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
        self.remove(IMAGES, &[digest.as_str()])
    }

    /// The images that have no name.
    pub fn nameless_images(&self) -> Result<Vec<Digest>> {
        let named: Vec<Digest> = self.all(NAMES)?.into_iter().map(|(_, digest)| digest).collect();
        let images = self.images()?.into_iter().map(|record| record.digest);
        Ok(images.filter(|digest| !named.contains(digest)).collect())
    }

    pub fn named_image(&self, name: &str) -> Result<Option<Digest>> {
        self.get(NAMES, name)
    }

    pub fn remove_name(&self, name: &str) -> Result<()> {
        self.remove(NAMES, &[name])
    }

    /// The names of an image, sorted.
    pub fn names_of(&self, digest: &Digest) -> Result<Vec<String>> {
        let names = self.all::<Digest>(NAMES)?.into_iter();
        Ok(names.filter(|(_, named)| named == digest).map(|(name, _)| name).collect())
    }

    pub fn layer(&self, layer: &Digest) -> Result<Option<LayerRecord>> {
        self.get(LAYERS, layer.as_str())
    }

    pub fn layers(&self) -> Result<Vec<(Digest, LayerRecord)>> {
        let all = self.all(LAYERS)?;
        all.into_iter().map(|(layer, record)| Ok((Digest::parse(&layer).map_err(unreadable)?, record))).collect()
    }

    pub fn put_layer(&self, layer: &Digest, record: &LayerRecord) -> Result<()> {
        self.put(LAYERS, layer.as_str(), record)
    }

    pub fn remove_layer(&self, layer: &Digest) -> Result<()> {
        self.remove(LAYERS, &[layer.as_str()])
    }
}
