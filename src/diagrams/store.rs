//! Finished pictures in the appliance's storage: kept once, found by content hash, pruned when they are too many.
//!
//! A picture can be made again at any time, so nothing here is precious; what matters is that it stays within its
//! bound. Reading costs no write: a use is noted in memory, and only if the stored one is older than
//! [`USE_GRAIN_SECONDS`]; notes are stored together, a minute later. A crash takes back a minute of notes, nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quintet_platform::clock::Clock;
use quintet_platform::jobs::{Noted, Progress};
use quintet_platform::secrets;
use quintet_storage::large::{self, Upload, UploadRefusal};
use quintet_storage::{Abort, Failure, Read, Scan, Snapshot, Store, Timestamp, WriteTx};
use tokio::sync::Semaphore;

use crate::engine::Drawing;
use crate::tables::{
    ByUseRow, ContentHash, RESULTS, RESULTS_BY_USE, ResultRow, SMALL_BYTES, SmallBytesRow, THE_TOTALS, TOTALS,
    TotalsRow,
};
use quintet_drawing::render::Format;

/// A picture of at most this many bytes lies in a row of its own.
pub(crate) const SMALL_BYTES_MAX: usize = 64 << 10;
/// What a picture costs besides its bytes, so that very many very small ones are bounded, too.
const RESULT_COST_BYTES: u64 = 1 << 10;
/// The bound is never below this, so that a picture that was just made can be fetched.
const BOUND_BYTES_MIN: u64 = 64 << 20;
/// A use is noted if the stored one is older than this.
pub const USE_GRAIN_SECONDS: i64 = 3600;
/// How long a use may stay in memory only.
const STORE_AFTER_SECONDS: i64 = 60;
/// Uses remembered between two rounds; more are not noted.
const NOTES_MAX: usize = 20_000;
/// The most pictures that one transaction looks at.
const SLICE_RESULTS: usize = 200;
/// How long a finished upload may wait to become a picture.
const UPLOAD_SECONDS: i64 = 600;
/// How long a request may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(5);
/// How long one step of the work behind it may wait; the next round tries again.
const HOUSEKEEPING_TIME: Duration = Duration::from_secs(10);
/// Small pictures that were answered and are being stored: 16 MiB at most.
const LATER_MAX: usize = 256;
/// Warnings that are kept, and how long each may be, in bytes.
const WARNINGS_MAX: usize = 20;
const WARNING_BYTES_MAX: usize = 300;

/// What pictures are made from, in one name.
#[must_use]
pub fn content_hash(engine: &str, format: Format, source: &[u8]) -> ContentHash {
    // No engine's name and no format's holds a line end, so no two inputs run together.
    ContentHash(secrets::digest_parts(&[engine.as_bytes(), b"\n", format.name().as_bytes(), b"\n", source]))
}

/// The stored pictures.
pub struct Results {
    store: Store,
    clock: Clock,
    bound_bytes: u64,
    noted: Noted<ContentHash>,
    /// Places for pictures that are stored behind their answers.
    later: Arc<Semaphore>,
}

impl Results {
    /// Keeps at most `bound_mb` MiB of pictures, and 64 at least.
    #[must_use]
    pub fn new(store: Store, clock: Clock, bound_mb: u32) -> Results {
        let bound_bytes = (u64::from(bound_mb) << 20).max(BOUND_BYTES_MIN);
        let noted = Noted::new(NOTES_MAX, STORE_AFTER_SECONDS);
        Results { store, clock, bound_bytes, noted, later: Arc::new(Semaphore::new(LATER_MAX)) }
    }

    /// A stored picture; its use is noted.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn find(&self, hash: ContentHash) -> Result<Option<ResultRow>, Failure> {
        let row = self.store.read().get(&RESULTS, &hash)?;
        if let Some(row) = &row {
            self.note(hash, row.used_at);
        }
        Ok(row)
    }

    /// One piece of a picture's bytes, counted from 0; `None` behind the last.
    ///
    /// # Errors
    /// The store cannot be read, or the picture was pruned meanwhile.
    pub fn piece(&self, hash: ContentHash, row: &ResultRow, index: u32) -> Result<Option<Vec<u8>>, Failure> {
        let read = self.store.read();
        match &row.large {
            Some(value) => match large::read_chunk(&read, value, index) {
                Ok(chunk) => Ok(chunk.map(|chunk| chunk.to_vec())),
                Err(Abort::Failed(failure)) => Err(failure),
                Err(Abort::Refused(_)) => Err(Failure::Damaged("a picture is sealed, which none is".to_owned())),
            },
            None if index > 0 => Ok(None),
            None => {
                let bytes = read.get(&SMALL_BYTES, &hash)?;
                bytes.map(|SmallBytesRow(bytes)| Some(bytes)).ok_or_else(|| missing("the bytes of a picture"))
            }
        }
    }

    /// All of a picture's bytes.
    ///
    /// # Errors
    /// As [`Results::piece`].
    pub fn bytes(&self, hash: ContentHash, row: &ResultRow) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let mut index = 0;
        while let Some(piece) = self.piece(hash, row, index)? {
            bytes.extend_from_slice(&piece);
            index += 1;
        }
        Ok(bytes)
    }

    /// Stores a picture, unless it is there already.
    ///
    /// # Errors
    /// The store's failures.
    pub async fn keep(&self, hash: ContentHash, format: Format, drawing: Drawing) -> Result<(), Failure> {
        let Drawing { bytes, warnings, is_degraded } = drawing;
        let size_bytes = bytes.len() as u64;
        let warnings = warnings.into_iter().take(WARNINGS_MAX).map(|warning| shortened(&warning)).collect();
        let (large, small) = match bytes.len() <= SMALL_BYTES_MAX {
            true => (None, Some(SmallBytesRow(bytes))),
            false => (Some(self.upload(&bytes).await?), None),
        };
        let bound_bytes = self.bound_bytes;
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            let row = ResultRow { format: format.into(), size_bytes, used_at: now, is_degraded, warnings, large };
            let totals = keep(tx, now, hash, &row, small.as_ref())?;
            if totals.bytes > bound_bytes {
                tx.falls_due(RESULTS_BY_USE.spec().tag, now);
            }
            Ok(())
        };
        self.store.write(Instant::now() + WRITER_TIME, verb).await.map_err(failure_of)
    }

    /// Stores a picture that is answered without waiting for that, unless it is there already. One that cannot be stored is
    /// drawn again when it is asked for. Where too many are on their way this one is waited for.
    pub async fn keep_later(self: &Arc<Self>, hash: ContentHash, format: Format, drawing: Drawing) {
        let place = Arc::clone(&self.later).try_acquire_owned().ok();
        let is_placed = place.is_some();
        let results = Arc::clone(self);
        let keeping = tokio::spawn(async move {
            if let Err(failure) = results.keep(hash, format, drawing).await {
                tracing::debug!(%failure, "a picture that was answered is not kept");
            }
            drop(place);
        });
        if !is_placed {
            let _ = keeping.await;
        }
    }

    async fn upload(&self, bytes: &[u8]) -> Result<large::LargeValue, Failure> {
        let upload = async {
            let mut upload = Upload::begin(&self.store, UPLOAD_SECONDS, WRITER_TIME).await?;
            upload.push(bytes).await?;
            upload.finish().await
        };
        // If nothing adopts it, it is collected at its deadline.
        upload.await.map_err(failure_of)
    }

    /// How many pictures there are, and how large they are together.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn totals(&self) -> Result<TotalsRow, Failure> {
        Ok(self.store.read().get(&TOTALS, &THE_TOTALS)?.unwrap_or_default())
    }

    fn note(&self, hash: ContentHash, used_at: Timestamp) {
        let now = self.clock.now();
        if now < used_at.plus_seconds(USE_GRAIN_SECONDS) {
            return;
        }
        if self.noted.note(hash, now) {
            self.clock.wake();
        }
    }

    /// When noted uses are to be stored.
    pub(crate) fn uses_due(&self) -> Option<Timestamp> {
        self.noted.due()
    }

    /// Stores a part of what was noted; what cannot be stored is noted again.
    ///
    /// # Errors
    /// The store's failures.
    pub(crate) async fn store_uses(&self) -> Result<Progress, Failure> {
        self.noted.store_some(&self.store, SLICE_RESULTS, put_uses).await
    }

    /// When there is something to prune: at once, or not at all.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn pruning_due(&self) -> Result<Option<Timestamp>, Failure> {
        let is_over = self.totals()?.bytes > self.bound_bytes;
        Ok(is_over.then(|| self.clock.now()))
    }

    /// Removes some of the least recently used pictures, if all together are over the bound.
    ///
    /// # Errors
    /// The store's failures.
    pub(crate) async fn prune(&self) -> Result<Progress, Failure> {
        let bound_bytes = self.bound_bytes;
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| prune(tx, now, bound_bytes);
        match self.store.write_freeing(deadline(), verb).await {
            Ok(0) => Ok(Progress::Rest),
            Ok(_) => Ok(Progress::More),
            Err(Abort::Refused(never)) => match never {},
            Err(Abort::Failed(failure)) => Err(failure),
        }
    }
}

fn deadline() -> Instant {
    Instant::now() + HOUSEKEEPING_TIME
}

fn missing(what: &str) -> Failure {
    Failure::Damaged(format!("{what} is missing"))
}

/// An upload that expires while it is written took longer than the writer's patience allows for many times over.
fn failure_of(abort: Abort<UploadRefusal>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(UploadRefusal::Expired | UploadRefusal::Erased) => Failure::Busy,
    }
}

fn shortened(warning: &str) -> String {
    let end = warning.floor_char_boundary(WARNING_BYTES_MAX);
    warning.get(..end).unwrap_or_default().to_owned()
}

fn cost(row: &ResultRow) -> u64 {
    row.size_bytes.saturating_add(RESULT_COST_BYTES)
}

/// Makes a picture one of the stored ones. If somebody else was first, nothing changes, and an upload is collected.
fn keep(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    hash: ContentHash,
    row: &ResultRow,
    small: Option<&SmallBytesRow>,
) -> Result<TotalsRow, Abort<UploadRefusal>> {
    let mut totals = tx.get(&TOTALS, &THE_TOTALS)?.unwrap_or_default();
    if tx.contains(&RESULTS, &hash)? {
        return Ok(totals);
    }
    if let Some(value) = &row.large {
        large::adopt(tx, now, value)?;
    }
    if let Some(small) = small {
        tx.put(&SMALL_BYTES, &hash, small)?;
    }
    tx.put(&RESULTS, &hash, row)?;
    tx.put(&RESULTS_BY_USE, &(row.used_at, hash), &ByUseRow)?;
    totals.results = totals.results.saturating_add(1);
    totals.bytes = totals.bytes.saturating_add(cost(row));
    tx.put(&TOTALS, &THE_TOTALS, &totals)?;
    Ok(totals)
}

/// Never takes a use back, and stores none of a picture that is gone.
fn put_uses(tx: &mut WriteTx<'_>, uses: &[(ContentHash, Timestamp)]) -> Result<(), Failure> {
    for (hash, used_at) in uses {
        let Some(mut row) = tx.get(&RESULTS, hash)?.filter(|row| row.used_at < *used_at) else { continue };
        tx.delete(&RESULTS_BY_USE, &(row.used_at, *hash));
        row.used_at = *used_at;
        tx.put(&RESULTS_BY_USE, &(row.used_at, *hash), &ByUseRow)?;
        tx.put(&RESULTS, hash, &row)?;
    }
    Ok(())
}

/// Removes some of the least recently used pictures, if all together are over the bound; how many.
fn prune(tx: &mut WriteTx<'_>, now: Timestamp, bound_bytes: u64) -> Result<usize, Abort<Infallible>> {
    let mut totals = tx.get(&TOTALS, &THE_TOTALS)?.unwrap_or_default();
    if totals.bytes <= bound_bytes {
        return Ok(0);
    }
    let mut pruned = 0;
    for ((used_at, hash), ByUseRow) in tx.scan(&RESULTS_BY_USE, Scan::all().limit(SLICE_RESULTS))? {
        if totals.bytes <= bound_bytes {
            break;
        }
        let row = tx.get(&RESULTS, &hash)?.ok_or_else(|| missing("a picture"))?;
        match &row.large {
            Some(value) => large::release(tx, now, value)?,
            None => tx.delete(&SMALL_BYTES, &hash),
        }
        tx.delete(&RESULTS, &hash);
        tx.delete(&RESULTS_BY_USE, &(used_at, hash));
        totals.results = totals.results.saturating_sub(1);
        totals.bytes = totals.bytes.saturating_sub(cost(&row));
        pruned += 1;
    }
    tx.put(&TOTALS, &THE_TOTALS, &totals)?;
    Ok(pruned)
}

/// Finds what contradicts itself in this room's rows.
///
/// # Errors
/// The store's failures.
pub fn verify(read: &Snapshot) -> Result<Vec<String>, Failure> {
    const PAGE: usize = 1000;
    let mut findings = Vec::new();
    let mut found = TotalsRow::default();
    let mut last: Option<ContentHash> = None;
    loop {
        let scan = last.as_ref().map_or_else(Scan::all, |last| Scan::all().after(last));
        let page = read.scan(&RESULTS, scan.limit(PAGE))?;
        let Some((end, _)) = page.last() else { break };
        last = Some(*end);
        for (hash, row) in page {
            found.results += 1;
            found.bytes = found.bytes.saturating_add(cost(&row));
            let name = data_encoding::HEXLOWER.encode(&hash.0);
            if !read.contains(&RESULTS_BY_USE, &(row.used_at, hash))? {
                findings.push(format!("picture {name} is not among those that can be pruned"));
            }
            let is_whole = match &row.large {
                Some(value) => value.size_bytes == row.size_bytes && large::read_chunk(read, value, 0).is_ok(),
                None => {
                    let bytes = read.get(&SMALL_BYTES, &hash)?;
                    bytes.is_some_and(|SmallBytesRow(bytes)| bytes.len() as u64 == row.size_bytes)
                }
            };
            if !is_whole {
                findings.push(format!("picture {name} lacks its bytes"));
            }
        }
    }
    let totals = read.get(&TOTALS, &THE_TOTALS)?.unwrap_or_default();
    if totals != found {
        findings.push(format!("the totals say {totals:?}, the pictures are {found:?}"));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use quintet_platform::jobs::{Rows, Sweep};
    use quintet_platform::large_values::UnownedValues;
    use quintet_storage::{StoreOptions, TableSpec};

    use super::*;
    use crate::sweep::{Pruning, Uses};

    struct Shelf {
        results: Arc<Results>,
        clock: Clock,
        _directory: tempfile::TempDir,
    }

    impl Shelf {
        fn new() -> Shelf {
            let directory = tempfile::tempdir().unwrap();
            let clock = Clock::rehearsal(Timestamp::from_micros(1_700_000_000_000_000));
            let options = StoreOptions {
                rehearsal: true,
                segment_bytes: 8 << 20,
                ..StoreOptions::new(directory.path(), Arc::new(clock.clone()))
            };
            let tables = &[large::TABLES, quintet_platform::TABLES, crate::tables::TABLES];
            let store = Store::open(options, tables).unwrap();
            clock.resume(&store).unwrap();
            let results = Results { bound_bytes: 1 << 20, ..Results::new(store.clone(), clock.clone(), 0) };
            let results = Arc::new(results);
            clock.attend(&store);
            clock.register(Arc::new(Sweep(Uses(Arc::clone(&results)))));
            clock.register(Arc::new(Sweep(Pruning(Arc::clone(&results)))));
            clock.register(Arc::new(Sweep(Rows::new(store, UnownedValues))));
            Shelf { results, clock, _directory: directory }
        }

        async fn keep(&self, number: u8, size: usize) -> ContentHash {
            let hash = content_hash("test", Format::Svg, &[number]);
            let drawing = Drawing { bytes: vec![number; size], warnings: vec!["w".repeat(400)], is_degraded: false };
            self.results.keep(hash, Format::Svg, drawing).await.unwrap();
            hash
        }

        fn has(&self, hash: ContentHash) -> bool {
            self.results.store.read().contains(&RESULTS, &hash).unwrap()
        }

        fn findings(&self) -> Vec<String> {
            verify(&self.results.store.read()).unwrap()
        }
    }

    impl Drop for Shelf {
        fn drop(&mut self) {
            let groups: &[&[TableSpec]] = &[large::TABLES, crate::tables::TABLES];
            quintet_rows::gather(&self.results.store.read(), groups);
            self.results.store.shutdown();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn pictures_small_and_large_come_back_as_they_were() {
        let shelf = Shelf::new();
        for (number, size) in [(1, 0), (2, SMALL_BYTES_MAX), (3, SMALL_BYTES_MAX + 1), (4, 700_000)] {
            let hash = shelf.keep(number, size).await;
            // The second time it is there already.
            shelf.keep(number, size).await;
            let row = shelf.results.find(hash).unwrap().unwrap();
            assert_eq!(row.warnings[0].len(), WARNING_BYTES_MAX);
            assert_eq!(shelf.results.bytes(hash, &row).unwrap(), vec![number; size]);
        }
        assert_eq!(shelf.results.totals().unwrap().results, 4);
        assert_eq!(shelf.findings(), Vec::<String>::new());
        assert_eq!(shelf.results.find(content_hash("other", Format::Svg, &[1])).unwrap(), None);
        assert_eq!(shelf.results.find(content_hash("test", Format::Png, &[1])).unwrap(), None);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn where_too_many_are_on_their_way_the_next_is_waited_for() {
        let shelf = Shelf::new();
        let drawing = || Drawing { bytes: vec![1; 100], warnings: Vec::new(), is_degraded: false };
        let hash = |number: u8| content_hash("test", Format::Svg, &[number]);
        let all = u32::try_from(LATER_MAX).unwrap();
        let places = Arc::clone(&shelf.results.later).try_acquire_many_owned(all).unwrap();
        shelf.results.keep_later(hash(1), Format::Svg, drawing()).await;
        assert!(shelf.has(hash(1)));
        drop(places);
        shelf.results.keep_later(hash(2), Format::Svg, drawing()).await;
        // Whoever has all places again knows that nothing is on its way.
        let _places = Arc::clone(&shelf.results.later).acquire_many_owned(all).await.unwrap();
        assert!(shelf.has(hash(2)));
        assert_eq!(shelf.findings(), Vec::<String>::new());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_least_recently_used_go_first() {
        let shelf = Shelf::new();
        let first = shelf.keep(1, 400_000).await;
        shelf.clock.advance(1).await.unwrap();
        let second = shelf.keep(2, 400_000).await;
        // Used again within the grain: not noted. Beyond it: noted, and stored a minute later.
        shelf.results.find(first).unwrap();
        assert_eq!(shelf.clock.next_due().map(Timestamp::as_micros), upload_deadlines(&shelf));
        shelf.clock.advance(USE_GRAIN_SECONDS.unsigned_abs()).await.unwrap();
        shelf.results.find(first).unwrap();
        assert!(shelf.results.uses_due().is_some());
        shelf.clock.advance(61).await.unwrap();
        assert!(shelf.results.uses_due().is_none());
        assert_eq!(shelf.findings(), Vec::<String>::new());
        let third = shelf.keep(3, 400_000).await;
        shelf.clock.advance(1).await.unwrap();
        assert!(shelf.has(first) && !shelf.has(second) && shelf.has(third));
        assert_eq!(shelf.findings(), Vec::<String>::new());
        assert!(shelf.results.totals().unwrap().bytes <= 1 << 20);
        // And its bytes are collected.
        shelf.clock.advance(UPLOAD_SECONDS.unsigned_abs() + 1).await.unwrap();
        assert_eq!(large::next_deadline(&shelf.results.store.read()).unwrap(), None);
    }

    /// Deadlines of uploads that nobody adopted.
    fn upload_deadlines(shelf: &Shelf) -> Option<i64> {
        large::next_deadline(&shelf.results.store.read()).unwrap().map(Timestamp::as_micros)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn very_many_very_small_ones_are_bounded_too() {
        let shelf = Shelf::new();
        for number in 0..=255u8 {
            for part in 0..5u8 {
                let hash = content_hash("test", Format::Svg, &[number, part]);
                let drawing = Drawing { bytes: Vec::new(), warnings: Vec::new(), is_degraded: false };
                shelf.results.keep(hash, Format::Svg, drawing).await.unwrap();
            }
        }
        shelf.clock.advance(1).await.unwrap();
        assert_eq!(shelf.results.totals().unwrap().results, 1024);
        assert_eq!(shelf.findings(), Vec::<String>::new());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn verify_sees_what_contradicts_itself() {
        let shelf = Shelf::new();
        let hash = shelf.keep(1, 10).await;
        let verb = move |tx: &mut WriteTx<'_>, _: Timestamp| {
            tx.delete(&SMALL_BYTES, &hash);
            let row = tx.get(&RESULTS, &hash)?.unwrap();
            tx.delete(&RESULTS_BY_USE, &(row.used_at, hash));
            tx.put(&TOTALS, &THE_TOTALS, &TotalsRow::default())?;
            Ok::<_, Abort<Infallible>>(())
        };
        shelf.results.store.write(deadline(), verb).await.unwrap();
        assert_eq!(shelf.findings().len(), 3, "{:?}", shelf.findings());
    }
}
