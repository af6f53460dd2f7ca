//! Q01, dialect by dialect.

use super::{Case, assert_in};
use crate::content::Format;
use crate::quality::CheckId;

fn assert_all(cases: &[Case]) {
    assert_in(Format::Json, CheckId::Q01, cases);
}

#[test]
fn every_dialect_is_kept_as_often_as_it_is_there() {
    assert_all(&[
        ("en", "de", "Save", "Speichern", "skipped: placeholder"),
        ("en", "de", "Hello {{name}}", "Hallo {{name}}", "pass"),
        ("en", "de", "Hello {{name}}", "Hallo {{ name }}", "pass"),
        ("en", "de", "Hello {{name}}", "Hallo {name}", "fail: missing {{name}}; extra {name}"),
        ("en", "fr", "Hello {{name}}", "Bonjour {{nom}}", "fail: missing {{name}}; extra {{nom}}"),
        ("en", "es", "{{a}} of {{b}}", "{{b}} de {{a}}", "pass"),
        ("en", "it", "{{a}} and {{a}}", "{{a}}", "fail: missing {{a}}"),
        ("en", "it", "{{a}}", "{{a}} e {{a}}", "fail: extra {{a}}"),
        ("en", "pt", "{{value, number}}", "{{value,number}}", "pass"),
        ("en", "pt", "{{- html}} {{{raw}}}", "{{{raw}}} {{- html}}", "pass"),
        ("en", "nl", "{{{raw}}}", "{{raw}}", "pass"),
        ("en", "nl", "See $t(common.help)", "Zie $t(common.help)", "pass"),
        (
            "en",
            "nl",
            "See $t(common.help)",
            "Zie $t(common.hulp)",
            "fail: missing $t(common.help); extra $t(common.hulp)",
        ),
        ("en", "pl", "$t(girls, {\"count\": {{girls}} })", "$t(girls, { \"count\": {{girls}} })", "pass"),
        ("en", "pl", "$t(a (b)) c)", "$t(a (b)) d)", "pass"),
        ("en", "ru", "Cost: ${price}", "Цена: ${price}", "pass"),
        ("en", "ru", "Cost: ${price}", "Цена: {price}", "fail: missing ${price}; extra {price}"),
        ("en", "uk", "Hi %{user}, %<amount>.2f", "Привіт, %{user}, %<amount>.2f", "pass"),
        ("en", "uk", "%<amount>.2f", "%<amount>d", "fail: missing %<amount>.2f; extra %<amount>d"),
        ("en", "cs", "%{user}", "%{uživatel}", "fail: missing %{user}; extra %{uživatel}"),
        ("en", "cs", "%(count)d files", "%(count)d souborů", "pass"),
        ("en", "cs", "%(count)s", "%(count)", "fail: missing %(count)s"),
        ("en", "ar", "Hello {name}", "مرحبا {name}", "pass"),
        ("en", "ar", "Page {0} of {1}", "الصفحة {0} من {0}", "fail: missing {1}; extra {0}"),
        ("en", "he", "{0:N2} of {total!r}", "{total!r} מתוך {0:N2}", "pass"),
        ("en", "he", "{when, date, short}", "{when, date, long}", "pass"),
        ("en", "he", "{when, date}", "{when}", "fail: missing {when, date}; extra {when}"),
        ("en", "hi", "{}/{}", "{}", "fail: missing {}"),
        ("en", "ja", "{user.name} さん", "{user.name}さん", "pass"),
        ("en", "ja", "Hello {name}", "こんにちは｛name｝", "fail: missing {name}"),
        ("en", "zh-Hans", "{ count } files", "{count} 个文件", "pass"),
        ("en", "ko", "no one", "{name}", "fail: extra {name}"),
        ("en", "vi", "{0,choice,0#none|1#one|1<{0} files}", "{0,choice,0#không|0<{0} tệp}", "pass"),
        ("en", "th", "(see {note below})", "(ดู {หมายเหตุด้านล่าง ครับ})", "skipped: placeholder"),
        ("en", "fi", "{{a", "{{a", "skipped: placeholder"),
    ]);
}

#[test]
fn arguments_of_printf_keep_order_and_class() {
    assert_all(&[
        ("en", "de", "%s of %d", "%s von %d", "pass"),
        ("en", "de", "%s of %d", "%d von %s", "fail: missing %s, %d; extra %d, %s"),
        ("en", "de", "%s of %d", "%2$d von %1$s", "pass"),
        ("en", "de", "%2$d of %1$s", "%1$s: %2$d", "pass"),
        ("en", "de", "%1$s of %2$s", "%1$s von %1$s", "fail: missing %2$s; extra %1$s"),
        ("en", "fr", "%d files", "%i fichiers", "pass"),
        ("en", "fr", "%d files", "%s fichiers", "fail: missing %d; extra %s"),
        ("en", "fr", "%-5.2f", "%.1f", "pass"),
        ("en", "fr", "%*d", "%*d", "pass"),
        ("en", "es", "%ld of %lu", "%lu de %ld", "pass"),
        ("en", "es", "%s", "%s%n", "fail: extra %n"),
        ("en", "es", "%s%n%d", "%2$d%n%1$s", "pass"),
        ("en", "es", "%s%n", "%s", "fail: missing %n"),
        ("en", "pt", "5 %nein", "5 %não", "skipped: placeholder"),
        ("en", "es", "%@ is %d", "%@ es %d", "pass"),
        ("en", "es", "%@ is on", "%s es", "fail: missing %@; extra %s"),
        ("en", "pt", "100%% of %s", "100%% de %s", "pass"),
        ("en", "pt", "100% of it", "100 % de tudo", "skipped: placeholder"),
        ("en", "it", "100 % discount", "100 % di sconto", "skipped: placeholder"),
        ("en", "tr", "50% off", "%50 indirim", "skipped: placeholder"),
        ("en", "tr", "1% off, 5% soon", "%1 indirim, yakında %5", "pass"),
        ("en", "nl", "50%discount", "50%korting", "skipped: placeholder"),
        ("en", "pl", "%s", "%%s", "fail: missing %s"),
        ("en", "ru", "%1$tY", "%1$tY", "pass"),
        ("en", "ru", "%1$tY", "2026", "fail: missing %1$tY"),
        ("en", "ja", "%c%x%q", "%c%x%q", "pass"),
    ]);
}

#[test]
fn other_things_with_percent_signs_are_what_they_are() {
    assert_all(&[
        // Which parts a date has and in which order is for the language.
        ("en", "de", "%Y-%m-%d", "%d.%m.%Y", "pass"),
        ("en", "de", "%b %d, %H:%M", "%d. %b, %H.%M Uhr", "pass"),
        ("en", "ja", "%a, %d %b", "%d日", "pass"),
        ("en", "ko", "%I:%M %p", "오후", "fail: missing %I"),
        ("en", "ko", "%d", "%Y", "fail: missing %d; extra %Y"),
        // Arguments that are counted %0, %1.
        ("en", "de", "%0 is not %1", "%1 ist nicht %0", "pass"),
        ("en", "de", "%0 is not %1", "%0 ist nicht da", "fail: missing %1"),
        ("en", "de", "Open %0", "%0 und %1 öffnen", "fail: extra %1"),
        ("en", "da", "%0 export successful", "%0-eksport lykkedes", "pass"),
        ("en", "fr", "Invalid: '%0'.", "Invalide : %0.", "pass"),
        ("en", "de", "%0.2f of %1", "%0.2f von %1", "pass"),
        // A percent sign or a dollar before a placeholder, where a language writes them so.
        ("en", "eu", "a zoom of {0}%", "%{0}ko zooma", "pass"),
        ("en", "tr", "{count}% done", "%{count} bitti", "pass"),
        ("en", "en-CA", "{price} $", "${price}", "pass"),
        ("en", "es", "''${...}'' of {0}", "''${..}'' de {0}", "pass"),
        // Lines around a word are a placeholder if the source says so.
        ("en", "ja", "Install __module__", "__module__をインストール", "pass"),
        ("en", "zh-Hans", "Install '__module__'", "安装", "fail: missing __module__"),
        ("en", "zh-Hans", "word", "a __word__", "pass"),
        ("en", "zh-Hans", "Sign here: ______", "__在此__ 签名", "skipped: placeholder"),
        // What TeX puts in braces is text.
        ("en", "fr", "Copy \\cite{key}", "Copier \\cite{clé}", "skipped: placeholder"),
        ("en", "ru", "Copy \\c&ite{key}", "Копировать \\цитировать{ключ}", "skipped: placeholder"),
        ("en", "ja", "\\nFile {name}", "\\nファイル{name}", "pass"),
        ("en", "fr", "\\n{name}", "\\n{nom}", "fail: missing {name}; extra {nom}"),
        // The percent signs of an address.
        ("en", "de", "https://example.com/a%20d", "https://example.com/a%20d", "skipped: placeholder"),
        ("en", "de", "https://example.com/%s/x%20d", "https://example.com/%s/x%20d", "pass"),
        ("en", "de", "https://example.com/%s", "https://example.com/", "fail: missing %s"),
    ]);
}

#[test]
fn a_message_is_counted_by_what_it_can_become() {
    assert_all(&[
        (
            "en",
            "ru",
            "{n, plural, one {# file of {a}} other {# files of {a}}}",
            "{n, plural, one {# файл из {a}} few {# файла из {a}} many {# файлов из {a}} other {# файла из {a}}}",
            "pass",
        ),
        (
            "en",
            "ru",
            "{n, plural, one {# file of {a}} other {# files of {a}}}",
            "{n, plural, one {# файл из {a}} few {# файла} many {# файлов из {a}} other {# файла из {a}}}",
            "fail: missing {a}",
        ),
        (
            "en",
            "ru",
            "{n, plural, one {one file} other {# files}}",
            "{n, plural, one {файл} few {# файла} many {# файлов} other {# файла}}",
            "fail: missing #",
        ),
        (
            "en",
            "de",
            "{n, plural, one {one file} other {# files}}",
            "{n, plural, one {eine Datei} other {# Dateien}}",
            "pass",
        ),
        (
            "en",
            "de",
            "{n, plural, one {# file} other {# files}}",
            "{n, plural, one {eine Datei} other {# Dateien}}",
            "pass",
        ),
        (
            "en",
            "de",
            "{n, plural, one {# file} other {# files}}",
            "{n, plural, one {eine Datei} other {Dateien}}",
            "fail: missing #",
        ),
        ("en", "de", "{n, plural, =0 {none} other {# files}}", "{n, plural, other {# Dateien}}", "pass"),
        ("en", "de", "{n, plural, other {# files}}", "{n, plural, =0 {keine} other {{n} Dateien}}", "pass"),
        ("en", "de", "{n, plural, other {{n, number} files}}", "{n, plural, other {# Dateien}}", "pass"),
        (
            "en",
            "fr",
            "{n, plural, one {a file} other {# files}}",
            "{n, plural, one {un fichier} many {# fichiers} other {# fichiers}}",
            "fail: missing #",
        ),
        ("en", "ja", "{n, plural, one {{a} alone} other {# people}}", "{n, plural, other {#人}}", "pass"),
        (
            "en",
            "ar",
            "{n, plural, one {one day} other {# days}}",
            "{n, plural, zero {لا أيام} one {يوم} two {يومان} few {# أيام} many {# يومًا} other {# يوم}}",
            "pass",
        ),
        ("en", "fi", "{g, select, male {his {x}} other {their {x}}}", "{g, select, other {hänen {x}}}", "pass"),
        (
            "en",
            "fi",
            "{g, select, male {his {x}} other {their {x}}}",
            "{g, select, other {hänen}}",
            "fail: missing {x}",
        ),
        ("en", "it", "{a} {n, plural, other {x}}", "{n, plural, other {{a} x}}", "pass"),
        ("en", "it", "{n, plural, other {x}}", "{n, plural, other {x {b}}}", "fail: extra {b}"),
        ("en", "it", "{n, plural, offset:1 other {# others}}", "{n, plural, offset:1 other {altri #}}", "pass"),
        ("en", "cs", "{n, plural, other {%s}}", "{n, plural, other {}}", "fail: missing %s"),
        // Apostrophes make literal what they stand before.
        ("en", "fr", "{n, plural, other {of {a}}}", "{n, plural, other {d'{a}' x}}", "fail: missing {a}"),
        ("en", "fr", "{n, plural, other {of {a}}}", "{n, plural, other {d''{a}}}", "pass"),
        ("en", "fr", "of {a}", "d'{a}", "pass"),
        // A target that is no message still shows what it lost.
        ("en", "de", "{n, plural, other {# of {a}}}", "{n, plural, other {# von {a}}", "pass"),
        ("en", "de", "{n, plural, other {# of {a}}}", "{n, plural, other {# von}", "fail: missing {a}"),
    ]);
}
