//! Which addresses may be called, as far as they tell before they are: they are vetted again at each attempt.

use quintet_platform::webhooks::form;

use crate::dialect::Call;
use crate::refusal::Refusal;

/// Whether deliveries may go to an address; its name is resolved, which takes two seconds at most.
///
/// # Errors
/// [`Refusal::UrlNotAllowed`], with the name of the member.
pub(crate) async fn check(field: &'static str, url: &str, call: &Call) -> Result<(), Refusal> {
    let checked = form::check_address(&call.context.settings.egress, call.caller.tenant_id, url).await;
    checked.map_err(|problem| Refusal::UrlNotAllowed(field, problem))
}
