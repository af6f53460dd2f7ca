//! Whether an agent takes mail, whether anybody is there, and the streams that wake.
//!
//! Nouns: an agent *declares* whether it takes mail; what it withholds is held until its time is over or it says so. Its
//! *health* is whether a message would start a turn of it. A *stream* tells of what comes into its inbox; it is a hint, and
//! the inbox the truth.
//!
//! Reading order: `declare` (what an agent says of itself) · `watch` (what a stream tells) · `http`.

mod declare;
mod http;
#[cfg(test)]
mod pace;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use http::ENDPOINTS;
