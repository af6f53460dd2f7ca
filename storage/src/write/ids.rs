//! Identifiers minted by the one writer: UUID version 7, strictly increasing in the order of the log.

use uuid::Uuid;

use crate::time::Timestamp;

/// Bits below the millisecond: 12 for its fraction, 62 that are random.
const FRACTION_BITS: u32 = 12;
const RANDOM_BITS: u32 = 62;

/// RFC 9562, section 5.7, with method 3 of 6.2 (fraction of the millisecond) and, for identifiers of one instant,
/// method 2 (the one before plus a random step).
pub(crate) struct IdMint {
    random: fastrand::Rng,
    /// The last identifier without version and variant: milliseconds, fraction, random part.
    last: u128,
}

impl IdMint {
    /// Starts above everything that was given out up to `tick`, whatever the clock says: one that stands still over a
    /// restart does not lead back.
    pub(crate) fn after(tick: u64, seed: u64) -> IdMint {
        let last = (u128::from(tick) << RANDOM_BITS) | ((1 << RANDOM_BITS) - 1);
        IdMint { random: fastrand::Rng::with_seed(seed), last }
    }

    /// How far identifiers were given out: the milliseconds and the fraction of the last one. The log keeps it.
    pub(crate) fn tick(&self) -> u64 {
        u64::try_from(self.last >> RANDOM_BITS).unwrap_or(u64::MAX)
    }

    pub(crate) fn mint(&mut self, now: Timestamp) -> Uuid {
        // The top random bit starts clear, which leaves room for steps.
        let fresh = (ticks(now) << RANDOM_BITS) | u128::from(self.random.u64(..) >> 3);
        let stepped = self.last + u128::from(self.random.u32(1..));
        self.last = fresh.max(stepped);
        layout(self.last)
    }
}

/// Milliseconds since the epoch and, below them, the fraction of the millisecond.
fn ticks(time: Timestamp) -> u128 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(0);
    let fraction = u128::from((micros % 1000) * (1 << FRACTION_BITS) / 1000);
    (u128::from(micros / 1000) << FRACTION_BITS) | fraction
}

/// The least identifier that no transaction at or before `time` was given, unless it ran ahead of the time: identifiers
/// never lie before their transaction's time, but go on above it where the time stands still. For finding a place in
/// rows that are kept by identifier.
#[must_use]
pub fn first_id_after(time: Timestamp) -> Uuid {
    layout((ticks(time) + 1) << RANDOM_BITS)
}

/// Puts version and variant where RFC 9562 wants them.
fn layout(value: u128) -> Uuid {
    let random = value & ((1 << RANDOM_BITS) - 1);
    let fraction = (value >> RANDOM_BITS) & ((1 << FRACTION_BITS) - 1);
    let millis = value >> (RANDOM_BITS + FRACTION_BITS);
    Uuid::from_u128((millis << 80) | (0x7 << 76) | (fraction << 64) | (0b10 << 62) | random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_increase_even_when_time_stands_still() {
        let mut mint = IdMint::after(0, 7);
        let mut last = mint.mint(Timestamp::from_micros(1_700_000_000_000_123));
        for step in 0..100_000 {
            let next = mint.mint(Timestamp::from_micros(1_700_000_000_000_123 + step / 5_000));
            assert!(next > last, "{next} after {last}");
            assert_eq!(next.get_version_num(), 7);
            assert_eq!(next.get_variant(), uuid::Variant::RFC4122);
            last = next;
        }
    }

    #[test]
    fn a_new_mint_goes_on_above_the_old_one_at_the_same_instant() {
        let now = Timestamp::from_micros(1_700_000_000_000_123);
        let mut mint = IdMint::after(0, 1);
        let mut last = mint.mint(now);
        for seed in 2..100 {
            mint = IdMint::after(mint.tick(), seed);
            let next = mint.mint(now);
            assert!(next > last, "{next} after {last}");
            last = next;
        }
    }

    #[test]
    fn identifiers_of_an_instant_lie_before_the_first_one_after_it() {
        for micros in [1, 999, 1_700_000_000_123_456, 1_700_000_000_123_999] {
            let (now, next) = (Timestamp::from_micros(micros), Timestamp::from_micros(micros + 1));
            let bound = first_id_after(now);
            assert!(IdMint::after(0, 1).mint(now) < bound, "{micros}");
            assert!(IdMint::after(0, 1).mint(next) >= bound, "{micros}");
        }
    }

    #[test]
    fn the_first_48_bits_are_milliseconds() {
        let id = IdMint::after(0, 1).mint(Timestamp::from_micros(1_700_000_000_123_456));
        assert_eq!(id.as_u128() >> 80, 1_700_000_000_123);
    }
}
