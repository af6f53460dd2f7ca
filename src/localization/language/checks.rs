//! What each of the ten process checks looks at. A complaint says what is not as it should be.
//!
//! Expectations are written down here or come from a table other than the one that is used for the answer; so a
//! damaged table or a wrong turn in the code is found, whichever it is.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::canonical::canonicalize;
use super::check_name::CheckName;
use super::likely::maximize;
use super::locale::{Direction, Locale};
use super::pins::{CLDR_VERSION, REGISTRY_DATE};
use super::plural_rule::PluralRules;
use super::plural_samples::samples;
use super::profiles::{listed, profiles};
use super::refusal::LocaleRefusal;
use super::tables::{PluralKind, SOURCES, Source, Tables, tables};
use super::tag::{self, Tag};

/// What is not as it should be.
pub(super) type Complaint = String;

/// Runs one check.
pub(super) fn run(name: CheckName) -> Result<(), Complaint> {
    match name {
        CheckName::TableDigests => SOURCES.into_iter().try_for_each(digest),
        CheckName::VersionAgreement => version_agreement(&SOURCES, tables()),
        CheckName::Grammar => grammar(),
        CheckName::Registry => registry(),
        CheckName::Canonicalization => canonicalization(),
        CheckName::LikelySubtags => likely_subtags(),
        CheckName::Cardinals => plurals(PluralKind::Cardinal),
        CheckName::Ordinals => plurals(PluralKind::Ordinal),
        CheckName::Direction => direction(),
        CheckName::IdempotenceAndIdentity => idempotence_and_identity(),
    }
}

fn expect(holds: bool, complaint: impl FnOnce() -> Complaint) -> Result<(), Complaint> {
    if holds { Ok(()) } else { Err(complaint()) }
}

/// The rows have the digest that their header gives them, and are as many.
pub(super) fn digest(source: Source) -> Result<(), Complaint> {
    let body = source.body();
    let found = HEXLOWER.encode(&Sha256::digest(body.as_bytes()));
    expect(source.said("sha256") == Some(found.as_str()), || format!("{}: its rows have digest {found}", source.name))?;
    let rows = body.lines().count().to_string();
    expect(source.said("rows") == Some(rows.as_str()), || format!("{}: it has {rows} rows", source.name))
}

/// Every table is of the pinned releases, and every row of it could be read.
pub(super) fn version_agreement(sources: &[Source], tables: &Tables) -> Result<(), Complaint> {
    let (cldr, registry) = (format!("; CLDR {CLDR_VERSION}, "), format!("; IANA registry of {REGISTRY_DATE}, "));
    for source in sources {
        let mut origins = source.header().filter_map(|line| line.strip_prefix("source: ")).peekable();
        expect(origins.peek().is_some(), || format!("{}: no source", source.name))?;
        expect(origins.all(|origin| origin.contains(&cldr) || origin.contains(&registry)), || {
            format!("{}: not of CLDR {CLDR_VERSION} and the registry of {REGISTRY_DATE}", source.name)
        })?;
    }
    expect(tables.faults == 0, || format!("{} rows could not be read", tables.faults))
}

const WELL_FORMED: [&str; 10] = [
    "de",
    "de-latn-de-1996",
    "zh-yue-hant-hk",
    "sl-rozaj-biske-1994",
    "es-419",
    "en-a-myext-b-another",
    "en-u-attr-co-phonebk-kn",
    "und-cyrl-t-und-latn-m0-ungegn-2007",
    "x-whatever",
    "ar-x-a-1",
];

const ILL_FORMED: [&str; 14] = [
    "",
    "-",
    "a",
    "de_de",
    "de--de",
    "de-",
    "i-unknown",
    "de-a",
    "de-x",
    "a-de",
    "abcdefghi",
    "de-419-de",
    "en-u-k0-abc",
    "en-t-m0",
];

fn grammar() -> Result<(), Complaint> {
    let well_formed = WELL_FORMED.iter().find(|text| tag::read(text).is_err());
    expect(well_formed.is_none(), || format!("{well_formed:?} is taken for ill-formed"))?;
    let ill_formed = ILL_FORMED.iter().find(|text| tag::read(text) != Err(LocaleRefusal::IllFormed));
    expect(ill_formed.is_none(), || format!("{ill_formed:?} is taken for well-formed"))?;
    expect(tag::read("x-a") == Ok(Tag::PrivateUse), || "x-a is not taken for private use".to_owned())
}

/// Refusals known beforehand: one for each part of the registry that can be missed.
const REFUSED: [(&str, LocaleRefusal); 12] = [
    ("xy", LocaleRefusal::InvalidSubtag),
    ("de-Abcd", LocaleRefusal::InvalidSubtag),
    ("de-XQ-QQ", LocaleRefusal::IllFormed),
    ("de-AB", LocaleRefusal::InvalidSubtag),
    ("de-unknown", LocaleRefusal::InvalidSubtag),
    ("en-yue", LocaleRefusal::InvalidSubtag),
    ("de-1996-1996", LocaleRefusal::InvalidSubtag),
    ("de-a-one-a-two", LocaleRefusal::InvalidSubtag),
    ("de-AN", LocaleRefusal::DeprecatedNoReplacement),
    ("und", LocaleRefusal::NotTranslatable),
    ("de-Zyyy", LocaleRefusal::NotTranslatable),
    ("zh", LocaleRefusal::ScriptRequired),
];

fn registry() -> Result<(), Complaint> {
    for (text, refusal) in REFUSED {
        let found = Locale::parse(text).err();
        expect(found == Some(refusal), || format!("{text} is answered {found:?}, not {refusal:?}"))?;
    }
    let tables = tables();
    let unknown = tables.likely.values().find(|likely| {
        let mut subtags = likely.split('-');
        let known = |subtag: Option<&str>, known: fn(&Tables, &str) -> bool| subtag.is_some_and(|it| known(tables, it));
        !(known(subtags.next(), |tables, language| tables.languages.contains_key(language))
            && known(subtags.next(), |tables, script| tables.scripts.contains_key(script))
            && known(subtags.next(), |tables, region| tables.regions.contains_key(region)))
    });
    expect(unknown.is_none(), || format!("CLDR's {unknown:?} is not in the registry"))
}

const CANONICAL: [(&str, &str); 14] = [
    ("EN-us", "en-US"),
    ("i-klingon", "tlh"),
    ("sgn-NO", "nsl"),
    ("zh-cmn-Hans-CN", "zh-Hans-CN"),
    ("ZH-YUE-hk", "yue-HK"),
    ("eng-Latn-840", "en-US"),
    ("iw", "he"),
    ("sh-Cyrl", "sr-Cyrl"),
    ("de-Latn-DD", "de-DE"),
    ("pa-Guru-PK", "pa-Guru-PK"),
    ("hy-arevmda", "hyw"),
    ("ja-Latn-hepburn-heploc", "ja-Latn-alalc97"),
    ("sl-rozaj-biske-1994", "sl-1994-biske-rozaj"),
    ("en-u-kn-true-ca-islamicc-t-IW-x-A", "en-t-he-u-ca-islamic-civil-kn-x-a"),
];

fn canonicalization() -> Result<(), Complaint> {
    for (text, canonical) in CANONICAL {
        let found = canonicalize(text).map(|it| it.id.customary() + &it.rest);
        expect(found.as_deref() == Ok(canonical), || format!("{text} becomes {found:?}, not {canonical}"))?;
    }
    Ok(())
}

const LIKELY: [(&str, &str); 8] = [
    ("en", "en-Latn-US"),
    ("zh-TW", "zh-Hant-TW"),
    ("sr-ME", "sr-Latn-ME"),
    ("zh-Hant", "zh-Hant-TW"),
    ("pa-PK", "pa-Arab-PK"),
    ("yue-CN", "yue-Hans-CN"),
    ("ar-DE", "ar-Arab-DE"),
    ("en-Shaw", "en-Shaw-GB"),
];

fn likely_subtags() -> Result<(), Complaint> {
    for (text, likely) in LIKELY {
        let found = canonicalize(text).map(|canonical| maximize(tables(), &canonical.id).customary());
        expect(found.as_deref() == Ok(likely), || format!("{text} is most likely {found:?}, not {likely}"))?;
    }
    Ok(())
}

/// Every rule gives CLDR's own sample numbers their category.
fn plurals(kind: PluralKind) -> Result<(), Complaint> {
    let tables = tables();
    let rules = match kind {
        PluralKind::Cardinal => &tables.cardinals,
        PluralKind::Ordinal => &tables.ordinals,
    };
    for (_, locale, category, text) in tables.samples.iter().filter(|(of, ..)| *of == kind) {
        let rules: Option<&PluralRules> = rules.get(locale);
        for number in samples(text) {
            let number = number.map_err(|_| format!("{locale}: a sample of {category} cannot be read"))?;
            let found = rules.map(|rules| rules.select(&number));
            expect(found == Some(*category), || format!("{locale}: {number:?} is {found:?}, not {category}"))?;
        }
    }
    Ok(())
}

/// The direction of a locale's script is the one in which CLDR lays the locale out.
fn direction() -> Result<(), Complaint> {
    for locale in &tables().locales {
        let right_to_left = listed(locale.tag).map(|listed| listed.direction() == Direction::RightToLeft);
        let agrees = right_to_left.is_none_or(|right_to_left| right_to_left == (locale.direction == "rtl"));
        expect(agrees, || format!("{} is laid out {}", locale.tag, locale.direction))?;
    }
    Ok(())
}

/// Forms are their own forms, and the identity key says what the content form does.
fn idempotence_and_identity() -> Result<(), Complaint> {
    for profile in profiles() {
        let same = |text: &str| {
            Locale::parse(text)
                .is_ok_and(|it| it.content_form() == profile.tag && it.identity_key() == profile.identity_key)
        };
        let again = Locale::parse(&profile.tag).is_ok_and(|locale| same(locale.canonical()));
        expect(again && same(&profile.tag), || format!("{} is not its own form", profile.tag))?;
        // The key itself is a tag, which means the same.
        let key = Locale::parse(&profile.identity_key).is_ok_and(|it| it.identity_key() == profile.identity_key);
        expect(key, || format!("the key of {} means something else", profile.tag))?;
    }
    for (one, other) in [("zh-TW", "zh-Hant"), ("en", "en-Latn-US"), ("cmn-CN", "zh-Hans"), ("no-NO", "no")] {
        let key = |text| Locale::parse(text).map(|locale| locale.identity_key().to_owned());
        expect(key(one).is_ok() && key(one) == key(other), || format!("{one} and {other} do not mean the same"))?;
    }
    Ok(())
}
