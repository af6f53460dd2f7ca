//! The memory against a model of it: what is remembered, suggested and listed, over restarts and in two tenants.

use std::collections::BTreeMap;

use quintet_storage::{Read as _, Timestamp, Uuid, WriteTx};

use super::model::{Outcome, Outcomes, Remembered, source_id};
use super::remember::{BATCH_UNITS_MAX, batch, of_translation, remember, remember_all};
use super::suggest::{Suggestion, is_at_hand, suggest};
use super::tables::{MEMORY_BY_PROJECT, MEMORY_PAIRS, MEMORY_SOURCES, MemoryMarkRow, MemoryPairRow, MemorySourceRow};
use super::units::{get_unit, list_units};
use super::verify;
use crate::content::{Source, TEXT_BYTES_MAX, Translated, Wording};
use crate::language::Locale;
use crate::likeness::{Indexes, LanguagePair};
use crate::model::TenantId;
use crate::spaces::ProjectId;
use crate::testing::{Bench, OTHER, TENANT, bench, expected_score};

const ONE: ProjectId = ProjectId(Uuid::from_u128(1));
const TWO: ProjectId = ProjectId(Uuid::from_u128(2));
const ROOM: usize = 64 << 20;

fn pair_of(tenant_id: TenantId, target: &str) -> LanguagePair {
    LanguagePair::new(tenant_id, "en", &Locale::parse(target).unwrap())
}

fn german() -> LanguagePair {
    pair_of(TENANT, "de")
}

/// Remembers something that was approved.
fn approve(bench: &Bench, pair: &LanguagePair, project_id: ProjectId, source: &str, target: &str) -> Outcome {
    let (pair, source, target) = (pair.clone(), source.to_owned(), target.to_owned());
    let unit = move |tx: &mut WriteTx<'_>, now| {
        let unit = Remembered { source: &source, target: &target, origin: Some(Wording::Human) };
        Ok(remember(tx, now, &pair, project_id, unit)?)
    };
    bench.run(unit).unwrap()
}

/// Imports units of a language pair into a project, at once.
fn import(bench: &Bench, pair: &LanguagePair, project_id: ProjectId, units: &[(String, String)]) -> Outcomes {
    let (pair, units) = (pair.clone(), units.to_vec());
    bench
        .run(move |tx, now| {
            let units = units
                .iter()
                .map(|(source, target)| (&pair, Remembered { source, target, origin: Some(Wording::Import) }));
            Ok(remember_all(tx, now, project_id, units)?)
        })
        .unwrap()
}

fn texts(found: &[Suggestion]) -> Vec<(u8, &str, &str)> {
    found.iter().map(|one| (one.score, one.unit.source.as_str(), one.unit.target.as_str())).collect()
}

fn suggested(bench: &Bench, indexes: &Indexes, pair: &LanguagePair, text: &str) -> Vec<(u8, String, String)> {
    let found = suggest(indexes, &bench.store.read(), pair, text).unwrap();
    found.into_iter().map(|one| (one.score, one.unit.source, one.unit.target)).collect()
}

/// What a memory says, kept the simplest way: by language pair and source, the target, the project and when.
type Model = BTreeMap<(LanguagePairKey, String), (String, ProjectId, Timestamp)>;
type LanguagePairKey = (TenantId, String, String);

fn expected(model: &Model, pair: &LanguagePair, text: &str) -> Vec<(u8, String, String)> {
    let own = model.iter().filter(|((key, _), _)| *key == pair.key());
    let mut found: Vec<(u8, Timestamp, String, String)> = own
        .map(|((_, source), (target, _, written_at))| {
            let score = if source == text { 100 } else { expected_score(text, source) };
            (score, *written_at, source.clone(), target.clone())
        })
        .filter(|(score, ..)| *score >= 75)
        .collect();
    found.sort_by(|one, other| other.0.cmp(&one.0).then(other.1.cmp(&one.1)).then(one.2.cmp(&other.2)));
    found.into_iter().take(5).map(|(score, _, source, target)| (score, source, target)).collect()
}

/// A sentence of a few words, like many others.
fn sentence(random: &mut fastrand::Rng) -> String {
    const WORDS: &[&str] =
        &["Open", "the", "file", "files", "a", "new", "folder", "été", "e\u{301}te\u{301}", "🗀", "日本語の"];
    let words: Vec<&str> = (0..random.usize(1..5)).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
    words.join(" ")
}

#[test]
fn suggestions_are_those_of_a_model_over_writes_and_restarts() {
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        // There is room for two of the three: one or another is thrown away all the time.
        let new_indexes = || Indexes::new(45_000);
        let (mut bench, mut model, mut indexes) = (bench(), Model::new(), new_indexes());
        let pairs = [german(), pair_of(TENANT, "fr"), pair_of(OTHER, "de")];
        for step in 0..140 {
            let pair = &pairs[random.usize(..pairs.len())];
            let project_id = [ONE, TWO][random.usize(..2)];
            match random.u8(..10) {
                0..4 => {
                    let (source, target) = (sentence(&mut random), format!("{step}"));
                    assert_eq!(approve(&bench, pair, project_id, &source, &target), Outcome::Written);
                    model.insert((pair.key(), source), (target, project_id, bench.now()));
                }
                4 => {
                    let units: Vec<(String, String)> =
                        (0..12).map(|_| (sentence(&mut random), random.u8(..3).to_string())).collect();
                    let mut outcomes = Outcomes::default();
                    for (source, target) in &units {
                        let key = (pair.key(), source.clone());
                        if model.get(&key).is_some_and(|known| known.0 == *target) {
                            outcomes.count(Outcome::Unchanged);
                        } else {
                            outcomes.count(Outcome::Written);
                            model.insert(key, (target.clone(), project_id, bench.now()));
                        }
                    }
                    assert_eq!(import(&bench, pair, project_id, &units), outcomes);
                }
                5 => bench.clock.advance_micros(random.i64(0..2)),
                6 if random.u8(..6) == 0 => {
                    indexes = new_indexes();
                    bench = bench.restarted();
                }
                _ => {
                    let text = sentence(&mut random);
                    assert_eq!(suggested(&bench, &indexes, pair, &text), expected(&model, pair, &text), "{text:?}");
                    assert!(indexes.held().1 <= 45_000, "{:?}", indexes.held());
                }
            }
        }
        let read = bench.store.read();
        for pair in &pairs {
            let units = model.iter().filter(|((key, _), _)| *key == pair.key()).count() as u64;
            assert_eq!(read.get(&MEMORY_PAIRS, &pair.key()).unwrap().map_or(0, |row| row.units), units);
        }
        for ((key, source), (target, project_id, written_at)) in &model {
            let pair = LanguagePair { tenant_id: key.0, source: key.1.clone(), target: key.2.clone() };
            let unit = get_unit(&read, &pair, source).unwrap().unwrap();
            assert_eq!((&unit.target, unit.project_id, unit.written_at), (target, *project_id, *written_at));
        }
        for (tenant_id, project_id) in [(TENANT, ONE), (TENANT, TWO), (OTHER, ONE), (OTHER, TWO)] {
            let (mut listed, mut after) = (Vec::new(), None);
            loop {
                let page = list_units(&read, tenant_id, project_id, None, after.as_ref(), 7).unwrap();
                listed.extend(page.units.into_iter().map(|one| (one.target_locale, one.unit.source)));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert!(listed.is_sorted_by_key(|(target, _)| target.clone()));
            listed.sort();
            let own = model.iter().filter(|((key, _), known)| key.0 == tenant_id && known.1 == project_id);
            let mut own: Vec<(String, String)> =
                own.map(|((key, source), _)| (key.2.clone(), source.clone())).collect();
            own.sort();
            assert_eq!(listed, own);
        }
        assert_eq!(verify(&read).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn the_order_of_suggestions_and_what_is_exact() {
    let (bench, indexes) = (bench(), Indexes::new(ROOM));
    let pair = german();
    for (source, target) in [
        ("Open the caf\u{e9}", "1"),
        ("Open the cafe\u{301}", "2"),
        ("Open the cafe", "3"),
        ("Open the care", "4"),
        ("Open a café", "5"),
        ("Open the cafés", "6"),
        ("Open the cafü", "7"),
        ("Something else", "8"),
    ] {
        bench.clock.advance(1);
        approve(&bench, &pair, ONE, source, target);
    }
    let found = suggest(&indexes, &bench.store.read(), &pair, "Open the café").unwrap();
    assert_eq!(
        texts(&found),
        [
            (100, "Open the caf\u{e9}", "1"),
            (99, "Open the cafe\u{301}", "2"),
            (92, "Open the cafü", "7"),
            (92, "Open the cafés", "6"),
            (92, "Open the cafe", "3"),
        ]
    );
    assert_eq!(
        found.iter().map(Suggestion::found_as).collect::<Vec<_>>(),
        ["exact", "fuzzy", "fuzzy", "fuzzy", "fuzzy"]
    );
    let read = bench.store.read();
    assert!(suggest(&indexes, &read, &pair_of(OTHER, "de"), "Open the café").unwrap().is_empty(), "another tenant's");
    assert!(suggest(&indexes, &read, &pair_of(TENANT, "de-AT"), "Open the café").unwrap().is_empty(), "another tag");
}

#[test]
fn who_writes_last_is_what_it_says_and_whose_it_is() {
    let (bench, pair) = (bench(), german());
    let units = |project_id, target: Option<&str>| {
        let page = list_units(&bench.store.read(), TENANT, project_id, target, None, 10).unwrap();
        page.units.into_iter().map(|one| (one.unit.source, one.unit.target)).collect::<Vec<_>>()
    };
    approve(&bench, &pair, ONE, "Save", "Sichern");
    approve(&bench, &pair, ONE, "Load", "Laden");
    let same = [("Save".to_owned(), "Sichern".to_owned()), ("Load".to_owned(), "Öffnen".to_owned())];
    assert_eq!(import(&bench, &pair, TWO, &same), Outcomes { written: 1, unchanged: 1, skipped: 0 });
    assert_eq!(units(ONE, None), [("Save".to_owned(), "Sichern".to_owned())]);
    assert_eq!(units(TWO, Some("de")), [("Load".to_owned(), "Öffnen".to_owned())]);
    assert!(units(TWO, Some("fr")).is_empty());
    approve(&bench, &pair, TWO, "Save", "Sichern");
    assert_eq!(units(ONE, None), []);
    assert_eq!(units(TWO, None).len(), 2);
    let origin = get_unit(&bench.store.read(), &pair, "Load").unwrap().unwrap().origin;
    assert_eq!(origin, Some(Wording::Import));
}

#[test]
fn texts_over_the_longest_translation_are_not_remembered_and_batches_are_bounded() {
    let (bench, pair) = (bench(), german());
    let long = "x".repeat(TEXT_BYTES_MAX);
    let over = format!("{long}x");
    let units = [(long.clone(), long.clone()), (over.clone(), "x".to_owned()), ("x".to_owned(), over.clone())];
    assert_eq!(import(&bench, &pair, ONE, &units), Outcomes { written: 1, unchanged: 0, skipped: 2 });
    assert_eq!(approve(&bench, &pair, ONE, &over, "x"), Outcome::Skipped);
    let read = bench.store.read();
    assert!(get_unit(&read, &pair, &long).unwrap().is_some());
    let found = suggest(&Indexes::new(ROOM), &read, &pair, &long).unwrap();
    assert_eq!(found.iter().map(|one| one.score).collect::<Vec<_>>(), [100], "long ones match exactly");

    let unit = |text| Remembered { source: text, target: text, origin: None };
    assert_eq!(batch(vec![unit(&long); 100]), 8);
    assert_eq!(batch(vec![unit("short"); 1000]), BATCH_UNITS_MAX);
    assert_eq!(batch(vec![unit("short"); 3]), 3);
    assert_eq!(batch([]), 0);
}

#[test]
fn a_translation_gives_its_text_or_the_form_for_others() {
    use crate::content::{TranslatedForm, Wished, shaped};
    let german = Locale::parse("de").unwrap();
    let text = Source::Text("Save".into());
    let content = shaped(Wished::Text("Sichern".into()), &text, &german).unwrap();
    let of = |source, content| {
        of_translation(source, content, None).map(|unit| (unit.source.to_owned(), unit.target.to_owned()))
    };
    assert_eq!(of(&text, &content), Some(("Save".into(), "Sichern".into())));
    let plural = Source::Forms(vec![(1, "one file".into()), (5, "files".into())]);
    let forms = Wished::Forms(vec![("one".into(), "eine Datei".into()), ("other".into(), "Dateien".into())]);
    let content = shaped(forms, &plural, &german).unwrap();
    assert_eq!(of(&plural, &content), Some(("files".into(), "Dateien".into())));
    let form = TranslatedForm { category: 1, text: "eine Datei".into(), source_sha256: [0; 32] };
    assert_eq!(of(&plural, &Translated::Forms(vec![form])), None);
}

/// A reader's rows are older than the index, which others have brought up: it is told nothing that its rows do not say.
#[test]
fn a_reader_is_told_what_its_rows_say() {
    let (bench, indexes, pair) = (bench(), Indexes::new(ROOM), german());
    approve(&bench, &pair, ONE, "Save all files", "1");
    approve(&bench, &pair, ONE, "Save all files!", "2");
    let before = bench.store.read();
    bench.clock.advance(1);
    approve(&bench, &pair, ONE, "Save all file", "3");
    approve(&bench, &pair, ONE, "Save all files!", "4");
    let now = bench.store.read();
    let told = |read, text: &str| {
        let found = suggest(&indexes, read, &pair, text).unwrap();
        found.into_iter().map(|one| one.unit.target).collect::<Vec<_>>()
    };
    assert!(!is_at_hand(&indexes, &now, &pair).unwrap() || indexes.upto(&pair).is_none());
    assert_eq!(told(&now, "Save all files"), ["1", "4", "3"]);
    assert_eq!(indexes.upto(&pair), Some(4));
    assert_eq!(told(&before, "Save all files"), ["1", "2"]);
    assert_eq!(told(&now, "Save all files"), ["1", "4", "3"]);
    assert!(is_at_hand(&indexes, &now, &pair).unwrap());
}

/// An index that must not grow holds the units written last, and takes in those that come.
#[test]
fn an_index_without_room_for_all_knows_the_latest() {
    let (bench, pair) = (bench(), german());
    let units = |from: u32| -> Vec<(String, String)> {
        (from..from + 400)
            .map(|number| (format!("Unit of the memory, number {number:05}"), number.to_string()))
            .collect()
    };
    for from in [0, 400, 800, 1200, 1600, 2000] {
        import(&bench, &pair, ONE, &units(from));
        bench.clock.advance(1);
    }
    let indexes = Indexes::new(80_000);
    assert!(!is_at_hand(&indexes, &bench.store.read(), &pair).unwrap());
    let found = suggested(&bench, &indexes, &pair, "Unit of the memory, number 02399!");
    assert_eq!(found[0].2, "2399");
    assert!(indexes.held().1 <= 80_000, "{:?}", indexes.held());
    assert!(is_at_hand(&indexes, &bench.store.read(), &pair).unwrap());
    for from in [2400, 2800] {
        import(&bench, &pair, ONE, &units(from));
        let found = suggested(&bench, &indexes, &pair, &format!("Unit of the memory, number {:05}!", from + 7));
        assert_eq!(found[0].2, (from + 7).to_string());
        assert!(indexes.held().1 <= 80_000, "{:?}", indexes.held());
    }
    assert_eq!(
        suggested(&bench, &indexes, &pair, "Unit of the memory, number 00007")[0].2,
        "7",
        "exact ones need no index"
    );
}

#[test]
fn what_contradicts_itself_is_found() {
    type Deed = fn(&mut WriteTx<'_>, LanguagePair);
    let deeds: [(Deed, &str); 6] = [
        (
            |tx, pair| tx.delete(&MEMORY_SOURCES, &(pair.tenant_id, pair.source, pair.target, source_id("Save"))),
            "leads elsewhere",
        ),
        (
            |tx, pair| {
                let row = MemorySourceRow { number: 9 };
                tx.put(&MEMORY_SOURCES, &(pair.tenant_id, pair.source, pair.target, source_id("Save")), &row).unwrap();
            },
            "leads elsewhere",
        ),
        (
            |tx, pair| tx.delete(&MEMORY_BY_PROJECT, &(pair.tenant_id, ONE, pair.target, pair.source, 1)),
            "unit 1 is not among its project's",
        ),
        (
            |tx, pair| {
                let row = MemoryMarkRow;
                tx.put(&MEMORY_BY_PROJECT, &(pair.tenant_id, TWO, pair.target, pair.source, 1), &row).unwrap();
            },
            "2 units of memories have 2 sources and 3 places in projects",
        ),
        (
            |tx, pair| tx.put(&MEMORY_PAIRS, &pair.key(), &MemoryPairRow { latest: 3, units: 2 }).unwrap(),
            "is counted as",
        ),
        (
            |tx, pair| {
                let pair = LanguagePair { target: "fr".into(), ..pair };
                tx.put(&MEMORY_PAIRS, &pair.key(), &MemoryPairRow::default()).unwrap();
            },
            "units of 1 language pairs have 2 counters",
        ),
    ];
    for (deed, expected) in deeds {
        let (bench, pair) = (bench(), german());
        approve(&bench, &pair, ONE, "Save", "Sichern");
        approve(&bench, &pair, ONE, "Load", "Laden");
        assert_eq!(verify(&bench.store.read()).unwrap(), Vec::<String>::new());
        bench
            .run(move |tx, _| {
                deed(tx, pair);
                Ok(())
            })
            .unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}
