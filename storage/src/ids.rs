//! Identifiers minted by the one writer: UUID version 7, strictly increasing in the order of the log.

use uuid::Uuid;

use crate::time::Timestamp;

/// Bits below the millisecond: 12 for its fraction, 62 that are random.
const FRACTION_BITS: u32 = 12;
const RANDOM_BITS: u32 = 62;

/// RFC 9562, section 5.7, with method 3 of 6.2 (fraction of the millisecond) and, for identifiers of one instant,
/// method 2 (the one before plus a random step). Starts above everything minted before a restart, because the
/// writer's time does.
pub(crate) struct IdMint {
    random: fastrand::Rng,
    /// The last identifier without version and variant: milliseconds, fraction, random part.
    last: u128,
}

impl IdMint {
    pub(crate) fn new(seed: u64) -> IdMint {
        IdMint { random: fastrand::Rng::with_seed(seed), last: 0 }
    }

    pub(crate) fn mint(&mut self, now: Timestamp) -> Uuid {
        let micros = u64::try_from(now.as_micros()).unwrap_or(0);
        let fraction = u128::from((micros % 1000) * (1 << FRACTION_BITS) / 1000);
        let time = (u128::from(micros / 1000) << FRACTION_BITS) | fraction;
        // The top random bit starts clear, which leaves room for steps.
        let fresh = (time << RANDOM_BITS) | u128::from(self.random.u64(..) >> 3);
        let stepped = self.last + u128::from(self.random.u32(1..));
        self.last = fresh.max(stepped);
        layout(self.last)
    }
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
        let mut mint = IdMint::new(7);
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
    fn the_first_48_bits_are_milliseconds() {
        let id = IdMint::new(1).mint(Timestamp::from_micros(1_700_000_000_123_456));
        assert_eq!(id.as_u128() >> 80, 1_700_000_000_123);
    }
}
