//! The audit chain: one for each tenant, from its first event on.
//!
//! An event is written in the transaction of what it tells of, so that there is never one without the other. Its hash
//! is SHA-256 over canonical JSON (sorted members, no white space) of everything the interface shows of it but the
//! hash itself; `prev_hash` is the hash of the event before it, 64 zeros for the first. Whoever has the events can
//! check the chain without this program.
//!
//! **Payloads** hold ids, numbers, digests, locale tags, paths of files and words out of closed lists: never what people
//! wrote (names, source texts, translations, context), nor anything secret. They are at most [`PAYLOAD_BYTES_MAX`].

use quintet_platform::clock::rfc3339;
use quintet_platform::json::{Json, Limits, parse, to_canonical};
use quintet_platform::secrets::digest;
use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::model::TenantId;
use crate::tables::{AUDIT_EVENTS, AUDIT_HEADS, ActorKind, AuditEventRow, AuditHeadRow};

/// The largest payload, in bytes of canonical JSON.
pub const PAYLOAD_BYTES_MAX: usize = 4096;

/// Events read at a time by those who read all of them.
const PAGE_ROWS: usize = 1000;

impl ActorKind {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ActorKind::System => "system",
            ActorKind::Member => "member",
            ActorKind::ServiceAccount => "service_account",
        }
    }
}

/// Who does something, and with which request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// In which tenant.
    pub tenant_id: TenantId,
    /// What kind of actor.
    pub kind: ActorKind,
    /// Which principal.
    pub principal_id: Uuid,
    /// The request's id; empty: none.
    pub request_id: String,
}

impl Actor {
    /// The operator, from the command line.
    #[must_use]
    pub fn operator(tenant_id: TenantId) -> Actor {
        Actor { tenant_id, kind: ActorKind::System, principal_id: Uuid::nil(), request_id: String::new() }
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The action, such as `project.create`.
    pub action: &'static str,
    /// What kind of thing it was done to.
    pub target_type: &'static str,
    /// Which.
    pub target_id: String,
    /// What belongs to it; an object, see the module's rules.
    pub payload: Option<Json>,
}

impl Event {
    /// An event about a thing with an id.
    #[must_use]
    pub fn about(action: &'static str, target_type: &'static str, id: Uuid) -> Event {
        Event { action, target_type, target_id: id.to_string(), payload: None }
    }

    /// The same with a payload.
    #[must_use]
    pub fn with<const N: usize>(mut self, members: [(&'static str, Json); N]) -> Event {
        self.payload = Some(Json::object(members));
        self
    }
}

/// Adds an event to its tenant's chain; its number.
///
/// # Errors
/// The store's; [`Failure::Io`] for a payload over [`PAYLOAD_BYTES_MAX`], which no event of this room has.
pub fn record(tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor, event: Event) -> Result<u64, Failure> {
    let tenant_id = actor.tenant_id;
    let head = tx.get(&AUDIT_HEADS, &tenant_id)?.unwrap_or(AuditHeadRow { seq: 0, hash: [0; 32] });
    let seq = head.seq + 1;
    let payload = event.payload.map(|payload| to_canonical(&payload)).unwrap_or_default();
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Failure::Io(format!("the payload of {} is too large", event.action)));
    }
    let mut row = AuditEventRow {
        event_id: tx.new_id().into_bytes(),
        occurred_at: now,
        actor_kind: actor.kind,
        actor_id: actor.principal_id.into_bytes(),
        action: event.action.to_owned(),
        target_type: event.target_type.to_owned(),
        target_id: event.target_id,
        payload,
        request_id: actor.request_id.clone(),
        prev_hash: head.hash,
        hash: [0; 32],
    };
    row.hash = hash(seq, &row);
    tx.put(&AUDIT_HEADS, &tenant_id, &AuditHeadRow { seq, hash: row.hash })?;
    tx.put(&AUDIT_EVENTS, &(tenant_id, seq), &row)?;
    Ok(seq)
}

/// The hash of an event: over everything the interface shows of it but the hash itself.
#[must_use]
pub fn hash(seq: u64, row: &AuditEventRow) -> [u8; 32] {
    digest(to_canonical(&Json::Object(members(seq, row))).as_bytes())
}

/// What the interface shows of an event but its hash.
#[must_use]
pub fn members(seq: u64, row: &AuditEventRow) -> Vec<(String, Json)> {
    let hex = |bytes: &[u8]| Json::from(data_encoding::HEXLOWER.encode(bytes));
    let text = |value: &str| Json::from(value);
    let mut members = vec![
        ("seq", Json::from(seq)),
        ("event_id", Json::from(Uuid::from_bytes(row.event_id).to_string())),
        ("occurred_at", Json::from(rfc3339(row.occurred_at))),
        ("actor_kind", text(row.actor_kind.name())),
        ("actor_id", Json::from(Uuid::from_bytes(row.actor_id).to_string())),
        ("action", text(&row.action)),
        ("target_type", text(&row.target_type)),
        ("target_id", text(&row.target_id)),
        ("prev_hash", hex(&row.prev_hash)),
    ];
    if !row.request_id.is_empty() {
        members.push(("request_id", text(&row.request_id)));
    }
    if !row.payload.is_empty() {
        // What does not parse is not what was written, and the hash will say so.
        members.push(("payload", parse(row.payload.as_bytes(), Limits::default()).unwrap_or(Json::Null)));
    }
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A tenant's events with numbers above `after`, at most `limit`.
///
/// # Errors
/// Only the store's.
pub fn events_after(
    read: &impl Read,
    tenant_id: TenantId,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, AuditEventRow)>, Failure> {
    let scan = Scan::prefix(&(tenant_id,)).after(&(tenant_id, after)).limit(limit);
    let rows = read.scan(&AUDIT_EVENTS, scan)?;
    Ok(rows.into_iter().map(|((_, seq), row)| (seq, row)).collect())
}

/// What is wrong with the chains of all tenants; nothing, if they are as they were written.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut heads = read.scan(&AUDIT_HEADS, Scan::all())?.into_iter();
    for (tenant_id, head) in heads.by_ref() {
        verify_chain(read, tenant_id, head, &mut findings)?;
    }
    // Events of tenants that have no head: none can be.
    let mut from = None;
    loop {
        let mut scan = Scan::all().limit(1);
        if let Some(tenant_id) = from {
            scan = scan.after(&(tenant_id, u64::MAX));
        }
        let Some(((tenant_id, _), _)) = read.scan(&AUDIT_EVENTS, scan)?.into_iter().next() else { break };
        if !read.contains(&AUDIT_HEADS, &tenant_id)? {
            findings.push(format!("audit chain of tenant {}: there are events, but no head", tenant_id.0));
        }
        from = Some(tenant_id);
    }
    Ok(findings)
}

fn verify_chain(
    read: &impl Read,
    tenant_id: TenantId,
    head: AuditHeadRow,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    let place = |seq: u64| format!("audit chain of tenant {}, event {seq}", tenant_id.0);
    let (mut last, mut prev_hash) = (0, [0; 32]);
    loop {
        let page = events_after(read, tenant_id, last, PAGE_ROWS)?;
        let is_last = page.len() < PAGE_ROWS;
        for (seq, row) in page {
            if seq != last + 1 {
                findings.push(format!("{}: comes after event {last}", place(seq)));
            } else if row.prev_hash != prev_hash {
                findings.push(format!("{}: does not continue the event before it", place(seq)));
            }
            if hash(seq, &row) != row.hash {
                findings.push(format!("{}: is not what its hash says", place(seq)));
            }
            (last, prev_hash) = (seq, row.hash);
        }
        if is_last {
            break;
        }
    }
    if (last, prev_hash) != (head.seq, head.hash) {
        findings.push(format!("{}: the chain ends here, its head says {}", place(last), head.seq));
    }
    Ok(())
}
