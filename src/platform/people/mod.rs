//! People at the console: links that let somebody in once, the sessions of operators, and what members may besides
//! localization.
//!
//! Nouns: a *link* lets one person in, as an operator or as one member of a tenant; its *token* is told once, when it is
//! made. An *operator* is who runs the appliance: known by the name that he has on its machine, of no tenant. *Permits* are
//! what a member may do in the services other than localization, which has grants of its own. A *deed* is what an operator
//! did here, for others to read.
//!
//! Invariants (8-console.md, "Signing in" and "Who may what"):
//! - of a link, and of a session, a digest is stored; one that is not there and a wrong secret cannot be told apart;
//! - a link works once and for ten minutes: whoever uses it takes it out in the same transaction that makes the session;
//! - an operator's session ends eight hours after it began, whatever was made of it, and after half an hour without a
//!   request, which is noted to the minute;
//! - every link that is made, every member that the operator invites or removes, every change of permits, and every session
//!   at the console that begins or is ended leaves a deed, in the same transaction: also one that ends for a newer one, or
//!   with its member. One whose time is over leaves none. The newest ten thousand are kept;
//! - rows whose time is over let nobody in from that instant on, and go at the next full hour.
//!
//! Reading order: `model`, `tables` · `deeds` · `links`, `operators`, `members`, `permits` (verbs) · `over` (what the clock
//! ends), `verify`.

mod deeds;
mod links;
mod members;
mod model;
mod operators;
mod over;
mod permits;
pub(crate) mod tables;
mod verify;

#[cfg(test)]
mod tests;

pub use deeds::{list_deeds, record_deed};
pub use links::{LinkToken, NewLink, find_link, make_link, take_link};
pub use members::{end_member_session, end_member_sessions, record_member_ends};
pub use model::{Act, Deed, LINK_SECONDS, Link, OPERATOR_SECONDS, OperatorSession, Purpose};
pub use operators::{begin_session, end_operator_session, find_operator, is_use_due, list_operators, note_use};
pub use over::PeopleEnds;
pub use permits::{forbid, forget_permits, permit, permits_of};
pub(crate) use verify::verify;
