//! The administration socket: a unix socket in the data directory, through which the command line talks to a
//! running appliance. Only root and the user that runs the appliance may use it.

pub mod backups;
pub mod client;
pub mod ledger;
pub mod localization;
pub mod protocol;
pub mod quotas;
pub mod server;
pub mod socket;
pub mod status;
pub mod tasks;
