//! XLIFF: what is written is read as it was, and others' documents are read as what they say.

use proptest::prelude::*;

use super::{refused, soon};
use crate::formats::ReadError;
use crate::formats::xliff::{File, Pair, Progress, Said, Unit, UnitReader, Version, Writer, Written, WrittenUnit};

fn read(document: &str) -> Result<(Version, Vec<Unit>), ReadError> {
    let mut reader = UnitReader::begin(document.as_bytes(), soon())?;
    let mut units = Vec::new();
    while let Some(unit) = reader.next_unit()? {
        units.push(unit);
    }
    Ok((reader.version(), units))
}

/// Units as `id|source|target`, `-` for no target, `!` behind what has a code without text.
fn shown(document: &str) -> Vec<String> {
    let said = |said: &Said| format!("{}{}", said.text, if said.has_bare_code { "!" } else { "" });
    let (_, units) = read(document).unwrap_or_else(|error| panic!("{document}: {error}"));
    let target = |unit: &Unit| unit.target.as_ref().map_or("-".to_owned(), said);
    units.iter().map(|unit| format!("{}|{}|{}", unit.id, said(&unit.source), target(unit))).collect()
}

fn first(inside: &str) -> String {
    format!(
        "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'><file original='f' source-language='en' \
         target-language='de' datatype='x'><body>{inside}</body></file></xliff>"
    )
}

fn second(inside: &str) -> String {
    format!(
        "<xliff version='2.0' xmlns='urn:oasis:names:tc:xliff:document:2.0' srcLang='en' trgLang='de'>\
         <file id='f'>{inside}</file></xliff>"
    )
}

fn written(version: Version, units: &[WrittenUnit<'_>]) -> String {
    let mut document = String::new();
    let file = File { id: "f1", path: "a/b \"c\".json", source_language: "en", target_language: "de" };
    let mut writer = Writer::begin(&mut document, version, &file);
    for unit in units {
        writer.unit(&mut document, unit);
    }
    writer.end(&mut document);
    document
}

fn text<'u>(id: &'u str, source: &'u str, target: Option<&'u str>) -> WrittenUnit<'u> {
    let content = Written::Text(Pair { source, target });
    WrittenUnit { id, path: "a.b", note: None, progress: Progress::Draft, content }
}

#[test]
fn units_of_1() {
    let unit = |inside: &str| first(&format!("<trans-unit id='u'>{inside}</trans-unit>"));
    for (inside, expected) in [
        ("<source>A</source><target>B</target>", "u|A|B"),
        ("<source>A</source>", "u|A|-"),
        ("<source>A</source><target/>", "u|A|"),
        ("<source> A\n </source><target xml:space='preserve'> \t</target>", "u| A\n | \t"),
        ("<source>A</source><alt-trans><source>X</source><target>Y</target></alt-trans>", "u|A|-"),
        ("<source>A</source><target>B</target><alt-trans><target>Y</target></alt-trans><note>n</note>", "u|A|B"),
        ("<source>a<ph id='1'>{0}</ph>b</source><target>b<it id='2' pos='open'>&lt;i></it></target>", "u|a{0}b|b<i>"),
        ("<source><bpt id='1'>&lt;b></bpt>x<ept id='1'>&lt;/b></ept></source>", "u|<b>x</b>|-"),
        ("<source><g id='1'>x<g id='2'>y</g></g></source><target><mrk mtype='seg'>B</mrk></target>", "u|xy|B"),
        ("<source>A</source><target>a<x id='1'/>b</target>", "u|A|ab!"),
        ("<source>A</source><target>a<bx id='1'/>b<ex id='1'/></target>", "u|A|ab!"),
        ("<source>A</source><target>a<ph id='1'/></target>", "u|A|a!"),
        ("<source>A</source><target>a<ph id='1'>c<sub>d</sub></ph></target>", "u|A|acd"),
        ("<source>A</source><target>a<y:z xmlns:y='u'>b</y:z></target>", "u|A|ab!"),
        ("<source>A</source><y:target xmlns:y='u'>b</y:target>", "u|A|-"),
        ("<source>A</source><seg-source>X</seg-source><target><![CDATA[<&]]>&amp;<!-- - --></target>", "u|A|<&&"),
    ] {
        assert_eq!(shown(&unit(inside)), [expected], "{inside}");
    }
    let grouped = "<group><note/><group><trans-unit id='a'><source/></trans-unit></group></group>\
                   <bin-unit id='b'><bin-source/></bin-unit><trans-unit><source>x</source></trans-unit>";
    assert_eq!(shown(&first(grouped)), ["a||-", "|x|-"]);
}

#[test]
fn units_of_2() {
    let unit = |inside: &str| second(&format!("<unit id='u'>{inside}</unit>"));
    for (inside, expected) in [
        ("<segment><source>A</source><target>B</target></segment>", "u|A|B"),
        ("<segment><source>A</source></segment>", "u|A|-"),
        (
            "<segment><source>A.</source><target>B.</target></segment><ignorable><source> </source></ignorable>\
          <segment><source>C</source><target>D</target></segment>",
            "u|A. C|B. D",
        ),
        ("<segment><source>A</source><target>B</target></segment><segment><source>C</source></segment>", "u|AC|-"),
        (
            "<segment><source>A</source><target order='2'>B</target></segment>\
          <segment><source>C</source><target order='1'>D</target></segment>",
            "u|AC|DB",
        ),
        ("<ignorable><source>A</source></ignorable>", "u|A|-"),
        ("<notes><note>n</note></notes><segment><source>A</source></segment>", "u|A|-"),
        ("<segment><source>a<ph id='1'/></source></segment>", "u|a!|-"),
        (
            "<originalData><data id='d'>{0}</data></originalData><segment><source>a<ph id='1' dataRef='d'/></source>\
          <target><ph id='1' dataRef='e'/></target></segment>",
            "u|a{0}|!",
        ),
        (
            "<originalData><data id='o'>&lt;b></data><data id='c'>&lt;/b></data></originalData><segment>\
          <source><pc id='1' dataRefStart='o' dataRefEnd='c'>x<pc id='2'>y</pc></pc></source>\
          <target><sc id='1' dataRef='o'/>x<ec startRef='1' dataRef='c'/></target></segment>",
            "u|<b>xy</b>!|<b>x</b>",
        ),
        (
            "<segment><source><mrk id='m' type='term'>a</mrk>b<sm id='1'/>c<em startRef='1'/></source></segment>",
            "u|abc|-",
        ),
        (
            "<segment><source>a<cp hex='0001'/><cp hex='1F'/></source><target><cp hex='x'/></target></segment>",
            "u|a\u{1}\u{1f}|!",
        ),
        (
            "<m:matches xmlns:m='u'><m:match><source>X</source></m:match></m:matches><segment><source>A</source></segment>",
            "u|A|-",
        ),
    ] {
        assert_eq!(shown(&unit(inside)), [expected], "{inside}");
    }
    let grouped =
        "<notes><note>n</note></notes><group id='g'><unit id='a'><segment><source>x</source></segment></unit></group>";
    assert_eq!(shown(&second(grouped)), ["a|x|-"]);
}

#[test]
fn versions_and_languages_are_the_documents_own() {
    let begin = |document: &str| {
        let reader = UnitReader::begin(document.as_bytes(), soon()).unwrap_or_else(|error| panic!("{error}"));
        let languages = reader.languages().clone();
        (reader.version(), languages.source.unwrap_or_default(), languages.target.unwrap_or_default())
    };
    let told = |version, source: &str, target: &str| (version, source.to_owned(), target.to_owned());
    assert_eq!(begin(&first("")), told(Version::V1, "en", "de"));
    assert_eq!(begin(&second("")), told(Version::V2, "en", "de"));
    assert_eq!(begin("<xliff version='1.1'><file source-language='en'/></xliff>"), told(Version::V1, "en", ""));
    assert_eq!(begin("<xliff version='1.2'/>"), told(Version::V1, "", ""));
    let prefixed = first("<trans-unit id='u'><source>a</source></trans-unit>");
    let prefixed =
        prefixed.replace("</", "</x:").replace('<', "<x:").replace("<x:/x:", "</x:").replace("xmlns=", "xmlns:x=");
    assert_eq!(begin(&prefixed), told(Version::V1, "en", "de"));
    assert_eq!(shown(&prefixed), ["u|a|-"]);
    let two = |target: &str| {
        format!(
            "<xliff version='1.2'><file source-language='en' target-language='de'><body><trans-unit id='a'/></body></file>\
                 <file source-language='en' target-language='{target}'><body><trans-unit id='b'/></body></file></xliff>"
        )
    };
    assert_eq!(shown(&two("de")), ["a||-", "b||-"]);
    assert!(refused(read(&two("fr")).unwrap_err()).starts_with("unsupported_construct 1:"));
    for (document, expected) in [
        ("<tmx version='1.4'/>", "malformed 1:1"),
        ("<xliff version='1.2' xmlns='urn:x'/>", "malformed 1:1"),
        ("<xliff version='1.0'/>", "unsupported_construct 1:1"),
        ("\n<xliff/>", "unsupported_construct 2:1"),
        ("<xliff version='2.0' xmlns='urn:oasis:names:tc:xliff:document:1.2'/>", "unsupported_construct 1:1"),
        ("<xliff version='2.0'/>", "unsupported_construct 1:1"),
        ("<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:2.0'/>", "unsupported_construct 1:1"),
        ("<xliff version='3.0' xmlns='urn:oasis:names:tc:xliff:document:2.0'/>", "unsupported_construct 1:1"),
        ("<xliff version='1.2'><file><body></file></xliff>", "malformed 1:34"),
    ] {
        assert_eq!(refused(read(document).unwrap_err()), expected, "{document}");
    }
}

#[test]
fn texts_of_codes_that_are_named_without_end_are_refused() {
    let code = "x".repeat(1 << 20);
    let named = "<ph id='1' dataRef='d'/>".repeat(60);
    let document = second(&format!(
        "<unit id='u'><originalData><data id='d'>{code}</data></originalData><segment><source>{named}</source></segment></unit>"
    ));
    assert!(refused(read(&document).unwrap_err()).starts_with("unsupported_construct 1:"));
}

#[test]
fn no_more_is_kept_of_a_unit_than_any_has() {
    let text = |bytes: usize| "x".repeat(bytes);
    let parts = |source: usize, target: usize| {
        format!("<trans-unit><source>{}</source><target>{}</target></trans-unit>", text(source), text(target))
    };
    assert_eq!(read(&first(&parts(2_000_000, 2_000_000).repeat(2))).unwrap().1.len(), 2);
    // What is passed over is not kept.
    let skipped = format!("<trans-unit><note>{}</note><source>a</source></trans-unit>", text(9_000_000));
    assert_eq!(shown(&first(&skipped)), ["|a|-"]);
    let unit = |inside: String| second(&format!("<unit id='u'>{inside}"));
    for document in [
        first(&parts(2_200_000, 2_200_000)),
        first(&format!("<trans-unit><source>{}", "&amp;".repeat(5_000_000))),
        unit("<segment/>".repeat(100_000)),
        unit("<segment><source>x</source></segment>".repeat(100_000)),
        unit(format!("<originalData>{}", "<data id='1'/>".repeat(100_000))),
        unit(format!("<originalData>{}", format!("<data id='{}'>x</data>", text(900_000)).repeat(5))),
    ] {
        assert!(refused(read(&document).unwrap_err()).starts_with("unsupported_construct 1:"), "{document:.100}");
    }
}

#[test]
fn too_many_units_are_refused() {
    let document = first(&"<trans-unit/>".repeat(200_001));
    assert!(refused(read(&document).unwrap_err()).starts_with("too_many_units 1:"));
}

#[test]
fn what_is_written_says_what_it_should() {
    let plural = Written::Plural(vec![
        ("one", Pair { source: "a file", target: Some("eine Datei") }),
        ("other", Pair { source: "{n} files", target: Some("{n} Dateien") }),
    ]);
    let units = [
        WrittenUnit { note: Some("a <note>"), progress: Progress::Approved, ..text("k1", " A\r\n]]>", Some("\tB&")) },
        WrittenUnit { id: "k2", path: "p", note: None, progress: Progress::Outdated, content: plural },
        text("k3", "C", None),
    ];
    let document = written(Version::V1, &units);
    for part in [
        "<file original=\"a/b &quot;c&quot;.json\" source-language=\"en\" target-language=\"de\" datatype=\"plaintext\">",
        "<trans-unit id=\"k1\" resname=\"a.b\" approved=\"yes\">\n<source xml:space=\"preserve\"> A&#13;\n]]&gt;</source>\n",
        "<target xml:space=\"preserve\" state=\"final\">\tB&amp;</target>\n<note>a &lt;note&gt;</note>\n</trans-unit>",
        "<group id=\"k2\" resname=\"p\">\n<trans-unit id=\"k2.one\" resname=\"p\">",
        "<trans-unit id=\"k3\" resname=\"a.b\">\n<source xml:space=\"preserve\">C</source>\n</trans-unit>",
    ] {
        assert!(document.contains(part), "{part} in {document}");
    }
    let read = ["k1| A\r\n]]>|\tB&", "k2.one|a file|eine Datei", "k2.other|{n} files|{n} Dateien", "k3|C|-"];
    assert_eq!(shown(&document), read);
    let document = written(Version::V2, &units);
    for part in [
        "<xliff version=\"2.1\" xmlns=\"urn:oasis:names:tc:xliff:document:2.0\" srcLang=\"en\" trgLang=\"de\">\n<file id=\"f1\"",
        "<unit id=\"k1\" name=\"a.b\">\n<notes><note>a &lt;note&gt;</note></notes>\n<segment state=\"final\">",
        "<segment>\n<source xml:space=\"preserve\">C</source>\n</segment>",
    ] {
        assert!(document.contains(part), "{part} in {document}");
    }
    assert_eq!(shown(&document), read);
}

/// XML 1.0 has no way to say U+0001.
#[test]
fn control_characters() {
    let forms = |one, other| {
        Written::Plural(vec![
            ("one", Pair { source: "x", target: Some(one) }),
            ("other", Pair { source: "y", target: Some(other) }),
        ])
    };
    let units = [
        text("a", "\u{1}", Some("A")),
        text("b", "B", Some("\u{1f}\u{ffff}")),
        WrittenUnit { content: forms("1", "\u{b}"), ..text("c", "", None) },
        WrittenUnit { path: "\u{2}", note: Some("\u{3}"), ..text("d", "D", Some("d")) },
    ];
    let document = written(Version::V1, &units);
    assert_eq!(shown(&document), ["b|B|-", "c.one|x|-", "c.other|y|-", "d|D|d"]);
    assert!(document.contains("<!-- 1 are left out: XLIFF 1.2 cannot hold"), "{document}");
    assert!(document.contains("<!-- 2 are without their targets: "), "{document}");
    assert!(document.contains("<trans-unit id=\"d\">") && !document.contains("<note>"), "{document}");
    let document = written(Version::V2, &units);
    assert_eq!(shown(&document), ["a|\u{1}|A", "b|B|\u{1f}\u{ffff}", "c.one|x|1", "c.other|y|\u{b}", "d|D|d"]);
    assert!(document.contains("<cp hex=\"0001\"/>") && !document.contains("<!--"), "{document}");
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(any::<char>(), 0..20).prop_map(String::from_iter),
        "[<>&;\\]\\[!\\-'\" \t\r\n#x0-9a]{0,30}",
        "[\u{0}-\u{20}\u{7f}-\u{a0}\u{2028}\u{feff}\u{fffd}-\u{10000}]{0,12}",
    ]
}

proptest! {
    #[test]
    fn our_reader_reads_what_our_writer_writes(
        pairs in proptest::collection::vec((any_text(), proptest::option::of(any_text()), any_text()), 0..6)
    ) {
        for version in [Version::V1, Version::V2] {
            let ids: Vec<String> = (0..pairs.len()).map(|number| format!("k{number}")).collect();
            let units: Vec<WrittenUnit<'_>> = pairs.iter().zip(&ids).map(|((source, target, path), id)| {
                WrittenUnit { path, note: Some(path), ..text(id, source, target.as_deref()) }
            }).collect();
            let (found, read) = read(&written(version, &units)).unwrap();
            prop_assert_eq!(found, version);
            let holds = |text: &str| version == Version::V2 || crate::formats::xml::is_writable(text);
            let expected: Vec<Unit> = pairs.iter().zip(&ids).filter(|((source, ..), _)| holds(source)).map(|((source, target, _), id)| {
                let said = |text: &str| Said { text: text.to_owned(), has_bare_code: false };
                let target = target.as_deref().filter(|target| holds(target)).map(said);
                Unit { id: id.clone(), source: said(source), target }
            }).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
