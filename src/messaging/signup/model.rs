//! What is said when somebody signs up.

use crate::form::line;
use crate::refusal::Refusal;
use crate::words::{address, workspace_slug};

/// How long a sign-up waits for its confirmation, in seconds.
pub(super) const WAITS_SECONDS: i64 = 3_600;
/// So many wait at a time, in all, of one address, and of one place that they come from.
pub(super) const WAITING_MAX: usize = 1_000;
pub(super) const OF_ADDRESS_MAX: usize = 3;
pub(super) const OF_SOURCE_MAX: usize = 20;
/// Characters of the name of whoever signs up.
pub(super) const NAME_CHARS_MAX: usize = 100;

/// Who wants to sign up, as what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// His address of mail.
    pub(super) address: String,
    /// What the tenant and the workspace are to be called.
    pub(super) name: String,
    /// How the workspace is to be written in addresses and commands.
    pub(super) slug: String,
}

impl Wish {
    /// Whether it makes sense. `domain`: what agents' addresses end with.
    ///
    /// # Errors
    /// The first field that does not.
    pub(super) fn check(self, domain: &str) -> Result<Wish, Refusal> {
        let Wish { address, name, slug } = self;
        if !address::is_address(&address) {
            return Err(Refusal::field("address", "must be an address of mail, such as you@example.com"));
        }
        if address.rsplit_once('@').is_some_and(|(_, of)| of.eq_ignore_ascii_case(domain)) {
            return Err(Refusal::field("address", "must be a person's, and is an agent's here"));
        }
        let name = line("name", name.trim().to_owned(), NAME_CHARS_MAX)?;
        if name.is_empty() {
            return Err(Refusal::field("name", "must not be empty"));
        }
        if !workspace_slug::is_slug(&slug) {
            return Err(Refusal::field("workspace", workspace_slug::RULE));
        }
        Ok(Wish { address, name, slug })
    }
}
