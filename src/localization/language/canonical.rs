//! From a tag to its canonical form: RFC 5646, section 4.5, and UTS 35, annex C.
//!
//! Where the two differ: extended languages, grandfathered and redundant tags are the RFC's; aliases, the order of
//! variants and the inside of `u` and `t` are UTS 35's, so that the predominant language stands for its
//! macrolanguage (`cmn` is `zh`). A script that goes without saying is dropped, as the RFC asks, unless the likely
//! subtags would then give another one (`pa-Guru-PK`: without its script, it would be read as `pa-Arab-PK`).

use std::collections::BTreeSet;

use super::alias::{LanguageId, Rule};
use super::likely::maximize;
use super::refusal::LocaleRefusal;
use super::tables::{Scope, Tables, tables};
use super::tag::{self, Extension, LanguageTag, Tag, Transformed, Unicode};

/// How often rules may be applied one after another. CLDR's longest chain has three; a test sees that this suffices.
const ROUNDS_MAX: usize = 8;

/// In CLDR's rules, this language stands for any.
const ANY_LANGUAGE: &str = "und";

/// The one region for private use that CLDR and everybody else uses for one thing: Kosovo.
const KOSOVO: &str = "xk";

/// The variant of Unicode's POSIX locale, which is not registered, but has a keyword in its place (UTS 35, part 1).
const POSIX: &str = "posix";

/// Scripts that say that there is none, or no one script, or which signs are no writing of a language.
const NO_WRITING: [&str; 7] = ["zinh", "zmth", "zsye", "zsym", "zxxx", "zyyy", "zzzz"];

/// A tag in its canonical form, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Canonical {
    pub(super) id: LanguageId,
    /// Extensions and private use, ready to be put behind the rest: empty, or `-u-…`.
    pub(super) rest: String,
}

/// The canonical form of a tag in any case, valid and with nothing in it that is deprecated. The refusals are the
/// first three of [`LocaleRefusal`], and `NotTranslatable` for a tag of nothing but private use.
pub(super) fn canonicalize(text: &str) -> Result<Canonical, LocaleRefusal> {
    let tables = tables();
    // Anything that is not ASCII stays, and is no subtag.
    let mut lower = text.to_ascii_lowercase();
    if let Some(whole) = tables.whole_tags.get(lower.as_str()) {
        let alias = tables.whole_tag_aliases.get(lower.as_str()).copied();
        let replacement = Some(whole.preferred).filter(|preferred| !preferred.is_empty()).or(alias);
        match replacement {
            Some(replacement) => replacement.clone_into(&mut lower),
            None if whole.deprecated => return Err(LocaleRefusal::DeprecatedNoReplacement),
            // The rest of the redundant ones are ordinary tags.
            None if whole.grandfathered => return Err(LocaleRefusal::InvalidSubtag),
            None => {}
        }
    }
    let mut tag = match tag::read(&lower)? {
        Tag::PrivateUse => return Err(LocaleRefusal::NotTranslatable),
        Tag::Language(tag) => *tag,
    };
    check_registered(tables, &tag)?;
    if let Some(extended) = tag.extended_languages.pop() {
        let preferred = tables.extended_languages.get(extended.as_str()).map_or("", |subtag| subtag.preferred);
        preferred.clone_into(&mut tag.id.language);
    }
    if tag.id.variants.iter().any(|variant| variant == POSIX) {
        tag.id.variants.retain(|variant| variant != POSIX);
        add_posix(&mut tag.extensions);
    }
    let mut id = replace(tables, tag.id);
    check_deprecated(tables, &id)?;
    drop_suppressed_script(tables, &mut id);
    let rest = rest(tables, tag.extensions, &tag.private_use)?;
    Ok(Canonical { id, rest })
}

/// Refuses a canonical tag that one does not translate into.
pub(super) fn check_translatable(id: &LanguageId) -> Result<(), LocaleRefusal> {
    let tables = tables();
    let language = tables.languages.get(id.language.as_str()).is_none_or(|language| language.scope == Scope::Plain);
    let script = id.script.as_deref().is_none_or(|script| {
        !NO_WRITING.contains(&script) && tables.scripts.get(script).is_none_or(|known| known.scope == Scope::Plain)
    });
    let region = id.region.as_deref().is_none_or(|region| {
        region == KOSOVO || tables.regions.get(region).is_none_or(|known| known.scope == Scope::Plain)
    });
    if language && script && region { Ok(()) } else { Err(LocaleRefusal::NotTranslatable) }
}

/// RFC 5646, section 2.2.9: every subtag is registered, and none stands twice. What CLDR replaces counts as
/// registered, or nobody could write `eng`. Extensions are not judged, but for the language in a `t`.
fn check_registered(tables: &Tables, tag: &LanguageTag) -> Result<(), LocaleRefusal> {
    let mut registered = is_registered(tables, &tag.id);
    match tag.extended_languages.as_slice() {
        [] => {}
        [extended] => {
            registered &= tables
                .extended_languages
                .get(extended.as_str())
                .is_some_and(|extended| extended.prefixes.split(' ').any(|prefix| prefix == tag.id.language));
        }
        // The grammar has room for three, but the RFC keeps the second and the third unused for good.
        _ => registered = false,
    }
    let mut singletons = BTreeSet::new();
    registered &= tag.extensions.iter().all(|extension| {
        let source_registered = match extension {
            Extension::Transformed(Transformed { source, .. }) => {
                source.language.is_empty() || is_registered(tables, source)
            }
            Extension::Unicode(_) | Extension::Other { .. } => true,
        };
        singletons.insert(extension.singleton()) && source_registered
    });
    if registered { Ok(()) } else { Err(LocaleRefusal::InvalidSubtag) }
}

fn is_registered(tables: &Tables, id: &LanguageId) -> bool {
    let language = tables.languages.contains_key(id.language.as_str())
        || rules(tables, &id.language).any(|rule| rule.subtags() == 1);
    let script = id.script.as_deref();
    let script =
        script.is_none_or(|script| tables.scripts.contains_key(script) || tables.script_aliases.contains_key(script));
    let region = id.region.as_deref();
    let region =
        region.is_none_or(|region| tables.regions.contains_key(region) || tables.region_aliases.contains_key(region));
    let variants = id.variants.iter().enumerate().all(|(index, variant)| {
        let known = tables.variants.contains_key(variant.as_str())
            || tables.variant_aliases.contains_key(variant.as_str())
            || variant == POSIX
            || rules(tables, &id.language).any(|rule| rule.speaks_of(variant));
        known && !id.variants.iter().skip(index + 1).any(|other| other == variant)
    });
    language && script && region && variants
}

/// The rules that may apply to a language; those for this one go before those for any.
fn rules<'a>(tables: &'a Tables, language: &str) -> impl Iterator<Item = &'a Rule> {
    let own = tables.language_aliases.get(language).filter(|_| language != ANY_LANGUAGE);
    own.into_iter().chain(tables.language_aliases.get(ANY_LANGUAGE)).flatten()
}

/// Applies CLDR's rules until none applies any more.
fn replace(tables: &Tables, mut id: LanguageId) -> LanguageId {
    for _ in 0..ROUNDS_MAX {
        let next = replace_once(tables, &id);
        if next == id {
            break;
        }
        id = next;
    }
    id.variants.sort_unstable();
    id.variants.dedup();
    id
}

fn replace_once(tables: &Tables, id: &LanguageId) -> LanguageId {
    if let Some(next) = rules(tables, &id.language).find_map(|rule| rule.apply(id)) {
        return next;
    }
    let mut next = id.clone();
    for (subtag, aliases) in [(&mut next.script, &tables.script_aliases), (&mut next.region, &tables.region_aliases)] {
        let alias = subtag.as_deref().and_then(|text| aliases.get(text));
        // Of several replacements none is the one.
        if let Some(alias) = alias.filter(|alias| !alias.contains(' ')) {
            *subtag = Some((*alias).to_owned());
        }
    }
    for variant in &mut next.variants {
        if let Some(alias) = tables.variant_aliases.get(variant.as_str()) {
            (*alias).clone_into(variant);
        }
    }
    next
}

/// Refuses what is still deprecated after every replacement.
fn check_deprecated(tables: &Tables, id: &LanguageId) -> Result<(), LocaleRefusal> {
    let is = |subtag: Option<&super::tables::Subtag>| subtag.is_some_and(|subtag| subtag.deprecated);
    let deprecated = is(tables.languages.get(id.language.as_str()))
        || id.script.as_deref().is_some_and(|script| is(tables.scripts.get(script)))
        || id
            .region
            .as_deref()
            .is_some_and(|region| is(tables.regions.get(region)) || tables.region_aliases.contains_key(region))
        || id.variants.iter().any(|variant| is(tables.variants.get(variant.as_str())));
    if deprecated { Err(LocaleRefusal::DeprecatedNoReplacement) } else { Ok(()) }
}

fn drop_suppressed_script(tables: &Tables, id: &mut LanguageId) {
    let suppressed = tables.languages.get(id.language.as_str()).map_or("", |language| language.suppressed_script);
    if suppressed.is_empty() || id.script.as_deref() != Some(suppressed) {
        return;
    }
    let without = LanguageId { script: None, ..id.clone() };
    if maximize(tables, &without).script == id.script {
        *id = without;
    }
}

fn add_posix(extensions: &mut Vec<Extension>) {
    let keyword = ("va".to_owned(), vec![POSIX.to_owned()]);
    let unicode = extensions.iter_mut().find_map(|extension| match extension {
        Extension::Unicode(unicode) => Some(unicode),
        _ => None,
    });
    match unicode {
        Some(unicode) => unicode.keywords.push(keyword),
        None => extensions.push(Extension::Unicode(Unicode { attributes: Vec::new(), keywords: vec![keyword] })),
    }
}

/// Extensions ordered by their singleton, then private use.
fn rest(tables: &Tables, mut extensions: Vec<Extension>, private_use: &[String]) -> Result<String, LocaleRefusal> {
    extensions.sort_by_key(Extension::singleton);
    let mut text = String::new();
    let mut add = |subtag: &str| {
        text.push('-');
        text.push_str(subtag);
    };
    for extension in extensions {
        add(char::from(extension.singleton()).encode_utf8(&mut [0; 4]));
        match extension {
            Extension::Unicode(unicode) => unicode_subtags(tables, unicode).iter().for_each(|subtag| add(subtag)),
            Extension::Transformed(transformed) => {
                transformed_subtags(tables, transformed)?.iter().for_each(|subtag| add(subtag));
            }
            Extension::Other { subtags, .. } => subtags.iter().for_each(|subtag| add(subtag)),
        }
    }
    if !private_use.is_empty() {
        add("x");
        private_use.iter().for_each(|subtag| add(subtag));
    }
    Ok(text)
}

/// Attributes and keywords in their order; of two keywords with one key the first counts, and `true` goes without
/// saying.
fn unicode_subtags(tables: &Tables, mut unicode: Unicode) -> Vec<String> {
    unicode.attributes.sort_unstable();
    unicode.attributes.dedup();
    unicode.keywords.sort_by(|(one, _), (other, _)| one.cmp(other));
    unicode.keywords.dedup_by(|(later, _), (earlier, _)| later == earlier);
    let mut subtags = unicode.attributes;
    for (key, value) in unicode.keywords {
        let value = keyword_value(tables, &key, value.join("-"));
        subtags.push(key);
        if !value.is_empty() && value != "true" {
            subtags.push(value);
        }
    }
    subtags
}

fn keyword_value(tables: &Tables, key: &str, value: String) -> String {
    if let Some(alias) = tables.keyword_aliases.get(&(key, value.as_str())) {
        return (*alias).to_owned();
    }
    if matches!(key, "rg" | "sd")
        && let Some(alias) = tables.subdivision_aliases.get(value.as_str())
    {
        // Of several, the first one; a region as a whole is written with four z.
        let first = alias.split(' ').next().unwrap_or_default();
        return if first.len() == 2 { format!("{first}zzzz") } else { first.to_owned() };
    }
    value
}

/// The source language in its canonical form, all in lower case, and the fields by key; of two the first counts.
fn transformed_subtags(tables: &Tables, transformed: Transformed) -> Result<Vec<String>, LocaleRefusal> {
    let Transformed { source, mut fields } = transformed;
    let mut subtags = Vec::new();
    if !source.language.is_empty() {
        let source = replace(tables, source);
        check_deprecated(tables, &source)?;
        subtags.push(source.lower_case());
    }
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    fields.dedup_by(|(later, _), (earlier, _)| later == earlier);
    for (key, value) in fields {
        subtags.push(key);
        subtags.extend(value);
    }
    Ok(subtags)
}
