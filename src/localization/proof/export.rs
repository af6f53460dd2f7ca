//! A part of a chain on its way out, piece by piece: its events, and at the end the checkpoints of these (localization, U3).

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use quintet_storage::{Failure, Read, Timestamp, Uuid};

use crate::audit::{AuditEventRow, Checkpoint, checkpoints_after, events_after, write_event};
use crate::model::TenantId;

/// Events of a piece: some ten thousand of their bytes to a few hundred thousand.
const EVENTS_AT_A_TIME: usize = 250;
/// Checkpoints of a piece.
const CHECKPOINTS_AT_A_TIME: usize = 250;
/// What stands at the beginning of each line of CEF, whose severity is always the same.
const CEF_VENDOR: &str = "CEF:0|quintet|localization|";

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object in each line.
    Ndjson,
    /// ArcSight's Common Event Format.
    Cef,
}

/// The part that goes out.
#[derive(Clone, Debug)]
pub struct Export {
    tenant_id: TenantId,
    format: Format,
    /// Before this number nothing is wanted.
    from: u64,
    /// Nothing behind this one.
    to: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    EventsAfter(u64),
    CheckpointsAfter(u64),
    Over,
}

impl Export {
    /// Events from a number to another, both included.
    #[must_use]
    pub fn of(tenant_id: TenantId, format: Format, from: u64, to: u64) -> Export {
        Export { tenant_id, format, from, to, place: Place::EventsAfter(from.saturating_sub(1)) }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// Only the store's.
    pub fn next(&mut self, read: &impl Read) -> Result<Option<String>, Failure> {
        let mut piece = String::new();
        while piece.is_empty() {
            match self.place {
                Place::EventsAfter(after) => self.write_events(read, after, &mut piece)?,
                Place::CheckpointsAfter(after) => self.write_checkpoints(read, after, &mut piece)?,
                Place::Over => return Ok(None),
            }
        }
        Ok(Some(piece))
    }

    fn write_events(&mut self, read: &impl Read, after: u64, piece: &mut String) -> Result<(), Failure> {
        let page = events_after(read, self.tenant_id, after, EVENTS_AT_A_TIME)?;
        let is_last = page.len() < EVENTS_AT_A_TIME || page.last().is_some_and(|(seq, _)| *seq >= self.to);
        self.place = match page.last() {
            Some((seq, _)) if !is_last => Place::EventsAfter(*seq),
            _ => Place::CheckpointsAfter(self.from.saturating_sub(1)),
        };
        for (seq, row) in page.iter().take_while(|(seq, _)| *seq <= self.to) {
            match self.format {
                Format::Ndjson => write_event(*seq, row, piece),
                Format::Cef => write_cef_event(*seq, row, piece),
            }
            piece.push('\n');
        }
        Ok(())
    }

    fn write_checkpoints(&mut self, read: &impl Read, after: u64, piece: &mut String) -> Result<(), Failure> {
        let page = checkpoints_after(read, self.tenant_id, after, self.to, CHECKPOINTS_AT_A_TIME)?;
        self.place = match page.last() {
            Some((seq, _)) if page.len() == CHECKPOINTS_AT_A_TIME => Place::CheckpointsAfter(*seq),
            _ => Place::Over,
        };
        for (seq, row) in page {
            let checkpoint = Checkpoint::of(self.tenant_id, seq, &row);
            match self.format {
                Format::Ndjson => piece.push_str(&checkpoint.line()),
                Format::Cef => write_cef_checkpoint(&checkpoint, row.at, piece),
            }
            piece.push('\n');
        }
        Ok(())
    }
}

fn write_cef_event(seq: u64, row: &AuditEventRow, out: &mut String) {
    write_cef_head(&row.action, row.occurred_at, out);
    let actor_id = Uuid::from_bytes(row.actor_id).hyphenated();
    let event_id = Uuid::from_bytes(row.event_id).hyphenated();
    let (hash, prev_hash) = (HEXLOWER.encode(&row.hash), HEXLOWER.encode(&row.prev_hash));
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        " suser={actor_id} externalId={event_id} cs1Label=hash cs1={hash} cs2Label=prev_hash cs2={prev_hash} \
         cn1Label=seq cn1={seq}"
    );
}

fn write_cef_checkpoint(checkpoint: &Checkpoint, at: Timestamp, out: &mut String) {
    write_cef_head("checkpoint", at, out);
    let (hash, key_id) = (HEXLOWER.encode(&checkpoint.hash), HEXLOWER.encode(&checkpoint.key_id));
    let signature = HEXLOWER.encode(&checkpoint.signature);
    let seq = checkpoint.seq;
    let _ = write!(
        out,
        " cs1Label=hash cs1={hash} cs3Label=key_id cs3={key_id} cs4Label=signature cs4={signature} cn1Label=seq cn1={seq}"
    );
}

/// The prefix, with the instant in milliseconds.
fn write_cef_head(action: &str, at: Timestamp, out: &mut String) {
    let action = action.replace('\\', "\\\\").replace('|', "\\|");
    let millis = at.as_micros().div_euclid(1_000);
    let _ = write!(out, "{CEF_VENDOR}{}|{action}|{action}|3|rt={millis}", env!("CARGO_PKG_VERSION"));
}
