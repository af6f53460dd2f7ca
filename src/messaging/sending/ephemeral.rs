//! Messages that are stored nowhere: counted, and told to the streams that are open.
//!
//! What the event says is written before the transaction, which only adds what it alone knows.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::check::check;
use super::model::{Asked, Author, Course, Ephemeral, Ready, Spoken};
use super::send::from;
use crate::attendance::{Attendance, EVENT_BYTES_MAX};
use crate::refusal::Refusal;
use crate::usage::{self, Daily};
use crate::wire::{instant, texts};
use crate::words::address;

/// What the transaction adds to an event is no longer than this.
const END_BYTES_MAX: usize = 256;

/// The event of a message, but for its end.
///
/// # Errors
/// It is too large.
pub(super) fn begin(author: &Author, asked: &Asked, spoken: &Spoken) -> Result<String, Refusal> {
    let most = EVENT_BYTES_MAX - END_BYTES_MAX;
    let too_large = || Refusal::EventTooLarge(EVENT_BYTES_MAX as u64);
    // Nothing is written of what is too large whatever it is written as.
    if spoken.text.len() + spoken.html.as_ref().map_or(0, String::len) > most {
        return Err(too_large());
    }
    let (typed, subject, thread) = match &asked.course {
        Course::New { typed, subject, thread } => (Some(typed), subject.as_str(), *thread),
        Course::Reply(_) => (None, "", None),
    };
    let signature = spoken.signature.as_ref();
    let data = Json::object([
        ("guarantee", Json::from("fire_and_forget")),
        ("subject", subject.into()),
        ("sender_display", author.name.as_str().into()),
        ("sender_agent_name", author.name.as_str().into()),
        ("sender_address", address::of_agent(&author.workspace.slug, &author.name, &author.domain).into()),
        ("to", texts(typed.iter().flat_map(|typed| &typed.to))),
        ("cc", texts(typed.iter().flat_map(|typed| &typed.cc))),
        ("priority", asked.priority.name().into()),
        ("thread_id", thread.map(|thread| ulid(thread.0)).into()),
        ("text_body", spoken.text.as_str().into()),
        ("html_body", spoken.html.as_deref().into()),
        ("payload", spoken.payload.clone().unwrap_or(Json::Null)),
        ("sealed", spoken.is_sealed.into()),
        ("signature", signature.map(|(signature, _)| signature.as_str()).into()),
        ("signing_key_fingerprint", signature.and_then(|(_, fingerprint)| fingerprint.as_deref()).into()),
    ]);
    let mut event = format!("event: ephemeral\ndata: {}", to_compact(&data));
    event.pop();
    if event.len() > most { Err(too_large()) } else { Ok(event) }
}

/// Sends a message that is stored nowhere: it counts against the day, and goes to the streams that are open when the
/// transaction is done. Nobody is woken who withholds what is as urgent as that.
///
/// # Errors
/// The first check that says no; then nothing was done.
pub(super) fn send_ephemeral(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    author: &Author,
    ready: &Ready,
    attendance: &Attendance,
) -> Result<Ephemeral, Abort<Refusal>> {
    let cleared = check(tx, now, author, ready, attendance)?;
    usage::count(tx, now, &author.workspace, Daily::Messages, 1)?;
    let lane = from(tx, author)?.lane;
    let end = Json::object([("lane", Json::from(lane)), ("created_at", instant(now))]);
    let end = to_compact(&end);
    let begin = ready.event.as_deref().unwrap_or_default();
    let addressees = &cleared.resolved.agents;
    let awake = addressees.iter().filter(|one| !one.mailbox.standing.holds(ready.asked.priority, now));
    let agents: Vec<_> = awake.map(|addressee| (author.workspace.no, addressee.no)).collect();
    Ok(Ephemeral {
        withheld: addressees.len() - agents.len(),
        agents,
        event: format!("{begin},{}\n\n", end.trim_start_matches('{')),
    })
}
