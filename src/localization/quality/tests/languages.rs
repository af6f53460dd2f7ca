//! The same of many languages: in each of them what is right is passed over and what is wrong is told.

use super::{assert_cases, judged_plural, locale, told};
use crate::language::Category;
use crate::quality::{CheckId, Entry, Limits, Rules};

const SOURCE: &str = "Save all";

/// A translation of it in each language, and how many scalar values that has.
const TRANSLATIONS: [(&str, &str, u32); 17] = [
    ("de", "Alles speichern", 15),
    ("fr", "Tout enregistrer\u{a0}!", 18),
    ("es", "¡Guardar todo!", 14),
    ("it", "Salva tutto, perché è già finito", 32),
    ("pl", "Zapisz wszystkie żółte", 22),
    ("cs", "Uložit všechno", 14),
    ("ru", "Сохранить всё", 13),
    ("el", "Αποθήκευση όλων", 15),
    ("ar", "حفظ الكل", 8),
    ("he", "שמירת הכול", 10),
    ("hi", "सभी सहेजें", 10),
    ("ja", "すべて保存", 5),
    ("zh-Hans", "全部保存", 4),
    ("ko", "모두 저장", 5),
    ("th", "บันทึกทั้งหมด", 13),
    ("tr", "Tümünü kaydet", 13),
    ("vi", "Lưu tất cả", 10),
];

/// What a check says of a translation of [`SOURCE`] or of another source, without any rules.
#[track_caller]
fn says(check: CheckId, limits: Limits, tag: &str, [source, target]: [&str; 2], expected: &str) {
    assert_cases(check, &Rules::default(), limits, &[("en", tag, source, target, expected)]);
}

#[test]
fn q04_forms_are_missing_superfluous_or_empty() {
    use Category::{Few, Many, One, Other, Two, Zero};
    let languages: [(&str, &[Category]); 16] = [
        ("de", &[One, Other]),
        ("el", &[One, Other]),
        ("hi", &[One, Other]),
        ("tr", &[One, Other]),
        ("fr", &[One, Many, Other]),
        ("es", &[One, Many, Other]),
        ("he", &[One, Two, Other]),
        ("lv", &[Zero, One, Other]),
        ("pl", &[One, Few, Many, Other]),
        ("ru", &[One, Few, Many, Other]),
        ("cs", &[One, Few, Many, Other]),
        ("sl", &[One, Two, Few, Other]),
        ("ga", &[One, Two, Few, Many, Other]),
        ("ar", &[Zero, One, Two, Few, Many, Other]),
        ("ja", &[Other]),
        ("ko", &[Other]),
    ];
    let said = |tag: &str, forms: &[(Category, &str)]| {
        let forms: Vec<_> = forms.iter().map(|(category, text)| (*category, "files", *text)).collect();
        told(&judged_plural(tag, &forms), CheckId::Q04)
    };
    for (tag, wanted) in languages {
        let whole: Vec<(Category, &str)> = wanted.iter().map(|category| (*category, "x")).collect();
        assert_eq!(said(tag, &whole), "pass", "{tag}");
        for (place, category) in wanted.iter().enumerate() {
            let mut short = whole.clone();
            short.remove(place);
            assert_eq!(said(tag, &short), format!("fail: missing {}", category.name()), "{tag}");
            let mut empty = whole.clone();
            empty[place].1 = " ";
            assert_eq!(said(tag, &empty), format!("fail: empty {}", category.name()), "{tag}");
        }
        for category in [Zero, One, Two, Few, Many, Other].into_iter().filter(|one| !wanted.contains(one)) {
            let mut long = whole.clone();
            long.push((category, "x"));
            assert_eq!(said(tag, &long), format!("fail: extra {}", category.name()), "{tag}");
        }
    }
}

#[test]
fn q05_nothing_is_no_translation() {
    for (tag, translation, _) in TRANSLATIONS {
        says(CheckId::Q05, Limits::default(), tag, [SOURCE, translation], "pass");
        for nothing in ["", " ", "\u{3000}\u{a0}", "\u{200f}"] {
            says(CheckId::Q05, Limits::default(), tag, [SOURCE, nothing], "fail: empty");
        }
    }
}

#[test]
fn q10_a_name_stays_as_it_is() {
    let rules = |tag| Rules::compile([Entry::DoNotTranslate("Quintet")], false, &locale(tag));
    for (tag, kept, translated) in [
        ("de", "Quintet starten", "quintet starten"),
        ("fr", "Lancer Quintet", "Lancer QUINTET"),
        ("es", "Iniciar Quintet", "Iniciar el quinteto"),
        ("pl", "Uruchom Quintet", "Uruchom Kwintet"),
        ("cs", "Spustit Quintet", "Spustit kvintet"),
        ("ru", "Запустить Quintet", "Запустить Квинтет"),
        ("el", "Εκκίνηση Quintet", "Εκκίνηση Κουιντέτο"),
        ("ar", "ابدأ Quintet", "ابدأ كوينتت"),
        ("he", "הפעלת Quintet", "הפעלת קווינטט"),
        ("hi", "Quintet शुरू करें", "क्विंटेट शुरू करें"),
        ("ja", "Quintetを開始", "クインテットを開始"),
        ("zh-Hans", "启动Quintet", "启动五重奏"),
        ("ko", "Quintet 시작", "퀸텟 시작"),
        ("th", "เริ่มQuintet", "เริ่มควินเท็ต"),
        ("tr", "Quintet'i başlat", "Kuintet'i başlat"),
    ] {
        let cases = [
            ("en", tag, "Start Quintet", kept, "pass"),
            ("en", tag, "Start Quintet", translated, "fail: missing Quintet"),
            ("en", tag, "Start", translated, "skipped: term"),
        ];
        assert_cases(CheckId::Q10, &rules(tag), Limits::default(), &cases);
    }
}

#[test]
fn q11_a_forbidden_word_is_told_in_any_letters() {
    for (tag, word, good, bad) in [
        ("de", "klicken", "Hier wählen, nicht anklicken", "Hier KLICKEN"),
        ("fr", "cliquer", "Appuyez ici", "Veuillez cliquer ici"),
        ("es", "pinchar", "Pulse aquí, sin pincharlo", "¡Pinchar aquí!"),
        ("it", "cliccare", "Fare clic qui", "Cliccare qui"),
        ("pl", "klikać", "Wybierz tutaj", "KLIKAĆ tutaj"),
        ("cs", "kliknout", "Zvolte zde", "Kliknout zde"),
        ("ru", "кликнуть", "Нажмите здесь", "Кликнуть здесь"),
        ("el", "κλικ", "Πατήστε εδώ", "ΚΛΙΚ εδώ"),
        ("ar", "انقر", "اضغط هنا", "انقر هنا"),
        ("he", "לחץ", "בחר כאן", "לחץ כאן"),
        ("hi", "क्लिक", "यहाँ दबाएँ", "यहाँ क्लिक करें"),
        ("ja", "クリック", "ここを押してください", "ここをクリックしてください"),
        ("zh-Hans", "点击", "请选择这里", "请点击这里"),
        ("ko", "클릭", "여기를 누르세요", "여기 클릭 하세요"),
        ("th", "คลิก", "กดที่นี่", "โปรดคลิกที่นี่"),
        ("tr", "tıkla", "Buraya basın", "Buraya TIKLA"),
        ("vi", "nhấp", "Chọn ở đây", "NHẤP vào đây"),
    ] {
        let rules = Rules::compile([Entry::Forbidden(word)], false, &locale(tag));
        let failed = format!("fail: forbidden {word}");
        let cases = [("en", tag, "Choose here", good, "pass"), ("en", tag, "Choose here", bad, failed.as_str())];
        assert_cases(CheckId::Q11, &rules, Limits::default(), &cases);
    }
}

#[test]
fn q12_what_is_not_translated_is_told() {
    for (tag, translation, _) in TRANSLATIONS {
        says(CheckId::Q12, Limits::default(), tag, [SOURCE, translation], "pass");
        says(CheckId::Q12, Limits::default(), tag, [SOURCE, SOURCE], "fail: same as the source");
    }
}

#[test]
fn q14_white_space_inside_is_counted() {
    for (tag, translation, _) in TRANSLATIONS {
        let lines = format!("{translation}\n{translation}");
        says(CheckId::Q14, Limits::default(), tag, [SOURCE, translation], "pass");
        says(CheckId::Q14, Limits::default(), tag, ["Save all\nSave all", &lines], "pass");
        says(CheckId::Q14, Limits::default(), tag, ["Save all\nSave all", translation], "fail: missing line feeds (1)");
        says(CheckId::Q14, Limits::default(), tag, [SOURCE, &lines], "fail: extra line feeds (1)");
    }
}

/// At the last length that is allowed, and the first that is not.
#[test]
fn q16_scalar_values_are_counted() {
    for (tag, translation, length) in TRANSLATIONS {
        let limits = |min, max| Limits { min, max };
        let pair = [SOURCE, translation];
        says(CheckId::Q16, limits(Some(length), Some(length)), tag, pair, "pass");
        let (shorter, longer) = (length - 1, length + 1);
        let expected = format!("fail: length {length}, max_length {shorter}");
        says(CheckId::Q16, limits(None, Some(shorter)), tag, pair, &expected);
        let expected = format!("fail: length {length}, min_length {longer}");
        says(CheckId::Q16, limits(Some(longer), None), tag, pair, &expected);
    }
}

#[test]
fn q18_what_nobody_sees_is_told() {
    for (tag, translation, _) in TRANSLATIONS {
        says(CheckId::Q18, Limits::default(), tag, [SOURCE, translation], "pass");
        for (hidden, name) in [("\u{200b}", "U+200B"), ("\u{202e}", "U+202E"), ("\u{e0041}", "U+E0041")] {
            let with = format!("{translation}{hidden}");
            says(CheckId::Q18, Limits::default(), tag, [SOURCE, &with], &format!("fail: extra {name}"));
        }
    }
}
