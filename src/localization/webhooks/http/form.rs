//! Reading endpoints: members in the order of the documentation, each with its bounds.

use quintet_platform::json::{Given, Json};
use quintet_platform::webhooks::form::{self, DESCRIPTION_CHARS_MAX, PatternsProblem};
use quintet_platform::webhooks::{EndpointChange, NewEndpoint, SigningSecret};

use super::super::room::WEBHOOKS;
use crate::http::{Call, Form, read};
use crate::refusal::Refusal;

/// WebhookCreate. Without a secret there is a generated one.
pub(super) fn read_new(json: Json) -> Result<NewEndpoint, Refusal> {
    let mut form = Form::of_body(json)?;
    let url = form.required("url");
    let given = form.required::<Json>("events");
    let patterns = given.and_then(|given| patterns(&mut form, given));
    let secret = form.nullable("secret");
    let secret = secret.and_then(|text| supplied(&mut form, text));
    let description = form.nullable_text("description", 0, DESCRIPTION_CHARS_MAX);
    let is_active = form.nullable("active").unwrap_or(true);
    form.finish()?;
    let secret = secret.unwrap_or_else(SigningSecret::generated);
    Ok(NewEndpoint { url: read(url)?, patterns: read(patterns)?, description, secret, is_active })
}

/// WebhookChange.
pub(super) fn read_change(json: Json) -> Result<EndpointChange, Refusal> {
    let mut form = Form::of_body(json)?;
    let url = form.optional("url");
    let given = form.optional::<Json>("events");
    let patterns = given.and_then(|given| patterns(&mut form, given));
    // None is no secret, and cannot be set.
    let secret = form.optional("secret");
    let secret = secret.and_then(|text| supplied(&mut form, text));
    let description = match form.given::<String>("description") {
        Given::Absent => None,
        Given::Null => Some(None),
        Given::Value(text) => Some(Some(text)),
    };
    if description.as_ref().and_then(Option::as_deref).is_some_and(|text| !form::is_description(text)) {
        form.wrong("description", format!("has 0 to {DESCRIPTION_CHARS_MAX} characters"));
    }
    let is_active = form.optional("active");
    form.finish()?;
    Ok(EndpointChange { url, patterns, description, secret, is_active })
}

fn patterns(form: &mut Form, given: Json) -> Option<Vec<String>> {
    let problem = match form::patterns(given, |pattern| (WEBHOOKS.asked_by)(pattern).is_some()) {
        Ok(patterns) => return Some(patterns),
        Err(PatternsProblem::NoArray) => "is an array of names of events",
        Err(PatternsProblem::Count) => "has 1 to 64 names of events",
        Err(PatternsProblem::Unknown) => {
            "has names of events: translation, approval_request.settled, release, import, \
             webhook.endpoint_degraded, or *"
        }
    };
    form.wrong("events", problem);
    None
}

fn supplied(form: &mut Form, text: String) -> Option<SigningSecret> {
    let secret = form::supplied(text);
    if secret.is_none() {
        form.wrong("secret", "has 1 to 256 bytes");
    }
    secret
}

/// Whether an endpoint may be at an address; its name is resolved, which takes two seconds at most.
///
/// # Errors
/// [`Refusal::UrlNotAllowed`]
pub(super) async fn check_url(call: &Call, url: &str) -> Result<(), Refusal> {
    let checked = form::check_address(&call.context.egress, call.caller.tenant_id().0, url).await;
    checked.map_err(Refusal::UrlNotAllowed)
}
