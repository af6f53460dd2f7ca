//! The console, for the operator: links that let him in.

use std::convert::Infallible;
use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use axum::{Extension, Router};
use quintet_platform::clock::rfc3339;
use quintet_platform::people::{LinkToken, NewLink, Purpose, make_link};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};
use serde::{Deserialize, Serialize};

use super::asker::Asker;
use super::call::Call;
use super::task::{TaskError, WRITE_DEADLINE, blocking};
use crate::app::App;
use crate::sites::Bound;

/// Makes a link that lets an operator in once.
pub const LINK: Call<(), LinkView> = Call::change("/console/link");

/// The host under which the pages are reached from the appliance's own machine. Browsers take any name below `localhost` for
/// this machine without asking anybody (RFC 6761, 6.3), and nobody else can be reached by it; a name of its own, since a
/// cookie goes to every port of its host.
pub const LOCAL_HOST: &str = "quintet.localhost";

/// A link that lets somebody in once; the only time that its token is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct LinkView {
    /// Its address: the token is its fragment, which browsers tell nobody.
    pub url: String,
    /// Until when it works; RFC 3339.
    pub ends_at: String,
}

pub(super) fn routes(app: App) -> Router {
    Router::new().merge(LINK.served_by(link)).with_state(app)
}

async fn link(State(app): State<App>, Extension(asker): Extension<Asker>) -> Result<Response, TaskError> {
    LINK.answer(&operator_link(&app, Who::of(asker).await?).await?)
}

/// Who asks for something that is recorded, as the kernel knows him.
pub struct Who {
    /// The name that he logs in with.
    pub name: String,
    /// His number.
    pub uid: u32,
}

impl Who {
    /// Who is at the other end of the socket.
    pub(super) async fn of(asker: Asker) -> Result<Who, TaskError> {
        blocking(move || Who { name: asker.login(), uid: asker.uid }).await
    }

    /// Whoever runs this process, for links that it makes for him by itself.
    ///
    /// # Errors
    /// The appliance could not look him up.
    pub async fn own() -> Result<Who, TaskError> {
        Who::of(Asker::own()).await
    }
}

/// Makes a link for an operator.
///
/// # Errors
/// The operations listener is off; the store's.
pub async fn operator_link(app: &App, who: Who) -> Result<LinkView, TaskError> {
    let off =
        || TaskError::Conflict("the listener of operations is off (listen.operations): there are no pages".into());
    let base_url = local_url(app.places.of("operations").ok_or_else(off)?);
    let token = LinkToken::draw();
    let new = NewLink { purpose: Purpose::Operator, asked_by: who.name, digest: token.digest() };
    let (link_id, ends_at) = write(app, move |tx, now| make_link(tx, now, new)).await?;
    Ok(LinkView { url: sign_in_url(&base_url, token.text(link_id).expose()), ends_at: rfc3339(ends_at) })
}

/// Where a listener's pages are, seen from this machine.
#[must_use]
pub fn local_url(bound: &Bound) -> String {
    let scheme = if bound.is_encrypted { "https" } else { "http" };
    format!("{scheme}://{LOCAL_HOST}:{}", bound.address.port())
}

/// The address of a link.
#[must_use]
pub fn sign_in_url(base_url: &str, token: &str) -> String {
    format!("{}/sign-in#{token}", base_url.trim_end_matches('/'))
}

/// Runs a verb that refuses nothing. It goes on below the disk reserve: whoever wants to see what is wrong is let in.
async fn write<T, F>(app: &App, verb: F) -> Result<T, TaskError>
where
    T: Send + 'static,
    F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
{
    let deadline = Instant::now() + WRITE_DEADLINE;
    let done = app.store.write_freeing(deadline, |tx, now| verb(tx, now).map_err(Abort::<Infallible>::Failed)).await;
    done.map_err(|abort| match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(never) => match never {},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_listener_and_carry_the_token_in_the_fragment() {
        let bound = Bound { name: "operations", address: ([0, 0, 0, 0], 7400).into(), is_encrypted: false };
        assert_eq!(sign_in_url(&local_url(&bound), "abc"), "http://quintet.localhost:7400/sign-in#abc");
        let encrypted = Bound { is_encrypted: true, ..bound };
        assert_eq!(local_url(&encrypted), "https://quintet.localhost:7400");
        assert_eq!(sign_in_url("https://console.example.com/", "abc"), "https://console.example.com/sign-in#abc");
    }
}
