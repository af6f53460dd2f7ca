//! What holds for every tag, whoever made it up.

use proptest::prelude::*;

use crate::language::canonical::canonicalize;
use crate::language::likely::maximize;
use crate::language::locale::Locale;
use crate::language::refusal::LocaleRefusal;
use crate::language::tables::tables;

/// One of the registered subtags of a kind, or of CLDR's aliases.
fn subtag(pool: Vec<&'static str>) -> impl Strategy<Value = String> {
    any::<prop::sample::Index>().prop_map(move |index| (*index.get(&pool)).to_owned())
}

fn keys<V>(map: &std::collections::HashMap<&'static str, V>) -> Vec<&'static str> {
    let mut keys: Vec<_> = map.keys().copied().collect();
    keys.sort_unstable();
    keys
}

/// Tags of registered subtags, most of them valid, with languages that matter more often than others.
fn tags() -> impl Strategy<Value = String> {
    let tables = tables();
    let common = vec![
        "zh", "sr", "az", "en", "de", "pa", "kk", "uz", "no", "sh", "cmn", "ha", "bs", "pt", "ar", "kok", "sgn", "und",
        "cnr", "hy", "iw", "ja", "yue", "ku",
    ];
    let aliases: Vec<&str> = tables.whole_tags.keys().copied().collect();
    let language = prop_oneof![4 => subtag(common), 4 => subtag(keys(&tables.languages)), 1 => subtag(aliases)];
    let script = prop_oneof![
        subtag(vec!["latn", "cyrl", "arab", "hans", "hant", "guru", "deva", "zyyy"]),
        subtag(keys(&tables.scripts)),
    ];
    let region = prop_oneof![
        subtag(vec!["cn", "tw", "rs", "me", "pk", "us", "419", "840", "su", "xk"]),
        subtag(keys(&tables.regions)),
    ];
    let variants = prop::collection::vec(subtag(keys(&tables.variants)), 0..4);
    let rest = subtag(vec![
        "u-kn-true",
        "u-attr-ca-islamicc",
        "u-nu-latn-ca-gregory",
        "t-iw-m0-und",
        "t-zh-tw",
        "a-foo-b-bar",
        "x-a-b",
        "u-rg-uszzzz-x-u",
        "u-sd-fi01-kb-yes",
        "t-k0-azerty-u-va-posix",
        "u-ca",
        "t-m0-true",
    ]);
    let parts =
        (language, prop::option::of(script), prop::option::of(region), variants, prop::option::weighted(0.4, rest));
    parts.prop_map(|(language, script, region, variants, rest)| {
        let subtags = [language].into_iter().chain(script).chain(region).chain(variants).chain(rest);
        subtags.collect::<Vec<_>>().join("-")
    })
}

fn mixed_case(text: &str, mask: u64) -> String {
    let upper = |index: usize| mask >> (index % 64) & 1 == 1;
    let change = |(index, letter): (usize, char)| {
        if upper(index) { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    text.chars().enumerate().map(change).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_bytes_make_parsing_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Locale::parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn nothing_that_looks_like_a_tag_makes_parsing_panic(text in "[A-Za-z0-9]{1,9}(-[A-Za-z0-9]{0,9}){0,9}") {
        if let Ok(locale) = Locale::parse(&text) {
            prop_assert!(locale.canonical().is_ascii());
        }
    }

    #[test]
    fn every_form_is_its_own_form(tag in tags()) {
        // A canonical tag is its own, even one that cannot be translated into.
        if let Ok(canonical) = canonicalize(&tag) {
            let text = canonical.id.customary() + &canonical.rest;
            prop_assert_eq!(canonicalize(&text), Ok(canonical), "{} became {}", tag, text);
        }
        let Ok(locale) = Locale::parse(&tag) else { return Ok(()) };
        let again = Locale::parse(locale.canonical()).unwrap();
        prop_assert_eq!(again.canonical(), locale.canonical());
        prop_assert_eq!(again.content_form(), locale.content_form());
        prop_assert_eq!(again.identity_key(), locale.identity_key());
        let content = Locale::parse(locale.content_form()).unwrap();
        prop_assert_eq!(content.content_form(), locale.content_form());
        prop_assert_eq!(content.identity_key(), locale.identity_key());
        prop_assert_eq!(content.profile(), locale.profile());
        let key = Locale::parse(locale.identity_key()).unwrap();
        prop_assert_eq!(key.identity_key(), locale.identity_key());
    }

    #[test]
    fn case_has_no_bearing(tag in tags(), mask in any::<u64>()) {
        let other = mixed_case(&tag, mask);
        let forms = |tag: &str| Locale::parse(tag).map(|it| (it.canonical().to_owned(), it.content_form().to_owned()));
        prop_assert_eq!(forms(&tag), forms(&other));
    }

    #[test]
    fn keys_are_equal_exactly_when_content_forms_mean_the_same(one in tags(), other in tags()) {
        let (Ok(one), Ok(other)) = (Locale::parse(&one), Locale::parse(&other)) else { return Ok(()) };
        let full = |locale: &Locale| maximize(tables(), &canonicalize(locale.content_form()).unwrap().id);
        prop_assert_eq!(one.identity_key() == other.identity_key(), full(&one) == full(&other));
        prop_assert_eq!(full(&one).lower_case(), one.identity_key());
    }

    #[test]
    fn what_is_refused_is_refused_for_its_language_too(tag in tags(), extension in "u-kn|x-a|a-foo") {
        // Extensions and private use neither save a tag nor spoil one.
        let alone = Locale::parse(&tag);
        let plain = !tag.contains("-u-") && !tag.contains("-t-") && !tag.contains("-x-") && !tag.contains("-a-");
        let whole = tables().whole_tags.contains_key(tag.as_str());
        if plain && !whole {
            let with = Locale::parse(&format!("{tag}-{extension}"));
            prop_assert_eq!(alone.map(|it| it.identity_key().to_owned()), with.map(|it| it.identity_key().to_owned()));
        }
    }
}

#[test]
fn a_very_long_tag_is_read_in_no_time() {
    let long = format!("de{}", "-abcdefgh".repeat(100_000));
    assert_eq!(Locale::parse(&long).err(), Some(LocaleRefusal::InvalidSubtag));
    let extensions = format!("de{}", "-a-bcdefgh".repeat(100_000));
    assert_eq!(Locale::parse(&extensions).err(), Some(LocaleRefusal::InvalidSubtag));
    let variants = format!("de{}", "-1996-1901".repeat(100_000));
    assert_eq!(Locale::parse(&variants).err(), Some(LocaleRefusal::InvalidSubtag));
    let private = format!("de-x{}", "-abcdefgh".repeat(100_000));
    assert!(Locale::parse(&private).is_ok());
    let keywords = format!("de-u{}", "-ca-gregory".repeat(100_000));
    assert_eq!(Locale::parse(&keywords).map(|it| it.canonical().to_owned()).as_deref(), Ok("de-u-ca-gregory"));
}
