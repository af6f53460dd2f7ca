//! CLDR's sample numbers: `0, 2~16, 1.0~1.5, 1c6, …`.

use super::number::{Number, NumberIllFormed};

/// Every number that a list of samples names, each as it is written; a range counts up in its last digit.
pub(super) fn samples(text: &str) -> impl Iterator<Item = Result<Number, NumberIllFormed>> {
    let written = text.split(", ").filter(|sample| !matches!(*sample, "" | "…"));
    written.flat_map(expand).map(|number| number.and_then(|number| Number::parse(&number)))
}

/// A range of numbers with equally many digits after the point, or one number.
fn expand(sample: &str) -> Vec<Result<String, NumberIllFormed>> {
    let Some((first, last)) = sample.split_once('~') else { return vec![Ok(sample.to_owned())] };
    let fraction = first.split_once('.').map_or("", |(_, fraction)| fraction).len();
    let steps = |text: &str| text.replace('.', "").parse::<u32>();
    let (Ok(first), Ok(last)) = (steps(first), steps(last)) else { return vec![Err(NumberIllFormed)] };
    let number = |step: u32| {
        if fraction == 0 {
            return step.to_string();
        }
        let digits = format!("{step:0>width$}", width = fraction + 1);
        let (integer, fraction) = digits.split_at_checked(digits.len() - fraction).unwrap_or_default();
        format!("{integer}.{fraction}")
    };
    (first..=last).map(|step| Ok(number(step))).collect()
}
