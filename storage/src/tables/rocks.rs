//! RocksDB behind the projection trait; the only file that names it.
//!
//! Its own log is off: ours is the authority. All families are flushed atomically and the applied LSN is written
//! in the same batch as the rows, so that after any crash the tables are a prefix of the log.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rocksdb::checkpoint::Checkpoint;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType, Direction,
    FlushOptions, IteratorMode, Options, ReadOptions, Snapshot, WriteBatch, WriteBufferManager, WriteOptions,
};
use self_cell::self_cell;

use super::codec;
use super::family::Family;
use super::projection::{Application, Applied, KeyRange, Projection, ProjectionRead, Visit};
use crate::env::real::make_private_directory;
use crate::error::{Failure, OpenError};
use crate::log::format::Op;

/// Where the applied LSN stands, in the default family.
const APPLIED_KEY: &[u8] = b"applied";
const DEFAULT_FAMILY: &str = "default";
/// One of them full flushes all families; several smaller ones would flush more often for nothing.
const MEMTABLE_BYTES: usize = 64 << 20;
/// That of large values: a document of 50 MB fills one in no time, and what it takes is there for nobody else. Others
/// are flushed with it, in smaller files than by themselves; only while large values arrive.
const CHUNKS_MEMTABLE_BYTES: usize = 16 << 20;
/// So many memtables of a family may wait to be flushed, one that is being filled among them, before all who write wait: a
/// flush of one family takes the memtables of all others with it.
const MEMTABLES: i32 = 4;

/// Where a row goes in a memtable is looked for from where the last one of its table went, which the tag in front of the key
/// tells: rows of a table mostly come in the order of their keys. There is no function for this option.
const INSERT_HINT: &str = "memtable_insert_with_hint_prefix_extractor=rocksdb.CappedPrefix.2";

/// Compressing the bottom level is the largest part of compaction; the fastest level takes half the time of the usual one
/// and makes tables a few hundredths larger.
const ZSTD_LEVEL: i32 = 1;
/// RocksDB's own choice.
const ZSTD_WINDOW_BITS: i32 = -14;

/// What an operator may choose about memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RocksOptions {
    /// All memtables together, in bytes.
    pub(crate) write_buffer_bytes: usize,
    /// The block cache, in bytes.
    pub(crate) block_cache_bytes: usize,
}

pub(crate) struct RocksProjection {
    db: Arc<DB>,
    families: BTreeSet<Family>,
}

impl RocksProjection {
    /// Opens the database, or makes it where the directory is absent or empty. It has the families that are `declared`
    /// and those it has had so far: another version of this binary may know what is in them.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] if it is not what RocksDB wrote, [`OpenError::Io`] if the system refuses.
    pub(crate) fn open(
        path: &Path,
        declared: BTreeSet<Family>,
        options: RocksOptions,
    ) -> Result<RocksProjection, OpenError> {
        let mut db_options = common_options();
        // A database whose CURRENT file is gone must not be taken for a new one: its files would be removed.
        let is_new = !path.exists() || path.read_dir().is_ok_and(|mut files| files.next().is_none());
        db_options.create_if_missing(is_new);
        make_private_directory(path).map_err(|e| OpenError::io(format!("making {}", path.display()), e))?;
        db_options.create_missing_column_families(true);
        let manager = WriteBufferManager::new_write_buffer_manager(options.write_buffer_bytes, false);
        db_options.set_write_buffer_manager(&manager);
        let mut families = declared;
        if !is_new {
            families.extend(families_in(path, &db_options)?);
        }
        let descriptors = descriptors(&families, options);
        let db = DB::open_cf_descriptors(&db_options, path, descriptors).map_err(|e| open_error(path, &e))?;
        Ok(RocksProjection { db: Arc::new(db), families })
    }

    /// Opens a database that nobody writes to, and changes nothing but the files in `scratch`. It has the families that
    /// are on disk, no others.
    ///
    /// # Errors
    /// As [`RocksProjection::open`].
    pub(crate) fn open_read_only(
        path: &Path,
        scratch: &Path,
        options: RocksOptions,
    ) -> Result<RocksProjection, OpenError> {
        let mut db_options = common_options();
        db_options.set_db_log_dir(scratch);
        let families = families_in(path, &db_options)?;
        let descriptors = descriptors(&families, options);
        let db = DB::open_cf_descriptors_read_only(&db_options, path, descriptors, false)
            .map_err(|e| open_error(path, &e))?;
        Ok(RocksProjection { db: Arc::new(db), families })
    }

    /// The families it has.
    pub(crate) fn families(&self) -> &BTreeSet<Family> {
        &self.families
    }

    /// The last keys of a family's table files, in order.
    pub(crate) fn file_ends(&self, family: Family) -> Vec<Vec<u8>> {
        let files = self.db.live_files().unwrap_or_default().into_iter();
        let mut ends: Vec<Vec<u8>> =
            files.filter(|file| file.column_family_name == family.name()).filter_map(|file| file.end_key).collect();
        ends.sort();
        ends
    }

    /// Flushes the tables and hard-links their files into a directory that does not exist yet.
    pub(crate) fn checkpoint(&self, path: &Path) -> Result<(), Failure> {
        let made = Checkpoint::new(&self.db).and_then(|checkpoint| checkpoint.create_checkpoint(path));
        made.map_err(|e| failure(&e))
    }

    fn family(&self, family: Family) -> Result<&rocksdb::ColumnFamily, Failure> {
        family_handle(&self.db, family)
    }
}

/// What every way of opening has in common.
fn common_options() -> Options {
    let mut options = Options::default();
    options.set_atomic_flush(true);
    options.set_paranoid_checks(true);
    options.set_max_background_jobs(2);
    options.set_keep_log_file_num(4);
    options.set_max_log_file_size(4 << 20);
    options.set_max_open_files(512);
    options
}

/// The families that a database has on disk.
fn families_in(path: &Path, db_options: &Options) -> Result<BTreeSet<Family>, OpenError> {
    let names = DB::list_cf(db_options, path).map_err(|e| open_error(path, &e))?;
    Ok(names.iter().filter(|name| *name != DEFAULT_FAMILY).map(|name| Family::found(name)).collect())
}

/// The column families to open, RocksDB's own default one last.
fn descriptors(families: &BTreeSet<Family>, options: RocksOptions) -> Vec<ColumnFamilyDescriptor> {
    let cache = Cache::new_lru_cache(options.block_cache_bytes);
    let ours = families
        .iter()
        .map(|family| ColumnFamilyDescriptor::new(family.name(), family_options(*family == Family::LARGE, &cache)));
    let default = ColumnFamilyDescriptor::new(DEFAULT_FAMILY, family_options(false, &cache));
    ours.chain([default]).collect()
}

/// Why RocksDB did not open. A file that is missing was lost: nobody removes one that is in use.
fn open_error(path: &Path, error: &rocksdb::Error) -> OpenError {
    let text = error.to_string();
    let is_damage = match error.kind() {
        rocksdb::ErrorKind::Corruption | rocksdb::ErrorKind::InvalidArgument | rocksdb::ErrorKind::NotFound => true,
        _ => text.contains("No such file") || text.contains("does not exist"),
    };
    if is_damage {
        OpenError::Damaged { file: path.to_owned(), offset: 0, reason: text }
    } else {
        OpenError::io(format!("opening {}", path.display()), text)
    }
}

fn family_handle(db: &DB, family: Family) -> Result<&rocksdb::ColumnFamily, Failure> {
    db.cf_handle(family.name()).ok_or_else(|| Failure::Damaged(format!("column family {} is missing", family.name())))
}

/// How a family is kept; one that `holds_chunks` of large values has larger blocks.
fn family_options(holds_chunks: bool, cache: &Cache) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    blocks.set_bloom_filter(10.0, false);
    // Filters and indexes in pieces: a whole one of a large file takes megabytes, and a cache that cannot hold all of
    // them would read and check one for nearly every get.
    blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    blocks.set_partition_filters(true);
    blocks.set_metadata_block_size(4 << 10);
    blocks.set_pin_top_level_index_and_filter(true);
    blocks.set_format_version(6);
    // Without it everything is the same, but slower.
    let mut options = Options::default().get_options_from_string(INSERT_HINT).unwrap_or_default();
    options.set_block_based_table_factory(&blocks);
    options.set_write_buffer_size(MEMTABLE_BYTES);
    options.set_max_write_buffer_number(MEMTABLES);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);
    options.set_bottommost_compression_options(ZSTD_WINDOW_BITS, ZSTD_LEVEL, 0, 0, true);
    options.set_level_compaction_dynamic_level_bytes(true);
    if holds_chunks {
        // Chunks are read whole and rarely; larger blocks spare index entries.
        blocks.set_block_size(64 << 10);
        options.set_block_based_table_factory(&blocks);
        options.set_write_buffer_size(CHUNKS_MEMTABLE_BYTES);
    }
    options
}

/// RocksDB's errors in the store's words.
fn failure(error: &rocksdb::Error) -> Failure {
    match error.kind() {
        rocksdb::ErrorKind::Corruption => Failure::Damaged(error.to_string()),
        _ => Failure::Io(error.to_string()),
    }
}

/// How rows are read. Chunks of large values are mostly read once, one behind the other: they would push out of the cache
/// what others read again and again.
fn get_options(family: Family) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.fill_cache(family != Family::LARGE);
    options
}

/// How rows are read one behind the other.
fn scan_options(family: Family, range: &KeyRange) -> ReadOptions {
    let mut options = get_options(family);
    options.set_iterate_lower_bound(range.lower.clone());
    if let Some(upper) = &range.upper {
        options.set_iterate_upper_bound(upper.clone());
    }
    options
}

fn walk(
    items: impl Iterator<Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>>,
    visit: Visit<'_>,
) -> Result<(), Failure> {
    for item in items {
        let (key, value) = item.map_err(|e| failure(&e))?;
        if !visit(&key, &value) {
            break;
        }
    }
    Ok(())
}

fn mode(range: &KeyRange) -> IteratorMode<'_> {
    match (&range.upper, range.descending) {
        (_, false) => IteratorMode::From(&range.lower, Direction::Forward),
        (Some(upper), true) => IteratorMode::From(upper, Direction::Reverse),
        (None, true) => IteratorMode::End,
    }
}

impl ProjectionRead for RocksProjection {
    fn get(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        let options = get_options(family);
        let value = self.db.get_pinned_cf_opt(self.family(family)?, key, &options).map_err(|e| failure(&e))?;
        Ok(value.map(|value| visit(&value)).is_some())
    }

    fn scan(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        walk(self.db.iterator_cf_opt(self.family(family)?, scan_options(family, range), mode(range)), visit)
    }
}

impl Projection for RocksProjection {
    fn applied(&self) -> Result<Applied, Failure> {
        match self.db.get(APPLIED_KEY).map_err(|e| failure(&e))? {
            None => Ok(Applied::NOTHING),
            Some(bytes) => {
                let (lsn, time, id_tick) = codec::decode_plain(&bytes)?;
                Ok(Applied { lsn, time, id_tick })
            }
        }
    }

    fn apply(&self, application: Application<'_>) -> Result<(), Failure> {
        let mut batch = WriteBatch::default();
        // Rows of one family mostly follow one another; finding its handle is a search by name.
        let mut last: Option<(Family, &rocksdb::ColumnFamily)> = None;
        for (family, op) in application.ops {
            let handle = match last {
                Some((known, handle)) if known == family => handle,
                _ => self.family(family)?,
            };
            last = Some((family, handle));
            match op {
                Op::Put { key, value } => batch.put_cf(handle, key, value),
                Op::Delete { key } => batch.delete_cf(handle, key),
            }
        }
        batch.put(
            APPLIED_KEY,
            codec::encode_plain(&(application.applied.lsn, application.applied.time, application.applied.id_tick))?,
        );
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        self.db.write_opt(batch, &options).map_err(|e| failure(&e))
    }

    fn flush(&self) -> Result<(), Failure> {
        let mut handles =
            vec![self.db.cf_handle(DEFAULT_FAMILY).ok_or(Failure::Damaged("no default family".to_owned()))?];
        for family in &self.families {
            handles.push(self.family(*family)?);
        }
        let mut options = FlushOptions::default();
        options.set_wait(true);
        self.db.flush_cfs_opt(&handles, &options).map_err(|e| failure(&e))
    }

    fn snapshot(&self) -> Arc<dyn ProjectionRead> {
        Arc::new(RocksSnapshot(OwnedSnapshot::new(Arc::clone(&self.db), |db| db.snapshot())))
    }

    fn fault(&self) -> Option<String> {
        let property = |name: &str| self.db.property_int_value(name).ok().flatten().unwrap_or(0);
        let errors = property("rocksdb.background-errors");
        if errors > 0 {
            return Some(format!("RocksDB reports {errors} background errors"));
        }
        // A stop without an error passes: compaction is behind, and applying waits for it, as everyone behind it does.
        if property("rocksdb.is-write-stopped") > 0 {
            tracing::warn!("RocksDB holds writes back until its compaction has caught up");
        }
        None
    }
}

self_cell!(
    /// A snapshot together with the database it is of.
    struct OwnedSnapshot {
        owner: Arc<DB>,
        #[covariant]
        dependent: Snapshot,
    }
);

struct RocksSnapshot(OwnedSnapshot);

impl ProjectionRead for RocksSnapshot {
    fn get(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        let handle = family_handle(self.0.borrow_owner(), family)?;
        let options = get_options(family);
        let value = self.0.borrow_dependent().get_pinned_cf_opt(handle, key, options).map_err(|e| failure(&e))?;
        Ok(value.map(|value| visit(&value)).is_some())
    }

    fn scan(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        let handle = family_handle(self.0.borrow_owner(), family)?;
        walk(self.0.borrow_dependent().iterator_cf_opt(handle, scan_options(family, range), mode(range)), visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static CHUNK: [u8; 256 << 10] = [7; 256 << 10];
    const CHUNKS: u32 = 160;

    #[test]
    fn the_hint_is_one_that_rocksdb_knows() {
        assert!(Options::default().get_options_from_string(INSERT_HINT).is_ok());
        assert!(Options::default().get_options_from_string("memtable_insert_with_hint=2").is_err());
    }

    /// Fifty megabytes that arrive, are read and go again are nothing that others should have less room for.
    #[test]
    fn large_values_take_little_memory_on_their_way() {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions { write_buffer_bytes: 64 << 20, block_cache_bytes: 64 << 20 };
        let families = BTreeSet::from([Family::LARGE]);
        let rocks = RocksProjection::open(&directory.path().join("live"), families, options).unwrap();
        let taken = |what: &str| {
            let handle = rocks.family(Family::LARGE).unwrap();
            usize::try_from(rocks.db.property_int_value_cf(handle, what).unwrap().unwrap()).unwrap()
        };
        for number in 0..CHUNKS {
            let op = Op::Put { key: &number.to_be_bytes(), value: &CHUNK };
            let mut ops = std::iter::once((Family::LARGE, op));
            rocks.apply(Application { ops: &mut ops, applied: Applied::NOTHING }).unwrap();
            // One chunk more may be in it, and the allocator's block.
            assert!(taken("rocksdb.cur-size-active-mem-table") <= CHUNKS_MEMTABLE_BYTES + (2 << 20), "{number}");
        }
        rocks.flush().unwrap();
        let all = KeyRange { lower: Vec::new(), upper: None, descending: false };
        let mut bytes = 0;
        let mut count = |_: &[u8], value: &[u8]| {
            bytes += value.len();
            true
        };
        rocks.scan(Family::LARGE, &all, &mut count).unwrap();
        rocks.snapshot().scan(Family::LARGE, &all, &mut count).unwrap();
        for number in 0..CHUNKS {
            assert!(rocks.get(Family::LARGE, &number.to_be_bytes(), &mut |_| {}).unwrap());
        }
        assert_eq!(bytes, 2 * CHUNKS as usize * CHUNK.len());
        assert!(taken("rocksdb.block-cache-usage") < 4 << 20, "{}", taken("rocksdb.block-cache-usage"));
    }
}
