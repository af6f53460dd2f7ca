//! Images that were pulled for runs: which tenant names which, and how much of `max_image_mb` that takes.
//!
//! Nouns: a tenant *names* an image when a run of it is about to start from it. What it names counts, unpacked, for
//! thirty days after its last run; a layer that several of its images have counts once, and one that several tenants'
//! images have counts for each of them. What an operator has imported counts for nobody.
//!
//! Reading order: `model` (words and pure rules) · `tables` (what is stored) · `naming` (the verbs).

pub(crate) mod model;
pub(crate) mod naming;
pub(crate) mod tables;

#[cfg(test)]
mod tests;
