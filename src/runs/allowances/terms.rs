//! What a key allows of runs besides its permissions: metered time, images, retention.
//!
//! The operator says it when the key is issued, and it stays. A key of which nothing was said allows what its tenant
//! may.

use quintet_storage::{Failure, Read, WriteTx};

use super::model::KeyTerms;
use super::tables::KEY_TERMS;
use crate::registry::{NotAReference, Reference};

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
pub(crate) fn check(terms: &KeyTerms) -> Result<(), String> {
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
pub(crate) fn of(read: &impl Read, key_id: &str) -> Result<KeyTerms, Failure> {
    Ok(read.get(&KEY_TERMS, &key_id.to_owned())?.unwrap_or_default().into())
}

/// Notes what a key allows, in the transaction that issues it.
pub(crate) fn give(tx: &mut WriteTx<'_>, key_id: &str, terms: &KeyTerms) -> Result<(), Failure> {
    if *terms == KeyTerms::default() {
        return Ok(());
    }
    tx.put(&KEY_TERMS, &key_id.to_owned(), &terms.into())
}

/// Whether a run may have this image.
pub(crate) fn allow_image(terms: &KeyTerms, image: &str) -> bool {
    let Some(allowed) = &terms.allowed_images else { return true };
    let Ok(asked) = Reference::parse(image) else { return false };
    allowed.iter().any(|text| ImagePattern::parse(text).is_ok_and(|pattern| pattern.takes(&asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowing(images: &[&str]) -> KeyTerms {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        KeyTerms { allowed_images: Some(images), ..KeyTerms::default() }
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
            assert_eq!(allow_image(&allowing(&[allowed]), image), expected, "{allowed}: {image}");
        }
        assert!(allow_image(&allowing(&["a", "b"]), "b:1") && allow_image(&KeyTerms::default(), "no reference"));
    }

    #[test]
    fn terms_that_make_no_sense_are_refused() {
        let metered = |tier: &str, seconds| KeyTerms {
            tier: Some(tier.to_owned()),
            metered_seconds: Some(seconds),
            ..KeyTerms::default()
        };
        assert_eq!(check(&metered("free", 1)), Ok(()));
        assert_eq!(check(&allowing(&["busybox", "quay.io/team/tool:1"])), Ok(()));
        assert_eq!(check(&KeyTerms::default()), Ok(()));
        for (terms, part) in [
            (metered("", 1), "a tier has"),
            (metered("a\nb", 1), "a tier has"),
            (metered(&"x".repeat(65), 1), "a tier has"),
            (metered("free", 0), "metered seconds are"),
            (metered("free", 1_000_000_001), "metered seconds are"),
            (KeyTerms { metered_seconds: Some(1), ..KeyTerms::default() }, "both"),
            (KeyTerms { tier: Some("free".into()), ..KeyTerms::default() }, "both"),
            (KeyTerms { retention_days: Some(0), ..KeyTerms::default() }, "retention days are"),
            (allowing(&[]), "1 to 100 images"),
            (allowing(&["x"; 101]), "1 to 100 images"),
            (allowing(&["Busy Box"]), "\"Busy Box\""),
        ] {
            assert!(check(&terms).is_err_and(|reason| reason.contains(part)), "{terms:?}");
        }
    }
}
