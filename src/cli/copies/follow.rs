//! `quintet backup follow`: keeps a directory as a copy of the appliance's, transaction by transaction.
//!
//! One thread ships the log, another one takes checkpoints over and prunes. Whatever is written is such at every moment
//! that a restore takes it, so that the command may be killed at any time.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quintet_platform::clock::Clock;
use quintet_storage::backup::CopyError;
use quintet_storage::follow::{Checkpoints, Follower, Shipped};
use quintet_storage::{OpenError, Timestamp};

use super::copying;
use super::hold::Held;
use crate::admin::backups;
use crate::admin::client::Client;
use crate::cli::CliError;
use crate::cli::output;
use crate::cli::place::PlaceArguments;
use crate::cli::progress::Progress;
use crate::followers::Followed;
use crate::root_key;
use crate::serve;

/// How long it waits before it looks again at a log of which everything is there.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// How often the directory's note and the appliance are told how far it is.
const TELL_PAUSE: Duration = Duration::from_millis(500);
/// How often the note is written of a directory in which nothing changes.
const IDLE_PAUSE: Duration = Duration::from_secs(5);
/// How long it waits after something went wrong that may pass.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// How often it is looked whether a checkpoint is to be taken over.
const CHECKPOINT_PAUSE: Duration = Duration::from_secs(15);
/// For how long the appliance may keep it waiting.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keep a directory on another disk as a copy of the data directory, while the appliance runs on
///
/// What is acknowledged is there within a second. The appliance waits for nobody: a directory that is slow or was away is
/// caught up. `quintet restore DEST --data DIR` makes a data directory of it, also as of an instant (--at). The command
/// runs until it is stopped, at any moment; quintet-follow.service runs it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The directory that follows: absent, empty, or one that has followed this data directory before. The directory
    /// above it must be there, so that a disk that is not mounted is not taken for an empty one
    #[arg(value_name = "DEST")]
    destination: PathBuf,
    /// For how many hours instants are kept that a restore can go back to
    #[arg(long, value_name = "HOURS", default_value_t = 72, value_parser = clap::value_parser!(u32).range(1..=87_600))]
    keep_hours: u32,
    /// After how many minutes a checkpoint is taken over: so much log, at the most, is read by a restore
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_440))]
    checkpoint_minutes: u32,
    /// Leave the root key out: who finds the directory cannot read what is sealed, and a restore needs the key
    #[arg(long)]
    without_key: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Runs the command, until it is stopped or cannot go on.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    serve::keep_private();
    let data_dir = arguments.place.data_dir()?;
    let destination = copying::destination(&arguments.destination, &data_dir)?.to_path_buf();
    if arguments.without_key && destination.join(root_key::FILE).exists() {
        return Err(CliError::failed(format!("{} has a root key from before", destination.display()))
            .hint("remove root.key and former/ there, or leave out --without-key"));
    }
    let key_files = match arguments.without_key {
        true => Vec::new(),
        false => arguments.place.root_key(&data_dir).backup_files(),
    };
    let client = Client::new(&data_dir).with_patience(PATIENCE);
    let errand = Errand { data_dir, destination, key_files, client, arguments };
    let mut told: Option<String> = None;
    loop {
        let Err(error) = errand.follow(&mut told);
        if !may_pass(&error) {
            return Err(explained(&error));
        }
        // The same one again and again is told once.
        let text = error.to_string();
        if told.as_ref() != Some(&text) {
            output::progress(&format!("{text}; it is tried again every {} s", RETRY_PAUSE.as_secs()));
            told = Some(text);
        }
        std::thread::sleep(RETRY_PAUSE);
    }
}

/// Whether something may be well again later without anybody's doing: a disk that is full, slow or away.
fn may_pass(error: &CopyError) -> bool {
    matches!(error, CopyError::Io { .. } | CopyError::Source(OpenError::Io { .. }))
}

fn explained(error: &CopyError) -> CliError {
    match error {
        CopyError::NotEmpty(_) => CliError::failed(error)
            .hint("name a directory that is absent or empty, or the one that has followed before"),
        _ => copying::failure(error, "`quintet verify` tells what is damaged and what to do about it"),
    }
}

/// What is to be done, and for whom.
struct Errand<'a> {
    data_dir: PathBuf,
    destination: PathBuf,
    key_files: Vec<(PathBuf, String)>,
    client: Client,
    arguments: &'a Arguments,
}

impl Errand<'_> {
    /// Follows until something goes wrong.
    fn follow(&self, told: &mut Option<String>) -> Result<std::convert::Infallible, CopyError> {
        let clock = Clock::system();
        let mut follower = Follower::open(&self.data_dir, &self.destination)?;
        let _caring = Caring::begin(self, follower.checkpoints())?;
        let (mut told_at, mut noted_at, mut noted) = (None, None, 0);
        let (mut newest, mut is_caught_up) = (Timestamp::EPOCH, false);
        let is_over = |since: Option<Instant>, pause| since.is_none_or(|at| at.elapsed() >= pause);
        loop {
            let begun = clock.now();
            follower.copy_extra(begun, &self.key_files)?;
            let shipped = follower.ship()?;
            newest = newest.max(shipped.time);
            if shipped.needs_checkpoint {
                is_caught_up = false;
                self.first_checkpoint(&follower.checkpoints(), begun)?;
                continue;
            }
            if !shipped.is_caught_up {
                continue;
            }
            if !std::mem::replace(&mut is_caught_up, true) {
                *told = None;
                output::progress(&format!(
                    "{} follows {}: everything up to transaction {} is there",
                    self.destination.display(),
                    self.data_dir.display(),
                    shipped.lsn
                ));
            }
            if is_over(told_at, TELL_PAUSE) {
                told_at = Some(Instant::now());
                if shipped.lsn != noted || is_over(noted_at, IDLE_PAUSE) {
                    (noted, noted_at) = (shipped.lsn, told_at);
                    // A rehearsal's clock may be ahead of this one.
                    follower.note(shipped.lsn, begun.max(newest))?;
                }
                self.report(&shipped, clock.now().micros_since(begun));
            }
            std::thread::sleep(LOOK_PAUSE);
        }
    }

    /// Takes over the checkpoint without which the log is of no use.
    fn first_checkpoint(&self, checkpoints: &Checkpoints, now: Timestamp) -> Result<(), CopyError> {
        let mut progress = Progress::new(false);
        let mut copied = 0;
        let taken = take(&self.client, checkpoints, now, &mut |bytes| {
            copied += bytes;
            progress.bytes("copying a checkpoint", copied, 0);
        });
        progress.finish();
        if taken?.is_none() {
            std::thread::sleep(TELL_PAUSE);
        }
        Ok(())
    }

    /// Tells the appliance how far it is. One that does not run need not know.
    fn report(&self, shipped: &Shipped, lag_micros: i64) {
        let followed = Followed {
            destination: self.destination.display().to_string(),
            lsn: shipped.lsn,
            lag_millis: u64::try_from(lag_micros / 1_000).unwrap_or(0),
        };
        let _ = self.client.ask(backups::FOLLOWED.wishing(&followed));
    }
}

/// Takes over a checkpoint: a new one that the appliance holds meanwhile, or, if it does not run, the newest it made.
fn take(
    client: &Client,
    checkpoints: &Checkpoints,
    now: Timestamp,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<u64>, CopyError> {
    let mut held = Held::begin(client).ok();
    if let Some(held) = &mut held {
        // Without the thread it is held for two minutes, and else copied in vain and again.
        let _ = held.keep_alive();
    }
    Ok(checkpoints.take(now, progress)?.map(|taken| taken.lsn))
}

/// The thread that takes checkpoints over and prunes; it ends with this.
struct Caring {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Caring {
    fn begin(errand: &Errand<'_>, checkpoints: Checkpoints) -> Result<Caring, CopyError> {
        let (stop, stopped) = channel();
        let keep_seconds = i64::from(errand.arguments.keep_hours) * 3_600;
        let every_seconds = i64::from(errand.arguments.checkpoint_minutes) * 60;
        let client = errand.client.clone();
        let work = move || care(&client, &checkpoints, (keep_seconds, every_seconds), &stopped);
        let thread = std::thread::Builder::new().name("checkpoints".into()).spawn(work);
        let thread = thread.map_err(|error| CopyError::Io {
            doing: "starting a thread".to_owned(),
            kind: error.kind(),
            reason: error.to_string(),
        })?;
        Ok(Caring { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Caring {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn care(client: &Client, checkpoints: &Checkpoints, seconds: (i64, i64), stopped: &Receiver<()>) {
    let (keep_seconds, every_seconds) = seconds;
    while stopped.recv_timeout(CHECKPOINT_PAUSE) == Err(RecvTimeoutError::Timeout) {
        let now = Clock::system().now();
        let look = || -> Result<(), CopyError> {
            // The first one is taken by whoever ships, who cannot begin without.
            let Some(newest) = checkpoints.newest()? else { return Ok(()) };
            if now.micros_since(newest) < every_seconds * 1_000_000 {
                return Ok(());
            }
            // First what nobody needs goes: the next one may have no room otherwise.
            checkpoints.prune(now, now.plus_seconds(-keep_seconds))?;
            take(client, checkpoints, now, &mut |_| {}).map(drop)
        };
        if let Err(error) = look() {
            output::progress(&format!("{error}; the log is shipped on, a checkpoint is tried again"));
        }
    }
}
