//! Amounts between the digits of minor units and the decimals that people read.

use crate::cli::CliError;

/// Minor units as a decimal with exactly `scale` fraction digits.
pub fn money(minor: i128, scale: u8) -> String {
    let digits = format!("{:0width$}", minor.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let sign = if minor < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Minor units as the appliance tells them.
pub fn minor(text: &str) -> Result<i128, CliError> {
    text.parse().map_err(|_| CliError::failed("the appliance did not answer properly: an amount is none"))
}
