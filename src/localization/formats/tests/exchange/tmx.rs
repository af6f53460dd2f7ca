//! TMX: what is written is read as it was, and others' documents are read as what they say.

use proptest::prelude::*;

use super::{refused, soon};
use crate::formats::ReadError;
use crate::formats::tmx::{TmxPair, TmxReader, TmxUnit, TmxWriter};

fn read(document: &str) -> Result<Vec<TmxUnit>, ReadError> {
    let mut reader = TmxReader::begin(document.as_bytes(), soon())?;
    let mut units = Vec::new();
    while let Some(unit) = reader.next_unit()? {
        units.push(unit);
    }
    Ok(units)
}

/// Units as `language=text|…`, `-` for a text that is not known.
fn shown(document: &str) -> Vec<String> {
    let units = read(document).unwrap_or_else(|error| panic!("{document}: {error}"));
    let show = |unit: &TmxUnit| {
        let variants =
            unit.variants.iter().map(|one| format!("{}={}", one.language, one.text.as_deref().unwrap_or("-")));
        variants.collect::<Vec<_>>().join("|")
    };
    units.iter().map(show).collect()
}

#[test]
fn units() {
    let body = |inside: &str| {
        format!("<!DOCTYPE tmx SYSTEM 'tmx14.dtd'><tmx version='1.4'><header/><body>{inside}</body></tmx>")
    };
    for (inside, expected) in [
        ("<tu><tuv xml:lang='en'><seg>A</seg></tuv><tuv xml:lang='de'><seg> B\n</seg></tuv></tu>", "en=A|de= B\n"),
        ("<tu><prop type='x'>p</prop><note>n</note><tuv lang='en'><prop>x</prop><seg>A</seg></tuv></tu>", "en=A"),
        ("<tu><tuv><seg>A<hi>b</hi><bpt i='1'>&lt;b></bpt>c<ept i='1'>&lt;/b></ept></seg></tuv></tu>", "=Ab<b>c</b>"),
        ("<tu><tuv xml:lang='en'><seg>A<ph x='1'/></seg></tuv></tu>", "en=-"),
        (
            "<tu><tuv xml:lang='en'><seg>A<ph x='1'>{<sub>0</sub>}</ph><it pos='begin'>i</it></seg></tuv></tu>",
            "en=A{0}i",
        ),
        ("<tu><tuv xml:lang='en'/></tu>", "en=-"),
        ("<tu><tuv xml:lang='en'><seg/></tuv></tu>", "en="),
        ("<tu/>", ""),
    ] {
        assert_eq!(shown(&body(inside)), [expected], "{inside}");
    }
    assert_eq!(refused(read("<xliff/>").unwrap_err()), "malformed 1:1");
    assert_eq!(refused(read("<tmx xmlns='urn:x'/>").unwrap_err()), "malformed 1:1");
    assert_eq!(shown("<tmx xmlns='http://www.lisa.org/tmx14'><body><tu/></body></tmx>"), [""]);
    let many = body(&"<tu><tuv/></tu>".repeat(400_001));
    assert!(refused(read(&many).unwrap_err()).starts_with("too_many_units"));
    // More than is kept of one unit.
    let text = format!("<tuv><seg>{}</seg></tuv>", "x".repeat(3 << 20));
    assert_eq!(read(&body(&format!("<tu>{text}</tu>").repeat(2))).unwrap().len(), 2);
    for large in [text.repeat(2), "<tuv/>".repeat(100_000)] {
        assert!(refused(read(&body(&format!("<tu>{large}"))).unwrap_err()).starts_with("unsupported_construct"));
    }
}

fn written(pairs: &[(String, String)]) -> String {
    let mut document = String::new();
    let mut writer = TmxWriter::begin(&mut document, "en");
    for (source, target) in pairs {
        writer.unit(&mut document, &TmxPair { source_language: "en", source, target_language: "de-x-a", target });
    }
    writer.end(&mut document);
    document
}

#[test]
fn what_xml_cannot_hold_is_left_out() {
    let pair = |source: &str, target: &str| (source.to_owned(), target.to_owned());
    let document = written(&[pair("a", "\u{1}"), pair("\u{2}", "b"), pair(" c\r", "d\t")]);
    assert_eq!(shown(&document), ["en= c\r|de-x-a=d\t"]);
    assert!(document.contains("<!-- 2 are left out: XML cannot hold their control characters -->"), "{document}");
}

proptest! {
    #[test]
    fn our_reader_reads_what_our_writer_writes(pairs in proptest::collection::vec((any::<String>(), "[<>&;\\]'\"\t\r\n]{0,9}"), 0..6)) {
        let expected: Vec<String> = pairs.iter().filter(|(source, _)| crate::formats::xml::is_writable(source))
            .map(|(source, target)| format!("en={source}|de-x-a={target}")).collect();
        prop_assert_eq!(shown(&written(&pairs)), expected);
    }
}
