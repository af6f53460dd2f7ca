//! What is prose and what is none: the other checks look at prose alone.

use crate::content::Format;
use crate::quality::Reading;
use crate::quality::reading::SpanKind;

/// The text with everything that is no prose in brackets: `⟨p{0}⟩` a placeholder, `⟨m<b>⟩` markup, `⟨lhttp://a.b⟩` a link.
fn marked(text: &str) -> String {
    let reading = Reading::of(text, Format::Json);
    let spans = reading.spans.iter().map(|span| {
        let kind = match span.kind {
            SpanKind::Placeholder => 'p',
            SpanKind::Markup => 'm',
            SpanKind::Link => 'l',
        };
        format!("⟨{kind}{}⟩", &text[span.range.clone()])
    });
    let prose: Vec<&str> = reading.prose().collect();
    let spans = spans.chain([String::new()]);
    prose.into_iter().map(str::to_owned).zip(spans).map(|(prose, span)| prose + &span).collect()
}

#[test]
fn prose_lies_between_what_programs_read() {
    for (text, expected) in [
        ("", ""),
        ("Nothing but prose: 100 % of it, a < b & c > d.", "Nothing but prose: 100 % of it, a < b & c > d."),
        ("Hi {{name}}, $t(more) ${x} %{y}", "Hi ⟨p{{name}}⟩, ⟨p$t(more)⟩ ⟨p${x}⟩ ⟨p%{y}⟩"),
        ("%-5.2f%% of %1$s, {0}", "⟨p%-5.2f⟩%% of ⟨p%1$s⟩, ⟨p{0}⟩"),
        ("<b>bold</b> &amp; more<!-- no -->", "⟨m<b>⟩bold⟨m</b>⟩ ⟨m&amp;⟩ more⟨m<!-- no -->⟩"),
        ("<a title=\"x > y\" href='{{url}}'>z</a>", "⟨m<a title=\"x > y\" href='{{url}}'>⟩z⟨m</a>⟩"),
        ("See https://a.b/{id}?x=%20d, or a@b.org.", "See ⟨lhttps://a.b/{id}?x=%20d⟩, or ⟨la@b.org⟩."),
        ("<file> and <1>x</1>", "<file> and ⟨m<1>⟩x⟨m</1>⟩"),
        (
            "You have {n, plural, =0 {nothing} one {# {x} left} other {<b>#</b> left}}.",
            "You have ⟨p{n, plural, =0 {⟩nothing⟨p} one {⟩⟨p#⟩ ⟨p{x}⟩ left⟨p} other {⟩⟨m<b>⟩⟨p#⟩⟨m</b>⟩ left⟨p}}⟩.",
        ),
        (
            "{g, select, a {{n, plural, other {x}}} other {y}}",
            "⟨p{g, select, a {⟩⟨p{n, plural, other {⟩x⟨p}}⟩⟨p} other {⟩y⟨p}}⟩",
        ),
        ("%d.%m.%Y um %H:%M", "⟨p%d⟩.⟨p%m⟩.⟨p%Y⟩ um ⟨p%H⟩:⟨p%M⟩"),
        ("Das ist __name__ und %0, %1", "Das ist ⟨p__name__⟩ und ⟨p%0⟩, ⟨p%1⟩"),
        ("\u{5d0} {0} \u{1f600}<br>\u{6f22}", "\u{5d0} ⟨p{0}⟩ \u{1f600}⟨m<br>⟩\u{6f22}"),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
}
