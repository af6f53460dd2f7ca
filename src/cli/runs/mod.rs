//! Commands for runs, and what other commands say of them.

pub mod image;
pub mod quotas;
pub mod records;
pub mod rootfs;
pub mod runner;
pub mod schedule;
pub mod terms;
pub mod webhook;
pub mod workflow;
