//! The audit chain: listed, exported, verified.

use http::HeaderValue;
use quintet_platform::service::{
    Answer, Endpoint, Parameter, Route, Shape, json as success, media, refusal_of, written,
};
use quintet_storage::{Abort, Failure, Snapshot};

use super::export::{Export, Format};
use crate::access::Wanted;
use crate::audit::{AnchorCheck, Break, ChainCheck, events_after, head_seq, write_event};
use crate::http::{Answered, Call, LIMIT, Localization, body_of};
use crate::refusal::Refusal;

const AFTER: Parameter = Parameter::new(
    "after_seq",
    Shape::Integer { min: 0, max: i64::MAX, default: Some(0) },
    "Events with higher numbers: the next_after_seq of the page before.",
);
const FORMAT: Parameter =
    Parameter::new("format", Shape::Word(&["ndjson", "cef"], ""), "How events are written.").required();
const FROM: Parameter = Parameter::new(
    "from_seq",
    Shape::Integer { min: 1, max: i64::MAX, default: Some(1) },
    "The first event that is wanted.",
);
const TO: Parameter =
    Parameter::new("to_seq", Shape::integer(1, i64::MAX), "The last event that is wanted; the newest if absent.");

const LIST: Route = Route::get("list_audit_events", "/v1/audit/events")
    .permission(PERMISSION)
    .summary("The events of the audit chain, in their order")
    .parameters(&[AFTER, LIMIT])
    .successes(&[success(200, "AuditEventPage")])
    .codes(&["busy"]);
const EXPORT: Route = Route::get("export_audit", "/v1/audit/export")
    .permission(PERMISSION)
    .summary("A part of the audit chain as a file, and the checkpoints that sign it")
    .parameters(&[FORMAT, FROM, TO])
    .successes(&[media(200, &[(NDJSON, r#"{"type":"string"}"#), (CEF, r#"{"type":"string"}"#)])])
    .codes(&["busy"]);
const VERIFY: Route = Route::get("verify_audit", "/v1/audit/verify")
    .permission(PERMISSION)
    .summary("Whether the whole chain, its checkpoints and its anchors are as they were written")
    .successes(&[success(200, "AuditVerify")])
    .codes(&["busy"]);

/// What all of it takes.
const PERMISSION: &str = "org_audit-read";
const NDJSON: &str = "application/x-ndjson";
const CEF: &str = "text/plain";

/// The endpoints of this folder.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list_events(call))),
    Endpoint::new(&EXPORT, |call| Box::pin(export(call))),
    Endpoint::new(&VERIFY, |call| Box::pin(verify_chain(call))),
];

fn demand(call: &Call, read: &Snapshot) -> Result<(), Abort<Refusal>> {
    call.caller.demand(read, Wanted::Org(PERMISSION))
}

/// A number as the store has them; the parameter's range is within.
fn number(call: &mut Call, parameter: &Parameter) -> Result<Option<u64>, Refusal> {
    Ok(call.integer(parameter)?.and_then(|number| u64::try_from(number).ok()))
}

async fn list_events(mut call: Call) -> Answered {
    let after = number(&mut call, &AFTER)?.unwrap_or_default();
    let limit = call.integer(&LIMIT)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let told = context.aside(tenant_id, move |read| {
        demand(&call, read)?;
        let events = events_after(read, tenant_id, after, limit)?;
        let next = events.last().map_or(after, |(seq, _)| *seq);
        let mut body = String::from("{\"events\":[");
        for (place, (seq, row)) in events.iter().enumerate() {
            if place > 0 {
                body.push(',');
            }
            write_event(*seq, row, &mut body);
        }
        body.push_str(&format!("],\"next_after_seq\":{next}}}"));
        Ok(Answer::json(200, body))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn export(mut call: Call) -> Answered {
    let format = call.word(&FORMAT)?;
    let (format, media_type) = match format {
        Some("cef") => (Format::Cef, CEF),
        _ => (Format::Ndjson, NDJSON),
    };
    let (from, to) = (number(&mut call, &FROM)?.unwrap_or(1), number(&mut call, &TO)?);
    let (context, caller) = (call.context.clone(), call.caller.clone());
    let tenant_id = caller.tenant_id();
    let begun = context.aside(tenant_id, move |read| {
        demand(&call, read)?;
        // What is written meanwhile is no part of it.
        let head = head_seq(read, tenant_id)?;
        let mut export = Export::of(tenant_id, format, from, to.unwrap_or(head).min(head));
        let first = export.next(read)?.unwrap_or_default();
        Ok((first, export))
    });
    let (first, export) = begun.await.map_err(refusal_of)?;
    let body = body_of(context, caller, first, export, |_, export, read| Ok(export.next(read)?));
    Ok(Answer::stream(200, HeaderValue::from_static(media_type), body))
}

/// Goes over the chain step by step, so that others have their turns meanwhile.
async fn verify_chain(call: Call) -> Answered {
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let with = context.clone();
    let begun = context.aside(tenant_id, move |read| {
        demand(&call, read)?;
        let file = with.anchoring.file().cloned();
        // Before the state that it is held against: what is anchored by then is in that. A file that cannot be looked at
        // is told by whoever reads it.
        let known_bytes = file.as_ref().map_or(0, |file| file.bytes().unwrap_or_default());
        let read = with.store.read();
        let chain = ChainCheck::begin(&read, tenant_id)?;
        let anchors = file.map(|file| AnchorCheck::begin(&read, file, Some(tenant_id), known_bytes)).transpose()?;
        Ok((chain, anchors))
    });
    let (mut chain, mut anchors) = begun.await.map_err(refusal_of)?;
    loop {
        let looked = context.aside(tenant_id, move |read| {
            let is_over = chain.step(read)? && step_of(anchors.as_mut(), read)?;
            Ok((chain, anchors, is_over))
        });
        let is_over;
        (chain, anchors, is_over) = looked.await.map_err(refusal_of)?;
        if is_over {
            break;
        }
    }
    let body =
        write_found(&chain, anchors.as_ref()).map_err(|failure| refusal_of(Abort::<Refusal>::Failed(failure)))?;
    Ok(Answer::json(200, body))
}

fn step_of(anchors: Option<&mut AnchorCheck>, read: &Snapshot) -> Result<bool, Failure> {
    anchors.map_or(Ok(true), |anchors| anchors.step(read))
}

#[derive(serde::Serialize)]
struct AuditVerify<'a> {
    events: u64,
    breaks: Vec<BreakBody<'a>>,
    checkpoints_verified: u64,
    anchors_verified: u64,
    head_seq: u64,
    residual_tail: u64,
}

#[derive(serde::Serialize)]
struct BreakBody<'a> {
    seq: u64,
    kind: &'static str,
    detail: &'a str,
}

fn body_of_break(one: &Break) -> BreakBody<'_> {
    BreakBody { seq: one.seq, kind: one.kind.name(), detail: &one.detail }
}

fn write_found(chain: &ChainCheck, anchors: Option<&AnchorCheck>) -> Result<Vec<u8>, Failure> {
    let found = &chain.found;
    let of_anchors = anchors.iter().flat_map(|anchors| anchors.breaks()).map(|(_, one)| one);
    written(&AuditVerify {
        events: found.events,
        breaks: found.breaks.0.iter().chain(of_anchors).map(body_of_break).collect(),
        checkpoints_verified: found.checkpoints,
        anchors_verified: anchors.map_or(0, AnchorCheck::verified),
        head_seq: found.head_seq,
        residual_tail: found.head_seq.saturating_sub(found.last_checkpoint),
    })
}
