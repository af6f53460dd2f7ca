//! Token buckets in bounded memory.
//!
//! A bucket is kept as one instant: when it will be full again (the generic cell rate algorithm, ITU-T I.371).
//! A full bucket is the same as none, so full ones are forgotten first; beyond `max_sources` the fullest is
//! forgotten, which gives its source a fresh burst and nobody else anything.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use quintet_storage::Timestamp;

/// How long to wait before the next attempt, in whole seconds, at least one. For a `Retry-After` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryAfterSeconds(pub u64);

/// What a bucket allows: `burst` at once, refilled at `per_second`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens that come back each second; 0 switches the limit off.
    pub per_second: u32,
    /// Tokens a full bucket holds; 0 counts as 1.
    pub burst: u32,
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Buckets by key, at most `max_keys` of them at a time.
#[derive(Debug)]
pub struct Buckets<K> {
    max_keys: usize,
    held: Mutex<Held<K>>,
}

/// When each bucket that is not known to be full will be, in nanoseconds since the epoch; and the same in order.
#[derive(Debug)]
struct Held<K> {
    full_at: HashMap<K, i128>,
    order: BTreeSet<(i128, K)>,
}

impl<K: Clone + Eq + Hash + Ord> Buckets<K> {
    /// No buckets yet; never more than `max_keys` (at least one).
    #[must_use]
    pub fn new(max_keys: usize) -> Self {
        let held = Held { full_at: HashMap::new(), order: BTreeSet::new() };
        Buckets { max_keys: max_keys.max(1), held: Mutex::new(held) }
    }

    /// Takes one token from the bucket of `key`.
    ///
    /// # Errors
    /// How long to wait if the bucket is empty; nothing is taken then.
    pub fn take(&self, key: &K, rate: Rate, now: Timestamp) -> Result<(), RetryAfterSeconds> {
        if rate.per_second == 0 {
            return Ok(());
        }
        let interval = NANOS_PER_SECOND / i128::from(rate.per_second);
        let tolerance = interval * i128::from(rate.burst.max(1) - 1);
        let now = i128::from(now.as_micros()) * 1000;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.forget_full(now);
        let before = held.full_at.get(key).copied();
        // A clock set back must not lock a source out for longer than its bucket takes to fill.
        let from = before.unwrap_or(now).clamp(now, now + tolerance + interval);
        let wait = from - now - tolerance;
        if wait > 0 {
            return Err(RetryAfterSeconds(whole_seconds(wait)));
        }
        if before.is_none() && held.full_at.len() >= self.max_keys {
            held.forget_fullest();
        }
        held.set(key, before, from + interval);
        Ok(())
    }

    /// How many buckets are held now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).full_at.len()
    }

    /// Whether no bucket is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Clone + Eq + Hash + Ord> Held<K> {
    fn set(&mut self, key: &K, before: Option<i128>, full_at: i128) {
        if let Some(before) = before {
            self.order.remove(&(before, key.clone()));
        }
        self.full_at.insert(key.clone(), full_at);
        self.order.insert((full_at, key.clone()));
    }

    /// Two at a time: more than one call can add, so that full buckets never pile up and no call is slow.
    fn forget_full(&mut self, now: i128) {
        for _ in 0..2 {
            match self.order.first() {
                Some((full_at, _)) if *full_at <= now => self.forget_fullest(),
                _ => break,
            }
        }
    }

    fn forget_fullest(&mut self) {
        if let Some((_, key)) = self.order.pop_first() {
            self.full_at.remove(&key);
        }
    }
}

fn whole_seconds(nanos: i128) -> u64 {
    let up = (nanos + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND;
    u64::try_from(up).unwrap_or(u64::MAX).max(1)
}

/// A rate for each source address. IPv6 sources count by their /64, which is what one subscriber is given; IPv4
/// addresses written as IPv6 count as IPv4.
#[derive(Debug)]
pub struct RateLimiter {
    rate: Rate,
    buckets: Buckets<u128>,
}

impl RateLimiter {
    /// `rate_per_second` 0 switches it off. `max_sources` bounds the memory: some 150 bytes each.
    #[must_use]
    pub fn new(rate_per_second: u32, burst: u32, max_sources: usize) -> Self {
        RateLimiter { rate: Rate { per_second: rate_per_second, burst }, buckets: Buckets::new(max_sources) }
    }

    /// Counts one request from `source`. `now` is [`Clock::pacing_now`](crate::clock::Clock::pacing_now).
    ///
    /// # Errors
    /// How long `source` must wait.
    pub fn check(&self, source: IpAddr, now: Timestamp) -> Result<(), RetryAfterSeconds> {
        self.buckets.take(&source_key(source), self.rate, now)
    }

    /// How many sources are remembered now; never more than `max_sources`.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.buckets.len()
    }
}

/// One number for each source: a /64, or an IPv4 address in the range that IPv6 keeps for it.
#[must_use]
pub fn source_key(source: IpAddr) -> u128 {
    match source.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => Ipv6Addr::to_bits(address) & !u128::from(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + micros)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_then_the_rate() {
        let limiter = RateLimiter::new(10, 20, 100);
        let source = address("192.0.2.1");
        for _ in 0..20 {
            assert_eq!(limiter.check(source, at(0)), Ok(()));
        }
        assert_eq!(limiter.check(source, at(0)), Err(RetryAfterSeconds(1)));
        assert_eq!(limiter.check(source, at(99_999)), Err(RetryAfterSeconds(1)));
        assert_eq!(limiter.check(source, at(100_000)), Ok(()));
        assert_eq!(limiter.check(source, at(100_000)), Err(RetryAfterSeconds(1)));
        assert_eq!(limiter.check(address("192.0.2.2"), at(100_000)), Ok(()));
        for _ in 0..20 {
            assert_eq!(limiter.check(source, at(60_000_000)), Ok(()));
        }
        assert_eq!(limiter.check(source, at(60_000_000)), Err(RetryAfterSeconds(1)));
    }

    #[test]
    fn zero_switches_it_off() {
        let limiter = RateLimiter::new(0, 0, 1);
        for _ in 0..1000 {
            assert_eq!(limiter.check(address("192.0.2.1"), at(0)), Ok(()));
        }
        assert_eq!(limiter.sources(), 0);
    }

    #[test]
    fn waits_are_whole_seconds_rounded_up() {
        let buckets = Buckets::new(10);
        let slow = Rate { per_second: 1, burst: 1 };
        assert_eq!(buckets.take(&1, slow, at(0)), Ok(()));
        assert_eq!(buckets.take(&1, slow, at(1)), Err(RetryAfterSeconds(1)));
        assert_eq!(buckets.take(&1, slow, at(-500_000)), Err(RetryAfterSeconds(1)), "the clock was set back");
        assert_eq!(buckets.take(&1, slow, at(1_000_000)), Ok(()));
    }

    #[test]
    fn sources_of_one_network_share_a_bucket() {
        let limiter = RateLimiter::new(1, 1, 10);
        assert_eq!(limiter.check(address("2001:db8::1"), at(0)), Ok(()));
        assert_eq!(limiter.check(address("2001:db8::ffff:2"), at(0)), Err(RetryAfterSeconds(1)));
        assert_eq!(limiter.check(address("2001:db8:0:1::1"), at(0)), Ok(()));
        assert_eq!(limiter.check(address("::ffff:192.0.2.1"), at(0)), Ok(()));
        assert_eq!(limiter.check(address("192.0.2.1"), at(0)), Err(RetryAfterSeconds(1)));
        assert_eq!(limiter.check(address("::1"), at(0)), Ok(()));
        assert_eq!(limiter.check(address("192.0.2.2"), at(0)), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_the_fullest_goes_first() {
        let buckets = Buckets::new(3);
        let rate = Rate { per_second: 1, burst: 5 };
        for _ in 0..5 {
            assert_eq!(buckets.take(&0, rate, at(0)), Ok(()));
        }
        for key in 1..10_000 {
            assert_eq!(buckets.take(&key, rate, at(0)), Ok(()));
            assert!(buckets.len() <= 3);
        }
        assert_eq!(buckets.take(&0, rate, at(0)), Err(RetryAfterSeconds(1)), "the empty bucket was kept");
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let buckets = Buckets::new(1000);
        let rate = Rate { per_second: 1, burst: 1 };
        for key in 0..500 {
            assert_eq!(buckets.take(&key, rate, at(0)), Ok(()));
        }
        for key in 1000..1500 {
            assert_eq!(buckets.take(&key, rate, at(5_000_000)), Ok(()));
        }
        assert!(buckets.len() <= 500, "{}", buckets.len());
    }

    proptest! {
        /// Against the textbook bucket, counted in whole intervals.
        #[test]
        fn agrees_with_a_counted_bucket(
            burst in 1_u32..8,
            steps in proptest::collection::vec(0_i64..700_000, 1..200),
        ) {
            let rate = Rate { per_second: 4, burst };
            let interval = 250_000_i64;
            let buckets = Buckets::new(4);
            let mut now = 0;
            let mut tokens_micros = i64::from(burst) * interval;
            for step in steps {
                now += step;
                tokens_micros = (tokens_micros + step).min(i64::from(burst) * interval);
                let allowed = buckets.take(&"k", rate, at(now)).is_ok();
                prop_assert_eq!(allowed, tokens_micros >= interval);
                if allowed {
                    tokens_micros -= interval;
                }
            }
        }

        #[test]
        fn waiting_as_told_is_enough(burst in 1_u32..5, per_second in 1_u32..50, calls in 1_usize..40) {
            let rate = Rate { per_second, burst };
            let buckets = Buckets::new(4);
            for _ in 0..calls {
                if let Err(RetryAfterSeconds(seconds)) = buckets.take(&0, rate, at(0)) {
                    let later = at(i64::try_from(seconds).unwrap() * 1_000_000);
                    prop_assert_eq!(buckets.take(&0, rate, later), Ok(()));
                    break;
                }
            }
        }
    }
}
