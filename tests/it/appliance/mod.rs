//! The appliance itself: its command line, its life on a machine, its directory, and what goes for all its listeners.

mod advisories;
mod backup;
mod cli;
mod config;
mod copies;
mod crash;
mod doctor;
mod errors;
mod faults;
mod follow;
mod hardening;
mod late;
mod manual;
mod operations;
mod packaging;
mod proxies;
mod root_key;
mod root_key_rotation;
mod running;
mod tls;
mod verify;
