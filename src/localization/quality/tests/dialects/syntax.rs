//! Q02.

use super::{Case, assert_in, judged_in, told};
use crate::content::Format;
use crate::quality::CheckId;

fn assert_all(cases: &[Case]) {
    assert_in(Format::Json, CheckId::Q02, cases);
}

#[test]
fn a_message_stays_one() {
    assert_all(&[
        ("en", "de", "Save", "Speichern", "skipped: syntax"),
        ("en", "de", "{n} files", "{n} Dateien", "skipped: syntax"),
        ("en", "de", "{n, plural, one {x} other {y}}", "{n, plural, one {a} other {b}}", "pass"),
        ("en", "de", "{n, plural, one {x} other {y}}", "{n, plural, one {a}}", "fail: fault no other in {n, plural}"),
        (
            "en",
            "de",
            "{n, plural, one {x} other {y}}",
            "{n, plural, one {a} other {b}",
            "fail: fault not closed {n, plural}",
        ),
        (
            "en",
            "de",
            "{n, plural, one {x} other {y}}",
            "{n, plural, one a other {b}}",
            "fail: fault no text behind one in {n, plural}",
        ),
        (
            "en",
            "de",
            "{n, plural, one {x} other {y}}",
            "{n, mehrzahl, eins {a} andere {b}}",
            "fail: missing {n, plural}",
        ),
        (
            "en",
            "de",
            "{n, plural, one {x} other {y}}",
            "{zahl, plural, one {a} other {b}}",
            "fail: missing {n, plural}; extra {zahl, plural}",
        ),
        (
            "en",
            "de",
            "{n, plural, other {y}}",
            "{n, selectordinal, other {b}}",
            "fail: missing {n, plural}; extra {n, selectordinal}",
        ),
        ("en", "fr", "{n} files", "{n, plural, one {a} other {b}}", "fail: extra {n, plural}"),
        ("en", "fr", "{n, plural, one {x} other {y}}", "{n, plural, one {a} many {b} other {c}}", "pass"),
        (
            "en",
            "es",
            "{n, plural, one {x} other {y}}",
            "{n, plural, uno {a} other {b}}",
            "fail: unknown uno in {n, plural}",
        ),
        (
            "en",
            "it",
            "{n, plural, one {x} other {y}}",
            "{n, plural, one {a} few {b} other {c}}",
            "fail: unknown few in {n, plural}",
        ),
        ("en", "pl", "{n, plural, one {x} other {y}}", "{n, plural, one {a} few {b} many {c} other {d}}", "pass"),
        (
            "en",
            "ja",
            "{n, plural, one {x} other {y}}",
            "{n, plural, one {a} other {b}}",
            "fail: unknown one in {n, plural}",
        ),
        ("en", "zh-Hans", "{n, plural, one {x} other {y}}", "{n, plural, =1 {一} other {b}}", "pass"),
        (
            "en",
            "cs",
            "{n, plural, offset:1 other {y}}",
            "{n, plural, other {y}}",
            "fail: missing {n, plural, offset:1}; extra {n, plural}",
        ),
        ("en", "it", "{n, selectordinal, one {x} other {y}}", "{n, selectordinal, many {a} other {b}}", "pass"),
        (
            "en",
            "sv",
            "{n, selectordinal, one {x} two {y} other {z}}",
            "{n, selectordinal, two {x} other {z}}",
            "fail: unknown two in {n, selectordinal}",
        ),
        (
            "en",
            "ru",
            "{g, select, male {x} female {y} other {z}}",
            "{g, select, male {а} female {б} other {в}}",
            "pass",
        ),
        (
            "en",
            "ru",
            "{g, select, male {x} other {z}}",
            "{g, select, мужской {а} other {в}}",
            "fail: unknown мужской in {g, select}",
        ),
        ("en", "tr", "{g, select, male {x} female {y} other {z}}", "{g, select, other {o}}", "pass"),
        (
            "en",
            "uk",
            "{n, plural, other {{g, select, a {x} other {y}}}}",
            "{g, select, a {x} other {{n, plural, other {y}}}}",
            "pass",
        ),
        ("en", "ar", "{n, plural, other {'{'}}", "{n, plural, other {{}}", "fail: fault no argument name behind {"),
        ("en", "he", "{n, plural, other {x}}", "{n, plural, other {x}} }", "fail: fault unexpected }"),
        ("en", "ko", "plain", "{n, plural, other {x}", "fail: fault not closed {n, plural}"),
        ("en", "vi", "{n, plural, other {x}}", "'{n, plural, other {x}}'", "fail: missing {n, plural}"),
        ("en", "vi", "'{n, plural, other {x}}'", "'{n, plural, other {y}}'", "skipped: syntax"),
        // A source that is wrong itself is nothing to go by.
        ("en", "de", "{n, plural, one {x}}", "{n, plural, eins {x}", "skipped: syntax"),
    ]);
}

#[test]
fn what_opens_is_closed() {
    assert_all(&[
        ("en", "de", "Hello {{name}}", "Hallo {{name}}", "pass"),
        ("en", "de", "Hello {{name}}", "Hallo {{name}", "fail: unclosed {{"),
        ("en", "de", "Hello {{name}}", "Hallo {{name} und {{name}}", "fail: unclosed {{"),
        ("en", "fr", "See $t(help)", "Voir $t(help", "fail: unclosed $t("),
        ("en", "pl", "Hi %{user}", "Cześć %{user", "fail: unclosed %{"),
        ("en", "pl", "Type {{ to begin", "Wpisz {{, by zacząć", "pass"),
        ("en", "hi", "Type {{ to begin", "{{ और {{", "fail: unclosed {{"),
        ("en", "vi", "plain", "%{x {{y $t(z", "fail: unclosed {{, $t(, %{"),
    ]);
}

#[test]
fn apostrophes_hide_arguments_in_properties_files_alone() {
    let said = |format, source: &str, target: &str| told(&judged_in(format, "en", "fr", source, target), CheckId::Q02);
    for (source, target, expected) in [
        ("Delete {0}", "L''effacer {0}", "pass"),
        ("Delete {0}", "L'effacer {0}", "fail: hidden {0}"),
        ("Delete {0} of {1}", "Effacer {0} d'une {1}", "fail: hidden {1}"),
        ("Delete {0} of {1}", "Effacer '{0}' de {1}", "fail: hidden {0}"),
        ("Delete {0}", "Effacer {0}, s'il", "pass"),
        ("''{0}''", "''{0}''", "pass"),
        ("''{0}''", "'{0}'", "fail: hidden {0}"),
        // A source whose own arguments would be hidden is not read by Java's rules.
        ("Can't find {0}", "L'effacer {0}", "pass"),
        ("Can't find {name}", "L'effacer {name}", "skipped: syntax"),
        ("Can't", "L'effacer", "skipped: syntax"),
    ] {
        assert_eq!(said(Format::Properties, source, target), expected, "{source} | {target}");
        for format in [Format::Json, Format::YamlRails, Format::YamlFlat] {
            assert_eq!(said(format, source, target), "skipped: syntax", "{source} | {target}");
        }
    }
}
