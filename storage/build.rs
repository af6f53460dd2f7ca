//! Makes every binary that links RocksDB a static one.
//!
//! librocksdb-sys asks the linker for `stdc++` and leaves open which kind. The compiler's own directories hold both
//! kinds, the linker takes the shared one, and a binary that was to be static becomes a dynamic one that crashes at
//! its start. A directory that holds the archive alone, searched before the compiler's own, leaves it no choice.
//! Cargo passes the search path on to whatever depends on this package, tests included.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const ARCHIVE: &str = "libstdc++.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    if let Err(reason) = offer_archive() {
        println!("cargo::error=cannot link the C++ library statically: {reason}");
    }
}

fn offer_archive() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?);
    let archive = find_archive()?;
    link(&archive, &out.join(ARCHIVE)).map_err(|e| format!("{}: {e}", archive.display()))?;
    println!("cargo::rustc-link-search=native={}", out.display());
    Ok(())
}

/// Asks the C++ compiler where its archive lies. A compiler that has none echoes the bare name.
fn find_archive() -> Result<PathBuf, String> {
    let compiler = env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let mut words = compiler.split_whitespace();
    let program = words.next().unwrap_or("g++");
    let output = Command::new(program)
        .args(words)
        .arg(format!("-print-file-name={ARCHIVE}"))
        .output()
        .map_err(|e| format!("{compiler}: {e}"))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if path.is_absolute() { Ok(path) } else { Err(format!("{compiler} has no {ARCHIVE}")) }
}

fn link(archive: &Path, place: &Path) -> io::Result<()> {
    match fs::remove_file(place) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    std::os::unix::fs::symlink(archive, place)
}
