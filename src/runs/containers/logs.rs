//! What a run has written: from its container while that is there, from its archive afterwards. Blocking.
//!
//! Both keep the first 1 MiB and the last 9 MiB of a stream; where lines are missing between, a marker stands for them.
//! An answer is bounded, and says where to go on: whatever is kept can be had, a page after the other.

use quintet_runtime::ContainerId;
use quintet_storage::{Abort, Failure};

use super::archive::{Reader, is_kept};
use super::life;
use super::lines::{Entry, Lines, Origin, Position, Range, Since, Trouble, Wanted};
use super::page::{PAGE_BYTES, Page};
use crate::context::Context;
use crate::model::RunKey;
use crate::refusal::Refusal;

/// The most lines that can be asked for by their number.
pub(crate) const TAIL_MAX: u64 = 1_000_000;

/// Where lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Live,
    Archive,
    None,
}

impl Source {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Source::Live => "live",
            Source::Archive => "archive",
            Source::None => "none",
        }
    }
}

/// What was found.
pub(crate) struct Found {
    pub(crate) source: Source,
    pub(crate) page: Page,
    /// Of what is wanted lines are missing, for whatever reason.
    pub(crate) truncated: bool,
    /// From where on there may be more.
    pub(crate) next: Since,
}

/// Where a run's lines and samples are.
pub(super) enum Kept {
    /// In the store.
    Archive(Box<Reader>),
    /// With its container.
    Container(ContainerId),
    /// Nowhere.
    Nowhere,
}

/// Where a run's lines and samples are, at one moment: the archive comes and the container goes in one transaction, so
/// that whoever looked for them one after the other might find neither.
pub(super) fn kept(context: &Context, run_key: RunKey) -> Result<Kept, Failure> {
    let read = context.store.read();
    if let Some(reader) = Reader::open(&read, run_key)? {
        return Ok(Kept::Archive(Box::new(reader)));
    }
    let container = life::container(&read, run_key.1)?;
    let id = container.and_then(|(_, number)| context.container_id(run_key.1, number));
    Ok(id.map_or(Kept::Nowhere, Kept::Container))
}

/// Reads what is wanted.
pub(crate) fn read(context: &Context, run_key: RunKey, wanted: &Wanted) -> Result<Found, Abort<Refusal>> {
    let found = from_origin(context, run_key, |source, origin| page(source, origin, wanted))?;
    Ok(found.unwrap_or_else(|| Found {
        source: Source::None,
        page: Page::default(),
        truncated: false,
        next: wanted.since.unwrap_or(Since::Position(Position::default())),
    }))
}

/// Where somebody begins who follows: behind so much of what is there that `tail` lines are left.
pub(super) fn beginning(
    context: &Context,
    run_key: RunKey,
    wanted: &Wanted,
) -> Result<(Source, Position), Abort<Refusal>> {
    let begin = |source, origin: &Origin| {
        let lines = Range::find(origin, wanted)?.lines(origin)?;
        Ok((source, behind(wanted.position(), &lines)))
    };
    Ok(from_origin(context, run_key, begin)?.unwrap_or((Source::None, wanted.position())))
}

/// The same without a look at any line, where that needs none.
pub(super) fn beginning_at_once(
    context: &Context,
    run_key: RunKey,
    wanted: &Wanted,
) -> Result<Option<(Source, Position)>, Failure> {
    let read = context.store.read();
    if wanted.tail.is_some() || wanted.instant().is_some() {
        return Ok(None);
    }
    let source = match life::container(&read, run_key.1)? {
        _ if is_kept(&read, run_key)? => Source::Archive,
        Some(_) => Source::Live,
        None => Source::None,
    };
    Ok(Some((source, wanted.position())))
}

/// What is read of a run where its lines are; nothing if there are none.
fn from_origin<T>(
    context: &Context,
    run_key: RunKey,
    read: impl Fn(Source, &Origin) -> Result<T, Trouble>,
) -> Result<Option<T>, Abort<Refusal>> {
    // The archive is there before the container goes: whoever misses it once finds it the second time.
    for _ in 0..2 {
        let (source, origin) = match kept(context, run_key)? {
            Kept::Archive(reader) => (Source::Archive, Origin::Archive(reader)),
            Kept::Container(id) => match context.runner.clone() {
                Some(runner) => (Source::Live, Origin::Container(runner, id)),
                None => break,
            },
            Kept::Nowhere => break,
        };
        match read(source, &origin) {
            Ok(read) => return Ok(Some(read)),
            Err(Trouble::Gone) => {}
            Err(Trouble::Other(abort)) => return Err(abort),
        }
    }
    Ok(None)
}

/// Where lines go on; of a stream that was not read as before.
fn behind(position: Position, lines: &Lines) -> Position {
    lines.places().fold(position, |position, (stream, line)| position.with(stream, line))
}

fn page(source: Source, origin: &Origin, wanted: &Wanted) -> Result<Found, Trouble> {
    let range = Range::find(origin, wanted)?;
    let (mut filled, size) = fill(&range, origin, wanted, Size::default())?;
    if wanted.tail.is_some() && size.is_over(wanted) {
        // The last ones are wanted, and not all of them fit: once more, without as many of the first.
        (filled, _) = fill(&range, origin, wanted, size)?;
    }
    let next = match wanted.since {
        Some(since @ Since::Instant(_)) if filled.page.bytes() == 0 => since,
        _ => Since::Position(filled.next),
    };
    Ok(Found { source, page: filled.page, truncated: filled.is_missing, next })
}

/// Fills a page, and says what all lines of the range take, which are `total` if that is known already: then the first
/// ones are passed over until the rest fits.
fn fill(range: &Range, origin: &Origin, wanted: &Wanted, total: Size) -> Result<(Filled, Size), Trouble> {
    let mut lines = range.lines(origin)?;
    let mut filled = Filled {
        page: Page::default(),
        is_full: false,
        is_missing: range.is_cut(),
        next: behind(wanted.position(), &lines),
    };
    let (mut size, mut left) = (Size::default(), total);
    while let Some((stream, line, expected)) = lines.next()? {
        let (mark, entry) = Entry::of(stream, line, expected);
        let own = Size::of(mark.as_ref(), &entry);
        size = Size { bytes: size.bytes + own.bytes, entries: size.entries + own.entries };
        if left.is_over(wanted) && left.entries > own.entries {
            left = Size { bytes: left.bytes.saturating_sub(own.bytes), entries: left.entries - own.entries };
            filled.pass(&entry);
        } else if !filled.take(mark, &entry, own) && wanted.tail.is_none() {
            break;
        }
    }
    Ok((filled, size))
}

/// What lines take, with what stands for missing ones.
#[derive(Clone, Copy, Default)]
struct Size {
    bytes: usize,
    entries: u64,
}

impl Size {
    fn of(mark: Option<&Entry>, entry: &Entry) -> Size {
        let all = mark.into_iter().chain([entry]);
        all.fold(Size::default(), |size, entry| Size {
            bytes: size.bytes + Page::bytes_of(entry),
            entries: size.entries + 1,
        })
    }

    /// Whether it is more than an answer holds, or than is wanted.
    fn is_over(self, wanted: &Wanted) -> bool {
        self.bytes > PAGE_BYTES || wanted.tail.is_some_and(|tail| self.entries > tail)
    }
}

/// A page, and what is to be said of it.
struct Filled {
    page: Page,
    is_full: bool,
    /// Lines are missing.
    is_missing: bool,
    /// What comes behind the last line of either stream.
    next: Position,
}

impl Filled {
    /// Takes a line in, if there is room, with what stands before it for missing ones.
    fn take(&mut self, mark: Option<Entry>, entry: &Entry, own: Size) -> bool {
        let is_empty = self.page.bytes() == 0;
        self.is_full |= !is_empty && self.page.bytes() + own.bytes > PAGE_BYTES;
        self.is_missing |= self.is_full || mark.is_some();
        if self.is_full {
            return false;
        }
        if let Some(mark) = mark {
            self.page.push(&mark);
        }
        self.page.push(entry);
        self.next = self.next.with(entry.stream, entry.next_line);
        true
    }

    /// Leaves a line out, for those behind it.
    fn pass(&mut self, entry: &Entry) {
        self.is_missing = true;
        self.next = self.next.with(entry.stream, entry.next_line);
    }
}
