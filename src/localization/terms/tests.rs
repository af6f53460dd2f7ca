//! A glossary on a bench: what entries may say, what is unique, what is counted, what holds for which locale, and what
//! `verify` finds.

use std::sync::Arc;

use quintet_storage::{Failure, Read as _, Scan, WriteTx};

use super::create::create_entry;
use super::delete::delete_entry;
use super::generation::project_terms;
use super::get::{get_entry, list_entries};
use super::import::{IMPORT_ENTRIES_MAX, Imported, import_entries};
use super::model::{
    ENTRIES_MAX, ENTRY_BYTES_MAX, Entry, EntryKind, Register, STYLE_BYTES_MAX, STYLES_MAX, StyleScope, TermId, Wording,
};
use super::replace::replace_entry;
use super::style::{PutStyle, json_bytes, list_styles, put_style};
use super::tables::{ENTRIES, PROJECT_TERMS, ProjectTermsRow, STYLES, WORDINGS};
use super::verify;
use super::words::{Word, Words, made_of_words, style_texts, words};
use crate::audit::events_after;
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::testing::{Bench, OTHER, TENANT, actor, furnished};

fn wording(kind: &str, locale: &str, source: &str, target: &str) -> Wording {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let kind = EntryKind::from_name(kind).unwrap();
    Wording { kind, locale: text(locale), source: text(source), target: text(target), note: None }
}

fn term(locale: &str, source: &str, target: &str) -> Wording {
    wording("term", locale, source, target)
}

fn create(bench: &Bench, project_id: ProjectId, wording: Wording) -> Result<Entry, Refusal> {
    let wording = wording.checked()?;
    bench.run(move |tx, now| create_entry(tx, now, &actor(TENANT), project_id, wording))
}

fn replace(bench: &Bench, entry: &Entry, wording: Wording) -> Result<Entry, Refusal> {
    let (project_id, term_id, wording) = (entry.project_id, entry.term_id, wording.checked()?);
    bench.run(move |tx, now| replace_entry(tx, now, &actor(TENANT), project_id, term_id, wording))
}

fn delete(bench: &Bench, project_id: ProjectId, term_id: TermId) -> Result<Entry, Refusal> {
    bench.run(move |tx, now| delete_entry(tx, now, &actor(TENANT), project_id, term_id))
}

fn import(bench: &Bench, project_id: ProjectId, wordings: Vec<Wording>) -> Result<Imported, Refusal> {
    bench.run(move |tx, now| import_entries(tx, now, &actor(TENANT), project_id, wordings))
}

fn style(
    bench: &Bench,
    project_id: ProjectId,
    (locale, scope): (&str, &str),
    text: &str,
    register: Option<Register>,
) -> Result<usize, Refusal> {
    let command = PutStyle::new(locale, StyleScope::from_name(scope).unwrap(), text.to_owned(), register)?;
    bench.run(move |tx, now| Ok(put_style(tx, now, &actor(TENANT), project_id, command)?.len()))
}

fn generation_of(bench: &Bench, project_id: ProjectId) -> u64 {
    project_terms(&bench.store.read(), TENANT, project_id).unwrap().generation
}

fn words_of(bench: &Bench, project_id: ProjectId, tag: &str) -> Words {
    words(&bench.store.read(), TENANT, project_id, &Locale::parse(tag).unwrap()).unwrap()
}

fn actions(bench: &Bench) -> Vec<String> {
    events_after(&bench.store.read(), TENANT, 5, 1000).unwrap().into_iter().map(|(_, row)| row.action).collect()
}

fn sound(bench: &Bench) {
    assert_eq!(verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

/// Contract, Glossary entry; localization, G1.
#[test]
fn what_an_entry_may_say() {
    use Refusal::{Tag, TermInvalid, TermShape};
    let needed = |name| Some(TermShape(name, "is required by this kind"));
    let too_much = |name| Some(TermShape(name, "does not go with this kind"));
    for (kind, locale, source, target, expected) in [
        ("term", "de", "file", "Datei", None),
        ("term", "de", "", "Datei", needed("source")),
        ("term", "de", "file", "", needed("target")),
        ("term", "", "file", "Datei", needed("locale")),
        ("term", "", "", "", needed("source")),
        ("dnt", "", "Acme", "", None),
        ("dnt", "de", "Acme", "", None),
        ("dnt", "de", "", "", needed("source")),
        ("dnt", "", "Acme", "Acme", too_much("target")),
        ("dnt", "", "", "Acme", needed("source")),
        ("forbidden", "", "", "foo", None),
        ("forbidden", "fr", "", "foo", None),
        ("forbidden", "", "", "", needed("target")),
        ("forbidden", "", "foo", "foo", too_much("source")),
        // White space is Unicode's, at the ends alone.
        ("dnt", "", "New York", "", None),
        ("dnt", "", " a", "", Some(TermInvalid("source"))),
        ("dnt", "", "a\u{A0}", "", Some(TermInvalid("source"))),
        ("dnt", "", "\u{3000}", "", Some(TermInvalid("source"))),
        ("forbidden", "", "", "a\u{2028}b", Some(TermInvalid("target"))),
        ("term", "de", "a\tb", "c", Some(TermInvalid("source"))),
        ("term", "de", "a", "c\u{200B}d", Some(TermInvalid("target"))),
        ("term", "de", "a", "\u{E000}", Some(TermInvalid("target"))),
        ("term", "de", "a\u{AD}b", "\u{646}\u{200C}\u{645}", None),
        ("term", "hi", "a", "\u{915}\u{94D}\u{200D}\u{937}", None),
        // The shape comes before the characters, these before the tag.
        ("dnt", "zh", "a ", "b", too_much("target")),
        ("dnt", "zh", "a ", "", Some(TermInvalid("source"))),
        ("dnt", "zh", "a", "", Some(Tag("locale_script_required"))),
        ("dnt", "d_e", "a", "", Some(Tag("locale_ill_formed"))),
        ("dnt", "*", "a", "", Some(Tag("locale_ill_formed"))),
        ("dnt", "de-x-abcdefgh-abcdefgh-abcdefgh-abcdefgh-a", "a", "", Some(Tag("locale_too_long"))),
    ] {
        let checked = wording(kind, locale, source, target).checked();
        assert_eq!(checked.err(), expected, "{kind} {locale} {source:?} {target:?}");
    }
    assert_eq!(term("DE-at", "a", "b").checked().unwrap().locale.as_deref(), Some("de-AT"));
    assert_eq!(term("iw", "a", "b").checked().unwrap().locale.as_deref(), Some("he"));
}

/// Localization, G1: which characters nobody can tell from none, or from others, and which words are written with.
#[test]
fn terms_have_characters_that_can_be_printed() {
    let invalid = |character: char| wording("dnt", "", &format!("a{character}b"), "").checked().is_err();
    let unprintable = [
        '\0',
        '\t',
        '\n',
        '\r',
        '\u{1F}',
        '\u{7F}',
        '\u{85}',
        '\u{9F}', // Cc
        '\u{378}',
        '\u{FFFE}',
        '\u{10FFFF}',
        '\u{FDD0}',
        '\u{2FE0}', // Cn
        '\u{E000}',
        '\u{F8FF}',
        '\u{F0000}',
        '\u{10FFFD}', // Co
        '\u{2028}',
        '\u{2029}', // Zl, Zp
        '\u{61C}',
        '\u{200B}',
        '\u{200E}',
        '\u{200F}',
        '\u{202A}',
        '\u{202E}',
        '\u{2060}',
        '\u{2066}',
        '\u{2069}', // Q18
        '\u{FEFF}',
        '\u{E0000}',
        '\u{E0001}',
        '\u{E0041}',
        '\u{E007F}',
    ];
    assert_eq!(unprintable.into_iter().filter(|one| !invalid(*one)).collect::<Vec<_>>(), Vec::<char>::new());
    let printable = [
        'a', 'ß', 'Ж', 'ش', 'क', '\u{94D}', '漢', 'か', '한', '\u{301}', '1', '-', ' ', '\u{A0}', '\u{3000}',
        '\u{2011}', '\u{200C}', '\u{200D}', '\u{AD}', '€', '😀', '\u{FE0F}', '𠀀', '\u{FFFD}',
    ];
    assert_eq!(printable.into_iter().filter(|one| invalid(*one)).collect::<Vec<_>>(), Vec::<char>::new());
}

#[test]
fn entries_are_made_replaced_and_deleted() {
    let (bench, _, project_id) = furnished();
    let before = words_of(&bench, project_id, "de");
    assert_eq!((before, generation_of(&bench, project_id)), (Words::default(), 0));
    let made = create(&bench, project_id, Wording { note: Some("n".into()), ..term("de", "file", "Datei") }).unwrap();
    assert_eq!(get_entry(&bench.store.read(), TENANT, project_id, made.term_id).unwrap(), made);
    assert_eq!(create(&bench, project_id, term("DE", "file", "Datei")).unwrap_err(), Refusal::TermExists);
    for other in [term("de", "file", "Akte"), term("de-AT", "file", "Datei"), term("de", "File", "Datei")] {
        create(&bench, project_id, other).unwrap();
    }
    assert_eq!(generation_of(&bench, project_id), 4);
    // The note alone says nothing new to the checks, and goes when it is left out.
    let replaced = replace(&bench, &made, term("de", "file", "Datei")).unwrap();
    assert_eq!((replaced.wording.note.as_ref(), replaced.created_at), (None, made.created_at));
    assert_eq!(generation_of(&bench, project_id), 4);
    assert_eq!(replace(&bench, &made, term("de", "file", "Akte")).unwrap_err(), Refusal::TermExists);
    let another_kind = replace(&bench, &made, wording("dnt", "", "file", "")).unwrap_err();
    assert_eq!(another_kind, Refusal::field("kind", "cannot change"));
    assert_eq!(replace(&bench, &made, term("fr", "file", "fichier")).unwrap().wording.locale.as_deref(), Some("fr"));
    // What it said before may be said by another one now.
    create(&bench, project_id, term("de", "file", "Datei")).unwrap();
    sound(&bench);
    assert_eq!(delete(&bench, project_id, made.term_id).unwrap().wording, term("fr", "file", "fichier"));
    assert_eq!(delete(&bench, project_id, made.term_id).unwrap_err(), Refusal::NotFound);
    assert_eq!(replace(&bench, &made, term("de", "x", "y")).unwrap_err(), Refusal::NotFound);
    create(&bench, project_id, term("fr", "file", "fichier")).unwrap();
    assert_eq!(generation_of(&bench, project_id), 8);
    sound(&bench);
    let [create, update, delete] = ["create", "update", "delete"].map(|verb| format!("glossary_term.{verb}"));
    let expected = [&create, &create, &create, &create, &update, &update, &create, &delete, &create];
    assert_eq!(actions(&bench).iter().collect::<Vec<_>>(), expected);
}

#[test]
fn another_tenant_finds_nothing() {
    let (bench, _, project_id) = furnished();
    let made = create(&bench, project_id, term("de", "file", "Datei")).unwrap();
    let read = bench.store.read();
    assert!(get_entry(&read, OTHER, project_id, made.term_id).is_err());
    assert!(list_entries(&read, OTHER, project_id, None, None, 10).unwrap().entries.is_empty());
    assert_eq!(words(&read, OTHER, project_id, &Locale::parse("de").unwrap()).unwrap(), Words::default());
}

#[test]
fn lists_have_pages_and_kinds() {
    let (bench, _, project_id) = furnished();
    for number in 0..30 {
        let text = format!("t{number}");
        let wished = match number % 3 {
            0 => term("de", &text, "x"),
            1 => wording("dnt", "", &text, ""),
            _ => wording("forbidden", "", "", &text),
        };
        create(&bench, project_id, wished).unwrap();
    }
    let walk = |kind: Option<&str>, limit: usize| {
        let (mut after, mut found, mut sizes) = (None, Vec::new(), Vec::new());
        loop {
            let kind = kind.and_then(EntryKind::from_name);
            let page = list_entries(&bench.store.read(), TENANT, project_id, kind, after, limit).unwrap();
            sizes.push(page.entries.len());
            found.extend(page.entries);
            after = page.next;
            if after.is_none() {
                return (found, sizes);
            }
        }
    };
    let (all, sizes) = walk(None, 10);
    assert_eq!(sizes, [10, 10, 10], "a full last page is the last");
    assert!(all.is_sorted_by(|one, other| one.term_id.0 < other.term_id.0));
    let (forbidden, sizes) = walk(Some("forbidden"), 4);
    assert_eq!(sizes, [4, 4, 2]);
    assert!(forbidden.iter().all(|entry| entry.wording.kind == EntryKind::Forbidden));
    assert_eq!(walk(Some("dnt"), 10).1, [10]);
    // A page of the longest entries ends early.
    let longest =
        |number: usize| Wording { note: Some("\u{1f600}".repeat(1000)), ..term("fr", &format!("l{number}"), "x") };
    for some in 0..4 {
        import(&bench, project_id, (some * 100..some * 100 + 100).map(longest).collect()).unwrap();
    }
    let (all, sizes) = walk(None, 500);
    assert_eq!(all.len(), 430);
    assert!((2..4).contains(&sizes.len()), "{sizes:?}");
}

#[test]
fn many_entries_are_added_at_once() {
    let (bench, _, project_id) = furnished();
    let kept = create(&bench, project_id, Wording { note: Some("kept".into()), ..term("de", "w0", "x") }).unwrap();
    let wordings: Vec<Wording> = (0..IMPORT_ENTRIES_MAX).map(|number| term("de", &format!("w{number}"), "x")).collect();
    let first = import(&bench, project_id, wordings.clone()).unwrap();
    assert_eq!(first, Imported { written: 499, unchanged: 1 });
    let generation = generation_of(&bench, project_id);
    assert_eq!(generation, 2);
    assert_eq!(import(&bench, project_id, wordings.clone()).unwrap(), Imported { written: 0, unchanged: 500 });
    assert_eq!(generation_of(&bench, project_id), generation);
    assert_eq!(get_entry(&bench.store.read(), TENANT, project_id, kept.term_id).unwrap(), kept);
    // The same twice in one document is one.
    let twice = import(&bench, project_id, vec![term("fr", "a", "b"), term("fr", "a", "b")]).unwrap();
    assert_eq!(twice, Imported { written: 1, unchanged: 1 });
    let too_many = wordings.into_iter().chain([term("de", "one", "more")]).collect();
    assert!(matches!(import(&bench, project_id, too_many), Err(Refusal::Conflict(_))));
    assert_eq!(actions(&bench), ["glossary_term.create", "glossary.import", "glossary.import"]);
    sound(&bench);
}

fn with_counts(bench: &Bench, project_id: ProjectId, counts: ProjectTermsRow) {
    bench.run(move |tx, _| Ok(tx.put(&PROJECT_TERMS, &(TENANT, project_id), &counts)?)).unwrap();
}

#[test]
fn a_glossary_has_so_many_entries_and_no_more() {
    let (bench, _, project_id) = furnished();
    let first = create(&bench, project_id, term("de", "a", "b")).unwrap();
    let terms = project_terms(&bench.store.read(), TENANT, project_id).unwrap();
    with_counts(&bench, project_id, ProjectTermsRow { entries: ENTRIES_MAX - 1, ..terms });
    let last = create(&bench, project_id, term("de", "a", "c")).unwrap();
    assert!(matches!(create(&bench, project_id, term("de", "a", "d")), Err(Refusal::Conflict(_))));
    assert_eq!(create(&bench, project_id, term("de", "a", "c")), Err(Refusal::TermExists));
    assert!(matches!(import(&bench, project_id, vec![term("de", "a", "d")]), Err(Refusal::Conflict(_))));
    assert_eq!(import(&bench, project_id, vec![term("de", "a", "c")]).unwrap().unchanged, 1);
    replace(&bench, &last, term("de", "a", "d")).unwrap();
    delete(&bench, project_id, last.term_id).unwrap();
    create(&bench, project_id, term("de", "a", "e")).unwrap();
    // So it is with the bytes of their texts, to which a replaced one may add.
    let terms = ProjectTermsRow { entries: 2, entry_bytes: ENTRY_BYTES_MAX - 2, ..terms };
    with_counts(&bench, project_id, terms);
    assert!(matches!(create(&bench, project_id, term("de", "f", "gh")), Err(Refusal::Conflict(_))));
    assert!(matches!(replace(&bench, &first, term("de", "ab", "cde")), Err(Refusal::Conflict(_))));
    replace(&bench, &first, term("de", "ab", "cd")).unwrap();
    assert!(matches!(create(&bench, project_id, wording("dnt", "", "f", "")), Err(Refusal::Conflict(_))));
}

#[test]
fn styles_are_set_replaced_and_deleted() {
    let (bench, _, project_id) = furnished();
    let formal = Some(Register::Formal);
    let set = |place, text, register| style(&bench, project_id, place, text, register);
    assert_eq!(set(("de-at", "default"), "Austrian", None), Ok(1));
    assert_eq!(set(("*", "legal"), "Law", None), Ok(2));
    assert_eq!(set(("*", "default"), "All", formal), Ok(3));
    assert_eq!(set(("de", "default"), "German", formal), Ok(4));
    let styles = list_styles(&bench.store.read(), TENANT, project_id).unwrap();
    let told: Vec<_> = styles.iter().map(|one| (one.locale.as_str(), one.scope.name(), one.text.as_str())).collect();
    let expected =
        [("*", "default", "All"), ("*", "legal", "Law"), ("de", "default", "German"), ("de-AT", "default", "Austrian")];
    assert_eq!(told, expected);
    // Replacing takes the register away when it is left out.
    let before = generation_of(&bench, project_id);
    assert_eq!(set(("de", "default"), "Other", None), Ok(4));
    assert_eq!(generation_of(&bench, project_id), before + 1);
    assert_eq!(set(("de", "default"), "Others", None), Ok(4));
    assert_eq!(set(("fr", "legal"), "Loi", None), Ok(5));
    assert_eq!(set(("fr", "legal"), "", None), Ok(4));
    assert_eq!(set(("fr", "default"), "", None), Ok(4));
    assert_eq!(generation_of(&bench, project_id), before + 1, "the checks see nothing of these");
    assert_eq!(set(("de", "default"), "", None), Ok(3));
    assert_eq!(generation_of(&bench, project_id), before + 2, "another style sets the register now");
    for (place, text, expected) in [
        (("de", "legal"), "x", Refusal::RegisterScope),
        (("de", "default"), "", Refusal::RegisterScope),
        (("zh", "legal"), "x", Refusal::Tag("locale_script_required")),
        (("**", "default"), "x", Refusal::Tag("locale_ill_formed")),
    ] {
        assert_eq!(set(place, text, formal), Err(expected), "{place:?}");
    }
    assert_eq!(actions(&bench), vec!["project_style.set"; 10]);
    sound(&bench);
}

#[test]
fn a_project_has_so_many_styles_and_no_more() {
    let (bench, _, project_id) = furnished();
    style(&bench, project_id, ("de", "default"), "x", None).unwrap();
    let terms = project_terms(&bench.store.read(), TENANT, project_id).unwrap();
    assert_eq!((terms.styles, terms.style_bytes), (1, 1));
    with_counts(&bench, project_id, ProjectTermsRow { styles: STYLES_MAX, ..terms });
    assert!(matches!(style(&bench, project_id, ("fr", "default"), "x", None), Err(Refusal::Conflict(_))));
    style(&bench, project_id, ("de", "default"), "y", None).unwrap();
    with_counts(&bench, project_id, ProjectTermsRow { style_bytes: STYLE_BYTES_MAX, ..terms });
    assert!(matches!(style(&bench, project_id, ("de", "default"), "xy", None), Err(Refusal::Conflict(_))));
    style(&bench, project_id, ("de", "default"), "z", None).unwrap();
}

/// The answer with all of a project's styles is remembered in the transaction that sets one.
#[test]
fn bytes_of_styles_are_those_of_json() {
    let all: String = ('\0'..='\u{2FF}').chain(['\u{2028}', '\u{20AC}', '\u{1F600}']).collect();
    assert_eq!(json_bytes(&all), serde_json::to_string(&all).unwrap().len() as u64 - 2);
}

fn said(words: &Words) -> Vec<String> {
    let one = |word: &Word| match word {
        Word::Term { source, target } => format!("{source}={target}"),
        Word::DoNotTranslate(text) => format!("={text}"),
        Word::Forbidden(text) => format!("!{text}"),
    };
    words.words.iter().map(one).collect()
}

/// Localization, Q9.
#[test]
fn words_hold_for_their_locale_a_language_and_all() {
    let (bench, _, project_id) = furnished();
    for wished in [
        term("de", "file", "Datei"),
        term("de-AT", "January", "J\u{e4}nner"),
        term("fr", "file", "fichier"),
        wording("dnt", "", "Acme", ""),
        wording("dnt", "fr", "Brie", ""),
        wording("forbidden", "", "", "foo"),
        wording("forbidden", "de", "", "bar"),
        term("de", "file", "Akte"),
    ] {
        create(&bench, project_id, wished).unwrap();
    }
    let of = |tag: &str| said(&words_of(&bench, project_id, tag));
    assert_eq!(of("de"), ["file=Datei", "=Acme", "!foo", "!bar", "file=Akte"]);
    assert_eq!(of("de-AT"), ["file=Datei", "January=J\u{e4}nner", "=Acme", "!foo", "!bar", "file=Akte"]);
    assert_eq!(of("fr-CA"), ["file=fichier", "=Acme", "=Brie", "!foo"]);
    assert_eq!(of("ja"), ["=Acme", "!foo"]);
}

/// Localization, Q9: of several styles the most specific sets the register.
#[test]
fn the_closest_style_sets_the_register() {
    let (bench, _, project_id) = furnished();
    let formal = Some(Register::Formal);
    let is_formal = |tag: &str| words_of(&bench, project_id, tag).is_formal;
    assert!(!is_formal("de"));
    style(&bench, project_id, ("*", "default"), "All", formal).unwrap();
    assert!(is_formal("de") && is_formal("de-AT") && is_formal("fr"));
    style(&bench, project_id, ("de", "default"), "German", None).unwrap();
    assert!(!is_formal("de") && !is_formal("de-AT") && is_formal("fr"));
    style(&bench, project_id, ("de-AT", "default"), "Austrian", formal).unwrap();
    assert!(!is_formal("de") && is_formal("de-AT") && !is_formal("de-CH"));
    // A legal text is no word about the register.
    style(&bench, project_id, ("fr", "legal"), "Loi", None).unwrap();
    assert!(is_formal("fr"));
    let texts = |tag: &str| style_texts(&bench.store.read(), TENANT, project_id, &Locale::parse(tag).unwrap()).unwrap();
    assert_eq!(texts("de-AT").default, ["All", "German", "Austrian"]);
    assert_eq!(texts("de-AT").legal, Vec::<String>::new());
    assert_eq!((texts("fr").default, texts("fr").legal), (vec!["All".to_owned()], vec!["Loi".to_owned()]));
}

#[test]
fn what_is_made_of_words_is_kept_until_they_change() {
    let (bench, _, project_id) = furnished();
    let shelf = Shelf::new(1 << 20);
    let made = |tag: &str| {
        let locale = Locale::parse(tag).unwrap();
        let read = bench.store.read();
        made_of_words(&read, &shelf, TENANT, project_id, &locale, said).unwrap()
    };
    assert!(made("de").is_empty() && Arc::ptr_eq(&made("de"), &made("de")));
    create(&bench, project_id, term("de", "a", "b")).unwrap();
    let first = made("de");
    assert_eq!(*first, ["a=b"]);
    assert!(Arc::ptr_eq(&first, &made("de")) && made("fr").is_empty());
    create(&bench, project_id, term("de", "c", "d")).unwrap();
    assert_eq!(*made("de"), ["a=b", "c=d"]);
    // What a transaction sees of its own is kept under a name of its own, and is nothing to others once it is undone.
    let seen = Arc::new(Shelf::new(1 << 20));
    let (own, undone) = (Arc::clone(&seen), term("de", "x", "y").checked().unwrap());
    let refused: Result<(), Refusal> = bench.run(move |tx, now| {
        create_entry(tx, now, &actor(TENANT), project_id, undone)?;
        let locale = Locale::parse("de").unwrap();
        assert_eq!(made_of_words(tx, &own, TENANT, project_id, &locale, said)?.len(), 3);
        Err(Refusal::NotFound.into())
    });
    assert_eq!(refused, Err(Refusal::NotFound));
    create(&bench, project_id, term("de", "e", "f")).unwrap();
    let locale = Locale::parse("de").unwrap();
    let now = made_of_words(&bench.store.read(), &seen, TENANT, project_id, &locale, said).unwrap();
    assert_eq!(*now, ["a=b", "c=d", "e=f"]);
}

#[test]
fn rows_that_contradict_one_another_are_found() {
    type Fault = fn(&mut WriteTx<'_>, (TenantId, ProjectId)) -> Result<(), Failure>;
    let faults: [(Fault, &str); 6] = [
        (
            |tx, _| {
                let (key, _) = tx.scan(&WORDINGS, Scan::all())?.remove(0);
                tx.delete(&WORDINGS, &key);
                Ok(())
            },
            "are noted to say 1 things",
        ),
        (
            |tx, _| {
                let (key, mut row) = tx.scan(&ENTRIES, Scan::all())?.remove(0);
                row.wording.target = Some("other".into());
                tx.put(&ENTRIES, &key, &row)
            },
            "what it says is not noted as its own",
        ),
        (
            |tx, _| {
                let (key, _) = tx.scan(&ENTRIES, Scan::all())?.remove(0);
                tx.delete(&ENTRIES, &key);
                Ok(())
            },
            "1 glossary entries are noted to say 2 things",
        ),
        (
            |tx, _| {
                let (key, _) = tx.scan(&STYLES, Scan::all())?.remove(0);
                tx.delete(&STYLES, &key);
                Ok(())
            },
            "of its terms are counted as",
        ),
        (
            |tx, place| {
                tx.delete(&PROJECT_TERMS, &place);
                Ok(())
            },
            "its terms are not counted",
        ),
        (
            |tx, place| {
                let terms = tx.get(&PROJECT_TERMS, &place)?.unwrap_or_default();
                tx.put(&PROJECT_TERMS, &place, &ProjectTermsRow { entries: ENTRIES_MAX + 1, ..terms })
            },
            "it has more terms than it may have",
        ),
    ];
    for (fault, expected) in faults {
        let (bench, _, project_id) = furnished();
        create(&bench, project_id, term("de", "a", "b")).unwrap();
        create(&bench, project_id, wording("dnt", "", "c", "")).unwrap();
        style(&bench, project_id, ("*", "default"), "All", Some(Register::Formal)).unwrap();
        sound(&bench);
        bench.run(move |tx, _| Ok(fault(tx, (TENANT, project_id))?)).unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}
