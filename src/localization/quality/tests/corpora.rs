//! Real translations of real projects: how often each check complains of them. What it says of a text that people have
//! been content with for years is mostly a false alarm.
//!
//! A change tries a share of them and sees that no check complains more often than it did. `make checks-corpora` tries all and
//! prints how often each check complains, and what of, as many as are asked for.

use std::collections::BTreeMap;
use std::fs;

use crate::content::Format;
use crate::quality::{CheckId, Limits, Pair, Reading, Rules, Status, Subject, judge};
use crate::testing::{corpora, is_long};

use super::translated::{Translated, translated};

/// The most complaints of each thousand translations: a fifth more than there are today, and half a one. Without a glossary
/// and limits four checks have nothing to say.
const LIMITS: [(CheckId, f64); 18] = [
    (CheckId::Q01, 6.0),
    (CheckId::Q02, 1.0),
    (CheckId::Q03, 6.0),
    (CheckId::Q04, 4.5),
    (CheckId::Q05, 0.0),
    (CheckId::Q06, 2.5),
    (CheckId::Q07, 18.8),
    (CheckId::Q08, 3.9),
    (CheckId::Q09, 0.0),
    (CheckId::Q10, 0.0),
    (CheckId::Q11, 0.0),
    (CheckId::Q12, 104.0),
    (CheckId::Q14, 4.6),
    (CheckId::Q16, 0.0),
    (CheckId::Q17, 1.0),
    (CheckId::Q18, 0.6),
    (CheckId::Q19, 1.8),
    (CheckId::Q20, 0.7),
];

/// What the checks complain of in a translation, with no glossary and the formal register.
fn complaints(translated: &Translated, rules: &Rules) -> Vec<(CheckId, String)> {
    let format = match translated.kind {
        "json" => Format::Json,
        "properties" => Format::Properties,
        _ => Format::YamlRails,
    };
    let pairs = translated.texts.iter().map(|(category, source, target)| Pair {
        category: *category,
        source: Reading::of(source, format),
        target: Reading::of(target, format),
    });
    let checks = judge(&Subject {
        source_locale: &translated.source_locale,
        target_locale: &translated.locale,
        format,
        is_plural: translated.texts.iter().any(|(category, ..)| category.is_some()),
        pairs: pairs.collect(),
        source_one: translated.source_one.as_deref().map(|one| Reading::of(one, format)),
        rules,
        limits: Limits::default(),
    });
    let failed = checks.into_iter().filter(|told| told.status == Status::Fail);
    failed.map(|told| (told.check, told.detail.unwrap_or_default())).collect()
}

#[test]
fn real_translations_are_seldom_complained_of() {
    let Some(corpora) = corpora() else { return };
    let all = translated(&corpora);
    let share = if is_long() { 1 } else { 8 };
    let shown = std::env::var("QUINTET_ALARMS").unwrap_or_default();
    let shown: Vec<(&str, usize)> =
        shown.split(',').filter_map(|one| one.split_once('=')).map(|(id, each)| (id, each.parse().unwrap())).collect();
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alarms: BTreeMap<(CheckId, &str), usize> = BTreeMap::new();
    let mut rules: BTreeMap<&str, Rules> = BTreeMap::new();
    for translated in all.iter().step_by(share) {
        *tried.entry(&translated.corpus).or_default() += 1;
        let rules =
            rules.entry(translated.locale.canonical()).or_insert_with(|| Rules::compile([], true, &translated.locale));
        for (check, detail) in complaints(translated, rules) {
            let count = alarms.entry((check, translated.corpus.as_str())).or_default();
            *count += 1;
            if shown.iter().any(|(id, each)| *id == check.id() && count.is_multiple_of(*each)) {
                let locale = translated.locale.canonical();
                println!("{} {locale} {} {}\n    {detail}", check.id(), translated.corpus, translated.path);
                for (_, source, target) in &translated.texts {
                    println!("    {source:?}\n    {target:?}");
                }
            }
        }
    }
    report(&tried, &alarms);
    let total: usize = tried.values().sum();
    if fs::read_to_string(corpora.join("missing")).is_ok_and(|missing| missing.is_empty()) {
        assert!(total * share > 150_000, "{total}");
    } else {
        eprintln!("corpora: not all packages are there; how often the checks complain is not judged");
        return;
    }
    for (check, limit) in LIMITS {
        let found: usize = alarms.iter().filter(|((of, _), _)| *of == check).map(|(_, count)| count).sum();
        let rate = found as f64 * 1000.0 / total as f64;
        assert!(rate <= limit, "{}: {rate:.1} of 1000, at most {limit}", check.id());
    }
}

/// A table of complaints of each thousand translations, by check and by whose they are.
fn report(tried: &BTreeMap<&str, usize>, alarms: &BTreeMap<(CheckId, &str), usize>) {
    let total: usize = tried.values().sum();
    let names: Vec<&str> = tried.keys().copied().collect();
    println!(
        "| check | all {total} | {} |",
        tried.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(names.len()));
    for check in CheckId::ALL {
        let of = |name: &str| alarms.get(&(check, name)).copied().unwrap_or_default();
        let all: usize = names.iter().map(|name| of(name)).sum();
        let rate = |count: usize, tried: usize| format!("{:.1}", count as f64 * 1000.0 / tried.max(1) as f64);
        let each: Vec<String> = tried.iter().map(|(name, count)| rate(of(name), *count)).collect();
        println!("| {} {} | {} | {} |", check.id(), check.name(), rate(all, total), each.join(" | "));
    }
}
