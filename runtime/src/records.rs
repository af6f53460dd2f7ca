//! The runner's records: which containers and images there are. In redb, since what is recorded must be durable before
//! anything is started.
//!
//! A record is JSON under a text key, so that an older file is read by a newer runner as long as fields are only added.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::description::ContainerId;
use crate::digest::Digest;
use crate::image::{ImageError, ImageRecord};
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
pub(crate) struct Records(Database);

/// The records cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RecordsError(String);

impl From<RecordsError> for ImageError {
    fn from(error: RecordsError) -> Self {
        ImageError::Records(error.0)
    }
}

fn failed(error: impl std::fmt::Display) -> RecordsError {
    RecordsError(error.to_string())
}

type Result<T> = std::result::Result<T, RecordsError>;

impl Records {
    /// Opens them, or makes them.
    pub fn open(path: &Path) -> Result<Records> {
        let records = Records(Database::create(path).map_err(failed)?);
        let write = records.0.begin_write().map_err(failed)?;
        for table in [CONTAINERS, IMAGES, NAMES, LAYERS] {
            write.open_table(table).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(records)
    }

    fn get<T: DeserializeOwned>(&self, table: Table, key: &str) -> Result<Option<T>> {
        let read = self.0.begin_read().map_err(failed)?;
        let table = read.open_table(table).map_err(failed)?;
        let found = table.get(key).map_err(failed)?;
        found.map(|value| serde_json::from_slice(value.value()).map_err(failed)).transpose()
    }

    fn all<T: DeserializeOwned>(&self, table: Table) -> Result<Vec<(String, T)>> {
        let read = self.0.begin_read().map_err(failed)?;
        let table = read.open_table(table).map_err(failed)?;
        let mut found = Vec::new();
        for row in table.iter().map_err(failed)? {
            let (key, value) = row.map_err(failed)?;
            found.push((key.value().to_owned(), serde_json::from_slice(value.value()).map_err(failed)?));
        }
        Ok(found)
    }

    fn put(&self, table: Table, key: &str, value: &impl Serialize) -> Result<()> {
        let value = serde_json::to_vec(value).map_err(failed)?;
        let write = self.0.begin_write().map_err(failed)?;
        write.open_table(table).map_err(failed)?.insert(key, value.as_slice()).map_err(failed)?;
        write.commit().map_err(failed)
    }

    fn remove(&self, table: Table, keys: &[&str]) -> Result<()> {
        let write = self.0.begin_write().map_err(failed)?;
        {
            let mut table = write.open_table(table).map_err(failed)?;
            for key in keys {
                table.remove(key).map_err(failed)?;
            }
        }
        write.commit().map_err(failed)
    }

    /// Records a container under a name that must be new; false if it is not. Durable when it returns.
    pub fn add_container(&self, id: &ContainerId, record: &ContainerRecord) -> Result<bool> {
        let value = serde_json::to_vec(record).map_err(failed)?;
        let write = self.0.begin_write().map_err(failed)?;
        {
            let mut table = write.open_table(CONTAINERS).map_err(failed)?;
            if table.get(id.as_str()).map_err(failed)?.is_some() {
                return Ok(false);
            }
            table.insert(id.as_str(), value.as_slice()).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(true)
    }

    pub fn put_container(&self, id: &ContainerId, record: &ContainerRecord) -> Result<()> {
        self.put(CONTAINERS, id.as_str(), record)
    }

    pub fn containers(&self) -> Result<Vec<(ContainerId, ContainerRecord)>> {
        let all = self.all(CONTAINERS)?;
        all.into_iter().map(|(id, record)| Ok((ContainerId::parse(&id).map_err(failed)?, record))).collect()
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
        let value = serde_json::to_vec(record).map_err(failed)?;
        let digest = serde_json::to_vec(&record.digest).map_err(failed)?;
        let write = self.0.begin_write().map_err(failed)?;
        {
            let mut images = write.open_table(IMAGES).map_err(failed)?;
            images.insert(record.digest.as_str(), value.as_slice()).map_err(failed)?;
            let mut names = write.open_table(NAMES).map_err(failed)?;
            names.insert(name, digest.as_slice()).map_err(failed)?;
        }
        write.commit().map_err(failed)
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
        all.into_iter().map(|(layer, record)| Ok((Digest::parse(&layer).map_err(failed)?, record))).collect()
    }

    pub fn put_layer(&self, layer: &Digest, record: &LayerRecord) -> Result<()> {
        self.put(LAYERS, layer.as_str(), record)
    }

    pub fn remove_layer(&self, layer: &Digest) -> Result<()> {
        self.remove(LAYERS, &[layer.as_str()])
    }
}
