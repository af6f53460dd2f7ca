//! Plural categories: CLDR's own sample numbers in every locale it has, and what a number is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::language::category::{Categories, Category};
use crate::language::locale::Locale;
use crate::language::number::Number;
use crate::language::plural::rules;
use crate::language::plural_rule::Condition;
use crate::language::plural_samples::samples;
use crate::language::profiles::profiles;
use crate::language::select::{select_cardinal, select_ordinal, single_cardinals, single_ordinals};
use crate::language::tables::{PLURALS, PluralKind, tables};

/// The samples by kind and locale of the rules.
fn samples_of(kind: PluralKind) -> BTreeMap<&'static str, Vec<(Category, Vec<Number>)>> {
    let mut by_locale: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (of, locale, category, text) in &tables().samples {
        if *of == kind {
            let numbers = samples(text).collect::<Result<Vec<_>, _>>().unwrap();
            by_locale.entry(*locale).or_default().push((*category, numbers));
        }
    }
    by_locale
}

/// Cuts subtags off a tag until there are rules of that name: CLDR's inheritance, on its own names of locales.
fn inherited<'a, V>(by_locale: &'a BTreeMap<&str, V>, tag: &str) -> Option<&'a V> {
    let mut name = tag;
    loop {
        if let Some(found) = by_locale.get(name) {
            return Some(found);
        }
        name = name.rsplit_once('-')?.0;
    }
}

#[test]
fn every_locale_of_cldr_gives_every_sample_its_category() {
    let mut compared = [0_usize; 2];
    let mut without_rules = [0_usize; 2];
    for (index, kind) in [PluralKind::Cardinal, PluralKind::Ordinal].into_iter().enumerate() {
        let by_locale = samples_of(kind);
        for cldr in &tables().locales {
            let Some(locale) = crate::language::profiles::listed(cldr.tag) else { continue };
            let (categories, select): (Categories, fn(&Locale, &Number) -> Category) = match kind {
                PluralKind::Cardinal => (locale.cardinal(), select_cardinal),
                PluralKind::Ordinal => (locale.ordinal(), select_ordinal),
            };
            let Some(samples) = inherited(&by_locale, cldr.tag) else {
                assert_eq!(categories.names(), ["other"], "{} has no rules", cldr.tag);
                assert_eq!(select(&locale, &Number::whole(1)), Category::Other);
                without_rules[index] += 1;
                continue;
            };
            assert_eq!(categories, samples.iter().map(|(category, _)| *category).collect(), "{}", cldr.tag);
            for (category, numbers) in samples {
                for number in numbers {
                    assert_eq!(select(&locale, number), *category, "{kind:?} in {}: {number:?}", cldr.tag);
                    compared[index] += 1;
                }
            }
        }
    }
    assert_eq!(compared, [49_630, 16_893], "samples compared");
    assert_eq!(without_rules, [259, 557], "locales that CLDR has no rules for");
}

#[test]
fn every_rule_of_cldr_has_samples_that_are_all_read() {
    for kind in [PluralKind::Cardinal, PluralKind::Ordinal] {
        for (locale, samples) in samples_of(kind) {
            for (category, numbers) in samples {
                assert!(!numbers.is_empty(), "{kind:?} in {locale}: {category} has no samples");
            }
        }
    }
    assert_eq!(tables().faults, 0);
}

#[test]
fn a_locale_that_rules_are_named_after_has_those_rules() {
    let mut seen = 0;
    for (kind, map) in [(PluralKind::Cardinal, &tables().cardinals), (PluralKind::Ordinal, &tables().ordinals)] {
        for (name, named) in map {
            // Rules under a deprecated name (`iw`) are beyond reach, and the same as under the name of today.
            let Some(locale) = crate::language::profiles::listed(name) else { continue };
            if locale.full().lower_case().starts_with(name) || name.contains('-') {
                let found = rules(kind, locale.full()).unwrap();
                assert!(std::ptr::eq(found, named), "{kind:?} of {name}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 321, "names of rules; another pin has others");
}

#[test]
fn rules_are_named_after_a_language_and_at_most_one_subtag_more() {
    for locale in tables().cardinals.keys().chain(tables().ordinals.keys()) {
        assert!(locale.split('-').count() <= 2, "{locale}: plural::rules does not look for it");
    }
}

#[test]
fn every_modulus_divides_what_is_kept_of_a_number() {
    let rules = PLURALS.body().lines().map(|line| line.split('\t').nth(3).unwrap());
    let moduli = rules
        .flat_map(|rule| rule.split(" % ").skip(1))
        .map(|after| after.split(' ').next().unwrap().parse::<u64>().unwrap());
    for modulus in moduli {
        assert_eq!(10_u64.pow(18) % modulus, 0, "{modulus}");
    }
}

#[test]
fn numbers_are_read_as_they_are_written() {
    let locale = Locale::parse("fr").unwrap();
    for (tag, number, category) in [
        ("en", "1", Category::One),
        ("en", "1.0", Category::Other),
        ("en", "-1", Category::One),
        ("en", "01", Category::One),
        ("en", "1000000000000000000000001", Category::Other),
        ("fr", "1.5", Category::One),
        ("fr", "2", Category::Other),
        ("fr", "1000000", Category::Many),
        ("fr", "1c6", Category::Many),
        ("fr", "1.2c6", Category::Many),
        ("fr", "1e3", Category::Other),
        ("fr", "100000000000000000000000000", Category::Many),
        ("ru", "21", Category::One),
        ("ru", "1000000000000000000000000000021", Category::One),
        ("ru", "18446744073709551611", Category::Many),
        ("pl", "22", Category::Few),
        ("ar", "0", Category::Zero),
        ("ar", "103", Category::Few),
        ("pt-PT", "0", Category::Other),
        ("pt", "0", Category::One),
        // For plurals CLDR names no parents: what is not pt-PT itself has the rules of pt.
        ("pt-AO", "0", Category::One),
        ("kok", "1.5", Category::Other),
        ("tlh", "1", Category::Other),
    ] {
        let locale = Locale::parse(tag).unwrap();
        assert_eq!(select_cardinal(&locale, &Number::parse(number).unwrap()), category, "{number} in {tag}");
    }
    let english = Locale::parse("en").unwrap();
    let ordinal = |value| select_ordinal(&english, &Number::whole(value));
    assert_eq!([1, 2, 3, 4, 11, 21].map(ordinal).map(Category::name), ["one", "two", "few", "other", "other", "one"]);
    assert_eq!(locale.ordinal().names(), ["one", "other"]);
    for refused in ["", "-", "+1", "1.", ".5", "1,5", "1c", "c6", "1c100", "1c-2", "1 ", "٣", "0x1", "1.5.2", "1e2c3"]
    {
        assert!(Number::parse(refused).is_err(), "{refused:?}");
    }
    assert!(Number::parse(&"1".repeat(256)).is_ok());
    assert!(Number::parse(&"1".repeat(257)).is_err());
}

#[test]
fn rules_that_follow_no_grammar_are_not_read() {
    assert!(Condition::read("").is_some());
    assert!(Condition::read("n = 1").is_some());
    assert!(Condition::read("v = 0 and i % 10 = 2..4 and i % 100 != 12..14 or n = 7,9..11").is_some());
    for rule in ["n", "n = ", "x = 1", "n is 1", "n = 3..2", "n % 0 = 1", "n = 1 and", "n = a", "n % = 1", "n == 1"] {
        assert!(Condition::read(rule).is_none(), "{rule}");
    }
}

#[test]
fn a_category_of_one_number_has_no_other_however_far_one_looks() {
    let names = |tag: &str| single_cardinals(&Locale::parse(tag).unwrap()).names();
    for (tag, single) in [
        ("de", &["one"][..]),
        ("en", &["one"]),
        ("pl", &["one"]),
        ("cs", &["one"]),
        ("he", &["one", "two"]),
        ("ar", &["zero", "one", "two"]),
        ("cy", &["zero", "one", "two", "few", "many"]),
        ("it", &["one"]),
        ("fr", &[]),
        ("pt", &[]),
        ("ru", &[]),
        ("lv", &[]),
        ("sl", &[]),
        ("hi", &[]),
        ("ja", &[]),
    ] {
        assert_eq!(names(tag), single, "{tag}");
    }
    assert_eq!(single_ordinals(&Locale::parse("fr").unwrap()).names(), ["one"]);
    assert!(single_ordinals(&Locale::parse("en").unwrap()).is_empty());
    let numbers = (0..=2_500_u64).chain((0..=400).map(|n| n * 10_000)).chain((0..=400).map(|n| n * 10_000 + 1));
    let numbers: BTreeSet<u64> = numbers.collect();
    for kind in [PluralKind::Cardinal, PluralKind::Ordinal] {
        for (name, rules) in match kind {
            PluralKind::Cardinal => &tables().cardinals,
            PluralKind::Ordinal => &tables().ordinals,
        } {
            let mut times = BTreeMap::<Category, usize>::new();
            for number in &numbers {
                *times.entry(rules.select(&Number::whole(*number))).or_default() += 1;
            }
            let single: Categories =
                times.iter().filter(|(_, times)| **times == 1).map(|(category, _)| *category).collect();
            assert_eq!(rules.of_one_number(), single, "{kind:?} of {name}");
        }
    }
}

#[test]
fn categories_have_names_and_an_order() {
    for category in Category::ALL {
        assert_eq!(Category::from_name(category.name()), Some(category));
    }
    assert_eq!(Category::from_name("Other"), None);
    let set: Categories = [Category::Other, Category::One].into_iter().collect();
    assert_eq!((set.len(), set.is_empty(), set.names()), (2, false, vec!["one", "other"]));
    assert!(set.contains(Category::One) && !set.contains(Category::Few));
    assert_eq!(format!("{set:?}"), "{One, Other}");
    for profile in profiles() {
        assert!(profile.cardinal.contains(Category::Other) && profile.ordinal.contains(Category::Other));
    }
}

proptest! {
    #[test]
    fn no_text_makes_reading_a_number_panic(text in ".*") {
        let _ = Number::parse(&text);
    }

    #[test]
    fn what_is_selected_is_one_of_the_locale_s_categories(
        index in any::<prop::sample::Index>(), number in "[0-9]{1,25}(\\.[0-9]{1,25})?(c[0-9]{1,2})?",
    ) {
        let profile = index.get(profiles());
        let locale = Locale::parse(&profile.tag).unwrap();
        let number = Number::parse(&number).unwrap();
        prop_assert!(profile.cardinal.contains(select_cardinal(&locale, &number)));
        prop_assert!(profile.ordinal.contains(select_ordinal(&locale, &number)));
    }
}
