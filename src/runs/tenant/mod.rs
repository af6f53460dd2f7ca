//! What a tenant may, as it reads and changes it: its quotas and its working hours.
//!
//! The words and rules are those of `allowances`; another calendar moves what waits, which is why this stands above
//! `containers`.
//!
//! Reading order: `form` (reading a change) · `wire` (writing what holds) · `http`.

pub(crate) mod form;
pub(crate) mod http;
pub(crate) mod wire;
