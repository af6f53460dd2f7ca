//! Q01 to Q03 and Q17 of plurals, form by form.

use super::{judged_forms, told};
use crate::language::Category::{self, Few, Many, One, Other, Two, Zero};
use crate::quality::CheckId;

const FILES: &[(Category, &str)] = &[(One, "{{count}} file"), (Other, "{{count}} files")];
const A_FILE: &[(Category, &str)] = &[(One, "One file in %{folder}"), (Other, "%{count} files in %{folder}")];

#[test]
fn a_form_for_one_number_may_leave_it_out() {
    let said =
        |locale, source, target: &[(Category, &str)]| told(&judged_forms("en", locale, source, target), CheckId::Q01);
    assert_eq!(said("de", FILES, &[(One, "Eine Datei"), (Other, "{{count}} Dateien")]), "pass");
    assert_eq!(said("de", FILES, &[(One, "Eine Datei"), (Other, "Dateien")]), "fail: other: missing {{count}}");
    // In French 0 is `one` as well, in Russian 21.
    assert_eq!(
        said("fr", FILES, &[(One, "Un fichier"), (Many, "{{count}} de fichiers"), (Other, "{{count}} fichiers")]),
        "fail: one: missing {{count}}"
    );
    let russian: &[(Category, &str)] =
        &[(One, "файл"), (Few, "{{count}} файла"), (Many, "файлов"), (Other, "{{count}} файла")];
    assert_eq!(said("ru", FILES, russian), "fail: one: missing {{count}}; many: missing {{count}}");
    let arabic: &[(Category, &str)] = &[
        (Zero, "لا ملفات"),
        (One, "ملف"),
        (Two, "ملفان"),
        (Few, "{{count}} ملفات"),
        (Many, "{{count}} ملفًا"),
        (Other, "{{count}} ملف"),
    ];
    assert_eq!(said("ar", FILES, arabic), "pass");
    assert_eq!(said("ja", FILES, &[(Other, "{{count}}個")]), "pass");
}

#[test]
fn what_the_source_s_one_leaves_out_may_be_left_out_or_said() {
    let said =
        |locale, source, target: &[(Category, &str)]| told(&judged_forms("en", locale, source, target), CheckId::Q01);
    let german: &[(Category, &str)] = &[(One, "Eine Datei in %{folder}"), (Other, "%{count} Dateien in %{folder}")];
    assert_eq!(said("de", A_FILE, german), "pass");
    let german: &[(Category, &str)] = &[(One, "Eine Datei"), (Other, "%{count} Dateien in %{folder}")];
    assert_eq!(said("de", A_FILE, german), "fail: one: missing %{folder}");
    // The Russian form is for 21, too, and must say so.
    let russian: &[(Category, &str)] = &[
        (One, "%{count} файл в %{folder}"),
        (Few, "%{count} файла в %{folder}"),
        (Many, "%{count} файлов в %{folder}"),
        (Other, "%{count} файла в %{folder}"),
    ];
    assert_eq!(said("ru", A_FILE, russian), "pass");
    let hebrew: &[(Category, &str)] =
        &[(One, "קובץ אחד ב-%{folder}"), (Two, "שני קבצים ב-%{folder}"), (Other, "%{count} קבצים ב-%{folder}")];
    assert_eq!(said("he", A_FILE, hebrew), "pass");
    // What neither counts nor is left out by the source's own form stays.
    let source: &[(Category, &str)] = &[(One, "{{a}} of {{total}}"), (Other, "{{a}} and {{b}} of {{total}}")];
    assert_eq!(
        said("he", source, &[(One, "{{a}} {{total}}"), (Two, "{{a}} {{total}}"), (Other, "{{a}} {{b}} {{total}}")]),
        "pass"
    );
    assert_eq!(
        said("he", source, &[(One, "{{a}} {{total}}"), (Two, "{{a}}"), (Other, "{{a}} {{b}} {{total}}")]),
        "fail: two: missing {{total}}"
    );
}

#[test]
fn a_number_of_printf_counts_but_those_behind_it_move() {
    let source: &[(Category, &str)] = &[(One, "%d file"), (Other, "%d files")];
    let said = |source, target: &[(Category, &str)]| told(&judged_forms("en", "pl", source, target), CheckId::Q01);
    let polish = |one| [(One, one), (Few, "%d pliki"), (Many, "%d plików"), (Other, "%d pliku")];
    assert_eq!(said(source, &polish("jeden plik")), "pass");
    assert_eq!(said(source, &polish("%s plik")), "fail: one: extra %s");
    let source: &[(Category, &str)] = &[(One, "%d file in %s"), (Other, "%d files in %s")];
    let polish = |one| [(One, one), (Few, "%d pliki w %s"), (Many, "%d plików w %s"), (Other, "%d pliku w %s")];
    assert_eq!(said(source, &polish("plik w %s")), "fail: one: missing %s; extra %s");
    assert_eq!(said(source, &polish("plik w %2$s")), "pass");
}

#[test]
fn markup_and_links_are_judged_form_by_form() {
    let source: &[(Category, &str)] =
        &[(One, "<b>One</b> at https://a.b"), (Other, "<b>{{n}}</b> <i>of</i> https://a.b")];
    let target: &[(Category, &str)] =
        &[(One, "<b>Eins</b> bei https://a.c"), (Other, "<b>{{n}}</b> <i>von</i> https://a.b")];
    let checks = judged_forms("en", "de", source, target);
    assert_eq!(told(&checks, CheckId::Q17), "fail: one: missing https://a.b; extra https://a.c");
    assert_eq!(told(&checks, CheckId::Q03), "pass");
    let target: &[(Category, &str)] = &[(One, "Eins https://a.b"), (Other, "{{n}} https://a.b")];
    let checks = judged_forms("en", "de", source, target);
    assert_eq!(told(&checks, CheckId::Q03), "fail: one: missing <b>, </b>; other: missing <b>, </b>, <i>, </i>");
    assert_eq!(told(&checks, CheckId::Q02), "pass");
    // A form for many numbers may have what the source's other has.
    let target: &[(Category, &str)] = &[
        (One, "<b>{{n}}</b> <i>из</i> https://a.b"),
        (Few, "<b>{{n}}</b> <i>из</i> https://a.b"),
        (Many, "<b>{{n}}</b> <i>из</i> https://a.b"),
        (Other, "<b>{{n}}</b> <i>из</i> https://a.b"),
    ];
    let checks = judged_forms("en", "ru", source, target);
    for check in [CheckId::Q01, CheckId::Q03, CheckId::Q17] {
        assert_eq!(told(&checks, check), "pass", "{check:?}");
    }
}
