//! Q03.

use super::{Case, assert_in};
use crate::content::Format;
use crate::quality::CheckId;

fn assert_all(cases: &[Case]) {
    assert_in(Format::Json, CheckId::Q03, cases);
}

#[test]
fn tags_are_those_of_the_source() {
    assert_all(&[
        ("en", "de", "Save", "Speichern", "skipped: markup"),
        ("en", "de", "a < b & c > d", "a < b und c > d", "skipped: markup"),
        ("en", "de", "I <3 you", "Ich <3 dich", "skipped: markup"),
        ("en", "de", "Tom &amp; Ann&nbsp;x", "Tom &amp; Ann x", "skipped: markup"),
        ("en", "de", "<b>Save</b>", "<b>Speichern</b>", "pass"),
        ("en", "de", "<b>Save</b>", "<B>Speichern</B>", "pass"),
        ("en", "de", "<b>Save</b>", "Speichern", "fail: missing <b>, </b>"),
        (
            "en",
            "fr",
            "<b>Save</b>",
            "<strong>Enregistrer</strong>",
            "fail: missing <b>, </b>; extra <strong>, </strong>",
        ),
        ("en", "fr", "Save", "<b>Enregistrer</b>", "fail: extra <b>, </b>"),
        ("en", "es", "one<br>two", "uno<br/>dos", "pass"),
        ("en", "es", "one<br>two", "uno dos", "fail: missing <br>"),
        ("en", "it", "<b>a</b> <i>b</i>", "<i>b</i> <b>a</b>", "pass"),
        ("en", "it", "<b><i>a</i></b>", "<b><i>a</b></i>", "fail: not nested </b>"),
        ("en", "it", "<b><i>a</b></i>", "<i><b>a</i></b>", "pass"),
        ("en", "pt", "<b>a</b>", "</b>a<b>", "fail: not nested </b>"),
        ("en", "nl", "<b>a</b>", "<b>a", "fail: missing </b>; not nested <b>"),
        ("en", "nl", "<b>a</b>", "<b>a</b", "fail: missing </b>; not nested <b>; never ends <b"),
        ("en", "pl", "<0>a</0> <1/>", "<1/> <0>a</0>", "pass"),
        ("en", "pl", "<0>a</0> <1/>", "<0>a</0> <1>", "fail: missing <1/>"),
        ("en", "ru", "<Link>a</Link>", "<link>a</link>", "pass"),
        ("en", "ru", "<Bold>a</Bold>", "<bold>a</bold>", "fail: missing <Bold>, </Bold>; extra <bold>, </bold>"),
        ("en", "uk", "Usage: x <file>", "Вживання: x <файл>", "skipped: markup"),
        ("en", "uk", "<not set>", "<не задано>", "skipped: markup"),
        ("en", "cs", "<me@example.com> <https://example.com/?a=b c=d>", "<me@example.com>", "skipped: markup"),
        ("en", "ar", "<a href=\"x\" title=\"Help\">y</a>", "<a title=\"مساعدة\" href='x'>ص</a>", "pass"),
        (
            "en",
            "ar",
            "<a href=\"x\" title=\"Help\">y</a>",
            "<a href=\"x\">ص</a>",
            "fail: missing <a href title>; extra <a href>",
        ),
        ("en", "he", "<!-- note -->a <![CDATA[b]]>", "א", "skipped: markup"),
        ("en", "hi", "<b>a</b> <b>b</b>", "<b>क</b>", "fail: missing <b>, </b>"),
        ("en", "ja", "<a href={{url}}>x</a>", "<a href={{url}}>文</a>", "pass"),
        ("en", "ko", "{n, plural, one {<b>#</b> x} other {<b>#</b> y}}", "{n, plural, other {<b>#</b> 개}}", "pass"),
        (
            "en",
            "ru",
            "{n, plural, one {<b>#</b> x} other {<b>#</b> y}}",
            "{n, plural, one {<b>#</b> а} few {# б} many {<b>#</b> в} other {<b>#</b> г}}",
            "fail: missing <b>, </b>",
        ),
        ("en", "vi", "1 <b and c", "1 <b và c", "pass"),
        ("en", "th", "x<y", "x<y", "skipped: markup"),
    ]);
}

#[test]
fn tags_lead_where_they_led() {
    assert_all(&[
        ("en", "de", "<a href=\"/help/en/x\">y</a>", "<a href=\"/help/de/x\">z</a>", "pass"),
        (
            "en",
            "de",
            "<a href=\"/help/en/x\">y</a>",
            "<a href=\"/help/fr/x\">z</a>",
            "fail: missing target /help/en/x; extra target /help/fr/x",
        ),
        ("en", "de", "<a href='https://A.example/'>y</a>", "<a href='https://a.example/'>z</a>", "pass"),
        (
            "en",
            "fr",
            "<img src=a.png alt='A cat'>",
            "<img src=b.png alt='Un chat'>",
            "fail: missing target a.png; extra target b.png",
        ),
        ("en", "fi", "<a href='%s'>x</a>", "<a href='%s'>y</a>", "pass"),
    ]);
}

#[test]
fn nothing_that_runs_comes_in() {
    assert_all(&[
        (
            "en",
            "de",
            "<a href='x'>y</a>",
            "<a href='x' onclick='z()'>y</a>",
            "fail: missing <a href>; extra <a href onclick>; unsafe onclick",
        ),
        (
            "en",
            "de",
            "<a href='x'>y</a>",
            "<a href='x'/onclick='z()'>y</a>",
            "fail: missing <a href>; extra <a href onclick>; unsafe onclick",
        ),
        (
            "en",
            "de",
            "<a href='x'>y</a>",
            "<a href='javascript:z()'>y</a>",
            "fail: missing target x; extra target javascript:z(); unsafe javascript:",
        ),
        (
            "en",
            "fr",
            "<a href='x'>y</a>",
            "<a href=' &#106;ava&Tab;script&colon;z()'>y</a>",
            "fail: missing target x; extra target &#106;ava&Tab;script&colon;z(); unsafe javascript:",
        ),
        (
            "en",
            "fr",
            "<a href='x'>y</a>",
            "<a href='&#x64;ata:text/html,z'>y</a>",
            "fail: missing target x; extra target &#x64;ata:text/html,z; unsafe data:",
        ),
        ("en", "es", "x", "<script>alert(1)</script>", "fail: extra <script>, </script>; unsafe <script>"),
        (
            "en",
            "es",
            "x",
            "<SCRIPT src=//y>",
            "fail: extra <script src>; extra target //y; not nested <script>; unsafe <script>",
        ),
        ("en", "it", "x", "<iframe/>", "fail: extra <iframe/>; unsafe <iframe>"),
        ("en", "it", "x", "<img src=y onerror=z", "fail: never ends <img"),
        ("en", "pt", "x", "<x@y onclick=z>", "fail: extra <x@y onclick>; not nested <x@y>; unsafe onclick"),
        ("en", "pl", "<b>x</b>", "<b style='position:fixed'>x</b>", "fail: missing <b>; extra <b style>; unsafe style"),
        ("en", "ru", "[x](/y)", "[x](JavaScript:z)", "fail: unsafe javascript:"),
        ("en", "ru", "JavaScript: an overview", "JavaScript: обзор", "skipped: markup"),
        ("en", "ja", "x", "<?php x ?>", "fail: unsafe <?"),
        // A browser ends what XML goes on with.
        (
            "en",
            "de",
            "x",
            "<!--><img src=y onerror=z>-->",
            "fail: extra <img onerror src>; extra target y; unsafe onerror, <!--",
        ),
        (
            "en",
            "de",
            "x",
            "<!---><img src=y onerror=z>-->",
            "fail: extra <img onerror src>; extra target y; unsafe onerror, <!--",
        ),
        (
            "en",
            "fr",
            "x",
            "<!-- --!><img src=y onerror=z> -->",
            "fail: extra <img onerror src>; extra target y; unsafe onerror, <!--",
        ),
        (
            "en",
            "fr",
            "x",
            "<![CDATA[><img src=y onerror=z>]]>",
            "fail: extra <img onerror src>; extra target y; unsafe onerror, <![",
        ),
        (
            "en",
            "es",
            "<?x?>",
            "<?x><img src=y onerror=z>?>",
            "fail: extra <img onerror src>; extra target y; unsafe onerror",
        ),
        ("en", "es", "x", "x <!-- y", "fail: never ends <!--"),
        ("en", "it", "Hi {name}", "Ciao <!-- {name} -->", "fail: unsafe <!--"),
        ("en", "it", "<!-- a -->x <![CDATA[b]]> <!d>", "<!-- c -->y <![CDATA[e]]> <!d>", "skipped: markup"),
        // What the source does is the project's own business.
        ("en", "de", "<a onclick='x()'>y</a>", "<a onclick='x()'>z</a>", "pass"),
        ("en", "de", "<script>x</script>", "<script>x</script>", "pass"),
        // Another program than the source's is the translator's.
        ("en", "fi", "<a onclick='x()'>y</a>", "<a onclick='z()'>y</a>", "fail: unsafe onclick"),
        ("en", "fi", "<b style='color:red'>y</b>", "<b style='position:fixed'>y</b>", "fail: unsafe style"),
        ("en", "fi", "<script>x</script>", "<script>z</script>", "fail: unsafe <script>"),
        ("en", "fi", "<style>b{}</style>", "<style>i{}</style>", "fail: unsafe <style>"),
        // A program goes on behind what looks like a tag in it, and up to its own end alone.
        (
            "en",
            "de",
            "<script>w('<b>hi</b>')</script>",
            "<script>w('<b>');steal()//</b>')</script>",
            "fail: unsafe <script>",
        ),
        ("en", "de", "<script>w('<b>hi</b>')</script> x", "<script>w('<b>hi</b>')</script> z", "pass"),
        ("en", "de", "<script>x</script>, <script>y</script>", "<script>x</script>; <script>y</script>", "pass"),
        ("en", "de", "<script>'<script>'</script>", "<script>'<script>';z()</script>", "fail: unsafe <script>"),
        ("en", "de", "<script/>x</script>", "<script/>z</script>", "fail: unsafe <script>"),
        // In SVG this style is over at once, and the end of one in the script is none.
        (
            "en",
            "de",
            "<svg><style/><script>a('</style>');b()</script></svg>",
            "<svg><style/><script>a('</style>');steal()</script></svg>",
            "fail: unsafe <style>",
        ),
        // A browser goes on behind this end.
        (
            "en",
            "de",
            "<script><!--<script></script>x()--></script>",
            "<script><!--<script></script>z()--></script>",
            "fail: unsafe <script>",
        ),
        ("en", "de", "<img src='data:image/png;base64,AA'>", "<img src='data:image/png;base64,AA'>", "pass"),
    ]);
}
