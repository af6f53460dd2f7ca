//! The same questions to ICU4X, whose code is not ours and whose data is of the same release of CLDR.
//!
//! Where it differs on purpose: it does not know extended languages and most whole tags of RFC 5646, it chooses
//! among several replacements of a region by what is likely (`ru-SU` is `ru-RU` to it, and refused here), it keeps a
//! script that goes without saying, and it registers nothing, so that it accepts subtags which nobody registered.
//! It replaces few values of keywords (of time zones none). For plurals it takes the parents that CLDR names for
//! other content (`pt-AO` has the rules of `pt-PT`), whereas CLDR leaves the list of parents for plurals empty; ICU4C
//! does as we do.

use icu_locale::{LanguageIdentifier, Locale as IcuLocale, LocaleCanonicalizer, LocaleDirectionality, LocaleExpander};
use icu_plurals::{PluralCategory, PluralOperands, PluralRuleType, PluralRules, RawPluralOperands};

use super::canonical;
use crate::language::canonical::canonicalize;
use crate::language::category::{Categories, Category};
use crate::language::likely::maximize;
use crate::language::locale::{Direction, Locale};
use crate::language::number::Number;
use crate::language::profiles::profiles;
use crate::language::refusal::LocaleRefusal;
use crate::language::select::{select_cardinal, select_ordinal};
use crate::language::tables::{ALIASES, PluralKind, Scope, tables};

#[test]
fn canonical_tags_are_icu4x_s_but_for_what_is_said_above() {
    let icu = LocaleCanonicalizer::new_extended();
    let tables = tables();
    let mut tags: Vec<String> = Vec::new();
    let mut languages: Vec<&str> = tables.languages.keys().copied().collect();
    languages.extend(ALIASES.body().lines().filter_map(|line| line.strip_prefix("language\t")?.split('\t').next()));
    for language in &languages {
        tags.extend(
            ["", "-cyrl", "-latn-cn", "-su", "-ba", "-u-kn-true", "-x-a"].map(|rest| format!("{language}{rest}")),
        );
    }
    for region in tables.regions.keys().chain(tables.region_aliases.keys()).filter(|it| it.len() != 3 || is_number(it))
    {
        tags.extend(["en", "hy", "sr"].map(|language| format!("{language}-{region}")));
    }
    for (first, variant) in tables.variants.keys().enumerate() {
        for second in tables.variants.keys().skip(first + 1) {
            tags.push(format!("sl-{second}-{variant}"));
        }
    }
    tags.extend(tables.subdivision_aliases.keys().map(|from| format!("en-u-sd-{from}")));

    let (mut same, mut deprecated, mut not_read) = (0, 0, 0);
    // CLDR's data calls the Norwegian sign language by the Nigerian one's name; the registry's word goes first.
    tags.retain(|tag| !tag.starts_with("sgn-no"));
    for tag in &tags {
        let ours = canonical(tag);
        let Ok(mut theirs) = IcuLocale::try_from_str(tag) else {
            not_read += 1;
            continue;
        };
        icu.canonicalize(&mut theirs);
        match ours {
            // Nothing in it is registered, or several things replace it.
            Err(LocaleRefusal::DeprecatedNoReplacement) => deprecated += 1,
            Err(refusal) => assert_eq!(refusal, LocaleRefusal::InvalidSubtag, "{tag}: {theirs}"),
            Ok(ours) => {
                let suppressed = tables.languages[theirs.id.language.as_str()].suppressed_script;
                let script = theirs.id.script.map(|script| script.as_str().to_ascii_lowercase());
                if script.as_deref() == Some(suppressed) && !ours.contains(theirs.id.script.unwrap().as_str()) {
                    theirs.id.script = None;
                }
                assert_eq!(ours, theirs.to_string(), "{tag}");
                same += 1;
            }
        }
    }
    assert_eq!((same, deprecated, not_read), (65_775, 9_982, 337));
}

fn is_number(subtag: &str) -> bool {
    subtag.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn likely_subtags_are_icu4x_s() {
    let icu = LocaleExpander::new_extended();
    let tables = tables();
    let mut compared = 0;
    let mut compare = |tag: &str| {
        let Ok(canonical) = canonicalize(tag) else { return };
        let special = tables.languages[canonical.id.language.as_str()].scope == Scope::Special;
        let unknown =
            matches!(canonical.id.script.as_deref(), Some("zzzz")) || canonical.id.region.as_deref() == Some("zz");
        if special || unknown {
            return;
        }
        let ours = maximize(tables, &canonical.id).customary();
        let mut theirs: LanguageIdentifier = canonical.id.customary().parse().unwrap();
        icu.maximize(&mut theirs);
        assert_eq!(ours, theirs.to_string(), "{tag}");
        compared += 1;
    };
    for language in tables.languages.keys() {
        for rest in
            ["", "-latn", "-cyrl", "-arab", "-hans", "-hant", "-deva", "-cn", "-ir", "-ru", "-us", "-419", "-xk"]
        {
            compare(&format!("{language}{rest}"));
        }
    }
    for tag in tables.likely.keys() {
        compare(tag);
    }
    for locale in &tables.locales {
        compare(locale.tag);
    }
    for language in ["az", "en", "ha", "kk", "ku", "pa", "sd", "sr", "ug", "uz", "yue", "zh"] {
        for region in tables.regions.keys() {
            compare(&format!("{language}-{region}"));
        }
        for script in tables.scripts.keys() {
            compare(&format!("{language}-{script}"));
        }
    }
    assert_eq!(compared, 129_006);
}

#[test]
fn directions_are_icu4x_s() {
    let icu = LocaleDirectionality::new_extended();
    for profile in profiles() {
        let theirs = icu.is_right_to_left(&profile.tag.parse().unwrap());
        assert_eq!(profile.direction == Direction::RightToLeft, theirs, "{}", profile.tag);
    }
}

#[test]
fn plural_categories_are_icu4x_s_wherever_it_has_rules() {
    let whole = "0 1 2 3 4 5 6 8 11 12 13 14 20 21 22 23 25 40 60 80 81 90 100 101 102 103 111 112 121 200 1000 1001 \
                 5000 20000 100000 1000000 2000000 123456789";
    let fractions = "0.0 0.1 0.2 0.5 1.0 1.1 1.2 1.5 1.9 2.0 2.1 2.5 3.14 10.0 10.1 11.0 11.1 12.12 0.01 1.00 1.01 \
                     1.10 0.11 0.12 0.22 5.21 5.22 7.25 1000000.0";
    let numbers: Vec<&str> = whole.split_whitespace().chain(fractions.split_whitespace()).collect();
    let kinds = [(PluralKind::Cardinal, PluralRuleType::Cardinal), (PluralKind::Ordinal, PluralRuleType::Ordinal)];
    let (mut compared, mut silent) = (0, 0);
    for profile in profiles() {
        let locale = Locale::parse(&profile.tag).unwrap();
        // For plurals CLDR names no parents, but ICU4X takes those of other content.
        let parents = [("hi-Latn", "en"), ("ht", "fr"), ("pt-", "pt-PT")];
        let foster = parents.iter().find(|(child, parent)| profile.tag.starts_with(child) && profile.tag != *parent);
        if foster.is_some_and(|(_, parent)| *parent != "pt-PT" || profile.tag != "pt-BR") {
            continue;
        }
        for (kind, rule_type) in kinds {
            let icu = PluralRules::try_new(profile.tag.parse::<IcuLocale>().unwrap().into(), rule_type.into()).unwrap();
            let (ours, select): (Categories, fn(&Locale, &Number) -> Category) = match kind {
                PluralKind::Cardinal => (profile.cardinal, select_cardinal),
                PluralKind::Ordinal => (profile.ordinal, select_ordinal),
            };
            let theirs: Categories = icu.categories().map(category).collect();
            if theirs.names() == ["other"] && ours != theirs {
                // Of these its own data has nothing, not even of Serbian in Latin letters.
                silent += 1;
                continue;
            }
            assert_eq!(ours, theirs, "{kind:?} in {}", profile.tag);
            for text in &numbers {
                let theirs = category(icu.category_for(operands(text)));
                let ours = select(&locale, &Number::parse(text).unwrap());
                assert_eq!(ours, theirs, "{kind:?} of {text} in {}", profile.tag);
                compared += 1;
            }
        }
    }
    assert_eq!((compared, silent), (128_573, 247));
}

fn category(category: PluralCategory) -> Category {
    match category {
        PluralCategory::Zero => Category::Zero,
        PluralCategory::One => Category::One,
        PluralCategory::Two => Category::Two,
        PluralCategory::Few => Category::Few,
        PluralCategory::Many => Category::Many,
        PluralCategory::Other => Category::Other,
    }
}

fn operands(text: &str) -> PluralOperands {
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let trimmed = fraction.trim_end_matches('0');
    let value = |digits: &str| if digits.is_empty() { 0 } else { digits.parse().unwrap() };
    PluralOperands::from(RawPluralOperands {
        i: value(integer),
        v: fraction.len(),
        w: trimmed.len(),
        f: value(fraction),
        t: value(trimmed),
        c: 0,
    })
}
