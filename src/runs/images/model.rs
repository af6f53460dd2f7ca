//! What images take of a tenant's quota.

use std::collections::BTreeMap;

use quintet_storage::Timestamp;

/// How long an image counts, and is kept where room is short, after the last run that used it.
const KEPT_SECONDS: i64 = 30 * 86_400;
/// How exactly it is known when it was used last.
const USE_SECONDS: i64 = 86_400;

/// An image that a tenant names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its layers: the digests of their uncompressed archives, and what they take unpacked, in bytes.
    pub(crate) layers: Vec<(String, u64)>,
    /// When a run used it last, to a day.
    pub(crate) used_at: Timestamp,
}

impl Named {
    /// Whether it counts still.
    pub(crate) fn counts(&self, now: Timestamp) -> bool {
        !is_old(self.used_at, now)
    }

    /// Whether its use has been noted lately enough.
    pub(crate) fn is_noted(&self, now: Timestamp) -> bool {
        self.used_at.plus_seconds(USE_SECONDS) > now
    }
}

/// Whether what was used last then has been unused for as long as images are kept.
pub(crate) fn is_old(used_at: Timestamp, now: Timestamp) -> bool {
    used_at.plus_seconds(KEPT_SECONDS) <= now
}

/// What images take together, each layer once.
pub(crate) fn layers_of<'a>(images: impl IntoIterator<Item = &'a Named>) -> BTreeMap<&'a str, u64> {
    let layers = images.into_iter().flat_map(|image| &image.layers);
    layers.map(|(digest, bytes)| (digest.as_str(), *bytes)).collect()
}

/// The sum of what layers take, in bytes.
pub(crate) fn bytes_of(layers: &BTreeMap<&str, u64>) -> u64 {
    layers.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

/// A quota in bytes.
pub(crate) const fn bytes_of_mb(mb: u64) -> u64 {
    mb.saturating_mul(1 << 20)
}

/// An image that the tenant's quota has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverQuota {
    /// `max_image_mb`.
    pub(crate) max_image_mb: u64,
    /// What the images that the tenant names take already, in bytes.
    pub(crate) taken_bytes: u64,
}

impl std::fmt::Display for OverQuota {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let taken_mb = self.taken_bytes.div_ceil(1 << 20);
        let most_mb = self.max_image_mb;
        write!(
            f,
            "the image takes more than max_image_mb leaves: {taken_mb} of {most_mb} MiB are taken by images that runs \
             have used within 30 days"
        )
    }
}
