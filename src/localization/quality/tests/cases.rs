//! Ends, numbers, lengths and white space.

use super::{Case, assert_cases};
use crate::quality::{CheckId, Limits, Rules};

fn assert_all(check: CheckId, cases: &[Case<'_>]) {
    assert_cases(check, &Rules::default(), Limits::default(), cases);
}

#[test]
fn q05_what_says_something_is_not_translated_by_nothing() {
    assert_all(
        CheckId::Q05,
        &[
            ("en", "de", "Save", "Speichern", "pass"),
            ("en", "de", "Save", "", "fail: empty"),
            ("en", "fr", "Save", " \u{a0}\n", "fail: empty"),
            ("en", "ja", "Save", "\u{3000}", "fail: empty"),
            ("en", "he", "Save", "\u{200d}\u{ad}\u{200f}", "fail: empty"),
            ("en", "ru", "", "", "pass"),
            ("en", "pl", " ", "", "pass"),
            ("en", "ko", "", "저장", "pass"),
        ],
    );
}

#[test]
fn q06_white_space_at_the_ends_is_that_of_the_source() {
    assert_all(
        CheckId::Q06,
        &[
            ("en", "de", "Name", "Name", "pass"),
            ("en", "de", " Name: ", " Name: ", "pass"),
            ("en", "de", "Name: ", "Name:", "fail: missing at the end U+0020"),
            ("en", "fr", "Name:", "Nom\u{a0}: ", "fail: extra at the end U+0020"),
            ("en", "ru", " name", "имя", "fail: missing at the start U+0020"),
            ("en", "uk", "name", "\u{a0}імʼя", "fail: extra at the start U+00A0"),
            ("en", "es", "\tName", " Nombre", "fail: missing at the start U+0009; extra at the start U+0020"),
            ("en", "it", "Done\n", "Fatto\n\n", "fail: extra at the end U+000A"),
            ("en", "ja", "Name: ", "名前：", "pass"),
            ("en", "zh-Hans", "Name: ", "名称:", "fail: missing at the end U+0020"),
            ("en", "ar", "Name ", "الاسم", "fail: missing at the end U+0020"),
            ("en", "pl", "", " ", "fail: extra at the start U+0020"),
            ("en", "pl", " ", " ", "pass"),
        ],
    );
}

#[test]
fn q07_punctuation_at_the_end_means_what_it_did() {
    assert_all(
        CheckId::Q07,
        &[
            ("en", "de", "Save", "", "skipped: short"),
            ("en", "de", "OK?", "OK", "skipped: short"),
            ("en", "de", "Are you sure?", "Sind Sie sicher?", "pass"),
            ("en", "de", "Are you sure?", "Sind Sie sicher", "fail: missing ?"),
            ("en", "de", "Settings", "Einstellungen.", "fail: extra ."),
            ("en", "de", "Saved.", "Gespeichert!", "fail: missing .; extra !"),
            ("en", "de", "He said “stop”.", "Er sagte „halt.“", "pass"),
            ("en", "fr", "Are you sure?", "Êtes-vous sûr\u{a0}?", "pass"),
            ("en", "fr", "Name of file:", "Nom du fichier\u{202f}:", "pass"),
            ("en", "es", "Are you sure?", "¿Está seguro?", "pass"),
            ("en", "es", "Delete all!", "¡Borrar todo!", "pass"),
            ("en", "el", "Are you sure?", "Είστε σίγουροι;", "pass"),
            ("en", "el", "Are you sure?", "Είστε σίγουροι\u{37e}", "pass"),
            ("en", "el", "First this;", "Πρώτα αυτό·", "pass"),
            ("en", "de", "First this;", "Zuerst dies?", "fail: missing ;; extra ?"),
            ("en", "ar", "Are you sure?", "هل أنت متأكد؟", "pass"),
            ("en", "ar", "Are you sure?", "هل أنت متأكد", "fail: missing ?"),
            ("en", "fa", "First this;", "اول این؛", "pass"),
            ("en", "ur", "The file is gone.", "فائل چلی گئی۔", "pass"),
            ("en", "he", "Are you sure?", "האם אתה בטוח?", "pass"),
            ("en", "he", "Really gone!", "באמת נעלם!\u{200f}", "pass"),
            ("en", "hi", "The file is gone.", "फ़ाइल चली गई।", "pass"),
            ("en", "hy", "Are you sure?", "Վստա՞հ եք։", "pass"),
            ("en", "hy", "Are you sure?", "Վստահ եք։", "fail: missing ?; extra ։"),
            ("en", "hy", "The file is gone.", "Ֆայլը չկա:", "pass"),
            ("en", "am", "The file is gone.", "ፋይሉ ጠፍቷል።", "pass"),
            ("en", "my", "Are you sure?", "သေချာပါသလား။", "pass"),
            ("en", "ja", "The file is gone.", "ファイルがありません。", "pass"),
            ("en", "ja", "Are you sure?", "よろしいですか？", "pass"),
            ("en", "ja", "Are you sure?", "よろしいですか", "pass"),
            ("en", "ja", "Are you sure?", "よろしいです", "fail: missing ?"),
            ("en", "ja", "Loading...", "読み込み中…", "pass"),
            ("en", "zh-Hans", "Loading…", "加载中……", "pass"),
            ("en", "zh-Hans", "Loading…", "加载中。", "fail: missing …; extra 。"),
            ("en", "zh-Hant", "Name of file:", "檔案名稱：", "pass"),
            ("en", "ko", "The file is gone.", "파일이 없습니다.", "pass"),
            ("en", "th", "The file is gone.", "ไม่มีไฟล์", "pass"),
            ("en", "th", "Name of file:", "ชื่อไฟล์", "fail: missing :"),
            ("en", "th", "The file is gone", "ไม่มีไฟล์!", "fail: extra !"),
            ("en", "fi", "Saved (twice).", "Tallennettu (kahdesti).", "pass"),
            ("en", "cs", "Saved (twice?)", "Uloženo (dvakrát?).", "fail: missing ?; extra ."),
            ("en", "cs", "Saved (really?)", "Uloženo (opravdu?)", "pass"),
            ("en", "pl", "Special signs (!, $, ...)", "(!, $, ...) to znaki", "pass"),
            ("en", "zh-Hant", "Semicolon", "分號(;)", "pass"),
            ("en", "sv", "Say “yes”.", "Säg ”ja”.", "pass"),
            ("en", "ja", "It was not possible", "できませんでした。", "pass"),
            ("en", "ja", "Settings", "設定。", "fail: extra 。"),
            ("en", "de", "It was not possible", "Das war nicht möglich.", "fail: extra ."),
            ("en", "de", "Quite long..", "Recht lang.", "pass"),
            ("de", "en", "Wirklich löschen?", "Really delete?", "pass"),
            ("ja", "en", "よろしいですか？", "Are you sure?", "pass"),
        ],
    );
}

#[test]
fn q08_numbers_are_those_of_the_source() {
    assert_all(
        CheckId::Q08,
        &[
            ("en", "de", "Save", "Speichern", "skipped: number"),
            ("en", "de", "Up to 1,000.5 MB", "Bis zu 1.000,5 MB", "pass"),
            ("en", "de-CH", "1,000,000 rows", "1’000’000 Zeilen", "pass"),
            ("en", "de-CH", "1,000,000 rows", "1'000'000 Zeilen", "pass"),
            ("en", "fr", "1,000,000 rows", "1\u{202f}000\u{202f}000 lignes", "pass"),
            ("en", "fr", "1,000,000 rows", "1\u{a0}000 000 lignes", "pass"),
            ("en", "pl", "10,000 files", "10 000 plików", "pass"),
            ("en", "pl", "10 2000 files", "102000 plików", "fail: missing 10, 2000; extra 102000"),
            ("en", "cs", "10 files of 20", "20 souborů z 10", "pass"),
            ("en", "ru", "2 of 2", "2 из 3", "fail: missing 2; extra 3"),
            ("en", "uk", "2 of 2", "2", "fail: missing 2"),
            ("en", "ar", "10 of 25 files", "١٠ من ٢٥ ملفًا", "pass"),
            ("en", "ar", "1,000.5", "١٬٠٠٠٫٥", "pass"),
            ("en", "fa", "In 2026", "در ۲۰۲۶", "pass"),
            ("en", "hi", "Page 12", "पृष्ठ १२", "pass"),
            ("en", "hi", "Page 12", "पृष्ठ १३", "fail: missing 12; extra 13"),
            ("en", "th", "Page 90", "หน้า ๙๐", "pass"),
            ("en", "ja", "Page 12", "１２ページ", "pass"),
            ("en", "zh-Hans", "Page 12", "第十二页", "fail: missing 12"),
            ("en", "vi", "Version 3.1", "Phiên bản 3.1", "pass"),
            ("en", "tr", "Version 3.1", "Sürüm 3.2", "fail: missing 31; extra 32"),
            ("en", "fi", "The 2nd.", "2.", "pass"),
            ("en", "ko", "no number", "1개", "fail: extra 1"),
        ],
    );
}

#[test]
fn q12_what_is_as_in_the_source_may_have_been_forgotten() {
    assert_all(
        CheckId::Q12,
        &[
            ("en", "de", "Save all", "Alle speichern", "pass"),
            ("en", "de", "Save all", "Save all", "fail: same as the source"),
            ("en", "de", "Save all", "save all", "pass"),
            ("en", "de", "OK", "OK", "skipped: letters"),
            ("en", "fr", "12 – 14", "12 – 14", "skipped: letters"),
            ("en", "en-GB", "Color", "Color", "skipped: language"),
            ("zh-Hans", "zh-Hant", "文件夹", "文件夹", "skipped: language"),
            ("ja", "zh-Hans", "文書化", "文書化", "fail: same as the source"),
            ("en", "el", "μια", "μια", "fail: same as the source"),
            ("hi", "en", "किताब", "किताब", "fail: same as the source"),
        ],
    );
}

#[test]
fn q14_spacing_inside_is_that_of_the_source() {
    assert_all(
        CheckId::Q14,
        &[
            ("en", "de", "a b", "a b", "pass"),
            ("en", "de", "one two", "eins  zwei", "fail: extra double spaces (1)"),
            ("en", "es", "one  two", "uno dos", "fail: missing double spaces (1)"),
            ("en", "de", "Done.  Next", "Fertig. Weiter", "pass"),
            ("en", "fr", "one\ntwo", "un deux", "fail: missing line feeds (1)"),
            ("en", "it", "one\n  two", "uno\ndue", "pass"),
            ("en", "pt", "one\ttwo", "um dois", "fail: missing tabs (1)"),
            ("en", "nl", "one\\ntwo\\nthree", "een\\ntwee drie", "fail: missing literal \\n (1)"),
            ("en", "nl", "C:\\\\new", "C:\\\\nieuw", "pass"),
            ("en", "ru", "one\n\ntwo", "один\nдва\tтри", "fail: missing line feeds (1); extra tabs (1)"),
            ("en", "ja", "one two\n", "一二", "pass"),
        ],
    );
}

#[test]
fn q16_lengths_keep_within_their_limits() {
    let limits = |min, max| Limits { min, max };
    let case = |target, expected| [("en", "de", "Save", target, expected)];
    let assert = |limits, target, expected| {
        assert_cases(CheckId::Q16, &Rules::default(), limits, &case(target, expected));
    };
    assert(limits(None, None), "Speichern", "skipped: limit");
    assert(limits(Some(2), Some(9)), "Speichern", "pass");
    assert(limits(None, Some(8)), "Speichern", "fail: length 9, max_length 8");
    assert(limits(Some(10), None), "Speichern", "fail: length 9, min_length 10");
    // Scalar values, neither bytes nor what people call characters.
    assert(limits(None, Some(3)), "äöü", "pass");
    assert(limits(None, Some(3)), "a\u{308}o\u{308}", "fail: length 4, max_length 3");
    assert(limits(Some(1), Some(1)), "👍", "pass");
    assert(limits(Some(1), None), "", "fail: length 0, min_length 1");
}
