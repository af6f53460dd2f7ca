//! The service, as its public interface has it: the project's files and keys, uploads and exports.
//!
//! The service is another system: what it says is bounded, and a path it names is only a text.

use std::cell::RefCell;
use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use quintet_platform::egress::{Egress, EgressError, Repeatable, is_public};
use quintet_platform::http::query::encode_segment;
use quintet_platform::secrets::{self, Secret};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::cli::progress::Progress;
use crate::cli::{CliError, output};

/// How long one request may take: files have up to 50 MiB, lines may be slow.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often a request is sent that the service asks to repeat, or whose answer got lost.
const TRIES: u32 = 6;
/// The longest wait between two of them, in seconds.
const WAIT_SECONDS_MAX: u64 = 30;
/// The largest answer that is JSON, and the largest export, in bytes.
const JSON_BYTES_MAX: usize = 64 << 20;
/// See [`JSON_BYTES_MAX`].
const EXPORT_BYTES_MAX: usize = 512 << 20;
/// The most pages of a list.
const PAGES_MAX: usize = 100_000;

/// The service, for one project.
pub struct Service {
    runtime: Runtime,
    egress: Egress,
    base: String,
    credential: HeaderValue,
    tenant: HeaderValue,
    project: String,
    progress: RefCell<Progress>,
}

/// Where the service is, and who calls.
pub struct Place {
    /// Its address: `https://host`, a path behind it if a proxy wants one.
    pub url: String,
    /// The API key.
    pub key: Secret,
    /// The tenant.
    pub tenant: String,
    /// The project.
    pub project: String,
    /// Certificates of authorities to be trusted besides the system's, in PEM.
    pub extra_ca: Option<Vec<u8>>,
}

/// A file of the project.
#[derive(Clone, Debug, Deserialize)]
pub struct RemoteFile {
    pub file_id: String,
    pub path: String,
    pub version: u32,
    pub sha256: String,
    #[serde(default)]
    pub root_locale: Option<String>,
}

/// An active key of the project.
#[derive(Clone, Debug, Deserialize)]
pub struct RemoteKey {
    pub file_id: String,
    pub path: String,
    pub source: Option<String>,
    pub forms: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Project {
    source_locale: String,
}

#[derive(Deserialize)]
struct Locales {
    locales: Vec<LocaleTag>,
}

#[derive(Deserialize)]
struct LocaleTag {
    tag: String,
}

#[derive(Deserialize)]
struct FilePage {
    files: Vec<RemoteFile>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct KeyPage {
    keys: Vec<RemoteKey>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    field: String,
}

/// An answer: its status, header fields and body.
type Answer = (StatusCode, HeaderMap, Bytes);

impl Service {
    /// For one project; with `--json` no progress is told.
    ///
    /// # Errors
    /// Something of the place cannot be used.
    pub fn new(place: &Place, json: bool) -> Result<Service, CliError> {
        let unusable = |what: &str| CliError::failed(format!("{what} cannot be used")).code(CliError::USAGE);
        let base = place.url.trim_end_matches('/').to_owned();
        if !(base.starts_with("https://") || base.starts_with("http://")) || base.contains(['?', '#']) {
            return Err(unusable("the url").hint("write it as https://l10n.example.com"));
        }
        let is_id = |text: &str| quintet_platform::ids::parse_uuid(text).is_some();
        if !is_id(&place.project) || !is_id(&place.tenant) {
            return Err(unusable("the id of the tenant or the project").hint("both are UUIDs"));
        }
        let mut credential =
            HeaderValue::from_str(&format!("Bearer {}", place.key.expose())).map_err(|_| unusable("the key"))?;
        credential.set_sensitive(true);
        let tenant = HeaderValue::from_str(&place.tenant).map_err(|_| unusable("the tenant"))?;
        // The key goes over no line in the clear but within the machine or a private network.
        let mut egress = Egress::new(|address| !is_public(address));
        if let Some(pem) = &place.extra_ca {
            egress = egress
                .trusting(pem)
                .map_err(|error| CliError::failed(format!("--ca: {error}")).code(CliError::USAGE))?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::failed)?;
        let progress = RefCell::new(Progress::new(json));
        Ok(Service { runtime, egress, base, credential, tenant, project: place.project.clone(), progress })
    }

    /// Says what is being done, and how much of it is.
    pub fn tell(&self, what: &str, done: usize) {
        self.progress.borrow_mut().count(what, done as u64);
    }

    /// Takes the line away that says what is being done.
    pub fn told(&self) {
        self.progress.borrow_mut().finish();
    }

    /// The project's source locale.
    ///
    /// # Errors
    /// The service does not say so.
    pub fn source_locale(&self) -> Result<String, CliError> {
        Ok(self.read::<Project>("")?.source_locale)
    }

    /// The project's target locales.
    ///
    /// # Errors
    /// As [`Service::source_locale`].
    pub fn locales(&self) -> Result<Vec<String>, CliError> {
        Ok(self.read::<Locales>("/locales")?.locales.into_iter().map(|locale| locale.tag).collect())
    }

    /// Every file of the project.
    ///
    /// # Errors
    /// As [`Service::source_locale`].
    pub fn files(&self) -> Result<Vec<RemoteFile>, CliError> {
        self.pages("/files", "looking at the project's files", |page: FilePage| (page.files, page.next_cursor))
    }

    /// Every active key of the project.
    ///
    /// # Errors
    /// As [`Service::source_locale`].
    pub fn keys(&self) -> Result<Vec<RemoteKey>, CliError> {
        self.pages("/keys", "looking at the project's keys", |page: KeyPage| (page.keys, page.next_cursor))
    }

    /// Uploads a file under these parameters.
    ///
    /// # Errors
    /// It is not taken.
    pub fn upload(&self, parameters: &[(&str, &str)], bytes: &[u8]) -> Result<RemoteFile, CliError> {
        let key = HEXLOWER.encode(&secrets::random_bytes::<16>());
        let request = || {
            let mut request = self.request(Method::POST, "/files", parameters, Bytes::copy_from_slice(bytes))?;
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            headers.insert(
                HeaderName::from_static("idempotency-key"),
                HeaderValue::from_str(&key).map_err(CliError::failed)?,
            );
            Ok(request)
        };
        let body = self.successful(request, JSON_BYTES_MAX)?;
        serde_json::from_slice(&body).map_err(|_| improper())
    }

    /// The bytes of a file in a locale.
    ///
    /// # Errors
    /// They cannot be had.
    pub fn export(&self, file_id: &str, parameters: &[(&str, &str)]) -> Result<Bytes, CliError> {
        let path = format!("/files/{}/export", encode_segment(file_id));
        self.successful(|| self.request(Method::GET, &path, parameters, Bytes::new()), EXPORT_BYTES_MAX)
    }

    fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let body = self.successful(|| self.request(Method::GET, path, &[], Bytes::new()), JSON_BYTES_MAX)?;
        serde_json::from_slice(&body).map_err(|_| improper())
    }

    fn pages<P: DeserializeOwned, T>(
        &self,
        path: &str,
        what: &str,
        parts: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, CliError> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            self.tell(what, all.len());
            let parameters = [("limit", "500"), ("cursor", cursor.as_deref().unwrap_or_default())];
            let parameters = parameters.get(..1 + usize::from(cursor.is_some())).unwrap_or_default();
            let body = self.successful(|| self.request(Method::GET, path, parameters, Bytes::new()), JSON_BYTES_MAX)?;
            let (items, next) = parts(serde_json::from_slice(&body).map_err(|_| improper())?);
            all.extend(items);
            match next {
                None => return Ok(all),
                next if next == cursor => return Err(improper()),
                next => cursor = next,
            }
        }
        Err(improper())
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        parameters: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Request<Bytes>, CliError> {
        let query: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={}", encode_segment(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let uri = format!("{}/v1/projects/{}{path}{mark}{}", self.base, self.project, query.join("&"));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() =
            uri.parse().map_err(|_| CliError::failed("the url cannot be used").code(CliError::USAGE))?;
        request.headers_mut().insert(AUTHORIZATION, self.credential.clone());
        request.headers_mut().insert(HeaderName::from_static("l10n-tenant"), self.tenant.clone());
        // Changes have an Idempotency-Key.
        request.extensions_mut().insert(Repeatable);
        Ok(request)
    }

    /// The body of an answer that says yes.
    fn successful(
        &self,
        request: impl Fn() -> Result<Request<Bytes>, CliError>,
        bytes_max: usize,
    ) -> Result<Bytes, CliError> {
        let (status, _, body) = self.runtime.block_on(self.answered(request, bytes_max))?;
        if status.is_success() {
            return Ok(body);
        }
        let problem = serde_json::from_slice::<Problem>(&body);
        let Ok(problem) = problem else {
            return Err(
                CliError::failed(format!("the service answered {status}")).hint("is this the address of localization?")
            );
        };
        let said = [&problem.field, &problem.detail, &problem.title].map(|text| output::plain(text));
        let said: Vec<&str> = said.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let failed =
            CliError::failed(format!("the service refused: {} ({})", output::plain(&problem.code), said.join("; ")));
        Err(match status {
            StatusCode::UNAUTHORIZED => failed.hint("is the key valid, and of this service?"),
            StatusCode::FORBIDDEN => failed.hint("push needs p_<p>_read and p_<p>_files-write, pull p_<p>_read and p_<p>_export; the template ci has all"),
            StatusCode::NOT_FOUND => failed.hint("look at the ids of project and tenant"),
            _ => failed,
        })
    }

    /// An answer, whatever it says, asked for again where that may help.
    async fn answered(
        &self,
        request: impl Fn() -> Result<Request<Bytes>, CliError>,
        bytes_max: usize,
    ) -> Result<Answer, CliError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let outcome = tokio::time::timeout(PATIENCE, self.exchange(request()?, bytes_max)).await;
            let wait = match outcome.unwrap_or(Err(EgressError::TimedOut)) {
                Ok((status, headers, body)) => {
                    let is_passing = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
                    if !is_passing || tries >= TRIES {
                        return Ok((status, headers, body));
                    }
                    seconds_of(&headers)
                }
                Err(EgressError::Broken | EgressError::NoTls) if tries < TRIES => 1,
                Err(error) => return Err(unreachable(error)),
            };
            self.tell("waiting for the service", 0);
            tokio::time::sleep(Duration::from_secs(wait)).await;
        }
    }

    async fn exchange(&self, request: Request<Bytes>, bytes_max: usize) -> Result<Answer, EgressError> {
        let (parts, mut body) = self.egress.open(request).await?.into_parts();
        Ok((parts.status, parts.headers, body.whole(bytes_max).await?))
    }
}

fn improper() -> CliError {
    CliError::failed("the service did not answer properly").hint("is this the address of localization?")
}

fn unreachable(error: EgressError) -> CliError {
    let failed = |error: &dyn Display| CliError::failed(format!("the service cannot be reached: {error}"));
    match error {
        EgressError::Plain => failed(&"http:// sends the key in the clear")
            .hint("write https://; http:// is for this machine and private networks"),
        EgressError::Untrusted => {
            failed(&"no trusted certificate for this name").hint("name your own authority's certificates with --ca")
        }
        error => failed(&error).hint("look at the url, and whether the service runs"),
    }
}

/// How long the service asks to wait, within reason.
fn seconds_of(headers: &HeaderMap) -> u64 {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    seconds.unwrap_or(1).clamp(1, WAIT_SECONDS_MAX)
}
