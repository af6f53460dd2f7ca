//! Ties to other systems, made from the configuration: what may be called, and with which credentials.

use std::path::Path;
use std::sync::Arc;

use quintet_diagrams::generate::Generator;
use quintet_drawing::fonts::Collection;
use quintet_localization::authorization::{AuthorizationSystem, RemoteSystem};
use quintet_localization::engine::Engine;
use quintet_localization::{Decisions, Desk, External, Identity, webhook_secret};
use quintet_messaging::{Mail, Relay, RelayEncryption};
use quintet_platform::access::{Authority, ExternalAuthority};
use quintet_platform::chat::ChatEngine;
use quintet_platform::clock::Clock;
use quintet_platform::egress::{Egress, Place, resolver};
use quintet_platform::identity::{Provider, Settings};
use quintet_platform::secrets::Secret;
use quintet_runs::RegistrySettings;
use quintet_runs::registry::Registries;
use quintet_storage::Store;

use crate::config::{Config, Registry};
use crate::start_error::StartError;

/// Longer than any credential, in bytes.
const SECRET_BYTES_MAX: usize = 16 * 1024;

/// The one way out, with the networks the operator allows and the certificate authorities he adds.
///
/// # Errors
/// `tls.extra_ca` cannot be read, or holds no certificates.
pub fn egress(config: &Config) -> Result<Egress, StartError> {
    let allowed = config.egress_allow_private.clone();
    let egress = Egress::new(move |address| allowed.iter().any(|network| network.contains(address)));
    let Some(path) = &config.tls_extra_ca else { return Ok(egress) };
    let unusable = |error| StartError::io("reading tls.extra_ca from", path, error);
    let pem = std::fs::read(path).map_err(unusable)?;
    egress.trusting(&pem).map_err(|error| unusable(std::io::Error::other(error)))
}

/// Who says what a credential is worth: the appliance, unless `authorization.url` names another system.
///
/// # Errors
/// `authorization.api_key` cannot be read.
pub fn authority(config: &Config, egress: &Egress) -> Result<Authority, StartError> {
    if config.authorization_url.is_empty() {
        return Ok(Authority::Embedded);
    }
    let own = read_secret("authorization.api_key", &config.secret("authorization.api_key"), &config.data_dir)?;
    Ok(Authority::External(ExternalAuthority::new(&config.authorization_url, own, egress.clone())))
}

/// What writes DOT for a text, if `ai.url` names anything that does.
///
/// # Errors
/// `ai.api_key` cannot be read, or `ai.url` is not an address that requests can be sent to, or `ai.api_key`
/// nothing that they can carry.
pub fn generator(config: &Config, egress: &Egress) -> Result<Option<Generator>, StartError> {
    Ok(chat_engine(config, egress)?.map(Generator::new))
}

/// What writes drafts of translations, likewise.
///
/// # Errors
/// As [`generator`].
pub fn translator(config: &Config, egress: &Egress) -> Result<Option<Engine>, StartError> {
    Ok(chat_engine(config, egress)?.map(Engine::new))
}

/// What is to know of localization's grants, if `authorization.url` names it.
///
/// # Errors
/// As [`authority`].
pub fn authorization_system(
    config: &Config,
    egress: &Egress,
) -> Result<Option<Arc<dyn AuthorizationSystem>>, StartError> {
    if config.authorization_url.is_empty() {
        return Ok(None);
    }
    let own = read_secret("authorization.api_key", &config.secret("authorization.api_key"), &config.data_dir)?;
    Ok(Some(Arc::new(RemoteSystem::new(&config.authorization_url, own, egress.clone()))))
}

fn chat_engine(config: &Config, egress: &Egress) -> Result<Option<ChatEngine>, StartError> {
    if config.ai_url.is_empty() {
        return Ok(None);
    }
    let own = read_secret("ai.api_key", &config.secret("ai.api_key"), &config.data_dir)?;
    let made = ChatEngine::new(egress.clone(), &config.ai_url, &config.ai_model, &own);
    let doing = "reading ai.url and ai.api_key".to_owned();
    let unusable = |error| StartError::Io { doing, error: std::io::Error::other(error) };
    made.map(Some).map_err(unusable)
}

/// What takes localization's decisions: the desk, unless `decision.mode` names another system.
///
/// # Errors
/// `decision.api_key` or `decision.webhook_secret` cannot be read, or `decision.url` is not an address that
/// requests can be sent to, or `decision.api_key` nothing that they can carry.
pub fn decisions(config: &Config, egress: &Egress, store: &Store) -> Result<Decisions, StartError> {
    let secret = |key| read_secret(key, &config.secret(key), &config.data_dir);
    let given = Some(secret("decision.webhook_secret")?).filter(|given| !given.expose().is_empty());
    let policy = config.decision_policy.clone();
    if config.decision_is_external {
        let doing = "reading decision.url and decision.api_key".to_owned();
        let unusable = |error| StartError::Io { doing, error: std::io::Error::other(error) };
        let own = secret("decision.api_key")?;
        let external = External::new(egress.clone(), &config.decision_url, &own).map_err(unusable)?;
        return Ok(Decisions::new(Arc::new(external), policy, given));
    }
    let made = || match webhook_secret(store) {
        Ok(made) => Some(made),
        // What is decided is found out all the same, ten minutes later.
        Err(failure) => {
            tracing::error!(%failure, "the desk's webhooks cannot be signed");
            None
        }
    };
    let desk = Arc::new(Desk::new(store.clone()));
    Ok(Decisions::new(desk, policy, given.or_else(made)).embedded())
}

/// The identity provider, if `localization.identity.issuer` names one.
///
/// # Errors
/// `localization.identity.client_secret` cannot be read.
fn provider(config: &Config, egress: &Egress, clock: Clock) -> Result<Option<Provider>, StartError> {
    const SECRET: &str = "localization.identity.client_secret";
    if config.identity_issuer.is_empty() {
        return Ok(None);
    }
    let settings = Settings {
        issuer: config.identity_issuer.clone(),
        client_id: config.identity_client_id.clone(),
        client_secret: read_secret(SECRET, &config.secret(SECRET), &config.data_dir)?,
    };
    Ok(Some(Provider::new(egress.clone(), clock, settings)))
}

/// Whom people sign in to localization with, if with anybody.
///
/// # Errors
/// As [`provider`]; `localization.public_url` is nothing that browsers reach a service at.
pub fn identity(
    config: &Config,
    egress: &Egress,
    store: &Store,
    clock: &Clock,
) -> Result<Option<Identity>, StartError> {
    let Some(provider) = provider(config, egress, clock.clone())? else { return Ok(None) };
    let made = Identity::new(store.clone(), provider, &config.localization_public_url);
    let doing = "reading localization.public_url".to_owned();
    made.map(Some).map_err(|error| StartError::Io { doing, error: std::io::Error::other(error) })
}

/// The fonts that pictures are painted with before the embedded ones, if `diagrams.fonts_dir` names a directory.
///
/// # Errors
/// It cannot be read, holds too much, or holds what is no font.
pub fn fonts(config: &Config) -> Result<Collection, StartError> {
    let Some(directory) = &config.diagrams_fonts_dir else { return Ok(Collection::default()) };
    let unusable = |error| StartError::io("reading diagrams.fonts_dir from", directory, error);
    Collection::read(directory).map_err(unusable)
}

/// The registries of images, with their passwords.
///
/// # Errors
/// A password cannot be read, or a name is not that of a registry.
pub fn registries(config: &Config) -> Result<Vec<RegistrySettings>, StartError> {
    let with_password = |registry: &Registry| {
        let key = config.effective.iter().find(|entry| {
            entry.path.iter().map(String::as_str).eq(["runs", "registries", registry.host.as_str(), "password"])
        });
        let written = key.map(|entry| config.secret(&entry.dotted())).unwrap_or_default();
        let password = read_secret("runs.registries.*.password", &written, &config.data_dir)?;
        let Registry { host, plain_http, username } = registry.clone();
        Ok(RegistrySettings { host, plain_http, username, password })
    };
    let settings: Vec<RegistrySettings> = config.runs_registries.iter().map(with_password).collect::<Result<_, _>>()?;
    let unusable =
        |error| StartError::Io { doing: "reading runs.registries".to_owned(), error: std::io::Error::other(error) };
    Registries::new(&settings).map_err(unusable)?;
    Ok(settings)
}

/// Mail from and to the outside. Without a domain there is none.
///
/// # Errors
/// `messaging.smtp_relay_password` cannot be read.
pub fn mail(config: &Config, egress: &Egress) -> Result<Mail, StartError> {
    const PASSWORD: &str = "messaging.smtp_relay_password";
    let has_domain = !config.messaging_domain.is_empty();
    let is_listening = has_domain && config.messaging_smtp_listen.is_some();
    let name_servers = match resolver(config.messaging_smtp_resolver) {
        Ok(servers) => Some(servers).filter(|_| is_listening),
        Err(error) => {
            tracing::warn!(%error, "where mail comes from is not found out");
            None
        }
    };
    let relay = config.smtp_relay();
    let whole = relay.expose().as_str();
    let (before, place) = whole.rsplit_once('@').map_or(("", whole), |(before, place)| (before, place));
    let (user, password) = before.split_once(':').unwrap_or((before, ""));
    let own_user = config.messaging_smtp_relay_user.as_str();
    let credentials = match (own_user, user) {
        ("", "") => None,
        ("", user) => Some((user.to_owned(), Secret::new(password.to_owned()))),
        (user, _) => Some((user.to_owned(), read_secret(PASSWORD, &config.secret(PASSWORD), &config.data_dir)?)),
    };
    let encryption = match config.messaging_smtp_relay_tls.as_str() {
        "required" => RelayEncryption::Required,
        "off" => RelayEncryption::Off,
        _ => RelayEncryption::Opportunistic,
    };
    let relay = Place::parse(place).filter(|_| has_domain).map(|place| Relay { place, encryption, credentials });
    Ok(Mail { is_listening, relay, egress: egress.clone(), name_servers })
}

/// A secret of the configuration: `file:PATH` (a relative one is looked up in the data directory), `credential:NAME`
/// (systemd), or the secret itself. White space around what a file holds does not count.
///
/// # Errors
/// The file cannot be read, is too large or is no text.
fn read_secret(key: &'static str, reference: &Secret, data_dir: &Path) -> Result<Secret, StartError> {
    let text = reference.expose().as_str();
    let path = match text.split_once(':') {
        Some(("file", path)) => data_dir.join(path),
        Some(("credential", name)) => {
            let directory = std::env::var_os("CREDENTIALS_DIRECTORY").unwrap_or_default();
            Path::new(&directory).join(name)
        }
        _ => return Ok(reference.clone()),
    };
    let unreadable = |error| StartError::io(&format!("reading {key} from"), &path, error);
    let bytes = std::fs::read(&path).map_err(unreadable)?;
    if bytes.len() > SECRET_BYTES_MAX {
        return Err(unreadable(std::io::Error::other("too large for a secret")));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable(std::io::Error::other("not a text")))?;
    Ok(Secret::new(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_come_from_files_or_stand_for_themselves() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("key"), "  s3cret\n").unwrap();
        let read = |text: &str| read_secret("a.b", &Secret::new(text.to_owned()), directory.path());
        assert_eq!(read("file:key").unwrap().expose(), "s3cret");
        assert_eq!(read("plain").unwrap().expose(), "plain");
        assert!(read("file:absent").unwrap_err().to_string().contains("a.b"));
        std::fs::write(directory.path().join("key"), [0xff]).unwrap();
        assert!(read("file:key").is_err());
        std::fs::write(directory.path().join("key"), vec![b'x'; SECRET_BYTES_MAX + 1]).unwrap();
        assert!(read("file:key").is_err());
    }
}
