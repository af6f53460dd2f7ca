//! PostgreSQL as it is by default, in a directory of its own and on a unix socket.
#![allow(dead_code, reason = "each measurement needs a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::processes::succeed;

/// A running server. It ends when this is dropped.
pub struct Postgres {
    programs: PathBuf,
    directory: tempfile::TempDir,
}

impl Postgres {
    /// Starts one, whose superuser is `bench`, with a database of that name.
    pub fn start() -> Postgres {
        let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path());
        let programs = versions.map(|version| version.join("bin")).filter(|bin| bin.join("initdb").exists()).max();
        let (programs, directory) = (programs.unwrap(), tempfile::tempdir().unwrap());
        if is_root() {
            // It refuses to be run by root.
            succeed(Command::new("chown").arg("postgres").arg(directory.path()));
        }
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        succeed(
            program(&programs, "initdb").args(["--no-instructions", "-A", "trust", "-U", "bench", "-D"]).arg(&data),
        );
        let socket = directory.path().display();
        let options = format!("-c listen_addresses= -c unix_socket_directories={socket} -c shared_buffers=256MB");
        let start = ["-w", "-o", &options, "-D"];
        succeed(program(&programs, "pg_ctl").args(start).arg(&data).arg("-l").arg(&log).arg("start"));
        succeed(program(&programs, "createdb").arg("-h").arg(directory.path()).args(["-U", "bench", "bench"]));
        Postgres { programs, directory }
    }

    /// The directory of its socket.
    pub fn socket(&self) -> &Path {
        self.directory.path()
    }

    /// A program of PostgreSQL's that connects to it.
    pub fn client(&self, name: &str) -> Command {
        let mut client = program(&self.programs, name);
        client.arg("-h").arg(self.socket()).args(["-U", "bench"]);
        client
    }

    /// Its process, whose children do the work.
    pub fn id(&self) -> u32 {
        let text = std::fs::read_to_string(self.directory.path().join("data/postmaster.pid")).unwrap();
        text.lines().next().unwrap().parse().unwrap()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.directory.path().join("data");
        succeed(program(&self.programs, "pg_ctl").args(["-m", "immediate", "-D"]).arg(data).arg("stop"));
    }
}

fn program(programs: &Path, name: &str) -> Command {
    let program = programs.join(name);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    command
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0")
}
