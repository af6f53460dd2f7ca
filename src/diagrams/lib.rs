//! Diagrams: the service that draws DOT, keeps the pictures, checks sources, and has them written for a text.
//!
//! What a picture looks like is the business of `quintet-drawing`; this room knows who asks, how many at once, and where
//! pictures lie. Reading order: `context` (what it needs to serve) · `engine` (what draws) · `pool` (the threads) ·
//! `store`, `tables` (kept pictures) · `generate` (DOT from a text) · `refusal` · `http`.

pub mod context;
pub mod engine;
pub mod generate;
mod http;
pub mod pool;
pub mod refusal;
pub mod store;
pub mod tables;

pub use crate::context::{Context, Settings, due_work};
pub use crate::http::{PERMISSION, ROUTES, Route, panic_answer, routes};
pub use crate::store::verify;
pub use crate::tables::TABLES;
