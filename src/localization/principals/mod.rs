//! Principals: who can be granted something.
//!
//! Nouns: a *member* is a person, invited by an e-mail address (*pending*) and *active* from the first sign-in on, when the
//! person is bound to an issuer and a subject of the identity provider. A *service account* is a program. Both act with
//! *keys*, and both have a short id, as workspaces and projects have.
//!
//! Invariants:
//! - what tells of a person (address, name, issuer, subject, labels of keys) is sealed under the member's own data key, and nowhere else:
//!   once that is destroyed, it is gone from the log and from copies, too (localization, I2);
//! - an address belongs to one live member, and so does a subject of an issuer; those of removed members to nobody. Both are
//!   looked up by *marks*, digests under a key of the tenant's, so that nobody can try addresses on a stolen disk;
//! - the keys of a principal are a bounded number, and so are members and service accounts of a tenant.
//!
//! Below `http`, which tells people from programs by it; what changes principals is [`accounts`](crate::accounts). Reading
//! order: `model` · `tables` · `marks` (looking people up) · `find` · `verify`.

mod find;
mod marks;
mod model;
mod tables;
mod verify;

pub use find::{
    get_account, get_member, is_live, kind_of, list_accounts, list_members, member_by_email, member_by_subject,
};
#[cfg(test)]
pub use marks::former_email_mark;
pub use marks::{MarkKey, email_mark, keep_mark_key, subject_mark};
pub use model::{
    ACCOUNTS_MAX, ADDRESS_CHARS_MAX, AccountId, AccountStatus, DISPLAY_NAME_CHARS_MAX, LABEL_CHARS_MAX, MEMBERS_MAX,
    Member, MemberId, MemberStatus, Person, ServiceAccount, Subject, is_address, is_visible,
};
pub use tables::{
    ACCOUNTS, AccountRow, COUNTS, KEYS_OF_PRINCIPALS, KeyOfPrincipalRow, MEMBERS, MEMBERS_BY_EMAIL, MEMBERS_BY_SUBJECT,
    MemberMarkRow, MemberRow, TABLES, sealed_label, sealed_person,
};
pub use verify::verify;
