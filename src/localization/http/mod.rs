//! What all of localization's endpoints share; and those that belong to no folder of their own: health and the locales
//! that there are.
//!
//! Below the folders, each of which has its endpoints beside it; they are strung together at the top of the room.
//!
//! Reading order: `dialect`, `form` (reading bodies), `pieces` (sending what is made as it is sent) · `health`, `locales`.

mod dialect;
mod form;
pub mod health;
pub mod locales;
mod pieces;

#[cfg(test)]
mod tests;

pub use dialect::{Answered, CORE, Call, Caller, LIMIT, Localization, TAGGED, to_its_end};
pub use form::{Form, LOCALE_CHARS_MAX, read};
pub use pieces::{NextPiece, body_of};
