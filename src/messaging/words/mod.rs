//! The words of messaging: what a name, a tag, a recipient, a label or an address is, and what a checkout is called.
//!
//! Pure rules over text: nothing here knows who or what there is. Whether a name belongs to somebody is asked elsewhere;
//! here is decided whether it could.
//!
//! Numbers such as I1 or T6 are the sentences of the messaging design that a rule is from.
//!
//! Reading order: `spelling` (what the rules for names share) · `origin`, `checkout` (which repository, and which
//! checkout of it) · `agent_name`, `workspace_slug`, `room_name`, `label` (names) · `tag` · `address` · `recipient` (all
//! that a message can be addressed to) · `subject` · `bech32`, `secret` (how keys and secrets are written).

pub(crate) mod address;
pub(crate) mod agent_name;
pub(crate) mod bech32;
pub(crate) mod checkout;
pub(crate) mod label;
pub(crate) mod origin;
pub(crate) mod recipient;
pub(crate) mod room_name;
pub(crate) mod sealed;
pub(crate) mod secret;
pub(crate) mod subject;
pub(crate) mod tag;
pub(crate) mod workspace_slug;

mod spelling;
