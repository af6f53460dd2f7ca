//! Plural forms.

use super::{judged, judged_plural, told};
use crate::language::Category::{Few, Many, One, Other, Two};
use crate::quality::{CheckId, Limits, Rules};

#[test]
fn q04_a_plural_has_the_forms_of_its_locale() {
    let said = |locale, forms: &[_]| told(&judged_plural(locale, forms), CheckId::Q04);
    let (one, other) = ("a file", "files");
    assert_eq!(said("de", &[(One, one, "eine Datei"), (Other, other, "Dateien")]), "pass");
    assert_eq!(said("de", &[(Other, other, "Dateien")]), "fail: missing one");
    assert_eq!(said("ja", &[(One, one, "ファイル"), (Other, other, "ファイル")]), "fail: extra one");
    assert_eq!(said("ja", &[(Other, other, "ファイル")]), "pass");
    assert_eq!(said("ru", &[(One, one, "файл"), (Other, other, "файла")]), "fail: missing few, many");
    assert_eq!(
        said("pl", &[(One, one, "a"), (Few, other, " "), (Many, other, ""), (Other, other, "b")]),
        "fail: empty few, many"
    );
    assert_eq!(said("de", &[(One, " ", ""), (Other, other, "Dateien")]), "pass");
    assert_eq!(
        said("he", &[(One, one, "א"), (Two, other, ""), (Few, other, "ב")]),
        "fail: missing other; extra few; empty two"
    );
    let text = ("en", "de", "a", "", "");
    assert_eq!(told(&judged(&text, &Rules::default(), Limits::default()), CheckId::Q04), "skipped: plural");
}

#[test]
fn q05_a_plural_is_empty_when_all_its_forms_are() {
    let said = |forms: &[_]| told(&judged_plural("de", forms), CheckId::Q05);
    assert_eq!(said(&[(One, "a file", ""), (Other, "files", " ")]), "fail: empty");
    assert_eq!(said(&[(One, "a file", ""), (Other, "files", "Dateien")]), "pass");
    assert_eq!(said(&[(One, "", ""), (Other, "files", "")]), "fail: empty");
    assert_eq!(said(&[(One, "", ""), (Other, "", "")]), "pass");
}

/// A plural fails if any form fails; the detail names the form (localization, Q1).
#[test]
fn forms_are_judged_each_for_itself() {
    let checks = judged_plural(
        "pl",
        &[
            (One, "1 file.", "1 plik"),
            (Few, "2 files.", "2 pliki."),
            (Many, "2 files.", "5 plików!"),
            (Other, "2 files.", "2 pliku."),
        ],
    );
    assert_eq!(told(&checks, CheckId::Q07), "fail: one: missing .; many: missing .; extra !");
    assert_eq!(told(&checks, CheckId::Q08), "fail: many: missing 2; extra 5");
    assert_eq!(told(&checks, CheckId::Q06), "pass");
    let checks = judged_plural("ru", &[(One, "1 file", "%{count} файл"), (Few, "5 files", "файла")]);
    assert_eq!(told(&checks, CheckId::Q08), "fail: few: missing 5");
    assert_eq!(told(&checks, CheckId::Q16), "skipped: limit");
    assert_eq!(told(&checks, CheckId::Q12), "pass");
}
