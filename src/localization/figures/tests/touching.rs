//! Which translations a change of words touches.

use crate::content::rejudge::{Cause, ChangedTerm, TermPlace};
use crate::content::{Source, Translated};
use crate::figures::touch::{Need, Touch};

fn terms(place: TermPlace, locale: Option<&str>, texts: &[&str]) -> Cause {
    let term = |text: &&str| ChangedTerm { locale: locale.map(str::to_owned), place, text: (*text).to_owned() };
    Cause::Terms(texts.iter().map(term).collect())
}

fn need(touch: &Touch, source: &str) -> Need {
    touch.need(&Source::Text(source.to_owned()))
}

fn is_in(touch: &Touch, target: &str) -> bool {
    touch.is_in(&Translated::Text { text: target.to_owned(), source_sha256: [0; 32] })
}

#[test]
fn a_term_touches_sources_that_have_it() {
    let touch = Touch::of(&terms(TermPlace::Source, Some("de"), &["Straße"]), "de-AT");
    assert_eq!(need(&touch, "the STRASSE is long"), Need::Always);
    assert_eq!(need(&touch, "the street is long"), Need::None);
    let plural = Source::Forms(vec![(1, "one".into()), (5, "many straßen".into())]);
    assert_eq!(touch.need(&plural), Need::Always);
    assert_eq!(Touch::of(&terms(TermPlace::Source, Some("de"), &["x"]), "fr"), Touch::Nothing);
    assert_ne!(Touch::of(&terms(TermPlace::Source, None, &["x"]), "fr"), Touch::Nothing);
}

#[test]
fn what_is_forbidden_touches_targets_and_what_stays_both() {
    let forbidden = Touch::of(&terms(TermPlace::Target, None, &["Öl"]), "de");
    assert_eq!(need(&forbidden, "Öl"), Need::IfTarget);
    assert!(is_in(&forbidden, "das öl ist da"));
    assert!(!is_in(&forbidden, "das Ol ist da"));
    let stays = Touch::of(&terms(TermPlace::Both, None, &["Quick Start"]), "de");
    assert_eq!(need(&stays, "a quick one"), Need::Always);
    assert_eq!(need(&stays, "slow"), Need::IfTarget);
    assert!(is_in(&stays, "der Start"));
    let signs = Touch::of(&terms(TermPlace::Both, None, &["++"]), "de");
    assert_eq!((need(&signs, "C++"), need(&signs, "C")), (Need::Always, Need::IfTarget));
}

#[test]
fn registers_touch_their_language_and_many_terms_everything() {
    assert_eq!(Touch::of(&Cause::Register(Some("de".into())), "de-AT"), Touch::Everything);
    assert_eq!(Touch::of(&Cause::Register(Some("de".into())), "fr"), Touch::Nothing);
    assert_eq!(Touch::of(&Cause::Register(None), "fr"), Touch::Everything);
    let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(Touch::of(&terms(TermPlace::Source, None, &many), "fr"), Touch::Everything);
    assert!(is_in(&Touch::Everything, "") && !is_in(&Touch::Nothing, ""));
}
