//! Which appliance a command is about: `--data`, else `--config`, else the environment, else the default file.

use std::path::{Path, PathBuf};

use super::CliError;
use crate::admin::client::Client;
use crate::config::{Config, Sources};
use crate::root_key::KeyPlace;

/// Where the appliance's data and configuration lie.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArguments {
    /// The configuration file [default: /etc/quintet/quintet.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data directory [default: data_dir of the configuration, /var/lib/quintet]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl PlaceArguments {
    /// The configuration in force.
    pub fn load(&self) -> Result<Config, CliError> {
        Ok(Config::load(&Sources::of_process(self.config.clone(), self.data.clone()))?)
    }

    /// The data directory. With `--data` no configuration is needed, so a mistake in it does not stand in the way of
    /// asking a running appliance, or of looking at a stopped one.
    pub fn data_dir(&self) -> Result<PathBuf, CliError> {
        match (&self.data, &self.config) {
            (Some(data), None) => Ok(data.clone()),
            _ => Ok(self.load()?.data_dir),
        }
    }

    /// A client for the appliance that runs there.
    pub fn client(&self) -> Result<Client, CliError> {
        Ok(Client::new(&self.data_dir()?))
    }

    /// Where the root key of a directory lies: as the configuration says, or in the directory if that says nothing
    /// of use.
    pub fn root_key(&self, data_dir: &Path) -> KeyPlace {
        self.load().map_or_else(|_| KeyPlace::inside(data_dir), |config| KeyPlace::of(&config))
    }
}
