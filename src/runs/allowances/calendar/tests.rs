//! Calendars by tables, against a walk minute by minute, and with hostile texts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fastrand::Rng;
use jiff::tz::TimeZone;
use quintet_storage::Timestamp;

use super::{Calendar, DEPTH_MAX, ShiftError, TEXT_BYTES_MAX};

/// What is refused here and by TaskJuggler: text, line, column, what is found, and words of what is expected.
pub(super) const REFUSED: &[(&str, usize, usize, &str, &str)] = &[
    // The shift itself.
    (r#"SHIFT s "A" { }"#, 1, 1, "SHIFT", "`shift`"),
    ("shift", 1, 6, "the end of the text", "id of the shift"),
    ("shift s { }", 1, 9, "{", "name of the shift"),
    ("shift s t \"A\"", 1, 9, "t", "name of the shift"),
    ("shift ä \"A\" { }", 1, 7, "ä", "id of the shift"),
    ("shift 1a \"A\" { }", 1, 7, "1", "id of the shift"),
    ("shift a-b \"A\" { }", 1, 8, "-", "name of the shift"),
    ("shift a.b \"A\" { }", 1, 8, ".", "name of the shift"),
    ("shift s \"A\" \"B\" { }", 1, 13, "\"B\"", "another `shift`"),
    ("shift s \"A\" { } }", 1, 17, "}", "another `shift`"),
    ("shift s \"A\" {} {}", 1, 16, "{", "another `shift`"),
    ("shift s \"A\" {", 1, 14, "the end of the text", "`}`"),
    ("shift s \"A\" {\n\n", 3, 1, "the end of the text", "`}`"),
    ("shift s \"A\" { } shift s \"B\" { }", 1, 23, "s", "no other shift"),
    ("shift s \"A\" { shift s \"B\" }", 1, 21, "s", "no other shift"),
    ("shift s \"A { }", 1, 9, "\"A { }", "ends with \""),
    ("shift s 'A\" { }", 1, 9, "'A\" { }", "ends with '"),
    ("shift s \"A\\\" { }", 1, 9, "\"A\\\" { }", "ends with \""),
    ("shift s \"A ${x}\" { }", 1, 9, "\"A ${x}\"", "macros"),
    ("shift s \"A\" { ${x} }", 1, 15, "$", "`workinghours`"),
    ("shift s \"A\" { color \"x\" }", 1, 15, "color", "`workinghours`"),
    ("shift s \"A\" { 9:00 }", 1, 15, "9:00", "`workinghours`"),
    ("shift s \"A\" { include \"/etc/passwd\" }", 1, 15, "include", "`workinghours`"),
    ("shift s \"A\" { late:replace }", 1, 15, "late", "`plan:`"),
    ("shift s \"A\" { plan:shift t \"B\" }", 1, 20, "shift", "`workinghours`"),
    ("shift s \"A\" { plan :replace }", 1, 15, "plan", "`workinghours`"),
    // Comments.
    ("shift s \"A\" { /* a\n}", 1, 15, "/*", "`*/`"),
    ("shift s \"A\" { # }", 1, 18, "the end of the text", "`}`"),
    // Days.
    ("shift s \"A\" { workinghours off }", 1, 28, "off", "a day"),
    ("shift s \"A\" { workinghours Mon off }", 1, 28, "Mon", "a day"),
    ("shift s \"A\" { workinghours monday off }", 1, 28, "monday", "a day"),
    ("shift s \"A\" { workinghours mon, off }", 1, 33, "off", "a day"),
    ("shift s \"A\" { workinghours mon - 9:00 - 12:00 }", 1, 34, "9:00", "a day"),
    ("shift s \"A\" { workinghours mon9:00 - 10:00 }", 1, 28, "mon9", "a day"),
    ("shift s \"A\" { workinghours mon:9:00 - 10:00 }", 1, 28, "mon", "a day"),
    ("shift s \"A\" { workinghours mon to fri off }", 1, 32, "to", "hours as"),
    // Hours.
    ("shift s \"A\" { workinghours mon }", 1, 32, "}", "hours as"),
    ("shift s \"A\" {\r\n  workinghours mon\r\n}", 3, 1, "}", "hours as"),
    ("shift s \"A\" { workinghours mon 9 - 12 }", 1, 32, "9", "hours as"),
    ("shift s \"A\" { workinghours mon 9:0 - 12:00 }", 1, 32, "9", "hours as"),
    ("shift s \"A\" { workinghours mon 009:00 - 12:00 }", 1, 32, "009", "hours as"),
    ("shift s \"A\" { workinghours mon 9:00:00 - 12:00 }", 1, 36, ":", "`-`"),
    ("shift s \"A\" { workinghours mon 9:00 to 12:00 }", 1, 37, "to", "`-`"),
    ("shift s \"A\" { workinghours mon 9:00 – 12:00 }", 1, 37, "–", "`-`"),
    ("shift s \"A\" { workinghours mon 9:00 - }", 1, 39, "}", "end of the hours"),
    ("shift s \"A\" { workinghours mon 9:00 - 12:00, }", 1, 46, "}", "hours as"),
    ("shift s \"A\" { workinghours mon 9:00 - 12:00; }", 1, 44, ";", "`}`"),
    ("shift s \"A\" { workinghours mon off, tue off }", 1, 35, ",", "`}`"),
    ("shift s \"A\" { workinghours mon off, 9:00 - 10:00 }", 1, 35, ",", "`}`"),
    ("shift s \"A\" { workinghours mon 22:00 - 6:00 }", 1, 32, "22:00 - 6:00", "over midnight"),
    ("shift s \"A\" { workinghours mon 9:00-9:00 }", 1, 32, "9:00 - 9:00", "later than the start"),
    ("shift s \"A\" { workinghours mon 24:00 - 24:00 }", 1, 32, "24:00 - 24:00", "later than the start"),
    ("shift s \"A\" { workinghours mon 22:00 - 24:01 }", 1, 40, "24:01", "`24:00`"),
    ("shift s \"A\" { workinghours mon 9:00 - 25:00 }", 1, 39, "25:00", "`24:00`"),
    ("shift s \"A\" { workinghours mon 23:00 - 23:99 }", 1, 40, "23:99", "00 to 59"),
    // Time zones.
    ("shift s \"A\" { timezone Europe/Berlin }", 1, 24, "Europe", "in quotes"),
    ("shift s \"A\" { timezone \"Europe/Nowhere\" }", 1, 24, "\"Europe/Nowhere\"", "IANA"),
    ("shift s \"A\" { timezone \"europe/berlin\" }", 1, 24, "\"europe/berlin\"", "IANA"),
    ("shift s \"A\" { timezone \"CET\" }", 1, 24, "\"CET\"", "IANA"),
    ("shift s \"A\" { timezone \"GMT\" }", 1, 24, "\"GMT\"", "IANA"),
    ("shift s \"A\" { timezone \"\" }", 1, 24, "\"\"", "IANA"),
    ("shift s \"A\" { timezone \"Etc/Unknown\" }", 1, 24, "\"Etc/Unknown\"", "IANA"),
    // Leaves.
    ("shift s \"A\" { vacation }", 1, 24, "}", "a date"),
    ("shift s \"A\" { vacation \"x\" }", 1, 28, "}", "a date"),
    ("shift s \"A\" { vacation 2026-03-16 \"x\" }", 1, 35, "\"x\"", "`}`"),
    ("shift s \"A\" { vacation 2026-03-16, 2026-03-16 }", 1, 36, "2026-03-16", "does not have yet"),
    ("shift s \"A\" { vacation 2026-03-16, }", 1, 36, "}", "a date"),
    ("shift s \"A\" { leaves 2026-03-16 }", 1, 22, "2026-03-16", "annual"),
    ("shift s \"A\" { leaves vacation 2026-03-16 }", 1, 22, "vacation", "annual"),
    ("shift s \"A\" { leaves annual }", 1, 29, "}", "a date"),
    ("shift s \"A\" { vacation 1969-12-31 }", 1, 24, "1969-12-31", "1970 to 2035"),
    ("shift s \"A\" { vacation 2035-12-31 - 2036-01-01 }", 1, 37, "2036-01-01", "1970 to 2035"),
    ("shift s \"A\" { vacation 2026-13-01 }", 1, 24, "2026-13-01", "a month"),
    ("shift s \"A\" { vacation 2026-00-01 }", 1, 24, "2026-00-01", "a month"),
    ("shift s \"A\" { vacation 2026-02-32 }", 1, 24, "2026-02-32", "a day"),
    ("shift s \"A\" { vacation 2026-02-00 }", 1, 24, "2026-02-00", "a day"),
    ("shift s \"A\" { vacation 2026-03-18-24:00 }", 1, 24, "2026-03-18-24:00", "a time"),
    ("shift s \"A\" { vacation 2026-03-18-09:60 }", 1, 24, "2026-03-18-09:60", "a time"),
    ("shift s \"A\" { vacation 2026-03-18-09:00:60 }", 1, 24, "2026-03-18-09:00:60", "a time"),
    ("shift s \"A\" { vacation 2026-03-16-09:01 }", 1, 24, "2026-03-16-09:01", "five minutes"),
    ("shift s \"A\" { vacation 2026-03-16-09:05:01 }", 1, 24, "2026-03-16-09:05:01", "five minutes"),
    ("shift s \"A\" { vacation 2026-03-18-09:00-0100 }", 1, 24, "2026-03-18-09:00-0100", "an offset"),
    ("shift s \"A\" { vacation 2026-03-18-09:00-+1300 }", 1, 24, "2026-03-18-09:00-+1300", "an offset"),
    ("shift s \"A\" { vacation 2026-03-18-09:00-+0060 }", 1, 24, "2026-03-18-09:00-+0060", "an offset"),
    ("shift s \"A\" { vacation 2026-03-16-09:00-2026-03-17 }", 1, 24, "2026-03-16-09:00-2026", "an offset"),
    ("shift s \"A\" { vacation 2026-03-18 - 2026-03-16 }", 1, 37, "2026-03-16", "later than 2026-03-18"),
    ("shift s \"A\" { vacation 2026-03-18 - 2026-03-18 }", 1, 37, "2026-03-18", "later than 2026-03-18"),
    ("shift s \"A\" { vacation 2026-03-18 + 0d }", 1, 37, "0", "not 0"),
    ("shift s \"A\" { vacation 2026-03-18 + 0.0d }", 1, 37, "0.0", "not 0"),
    ("shift s \"A\" { vacation 2026-03-18 + 7min }", 1, 37, "7", "five minutes"),
    ("shift s \"A\" { vacation 2026-03-18 + 1 }", 1, 39, "}", "a unit"),
    ("shift s \"A\" { vacation 2026-03-18 + 1.d }", 1, 38, ".", "a unit"),
    ("shift s \"A\" { vacation 2026-03-18 + 1s }", 1, 38, "s", "a unit"),
    ("shift s \"A\" { vacation 2026-03-18 + d }", 1, 37, "d", "a duration"),
    ("shift s \"A\" { vacation 2026-03-16 - 2026-03-17 + 1d }", 1, 48, "+", "`}`"),
    ("shift s \"A\" { vacation % 2026-03-16 }", 1, 26, "2026-03-16", "`{`"),
    ("shift s \"A\" { vacation %{2026-03-16} }", 1, 36, "}", "`+` or `-`"),
    ("shift s \"A\" { vacation %{2026-03-16 + 1d }", 1, 43, "the end of the text", "`}`"),
    ("shift s \"A\" { vacation %{2026-03-16 + 1d ] }", 1, 42, "]", "`}`"),
];

/// What is taken here and by TaskJuggler, besides what the comparison of hours takes. `ID` is the id.
pub(super) const TAKEN: &[&str] = &[
    "shift ID \"A\"",
    "shift \"A\" { }",
    "shift ID 'A' { }",
    "shift ID \"\" { }",
    "shift ID \"Ä € 😀\" { }",
    "shift ID \"A \\\" B\\n\" { }",
    "shift ID \"A\nB\" { workinghours mon 9:00 - 10:00 }",
    "shift _ID1 \"A\" { replace replace }",
    "\r\n\t\x0b\x0cshift\r\nID\r\n\"A\"\r\n{\r\n}\r\n",
    "shift ID \"A\" { shift ID_b \"B\" { shift ID_c \"C\" { workinghours mon off } } workinghours tue off }",
    "shift ID \"A\" { } shift ID_b \"B\" { workinghours mon - sun off }",
    "shift ID \"A\" { plan: workinghours mon off plan:timezone \"UTC\" plan:leaves sick 2026-03-16 }",
    "shift ID \"A\" { timezone \"Europe/Berlin\" timezone \"Europe/Paris\" }",
    "shift ID \"A\" { timezone \"Etc/GMT+3\" }",
    "shift ID \"A\" { timezone 'US/Eastern' }",
    "shift ID \"A\" { timezone \"America/Argentina/Buenos_Aires\" }",
    "shift ID \"A\" { timezone \"Africa/Abidjan\" }",
    "shift ID \"A\" { workinghours mon-fri,sat 9:00-12:00,13:00-17:00workinghours sun off }",
    "shift ID \"A\" { vacation 2026-3-6-9:00, 2026-03-16-2026-03-18 }",
    "shift ID \"A\" { vacation 2026-03-18-09:00-+0100 - 2026-03-18-09:00-+0000 }",
    "shift ID \"A\" { vacation 2026-03-18-09:00--1200 + 1m }",
    "shift ID \"A\" { vacation 2026-03-18-09:05:00 + .5d }",
    "shift ID \"A\" { vacation % { 2026-03-18 - 1d } + 30min, 2035-12-31 + 100y }",
    "shift ID \"A\" { leaves annual 2026-03-16, annual 2026-03-16 leaves project \"x\" 2026-03-17 }",
    "shift ID \"A\" { # ${x} \" '\n// /* \n/* # \n ' */ }",
];

/// What is refused here alone.
pub(super) const STRICTER: &[(&str, usize, usize, &str, &str)] = &[
    ("shift s \"A\" { workinghours mon - sun off }", 1, 15, "workinghours", "never opens"),
    ("shift s \"A\" { workinghours mon - fri off }", 1, 15, "workinghours", "never opens"),
    ("shift s \"A\" { workinghours mon 9:75 - 17:00 }", 1, 32, "9:75", "00 to 59"),
    ("shift s \"A\" { vacation 2026-02-31 }", 1, 24, "2026-02-31", "a day"),
    ("shift s \"A\" { vacation 2026-03-15, 2026-03-16, 2026-03-16 }", 1, 48, "2026-03-16", "does not have yet"),
    ("shift s -8<-\n Name\n->8- { }", 1, 9, "-", "name of the shift"),
    ("shift s \"A $(HOME)\" { }", 1, 9, "\"A $(HOME)\"", "macros"),
    ("shift s \"A ${ 5\" { }", 1, 9, "\"A ${ 5\"", "macros"),
    ("shift s \"A\" { timezone \"../etc/passwd\" }", 1, 24, "\"../etc/passwd\"", "IANA"),
    ("shift s \"A\" { timezone \"posix/Europe/Berlin\" }", 1, 24, "\"posix/Europe/Berlin\"", "IANA"),
    ("shift s \"A\" { vacation 2026-03-18 + 101y }", 1, 37, "101", "100 years"),
];

/// What is taken here alone.
pub(super) const MORE_GENEROUS: &[&str] =
    &["shift s \"A\" { timezone \"Etc/UTC\" }", "shift s \"A\" { timezone \"Etc/UCT\" }"];

fn calendar(body: &str) -> Calendar {
    let text = format!("shift s \"S\" {{ {body} }}");
    Calendar::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn at(text: &str) -> Timestamp {
    Timestamp::from_micros(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}

fn text(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap().to_string()
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    for (text, line, column, found, expected) in REFUSED.iter().chain(STRICTER) {
        let error = Calendar::parse(text).expect_err(text);
        let place = (error.line, error.column, error.found.as_str());
        assert_eq!(place, (*line, *column, *found), "{text}: {error}");
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
    // Not for tj3, to which an empty text is an empty text.
    let error = Calendar::parse("").unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 1: found the end of the text, expected `shift`");
}

#[test]
fn what_is_right_is_taken() {
    for text in TAKEN.iter().chain(MORE_GENEROUS) {
        Calendar::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}

#[test]
fn errors_show_little_and_on_one_line() {
    let error = Calendar::parse(&format!("shift \"{}\n\u{1b}[31m{}", "ü".repeat(30), "x".repeat(100))).unwrap_err();
    assert_eq!(error.found, format!("\"{}\u{fffd}\u{fffd}[31mxxx…", "ü".repeat(30)));
    let text = format!("shift s \"A\" {{\n# ä\n\t{} }}", "ö".repeat(50));
    let error = Calendar::parse(&text).unwrap_err();
    assert_eq!((error.line, error.column, error.found.as_str()), (3, 2, "ö"));
}

#[test]
fn size_and_depth_are_bounded() {
    let fill = |length: usize| format!("shift s \"A\" {{ }} #{}", "é".repeat(length));
    assert!(Calendar::parse(&fill((TEXT_BYTES_MAX - 17) / 2)).is_ok());
    let error = Calendar::parse(&fill(TEXT_BYTES_MAX)).unwrap_err();
    assert_eq!((error.line, error.found.as_str()), (1, "32785 bytes"));
    let nested = |depth: usize| format!("{}{}", "shift \"A\" {".repeat(depth), "}".repeat(depth));
    assert!(Calendar::parse(&nested(DEPTH_MAX)).is_ok());
    let error = Calendar::parse(&nested(DEPTH_MAX + 1)).unwrap_err();
    assert_eq!((error.column, error.expected.as_str()), (183, "at most 16 shifts in one another"));
}

#[test]
fn the_first_shift_is_the_calendar() {
    let first = Calendar::parse(
        "shift a \"First \\\"one\\\"\" { shift b \"Inner\" { workinghours mon off } timezone \"Asia/Tokyo\" \
         workinghours tue 1:00 - 2:00, 2:00 - 3:00 vacation 2026-01-01, 2026-01-02 } shift c \"Second\"",
    )
    .unwrap();
    assert_eq!((first.id(), first.name(), first.time_zone()), (Some("a"), "First \"one\"", "Asia/Tokyo"));
    let hours: Vec<String> = first
        .week()
        .map(|(day, hours)| {
            let hours: Vec<_> =
                hours.iter().map(|hours| format!("{}-{}", hours.from_minute, hours.until_minute)).collect();
            format!("{day} {}", hours.join(" "))
        })
        .collect();
    let expected = ["mon 540-1020", "tue 60-180", "wed 540-1020", "thu 540-1020", "fri 540-1020", "sat ", "sun "];
    assert_eq!(hours, expected);
    let leaves: Vec<_> = first.leaves().map(|(from, until)| (text(from), text(until))).collect();
    assert_eq!(leaves, [("2025-12-31T15:00:00Z".to_owned(), "2026-01-02T15:00:00Z".to_owned())]);
    let plain = Calendar::parse("shift 'P'").unwrap();
    assert_eq!((plain.id(), plain.name(), plain.time_zone(), plain.leaves().count()), (None, "P", "UTC", 0));
}

#[test]
fn the_documented_examples_are_taken() {
    let manual = include_str!("../../../../assets/manual/runs.md");
    for (document, prefix) in [(manual, ""), (include_str!("mod.rs"), "//! ")] {
        let lines = document.lines().map(|line| line.strip_prefix(prefix).unwrap_or(line));
        let example =
            lines.skip_while(|line| !line.starts_with("shift office")).take_while(|line| !line.starts_with("```"));
        let example = example.collect::<Vec<_>>().join("\n");
        let office = Calendar::parse(&example).unwrap_or_else(|error| panic!("{error}: {example}"));
        assert_eq!(office.id(), Some("office"));
        assert_eq!(text(office.next_open(at("2026-12-23T17:00:00Z"))), "2027-01-04T08:00:00Z");
    }
}

#[test]
fn starts_move_to_the_next_opening() {
    let cases = [
        // Nine to five, from Monday to Friday, in UTC.
        ("", "2026-11-20T16:59:59.999999Z", "2026-11-20T16:59:59.999999Z"),
        ("", "2026-11-20T17:00:00Z", "2026-11-23T09:00:00Z"),
        ("", "2026-11-23T08:59:59.999999Z", "2026-11-23T09:00:00Z"),
        ("", "1969-12-31T23:59:59.5Z", "1970-01-01T09:00:00Z"),
        ("", "1900-01-01T00:00:00Z", "1900-01-01T09:00:00Z"),
        // To the minute.
        ("workinghours mon - fri 9:07 - 9:08", "2026-11-23T09:06:59Z", "2026-11-23T09:07:00Z"),
        ("workinghours mon - fri 9:07 - 9:08", "2026-11-23T09:08:00Z", "2026-11-24T09:07:00Z"),
        // A week is as far as it gets.
        ("workinghours mon - fri off workinghours sun 0:00 - 0:01", "2026-11-22T00:01:00Z", "2026-11-29T00:00:00Z"),
        // Over midnight there is no gap.
        ("workinghours mon 22:00 - 24:00 workinghours tue 0:00 - 6:00", "2026-11-24T00:00:00Z", "2026-11-24T00:00:00Z"),
        // The clocks go forward over 2:00 to 3:00: what lies in it is left out, or begins with the change.
        (
            "timezone \"Europe/Berlin\" workinghours sun 2:15 - 2:45 workinghours mon - fri off",
            "2026-03-23T00:00:00Z",
            "2026-04-05T00:15:00Z",
        ),
        ("timezone \"Europe/Berlin\" workinghours sun 2:30 - 4:00", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
        // They go back from 3:00 to 2:00: what lies in between is open twice.
        ("timezone \"Europe/Berlin\" workinghours sun 2:15 - 2:45", "2026-10-24T12:00:00Z", "2026-10-25T00:15:00Z"),
        ("timezone \"Europe/Berlin\" workinghours sun 2:15 - 2:45", "2026-10-25T00:45:00Z", "2026-10-25T01:15:00Z"),
        ("timezone \"Europe/Berlin\" workinghours sun 2:00 - 3:00", "2026-10-25T01:59:59Z", "2026-10-25T01:59:59Z"),
        // Midnight itself is left out.
        ("timezone \"America/Santiago\" workinghours sun 0:00 - 1:30", "2026-09-05T20:00:00Z", "2026-09-06T04:00:00Z"),
        // A day that a zone has left out.
        (
            "timezone \"Pacific/Apia\" workinghours sun - sat 1:00 - 2:00",
            "2011-12-30T00:00:00Z",
            "2011-12-30T11:00:00Z",
        ),
        // Leaves: met, left in open hours, and one after the other.
        ("vacation 2026-11-23", "2026-11-20T18:00:00Z", "2026-11-24T09:00:00Z"),
        ("vacation 2026-11-23 - 2026-11-24-12:00", "2026-11-20T18:00:00Z", "2026-11-24T12:00:00Z"),
        ("vacation 2026-11-23, 2026-11-25, 2026-11-24", "2026-11-23T10:00:00Z", "2026-11-26T09:00:00Z"),
        ("vacation 2026-11-23-11:00 + 1h", "2026-11-23T10:59:59Z", "2026-11-23T10:59:59Z"),
        ("vacation 2026-11-23-11:00 + 1h", "2026-11-23T11:00:00Z", "2026-11-23T12:00:00Z"),
        ("leaves sick 2026-11-23 + 1.5d", "2026-11-23T10:00:00Z", "2026-11-24T12:00:00Z"),
        ("vacation 2026-11-23 + 1y", "2026-11-23T10:00:00Z", "2027-11-23T09:00:00Z"),
        ("vacation 2035-01-01 + 100y", "2036-01-01T10:00:00Z", "2134-12-08T09:00:00Z"),
    ];
    for (body, from, expected) in cases {
        let calendar = calendar(body);
        let next = calendar.next_open(at(from));
        assert_eq!(text(next), text(at(expected)), "from {from}: {body}");
        assert_eq!(calendar.is_open(at(from)), next == at(from), "{body}");
        assert!(calendar.is_open(next), "{body}");
    }
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    for body in ["", "timezone \"Europe/Berlin\"", "timezone \"America/Santiago\" vacation 2026-01-01"] {
        let calendar = calendar(body);
        for micros in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 604_800_000_000, i64::MAX - 1, i64::MAX] {
            let from = Timestamp::from_micros(micros);
            let next = calendar.next_open(from);
            assert!(next >= from);
            assert!(calendar.is_open(next) || next == Timestamp::MAX);
        }
    }
}

/// A calendar at random, as text and as what it means: hours of each day (Sunday first), leaves in minutes, a zone.
struct Made {
    text: String,
    hours: Vec<Vec<(i64, i64)>>,
    leaves: Vec<(i64, i64)>,
    zone: TimeZone,
}

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Pacific/Apia",
];

fn clock(minute: i64) -> String {
    format!("{}:{:02}", minute / 60, minute % 60)
}

fn make(rng: &mut Rng, around: i64) -> Made {
    let name = ZONES[rng.usize(..ZONES.len())];
    let zone = TimeZone::get(name).unwrap();
    let mut hours = vec![vec![]; 7];
    hours[1..6].fill(vec![(540, 1020)]);
    let mut parts = vec![format!("timezone \"{name}\"")];
    for _ in 0..rng.usize(..5) {
        let (first, length) = (rng.usize(..7), rng.usize(..7));
        // Few hours are the hard case; and those in which clocks change.
        let stretches: Vec<(i64, i64)> = (0..rng.usize(..4))
            .map(|_| {
                let from = if rng.bool() { rng.i64(0..240) } else { rng.i64(0..1440) };
                let most = if rng.bool() { 60 } else { 600 };
                (from, (from + 1 + rng.i64(0..most)).min(1440))
            })
            .collect();
        for day in first..=first + length {
            hours[day % 7].clone_from(&stretches);
        }
        let said = stretches.iter().map(|(from, until)| format!("{} - {}", clock(*from), clock(*until)));
        let said = said.collect::<Vec<_>>().join(", ");
        parts.push(format!(
            "workinghours {} - {} {}",
            DAYS[first],
            DAYS[(first + length) % 7],
            if said.is_empty() { "off" } else { &said }
        ));
    }
    if hours.iter().all(Vec::is_empty) {
        parts.push("workinghours wed 12:00 - 12:01".to_owned());
        hours[3] = vec![(720, 721)];
    }
    let mut leaves = vec![];
    for _ in 0..rng.usize(..4) {
        let start = (around + rng.i64(-20_000..20_000)).div_euclid(5) * 5;
        let most = if rng.bool() { 20 } else { 600 };
        let length = (1 + rng.i64(0..most)) * 5;
        let when = jiff::Timestamp::from_second(start * 60).unwrap().to_zoned(TimeZone::UTC).datetime();
        parts.push(format!("vacation {}-+0000 + {length}min", when.strftime("%Y-%m-%d-%H:%M")));
        leaves.push((start, start + length));
    }
    Made { text: format!("shift s \"S\" {{ {} }}", parts.join(" ")), hours, leaves, zone }
}

impl Made {
    /// The rule itself: no leave, and a clock on the wall shows an open time.
    fn is_open(&self, minute: i64) -> bool {
        let local = self.zone.to_datetime(jiff::Timestamp::from_second(minute * 60).unwrap());
        let of_day = i64::from(local.hour()) * 60 + i64::from(local.minute());
        let day = usize::try_from(local.weekday().to_sunday_zero_offset()).unwrap();
        !self.leaves.iter().any(|(start, end)| (*start..*end).contains(&minute))
            && self.hours[day].iter().any(|(from, until)| (*from..*until).contains(&of_day))
    }
}

fn seed() -> u64 {
    std::env::var("QUINTET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..))
}

/// In which minutes clocks change in the zones above, from 2009 to 2028.
fn changes() -> Vec<i64> {
    let from = "2009-01-01T00:00:00Z".parse().unwrap();
    let until: jiff::Timestamp = "2028-01-01T00:00:00Z".parse().unwrap();
    let mut changes = vec![];
    for name in ZONES {
        let zone = TimeZone::get(name).unwrap();
        let instants = zone.following(from).map(|change| change.timestamp()).take_while(|instant| *instant < until);
        changes.extend(instants.map(|instant| instant.as_second().div_euclid(60)));
    }
    changes
}

#[test]
fn a_walk_by_minutes_finds_the_same() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let changes = changes();
    for case in 0..150 {
        let around = changes[rng.usize(..changes.len())];
        let made = make(&mut rng, around);
        let said = format!("QUINTET_SEED={seed}, case {case}: {}", made.text);
        let calendar = Calendar::parse(&made.text).unwrap_or_else(|error| panic!("{error}, {said}"));
        for _ in 0..12 {
            let start = around + if rng.bool() { rng.i64(-300..300) } else { rng.i64(-14_000..14_000) };
            let (inside, limit) = (rng.i64(0..60_000_000), start + 30 * 1440);
            let expected = (start..limit).find(|minute| made.is_open(*minute)).unwrap_or(limit);
            let from = Timestamp::from_micros(start * 60_000_000 + inside);
            let next = calendar.next_open(from);
            let right = match expected {
                _ if expected == start => next == from,
                _ if expected < limit => next == Timestamp::from_micros(expected * 60_000_000),
                _ => next >= Timestamp::from_micros(limit * 60_000_000),
            };
            assert!(right, "from {}: {}, {said}", text(from), text(next));
            assert_eq!(calendar.is_open(from), expected == start, "{said}");
        }
    }
}

#[test]
fn no_text_makes_it_panic() {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let pieces = [
        "shift",
        " s ",
        "\"N\"",
        "{",
        "}",
        "workinghours",
        " mon ",
        "fri",
        "-",
        ",",
        "off",
        "9:00",
        "17:00",
        "24:00",
        "timezone",
        "\"UTC\"",
        "\"Europe/Berlin\"",
        "vacation",
        "leaves",
        "annual",
        "2026-03-29",
        "2026-03-29-02:30",
        "-+0100",
        "+",
        "3d",
        "1.5",
        "h",
        "%{",
        "plan:",
        "replace",
        "\n",
        " ",
        "#",
        "//",
        "/*",
        "*/",
        "\"",
        "'",
        "\\",
        "é",
        "\u{0}",
        "99999999999999",
        "é\u{301}",
        "${",
        ":",
        ".",
        "2035-12-31-23:59:59--1200",
    ];
    let mut outcomes = BTreeMap::new();
    for case in 0..4000 {
        let mut text = if rng.bool() {
            let around = 29_000_000;
            make(&mut rng, around).text
        } else {
            format!("shift s \"N\" {{ {} }}", REFUSED[rng.usize(..REFUSED.len())].0)
        };
        for _ in 0..rng.usize(..4) {
            let mut places = text.char_indices().map(|(at, _)| at).collect::<Vec<_>>();
            places.push(text.len());
            let (from, piece) = (places[rng.usize(..places.len())], pieces[rng.usize(..pieces.len())]);
            let until = places[rng.usize(..places.len())].max(from).min(from + rng.usize(..12));
            let until = (from..=until).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(from);
            text.replace_range(from..until, piece);
        }
        let lines = text.matches('\n').count() + 1;
        let outcome = Calendar::parse(&text);
        *outcomes.entry(outcome.is_ok()).or_insert(0) += 1;
        match outcome {
            Ok(calendar) => {
                let from = Timestamp::from_micros(rng.i64(..));
                assert!(calendar.next_open(from) >= from, "QUINTET_SEED={seed}, case {case}: {text}");
            }
            Err(ShiftError { line, column, found, expected }) => {
                let right = (1..=lines).contains(&line) && column >= 1 && column <= text.chars().count() + 1;
                let right = right && found.chars().count() <= 45 && !found.contains('\n') && !expected.is_empty();
                assert!(right, "QUINTET_SEED={seed}, case {case}: {line}:{column} {found}: {text}");
            }
        }
    }
    assert!(outcomes.values().all(|count| *count > 200), "{outcomes:?}");
}

#[test]
fn the_longest_texts_take_no_time() {
    let fill = |before: &str, piece: &str, after: &str| {
        let count = (TEXT_BYTES_MAX - before.len() - after.len()) / piece.len();
        format!("{before}{}{after}", piece.repeat(count))
    };
    let body = "shift s \"A\" { ";
    let mut dates = String::new();
    for number in 0..1_400 {
        let piece = format!(
            "{}20{:02}-{:02}-{:02}",
            if number == 0 { "" } else { "," },
            number / 336 + 10,
            number / 28 % 12 + 1,
            number % 28 + 1
        );
        dates.push_str(&piece);
    }
    let texts = [
        fill(body, "/* ", ""),
        fill(body, "/* */ ", "}"),
        fill(body, "/*\n*/ ", "}"),
        fill(body, "\"", ""),
        fill("shift s \"", "\\\"", "\""),
        fill("shift s ", "\"", ""),
        fill("", "shift \"A\" ", ""),
        fill("", "shift \"A\"{}", "x"),
        fill(body, "shift\"A\"{}", "}"),
        fill(body, "workinghours sun - sat 0:00-1:00 ", "}"),
        fill(&format!("{body} workinghours mon 0:00 - 1:00"), ",0:00-1:00", "}"),
        fill(&format!("{body} workinghours mon"), ",mon", " off }"),
        fill(body, "leaves sick 2026-01-01+1h ", "}"),
        fill(body, "timezone \"Europe/Berlin\" ", "}"),
        fill(body, "1", ""),
        fill(body, "\n", "x"),
        fill(&format!("{body} vacation 2026-01-01 + "), "9", "d }"),
        format!("{body} vacation {dates} }}"),
    ];
    let before = Instant::now();
    for text in &texts {
        assert!(text.len() <= TEXT_BYTES_MAX);
        if let Ok(calendar) = Calendar::parse(text) {
            assert!(calendar.next_open(at("2010-01-01T00:00:00Z")) >= at("2010-01-01T00:00:00Z"));
        }
    }
    assert!(Calendar::parse(&texts[17]).is_ok(), "{:?}", Calendar::parse(&texts[17]));
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
}

#[test]
fn a_clamp_costs_microseconds() {
    let calendar = calendar(
        "timezone \"Europe/Berlin\" workinghours mon - fri 9:00 - 12:00, 13:00 - 17:00 vacation 2026-12-24 + 2w",
    );
    let (start, count) = (at("2026-01-01T00:00:00Z"), 20_000);
    let before = Instant::now();
    let mut latest = start;
    for step in 0..count {
        latest = latest.max(calendar.next_open(start.plus_seconds(step * 1_577)));
    }
    let each = before.elapsed() / u32::try_from(count).unwrap();
    println!("a clamp takes {each:?}");
    assert!(latest > at("2026-12-23T00:00:00Z"));
    assert!(each < Duration::from_micros(100), "{each:?}");
}
