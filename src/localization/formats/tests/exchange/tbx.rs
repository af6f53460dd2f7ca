//! TBX: what is written is read as it was, and both dialects are read.

use proptest::prelude::*;

use super::{refused, soon};
use crate::formats::ReadError;
use crate::formats::tbx::{Concept, TbxReader, Term, begin_tbx, end_tbx, push_concept};

fn read(document: &str) -> Result<Vec<Concept>, ReadError> {
    let mut reader = TbxReader::begin(document.as_bytes(), soon())?;
    let mut concepts = Vec::new();
    while let Some(concept) = reader.next_concept()? {
        concepts.push(concept);
    }
    Ok(concepts)
}

/// Concepts as `language=term|…`, `!` behind what is forbidden, `#` before a note.
fn shown(document: &str) -> Vec<String> {
    let show = |concept: &Concept| {
        let terms = concept
            .terms
            .iter()
            .map(|term| format!("{}={}{}", term.language, term.text, if term.is_forbidden { "!" } else { "" }));
        let note = concept.note.iter().map(|note| format!("#{note}"));
        terms.chain(note).collect::<Vec<_>>().join("|")
    };
    read(document).unwrap_or_else(|error| panic!("{document}: {error}")).iter().map(show).collect()
}

#[test]
fn both_dialects() {
    let old = "<!DOCTYPE martif SYSTEM 'TBXcoreStructV02.dtd'><martif type='TBX' xml:lang='en'><martifHeader><p>x</p></martifHeader>\
        <text><front/><body><termEntry id='c1'><descrip type='subjectField'>x</descrip><note>N</note>\
        <langSet xml:lang='en'><descripGrp><descrip type='definition'>d</descrip><note>not this</note></descripGrp>\
        <tig><term>file</term><termNote type='partOfSpeech'>noun</termNote></tig></langSet>\
        <langSet xml:lang='de'><note>nor this</note><ntig><termGrp><term>Da<hi>tei</hi></term>\
        <termNote type='administrativeStatus'>preferredTerm-admn-sts</termNote></termGrp></ntig>\
        <tig><term>File</term><termNote type='administrativeStatus'>deprecatedTerm-admn-sts</termNote></tig></langSet>\
        </termEntry></body></text></martif>";
    assert_eq!(shown(old), ["en=file|de=Datei|de=File!|#N"]);
    let new = "<tbx type='TBX-Basic' style='dca' xml:lang='en' xmlns='urn:iso:std:iso:30042:ed-2' \
        xmlns:min='http://www.tbxinfo.net/ns/min'><tbxHeader/><text><body><conceptEntry id='1'>\
        <langSec xml:lang='en'><termSec><term>file</term></termSec></langSec>\
        <langSec xml:lang='de'><termSec><term>File</term><termNote type='administrativeStatus'>deprecatedTerm-admn-sts</termNote>\
        </termSec><termSec><term>Akte</term><min:administrativeStatus>deprecatedTerm-admn-sts</min:administrativeStatus>\
        <note>only here</note></termSec></langSec></conceptEntry></body></text></tbx>";
    assert_eq!(shown(new), ["en=file|de=File!|de=Akte!|#only here"]);
    assert_eq!(refused(read("<tmx/>").unwrap_err()), "malformed 1:1");
    assert_eq!(refused(read("<tbx xmlns='urn:x'/>").unwrap_err()), "malformed 1:1");
    let body = |inside: &str| format!("<martif><text><body>{inside}");
    let many = body(&"<termEntry><langSet><tig><term/></tig></langSet></termEntry>".repeat(200_001));
    assert!(refused(read(&many).unwrap_err()).starts_with("too_many_units"));
    // More than is kept of one concept.
    for piece in ["<langSet><tig><term/></tig></langSet>", "<note/>"] {
        let large = body(&format!("<termEntry>{}", piece.repeat(100_000)));
        assert!(refused(read(&large).unwrap_err()).starts_with("unsupported_construct"), "{piece}");
    }
}

fn written(concepts: &[Concept]) -> String {
    let mut document = String::new();
    begin_tbx(&mut document, "en");
    for (number, concept) in concepts.iter().enumerate() {
        push_concept(&mut document, &number.to_string(), concept);
    }
    end_tbx(&mut document);
    document
}

#[test]
fn a_note_that_xml_cannot_hold_is_left_out() {
    let term = Term { language: "en".into(), text: "a".into(), is_forbidden: false };
    let concept = Concept { terms: vec![term], note: Some("\u{1}".into()), locale: None };
    assert_eq!(shown(&written(&[concept])), ["en=a"]);
}

fn term() -> impl Strategy<Value = Term> {
    ("[a-z]{2}(-[A-Z]{2})?", "[ -\u{d7ff}]{1,20}", any::<bool>()).prop_map(|(language, text, is_forbidden)| Term {
        language,
        text,
        is_forbidden,
    })
}

proptest! {
    #[test]
    fn our_reader_reads_what_our_writer_writes(concepts in proptest::collection::vec(
        (proptest::collection::vec(term(), 0..4), proptest::option::of("[\t-\r -\u{d7ff}]{0,20}"), proptest::option::of("[a-z]{2}"))
            .prop_map(|(terms, note, locale)| {
                let note = note.filter(|note| crate::formats::xml::is_writable(note));
                Concept { terms, note, locale }
            }),
        0..5,
    )) {
        prop_assert_eq!(read(&written(&concepts)).unwrap(), concepts);
    }
}
