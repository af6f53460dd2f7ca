//! Late entries: those that took effect before the ledger learned of them, because they were backdated or held.
//!
//! Their sums lie in a tree over effective time, for each account. A leaf is one instant, whatever number of entries
//! share it. A bucket of 2^54 microseconds (571 years) or of any width down to 2^6, in steps of 2^6, sums all leaves in
//! it. A bucket gets buckets of the next width inside only once it is *crowded*, with more than 64 instants; so an
//! account with a few late entries has two rows for each, and nobody ever reads more than 64 rows of one width:
//! the sum up to an instant is the buckets before it, in the bucket around it the narrower ones before it, and so on.
//! Nine widths bound it for any distribution, a million instants in one second included.

use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::model::{AccountId, Overflow, Sums};
use crate::tables::{LATE_RECORDS, LATE_SUMS, LATE_TOTALS, LateRecordRow, LateSumsRow, PostedAfter, counters_disagree};

/// The widest buckets: so few cover the years 0000 to 9999 that there is no need for wider ones.
const WIDEST: u8 = 54;
/// How much narrower the next buckets are; the narrowest hold so many leaves as one bucket may without narrower ones.
const STEP: u8 = 6;
/// With more instants than this a bucket has narrower ones inside.
const CROWDED: u64 = 1 << STEP;
/// The width of a leaf: one instant.
const LEAF: u8 = 0;

/// One transaction's late entries on one account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateEntries {
    /// The account.
    pub(crate) account_id: AccountId,
    /// Where in the order of the log they were recorded.
    pub(crate) order: Uuid,
    /// When they took effect.
    pub(crate) effective_at: Timestamp,
    /// When they were recorded.
    pub(crate) finalized_at: Timestamp,
    /// What they sum to.
    pub(crate) sums: Sums,
    /// How many they are.
    pub(crate) entries: u64,
    /// The account's posted sums right after them.
    pub(crate) posted_after: PostedAfter,
}

/// Notes late entries, in the transaction that makes them final.
pub(crate) fn put_late(tx: &mut WriteTx<'_>, late: &LateEntries) -> Result<(), Failure> {
    let account_id = late.account_id;
    let add = |to: &mut PostedAfter| {
        *to = to.plus(late.sums, late.entries).map_err(|Overflow| counters_disagree(account_id))?;
        Ok::<(), Failure>(())
    };
    let mut totals = tx.get(&LATE_TOTALS, &account_id)?.unwrap_or_default();
    add(&mut totals.late)?;
    tx.put(&LATE_TOTALS, &account_id, &totals)?;
    let record =
        LateRecordRow { finalized_at: late.finalized_at, posted_after: late.posted_after, late_after: totals.late };
    tx.put(&LATE_RECORDS, &(account_id, late.order), &record)?;

    let micros = late.effective_at.as_micros();
    let leaf_key = (account_id, LEAF, micros);
    let leaf = tx.get(&LATE_SUMS, &leaf_key)?;
    let is_new = leaf.is_none();
    let mut leaf = leaf.unwrap_or(LateSumsRow { late: PostedAfter::default(), instants: 1 });
    add(&mut leaf.late)?;
    tx.put(&LATE_SUMS, &leaf_key, &leaf)?;
    let mut width = WIDEST;
    while width > LEAF {
        let key = (account_id, width, micros >> width);
        let mut bucket = tx.get(&LATE_SUMS, &key)?.unwrap_or_default();
        add(&mut bucket.late)?;
        bucket.instants += u64::from(is_new);
        tx.put(&LATE_SUMS, &key, &bucket)?;
        if bucket.instants <= CROWDED {
            return Ok(());
        }
        if is_new && bucket.instants == CROWDED + 1 {
            return split(tx, account_id, width, micros >> width);
        }
        width -= STEP;
    }
    Ok(())
}

/// Makes the narrower buckets in one that has just become crowded, from its leaves.
fn split(tx: &mut WriteTx<'_>, account_id: AccountId, width: u8, bucket: i64) -> Result<(), Failure> {
    let narrower = width - STEP;
    if narrower == LEAF {
        return Ok(());
    }
    let from = (account_id, LEAF, bucket << width);
    let until = (account_id, LEAF, (bucket + 1) << width);
    let mut parts: Vec<(i64, LateSumsRow)> = Vec::new();
    for ((_, _, micros), leaf) in tx.scan(&LATE_SUMS, Scan::prefix(&(account_id, LEAF)).from(&from).until(&until))? {
        let place = micros >> narrower;
        if parts.last().is_none_or(|(last, _)| *last != place) {
            parts.push((place, LateSumsRow::default()));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.late = joined(account_id, part.late, leaf.late)?;
            part.instants += 1;
        }
    }
    for (place, part) in parts {
        tx.put(&LATE_SUMS, &(account_id, narrower, place), &part)?;
        if part.instants > CROWDED {
            split(tx, account_id, narrower, place)?;
        }
    }
    Ok(())
}

/// What the late entries of an account with an effective time at or before `at` sum to.
pub(crate) fn late_until(read: &impl Read, account_id: AccountId, at: Timestamp) -> Result<PostedAfter, Failure> {
    let at = at.as_micros();
    let mut sum = PostedAfter::default();
    let mut width = WIDEST;
    let mut first = i64::MIN;
    while width > LEAF {
        let here = at >> width;
        let key = |bucket| (account_id, width, bucket);
        let before = Scan::prefix(&(account_id, width)).from(&key(first)).until(&key(here));
        for (_, bucket) in read.scan(&LATE_SUMS, before)? {
            sum = joined(account_id, sum, bucket.late)?;
        }
        let Some(around) = read.get(&LATE_SUMS, &key(here))? else { return Ok(sum) };
        first = here << width;
        if around.instants <= CROWDED {
            break;
        }
        width -= STEP;
        first >>= width;
    }
    let leaf = |micros| (account_id, LEAF, micros);
    let leaves = Scan::prefix(&(account_id, LEAF)).from(&leaf(first)).until(&leaf(at.saturating_add(1)));
    for (_, one) in read.scan(&LATE_SUMS, leaves)? {
        sum = joined(account_id, sum, one.late)?;
    }
    Ok(sum)
}

fn joined(account_id: AccountId, sum: PostedAfter, more: PostedAfter) -> Result<PostedAfter, Failure> {
    sum.plus(more.sums, more.entries).map_err(|Overflow| counters_disagree(account_id))
}
