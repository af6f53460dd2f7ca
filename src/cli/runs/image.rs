//! `quintet image`: the images that containers are made of.
//!
//! These commands speak to the runner, by the socket that the configuration names, whether the appliance runs or not:
//! an image can be there before the first start. `pull` asks the registry itself, with the registries, passwords and
//! rules on addresses of the configuration. It does not go through the appliance: whoever may write the runner's socket
//! may import anything anyway, and an administration call that opens connections for minutes would be one more thing
//! that a server has to bound, report on and call off.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Subcommand;
use quintet_platform::clock::rfc3339;
use quintet_runs::registry::{self, PullError, PullLimits, Puller, Reference, Registries};
use quintet_runtime::{ImageInfo, Refusal, Runner, RunnerError};
use quintet_storage::Timestamp;

use super::rootfs;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::progress::Progress;
use crate::signals::Signals;
use crate::{admin, outside, own_runner};

/// Import, pull, list and remove container images
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take an image in from an OCI layout (directory or tar) or a docker-archive (tar)
    Import {
        /// The directory or tar
        file: PathBuf,
        /// The name it gets, such as docker.io/library/busybox:1
        #[arg(long, value_name = "REF")]
        name: String,
        /// The file is a tar of a root file system, as `docker export` or `tar -C DIR -c .` make it: the image has it
        /// as its one layer, and no command of its own
        #[arg(long, conflicts_with = "select")]
        rootfs: bool,
        /// Which of several images in the file, by the name the file gives it
        #[arg(long, value_name = "NAME")]
        select: Option<String>,
        #[command(flatten)]
        place: RunnerPlace,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Fetch an image from a registry
    ///
    /// The name is written as for Docker: busybox, busybox:1.36, registry.example.com:5000/team/tool@sha256:…. The
    /// image gets its name in full. Passwords and registries without TLS are settings ([runs.registries.HOST]), as are
    /// networks outside the public internet (egress.allow_private). Layers that are there already are not fetched.
    Pull {
        /// The image's name
        reference: String,
        #[command(flatten)]
        place: RunnerPlace,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// List the images
    List {
        #[command(flatten)]
        place: RunnerPlace,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Take a name away from an image; an image without names goes
    Remove {
        /// The name, or the digest for all names at once
        reference: String,
        #[command(flatten)]
        place: RunnerPlace,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Remove images that have lost their name to a newer one, and layers nobody uses
    ///
    /// Images of containers that run are kept.
    Prune {
        #[command(flatten)]
        place: RunnerPlace,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Where the runner is.
#[derive(Debug, clap::Args)]
struct RunnerPlace {
    /// The runner's socket [default: runs.runner_socket of the configuration]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// How long a command waits for the runner of an appliance that runs: it starts its own after all else.
const STARTING: Duration = Duration::from_secs(60);
/// And how long where none shows that it runs: it may just be starting.
const LAUNCHING: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

impl RunnerPlace {
    /// The runner, once it is there; or one that is not, for the call that says so.
    fn runner(&self, output: OutputArguments) -> Result<Runner, CliError> {
        if let Some(socket) = &self.socket {
            return Ok(with_pulse(Runner::new(socket)));
        }
        let config = self.place.load()?;
        let mut progress = Progress::new(output.json);
        let begun = Instant::now();
        loop {
            // Who is there first decides where it is.
            let place = own_runner::place(&config).ok_or_else(|| {
                CliError::failed("there is no runner: runs.runner_socket is off").hint("name its socket with --socket")
            })?;
            let runner = Runner::new(place.socket).with_reserve(config.disk_reserve_mb << 20);
            let is_started = || admin::socket::connect(&config.data_dir).is_ok();
            let is_missing = runner.find().is_err_and(|error| may_be_starting(&error));
            if !is_missing || begun.elapsed() >= if is_started() { STARTING } else { LAUNCHING } {
                return Ok(with_pulse(runner));
            }
            progress.step("waiting for the runner");
            std::thread::sleep(LOOK_PAUSE);
        }
    }
}

fn may_be_starting(error: &RunnerError) -> bool {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error, RunnerError::Unavailable { source, .. } if matches!(source.kind(), NotFound | ConnectionRefused))
}

/// A runner that hangs is not waited for, however long an import may take.
fn with_pulse(runner: Runner) -> Runner {
    let own = runner.clone();
    // Without it, one waits longer.
    let _ = std::thread::Builder::new().name("pulse".into()).spawn(move || own.keep_pulse(|| false));
    runner
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Import { file, name, rootfs, select, place, output } => {
            let given = open(file, *rootfs)?;
            import(given, file, name, select.as_deref(), &place.runner(*output)?, *output)
        }
        Command::Pull { reference, place, output } => pull(reference, place, *output),
        Command::List { place, output } => list(&place.runner(*output)?, *output),
        Command::Remove { reference, place, output } => remove(reference, &place.runner(*output)?, *output),
        Command::Prune { place, output } => prune(&place.runner(*output)?, *output),
    }
}

/// What is to be imported: the file itself, or the image that is made of it.
fn open(file: &Path, is_rootfs: bool) -> Result<File, CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::failed(format!("{}: {error}", file.display()));
    let mut opened = File::open(file).map_err(|error| failed(&error))?;
    if is_rootfs { rootfs::image(&mut opened, &serde_json::json!({})) } else { Ok(opened) }
}

fn import(
    given: File,
    file: &Path,
    name: &str,
    select: Option<&str>,
    runner: &Runner,
    output: OutputArguments,
) -> Result<(), CliError> {
    let mut progress = Progress::new(output.json);
    progress.step(&format!("unpacking {}", output::plain(&file.display().to_string())));
    let imported = runner.import(given.into(), name, select);
    progress.finish();
    said(&imported.map_err(told)?, output)
}

fn said(image: &ImageInfo, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(image);
    }
    let layers = if image.layers == 1 { "1 layer".to_owned() } else { format!("{} layers", image.layers) };
    output::say(&format!("{}  ({} in {layers})", image.digest, output::size(image.size_bytes)));
    Ok(())
}

fn list(runner: &Runner, output: OutputArguments) -> Result<(), CliError> {
    let items = runner.images().map_err(told)?;
    if output.json {
        return output::say_json(&serde_json::json!({ "items": items }));
    }
    let row = |image: &ImageInfo| {
        let names = if image.names.is_empty() { "(none)".to_owned() } else { image.names.join(", ") };
        let imported = rfc3339(Timestamp::from_micros(image.imported_at_micros));
        vec![names, output::size(image.size_bytes), imported, image.digest.to_string()]
    };
    output::say_table(&["names", "size", "imported", "digest"], &items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}

fn remove(reference: &str, runner: &Runner, output: OutputArguments) -> Result<(), CliError> {
    // As it is written, else as a pull has named it.
    let full = Reference::parse(reference).map(|full| full.to_string()).ok();
    let removed = match runner.remove_image(reference) {
        Err(RunnerError::Refused(Refusal::NoSuchImage)) if full.as_deref().is_some_and(|full| full != reference) => {
            runner.remove_image(full.as_deref().unwrap_or(reference)).map(|()| full.clone())
        }
        removed => removed.map(|()| None),
    };
    let removed = removed.map_err(told)?.unwrap_or_else(|| reference.to_owned());
    if output.json {
        return output::say_json(&serde_json::json!({ "removed": removed }));
    }
    output::say(&format!("removed {removed}"));
    Ok(())
}

fn prune(runner: &Runner, output: OutputArguments) -> Result<(), CliError> {
    let pruned = runner.prune_images().map_err(told)?;
    if output.json {
        return output::say_json(&pruned);
    }
    for image in &pruned.images {
        output::say(&format!("removed {image}"));
    }
    output::say(&format!("{} freed ({} layers)", output::size(pruned.bytes), pruned.layers));
    Ok(())
}

fn pull(name: &str, place: &RunnerPlace, output: OutputArguments) -> Result<(), CliError> {
    let reference = Reference::parse(name).map_err(|error| CliError::failed(error).code(CliError::USAGE))?;
    let runner = place.runner(output)?;
    // Before anything is fetched for nobody.
    runner.hello().map_err(told)?;
    let config = place.place.load()?;
    let registries = Registries::new(&outside::registries(&config)?).map_err(CliError::failed)?;
    let directory = Private::make()?;
    let limits = PullLimits { disk_reserve_bytes: config.disk_reserve_mb << 20, ..PullLimits::default() };
    let puller = Puller::new(outside::egress(&config)?, registries, &directory.0.join("pull"), limits);
    let puller = puller.map_err(|error| CliError::failed(format!("{}: {error}", directory.0.display())))?;
    let cancelled = called_off()?;
    let progress = Mutex::new(Progress::new(output.json));
    let tell = |now: registry::Progress| {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        match now {
            registry::Progress::Asking => progress.step(&format!("asking for {reference}")),
            registry::Progress::Fetching { done_bytes, total_bytes } => {
                progress.bytes("fetching", done_bytes, total_bytes);
            }
            registry::Progress::Unpacking => progress.step("unpacking"),
        }
    };
    let pulled = puller.pull(&runner, &reference, &cancelled, &tell);
    progress.lock().unwrap_or_else(PoisonError::into_inner).finish();
    said(&pulled.map_err(|error| not_pulled(error, &reference))?, output)
}

/// A directory that goes with the command. Under `TMPDIR` or /var/tmp: images are larger than what /tmp may hold.
struct Private(PathBuf);

impl Private {
    fn make() -> Result<Private, CliError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let above = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let number = u64::from_be_bytes(quintet_platform::secrets::random_bytes::<8>());
        let path = above.join(format!("quintet-pull-{number:016x}"));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
        Ok(Private(path))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What is in it was removed by whoever put it there; a second failure would say nothing new.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Set once the command is told to stop, so that nothing of an unfinished pull is left.
fn called_off() -> Result<Arc<AtomicBool>, CliError> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&cancelled);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(CliError::failed)?;
    let signals = {
        let _within = runtime.enter();
        Signals::listen().map_err(CliError::failed)?
    };
    let listen = move || {
        runtime.block_on(signals.more_than(0));
        set.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).map_err(CliError::failed)?;
    Ok(cancelled)
}

fn not_pulled(error: PullError, reference: &Reference) -> CliError {
    let reason = output::plain(&format!("{reference}: {error}"));
    match error {
        PullError::Runner(error) => told(error),
        PullError::NotFound => CliError::failed(reason).hint("look at the name and the tag"),
        PullError::Denied => CliError::failed(reason).hint(format!(
            "set username and password of [runs.registries.{:?}]; some registries also say this of images that they do \
             not have",
            reference.host()
        )),
        PullError::Unreachable(_) => CliError::failed(reason).hint(
            "look at the network; a registry on a private network needs it in egress.allow_private, one without TLS \
             plain_http in runs.registries",
        ),
        PullError::TooLong => {
            CliError::failed(reason).hint("try again: layers that are unpacked are not fetched twice")
        }
        PullError::Local(_) | PullError::NoRoom => {
            CliError::failed(reason).hint("free some room, or name another place with TMPDIR")
        }
        PullError::Lies(_) | PullError::BadImage(_) | PullError::TooLarge(_) | PullError::Cancelled => {
            CliError::failed(reason)
        }
    }
}

fn told(error: RunnerError) -> CliError {
    match &error {
        RunnerError::Unavailable { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            CliError::failed(error).hint("only root and the runner's group may speak to it; try sudo")
        }
        RunnerError::Unavailable { .. } => CliError::failed(error)
            .hint("start the appliance, or `quintet runner` as root; or name its socket with --socket"),
        RunnerError::Refused(Refusal::ImageInUse) => CliError::failed(error).hint("wait for them to end, or kill them"),
        RunnerError::Refused(Refusal::NoSuchImage) => CliError::failed(error).hint("`quintet image list` shows all"),
        RunnerError::Refused(Refusal::BadImage(reason)) if reason.contains("say which") => {
            CliError::failed(output::plain(&error.to_string())).hint("name one of them with --select")
        }
        _ => CliError::failed(output::plain(&error.to_string())),
    }
}
