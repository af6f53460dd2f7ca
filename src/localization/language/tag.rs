//! The grammar of language tags: RFC 5646, section 2.1, and inside the extensions `u` and `t` that of UTS 35.
//!
//! Tags that are registered as a whole (`i-klingon`) are looked up before; many of them do not follow the grammar.

use super::alias::{LanguageId, is_region, is_script, is_variant};
use super::refusal::LocaleRefusal;

/// A tag that follows the grammar, in lower case, its parts in the order in which they stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// `x-…`: nothing but private use.
    PrivateUse,
    /// Everything else.
    Language(Box<LanguageTag>),
}

/// A tag that begins with a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LanguageTag {
    pub(super) id: LanguageId,
    /// The extended languages; a valid tag has at most one.
    pub(super) extended_languages: Vec<String>,
    pub(super) extensions: Vec<Extension>,
    /// What follows `x-`.
    pub(super) private_use: Vec<String>,
}

/// An extension, from its singleton on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// `u`: Unicode locale attributes and keywords.
    Unicode(Unicode),
    /// `t`: from what the text was transformed.
    Transformed(Transformed),
    /// Any other; none is registered, so its subtags are kept as they are.
    Other { singleton: u8, subtags: Vec<String> },
}

impl Extension {
    /// The letter or digit that opens it.
    pub(super) const fn singleton(&self) -> u8 {
        match self {
            Self::Unicode(_) => b'u',
            Self::Transformed(_) => b't',
            Self::Other { singleton, .. } => *singleton,
        }
    }
}

/// The extension `u`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unicode {
    pub(super) attributes: Vec<String>,
    /// A key and the subtags of its value.
    pub(super) keywords: Vec<(String, Vec<String>)>,
}

/// The extension `t`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transformed {
    /// The language it was transformed from; an empty one if there is none.
    pub(super) source: LanguageId,
    /// A key and the subtags of its value.
    pub(super) fields: Vec<(String, Vec<String>)>,
}

/// Reads a tag that is in lower case already.
pub(super) fn read(lower: &str) -> Result<Tag, LocaleRefusal> {
    let subtags: Vec<&str> = lower.split('-').collect();
    let well_formed = subtags
        .iter()
        .all(|subtag| matches!(subtag.len(), 1..=8) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    if !well_formed {
        return Err(LocaleRefusal::IllFormed);
    }
    let mut rest = Rest(&subtags);
    if rest.next_if(|subtag| subtag == "x").is_some() {
        return if rest.0.is_empty() { Err(LocaleRefusal::IllFormed) } else { Ok(Tag::PrivateUse) };
    }
    language_tag(rest).map(|tag| Tag::Language(Box::new(tag))).ok_or(LocaleRefusal::IllFormed)
}

/// The subtags that are not read yet.
struct Rest<'a>(&'a [&'a str]);

impl Rest<'_> {
    fn next_if(&mut self, accepts: impl Fn(&str) -> bool) -> Option<String> {
        let (first, after) = self.0.split_first()?;
        accepts(first).then(|| {
            self.0 = after;
            (*first).to_owned()
        })
    }

    fn while_some(&mut self, accepts: impl Fn(&str) -> bool + Copy) -> Vec<String> {
        std::iter::from_fn(|| self.next_if(accepts)).collect()
    }
}

fn language_tag(mut rest: Rest<'_>) -> Option<LanguageTag> {
    let language = rest.next_if(|subtag| matches!(subtag.len(), 2..=8) && alphabetic(subtag))?;
    let mut extended_languages = Vec::new();
    while language.len() <= 3 && extended_languages.len() < 3 {
        let Some(extended) = rest.next_if(|subtag| subtag.len() == 3 && alphabetic(subtag)) else { break };
        extended_languages.push(extended);
    }
    let id = id_after(language, &mut rest);
    let mut extensions = Vec::new();
    while let Some(singleton) = rest.next_if(|subtag| subtag.len() == 1 && subtag != "x") {
        extensions.push(extension(singleton.bytes().next()?, &mut rest)?);
    }
    let mut private_use = Vec::new();
    if rest.next_if(|subtag| subtag == "x").is_some() {
        private_use = rest.while_some(|_| true);
        if private_use.is_empty() {
            return None;
        }
    }
    rest.0.is_empty().then_some(LanguageTag { id, extended_languages, extensions, private_use })
}

fn id_after(language: String, rest: &mut Rest<'_>) -> LanguageId {
    let script = rest.next_if(is_script);
    let region = rest.next_if(is_region);
    let variants = rest.while_some(is_variant);
    LanguageId { language, script, region, variants }
}

fn extension(singleton: u8, rest: &mut Rest<'_>) -> Option<Extension> {
    match singleton {
        b'u' => unicode(rest).map(Extension::Unicode),
        b't' => transformed(rest).map(Extension::Transformed),
        _ => {
            let subtags = rest.while_some(|subtag| subtag.len() > 1);
            (!subtags.is_empty()).then_some(Extension::Other { singleton, subtags })
        }
    }
}

fn unicode(rest: &mut Rest<'_>) -> Option<Unicode> {
    let attributes = rest.while_some(is_value);
    let mut keywords = Vec::new();
    while let Some(key) = rest.next_if(is_keyword_key) {
        keywords.push((key, rest.while_some(is_value)));
    }
    (!attributes.is_empty() || !keywords.is_empty()).then_some(Unicode { attributes, keywords })
}

fn transformed(rest: &mut Rest<'_>) -> Option<Transformed> {
    let mut source = LanguageId::default();
    if let Some(language) = rest.next_if(|subtag| matches!(subtag.len(), 2 | 3 | 5..=8) && alphabetic(subtag)) {
        source = id_after(language, rest);
    }
    let mut fields = Vec::new();
    while let Some(key) = rest.next_if(is_field_key) {
        let value = rest.while_some(is_value);
        if value.is_empty() {
            return None;
        }
        fields.push((key, value));
    }
    (!source.language.is_empty() || !fields.is_empty()).then_some(Transformed { source, fields })
}

fn alphabetic(subtag: &str) -> bool {
    subtag.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_value(subtag: &str) -> bool {
    subtag.len() >= 3
}

/// `ca`, `k0` is none: a digit may come first, never last.
fn is_keyword_key(subtag: &str) -> bool {
    subtag.len() == 2 && subtag.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic)
}

/// `m0`: a letter and a digit.
fn is_field_key(subtag: &str) -> bool {
    matches!(subtag.as_bytes(), [first, second] if first.is_ascii_alphabetic() && second.is_ascii_digit())
}
