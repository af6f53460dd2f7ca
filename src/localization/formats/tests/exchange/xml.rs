//! What XML is, and what it is not.

use std::time::Instant;

use super::{refused, soon};
use crate::formats::xml::{Namespace, ReadError, Reader, Token};

const KNOWN: &[&str] = &["urn:known"];

/// All tokens, shown; texts that follow one another are joined.
fn shown(bytes: &[u8]) -> Result<String, ReadError> {
    let mut reader = Reader::new(bytes, KNOWN, soon());
    let mut shown = String::new();
    loop {
        match reader.next()? {
            Token::Start => {
                let tag = reader.tag();
                let space = match tag.namespace() {
                    Namespace::None => "",
                    Namespace::Known(_) => "known:",
                    Namespace::Other => "other:",
                };
                shown += &format!("<{space}{}", tag.local());
                for name in ["a", "b", "xml:lang", "p:a"] {
                    if let Some(value) = tag.attribute(name) {
                        shown += &format!(" {name}={value:?}");
                    }
                }
                shown.push('>');
            }
            Token::End => shown.push('/'),
            Token::Text => {
                reader.begin_unit();
                reader.say_into(&mut shown)?;
            }
            Token::Over => return Ok(shown),
        }
    }
}

fn refusal(bytes: impl AsRef<[u8]>) -> String {
    match shown(bytes.as_ref()) {
        Ok(shown) => panic!("{:?} says {shown}", String::from_utf8_lossy(bytes.as_ref())),
        Err(error) => refused(error),
    }
}

#[test]
fn documents_are_read_as_what_they_say() {
    for (document, expected) in [
        ("<a/>", "<a>/"),
        ("\u{feff}<?xml version=\"1.0\"?>\n<a></a>\n", "<a>/"),
        ("<?xml version='1.1' encoding='utf-8' standalone = 'yes' ?><a/>", "<a>/"),
        ("<!-- c --><?p i?><!DOCTYPE a SYSTEM 'x.dtd' [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a/><!-- -->", "<a>/"),
        ("<a>x<![CDATA[<&]]>&amp;&#65;&#x42;<!-- y -->z<?p?></a>", "<a>x<&&ABz/"),
        ("<a>1\r\n2\r3\n4&#13;5</a>", "<a>1\n2\n3\n4\r5/"),
        ("<a>\r<![CDATA[\n\r\n]]></a>", "<a>\n\n\n/"),
        ("<a a='1\t2\r\n3&#10;4' b = \"'&quot;&lt;\"  />", "<a a=\"1 2 3\\n4\" b=\"'\\\"<\">/"),
        ("<x:a xmlns:x='urn:known' x:a='1' xml:lang='de'><b/><x:c/></x:a>", "<known:a xml:lang=\"de\"><b>/<known:c>//"),
        (
            "<a xmlns='urn:known'><b xmlns=''><c/></b><d xmlns='urn:x'/><e/></a>",
            "<known:a><b><c>//<other:d>/<known:e>//",
        ),
        ("<p:a xmlns:p='urn:x'><b xmlns:p='urn:known'><p:c/></b><p:d/></p:a>", "<other:a><b><known:c>//<other:d>//"),
        ("<a>]] ></a>", "<a>]] >/"),
        ("<a><![CDATA[]]]]><![CDATA[>]]></a>", "<a>]]>/"),
        ("<日本 a='é'>😀</日本>", "<日本 a=\"é\">😀/"),
    ] {
        assert_eq!(shown(document.as_bytes()).unwrap_or_else(|error| panic!("{document}: {error}")), expected);
        // Whatever says nothing of UTF-8 may be UTF-16.
        if !document.contains("utf-8") {
            let utf16 = document.trim_start_matches('\u{feff}').encode_utf16().flat_map(u16::to_be_bytes);
            let utf16: Vec<u8> = b"\xFE\xFF".iter().copied().chain(utf16).collect();
            assert_eq!(shown(&utf16).unwrap(), expected, "{document}");
        }
    }
    let utf16 = |text: &str| [b"\xFF\xFE".to_vec(), text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat();
    assert_eq!(shown(&utf16("<?xml version='1.0' encoding='UTF-16'?><a>ä😀</a>")).unwrap(), "<a>ä😀/");
}

#[test]
fn what_is_not_well_formed_is_refused_where_it_is_not() {
    for (document, expected) in [
        ("", "malformed 1:1"),
        ("  \n", "malformed 2:1"),
        ("x", "malformed 1:1"),
        ("<a>", "malformed 1:4"),
        ("<a>\n<b>\n</a>", "malformed 3:1"),
        ("<a/><b/>", "malformed 1:5"),
        ("<a/>\n  x", "malformed 2:3"),
        ("<a/>&amp;", "malformed 1:5"),
        ("<a/><![CDATA[x]]>", "malformed 1:5"),
        ("&amp;<a/>", "malformed 1:1"),
        ("</a>", "malformed 1:1"),
        ("< a/>", "malformed 1:2"),
        ("<a / >", "malformed 1:4"),
        ("<a b/>", "malformed 1:5"),
        ("<a b=c/>", "malformed 1:6"),
        ("<a b='c/>", "malformed 1:1"),
        ("<a b='1'c='2'/>", "malformed 1:9"),
        ("<a b='1' b='2'/>", "malformed 1:10"),
        ("<a b='<'/>", "malformed 1:7"),
        ("<a b='&x;'/>", "malformed 1:7"),
        ("<a b='x&#1;'/>", "malformed 1:8"),
        ("<a><b></a></b>", "malformed 1:7"),
        ("<a>&</a>", "malformed 1:4"),
        ("<a>&x;</a>", "malformed 1:4"),
        ("<a>é&nbsp;</a>", "malformed 1:5"),
        ("<a>&#0;</a>", "malformed 1:4"),
        ("<a>x\u{1}</a>", "malformed 1:5"),
        ("<a>\u{ffff}</a>", "malformed 1:4"),
        ("<a>x]]>y</a>", "malformed 1:5"),
        ("<a><![CDATA[\u{1}]]></a>", "malformed 1:13"),
        ("<a><![CDATA[</a>", "malformed 1:4"),
        ("<a><!-- x -- y --></a>", "malformed 1:4"),
        ("<a><!-- x ---></a>", "malformed 1:4"),
        ("<a><!-- \u{2} --></a>", "malformed 1:9"),
        ("<a><!-- </a>", "malformed 1:4"),
        ("<a><?xml version='1.0'?></a>", "malformed 1:4"),
        ("<a><?XML x?></a>", "malformed 1:4"),
        ("<a><??></a>", "malformed 1:4"),
        (" <?xml version='1.0'?><a/>", "malformed 1:2"),
        ("<?xml?><a/>", "malformed 1:1"),
        ("<?xml encoding='utf-8'?><a/>", "malformed 1:1"),
        ("<?xml version='2.0'?><a/>", "malformed 1:1"),
        ("<?xml version='1.0' standalone='maybe'?><a/>", "malformed 1:1"),
        ("<?xml version='1.0'encoding='utf-8'?><a/>", "malformed 1:1"),
        ("<a/><!DOCTYPE a>", "malformed 1:5"),
        ("<!DOCTYPE a><!DOCTYPE a><a/>", "malformed 1:13"),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "malformed 1:34"),
        ("<x:a/>", "malformed 1:2"),
        ("<a x:b='1'/>", "malformed 1:4"),
        ("<a xmlns:x=''/>", "malformed 1:4"),
        ("<a:b:c xmlns:a='u'/>", "malformed 1:2"),
        ("<1/>", "malformed 1:2"),
        ("<a>\u{feff}</a>x", "malformed 1:9"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "encoding_invalid 1:1"),
        ("<?xml version='1.0' encoding='utf-16'?><a/>", "encoding_invalid 1:1"),
        ("<!>", "malformed 1:1"),
        ("<![", "malformed 1:1"),
    ] {
        assert_eq!(refusal(document), expected, "{document:?}");
    }
    assert_eq!(refusal(b"<a>\n\xE9</a>"), "encoding_invalid 2:1");
    assert_eq!(refusal(b"<a b='x\xFF'/>"), "encoding_invalid 1:8");
    assert_eq!(refusal(b"<\0a\0/\0>\0"), "encoding_invalid 1:1");
    assert_eq!(refusal(b"\xFF\xFE<\0a\0/"), "encoding_invalid 1:3");
}

#[test]
fn nothing_hostile_takes_long_or_much() {
    let deep = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert!(shown(deep(64).as_bytes()).is_ok());
    assert_eq!(refusal(deep(65)), "malformed 1:193");
    let laughs: String =
        (1..30).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    let laughs = format!("<!DOCTYPE a [<!ENTITY l0 'ha'>{laughs}]><a>&l29;</a>");
    assert_eq!(refusal(&laughs), format!("malformed 1:{}", laughs.find("&l29;<").unwrap() + 1));
    let large = "x".repeat(8 << 20);
    // A mebibyte, counted from the bracket that begins the tag to the one that ends it.
    let longest = "x".repeat((1 << 20) - "<a b=''/".len());
    assert!(shown(format!("<a b='{longest}'/>").as_bytes()).is_ok());
    assert_eq!(refusal(format!("<a>\n<a b='{longest}x'/></a>")), "unsupported_construct 2:1");
    assert_eq!(refusal(format!("<a b='{large}'/>")), "unsupported_construct 1:1");
    assert!(shown(format!("<a><!--{large}-->{large}</a>").as_bytes()).is_ok());
    assert!(shown(format!("<!DOCTYPE a [{}]><a/>", "<!ENTITY e 'x'>".repeat(1 << 16)).as_bytes()).is_ok());
    assert_eq!(
        refusal(format!("<!DOCTYPE a [{}]><a/>", "<!ENTITY e 'x'>".repeat(1 << 17))),
        "unsupported_construct 1:1"
    );
    assert_eq!(refusal(format!("<?{large}?><a/>")), "unsupported_construct 1:1");
    assert_eq!(refusal(format!("<{large}>")), "unsupported_construct 1:1");
    assert_eq!(refusal(format!("<a></{large}>")), "unsupported_construct 1:4");
    assert_eq!(refusal(format!("<a>&{large};</a>")), "unsupported_construct 1:4");
    assert!(refusal(format!("<{}>", "x".repeat(1 << 19))).starts_with("malformed"));
    assert!(refusal(format!("<a{}>", " a='1'".repeat(1 << 18))).starts_with("unsupported_construct"));
    let many: String = (0..100_000).map(|n| format!(" a{n}='1'")).collect();
    assert!(refusal(format!("<a{many}>")).starts_with("unsupported_construct"));
    let some: String = (0..1_000).map(|n| format!(" a{n}='1'")).collect();
    assert!(shown(format!("<a>{}</a>", format!("<b{some}/>").repeat(500)).as_bytes()).is_ok());
    let declared: String = (0..101).map(|n| format!(" xmlns:p{n}='u'")).collect();
    assert!(refusal(format!("<a{declared}/>")).starts_with("unsupported_construct"));
    assert!(refusal(format!("<a>{}", "&amp".repeat(1 << 20))).starts_with("malformed"));
    assert!(shown(format!("<a>{}</a>", "&amp;".repeat(1 << 18)).as_bytes()).is_ok());
    assert!(refusal("<!--".repeat(1 << 20)).starts_with("malformed"));
    assert!(refusal("<![CDATA[".repeat(1 << 18)).starts_with("malformed"));
    assert!(refusal(format!("<a>{}", "]".repeat(4 << 20))).starts_with("malformed"));
    assert!(refusal(format!("<!DOCTYPE a [{}", "<!--".repeat(1 << 17))).starts_with("malformed"));
    assert!(refusal(format!("<a {}", "'\"".repeat(1 << 18))).starts_with("malformed"));
}

#[test]
fn what_two_pieces_share_is_read_as_one() {
    // Pieces end every 65,536 bytes.
    for (around, inside) in
        [(("", ""), ""), (("<![CDATA[", "]]>"), "x"), (("<!--", "-->"), "x"), (("<b c='", "'/>"), "x")]
    {
        for before in 65_500..65_540 {
            for what in ["\r\n\r", "]]", "]] >", "é😀", "-\r-", "\u{feff}"] {
                let fill = "x".repeat(before);
                let document = format!("<a>{fill}{}{inside}{what}y{}</a>", around.0, around.1);
                let expected = match around.0 {
                    "<!--" => format!("<a>{fill}/"),
                    "<b c='" => format!("<a>{fill}<b>//"),
                    _ => format!("<a>{fill}{inside}{}y/", what.replace("\r\n", "\n").replace('\r', "\n")),
                };
                assert!(shown(document.as_bytes()).unwrap() == expected, "{before} {what:?} {around:?}");
            }
        }
    }
    for before in 65_500..65_540 {
        let fill = "x".repeat(before);
        for (bad, place) in
            [("]]>", 0), ("&x;", 0), ("\u{1}", 0), ("<!-- -- -->", 0), ("<![CDATA[", 0), ("<b c='<'/>", 6)]
        {
            let expected = format!("malformed 1:{}", 4 + before + place);
            assert_eq!(refusal(format!("<a>{fill}{bad}</a>")), expected, "{bad}");
        }
        assert_eq!(refusal(format!("<a>{}</a>", fill + "\r\n]]\u{1}")), "malformed 2:3");
    }
}

#[test]
fn a_deadline_is_kept() {
    let mut reader = Reader::new(b"<a/>".as_slice(), KNOWN, Instant::now());
    assert_eq!(refused(reader.next().unwrap_err()), "parse_timeout 1:1");
}
