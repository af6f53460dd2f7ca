//! Which appliance a command is about: `--data`, else `--config`, else the environment, else the default file.

use std::path::PathBuf;

use super::CliError;
use crate::admin::client::Client;
use crate::config::{Config, Sources};

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

    /// A client for the appliance that runs there. With `--data` no configuration is needed, so a mistake
    /// in it does not stand in the way of asking a running appliance.
    pub fn client(&self) -> Result<Client, CliError> {
        match (&self.data, &self.config) {
            (Some(data), None) => Ok(Client::new(data)),
            _ => Ok(Client::new(&self.load()?.data_dir)),
        }
    }
}
