//! The administration socket: a unix socket in the data directory, through which the command line talks to a running
//! appliance. Only root and the user that runs the appliance may use it.
//!
//! One file, or folder, for each thing that an operator has to do with: its requests ([`call::Call`]), what is wished and
//! shown, and the handlers. An operator command is added there and in [`cli`](crate::cli), nowhere else.
//!
//! Reading order: [`socket`], `asker` (who asks), [`call`], [`problem`] · `task` (what handlers share), [`records`] · [`tenants`], [`clock`], [`root_key`],
//! [`backups`], [`console`], [`members`] · the rooms: [`ledger`], [`localization`], [`decisions`], [`runs`], [`schedules`],
//! [`webhooks`], [`workflows`], [`messaging`], [`approvals`] · what is put together of several: [`keys`], [`quotas`],
//! [`status`] · [`server`] · [`client`].

pub mod approvals;
mod asker;
pub mod backups;
pub mod call;
pub mod client;
pub mod clock;
pub mod console;
pub mod decisions;
pub mod keys;
pub mod ledger;
pub mod localization;
pub mod members;
pub mod messaging;
pub mod problem;
pub mod quotas;
pub mod records;
pub mod root_key;
pub mod runs;
pub mod schedules;
pub mod server;
pub mod socket;
pub mod status;
pub mod task;
pub mod tenants;
pub mod webhooks;
pub mod workflows;
