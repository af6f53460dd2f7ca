//! What a check looks at, and what it says.

use quintet_platform::json::Json;

use crate::content::Format;
use crate::language::{Category, Locale};

use super::reading::Reading;
use super::rules::Rules;

/// A check of the contract (QA results). There is no Q13 and no Q15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckId {
    /// Placeholders.
    Q01,
    /// The syntax of messages.
    Q02,
    /// Markup.
    Q03,
    /// Plural forms.
    Q04,
    /// Empty translations.
    Q05,
    /// White space at the ends.
    Q06,
    /// Punctuation at the end.
    Q07,
    /// Numbers.
    Q08,
    /// Terms of the glossary.
    Q09,
    /// What must not be translated.
    Q10,
    /// What must not be said.
    Q11,
    /// What is as in the source.
    Q12,
    /// White space inside.
    Q14,
    /// Lengths.
    Q16,
    /// Links.
    Q17,
    /// Characters that nobody sees.
    Q18,
    /// The formal register.
    Q19,
    /// Words of several scripts.
    Q20,
}

impl CheckId {
    /// Every check, in the order of the interface.
    pub const ALL: [CheckId; 18] = [
        CheckId::Q01,
        CheckId::Q02,
        CheckId::Q03,
        CheckId::Q04,
        CheckId::Q05,
        CheckId::Q06,
        CheckId::Q07,
        CheckId::Q08,
        CheckId::Q09,
        CheckId::Q10,
        CheckId::Q11,
        CheckId::Q12,
        CheckId::Q14,
        CheckId::Q16,
        CheckId::Q17,
        CheckId::Q18,
        CheckId::Q19,
        CheckId::Q20,
    ];

    /// Its id and its name on the wire, and whether a failure blocks review and approval.
    const fn told(self) -> (&'static str, &'static str, bool) {
        match self {
            CheckId::Q01 => ("Q01", "placeholders", true),
            CheckId::Q02 => ("Q02", "message_syntax", true),
            CheckId::Q03 => ("Q03", "markup", true),
            CheckId::Q04 => ("Q04", "plural_forms", true),
            CheckId::Q05 => ("Q05", "empty_translation", true),
            CheckId::Q06 => ("Q06", "edge_whitespace", false),
            CheckId::Q07 => ("Q07", "end_punctuation", false),
            CheckId::Q08 => ("Q08", "numbers", false),
            CheckId::Q09 => ("Q09", "glossary_term", false),
            CheckId::Q10 => ("Q10", "do_not_translate", true),
            CheckId::Q11 => ("Q11", "forbidden_term", true),
            CheckId::Q12 => ("Q12", "same_as_source", false),
            CheckId::Q14 => ("Q14", "inner_spacing", false),
            CheckId::Q16 => ("Q16", "length_limits", true),
            CheckId::Q17 => ("Q17", "links", true),
            CheckId::Q18 => ("Q18", "invisible_characters", true),
            CheckId::Q19 => ("Q19", "formal_register", false),
            CheckId::Q20 => ("Q20", "mixed_scripts", false),
        }
    }

    /// Its id on the wire.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.told().0
    }

    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.told().1
    }

    /// Whether its failure refuses review and approval.
    #[must_use]
    pub const fn is_blocking(self) -> bool {
        self.told().2
    }

    /// The check of an id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<CheckId> {
        CheckId::ALL.into_iter().find(|check| check.id() == id)
    }
}

/// Checks, as one number: bit `n` is the check numbered `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckSet(pub u32);

impl CheckSet {
    const fn bit(check: CheckId) -> u32 {
        1 << (check as u32)
    }

    /// Every check that blocks.
    #[must_use]
    pub fn blocking() -> CheckSet {
        CheckId::ALL.into_iter().filter(|check| check.is_blocking()).collect()
    }

    /// Whether the check is among them.
    #[must_use]
    pub const fn contains(self, check: CheckId) -> bool {
        self.0 & CheckSet::bit(check) != 0
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: CheckSet) -> CheckSet {
        CheckSet(self.0 & other.0)
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The checks, in the order of the interface.
    pub fn iter(self) -> impl Iterator<Item = CheckId> {
        CheckId::ALL.into_iter().filter(move |check| self.contains(*check))
    }
}

impl FromIterator<CheckId> for CheckSet {
    fn from_iter<I: IntoIterator<Item = CheckId>>(checks: I) -> CheckSet {
        CheckSet(checks.into_iter().fold(0, |set, check| set | CheckSet::bit(check)))
    }
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing to complain of.
    Pass,
    /// Something is wrong.
    Fail,
    /// There was nothing to look at.
    Skipped,
}

impl Status {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Skipped => "skipped",
        }
    }
}

/// What a check says of a text, or of a form of a plural.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to complain of.
    Pass,
    /// What is wrong, as [`super::detail::told`] writes it.
    Fail(String),
    /// There was nothing to look at; one fixed word says what was missing (localization, Q1).
    Skipped(&'static str),
}

/// What a check says of a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QaCheck {
    /// Which check.
    pub check: CheckId,
    /// How it ended.
    pub status: Status,
    /// Why, unless it passed.
    pub detail: Option<String>,
}

/// How long a translation may be, in Unicode scalar values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// At least so long.
    pub min: Option<u32>,
    /// At most so long.
    pub max: Option<u32>,
}

/// A text of the target and what it was made from.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// Which form of a plural; `None`: it is a text.
    pub category: Option<Category>,
    /// The source: of a plural its own form of the category, else `other`.
    pub source: Reading<'a>,
    /// The target.
    pub target: Reading<'a>,
}

/// A translation that is judged. Everything a check may look at: checks are pure.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The locale of the source.
    pub source_locale: &'a Locale,
    /// The locale of the translation.
    pub target_locale: &'a Locale,
    /// The kind of file: some syntax belongs to one kind alone.
    pub format: Format,
    /// Whether the key is a plural.
    pub is_plural: bool,
    /// One of a text; of a plural one for each form of the target, in CLDR's order.
    pub pairs: Vec<Pair<'a>>,
    /// The source's own `one` of a plural.
    pub source_one: Option<Reading<'a>>,
    /// Terms and register that hold for the target locale now.
    pub rules: &'a Rules,
    /// The lengths of the key's context.
    pub limits: Limits,
}

impl QaCheck {
    /// As the interface shows it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let members = [
            ("check", Json::from(self.check.id())),
            ("name", Json::from(self.check.name())),
            ("blocking", Json::from(self.check.is_blocking())),
            ("status", Json::from(self.status.name())),
            ("detail", self.detail.as_deref().map_or(Json::Null, Json::from)),
        ];
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl<'a> Subject<'a> {
    /// The source's `other`, for a form of a plural that is made from another form. What `other` says, every form of a
    /// target may say: the source's `one` may leave out its number where the target's is for 21 as well.
    #[must_use]
    pub fn source_of_other(&self, pair: &Pair<'_>) -> Option<&Reading<'a>> {
        pair.category.filter(|category| *category != Category::Other)?;
        let other = self.pairs.iter().find(|pair| pair.category == Some(Category::Other))?;
        Some(&other.source)
    }
}
