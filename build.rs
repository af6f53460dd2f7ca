//! Tells the binary what it was built from: `BUILD_COMMIT`, `BUILD_RUSTC`, `BUILD_TARGET`, `BUILD_PROFILE`.
//!
//! All four are always set, so the code reads them with `env!`; what cannot be found out (a source archive has no
//! commit) is the word "unknown". No name begins with `QUINTET_`: Cargo passes them on to what it runs, and there
//! such variables are settings. That the binary is static is the business of `storage/build.rs`.

use std::env;
use std::path::Path;
use std::process::Command;

const UNKNOWN: &str = "unknown";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Whatever moves HEAD to another commit writes a line to this file; a path that is missing would make Cargo
    // run this script every time.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = first_line("git", &["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = first_line("git", &["rev-parse", "--short=12", "HEAD"]);
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    tell("BUILD_COMMIT", commit);
    tell("BUILD_RUSTC", first_line(&rustc, &["--version"]));
    tell("BUILD_TARGET", env::var("TARGET").ok());
    tell("BUILD_PROFILE", env::var("PROFILE").ok());
}

fn tell(name: &str, value: Option<String>) {
    println!("cargo::rustc-env={name}={}", value.as_deref().unwrap_or(UNKNOWN));
}

/// The first line a program prints, or nothing if it is missing, fails or prints none.
fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next().unwrap_or_default().trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}
