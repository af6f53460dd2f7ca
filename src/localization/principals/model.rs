//! Members and service accounts.

use bincode::{Decode, Encode};
use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use quintet_storage::{Timestamp, key_newtype};

key_newtype!(
    /// A member.
    pub MemberId(Uuid)
);
key_newtype!(
    /// A service account.
    pub AccountId(Uuid)
);

/// The most live members of a tenant. The contract knows no such limit.
pub const MEMBERS_MAX: u32 = 10_000;
/// The most active service accounts of a tenant, likewise. Those of keys from the command line do not count.
pub const ACCOUNTS_MAX: u32 = 10_000;
/// The longest label of a service account that is made here, in characters.
pub const LABEL_CHARS_MAX: usize = 64;
/// The longest e-mail address, in characters.
pub const ADDRESS_CHARS_MAX: usize = 254;
/// The longest name of a person, in characters.
pub const DISPLAY_NAME_CHARS_MAX: usize = 200;
/// The longest part of an address before its `@` and the longest part of its domain (RFC 5321, 4.5.3.1; RFC 1035, 2.3.4).
const LOCAL_PART_BYTES_MAX: usize = 64;
const LABEL_BYTES_MAX: usize = 63;

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();

/// How far a member has come (localization, I1 and I2). The arrows: a member is made pending; pending becomes active with
/// the first sign-in; both become removed, and whatever is not erased becomes erased. None leads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MemberStatus {
    /// Invited, and not signed in yet. Keys work.
    Pending,
    /// Has signed in.
    Active,
    /// Let in no more.
    Removed,
    /// Removed, and nothing is left of the person.
    Erased,
}

impl MemberStatus {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MemberStatus::Pending => "pending",
            MemberStatus::Active => "active",
            MemberStatus::Removed => "removed",
            MemberStatus::Erased => "erased",
        }
    }

    /// Whether the member may be let in.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, MemberStatus::Pending | MemberStatus::Active)
    }
}

/// Whom the identity provider means.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Subject {
    /// The provider.
    pub issuer: String,
    /// The person's name with the provider.
    pub subject: String,
}

/// What tells of a person: the sealed part of a member.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Person {
    /// The e-mail address, as it was given.
    pub email: String,
    /// A name for people.
    pub display_name: Option<String>,
    /// Whom the first sign-in bound the member to.
    pub subject: Option<Subject>,
}

/// A member as it stands. It has no `Debug`: what tells of a person does not belong in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Member {
    /// Its id, which is its principal's.
    pub member_id: MemberId,
    /// What stands for it among people.
    pub short_id: String,
    /// How far it has come.
    pub status: MemberStatus,
    /// What tells of the person; nothing once it is erased.
    pub person: Option<Person>,
    /// When it was invited.
    pub created_at: Timestamp,
}

impl Member {
    /// The e-mail address; of an erased member one that nobody can have (localization, I2).
    #[must_use]
    pub fn email(&self) -> String {
        match &self.person {
            Some(person) => person.email.clone(),
            None => format!("{}@erased.invalid", self.short_id),
        }
    }
}

/// Whether a service account may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AccountStatus {
    /// It may.
    Active,
    /// It may not, for good.
    Revoked,
}

impl AccountStatus {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AccountStatus::Active => "active",
            AccountStatus::Revoked => "revoked",
        }
    }
}

/// A service account as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its id, which is its principal's.
    pub account_id: AccountId,
    /// What stands for it among people.
    pub short_id: String,
    /// What people call it.
    pub label: String,
    /// Whether it may act.
    pub status: AccountStatus,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Whether a character is one that people see: no white space, nothing that controls or formats, such as what turns the
/// direction of writing round, nothing that Unicode has not given a meaning, and nothing that is drawn as nothing (Unicode,
/// Default_Ignorable_Code_Point; the empty pattern of Braille).
#[must_use]
pub fn is_visible(character: char) -> bool {
    const EMPTY_BRAILLE: char = '\u{2800}';
    let is_ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character);
    let is_nothing = is_ignorable || character == EMPTY_BRAILLE;
    !is_nothing
        && !matches!(
            CodePointMapData::<GeneralCategory>::new().get(character),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::Unassigned
                | GeneralCategory::PrivateUse
                | GeneralCategory::Surrogate
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::SpaceSeparator
        )
}

/// Whether Unicode holds a character to be the same as one of ASCII, such as the Kelvin sign (NFC). Others do not: an address
/// with it is somebody else's.
fn is_ascii_in_disguise(character: char) -> bool {
    let mut buffer = [0; 4];
    NFC.normalize(character.encode_utf8(&mut buffer)).is_ascii()
}

/// An address as those are told apart that people have: composed (NFC), and whatever the case of ASCII letters. Letters
/// besides those of ASCII are not folded, for mail goes to each by itself. `None`: it is no address.
#[must_use]
pub fn folded_address(text: &str) -> Option<String> {
    is_address(text).then(|| NFC.normalize(text).to_ascii_lowercase())
}

/// Whether a text is an e-mail address: RFC 5321's Mailbox with RFC 6531's letters, without quoted strings, comments and
/// address literals.
#[must_use]
pub fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_word = |character: char| match character.is_ascii() {
        true => character.is_ascii_alphanumeric(),
        false => is_visible(character) && !is_ascii_in_disguise(character),
    };
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom.chars().all(|character| is_word(character) || "!#$%&'*+-/=?^_`{|}~".contains(character))
    };
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.chars().all(|character| is_word(character) || character == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.chars().take(ADDRESS_CHARS_MAX + 1).count() <= ADDRESS_CHARS_MAX
        && local.len() <= LOCAL_PART_BYTES_MAX
        && local.split('.').all(is_atom)
        && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let longest = format!("{}@{}.{}.{}.example", "a".repeat(64), "b".repeat(63), "c".repeat(63), "d".repeat(53));
        assert_eq!(longest.len(), 254);
        for good in ["a@b", "first.last+tag@mail.example", "o'hara@x-y.example", "grüße@bücher.example", &longest] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "@",
            "a@",
            "@b",
            "a b@c",
            "a@b c",
            "a@@b",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a@b..c",
            "a@-b",
            "a@b-",
            "a@b_c",
            "a\u{7}@b",
            "a\u{85}@b",
            "a\u{2003}@b",
            "a@b\n",
            "<a@b>",
            "a\u{200b}@b",
            "a\u{202e}b@c",
            "a@b\u{2066}",
            "a\u{feff}@b",
            "a@b\u{ad}",
            "a\u{e000}@b",
            "a\u{fe0f}@b",
            "a\u{34f}@b",
            "a\u{3164}@b",
            "a\u{115f}@b",
            "a\u{180b}@b",
            "a@b\u{2800}",
            "\u{212a}elvin@b",
            "a@\u{212a}elvin",
            "a\u{37e}b@c",
            "a\u{1fef}b@c",
            "\"a\"@b",
            "a@[127.0.0.1]",
            &format!("{}@b", "a".repeat(65)),
            &format!("a@{}", "b".repeat(64)),
            &format!("e{longest}"),
            &longest.replace("example", "examples"),
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_that_are_one() {
        let folded = |text: &str| folded_address(text).unwrap();
        assert_eq!(folded("Zoe@Example.ORG"), "zoe@example.org");
        assert_eq!(
            folded("Gru\u{308}\u{df}e@B.example"),
            folded("gr\u{fc}\u{df}e@b.EXAMPLE"),
            "however it is composed"
        );
        // Whose letters others take for those of ASCII, or fold to them, is somebody else.
        for other in ["\u{212a}elvin@b.example", "KEL\u{130}N@b.example", "\u{17f}elvin@b.example"] {
            let folded = folded_address(other);
            assert!(folded.is_none_or(|folded| !folded.is_ascii()), "{other}");
        }
        assert_eq!(folded("\u{dc}@b"), "\u{dc}@b");
        assert_eq!(folded_address("no address"), None);
    }
}
