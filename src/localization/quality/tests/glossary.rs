//! What the project says of its words.

use super::{Case, assert_cases, locale};
use crate::content::Format;
use crate::quality::{CheckId, Entry, Limits, Reading, Rules};

const fn term(source: &'static str, target: &'static str) -> Entry<'static> {
    Entry::Term { source, target }
}

fn assert_all(check: CheckId, target: &str, entries: &[Entry<'_>], cases: &[Case<'_>]) {
    let rules = Rules::compile(entries.iter().copied(), false, &locale(target));
    assert_cases(check, &rules, Limits::default(), cases);
}

#[test]
fn q09_a_term_of_the_source_has_its_target() {
    assert_all(CheckId::Q09, "de", &[], &[("en", "de", "Open the file", "Öffnen", "skipped: term")]);
    let entries = [
        term("file", "Datei"),
        term("FILE", "Akte"),
        term("account settings", "Kontoeinstellungen"),
        term("Straße", "street"),
    ];
    assert_all(
        CheckId::Q09,
        "de",
        &entries,
        &[
            ("en", "de", "Open it", "Öffnen", "skipped: term"),
            ("en", "de", "Open the file", "Öffnen Sie die Datei", "pass"),
            ("en", "de", "Open the File", "Öffnen Sie die AKTE", "pass"),
            ("en", "de", "Open the file", "Öffnen Sie die Dateiverwaltung", "pass"),
            ("en", "de", "Open the file", "Öffnen Sie die Systemdatei", "fail: missing Datei or Akte"),
            ("en", "de", "Open the file", "Öffnen", "fail: missing Datei or Akte"),
            ("en", "de", "All profiles", "Alle Profile", "skipped: term"),
            ("en", "de", "Open all files", "Alle öffnen", "skipped: term"),
            (
                "en",
                "de",
                "Account settings of a file",
                "Einstellungen",
                "fail: missing Datei or Akte, Kontoeinstellungen",
            ),
            ("de", "en", "In der STRASSE", "On the Street", "pass"),
        ],
    );
    let cases: &[(&str, Entry<'_>, Case<'_>)] = &[
        ("tr", term("cancel", "iptal"), ("en", "tr", "Cancel", "İPTAL ET", "pass")),
        ("tr", term("light", "ışık"), ("en", "tr", "Light", "IŞIK", "pass")),
        ("el", term("road", "οδός"), ("en", "el", "The road", "Η ΟΔΌΣ", "pass")),
        ("vi", term("name", "te\u{302}n"), ("en", "vi", "Name", "T\u{ea}n", "pass")),
        ("ja", term("file", "ファイル"), ("en", "ja", "Open the file", "PDFファイルを開く", "pass")),
        ("zh-Hans", term("file", "文件"), ("en", "zh-Hans", "Open the file", "打开文档", "fail: missing 文件")),
        ("ko", term("file", "파일"), ("en", "ko", "Open the file", "파일을 엽니다", "pass")),
        ("th", term("file", "ไฟล์"), ("en", "th", "Open the file", "เปิดไฟล์", "pass")),
        ("ar", term("file", "ملف"), ("en", "ar", "Open the file", "افتح ملفك", "pass")),
        ("ru", term("file", "файл"), ("en", "ru", "Open the file", "Откройте файлы", "pass")),
        ("en", term("ファイル", "file"), ("ja", "en", "PDFファイルを開く", "Open it", "fail: missing file")),
        ("hi", term("file", "फ़ाइल"), ("en", "hi", "file", "फ़ाइलें", "pass")),
    ];
    for (target, entry, case) in cases {
        assert_all(CheckId::Q09, target, &[*entry], &[*case]);
    }
}

#[test]
fn q10_what_is_not_translated_is_there_verbatim() {
    assert_all(CheckId::Q10, "de", &[], &[("en", "de", "Quintet", "Quintett", "skipped: term")]);
    let entries =
        [Entry::DoNotTranslate("Quintet"), Entry::DoNotTranslate("Quintet Cloud"), Entry::DoNotTranslate("C++")];
    assert_all(
        CheckId::Q10,
        "de",
        &entries,
        &[
            ("en", "de", "Hello", "Hallo", "skipped: term"),
            ("en", "de", "a quintet", "ein Quintett", "skipped: term"),
            ("en", "de", "Quintets", "Quintette", "skipped: term"),
            ("en", "de", "Start Quintet", "Quintet starten", "pass"),
            ("en", "de", "Start Quintet", "Quintet-Start", "pass"),
            ("en", "fi", "Start Quintet", "Quintetin", "pass"),
            ("en", "de", "Start Quintet", "quintet starten", "fail: missing Quintet"),
            ("en", "de", "Quintet and Quintet", "Quintet", "pass"),
            ("en", "ja", "Quintet Cloud", "Quintetクラウド", "fail: missing Quintet Cloud"),
            ("en", "ru", "Quintet Cloud", "Квинтет", "fail: missing Quintet, Quintet Cloud"),
            ("ja", "en", "Quintetの", "It", "fail: missing Quintet"),
            ("en", "fr", "In C++.", "En C.", "fail: missing C++"),
            ("en", "fr", "In C++.", "En C++.", "pass"),
            ("en", "fr", "In C++x.", "En C.", "skipped: term"),
            ("en", "fr", "In C+++.", "En C.", "fail: missing C++"),
        ],
    );
    assert_all(
        CheckId::Q10,
        "vi",
        &[Entry::DoNotTranslate("Vi\u{1ec7}t")],
        &[("en", "vi", "Vi\u{1ec7}t", "Vie\u{323}\u{302}t", "pass")],
    );
}

#[test]
fn q11_what_is_forbidden_is_not_said() {
    assert_all(CheckId::Q11, "de", &[], &[("en", "de", "Click", "Klicken", "skipped: term")]);
    let entries = [Entry::Forbidden("klicken"), Entry::Forbidden("Hier drücken"), Entry::Forbidden("点击")];
    assert_all(
        CheckId::Q11,
        "de",
        &entries,
        &[
            ("en", "de", "Click here", "Wählen Sie", "pass"),
            ("en", "de", "Click here", "Hier klicken", "fail: forbidden klicken"),
            ("en", "de", "klicken", "KLICKEN", "fail: forbidden klicken"),
            ("en", "de", "Click here", "anklicken, Klickende", "pass"),
            ("en", "de", "Click", "Hier drücken oder klicken, klicken", "fail: forbidden klicken, Hier drücken"),
            ("en", "zh-Hans", "Click here", "请点击这里", "fail: forbidden 点击"),
        ],
    );
}

#[test]
fn q12_and_q20_leave_out_what_is_not_translated() {
    let entries = [Entry::DoNotTranslate("Quintet Cloud"), Entry::DoNotTranslate("夾夾")];
    assert_all(
        CheckId::Q12,
        "de",
        &entries,
        &[
            ("en", "de", "Quintet Cloud", "Quintet Cloud", "skipped: letters"),
            ("en", "de", "Quintet Cloud 12", "Quintet Cloud 12", "skipped: letters"),
            ("en", "de", "Quintet Clouds", "Quintet Clouds", "fail: same as the source"),
            ("en", "de", "My Quintet Cloud", "My Quintet Cloud", "skipped: letters"),
            ("en", "de", "The Quintet Cloud", "The Quintet Cloud", "fail: same as the source"),
            ("en", "ja", "文夾夾件", "文夾夾件", "skipped: letters"),
        ],
    );
}

const FORMAL: [Case<'static>; 33] = [
    ("en", "de", "Save your file", "Speichern Sie Ihre Datei", "pass"),
    ("en", "de", "Save your file", "Speichere deine Datei", "fail: informal deine"),
    ("en", "de", "You", "Du! Dein Konto, dein", "fail: informal Du, Dein, dein"),
    ("en", "de", "The duty", "Der Duden, Indien, Dirigent", "pass"),
    ("en", "de", "Cirque du Soleil", "Der Cirque du Soleil", "pass"),
    ("en", "de", "All of it", "An euch alle", "fail: informal euch"),
    ("en", "fr", "You", "Es-tu prêt ? Avec toi", "fail: informal tu, toi"),
    ("en", "fr", "Sign up", "Pour t’inscrire et t'aider", "fail: informal t"),
    ("en", "fr", "Is there", "Y a-t-il", "pass"),
    ("en", "fr", "The tone", "Le ton du texte", "pass"),
    ("en", "fr", "Your name", "Ton nom", "fail: informal Ton"),
    ("en", "fr", "Your files", "Vos fichiers, statut, été", "pass"),
    ("en", "es", "Your file", "Tu archivo, TÚ", "fail: informal Tu"),
    ("en", "es", "Your file", "Su archivo. ¿Le gusta el té?", "pass"),
    ("en", "es", "You", "tu\u{301}", "fail: informal tú"),
    ("en", "es", "IT department", "Departamento de TI", "pass"),
    ("en", "it", "Your file", "Il tuo file", "fail: informal tuo"),
    ("en", "it", "Your file", "Il suo file, tutto", "pass"),
    ("en", "nl", "Your file", "Jouw bestand, je naam", "fail: informal Jouw, je"),
    ("en", "nl", "Your file", "Uw bestand", "pass"),
    ("en", "pl", "Your file", "Twój plik", "fail: informal Twój"),
    ("en", "pl", "Those users", "Ci użytkownicy", "pass"),
    ("en", "pt", "Your file", "O teu ficheiro", "fail: informal teu"),
    ("en", "pt-BR", "IT team", "Equipe de TI", "pass"),
    ("en", "pt", "YOUR FILE", "PARA TI", "fail: informal TI"),
    ("en", "ru", "Your file", "Твой файл", "fail: informal Твой"),
    ("en", "ru", "Your file", "Ваш файл, творчество", "pass"),
    ("en", "ru", "You", "Для тебя", "fail: informal тебя"),
    ("en", "de-AT", "You", "dich", "fail: informal dich"),
    ("en", "de", "You", "du1 adu", "pass"),
    ("en", "ja", "You", "君", "skipped: rule"),
    ("en", "sv", "You", "du", "skipped: rule"),
    ("en", "de", "You", "dır", "pass"),
];

#[test]
fn q19_nobody_is_addressed_informally() {
    for case in FORMAL {
        let rules = Rules::compile([], true, &locale(case.1));
        assert_cases(CheckId::Q19, &rules, Limits::default(), &[case]);
        let of_no_register = (case.0, case.1, case.2, case.3, "skipped: rule");
        assert_cases(CheckId::Q19, &Rules::default(), Limits::default(), &[of_no_register]);
    }
}

/// Whoever asks an engine tells it what the text has.
#[test]
fn terms_of_a_text_come_in_the_order_of_the_entries() {
    let entries = [
        term("save", "speichern"),
        term("file", "Datei"),
        Entry::DoNotTranslate("Quintet"),
        term("file", "Akte"),
        term("file", "datei"),
    ];
    let rules = Rules::compile(entries, true, &locale("de"));
    let reading = Reading::of("A file to save in Quintet", Format::Json);
    let terms: Vec<(&str, &[String])> =
        rules.terms_in(&reading).into_iter().map(|term| (term.source.as_str(), term.targets.as_slice())).collect();
    assert_eq!(terms, [("save", &["speichern".to_owned()][..]), ("file", &["Datei".to_owned(), "Akte".to_owned()])]);
    assert_eq!(rules.kept_in(reading.text), ["Quintet"]);
    assert!(rules.is_formal());
    assert!(rules.forbidden().is_empty());
}
