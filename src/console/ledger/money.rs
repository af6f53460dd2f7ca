//! Money as integers of minor units: counters of the ledger hold more than a decimal of 96 bits does, and sums of them are
//! exact.

use crate::console::notice::Notice;

/// Reads what the ledger says in minor units.
///
/// # Errors
/// [`Notice::Unavailable`]: it is no such number.
pub fn minor(text: &str) -> Result<i128, Notice> {
    text.parse().map_err(|_| Notice::Unavailable)
}

/// Minor units as a decimal with so many fraction digits.
pub fn decimal(minor: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let sign = if minor < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", minor.unsigned_abs(), width = scale + 1);
    match digits.split_at_checked(digits.len().saturating_sub(scale)) {
        Some((whole, fraction)) if scale > 0 => format!("{sign}{whole}.{fraction}"),
        _ => format!("{sign}{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_units_are_told_as_the_ledger_tells_them() {
        for (units, scale, expected) in [
            (0, 2, "0.00"),
            (0, 0, "0"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (-12_345, 0, "-12345"),
            (1, 12, "0.000000000001"),
            (i128::MAX / 4, 2, "425352958651173079329218259289710264.31"),
        ] {
            assert_eq!(decimal(units, scale), expected);
        }
        assert_eq!(minor("-170141183460469231731687303715884105728").ok(), Some(i128::MIN));
        assert!(minor("1.5").is_err() && minor("").is_err());
    }
}
