//! Goes over the anchors of chains, some at a time, and finds a directory that was put back to an older state: an anchor
//! above the head, one that differs, a checkpoint whose anchor is missing (localization, U5).

use std::collections::{HashMap, HashSet};

use quintet_storage::{Failure, Read, Scan, Uuid};

use super::anchors::{AnchorFile, Block};
use super::breaks::{Break, BreakKind, Breaks};
use super::checkpoint::{Checkpoint, is_unanchored};
use super::key::{PublicKey, public_key};
use super::record::head_seq;
use super::tables::{AUDIT_CHECKPOINTS, AUDIT_EVENTS, AuditCheckpointRow};
use crate::model::TenantId;

/// Checkpoints looked for in one step.
const STEP_CHECKPOINTS: usize = 2_000;

/// Anchors that are being gone over.
pub struct AnchorCheck {
    file: AnchorFile,
    only: Option<TenantId>,
    /// Anchors that begin below this place were there before the state that they are held against: none may be above a
    /// head. Those behind it may.
    known_bytes: u64,
    key: Option<PublicKey>,
    /// The last events of the chains, as they were at the beginning.
    heads: HashMap<TenantId, u64>,
    stage: Stage,
    /// Where the part of the file ends that was read.
    read_to: u64,
    /// Checkpoints whose anchors are there.
    seen: HashSet<(TenantId, u64)>,
    /// Those whose anchors were not, when they were looked for.
    missed: Vec<(TenantId, u64)>,
    /// Where they break.
    found: HashMap<TenantId, Breaks>,
    /// How many tenants there is room for.
    count: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The file from this place on.
    File(u64),
    /// Checkpoints behind this one.
    Missing(Option<(TenantId, u64)>),
    /// What was added to the file meanwhile: a checkpoint may be newer than what was read of it.
    Added(u64),
    Over,
}

/// More findings say nothing new.
const FINDINGS_MAX: usize = 1_000;

impl AnchorCheck {
    /// Of one tenant, or of all. `known_bytes` is how long the file was before the state that is read was taken.
    ///
    /// # Errors
    /// Only the store's.
    pub fn begin(
        read: &impl Read,
        file: AnchorFile,
        only: Option<TenantId>,
        known_bytes: u64,
    ) -> Result<AnchorCheck, Failure> {
        let mut heads = HashMap::new();
        if let Some(tenant_id) = only {
            heads.insert(tenant_id, head_seq(read, tenant_id)?);
        }
        let (key, stage) = (public_key(read)?, Stage::File(0));
        let (seen, missed, found) = (HashSet::new(), Vec::new(), HashMap::new());
        Ok(AnchorCheck { file, only, known_bytes, key, heads, stage, read_to: 0, seen, missed, found, count: 0 })
    }

    /// Looks at some more; whether that was all.
    ///
    /// # Errors
    /// Only the store's.
    pub fn step(&mut self, read: &impl Read) -> Result<bool, Failure> {
        match self.stage {
            Stage::File(at) | Stage::Added(at) => match self.file.block(at) {
                Ok(block) => self.look_at_block(read, &block)?,
                Err(error) => {
                    let tenant_id = self.only.unwrap_or(TenantId(Uuid::nil()));
                    self.add(tenant_id, 0, format!("the anchor file cannot be read: {error}"));
                    self.stage = Stage::Over;
                }
            },
            Stage::Missing(behind) => self.look_for_missing(read, behind)?,
            Stage::Over => {}
        }
        Ok(self.stage == Stage::Over)
    }

    /// How many checkpoints have a sound anchor.
    #[must_use]
    pub fn verified(&self) -> u64 {
        self.seen.len() as u64
    }

    /// What was found, by tenant.
    #[must_use]
    pub fn breaks(&self) -> Vec<(TenantId, &Break)> {
        let mut all: Vec<_> =
            self.found.iter().flat_map(|(id, breaks)| breaks.0.iter().map(|one| (*id, one))).collect();
        all.sort_by_key(|(tenant_id, one)| (*tenant_id, one.seq));
        all
    }

    fn add(&mut self, tenant_id: TenantId, seq: u64, detail: impl Into<String>) {
        self.add_of(BreakKind::Anchor, tenant_id, seq, detail);
    }

    fn add_of(&mut self, kind: BreakKind, tenant_id: TenantId, seq: u64, detail: impl Into<String>) {
        self.count += 1;
        if self.count <= FINDINGS_MAX {
            self.found.entry(tenant_id).or_default().add(seq, kind, detail);
        }
    }

    fn look_at_block(&mut self, read: &impl Read, block: &Block) -> Result<(), Failure> {
        for (end, anchor) in block.checkpoints(self.only) {
            let head = match self.heads.get(&anchor.tenant_id) {
                Some(head) => *head,
                None => {
                    let head = head_seq(read, anchor.tenant_id)?;
                    self.heads.insert(anchor.tenant_id, head);
                    head
                }
            };
            let (tenant_id, seq) = (anchor.tenant_id, anchor.seq);
            if seq > head {
                if end <= self.known_bytes {
                    self.add(tenant_id, seq, format!("is anchored, and the chain ends with event {head}"));
                }
                continue;
            }
            match self.fault_of(read, &anchor)? {
                // A checkpoint is made before its anchor, and never removed.
                None if end <= self.known_bytes && !read.contains(&AUDIT_CHECKPOINTS, &(tenant_id, seq))? => {
                    self.add_of(BreakKind::Checkpoint, tenant_id, seq, "is anchored, and its checkpoint is missing");
                }
                None => drop(self.seen.insert((tenant_id, seq))),
                Some(fault) => self.add(tenant_id, seq, fault),
            }
        }
        self.read_to = block.end();
        self.stage = match (self.stage, block.next) {
            (Stage::File(_), Some(next)) => Stage::File(next),
            (Stage::File(_), None) => Stage::Missing(None),
            (_, Some(next)) => Stage::Added(next),
            (_, None) => Stage::Over,
        };
        if self.stage == Stage::Over {
            let missed = std::mem::take(&mut self.missed);
            for (tenant_id, seq) in missed.into_iter().filter(|key| !self.seen.contains(key)).collect::<Vec<_>>() {
                self.add(tenant_id, seq, "has a checkpoint, whose anchor is missing");
            }
        }
        Ok(())
    }

    /// What is wrong with an anchor of an event that should be there.
    fn fault_of(&self, read: &impl Read, anchor: &Checkpoint) -> Result<Option<&'static str>, Failure> {
        let key = (anchor.tenant_id, anchor.seq);
        if let Some(row) = read.get(&AUDIT_CHECKPOINTS, &key)?
            && Checkpoint::of(anchor.tenant_id, anchor.seq, &row) == *anchor
        {
            // What is wrong with that is told of the checkpoint.
            return Ok(None);
        }
        let Some(event) = read.get(&AUDIT_EVENTS, &key)? else { return Ok(Some("is anchored, and is not there")) };
        if event.hash != anchor.hash {
            return Ok(Some("is anchored with another hash"));
        }
        let is_signed = self.key.is_some_and(|key| key.has_signed(&anchor.signed_text(), &anchor.signature));
        Ok((!is_signed).then_some("has an anchor that the key has not signed"))
    }

    fn look_for_missing(&mut self, read: &impl Read, behind: Option<(TenantId, u64)>) -> Result<(), Failure> {
        let scan = match self.only {
            Some(tenant_id) => Scan::prefix(&(tenant_id,)),
            None => Scan::all(),
        };
        let scan = behind.iter().fold(scan, Scan::after).limit(STEP_CHECKPOINTS);
        let page = read.scan(&AUDIT_CHECKPOINTS, scan)?;
        self.stage = match page.last() {
            Some((key, _)) if page.len() == STEP_CHECKPOINTS => Stage::Missing(Some(*key)),
            _ => Stage::Added(self.read_to),
        };
        for (key, row) in page {
            if self.missed.len() < FINDINGS_MAX && self.is_missing(read, key, &row)? {
                self.missed.push(key);
            }
        }
        Ok(())
    }

    /// Whether a checkpoint should have an anchor, and has none: what was made meanwhile may not.
    fn is_missing(&self, read: &impl Read, key: (TenantId, u64), row: &AuditCheckpointRow) -> Result<bool, Failure> {
        let is_newer = self.heads.get(&key.0).is_some_and(|head| key.1 > *head);
        if row.anchor_file != self.file.name() || is_newer || self.seen.contains(&key) {
            return Ok(false);
        }
        Ok(!is_unanchored(read, key.0, key.1)?)
    }
}
