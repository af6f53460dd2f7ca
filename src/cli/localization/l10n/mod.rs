//! `quintet l10n`: a project's files to and from a running service, by the map of a repository.
//!
//! A *map* (`.quintet-l10n.toml`) says which file here is which in the project, and where its translations go. It speaks
//! the service's public interface like anybody else; the appliance may be anywhere.
//!
//! Reading order: `pattern` · `tree` (files below one directory) · `map` · `service` · `push`, `pull` · this file.

mod map;
mod pattern;
mod pull;
mod push;
mod service;
mod tree;

use std::path::PathBuf;

use clap::Subcommand;
use quintet_platform::secrets::Secret;
use serde_json::json;

use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use map::Map;
use pull::{Target, TargetResult};
use push::{Source, SourceResult};
use service::{Place, RemoteFile, Service};
use tree::Tree;

/// The exit code of a trial that would have changed something.
const WOULD_CHANGE: u8 = 5;
/// The largest file of a key or of certificates, in bytes.
const SECRET_BYTES_MAX: u64 = 1 << 20;

/// Push a project's string files to a running service, pull their translations
///
/// A map, .quintet-l10n.toml here or above, says which files: [[files]] with source and target, whose wildcards * and **
/// are the same and {locale} stands for a locale; kind, profile, root, locales, state and fallback if need be; url, tenant
/// and project for all. `quintet manual localization` has an example.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 in step, 1 failed, 2 wrong usage, 5 it would change something (--dry-run, status)."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Upload the sources that differ, and say how many keys that adds, changes and makes obsolete
    ///
    /// Every file is read before anything is uploaded: one that is malformed stops all.
    Push(Common),
    /// Write the translations that differ, each whole or not at all
    Pull(Common),
    /// Say what push and pull would do; nothing is changed
    Status(Common),
}

#[derive(Debug, clap::Args)]
struct Common {
    /// The map [default: .quintet-l10n.toml here or in a directory above]
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Where localization listens [default: L10N_URL, else url of the map]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The API key, or file:PATH for one in a file [default: L10N_KEY]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The tenant's id [default: L10N_TENANT, else tenant of the map]
    #[arg(long, value_name = "UUID")]
    tenant: Option<String>,
    /// The project's id [default: L10N_PROJECT, else project of the map]
    #[arg(long, value_name = "UUID")]
    project: Option<String>,
    /// Certificates of authorities to trust besides the system's, in PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Change nothing; exit 5 if something would be changed
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// What every one of the commands works with.
struct Work {
    map: Map,
    tree: Tree,
    service: Service,
    remote: Vec<RemoteFile>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Push(common) => push_sources(common),
        Command::Pull(common) => pull_targets(common),
        Command::Status(common) => status(common),
    }
}

fn push_sources(common: &Common) -> Result<(), CliError> {
    let Work { map, tree, service, remote } = Work::begin(common)?;
    let mut sources = push::compare(&map, &tree, &service, &remote)?;
    if !common.dry_run {
        push::push(&mut sources, &service)?;
    }
    if common.output.json {
        output::say_json(&json!({"items": sources, "dry_run": common.dry_run}))?;
    } else {
        say_sources(&sources);
    }
    let upload = sources.iter().filter(|source| source.result.is_to_upload()).count();
    verdict(common.dry_run, upload, "uploaded")
}

fn pull_targets(common: &Common) -> Result<(), CliError> {
    let Work { map, tree, service, remote } = Work::begin(common)?;
    let targets = pull::pull(&map, &tree, &service, &remote, common.dry_run)?;
    if common.output.json {
        output::say_json(&json!({"items": targets, "dry_run": common.dry_run}))?;
    } else {
        say_targets(&targets);
    }
    let written = targets.iter().filter(|target| target.result != TargetResult::Unchanged).count();
    verdict(common.dry_run, written, "written")
}

fn status(common: &Common) -> Result<(), CliError> {
    let Work { map, tree, service, remote } = Work::begin(common)?;
    let mut sources = push::compare(&map, &tree, &service, &remote)?;
    sources.extend(push::only_there(&map, &sources, &remote));
    let targets = pull::pull(&map, &tree, &service, &remote, true)?;
    if common.output.json {
        output::say_json(&json!({"sources": sources, "targets": targets}))?;
    } else {
        say_sources(&sources);
        say_targets(&targets);
    }
    let upload = sources.iter().filter(|source| source.result.is_to_upload()).count();
    let written = targets.iter().filter(|target| target.result != TargetResult::Unchanged).count();
    verdict(true, upload + written, "changed")
}

/// How a command ends that found so many files to be changed.
fn verdict(is_dry: bool, count: usize, done: &str) -> Result<(), CliError> {
    match (is_dry, count) {
        (false, _) | (true, 0) => Ok(()),
        (true, 1) => Err(CliError::failed(format!("1 file would be {done}")).code(WOULD_CHANGE)),
        (true, count) => Err(CliError::failed(format!("{count} files would be {done}")).code(WOULD_CHANGE)),
    }
}

fn say_sources(sources: &[Source]) {
    let row = |source: &Source| {
        let keys = match source.result {
            SourceResult::Unchanged | SourceResult::OnlyThere => String::new(),
            _ => format!("{} added, {} changed, {} obsoleted", source.added, source.changed, source.obsoleted),
        };
        let version = if source.version == 0 { String::new() } else { source.version.to_string() };
        vec![output::plain(&source.path), source.result.word().to_owned(), version, keys]
    };
    output::say_table(&["source", "here", "version", "keys"], &sources.iter().map(row).collect::<Vec<_>>());
}

fn say_targets(targets: &[Target]) {
    let row = |target: &Target| {
        vec![output::plain(&target.path), output::plain(&target.locale), target.result.word().to_owned()]
    };
    output::say_table(&["translation", "locale", "there"], &targets.iter().map(row).collect::<Vec<_>>());
}

impl Work {
    fn begin(common: &Common) -> Result<Work, CliError> {
        let map = Map::load(common.map.as_deref())?;
        let tree = Tree::open(&map.directory)?;
        let service = Service::new(&place(common, &map)?, common.output.json)?;
        let remote = service.files()?;
        Ok(Work { map, tree, service, remote })
    }
}

/// Where the service is, and who calls: as the command line says, else the environment, else the map.
fn place(common: &Common, map: &Map) -> Result<Place, CliError> {
    let chosen = |flag: &Option<String>, variable: &str, written: &Option<String>, name: &str| {
        let from_environment = || std::env::var(variable).ok().filter(|value| !value.is_empty());
        let chosen = flag.clone().or_else(from_environment).or_else(|| written.clone());
        chosen.ok_or_else(|| {
            CliError::failed(format!("no {name} is named"))
                .hint(format!("name it with --{name}, or in the environment as {variable}"))
                .code(CliError::USAGE)
        })
    };
    let key = chosen(&common.key, "L10N_KEY", &None, "key")?;
    let key = match key.strip_prefix("file:") {
        Some(path) => read_text(path.as_ref())?.trim().to_owned(),
        None => key,
    };
    Ok(Place {
        url: chosen(&common.url, "L10N_URL", &map.url, "url")?,
        key: Secret::new(key),
        tenant: chosen(&common.tenant, "L10N_TENANT", &map.tenant, "tenant")?,
        project: chosen(&common.project, "L10N_PROJECT", &map.project, "project")?,
        extra_ca: common.ca.as_deref().map(|path| read_text(path).map(String::into_bytes)).transpose()?,
    })
}

fn read_text(path: &std::path::Path) -> Result<String, CliError> {
    tree::text_of(path, std::fs::File::open(path), SECRET_BYTES_MAX)
}
