//! The identity provider that people sign in with: whether it answers as it should.

use std::time::Duration;

use quintet_platform::clock::Clock;
use quintet_platform::identity::{Provider, Settings};
use quintet_platform::secrets::Secret;

use super::subject::{Finding, Subject};
use crate::outside;

/// How long it may take; the check itself has a little more.
const PATIENCE: Duration = Duration::from_secs(4);

/// Asks the provider for its document, as a sign-in would.
pub fn check_identity(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "sign-in";
    let Ok(config) = &subject.config else { return Vec::new() };
    let issuer = config.identity_issuer.clone();
    if issuer.is_empty() {
        return vec![Finding::ok(
            CHECK,
            "The configuration names no identity provider: keys work, and nobody signs in.",
        )];
    }
    // What is wrong with tls.extra_ca is another check's to tell.
    let Ok(egress) = outside::egress(config) else { return Vec::new() };
    let settings = Settings {
        issuer: issuer.clone(),
        client_id: config.identity_client_id.clone(),
        client_secret: Secret::default(),
    };
    let provider = Provider::new(egress, Clock::system(), settings);
    let asked = async { tokio::time::timeout(PATIENCE, provider.document()).await };
    let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(asked),
        Err(_) => return Vec::new(),
    };
    let why = match outcome {
        Ok(Ok(_)) => return vec![Finding::ok(CHECK, format!("The identity provider {issuer} answers."))],
        Ok(Err(unavailable)) => unavailable.to_string(),
        Err(_) => "no answer in time".to_owned(),
    };
    let says = format!("The identity provider {issuer} does not answer as it should ({why}): nobody can sign in.");
    let cure = format!(
        "See what it says: `curl -i {}/.well-known/openid-configuration`. localization.identity.issuer must be its issuer to \
         the letter; an address of your own network must be listed in egress.allow_private, an authority of your own in \
         tls.extra_ca.",
        issuer.trim_end_matches('/')
    );
    vec![Finding::warning(CHECK, says, cure)]
}
