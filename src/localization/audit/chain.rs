//! Goes over a chain with all its events and checkpoints, some at a time: whoever has others to serve does something else
//! in between. Events are never changed, so that each look may be at a newer state of the store than the one before.

use quintet_storage::{Failure, Read, Scan};

use super::breaks::{BreakKind, Breaks};
use super::checkpoint::{Checkpoint, checkpoints_after};
use super::key::{PublicKey, public_key};
use super::record::events_after;
use super::tables::{AUDIT_CHECKPOINTS, AUDIT_EVENTS, AUDIT_HEADS, AuditCheckpointRow, AuditEventRow};
use super::text::hash_with;
use crate::model::TenantId;

/// Events looked at in one step.
const STEP_EVENTS: usize = 1_000;
/// Checkpoints looked at in one step: each costs as much as some dozens of events.
const STEP_CHECKPOINTS: usize = 50;

/// A chain that is being gone over.
pub struct ChainCheck {
    tenant_id: TenantId,
    key: Option<PublicKey>,
    head_seq: u64,
    head_hash: [u8; 32],
    /// The event that the last checkpoint is of, as the head says.
    head_checkpoint: u64,
    stage: Stage,
    /// The last event that was looked at, and its hash.
    last: u64,
    last_hash: [u8; 32],
    room: String,
    /// What was found so far.
    pub found: ChainFound,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainFound {
    /// How many events were looked at.
    pub events: u64,
    /// Checkpoints that fit.
    pub checkpoints: u64,
    /// The number of the last event.
    pub head_seq: u64,
    /// The event that the last checkpoint is of; 0: there is none.
    pub last_checkpoint: u64,
    /// Where it is broken.
    pub breaks: Breaks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Events,
    /// Checkpoints of events above this one.
    Checkpoints(u64),
    Over,
}

impl ChainCheck {
    /// A tenant's chain as it is now.
    ///
    /// # Errors
    /// Only the store's.
    pub fn begin(read: &impl Read, tenant_id: TenantId) -> Result<ChainCheck, Failure> {
        let head = read.get(&AUDIT_HEADS, &tenant_id)?;
        let (head_seq, head_hash) = head.map_or((0, [0; 32]), |head| (head.seq, head.hash));
        let head_checkpoint = head.map_or(0, |head| head.checkpoint_seq);
        let mut found = ChainFound { head_seq, ..ChainFound::default() };
        let behind = Scan::prefix(&(tenant_id,)).after(&(tenant_id, head_seq)).limit(1);
        if let Some(((_, seq), _)) = read.scan(&AUDIT_EVENTS, behind)?.first() {
            let detail = match head {
                Some(_) => format!("the chain goes on here, its head says {head_seq}"),
                None => "there are events, but no head".to_owned(),
            };
            found.breaks.add(*seq, BreakKind::Head, detail);
        }
        let behind = Scan::prefix(&(tenant_id,)).after(&(tenant_id, head_seq)).limit(1);
        if let Some(((_, seq), _)) = read.scan(&AUDIT_CHECKPOINTS, behind)?.first() {
            found.breaks.add(*seq, BreakKind::Checkpoint, "has a checkpoint, and is not there");
        }
        let key = public_key(read)?;
        let (stage, room) = (Stage::Events, String::new());
        let (last, last_hash) = (0, [0; 32]);
        Ok(ChainCheck { tenant_id, key, head_seq, head_hash, head_checkpoint, stage, last, last_hash, room, found })
    }

    /// Looks at some more; whether that was all.
    ///
    /// # Errors
    /// Only the store's.
    pub fn step(&mut self, read: &impl Read) -> Result<bool, Failure> {
        match self.stage {
            Stage::Events => self.look_at_events(read)?,
            Stage::Checkpoints(after) => self.look_at_checkpoints(read, after)?,
            Stage::Over => {}
        }
        Ok(self.stage == Stage::Over)
    }

    fn look_at_events(&mut self, read: &impl Read) -> Result<(), Failure> {
        let page = events_after(read, self.tenant_id, self.last, STEP_EVENTS)?;
        let is_last = page.len() < STEP_EVENTS;
        for (seq, row) in page {
            if seq > self.head_seq {
                self.end();
                return Ok(());
            }
            self.look_at_event(seq, &row);
        }
        if is_last {
            self.end();
        }
        Ok(())
    }

    fn look_at_event(&mut self, seq: u64, row: &AuditEventRow) {
        let breaks = &mut self.found.breaks;
        if seq != self.last + 1 {
            breaks.add(seq, BreakKind::Gap, format!("comes after event {}", self.last));
        } else if row.prev_hash != self.last_hash {
            breaks.add(seq, BreakKind::Link, "does not continue the event before it");
        }
        if hash_with(seq, row, &mut self.room) != row.hash {
            breaks.add(seq, BreakKind::Hash, "is not what its hash says");
        }
        (self.last, self.last_hash) = (seq, row.hash);
        self.found.events += 1;
    }

    fn end(&mut self) {
        if (self.last, self.last_hash) != (self.head_seq, self.head_hash) {
            let detail = format!("the chain ends here, its head says {}", self.head_seq);
            self.found.breaks.add(self.last, BreakKind::Head, detail);
        }
        self.stage = Stage::Checkpoints(0);
    }

    fn look_at_checkpoints(&mut self, read: &impl Read, after: u64) -> Result<(), Failure> {
        let page = checkpoints_after(read, self.tenant_id, after, self.head_seq, STEP_CHECKPOINTS)?;
        self.stage = match page.last() {
            Some((seq, _)) if page.len() == STEP_CHECKPOINTS => Stage::Checkpoints(*seq),
            _ => Stage::Over,
        };
        for (seq, row) in page {
            let event = read.get(&AUDIT_EVENTS, &(self.tenant_id, seq))?;
            self.found.last_checkpoint = seq;
            match self.fault_of(seq, &row, event.as_ref()) {
                None => self.found.checkpoints += 1,
                Some(fault) => self.found.breaks.add(seq, BreakKind::Checkpoint, fault),
            }
        }
        if self.stage == Stage::Over {
            self.look_at_last_checkpoint();
        }
        Ok(())
    }

    /// The head knows of which event the last one is: those at the end cannot be taken away unnoticed. A newer one may have
    /// been made meanwhile.
    fn look_at_last_checkpoint(&mut self) {
        let (last, says) = (self.found.last_checkpoint, self.head_checkpoint);
        if last < says {
            let detail = format!("its checkpoint is missing: the last one there is is of event {last}");
            self.found.breaks.add(says, BreakKind::Checkpoint, detail);
        }
    }

    /// What is wrong with a checkpoint.
    fn fault_of(&self, seq: u64, row: &AuditCheckpointRow, event: Option<&AuditEventRow>) -> Option<&'static str> {
        match event {
            None => return Some("has a checkpoint, and is not there"),
            Some(event) if event.hash != row.hash => return Some("has a checkpoint of another hash"),
            Some(_) => {}
        }
        let text = Checkpoint::of(self.tenant_id, seq, row).signed_text();
        match &self.key {
            None => Some("has a checkpoint, and there is no key"),
            Some(key) if key.id() != row.key_id => Some("has a checkpoint of another key"),
            Some(key) if !key.has_signed(&text, &row.signature) => Some("has a checkpoint that the key has not signed"),
            Some(_) => None,
        }
    }
}
