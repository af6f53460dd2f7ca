//! A mail that somebody waits for: it is handed to the relay now, or not at all.

use std::time::Duration;

use quintet_platform::secrets::random_bytes;
use quintet_storage::Uuid;

use super::client::{Said, connect};
use super::written::words;
use crate::context::Context;
use crate::outbox::Note;

/// How long that may take.
const TIME: Duration = Duration::from_secs(45);
/// Whom it is from, for people.
const FROM: &str = "Sign-up";

/// Hands words of the platform to the relay.
///
/// # Errors
/// Why it has not taken them, in words.
pub(crate) async fn send_at_once(context: &Context, note: Note<'_>) -> Result<(), String> {
    let mail = &context.settings.mail;
    let relay = mail.relay.as_ref().ok_or("there is no relay")?;
    let now = context.now();
    let written = words(
        (FROM, context.domain()),
        (Uuid::from_bytes(random_bytes()), now),
        (note.subject, note.text),
        vec![note.to.to_owned()],
    );
    let hand = async {
        let mut connection = connect(&mail.egress, relay, context.domain()).await?;
        let (said, _) = connection.hand(&written).await;
        connection.leave().await;
        // What is sent so has a secret in it, and why it was not taken is logged.
        match said.into_iter().next().map(Said::without_words) {
            Some(Said::Taken) => Ok(()),
            Some(Said::Later(why) | Said::No(why)) => Err(why),
            None => Err("it said nothing".to_owned()),
        }
    };
    tokio::time::timeout(TIME, hand).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
}
