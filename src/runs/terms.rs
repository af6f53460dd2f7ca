//! What a key allows of runs besides its permissions: metered time, images, retention.
//!
//! The operator says it when the key is issued, and it stays. A key of which nothing was said allows what its tenant
//! may.
//!
//! A metered key has so many seconds for its whole life. A run is charged its `timeout_seconds` in the transaction that
//! accepts it. The charge is a row that exists exactly while the run has not ended: the transaction that ends the run,
//! or deletes it before it has started, takes the row away and counts what the run has used. So nothing is charged or
//! given back twice, whenever the appliance is killed.

use quintet_storage::{Abort, Failure, Read, Scan, WriteTx};

use crate::changes::{Place, find};
use crate::model::RunId;
use crate::refusal::Refusal;
use crate::registry::{NotAReference, Reference};
use crate::tables::{CHARGES, ChargeRow, KEY_TERMS, KeyTermsRow, METERS, MeterRow, RESULTS, ResultRow};

/// The most seconds of a metered key, and the longest retention in days: more than anybody needs.
const NUMBER_MOST: u64 = 1_000_000_000;
/// The longest name of a tier, in characters.
const TIER_CHARS_MAX: usize = 64;
/// The most images of a key.
const IMAGES_MAX: usize = 100;

/// The images that one entry of `allowed_images` stands for.
#[derive(Clone, Debug)]
struct ImagePattern {
    reference: Reference,
    /// It names neither a tag nor a digest: it stands for all of its repository.
    is_repository: bool,
}

impl ImagePattern {
    fn parse(text: &str) -> Result<ImagePattern, NotAReference> {
        let last = text.rsplit('/').next().unwrap_or_default();
        Ok(ImagePattern { reference: Reference::parse(text)?, is_repository: !last.contains([':', '@']) })
    }

    /// A digest says which image it is; a tag beside it says nothing.
    fn takes(&self, asked: &Reference) -> bool {
        let own = &self.reference;
        let is_named = match (own.digest(), asked.digest()) {
            (None, None) => own.tag() == asked.tag(),
            (own, asked) => own == asked,
        };
        (own.host(), own.path()) == (asked.host(), asked.path()) && (self.is_repository || is_named)
    }
}

/// Checks what an operator wants a key to allow.
///
/// # Errors
/// What is wrong, as a sentence.
pub(crate) fn check(terms: &KeyTermsRow) -> Result<(), String> {
    if terms.tier.is_some() != terms.metered_seconds.is_some() {
        return Err("a metered key has both a tier and its seconds".to_owned());
    }
    let is_name = |tier: &String| {
        !tier.is_empty() && tier.chars().count() <= TIER_CHARS_MAX && !tier.chars().any(char::is_control)
    };
    if !terms.tier.as_ref().is_none_or(is_name) {
        return Err(format!("a tier has 1 to {TIER_CHARS_MAX} characters, none of them a control character"));
    }
    for (what, number) in [("metered seconds", terms.metered_seconds), ("retention days", terms.retention_days)] {
        if !number.is_none_or(|number| (1..=NUMBER_MOST).contains(&number)) {
            return Err(format!("{what} are 1 to {NUMBER_MOST}"));
        }
    }
    let images = terms.allowed_images.as_deref().unwrap_or_default();
    if images.len() > IMAGES_MAX || terms.allowed_images.as_ref().is_some_and(Vec::is_empty) {
        return Err(format!("a key allows 1 to {IMAGES_MAX} images, or any"));
    }
    for image in images {
        ImagePattern::parse(image).map_err(|error| format!("the image {image:?}: {error}"))?;
    }
    Ok(())
}

/// What a key allows.
pub(crate) fn of(read: &impl Read, key_id: &str) -> Result<KeyTermsRow, Failure> {
    Ok(read.get(&KEY_TERMS, &key_id.to_owned())?.unwrap_or_default())
}

/// What runs of a key have used, and were charged so far.
pub(crate) fn meter(read: &impl Read, key_id: &str) -> Result<MeterRow, Failure> {
    Ok(read.get(&METERS, &key_id.to_owned())?.unwrap_or_default())
}

impl MeterRow {
    /// What is not there any more: used, or charged and perhaps given back in part.
    pub(crate) fn spent_seconds(self) -> u64 {
        self.open_seconds.saturating_add(self.used_seconds)
    }
}

impl KeyTermsRow {
    /// Whether a run may have this image.
    pub(crate) fn allows_image(&self, image: &str) -> bool {
        let Some(allowed) = &self.allowed_images else { return true };
        let Ok(asked) = Reference::parse(image) else { return false };
        allowed.iter().any(|text| ImagePattern::parse(text).is_ok_and(|pattern| pattern.takes(&asked)))
    }

    /// How long an ended run is kept where the tenant's quota is this: the shorter counts.
    pub(crate) fn retention_days(&self, quota: u64) -> u64 {
        self.retention_days.map_or(quota, |days| days.min(quota))
    }
}

/// Charges a run that is about to be accepted, if the key is metered.
pub(crate) fn charge(
    tx: &mut WriteTx<'_>,
    place: Place,
    key_id: &str,
    terms: &KeyTermsRow,
    seconds: u64,
) -> Result<(), Abort<Refusal>> {
    let Some(metered_seconds) = terms.metered_seconds else { return Ok(()) };
    let meter = meter(tx, key_id)?;
    let left = metered_seconds.saturating_sub(meter.spent_seconds());
    if seconds > left {
        return Err(Refusal::MeteredQuota(left, seconds).into());
    }
    let open_seconds = meter.open_seconds.saturating_add(seconds);
    tx.put(&METERS, &key_id.to_owned(), &MeterRow { open_seconds, ..meter })?;
    tx.put(&CHARGES, &place, &ChargeRow { key_id: key_id.to_owned(), seconds })?;
    Ok(())
}

/// What a run has used: the time for which its container ran, pauses not counted, in whole seconds, a part of one as a
/// whole one. A run whose end nobody knows has used nothing.
fn used_seconds(result: &ResultRow) -> u64 {
    result.duration_micros.saturating_sub(result.paused_micros).div_ceil(1_000_000)
}

/// Gives back what a run that ends, or is deleted before it has started, was charged and has not used. Nothing happens
/// if it was not charged, or if that was done before.
pub(crate) fn settle(tx: &mut WriteTx<'_>, place: Place) -> Result<(), Failure> {
    let Some(charge) = tx.get(&CHARGES, &place)? else { return Ok(()) };
    tx.delete(&CHARGES, &place);
    let used = tx.get(&RESULTS, &place)?.map_or(0, |result| used_seconds(&result)).min(charge.seconds);
    let mut meter = meter(tx, &charge.key_id)?;
    meter.open_seconds = meter.open_seconds.saturating_sub(charge.seconds);
    meter.used_seconds = meter.used_seconds.saturating_add(used);
    tx.put(&METERS, &charge.key_id, &meter)
}

/// Finds charges of no run that waits or runs, and meters that are not the sum of their charges.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut open = std::collections::BTreeMap::<String, u64>::new();
    for (place, charge) in read.scan(&CHARGES, Scan::all())? {
        if find(read, place)?.is_none_or(|row| row.state.is_terminal()) {
            let (tenant_id, RunId(run_id)) = place;
            findings.push(format!("run {run_id} of tenant {tenant_id}: it is charged and has ended, or is none"));
        }
        *open.entry(charge.key_id).or_default() += charge.seconds;
    }
    for (key_id, meter) in read.scan(&METERS, Scan::all())? {
        if open.remove(&key_id).unwrap_or(0) != meter.open_seconds {
            findings.push(format!("key {key_id}: its meter is not the sum of what its runs were charged"));
        }
    }
    findings.extend(open.into_keys().map(|key_id| format!("key {key_id}: its runs were charged, and it has no meter")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowing(images: &[&str]) -> KeyTermsRow {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        KeyTermsRow { allowed_images: Some(images), ..KeyTermsRow::default() }
    }

    #[test]
    fn an_image_is_allowed_by_its_full_name_and_a_repository_with_all_its_tags() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let other = format!("sha256:{}", "b".repeat(64));
        let [by_digest, by_other] = [&digest, &other].map(|digest| format!("busybox@{digest}"));
        let tagged = format!("busybox:1.36@{digest}");
        for (allowed, image, expected) in [
            ("busybox", "busybox", true),
            ("busybox", "busybox:1.36", true),
            ("busybox", "docker.io/library/busybox:1", true),
            ("busybox", &by_digest, true),
            ("busybox", "library/busybox2", false),
            ("busybox", "quay.io/library/busybox", false),
            ("busybox", "team/busybox", false),
            ("busybox", "Busy Box", false),
            ("busybox:1.36", "index.docker.io/library/busybox:1.36", true),
            ("busybox:1.36", "busybox", false),
            ("busybox:latest", "busybox", true),
            ("busybox:1.36", "busybox:1.36.1", false),
            // Whoever names a digest chooses the image, whatever the tag beside it says.
            ("busybox:1.36", &tagged, false),
            (&tagged, &by_digest, true),
            (&by_digest, &by_digest, true),
            (&by_digest, &by_other, false),
            (&by_digest, "busybox", false),
            ("localhost:5000/team/tool", "localhost:5000/team/tool:7", true),
            ("localhost:5000/team/tool", "localhost:5001/team/tool:7", false),
        ] {
            assert_eq!(allowing(&[allowed]).allows_image(image), expected, "{allowed}: {image}");
        }
        assert!(allowing(&["a", "b"]).allows_image("b:1") && KeyTermsRow::default().allows_image("no reference"));
    }

    #[test]
    fn terms_that_make_no_sense_are_refused() {
        let metered = |tier: &str, seconds| KeyTermsRow {
            tier: Some(tier.to_owned()),
            metered_seconds: Some(seconds),
            ..KeyTermsRow::default()
        };
        assert_eq!(check(&metered("free", 1)), Ok(()));
        assert_eq!(check(&allowing(&["busybox", "quay.io/team/tool:1"])), Ok(()));
        assert_eq!(check(&KeyTermsRow::default()), Ok(()));
        for (terms, part) in [
            (metered("", 1), "a tier has"),
            (metered("a\nb", 1), "a tier has"),
            (metered(&"x".repeat(65), 1), "a tier has"),
            (metered("free", 0), "metered seconds are"),
            (metered("free", 1_000_000_001), "metered seconds are"),
            (KeyTermsRow { metered_seconds: Some(1), ..KeyTermsRow::default() }, "both"),
            (KeyTermsRow { tier: Some("free".into()), ..KeyTermsRow::default() }, "both"),
            (KeyTermsRow { retention_days: Some(0), ..KeyTermsRow::default() }, "retention days are"),
            (allowing(&[]), "1 to 100 images"),
            (allowing(&["x"; 101]), "1 to 100 images"),
            (allowing(&["Busy Box"]), "\"Busy Box\""),
        ] {
            assert!(check(&terms).is_err_and(|reason| reason.contains(part)), "{terms:?}");
        }
    }
}
