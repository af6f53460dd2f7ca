//! What is taken, what is refused, and how it is told.

use proptest::prelude::*;

use crate::recurrence::{Cron, CronError, Field, TEXT_CHARACTERS_MAX};

/// What two patterns that mean the same are written as.
const SAME: &[(&str, &str)] = &[
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@Weekly", "0 0 * * sun"),
    ("@MONTHLY", "0 0 1 * *"),
    ("@yearly", "0 0 1 jan *"),
    (" @annually\t", "0 0 1 1 *"),
    ("\t0  0 \t 1 1 * ", "0 0 1 1 *"),
    ("0 0 * JAN,feb,Dec MON-fri", "0 0 * 1,2,12 1-5"),
    ("0 0 * * 7", "0 0 * * 0"),
    ("0 0 * * 5-7", "0 0 * * 0,5,6"),
    ("0 0 * * fri-sun", "0 0 * * 0,5,6"),
    ("0 0 * * sun-sun", "0 0 * * 0"),
    ("0 0 * * 0-sun", "0 0 * * sun"),
    ("0 0 * * sun-tue", "0 0 * * 0-2"),
    ("0 0 1 * 0-7", "0 0 1 * 0-6"),
    ("0 0 * * 1-7/2", "0 0 * * 0,1,3,5"),
    ("1-59/20 5 * * *", "1,21,41 5 * * *"),
    ("0-59/100 05 * * *", "00 5 * * *"),
    ("0-9/99999999999999999999 5 * * *", "0 5 * * *"),
    ("5,1-3,2,5 0 * * *", "1,2,3,5 0 * * *"),
    ("0 0 29 2 *", "0 0 29 feb *"),
];

#[test]
fn patterns_are_read() {
    for (one, other) in SAME {
        let (one_read, other_read) = (Cron::parse(one), Cron::parse(other));
        assert!(one_read.is_ok(), "{one}: {one_read:?}");
        assert_eq!(one_read, other_read, "{one} and {other}");
    }
    // A `*` at the beginning is more than all values of the field.
    for (star, named) in [
        ("0 0 * * 1", "0 0 1-31 * 1"),
        ("0 0 1 * *", "0 0 1 * 0-6"),
        ("* 0 * * *", "0-59 0 * * *"),
        ("*/9 5 * * *", "*,9 5 * * *"),
    ] {
        assert_ne!(Cron::parse(star), Cron::parse(named), "{star}");
    }
}

const TIME: &str = "expected a number from 0 to 59, a range of them, or `*`, with or without a step";

#[rustfmt::skip]
const REFUSED: &[(&str, Option<Field>, &str)] = &[
    ("", None, "found nothing, expected five fields: minute, hour, day of month, month, day of week; there are none for seconds or years"),
    (" \t ", None, "found nothing, expected five fields"),
    ("0 0 * *", None, "found 4 fields, expected five fields"),
    ("daily", None, "found one field, `daily`, expected five fields"),
    ("0 0 0 * * *", None, "found 6 fields, expected five fields"),
    ("0 0 0 1 1 * 2027", None, "found 7 fields, expected five fields"),
    ("@reboot", None, "found `@reboot`, expected `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` or `@annually`, alone"),
    ("@every 5m", None, "found `@every 5m`, expected `@hourly`"),
    ("@daily *", None, "found `@daily *`, expected `@hourly`"),
    ("@", None, "found `@`, expected `@hourly`"),
    ("@dailyy", None, "found `@dailyy`, expected"),
    ("60 * * * *", Some(Field::Minute), "minute: found `60`, expected a number from 0 to 59, a range of them, or `*`, with or without a step"),
    ("4294967296 * * * *", Some(Field::Minute), "minute: found `4294967296`"),
    ("-1 * * * *", Some(Field::Minute), "minute: found `-1`"),
    ("+1 * * * *", Some(Field::Minute), "minute: found `+1`"),
    ("1.5 * * * *", Some(Field::Minute), "minute: found `1.5`"),
    ("? * * * *", Some(Field::Minute), "minute: found `?`"),
    ("H * * * *", Some(Field::Minute), "minute: found `H`"),
    ("H/15 * * * *", Some(Field::Minute), "minute: found `H`"),
    ("** * * * *", Some(Field::Minute), "minute: found `**`"),
    ("*-5 * * * *", Some(Field::Minute), "minute: found `*-5`"),
    ("1- * * * *", Some(Field::Minute), "minute: found `1-`"),
    ("1-2-3 * * * *", Some(Field::Minute), "minute: found `1-2-3`"),
    ("50-10 * * * *", Some(Field::Minute), "minute: found `50-10`, expected a range that ends after its beginning, or two of them"),
    ("5/15 * * * *", Some(Field::Minute), "minute: found `5/15`, expected a step after `*` or a range, as in `5-59/2`"),
    ("*/0 * * * *", Some(Field::Minute), "minute: found `/0`, expected a step from 1 on, as in `*/2`"),
    ("*/ * * * *", Some(Field::Minute), "minute: found `/`, expected a step"),
    ("*/-1 * * * *", Some(Field::Minute), "minute: found `/-1`, expected a step"),
    ("*/2/2 * * * *", Some(Field::Minute), "minute: found `/2/2`, expected a step"),
    ("/2 * * * *", Some(Field::Minute), "minute: found ``"),
    ("1,,2 * * * *", Some(Field::Minute), "minute: found `1,,2`, expected something before and after each comma"),
    (",1 * * * *", Some(Field::Minute), "minute: found `,1`"),
    ("1, * * * *", Some(Field::Minute), "minute: found `1,`"),
    ("mon * * * *", Some(Field::Minute), "minute: found `mon`"),
    ("0 24 * * *", Some(Field::Hour), "hour: found `24`, expected a number from 0 to 23"),
    ("0 9-17-2 * * *", Some(Field::Hour), "hour: found `9-17-2`"),
    ("0 22-2 * * *", Some(Field::Hour), "hour: found `22-2`, expected a range that ends"),
    ("0 0 0 * *", Some(Field::DayOfMonth), "day of month: found `0`, expected a number from 1 to 31"),
    ("0 0 32 * *", Some(Field::DayOfMonth), "day of month: found `32`"),
    ("0 0 L * *", Some(Field::DayOfMonth), "day of month: found `L`"),
    ("0 0 15W * *", Some(Field::DayOfMonth), "day of month: found `15W`"),
    ("0 0 * 0 *", Some(Field::Month), "month: found `0`, expected a number from 1 to 12, a name from `jan` to `dec`, a range"),
    ("0 0 * 13 *", Some(Field::Month), "month: found `13`"),
    ("0 0 * january *", Some(Field::Month), "month: found `january`"),
    ("0 0 * nov-feb *", Some(Field::Month), "month: found `nov-feb`, expected a range that ends"),
    ("0 0 * jan/2 *", Some(Field::Month), "month: found `jan/2`, expected a step after `*` or a range, as in `1-12/2`"),
    ("0 0 * * 8", Some(Field::DayOfWeek), "day of week: found `8`, expected a number from 0 to 7, a name from `sun` to `sat`, a range"),
    ("0 0 * * fri#2", Some(Field::DayOfWeek), "day of week: found `fri#2`"),
    ("0 0 * * 5L", Some(Field::DayOfWeek), "day of week: found `5L`"),
    ("0 0 * * mi", Some(Field::DayOfWeek), "day of week: found `mi`"),
    ("0 0 * * fri-mon", Some(Field::DayOfWeek), "day of week: found `fri-mon`, expected a range that ends"),
    ("0 0 * * 6-0", Some(Field::DayOfWeek), "day of week: found `6-0`, expected a range that ends"),
    ("0 0 * *\u{a0}*", None, "found 4 fields"),
    ("0 0 * * \u{a0}1", Some(Field::DayOfWeek), "day of week: found `\\u{a0}1`, expected"),
    ("0 0 * * *\n", Some(Field::DayOfWeek), "day of week: found `*\\u{a}`, expected"),
    ("\u{661} 0 * * *", Some(Field::Minute), "minute: found `\\u{661}`, expected"),
    // The first fault is told.
    ("60 24 * * *", Some(Field::Minute), "minute: found `60`"),
    ("* * 30 13 8", Some(Field::Month), "month: found `13`"),
];

#[test]
fn what_is_refused_is_told() {
    for (pattern, at, told) in REFUSED {
        let error = Cron::parse(pattern).expect_err(pattern);
        assert!(error.to_string().starts_with(told), "{pattern:?}: {error}");
        let CronError::Invalid { field, .. } = error else { panic!("{pattern:?}: {error}") };
        assert_eq!(field, *at, "{pattern:?}");
    }
    assert!(Cron::parse("60 * * * *").unwrap_err().to_string().ends_with(TIME));
}

#[test]
fn what_never_fires_is_told() {
    for (pattern, told) in [
        ("0 0 30 2 *", "no month of `2` has a day of `30`: the pattern would never fire"),
        ("0 0 30,31 feb *", "no month of `feb` has a day of `30,31`: the pattern would never fire"),
        ("* * 31 4,6,9,11 *", "no month of `4,6,9,11` has a day of `31`: the pattern would never fire"),
        // By AND, since the day of the week begins with `*`.
        ("0 0 30 2 */2", "no month of `2` has a day of `30`: the pattern would never fire"),
        ("0 0 31 2-6/2 *,1", "no month of `2-6/2` has a day of `31`: the pattern would never fire"),
    ] {
        let error = Cron::parse(pattern).expect_err(pattern);
        assert!(matches!(error, CronError::NeverFires { .. }), "{pattern}: {error:?}");
        assert_eq!(error.to_string(), told, "{pattern}");
    }
    for pattern in
        ["0 0 29 2 *", "0 0 30 2 1", "0 0 31 4,5 *", "0 0 */31 2 *", "0 0 29 2 */7", "0 0 30,1 2 *", "0 0 31 * *"]
    {
        assert!(Cron::parse(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn texts_are_short() {
    let blanks = " ".repeat(TEXT_CHARACTERS_MAX - 9);
    assert!(Cron::parse(&format!("* * * * *{blanks}")).is_ok());
    let error = Cron::parse(&format!("* * * * *{blanks} ")).unwrap_err();
    assert_eq!(error.to_string(), "found 257 characters, expected at most 256");
    let error = Cron::parse(&"é".repeat(256)).unwrap_err();
    let shown = "\\u{e9}".repeat(40);
    assert!(error.to_string().starts_with(&format!("found one field, `{shown}...`, expected")), "{error}");
    assert_eq!(
        Cron::parse(&"9".repeat(100_000)).unwrap_err().to_string(),
        "found 100000 characters, expected at most 256"
    );
}

/// Pieces that the reader looks for, and what others' readers do.
const PIECES: &[&str] = &[
    "*",
    "*/",
    "/",
    "-",
    ",",
    "0",
    "1",
    "7",
    "31",
    "59",
    "60",
    "99999999999",
    " ",
    "\t",
    "\n",
    "@",
    "@daily",
    "mon",
    "SUN",
    "feb",
    "L",
    "W",
    "#",
    "?",
    "H",
    "+",
    "\u{a0}",
    "é",
    "\u{202e}",
    "* * ",
    "0 0 ",
    "5-",
    "-5",
    "",
];

proptest! {
    #[test]
    fn no_text_does_harm(text in prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(prop::sample::select(PIECES), 5).prop_map(|pieces| pieces.join(" ")),
    ]) {
        if let Err(error) = Cron::parse(&text) {
            let told = error.to_string();
            prop_assert!(told.len() < 800 && told.chars().all(|shown| matches!(shown, ' '..='~')), "{told}");
        }
    }
}
