//! The strict pieces HTTP interfaces are put together from. Each service keeps its own error shape and routes.
//!
//! Reading order: [`query`], [`body`], [`origin`], [`web_origin`], [`cookie`] (what comes in) · [`etag`], [`precondition`], [`range`] · [`problem`], [`html`], [`visible`]
//! (what goes out), [`bearer`] (what others are shown), [`outgoing`] (whether it arrives) · [`request_id`].

pub mod bearer;
pub mod body;
pub mod cookie;
pub mod etag;
pub mod html;
pub mod origin;
pub mod outgoing;
pub mod precondition;
pub mod problem;
pub mod query;
pub mod range;
pub mod request_id;
pub mod visible;
pub mod web_origin;

pub use crate::shown::shown_name;
pub use outgoing::Outgoing;
