//! Tags and their forms, refusals in their order, lengths.

use super::canonical;
use crate::language::coverage::is_split_by_script;
use crate::language::locale::{
    Direction, Locale, STORED_LENGTH_MAX, TRANSLATION_ROUTE_LENGTH_MAX, check_stored_length,
    check_translation_route_length,
};
use crate::language::profiles::profiles;
use crate::language::refusal::LocaleRefusal::{
    self, DeprecatedNoReplacement, IllFormed, InvalidSubtag, NotTranslatable, ScriptRequired, TooLong,
};
use crate::language::tables::tables;

fn forms(tag: &str) -> (String, String, String) {
    let locale = Locale::parse(tag).unwrap_or_else(|refusal| panic!("{tag}: {refusal}"));
    (locale.canonical().to_owned(), locale.content_form().to_owned(), locale.identity_key().to_owned())
}

#[test]
fn tags_have_their_three_forms() {
    for (tag, canonical, content_form, identity_key) in [
        ("de", "de", "de", "de-latn-de"),
        ("EN-us", "en-US", "en-US", "en-latn-us"),
        ("en-Latn-US", "en-US", "en-US", "en-latn-us"),
        ("zh-TW", "zh-TW", "zh-Hant-TW", "zh-hant-tw"),
        ("zh-Hant", "zh-Hant", "zh-Hant", "zh-hant-tw"),
        ("zh-cmn-tw", "zh-TW", "zh-Hant-TW", "zh-hant-tw"),
        ("zh-HK", "zh-HK", "zh-Hant-HK", "zh-hant-hk"),
        ("zh-CN", "zh-CN", "zh-Hans-CN", "zh-hans-cn"),
        ("zh-yue-hk", "yue-HK", "yue-Hant-HK", "yue-hant-hk"),
        ("sr-ME", "sr-ME", "sr-Latn-ME", "sr-latn-me"),
        ("cnr", "sr-ME", "sr-Latn-ME", "sr-latn-me"),
        ("sh", "sr-Latn", "sr-Latn", "sr-latn-rs"),
        ("bs", "bs", "bs-Latn", "bs-latn-ba"),
        ("bs-Latn", "bs", "bs-Latn", "bs-latn-ba"),
        ("pa", "pa", "pa-Guru", "pa-guru-in"),
        ("pa-PK", "pa-PK", "pa-Arab-PK", "pa-arab-pk"),
        ("ha-NG", "ha-NG", "ha-Latn-NG", "ha-latn-ng"),
        ("hi-Latn", "hi-Latn", "hi-Latn", "hi-latn-in"),
        ("no", "no", "no", "no-latn-no"),
        ("nb", "nb", "nb", "nb-latn-no"),
        ("iw", "he", "he", "he-hebr-il"),
        ("tl-PH", "fil-PH", "fil-PH", "fil-latn-ph"),
        ("eng", "en", "en", "en-latn-us"),
        ("en-UK", "en-GB", "en-GB", "en-latn-gb"),
        ("de-DD", "de-DE", "de-DE", "de-latn-de"),
        ("sq-XK", "sq-XK", "sq-XK", "sq-latn-xk"),
        ("es-419", "es-419", "es-419", "es-latn-419"),
        ("ca-valencia", "ca-valencia", "ca-valencia", "ca-latn-es-valencia"),
        ("sl-rozaj-biske-1994", "sl-1994-biske-rozaj", "sl-1994-biske-rozaj", "sl-latn-si-1994-biske-rozaj"),
        ("de-u-co-phonebk", "de-u-co-phonebk", "de", "de-latn-de"),
        ("de-x-formal", "de-x-formal", "de", "de-latn-de"),
        ("en-US-posix", "en-US-u-va-posix", "en-US", "en-latn-us"),
        ("zh-TW-u-nu-hant-x-a", "zh-TW-u-nu-hant-x-a", "zh-Hant-TW", "zh-hant-tw"),
    ] {
        let expected = (canonical.to_owned(), content_form.to_owned(), identity_key.to_owned());
        assert_eq!(forms(tag), expected, "{tag}");
    }
}

#[test]
fn extensions_have_one_spelling() {
    for (tag, expected) in [
        ("en-u-kn-true-ca-gregory", "en-u-ca-gregory-kn"),
        ("en-u-foo-bar-ca-buddhist-ca-gregory", "en-u-bar-foo-ca-buddhist"),
        ("en-u-ks-primary-kb-yes", "en-u-kb-ks-level1"),
        ("en-u-ca-islamicc", "en-u-ca-islamic-civil"),
        ("en-u-tz-cnckg-ms-imperial", "en-u-ms-uksystem-tz-cnsha"),
        ("en-u-sd-fi01", "en-u-sd-axzzzz"),
        ("en-t-iw-m0-und", "en-t-he-m0-und"),
        ("en-t-sh", "en-t-sr-latn"),
        ("en-t-m0-true-k0-azerty", "en-t-k0-azerty-m0-true"),
        ("en-t-en-latn-us-t0-abc", "en-t-en-latn-us-t0-abc"),
        ("en-x-B-A", "en-x-b-a"),
        ("en-b-two-a-one-u-kn-t-fr", "en-a-one-b-two-t-fr-u-kn"),
        ("en-posix-u-va-abc", "en-u-va-abc"),
    ] {
        assert_eq!(canonical(tag).as_deref(), Ok(expected), "{tag}");
    }
}

#[test]
fn every_refusal_has_its_tags() {
    let refused: [(LocaleRefusal, &[&str]); 5] = [
        (
            IllFormed,
            &[
                "",
                "-",
                "e",
                "en-",
                "-en",
                "en--us",
                "en_US",
                "en us",
                " en",
                "en\n",
                "é",
                "en-é",
                "abcdefghi",
                "de-a",
                "de-x",
                "x",
                "x-",
                "i-foo",
                "a-de",
                "en-u",
                "en-u-a-foo",
                "en-u-k0-foo",
                "en-t",
                "en-t-m0",
                "12",
                "de-Latn-Latn",
                "de-DE-Latn",
                "de-DE-AT",
                "en-x-123456789",
                "\u{130}n",
                "en\0",
            ],
        ),
        (
            InvalidSubtag,
            &[
                "xy",
                "qqq-Abcd",
                "abcd",
                "abcde",
                "root",
                "de-Abcd",
                "de-AB",
                "de-998877",
                "de-foobar",
                "en-yue",
                "zh-cmn-yue",
                "de-1996-1996",
                "en-a-aa-a-bb",
                "en-u-kn-u-ca",
                "en-t-xy",
                "sgn-USA",
                "de-1234",
            ],
        ),
        (
            DeprecatedNoReplacement,
            &[
                "de-AN",
                "sr-CS",
                "ar-NT",
                "ru-SU",
                "sr-YU",
                "lsg",
                "sgn-lsg",
                "sa-vaidika",
                "ru-172",
                "en-830",
                "en-t-ru-su",
            ],
        ),
        (
            NotTranslatable,
            &[
                "und",
                "und-Latn",
                "mul",
                "mis",
                "zxx",
                "x-klingon",
                "qaa",
                "qtz-DE",
                "de-Qaaa",
                "de-QM",
                "de-XA",
                "de-ZZ",
                "de-AA",
                "sla",
                "sgn",
                "art",
                "afa-DE",
                "de-Zzzz",
                "de-Zxxx",
                "de-Zyyy",
                "de-Zinh",
                "de-Qaai",
                "en-Zsye",
                "en-Zmth",
                "en-Zsym",
                "i-enochian",
                "fil-XZ",
            ],
        ),
        (
            ScriptRequired,
            &[
                "zh",
                "yue",
                "sr",
                "uz",
                "sd",
                "ks",
                "ha",
                "az",
                "cmn",
                "zh-yue",
                "zh-u-nu-hant",
                "sr-x-a",
                "sr-ekavsk",
                "aze",
                "zho",
                "chi",
            ],
        ),
    ];
    for (refusal, tags) in refused {
        for tag in tags {
            assert_eq!(Locale::parse(tag).err(), Some(refusal), "{tag:?}");
        }
    }
}

#[test]
fn of_several_reasons_the_first_is_given() {
    for (tag, first) in [
        ("zh-SU-foobar-a", IllFormed),
        ("und-SU-foobar", InvalidSubtag),
        ("und-SU", DeprecatedNoReplacement),
        ("de-Zyyy-AN", DeprecatedNoReplacement),
        ("x-zh", NotTranslatable),
        ("zh-Zxxx", NotTranslatable),
        ("zh-QM", NotTranslatable),
    ] {
        assert_eq!(Locale::parse(tag).err(), Some(first), "{tag}");
    }
}

#[test]
fn codes_are_those_of_the_contract() {
    assert_eq!(
        LocaleRefusal::ALL.map(LocaleRefusal::code),
        [
            "locale_ill_formed",
            "locale_invalid_subtag",
            "locale_deprecated_no_replacement",
            "locale_not_translatable",
            "locale_script_required",
            "locale_too_long",
        ]
    );
    assert!(LocaleRefusal::ALL.is_sorted());
}

#[test]
fn length_is_judged_by_the_place() {
    // 40 and 41 characters.
    let fits = Locale::parse("de-DE-x-abcdefgh-abcdefgh-abcdefgh-abcde").unwrap();
    let long = Locale::parse("de-DE-x-abcdefgh-abcdefgh-abcdefgh-abcdef").unwrap();
    assert_eq!(fits.canonical().len(), TRANSLATION_ROUTE_LENGTH_MAX);
    assert_eq!(check_translation_route_length(&fits), Ok(()));
    assert_eq!(check_translation_route_length(&long), Err(TooLong));
    // Its content form is short, so it can be stored.
    assert_eq!(check_stored_length(&long), Ok(()));

    // The script that the content form adds can be what makes a tag too long to be stored.
    let variants = "1606nict-abl1943-akhmimic-alalc97-biscayan-bohairic-fonxsamp";
    let fits = Locale::parse(&format!("de-{variants}")).unwrap();
    assert_eq!(fits.content_form().len(), STORED_LENGTH_MAX - 1);
    assert_eq!(check_stored_length(&fits), Ok(()));
    let long = Locale::parse(&format!("bs-{variants}")).unwrap();
    assert_eq!((long.canonical().len(), long.content_form().len()), (STORED_LENGTH_MAX - 1, STORED_LENGTH_MAX + 4));
    assert_eq!(check_stored_length(&long), Err(TooLong));
    assert_eq!(Locale::parse("de-x-1").map(|locale| check_stored_length(&locale)), Ok(Ok(())));
}

#[test]
fn these_languages_are_split_by_script() {
    let split: Vec<&str> = {
        let mut all: Vec<&str> = tables().languages.keys().copied().filter(|it| is_split_by_script(it)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(split.join(" "), "az bal bs ff ha kaa kk kok ks ku kxv mni pa sat sd shi sr suz uz vai yue zh");
}

#[test]
fn every_locale_of_cldr_has_a_profile_but_the_root() {
    let listed = crate::language::profiles::listed;
    let left_out: Vec<&str> =
        tables().locales.iter().map(|locale| locale.tag).filter(|tag| listed(tag).is_none()).collect();
    assert_eq!(left_out, ["und"]);
    let profiles = profiles();
    assert!(profiles.is_sorted_by(|one, other| one.tag < other.tag));
    for locale in &tables().locales {
        let Some(listed) = listed(locale.tag) else { continue };
        let profile = profiles.iter().find(|profile| profile.tag == listed.content_form());
        let profile = profile.unwrap_or_else(|| panic!("{} is missing", locale.tag));
        assert_eq!(profile.reviewed, locale.modern, "{}", locale.tag);
        assert_eq!(profile.direction == Direction::RightToLeft, locale.direction == "rtl", "{}", locale.tag);
    }
    assert_eq!((tables().locales.len(), profiles.len()), (1_121, 1_097));
    assert_eq!(profiles.iter().filter(|profile| profile.reviewed).count(), 523);
}

#[test]
fn a_profile_says_what_cldr_says() {
    let profile = Locale::parse("ar").unwrap().profile();
    assert_eq!((profile.tag.as_str(), profile.identity_key.as_str()), ("ar", "ar-arab-eg"));
    assert!(profile.reviewed);
    assert_eq!(profile.direction.name(), "rtl");
    assert_eq!(profile.cardinal.names(), ["zero", "one", "two", "few", "many", "other"]);
    assert_eq!(profile.ordinal.names(), ["other"]);
    for (tag, reviewed, direction) in [
        ("en-AQ", true, "ltr"),
        ("uz-Cyrl", false, "ltr"),
        ("uz-Latn", true, "ltr"),
        ("de-1901", true, "ltr"),
        ("mn-Mong", false, "ltr"),
        ("pa-PK", false, "rtl"),
        ("yi", false, "rtl"),
        ("tlh", false, "ltr"),
    ] {
        let locale = Locale::parse(tag).unwrap();
        assert_eq!((locale.reviewed(), locale.direction().name()), (reviewed, direction), "{tag}");
    }
}
