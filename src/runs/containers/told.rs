//! What happens to a run is told to whoever asked for it: endpoints of its tenant, and the webhook it has in itself.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, Limits, parse};
use quintet_platform::webhooks::Event;
use quintet_storage::{Failure, Timestamp, Uuid, WriteTx};

use super::model::Run;
use super::{descriptions, results};
use crate::events::Events;
use crate::model::RunKey;
use crate::webhooks::emit::{Inline, Listeners, emit};

/// Tells of an event of a run. Most runs have nobody who asks: that costs one look at a hot row.
pub(super) fn tell(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    run_key: RunKey,
    run: &Run,
    (name, event_id): (&'static str, Uuid),
) -> Result<(), Failure> {
    let event = Events::of(name);
    let mut listeners = Listeners::of(tx, run_key.0, event)?;
    // A run that is older than this knows in its description alone what it asks for.
    if run.asked_events.is_none_or(|asked| asked.meets(event)) {
        listeners.inline = inline(tx, run_key, event)?;
    }
    if listeners.is_empty() {
        return Ok(());
    }
    let event = Event {
        event_id,
        name: name.to_owned(),
        occurred_at: now,
        tenant_id: run_key.0.0,
        resource_type: "run",
        resource_id: ulid(run_key.1.0),
        data: data(tx, run_key, run)?,
    };
    emit(tx, &event, listeners, run.retention_days)?;
    Ok(())
}

/// The webhook that a run has in itself, if it asks for this.
fn inline(tx: &WriteTx<'_>, run_key: RunKey, event: Events) -> Result<Option<Inline>, Failure> {
    let Some((description, secrets)) = descriptions::open(tx, run_key)? else { return Ok(None) };
    let webhook = description.webhook.filter(|webhook| webhook.asked().meets(event));
    // One that was to be signed and cannot be, for the tenant's key is gone, is not sent unsigned.
    let webhook = webhook.filter(|webhook| webhook.has_secret == secrets.webhook_secret.is_some());
    Ok(webhook.map(|webhook| Inline { url: webhook.url, key: secrets.webhook_secret.map(String::into_bytes) }))
}

/// What is told of a run, in the contract's order.
fn data(tx: &WriteTx<'_>, run_key: RunKey, run: &Run) -> Result<Json, Failure> {
    let at = |instant: Option<Timestamp>| instant.map_or(Json::Null, |instant| rfc3339(instant).into());
    let text = |text: Option<&str>| text.map_or(Json::Null, Json::from);
    let names = descriptions::get(tx, run_key)?.map_or_else(Vec::new, |description| description.env_names);
    let env = Json::object(names.into_iter().map(|name| (name, Json::from("***"))));
    let mut members = vec![
        ("track_id", Json::from(ulid(run_key.1.0))),
        ("state", run.state.name().into()),
        ("name", text(run.name.as_deref())),
        ("tags", run.tags.iter().map(|tag| Json::from(tag.as_str())).collect::<Vec<_>>().into()),
        ("image", run.image.as_str().into()),
        ("submitted_at", rfc3339(run.submitted_at).into()),
        ("started_at", at(run.started_at)),
        ("finished_at", at(run.finished_at)),
        ("workflow_id", run.workflow_id.map_or(Json::Null, |id| ulid(id).into())),
        ("node_ref", text(run.node_ref.as_deref())),
        ("env", env),
    ];
    if run.state.is_terminal() {
        let (result, words) = results::get(tx, run_key)?;
        let millis = (result.duration_micros / 1000).to_string();
        let result = [
            ("exit_code", run.exit_code.map_or(Json::Null, |code| Json::from(i64::from(code)))),
            ("duration_seconds", seconds(&millis)),
            ("stdout_bytes", result.stdout_bytes.into()),
            ("stderr_bytes", result.stderr_bytes.into()),
            ("result_summary", words.summary.into()),
        ];
        members.push(("result", Json::object(result)));
    }
    Ok(Json::object(members))
}

/// Thousandths of a second as seconds.
fn seconds(millis: &str) -> Json {
    let padded = format!("{millis:0>4}");
    let (whole, rest) = padded.split_at(padded.len() - 3);
    parse(format!("{whole}.{rest}").as_bytes(), Limits::default()).unwrap_or(Json::Null)
}
