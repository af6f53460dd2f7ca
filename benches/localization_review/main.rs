//! What it costs to judge translations: the eighteen checks over 20,000 real translations, beside translate-toolkit's
//! StandardChecker over the same texts.
//!
//! `cargo bench --bench localization_review` prints processor time for each translation, the best of five rounds; the
//! toolkit's rounds are in the same run. The texts come with the toolkit (`tests/corpora/fetch.sh`).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly and prints its result"
)]

#[path = "../../src/localization/quality/tests/translated.rs"]
mod translated;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use quintet_localization::quality::{CheckSet, Entry, Format, Limits, Pair, Reading, Rules, Subject, failing, judge};
use quintet_localization::{formats, language};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use translated::Translated;

const TRANSLATIONS: usize = 20_000;
const ROUNDS: usize = 5;
/// The terms of a project: its labels of one word, with what they are in the locale.
const TERMS: usize = 300;

fn main() {
    let corpora = corpora();
    let all = translated::translated(&corpora);
    let texts: Vec<&Translated> = all.iter().filter(|one| one.texts.iter().all(|(form, ..)| form.is_none())).collect();
    let each = texts.len() / TRANSLATIONS;
    let chosen: Vec<&Translated> = texts.iter().copied().step_by(each).take(TRANSLATIONS).collect();
    assert_eq!(chosen.len(), TRANSLATIONS);
    let characters: usize =
        chosen.iter().map(|one| one.texts[0].1.chars().count() + one.texts[0].2.chars().count()).sum();
    println!(
        "{TRANSLATIONS} of {} translations into {} locales, {} characters each with its source\n",
        texts.len(),
        rules(&texts, false).len(),
        characters / TRANSLATIONS
    );

    let (plain, full) = (rules(&texts, false), rules(&texts, true));
    let toolkit = toolkit(&corpora, &chosen);
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / TRANSLATIONS as f64;
    println!("| checks | µs CPU each | ratio |");
    println!("|---|---|---|");
    println!("| toolkit, StandardChecker | {:.1} | |", micros(toolkit));
    let row = |name: &str, took: Duration| {
        println!("| {name} | {:.2} | {:.0} |", micros(took), toolkit.as_secs_f64() / took.as_secs_f64());
    };
    row("18 checks with their details, neither terms nor register", best(|| judged(&chosen, &plain)));
    row(
        &format!("18 checks with their details, up to {TERMS} terms and the register"),
        best(|| judged(&chosen, &full)),
    );
    row("18 checks, which ones fail", best(|| failed(&chosen, &full)));
}

fn corpora() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "the corpora cannot be had");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// What a project says of its words, by locale: nothing, or terms, a name that stays and the register.
fn rules(texts: &[&Translated], is_full: bool) -> BTreeMap<String, Rules> {
    let mut entries: BTreeMap<String, (language::Locale, Vec<Entry<'_>>)> = BTreeMap::new();
    for one in texts {
        let (_, of_locale) =
            entries.entry(one.locale.canonical().to_owned()).or_insert_with(|| (one.locale.clone(), Vec::new()));
        let (_, source, target) = &one.texts[0];
        if is_full && of_locale.len() < TERMS && source.len() > 3 && source.chars().all(char::is_alphabetic) {
            of_locale.push(Entry::Term { source, target });
        }
    }
    let compiled = entries.into_iter().map(|(tag, (locale, mut entries))| {
        if is_full {
            entries.extend([Entry::DoNotTranslate("Freeplane"), Entry::DoNotTranslate("Git")]);
        }
        (tag, Rules::compile(entries, is_full, &locale))
    });
    compiled.collect()
}

/// The processor time of the fastest round.
fn best(mut work: impl FnMut() -> usize) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
    };
    let round = |_| {
        let begun = now();
        assert!(work() > 0);
        now() - begun
    };
    (0..ROUNDS).map(round).min().unwrap()
}

fn judged(chosen: &[&Translated], rules: &BTreeMap<String, Rules>) -> usize {
    let failed = |subject: &Subject<'_>| judge(subject).iter().filter(|told| told.status.name() == "fail").count();
    of_all(chosen, rules, failed)
}

fn failed(chosen: &[&Translated], rules: &BTreeMap<String, Rules>) -> usize {
    of_all(chosen, rules, |subject| (failing(subject) != CheckSet::default()).into())
}

/// Each translation is read and looked at from the beginning, as a request does it.
fn of_all(chosen: &[&Translated], rules: &BTreeMap<String, Rules>, look: impl Fn(&Subject<'_>) -> usize) -> usize {
    let mut found = 0;
    for one in chosen {
        let (_, source, target) = &one.texts[0];
        let format = match one.kind {
            "json" => Format::Json,
            "properties" => Format::Properties,
            _ => Format::YamlRails,
        };
        let pair = Pair { category: None, source: Reading::of(source, format), target: Reading::of(target, format) };
        found += look(&Subject {
            source_locale: &one.source_locale,
            target_locale: &one.locale,
            format,
            is_plural: false,
            pairs: vec![pair],
            source_one: None,
            rules: &rules[one.locale.canonical()],
            limits: Limits { min: Some(1), max: Some(500) },
        });
    }
    found
}

/// The toolkit's processor time for the same texts, its fastest round.
fn toolkit(corpora: &Path, chosen: &[&Translated]) -> Duration {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for one in chosen {
        let (_, source, target) = &one.texts[0];
        writeln!(file, "{}", json!([one.locale.canonical(), source, target])).unwrap();
    }
    let output = Command::new(corpora.join("python/bin/python3"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/localization_review/toolkit.py"))
        .arg(file.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    Duration::from_secs_f64(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
}
