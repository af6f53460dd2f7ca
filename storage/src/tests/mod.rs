//! Tests of the store as a whole: on RocksDB and the real disk, and on the simulated disk with crashes.

mod attacks;
mod copies;
mod copying;
mod crash;
mod families;
mod following;
mod keys;
mod migrating;
mod model;
mod threads;
mod waking;
mod whole;
mod workload;
