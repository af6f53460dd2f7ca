//! Q17.

use super::assert_in;
use crate::content::Format;
use crate::quality::CheckId;

#[test]
fn addresses_are_those_of_the_source() {
    assert_in(
        Format::YamlRails,
        CheckId::Q17,
        &[
            ("en", "de", "Save", "Speichern", "skipped: link"),
            ("en", "de", "See https://example.com/x.", "Siehe https://example.com/x!", "pass"),
            ("en", "de", "See https://example.com/x", "Siehe HTTPS://Example.COM/x", "pass"),
            (
                "en",
                "de",
                "See https://example.com/x",
                "Siehe https://example.com/X",
                "fail: missing https://example.com/x; extra https://example.com/X",
            ),
            (
                "en",
                "de",
                "See https://example.com/x",
                "Siehe http://example.com/x",
                "fail: missing https://example.com/x; extra http://example.com/x",
            ),
            (
                "en",
                "fr",
                "https://example.com",
                "https://example.fr",
                "fail: missing https://example.com; extra https://example.fr",
            ),
            ("en", "fr", "https://example.com", "", "fail: missing https://example.com"),
            ("en", "fr", "none", "http://évil.example/", "fail: extra http://évil.example/"),
            ("en", "es", "https://example.com/en/docs?hl=en#en", "https://example.com/es/docs?hl=es#en", "pass"),
            ("en", "es", "https://example.com/en/docs", "https://example.com/en/docs", "pass"),
            (
                "en",
                "es",
                "https://example.com/en/docs",
                "https://example.com/fr/docs",
                "fail: missing https://example.com/en/docs; extra https://example.com/fr/docs",
            ),
            (
                "en",
                "es",
                "https://example.com/docs",
                "https://example.com/es/docs",
                "fail: missing https://example.com/docs; extra https://example.com/es/docs",
            ),
            ("en-US", "pt-BR", "https://example.com/en-us/a", "https://example.com/pt-br/a", "pass"),
            ("en-US", "pt-BR", "https://example.com/en_US/a", "https://example.com/pt_BR/a", "pass"),
            ("en", "zh-Hant-TW", "https://example.com/en", "https://example.com/zh-TW", "pass"),
            (
                "en",
                "it",
                "https://en.example.com/",
                "https://it.example.com/",
                "fail: missing https://en.example.com/; extra https://it.example.com/",
            ),
            ("en", "pl", "Mail a@b.org", "Napisz do A@B.org", "pass"),
            ("en", "pl", "Mail a@b.org", "Napisz do c@b.org", "fail: missing a@b.org; extra c@b.org"),
            ("en", "ru", "mailto:a@b.org?subject=Hello", "mailto:a@b.org?subject=Привет", "pass"),
            ("en", "ru", "tel:+49-30-1", "tel:+49-30-2", "fail: missing tel:+49-30-1; extra tel:+49-30-2"),
            ("en", "uk", "ftp://a.b/c", "ftp://a.b/c", "pass"),
            ("en", "cs", "http://a.b http://a.b", "http://a.b", "fail: missing http://a.b"),
            ("en", "ar", "زر https://a.b/c", "https://a.b/c،", "pass"),
            ("en", "he", "(https://a.b/c)", "\u{202b}https://a.b/c\u{202c}", "pass"),
            ("en", "ja", "Read https://a.b/c first.", "まずhttps://a.b/cをお読みください。", "pass"),
            ("en", "zh-Hans", "Read https://a.b/c.", "请阅读https://a.b/c。", "pass"),
            ("en", "ko", "Read https://a.b/c.", "https://a.b/c에서 읽으세요.", "pass"),
            ("en", "th", "Read https://a.b/c", "อ่านhttps://a.b/cครับ", "pass"),
            ("en", "hi", "Read https://a.b/c.", "https://a.b/c पढ़ें।", "pass"),
            ("en", "vi", "<a href='https://a.b/en/'>x</a>", "<a href='https://a.b/vi/'>y</a>", "pass"),
            ("en", "tr", "https://%{host}/en", "https://%{host}/tr", "pass"),
            (
                "en",
                "fi",
                "{n, plural, one {at https://a.b} other {# at https://a.b}}",
                "{n, plural, one {https://a.b} other {# https://a.b}}",
                "pass",
            ),
            (
                "en",
                "fi",
                "{n, plural, one {at https://a.b} other {# at https://a.b}}",
                "{n, plural, one {siellä} other {# https://a.b}}",
                "fail: missing https://a.b",
            ),
        ],
    );
}
