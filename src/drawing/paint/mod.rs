//! The painter: a graph with its parts and their places, made into a scene.
//!
//! In reading order: `scene` (what comes out), `picture` (the whole way), `page` (around it), `cluster`, `node`, `edge`
//! (the parts), `label`, `html`, `link`, `address` (what they say), `pen`, `corners`, `order`, `cost` (their tools).

pub mod scene;

mod address;
mod cluster;
mod corners;
mod cost;
mod edge;
mod html;
mod label;
mod link;
mod node;
mod order;
mod page;
mod pen;
mod picture;

#[cfg(test)]
mod links_tests;
#[cfg(test)]
mod tests;

pub use picture::paint;
