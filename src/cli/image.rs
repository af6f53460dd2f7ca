//! `quintet image`: the images that containers are made of.

use std::fs::File;
use std::path::PathBuf;

use clap::Subcommand;
use quintet_runtime::{Refusal, Runner, RunnerError};

use super::CliError;
use super::output::{self, OutputArguments};
use super::runner::DEFAULT_SOCKET;

/// Import, list and remove container images
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
        /// Which of several images in the file, by the name the file gives it
        #[arg(long, value_name = "NAME")]
        select: Option<String>,
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
    },
}

/// Where the runner is.
#[derive(Debug, clap::Args)]
struct RunnerPlace {
    /// The runner's socket
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

impl RunnerPlace {
    fn runner(&self) -> Runner {
        Runner::new(&self.socket)
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Import { file, name, select, place, output } => {
            let opened = File::open(file).map_err(|error| CliError::failed(format!("{}: {error}", file.display())))?;
            let image = place.runner().import(opened.into(), name, select.as_deref()).map_err(told)?;
            if output.json {
                return output::say_json(&image);
            }
            output::say(&format!("{}  ({} in {} layers)", image.digest, output::size(image.size_bytes), image.layers));
        }
        Command::List { place, output } => {
            let items = place.runner().images().map_err(told)?;
            if output.json {
                return output::say_json(&serde_json::json!({ "items": items }));
            }
            let row = |image: &quintet_runtime::ImageInfo| {
                vec![image.names.join(", "), output::size(image.size_bytes), image.digest.to_string()]
            };
            output::say_table(&["names", "size", "digest"], &items.iter().map(row).collect::<Vec<_>>());
        }
        Command::Remove { reference, place } => place.runner().remove_image(reference).map_err(told)?,
    }
    Ok(())
}

fn told(error: RunnerError) -> CliError {
    match &error {
        RunnerError::Unavailable { .. } => {
            CliError::failed(error).hint("start `quintet runner` as root, or name its socket with --socket")
        }
        RunnerError::Refused(Refusal::ImageInUse) => CliError::failed(error).hint("wait for them to end, or kill them"),
        _ => CliError::failed(output::plain(&error.to_string())),
    }
}
