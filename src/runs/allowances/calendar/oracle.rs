//! The calendars held against TaskJuggler: Debian's `tj3`, which packaging/prerequisites.sh installs. Without it these
//! tests say so and pass.
//!
//! For the hours, `tj3` is given projects with a shift and a resource for each case, and one task that takes all time of
//! all resources; the bookings it exports tell for each slot of the timing resolution whether there is work. Its code
//! leaves a shift's `timezone` without effect, so the project is in the zone that the shift names. For the syntax, its
//! parser reads each text (`oracle.rb`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use quintet_storage::Timestamp;

use super::Calendar;

/// A stretch of time in a zone, in which every body is tried.
struct Window {
    zone: &'static str,
    /// Midnight UTC.
    start: &'static str,
    days: i64,
    slot_minutes: i64,
    /// Bodies of its own: dates at its changes of the clocks.
    more: &'static [&'static str],
}

const WINDOWS: &[Window] = &[
    Window { zone: "UTC", start: "2026-03-23", days: 14, slot_minutes: 60, more: &[] },
    Window {
        zone: "Europe/Berlin",
        start: "2026-03-23",
        days: 14,
        slot_minutes: 15,
        more: &[
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-03-29-02:30 - 2026-03-29-04:15",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-03-29-01:30 + 1h",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-03-28-02:30",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-03-29-01:00-+0100 - 2026-03-29-05:00-+0200",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-03-29",
            "workinghours sun 2:00 - 3:00",
            "workinghours sun 2:15 - 2:45 workinghours mon - sat off",
        ],
    },
    Window {
        zone: "Europe/Berlin",
        start: "2026-10-19",
        days: 14,
        slot_minutes: 15,
        more: &[
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-10-25-02:30 - 2026-10-25-04:15",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-10-25-01:30 - 2026-10-25-02:15",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-10-24-02:30",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-10-25",
            "workinghours sun - sat 0:00 - 24:00 vacation 2026-10-24 + 2d",
            "workinghours sun 2:00 - 3:00",
            "workinghours sun 2:15 - 2:45 workinghours mon - sat off",
        ],
    },
    Window { zone: "America/New_York", start: "2026-03-02", days: 14, slot_minutes: 60, more: &[] },
    Window {
        zone: "America/New_York",
        start: "2026-10-26",
        days: 14,
        slot_minutes: 30,
        more: &["workinghours sun - sat 0:00 - 24:00 vacation 2026-11-01-01:30 - 2026-11-01-03:00, 2026-10-31-01:00"],
    },
    // Half an hour of summer time.
    Window {
        zone: "Australia/Lord_Howe",
        start: "2026-03-30",
        days: 14,
        slot_minutes: 30,
        more: &["workinghours sun - sat 0:00 - 24:00 vacation 2026-04-05-01:30 - 2026-04-05-02:00, 2026-04-04-01:30"],
    },
    Window { zone: "Australia/Lord_Howe", start: "2026-09-28", days: 14, slot_minutes: 30, more: &[] },
    // The clocks change at midnight.
    Window {
        zone: "America/Santiago",
        start: "2026-08-31",
        days: 14,
        slot_minutes: 30,
        more: &["workinghours sun - sat 0:00 - 24:00 vacation 2026-09-05, 2026-09-06-00:30 - 2026-09-06-05:00"],
    },
    Window { zone: "Asia/Kathmandu", start: "2026-06-01", days: 8, slot_minutes: 15, more: &[] },
    Window { zone: "Europe/Berlin", start: "2026-03-27", days: 5, slot_minutes: 5, more: &[] },
];

/// The insides of shifts. `{1}` is the second day of the window.
const BODIES: &[&str] = &[
    "",
    "workinghours mon - fri 9:00 - 12:00, 13:00 - 17:00",
    "workinghours sat, sun off",
    "workinghours mon - fri off workinghours sat, sun 10:00 - 16:00",
    "workinghours wed 8:00 - 20:00",
    "workinghours fri - mon 22:00 - 24:00",
    "workinghours mon - sun 0:00 - 24:00",
    "workinghours sun - sat 0:00 - 3:00",
    "workinghours sun - sat 1:00 - 2:00",
    "workinghours sun - sat 1:00 - 4:00, 23:00 - 24:00",
    "workinghours mon - fri 22:00 - 24:00 workinghours tue - sat 0:00 - 6:00",
    "workinghours mon 9:00 - 12:00, 11:00 - 15:00",
    "workinghours mon 9:00 - 12:00, 12:00 - 15:00, 9:00 - 12:00",
    "workinghours mon - fri 9:00 - 12:00 workinghours mon 14:00 - 15:00",
    "workinghours tue off workinghours tue 9:00 - 10:00 workinghours wed, thu - thu off",
    "workinghours mon - mon 7:00 - 8:00 workinghours sun, tue - thu, sat 18:00 - 19:00",
    "plan:workinghours mon - fri 6:00 - 7:00",
    "replace",
    "replace vacation {3} workinghours sun - sat 0:00 - 24:00",
    "vacation {1}",
    "vacation \"Two\" {1}, {3} - {5}",
    "vacation {1}-10:00 - {1}-14:00",
    "vacation {2}-08:00 + 6h workinghours sun - sat 7:00 - 21:00",
    "vacation {1}-23:00-+0000 - {2}-11:00--0500",
    "vacation %{{1} + 1d} - %{{6} - 12h}",
    "vacation {0} + 1w",
    "vacation {0} + 0.5d, {4} + .25w",
    "leaves annual {1}, sick \"Flu\" {2} - {3}",
    "leaves holiday {1}-12:00 + 1d, unpaid {1} + 1d, project {4}",
    "workinghours sun - sat 0:00 - 24:00 leaves unemployed {0} - {7}",
    "shift ID_a \"Inner\" { workinghours mon off } workinghours tue off shift ID_b \"Inner\"",
    "workinghours mon - fri 9:00 - 12:00 # workinghours mon off\n// vacation {1}\n/* workinghours tue off\n*/",
    "/* a */ workinghours mon - fri off /* b */ workinghours tue 6:00 - 7:00",
    "/* a\n*/ workinghours mon - fri off /* b */ workinghours tue 6:00 - 7:00\n",
];

/// Hours off the grid: what a slot is, its first instant says.
const OFF_THE_GRID: &[&str] = &[
    "workinghours mon - fri 9:07 - 17:07",
    "workinghours sun - sat 0:01 - 0:59, 2:20 - 2:40, 23:59 - 24:00",
    "workinghours sun - sat 12:02 - 12:04 workinghours mon 0:00 - 23:59",
];

const DAY_MINUTES: i64 = 24 * 60;

fn minute_of(date: &str) -> i64 {
    let date: jiff::civil::Date = date.parse().unwrap();
    date.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second() / 60
}

fn at_minute(minute: i64) -> Timestamp {
    Timestamp::from_micros(minute * 60_000_000)
}

/// The text of a case: the body in a shift, in the window's zone, with its dates.
fn shift(window: &Window, id: &str, body: &str) -> String {
    let start: jiff::civil::Date = window.start.parse().unwrap();
    let mut body = body.replace("ID", id);
    for day in 0..8 {
        let date = start.checked_add(jiff::Span::new().days(day)).unwrap();
        body = body.replace(&format!("{{{day}}}"), &date.to_string());
    }
    format!("shift {id} \"Case\" {{ timezone \"{}\" {body} }}", window.zone)
}

/// The minutes at which slots begin in which `tj3` books work, for each shift.
fn booked(window: &Window, shifts: &[String]) -> Vec<BTreeSet<i64>> {
    let start = minute_of(window.start);
    let end: jiff::civil::Date = window.start.parse().unwrap();
    let end = end.checked_add(jiff::Span::new().days(window.days)).unwrap();
    let mut project = format!(
        "project p \"P\" {}-00:00-+0000 - {end}-00:00-+0000 {{ timingresolution {} min timezone \"{}\" }}\n",
        window.start, window.slot_minutes, window.zone
    );
    for (number, shift) in shifts.iter().enumerate() {
        writeln!(project, "{shift}\nresource r{number} \"R\" {{ shifts c{number} }}").unwrap();
    }
    let everybody: Vec<String> = (0..shifts.len()).map(|number| format!("r{number}")).collect();
    writeln!(
        project,
        "task t \"T\" {{ start {}-00:00-+0000 end {end}-00:00-+0000 allocate {} }}\nexport \"booked\" {{ definitions - \
         taskattributes - resourceattributes booking hideresource 0 hidetask 0 timezone \"UTC\" }}",
        window.start,
        everybody.join(", ")
    )
    .unwrap();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("project.tjp"), &project).unwrap();
    let output = Command::new("tj3")
        .args(["--silent", "project.tjp"])
        .current_dir(directory.path())
        .env_remove("TZ")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{project}", String::from_utf8_lossy(&output.stderr));
    let export = std::fs::read_to_string(directory.path().join("booked.tji")).unwrap();

    let mut all = vec![BTreeSet::new(); shifts.len()];
    let mut resource = None;
    for line in export.lines() {
        if let Some(rest) = line.strip_prefix("supplement resource r") {
            resource = rest.split(' ').next().and_then(|number| number.parse::<usize>().ok());
            continue;
        }
        // `2026-03-16-23:10-+0000 + 16.833333333333332h`
        let Some((before, after)) = line.split_once("-+0000 + ") else { continue };
        let from = before.split(' ').next_back().unwrap();
        let (date, time) = from.split_at(10);
        let (hour, minute) = time.trim_start_matches('-').split_once(':').unwrap();
        let from = minute_of(date) + hour.parse::<i64>().unwrap() * 60 + minute.parse::<i64>().unwrap();
        let hours: f64 = after.split('h').next().unwrap().parse().unwrap();
        let slots = (hours * 60.0 / window.slot_minutes as f64).round() as i64;
        let booked = &mut all[resource.expect("bookings stand in a resource")];
        booked.extend((0..slots).map(|slot| from + slot * window.slot_minutes));
    }
    assert!(all.iter().flatten().all(|minute| (start..start + window.days * DAY_MINUTES).contains(minute)));
    all
}

/// Compares a calendar with bookings, and says how many instants were compared.
fn compare(window: &Window, text: &str, booked: &BTreeSet<i64>, on_the_grid: bool) -> usize {
    let calendar = Calendar::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (start, slot) = (minute_of(window.start), window.slot_minutes);
    let end = start + window.days * DAY_MINUTES;
    let mut compared = 0;
    for minute in (start..end).step_by(usize::try_from(slot).unwrap()) {
        let said = format!("{} {} at {}: {text}", window.zone, window.start, jiff_text(minute));
        assert_eq!(calendar.is_open(at_minute(minute)), booked.contains(&minute), "is_open, {said}");
        compared += 1;
        if !on_the_grid {
            continue;
        }
        // From the beginning of the slot, and from the middle of it, which is closed or open as a whole.
        for (inside, micros) in [(false, 0), (true, slot * 30_000_000 + 1)] {
            let at = at_minute(minute).plus_micros(micros);
            let expected = match booked.range(minute..).next() {
                Some(&open) if open == minute => at,
                Some(open) => at_minute(*open),
                None => {
                    assert!(calendar.next_open(at) >= at_minute(end), "next_open, {said}");
                    continue;
                }
            };
            assert_eq!(calendar.next_open(at), expected, "next_open, {inside}, {said}");
            compared += 1;
        }
    }
    compared
}

fn jiff_text(minute: i64) -> String {
    jiff::Timestamp::from_second(minute * 60).unwrap().to_string()
}

fn installed() -> bool {
    let runs = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    let there = runs(Command::new("tj3").arg("--version"))
        && runs(Command::new("ruby").args(["-e", "require 'taskjuggler/TaskJuggler'"]))
        && Path::new("/usr/share/zoneinfo/Europe/Berlin").exists();
    if !there {
        eprintln!(
            "\n*** NOT COMPARED WITH TASKJUGGLER: tj3 (with tzdata) is not installed; run packaging/prerequisites.sh test. ***\n"
        );
    }
    there
}

#[test]
fn the_hours_are_those_that_taskjuggler_works() {
    if !installed() {
        return;
    }
    let (mut cases, mut instants) = (0, 0);
    for window in WINDOWS {
        let bodies: Vec<(&str, bool)> = BODIES
            .iter()
            .chain(window.more)
            .map(|body| (*body, true))
            .chain(OFF_THE_GRID.iter().map(|body| (*body, false)))
            .collect();
        let shifts: Vec<String> =
            bodies.iter().enumerate().map(|(number, (body, _))| shift(window, &format!("c{number}"), body)).collect();
        let booked = booked(window, &shifts);
        assert_eq!(booked.len(), bodies.len());
        for ((text, (_, on_the_grid)), booked) in shifts.iter().zip(&bodies).zip(&booked) {
            instants += compare(window, text, booked, *on_the_grid);
            cases += 1;
        }
    }
    println!("{cases} calendars, {instants} instants as in tj3");
    assert!(cases >= 300);
}

/// What `tj3` says to texts, each in a project of its own: whether it takes them.
fn judged(texts: &[&str]) -> Vec<bool> {
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..texts.len()).map(|number| directory.path().join(format!("{number:04}.tjp"))).collect();
    for (file, text) in files.iter().zip(texts) {
        let project = "project p \"P\" 2026-03-16-00:00-+0000 +3w { timingresolution 5 min timezone \"UTC\" }";
        std::fs::write(file, format!("{project}\n{text}\n")).unwrap();
    }
    let output = Command::new("ruby")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("allowances/calendar/oracle.rb"))
        .args(&files)
        .env_remove("TZ")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts: BTreeMap<String, bool> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(verdict, file)| (file.to_owned(), verdict == "ok"))
        .collect();
    files.iter().map(|file| verdicts[file.to_str().unwrap()]).collect()
}

#[test]
fn taskjuggler_takes_what_is_taken_and_refuses_what_is_refused() {
    if !installed() {
        return;
    }
    let refused: Vec<&str> = super::tests::REFUSED.iter().map(|(text, ..)| *text).collect();
    for (text, took) in refused.iter().zip(judged(&refused)) {
        assert!(!took, "tj3 takes what we refuse: {text}");
    }
    // All that is taken, in one project: it stops at what it refuses. Each case has an id of its own.
    let together: Vec<String> = super::tests::TAKEN
        .iter()
        .enumerate()
        .map(|(number, text)| text.replace("ID", &format!("c{number}")))
        .collect();
    let whole = together.join("\n");
    if judged(&[&whole]) != [true] {
        let each: Vec<&str> = together.iter().map(String::as_str).collect();
        for (text, took) in each.iter().zip(judged(&each)) {
            assert!(took, "tj3 refuses what we take: {text}");
        }
        panic!("tj3 refuses together what it takes one by one");
    }
}

#[test]
fn the_differences_are_those_that_are_documented() {
    if !installed() {
        return;
    }
    let stricter: Vec<&str> = super::tests::STRICTER.iter().map(|(text, ..)| *text).collect();
    for (text, took) in stricter.iter().zip(judged(&stricter)) {
        assert!(took, "tj3 refuses it, too; it belongs to the others: {text}");
    }
    for (text, took) in super::tests::MORE_GENEROUS.iter().zip(judged(super::tests::MORE_GENEROUS)) {
        assert!(!took, "tj3 takes it, too; it belongs to the others: {text}");
    }
    // That `timezone` in a shift is without effect in `tj3` is why the projects above are in the shift's zone.
    let window = Window { zone: "UTC", start: "2026-06-01", days: 2, slot_minutes: 60, more: &[] };
    let text = "shift c0 \"Case\" { timezone \"Asia/Tokyo\" }".to_owned();
    let booked = booked(&window, std::slice::from_ref(&text));
    assert_eq!(booked[0].first(), Some(&(minute_of("2026-06-01") + 9 * 60)));
    let midnight = at_minute(minute_of("2026-06-01"));
    assert_eq!(Calendar::parse(&text).unwrap().next_open(midnight), midnight, "nine o'clock in Tokyo");
}
