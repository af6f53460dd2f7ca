//! From tokens to calendars, by TaskJuggler's rules for shifts (`TjpSyntaxRules.rb`: `shift`, `shiftScenarioAttributes`,
//! `workinghours`, `leaves`).

use std::collections::BTreeSet;

use quintet_platform::zones::Zone;

use super::dates::{End, Moment, Stretch, duration_seconds};
use super::error::ShiftError;
use super::scan::{Kind, Scanner, Token};
use super::shift::Calendar;
use super::week::{DAYS, Hours, Week};

/// The most bytes that the text of a calendar may have.
pub const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The most shifts in one another.
pub const DEPTH_MAX: usize = 16;

const LEAVE_TYPES: [&str; 7] = ["project", "annual", "special", "sick", "unpaid", "holiday", "unemployed"];
const ATTRIBUTES: &str = "`workinghours`, `timezone`, `vacation`, `leaves` or `replace`";

impl Calendar {
    /// Reads a calendar, in time linear in the text.
    ///
    /// # Errors
    /// The first thing that is wrong in the text, with its place.
    pub fn parse(text: &str) -> Result<Calendar, ShiftError> {
        if text.len() > TEXT_BYTES_MAX {
            let end = text.floor_char_boundary(TEXT_BYTES_MAX);
            let found = format!("{} bytes", text.len());
            return Err(ShiftError::new(text, end, &found, format!("a text of at most {TEXT_BYTES_MAX} bytes")));
        }
        Parser::new(text).calendar()
    }
}

/// A shift whose end has not been read.
struct Draft<'t> {
    header: Token<'t>,
    id: Option<&'t str>,
    name: String,
    zone: Zone,
    week: Week,
    /// The lists of time off; in one of `vacation` nothing may stand twice.
    leaves: Vec<(Vec<Stretch<'t>>, bool)>,
    /// Where hours were set last.
    hours_at: Option<Token<'t>>,
}

/// Reads the text of a calendar.
struct Parser<'t> {
    scanner: Scanner<'t>,
    peeked: Option<Token<'t>>,
    ids: BTreeSet<&'t str>,
    open: Vec<Draft<'t>>,
    calendar: Option<Calendar>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Parser { scanner: Scanner::new(text), peeked: None, ids: BTreeSet::new(), open: Vec::new(), calendar: None }
    }

    /// The calendar of the first shift. The others are read and checked.
    ///
    /// # Errors
    /// The first thing that is wrong.
    fn calendar(mut self) -> Result<Calendar, ShiftError> {
        loop {
            let token = self.next()?;
            if self.open.is_empty() {
                match (token.kind, self.calendar.take()) {
                    (Kind::End, Some(calendar)) => return Ok(calendar),
                    (_, calendar) if token.is_word("shift") => {
                        self.calendar = calendar;
                        self.header()?;
                    }
                    (_, None) => return Err(self.wrong(token, "`shift`")),
                    (_, Some(_)) => return Err(self.wrong(token, "another `shift`, or the end of the text")),
                }
            } else if token.is_word("shift") {
                self.header()?;
            } else if token.is_mark("}") {
                self.close()?;
            } else if token.kind == Kind::Scenario {
                if token.text != "plan" {
                    return Err(self.wrong(token, "`plan:`, the one scenario there is"));
                }
                let attribute = self.next()?;
                if !self.attribute(attribute)? {
                    return Err(self.wrong(attribute, ATTRIBUTES));
                }
            } else if !self.attribute(token)? {
                return Err(self.wrong(token, format!("{ATTRIBUTES}, `shift`, or `}}`")));
            }
        }
    }

    fn next(&mut self) -> Result<Token<'t>, ShiftError> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.scanner.next(),
        }
    }

    fn peek(&mut self) -> Result<Token<'t>, ShiftError> {
        let token = self.next()?;
        self.peeked = Some(token);
        Ok(token)
    }

    /// Takes the next token if it is the mark.
    fn took(&mut self, mark: &str) -> Result<bool, ShiftError> {
        let took = self.peek()?.is_mark(mark);
        if took {
            self.peeked = None;
        }
        Ok(took)
    }

    fn wanted(&mut self, kind: Kind, expected: &str) -> Result<Token<'t>, ShiftError> {
        let token = self.next()?;
        if token.kind == kind { Ok(token) } else { Err(self.wrong(token, expected)) }
    }

    fn wrong(&self, token: Token<'_>, expected: impl Into<String>) -> ShiftError {
        ShiftError::new(self.scanner.text(), token.at, token.text, expected)
    }

    /// After `shift`: an id or none, the name, and perhaps a body.
    fn header(&mut self) -> Result<(), ShiftError> {
        let first = self.next()?;
        if self.open.len() >= DEPTH_MAX {
            return Err(self.wrong(first, format!("at most {DEPTH_MAX} shifts in one another")));
        }
        let id = (first.kind == Kind::Word).then_some(first.text);
        if id.is_some_and(|id| !self.ids.insert(id)) {
            return Err(self.wrong(first, "an id that no other shift has"));
        }
        let name = match id {
            Some(_) => self.wanted(Kind::Quoted, "the name of the shift in quotes")?,
            None if first.kind == Kind::Quoted => first,
            None => {
                return Err(self.wrong(first, "the id of the shift (letters, digits and `_`) or its name in quotes"));
            }
        };
        self.open.push(Draft {
            header: first,
            id,
            name: name.unquoted(),
            zone: self.open.last().map_or(Zone::UTC, |outer| outer.zone.clone()),
            week: Week::default(),
            leaves: Vec::new(),
            hours_at: None,
        });
        if self.took("{")? { Ok(()) } else { self.close() }
    }

    /// At the end of a shift: its dates are resolved, now that its zone is known.
    fn close(&mut self) -> Result<(), ShiftError> {
        let Some(draft) = self.open.pop() else { return Ok(()) };
        let mut leaves = Vec::new();
        for (list, apart) in &draft.leaves {
            let mut seen = BTreeSet::new();
            for stretch in list {
                let (start, end) = stretch.resolve(self.scanner.text(), &draft.zone)?;
                if *apart && !seen.insert((start, end)) {
                    return Err(self.wrong(stretch.start.token(), "a stretch that the list does not have yet"));
                }
                leaves.push((start, end));
            }
        }
        // The first shift is the last to be closed of those that are open with it, and the first without one around it.
        if !self.open.is_empty() || self.calendar.is_some() {
            return Ok(());
        }
        if draft.week.is_closed() {
            let expected = "hours on at least one day: a calendar that never opens would hold every run for good";
            return Err(self.wrong(draft.hours_at.unwrap_or(draft.header), expected));
        }
        self.calendar = Some(Calendar::new(draft.id, draft.name, draft.zone, draft.week, leaves));
        Ok(())
    }

    /// Whether the token begins an attribute, which then has been read.
    fn attribute(&mut self, token: Token<'t>) -> Result<bool, ShiftError> {
        if token.kind != Kind::Word {
            return Ok(false);
        }
        match token.text {
            "workinghours" => self.working_hours(token)?,
            "timezone" => self.time_zone()?,
            "vacation" => self.vacation()?,
            "leaves" => self.leaves()?,
            // It concerns the leaves of resources, and there are none.
            "replace" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn time_zone(&mut self) -> Result<(), ShiftError> {
        let expected = "a time zone in quotes: `\"UTC\"`, or a name of the IANA database as `\"Europe/Berlin\"`";
        let token = self.wanted(Kind::Quoted, expected)?;
        let zone = Zone::named(&token.unquoted()).ok_or_else(|| self.wrong(token, expected))?;
        if let Some(draft) = self.open.last_mut() {
            draft.zone = zone;
        }
        Ok(())
    }

    fn working_hours(&mut self, keyword: Token<'t>) -> Result<(), ShiftError> {
        let days = self.days()?;
        let mut hours = Vec::new();
        if self.peek()?.is_word("off") {
            self.peeked = None;
        } else {
            hours.push(self.hours("hours as `9:00 - 17:00`, or `off`")?);
            while self.took(",")? {
                hours.push(self.hours("hours as `9:00 - 17:00`")?);
            }
        }
        if let Some(draft) = self.open.last_mut() {
            draft.week.set(days, hours);
            draft.hours_at = Some(keyword);
        }
        Ok(())
    }

    /// `mon`, `mon - fri`, `sat, sun`; a stretch may go over the end of the week.
    fn days(&mut self) -> Result<[bool; 7], ShiftError> {
        let mut chosen = [false; 7];
        loop {
            let first = self.day()?;
            let last = if self.took("-")? { self.day()? } else { first };
            let length = (last + DAYS.len() - first) % DAYS.len();
            for (day, chosen) in chosen.iter_mut().enumerate() {
                *chosen |= (day + DAYS.len() - first) % DAYS.len() <= length;
            }
            if !self.took(",")? {
                return Ok(chosen);
            }
        }
    }

    fn day(&mut self) -> Result<usize, ShiftError> {
        let token = self.next()?;
        let day = DAYS.iter().position(|day| token.is_word(day));
        day.ok_or_else(|| self.wrong(token, "a day: `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`"))
    }

    fn hours(&mut self, expected: &str) -> Result<Hours, ShiftError> {
        let from = self.wanted(Kind::Time, expected)?;
        let from_minute = self.minute(from)?;
        if !self.took("-")? {
            let token = self.next()?;
            return Err(self.wrong(token, "`-` and the end of the hours"));
        }
        let until = self.wanted(Kind::Time, "the end of the hours as `17:00`")?;
        let until_minute = self.minute(until)?;
        if until_minute <= from_minute {
            let found = format!("{} - {}", from.text, until.text);
            let expected = "an end later than the start; hours over midnight are two: up to `24:00`, and from `0:00` on \
                            the next day";
            return Err(ShiftError::new(self.scanner.text(), from.at, &found, expected));
        }
        Ok(Hours { from_minute, until_minute })
    }

    /// The minute of the day that a time is.
    fn minute(&self, token: Token<'_>) -> Result<u16, ShiftError> {
        let parts =
            token.text.split_once(':').and_then(|(hour, minute)| Some((hour.parse().ok()?, minute.parse().ok()?)));
        let minute = parts.and_then(|(hour, minute): (u16, u16)| {
            let minutes = hour.checked_mul(60)?.checked_add(minute)?;
            (minute < 60 && minutes <= 24 * 60).then_some(minutes)
        });
        minute.ok_or_else(|| self.wrong(token, "a time from `0:00` to `24:00`, with minutes from 00 to 59"))
    }

    /// `vacation "name" stretch, stretch`
    fn vacation(&mut self) -> Result<(), ShiftError> {
        self.reason()?;
        let mut list = vec![self.stretch()?];
        while self.took(",")? {
            list.push(self.stretch()?);
        }
        self.add_leaves(list, true);
        Ok(())
    }

    /// `leaves type "name" stretch, type stretch`
    fn leaves(&mut self) -> Result<(), ShiftError> {
        let mut list = Vec::new();
        loop {
            let token = self.next()?;
            if !LEAVE_TYPES.iter().any(|name| token.is_word(name)) {
                return Err(self.wrong(token, format!("a type of leave: {}", LEAVE_TYPES.join(", "))));
            }
            self.reason()?;
            list.push(self.stretch()?);
            if !self.took(",")? {
                break;
            }
        }
        self.add_leaves(list, false);
        Ok(())
    }

    /// Why there is time off, which is read and forgotten.
    fn reason(&mut self) -> Result<(), ShiftError> {
        if self.peek()?.kind == Kind::Quoted {
            self.peeked = None;
        }
        Ok(())
    }

    fn add_leaves(&mut self, list: Vec<Stretch<'t>>, apart: bool) {
        if let Some(draft) = self.open.last_mut() {
            draft.leaves.push((list, apart));
        }
    }

    /// `date`, `date - date` or `date + duration`
    fn stretch(&mut self) -> Result<Stretch<'t>, ShiftError> {
        let start = self.date()?;
        let end = if self.took("-")? {
            End::At(self.date()?)
        } else if self.took("+")? {
            End::After(self.duration()?)
        } else {
            End::NextDay
        };
        Ok(Stretch { start, end })
    }

    /// `2026-12-24`, or `%{2026-12-24 + 2d}`
    fn date(&mut self) -> Result<Moment<'t>, ShiftError> {
        if !self.took("%")? {
            let token = self.wanted(Kind::Date, "a date as `2026-12-24` or `2026-12-24-13:00`")?;
            return Moment::read(self.scanner.text(), token);
        }
        if !self.took("{")? {
            let token = self.next()?;
            return Err(self.wrong(token, "`{`"));
        }
        let token = self.wanted(Kind::Date, "a date as `2026-12-24` or `2026-12-24-13:00`")?;
        let moment = Moment::read(self.scanner.text(), token)?;
        let sign = self.next()?;
        if !(sign.is_mark("+") || sign.is_mark("-")) {
            return Err(self.wrong(sign, "`+` or `-`"));
        }
        let seconds = self.duration()?;
        let end = self.next()?;
        if !end.is_mark("}") {
            return Err(self.wrong(end, "`}`"));
        }
        Ok(moment.plus(if sign.is_mark("-") { -seconds } else { seconds }))
    }

    fn duration(&mut self) -> Result<i64, ShiftError> {
        let number = self.wanted(Kind::Number, "a duration as `3d` or `1.5h`")?;
        let unit = self.next()?;
        duration_seconds(self.scanner.text(), number, unit)
    }
}
