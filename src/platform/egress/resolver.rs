//! Asking name servers for what no call of the system tells: records of type TXT and MX.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;

/// How long one name server is waited for, and how often each is asked.
const TIME: Duration = Duration::from_secs(3);
const ATTEMPTS: usize = 2;
/// Answers that are remembered.
const REMEMBERED: u64 = 4_096;
/// For how long an answer is remembered at the most, and that there is none.
const REMEMBERED_TIME: Duration = Duration::from_secs(3_600);
const REMEMBERED_NONE_TIME: Duration = Duration::from_secs(300);
/// For how long that there is none is remembered where the answer does not say it.
const REMEMBERED_NONE_TIME_LEAST: Duration = Duration::from_secs(10);

/// What asks them. Clones share what they remember.
pub type NameServers = TokioResolver;

/// There is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[error("no name server can be asked: {0}")]
pub struct NoNameServers(String);

/// Asks this name server, or those that the system is told to ask.
///
/// # Errors
/// `/etc/resolv.conf` names none.
pub fn resolver(server: Option<SocketAddr>) -> Result<NameServers, NoNameServers> {
    let told = |error: &dyn std::fmt::Display| NoNameServers(error.to_string());
    let (config, mut options) = match server {
        Some(server) => {
            let mut asked = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
            for connection in &mut asked {
                connection.port = server.port();
            }
            let server = NameServerConfig::new(server.ip(), true, asked);
            (ResolverConfig::from_name_servers(vec![server]), ResolverOpts::default())
        }
        None => hickory_resolver::system_conf::read_system_conf().map_err(|error| told(&error))?,
    };
    options.timeout = TIME;
    options.attempts = ATTEMPTS;
    options.cache_size = REMEMBERED;
    options.positive_max_ttl = Some(REMEMBERED_TIME);
    options.negative_min_ttl = Some(REMEMBERED_NONE_TIME_LEAST);
    options.negative_max_ttl = Some(REMEMBERED_NONE_TIME);
    let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    builder.with_options(options).build().map_err(|error| told(&error))
}

/// The servers that take mail for a domain, the first to be asked first; none if it has none.
///
/// # Errors
/// Why it is not known.
pub async fn exchanges(servers: &NameServers, domain: &str) -> Result<Vec<String>, String> {
    let found = match servers.mx_lookup(format!("{domain}.")).await {
        Ok(found) => found,
        Err(error) if error.is_no_records_found() => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let mut all: Vec<(u16, String)> = Vec::new();
    for record in found.answers() {
        if let RData::MX(exchange) = &record.data {
            all.push((exchange.preference, exchange.exchange.to_utf8().trim_end_matches('.').to_owned()));
        }
    }
    all.sort_unstable();
    Ok(all.into_iter().map(|(_, name)| name).collect())
}

/// The texts of a domain; none if it has none.
///
/// # Errors
/// Why it is not known.
pub async fn texts(servers: &NameServers, domain: &str) -> Result<Vec<String>, String> {
    let found = match servers.txt_lookup(format!("{domain}.")).await {
        Ok(found) => found,
        Err(error) if error.is_no_records_found() => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let mut all = Vec::new();
    for record in found.answers() {
        if let RData::TXT(text) = &record.data {
            all.push(text.txt_data.iter().map(|part| String::from_utf8_lossy(part)).collect::<String>());
        }
    }
    Ok(all)
}
