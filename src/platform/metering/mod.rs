//! What a tenant may use of a service, and what it has used: calls in a calendar month (UTC) and a burst rate.
//!
//! Everything is counted against the root tenant. A call is counted in memory before it is served, so the limit is
//! exact while the appliance runs; the counts reach the store within seconds, and a crash takes back at most those
//! seconds. What cannot be read or stored does not stop a call: it is served, and counted when the store answers
//! again.

mod verbs;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use quintet_storage::{Abort, Family, Read, Row, Store, Table, Timestamp};
use uuid::Uuid;

use crate::access::Service;
use crate::clock::{BoxFuture, DueWork};
use crate::limits::{Buckets, Rate, RetryAfterSeconds};
use crate::time_text::{first_of_next_month, year_and_month};

pub use verbs::{MeteringRefusal, Quota, find_quota, set_quota};

/// (tenant, service).
pub(crate) const QUOTAS: Table<(Uuid, u8), QuotaRow> = Table::new(0x0120, Family::APPLIANCE, "platform.quotas");

/// (tenant, service, month): calls.
pub(crate) const USAGE: Table<(Uuid, u8, u32), UsageRow> = Table::new(0x0121, Family::APPLIANCE, "platform.usage");

/// A tenant's quota of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct QuotaRow {
    monthly_calls: Option<u64>,
    burst_per_second: Option<u32>,
}

impl Row for QuotaRow {}

/// A tenant's calls to a service in a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct UsageRow {
    calls: u64,
}

impl Row for UsageRow {}

/// How long a count may stay in memory only.
const STORE_AFTER_SECONDS: i64 = 5;
/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;
/// How many tenants' burst rates are watched at a time.
const BURSTS_MAX: usize = 65_536;
/// How long a round may wait for the writer; the next one tries again.
const DEADLINE: Duration = Duration::from_secs(10);

/// Whose calls, to what, in which month (year times 100 and the month).
type Account = (Uuid, u8, u32);

/// A call is over the quota; how long until the next may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverQuota(pub RetryAfterSeconds);

/// What a tenant has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The year.
    pub year: u32,
    /// The month, from 1.
    pub month: u32,
    /// The calls in it so far.
    pub calls: u64,
    /// When the next one begins.
    pub ends_at: Timestamp,
}

/// Counts calls. Register it as [`DueWork`].
pub struct Meter {
    store: Store,
    counted: Mutex<Counted>,
    bursts: Buckets<(Uuid, u8)>,
}

#[derive(Default)]
struct Counted {
    by_account: HashMap<Account, Calls>,
    /// When the oldest call that is not stored was counted.
    since: Option<Timestamp>,
}

/// Calls of one account.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    /// What the store has; `None` while it could not be read.
    stored: Option<u64>,
    unstored: u64,
}

impl Calls {
    fn total(self) -> u64 {
        self.stored.unwrap_or(0).saturating_add(self.unstored)
    }
}

impl Meter {
    /// Nothing counted yet.
    #[must_use]
    pub fn new(store: Store) -> Meter {
        Meter { store, counted: Mutex::default(), bursts: Buckets::new(BURSTS_MAX) }
    }

    /// Counts one call of a root tenant, if its quota allows it. `pacing_now` is
    /// [`Clock::pacing_now`](crate::clock::Clock::pacing_now). `true` if this is the first call that is not stored:
    /// time to [`wake`](crate::clock::Clock::wake) the clock.
    ///
    /// # Errors
    /// [`OverQuota`]; nothing is counted then.
    pub fn count(
        &self,
        read: &impl Read,
        service: Service,
        root_tenant_id: Uuid,
        now: Timestamp,
        pacing_now: Timestamp,
    ) -> Result<bool, OverQuota> {
        let key = (root_tenant_id, service.code());
        let quota = read.get(&QUOTAS, &key).unwrap_or_else(|failure| {
            tracing::warn!(%failure, "a quota cannot be read; the call is served");
            None
        });
        let quota = quota.unwrap_or_default();
        let account = (key.0, key.1, period(now));
        let mut counted = self.counted();
        let calls = counted.by_account.entry(account).or_default();
        if calls.stored.is_none() {
            calls.stored = read.get(&USAGE, &account).ok().map(|usage| usage.unwrap_or_default().calls);
        }
        if quota.monthly_calls.is_some_and(|most| calls.total() >= most) {
            let seconds = first_of_next_month(now).micros_since(now).div_euclid(1_000_000) + 1;
            return Err(OverQuota(RetryAfterSeconds(u64::try_from(seconds).unwrap_or(1))));
        }
        if let Some(per_second) = quota.burst_per_second {
            let rate = Rate { per_second, burst: per_second };
            self.bursts.take(&key, rate, pacing_now).map_err(OverQuota)?;
        }
        calls.unstored += 1;
        let is_first = counted.since.is_none();
        counted.since.get_or_insert(now);
        Ok(is_first)
    }

    /// What a root tenant has used of a service in the month of `now`, what is not stored yet included.
    #[must_use]
    pub fn usage(&self, read: &impl Read, service: Service, root_tenant_id: Uuid, now: Timestamp) -> Usage {
        let account = (root_tenant_id, service.code(), period(now));
        let known = self.counted().by_account.get(&account).copied().unwrap_or_default();
        let stored = known.stored.or_else(|| read.get(&USAGE, &account).ok().flatten().map(|usage| usage.calls));
        let (year, month) = year_and_month(now);
        let calls = stored.unwrap_or(0).saturating_add(known.unstored);
        Usage { year, month, calls, ends_at: first_of_next_month(now) }
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores what is not stored yet; what cannot be stays for the next round.
    async fn store_all(&self) {
        let mut waiting: Vec<(Account, u64)> = {
            let mut counted = self.counted();
            counted.since = None;
            let unstored = counted.by_account.iter().filter(|(_, calls)| calls.unstored > 0);
            unstored.map(|(account, calls)| (*account, calls.unstored)).collect()
        };
        waiting.sort_unstable();
        let newest = waiting.iter().map(|((_, _, period), _)| *period).max().unwrap_or(0);
        for slice in waiting.chunks(SLICE_ROWS) {
            let rows = slice.to_vec();
            match self.store.write(Instant::now() + DEADLINE, move |tx, _| verbs::add_usage(tx, &rows)).await {
                Ok(totals) => self.stored(&totals, slice),
                Err(Abort::Failed(failure)) => {
                    tracing::warn!(%failure, "counts of calls could not be stored; trying again later");
                    self.counted().since.get_or_insert(self.store.read().time());
                    return;
                }
                Err(Abort::<Infallible>::Refused(never)) => match never {},
            }
        }
        // Months that are over need no place once they are stored.
        self.counted().by_account.retain(|(_, _, period), calls| *period >= newest || calls.unstored > 0);
    }

    /// `totals` is what the store has now, `added` what was added to it.
    fn stored(&self, totals: &[u64], added: &[(Account, u64)]) {
        let mut counted = self.counted();
        for (total, (account, added)) in totals.iter().zip(added) {
            let calls = counted.by_account.entry(*account).or_default();
            calls.stored = Some(*total);
            calls.unstored = calls.unstored.saturating_sub(*added);
        }
    }
}

/// The month of an instant, as one number.
fn period(now: Timestamp) -> u32 {
    let (year, month) = year_and_month(now);
    year * 100 + month
}

impl DueWork for Meter {
    fn name(&self) -> &'static str {
        "platform.metering"
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.counted().since.map(|since| since.plus_seconds(STORE_AFTER_SECONDS))
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.store_all())
    }
}
