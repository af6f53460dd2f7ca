//! The drawings and verdicts held against Graphviz 16.1, over a corpus of real graphs and mutations of them.
//!
//! `packaging/diagrams-oracle.sh` installs what this needs; without it the tests say so and pass. A fixed part runs with
//! every change; `make diagrams-oracle` runs everything and prints what was reached beside what is aimed at.

mod boxes;
mod corpus;
mod drawings;
mod goals;
mod graphviz;
mod model;
mod paintings;
mod verdicts;

use std::path::PathBuf;

/// Where the reference and the corpus lie, if they are installed.
fn installed() -> Option<PathBuf> {
    let cache = std::env::var_os("BUILD_CACHE").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
        home.map(|home| home.join("quintet"))
    });
    let top = cache?.join("diagrams");
    if top.join("corpus/complete").exists() && graphviz::library(&top).exists() {
        return Some(top);
    }
    eprintln!(
        "\n*** NOT COMPARED WITH GRAPHVIZ: the reference is not installed; run packaging/diagrams-oracle.sh first. ***\n"
    );
    None
}

/// Whether the long run was asked for.
fn everything() -> bool {
    std::env::var("QUINTET_DIAGRAMS_ORACLE").is_ok_and(|value| value == "all")
}
