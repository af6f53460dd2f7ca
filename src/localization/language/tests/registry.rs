//! The whole registry and all of CLDR's aliases: nothing deprecated is left, and what replaces what is what they say.

use super::canonical;
use crate::language::alias::is_region;
use crate::language::canonical::canonicalize;
use crate::language::refusal::LocaleRefusal;
use crate::language::tables::{ALIASES, SUBTAGS, Subtag, TAGS, tables};

/// The rows of a table, read anew, so that a fault of the reader in `tables` shows.
fn rows(source: crate::language::tables::Source) -> impl Iterator<Item = Vec<&'static str>> {
    source.text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

/// What CLDR puts in the place of one subtag or tag; several are divided by spaces.
fn alias(kind: &str, subtag: &str) -> Option<&'static str> {
    rows(ALIASES).find(|row| row[0] == kind && row[1] == subtag).map(|row| row[2])
}

/// The tags that show each registered subtag of a kind, where it stands in a tag.
fn shown(kind: &str) -> Vec<(String, Vec<&'static str>)> {
    let in_a_tag = |subtag: &str| match kind {
        "language" => subtag.to_owned(),
        _ => format!("en-{subtag}"),
    };
    rows(SUBTAGS).filter(|row| row[0] == kind).map(|row| (in_a_tag(row[1]), row)).collect()
}

#[test]
fn every_registered_subtag_is_kept_replaced_or_refused_as_deprecated() {
    let mut seen = 0;
    for (kind, alias_kind) in
        [("language", "language"), ("script", "script"), ("region", "territory"), ("variant", "variant")]
    {
        for (tag, row) in shown(kind) {
            let (subtag, deprecated, preferred) = (row[1], !row[3].is_empty(), row[4]);
            let replacement = alias(alias_kind, subtag)
                .or_else(|| alias("language", &format!("und-{subtag}")).filter(|_| kind == "variant"));
            let found = canonical(&tag);
            match replacement {
                Some(several) if several.contains(' ') => {
                    assert_eq!(found, Err(LocaleRefusal::DeprecatedNoReplacement), "{tag}");
                }
                Some(_) => assert!(found.is_ok(), "{tag}: {found:?}"),
                None if deprecated && preferred.is_empty() => {
                    assert_eq!(found, Err(LocaleRefusal::DeprecatedNoReplacement), "{tag}");
                }
                None if kind == "script" && subtag == "latn" => assert_eq!(found.as_deref(), Ok("en"), "{tag}"),
                None => assert!(found.is_ok_and(|found| found.eq_ignore_ascii_case(&tag)), "{tag}"),
            }
            if !preferred.is_empty() {
                let whole = if kind == "language" { preferred.to_owned() } else { format!("en-{preferred}") };
                assert_eq!(canonical(&tag), canonical(&whole), "{tag} is {whole}, says the registry");
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 9_538, "subtags of the registry; another pin has others");
}

#[test]
fn no_canonical_tag_holds_anything_deprecated() {
    let deprecated = |subtag: Option<&Subtag>| subtag.is_some_and(|subtag| subtag.deprecated);
    for kind in ["language", "script", "region", "variant"] {
        for (tag, _) in shown(kind) {
            let Ok(canonical) = canonicalize(&tag) else { continue };
            let id = canonical.id;
            assert!(!deprecated(tables().languages.get(id.language.as_str())), "{tag}");
            assert!(!id.script.is_some_and(|script| deprecated(tables().scripts.get(script.as_str()))), "{tag}");
            assert!(!id.region.is_some_and(|region| deprecated(tables().regions.get(region.as_str()))), "{tag}");
            assert!(!id.variants.iter().any(|it| deprecated(tables().variants.get(it.as_str()))), "{tag}");
        }
    }
}

#[test]
fn every_extended_language_stands_for_its_language_behind_its_prefix_alone() {
    let mut seen = 0;
    for row in rows(SUBTAGS).filter(|row| row[0] == "extlang") {
        let (subtag, preferred) = (row[1], row[4]);
        for prefix in row[6].split(' ') {
            assert_eq!(canonical(&format!("{prefix}-{subtag}")), canonical(preferred), "{prefix}-{subtag}");
        }
        assert_eq!(canonical(&format!("en-{subtag}")), Err(LocaleRefusal::InvalidSubtag), "en-{subtag}");
        seen += 1;
    }
    assert_eq!(seen, 256);
}

#[test]
fn every_grandfathered_and_redundant_tag_is_what_the_registry_prefers() {
    let mut seen = 0;
    for row in rows(TAGS) {
        let (tag, deprecated, preferred) = (row[1], !row[2].is_empty(), row[3]);
        let found = canonical(tag);
        if !preferred.is_empty() {
            assert_eq!(found, canonical(preferred), "{tag}");
        } else if let Some(replacement) = alias("language", tag) {
            assert_eq!(found, canonical(replacement), "{tag}");
        } else {
            assert!(!deprecated, "{tag} is deprecated, and nothing replaces it");
            // Of the rest, some are deprecated for another reason than that they are whole tags.
            assert!(found.is_ok(), "{tag}: {found:?}");
        }
        assert_eq!(canonical(&tag.to_ascii_uppercase()), found, "{tag}");
        seen += 1;
    }
    assert_eq!(seen, 93);
    for (tag, expected) in [
        ("i-klingon", "tlh"),
        ("i-default", "en-x-i-default"),
        ("i-mingo", "see-x-i-mingo"),
        ("zh-min", "nan-x-zh-min"),
        ("zh-min-nan", "nan"),
        ("cel-gaulish", "xtg"),
        ("en-GB-oed", "en-GB-oxendict"),
        ("sgn-BE-FR", "sfb"),
        ("sgn-NO", "nsl"),
        ("zh-cmn-Hant", "zh-Hant"),
        ("de-1901", "de-1901"),
    ] {
        assert_eq!(canonical(tag).as_deref(), Ok(expected), "{tag}");
    }
}

#[test]
fn every_alias_of_cldr_is_replaced() {
    let mut seen = 0;
    for row in rows(ALIASES) {
        let (kind, from, to) = (row[0], row[1], row[2]);
        let (from_tag, to_tag) = match kind {
            "language" => (from.to_owned(), to.to_owned()),
            "subdivision" => {
                let first = to.split(' ').next().unwrap();
                let first = if first.len() == 2 { format!("{first}zzzz") } else { first.to_owned() };
                (format!("en-u-sd-{from}"), format!("en-u-sd-{first}"))
            }
            "territory" if !is_region(from) => {
                // Three letters are no region in a language tag, but an extended language.
                assert_eq!(canonical(&format!("en-{from}")), Err(LocaleRefusal::InvalidSubtag), "en-{from}");
                continue;
            }
            _ => (format!("en-{from}"), format!("en-{to}")),
        };
        seen += 1;
        if to.contains(' ') && kind != "subdivision" {
            assert_eq!(canonical(&from_tag), Err(LocaleRefusal::DeprecatedNoReplacement), "{from_tag}");
        } else if kind == "subdivision" {
            assert_eq!(canonical(&from_tag).as_deref(), Ok(to_tag.as_str()), "{from_tag}");
        } else {
            assert_eq!(canonical(&from_tag), canonical(&to_tag), "{from_tag} is {to_tag}");
            assert!(canonical(&from_tag).is_ok(), "{from_tag}");
        }
    }
    assert_eq!(seen, 985, "aliases of CLDR; another pin has others");
}

#[test]
fn rules_come_to_rest_long_before_they_are_stopped() {
    // What a rule makes is its own canonical form after at most two more; so eight rounds are never used up.
    for row in rows(ALIASES).filter(|row| row[0] == "language") {
        let Ok(found) = canonical(row[1]) else { continue };
        assert_eq!(canonical(&found).as_deref(), Ok(found.as_str()), "{}", row[1]);
    }
}

#[test]
fn rules_that_say_more_go_first() {
    for rules in tables().language_aliases.values() {
        assert!(rules.is_sorted_by(|one, next| one.subtags() >= next.subtags()));
    }
}

#[test]
fn a_script_that_goes_without_saying_is_dropped_only_where_that_changes_nothing() {
    let (mut dropped, mut kept) = (0, 0);
    for (language, _) in shown("language") {
        let script = tables().languages[language.as_str()].suppressed_script;
        let deprecated = canonical(&language).as_deref() != Ok(language.as_str());
        if script.is_empty() || deprecated {
            continue;
        }
        for (region, known) in &tables().regions {
            if known.deprecated || tables().region_aliases.contains_key(region) {
                continue;
            }
            let with = canonicalize(&format!("{language}-{script}-{region}")).unwrap();
            let full = crate::language::likely::maximize(tables(), &with.id);
            assert_eq!(full.script.as_deref(), Some(script), "{language}-{script}-{region}");
            if with.id.script.is_none() { dropped += 1 } else { kept += 1 }
        }
    }
    assert!(dropped > 30_000 && kept > 0, "{dropped} dropped, {kept} kept");
    assert_eq!(canonical("pa-Guru-PK").as_deref(), Ok("pa-Guru-PK"));
    assert_eq!(canonical("kk-Cyrl-CN").as_deref(), Ok("kk-Cyrl-CN"));
    assert_eq!(canonical("pa-Guru-IN").as_deref(), Ok("pa-IN"));
}
