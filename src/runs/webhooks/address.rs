//! Which addresses may be called, as far as they tell before they are: they are vetted again at each attempt.

use http::Uri;
use quintet_platform::egress::{EgressError, Party};

use crate::dialect::Call;
use crate::refusal::Refusal;

/// The longest address, in characters.
const URL_CHARS_MAX: usize = 2048;

/// Whether deliveries may go to an address; its name is resolved, which takes two seconds at most.
///
/// # Errors
/// [`Refusal::UrlNotAllowed`], with the name of the member.
pub(crate) async fn check(field: &'static str, url: &str, call: &Call) -> Result<(), Refusal> {
    let refused = |problem| Refusal::UrlNotAllowed(field, problem);
    let is_plain = url.len() <= URL_CHARS_MAX && url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains('#');
    let uri = Uri::try_from(url).ok().filter(|_| is_plain);
    let uri = uri.ok_or_else(|| refused("must be an absolute https:// address of at most 2048 ASCII characters"))?;
    let party = Party(call.caller.tenant_id);
    call.context.settings.egress.vet(&uri, party).await.map_err(|error| match error {
        EgressError::Forbidden => refused("must be an address of the public internet"),
        EgressError::Plain => refused("must be https://: http:// is for networks that the operator allows"),
        _ => refused("must be an absolute https:// address of a plainly written host, without a user"),
    })
}
