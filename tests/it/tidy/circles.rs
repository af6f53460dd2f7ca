//! Circles: files that need one another, folders that do, packages that do. What lies in a circle can only be understood
//! as a whole.
//!
//! A folder is a module with all that lies below it. Files are told with `.rs`, folders and packages without.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::checks::{dependencies, manifests, parse};
use super::modules::{Arrow, Modules};
use super::source::Source;

/// The largest set of which each needs each, and one way around.
pub struct Circle {
    pub members: Vec<String>,
    pub way: String,
}

impl Circle {
    /// Its members, which nothing else has.
    pub fn name(&self) -> String {
        self.members.join(" ")
    }
}

/// Every circle of the product's code.
pub fn circles(files: &[Source]) -> Vec<String> {
    all(files).iter().map(|circle| format!("{} need one another:\n{}", circle.name(), circle.way)).collect()
}

/// The circles that are not among the known ones, and the known ones that are none any more, or other ones.
pub fn all_but(files: &[Source], known: &[&str]) -> Vec<String> {
    let found: BTreeMap<String, String> = all(files).into_iter().map(|circle| (circle.name(), circle.way)).collect();
    let opened = known.iter().filter(|name| !found.contains_key(**name));
    let fresh = found.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    opened
        .map(|name| format!("KNOWN_CIRCLES in tests/it/tidy/mod.rs: open by now, take it out:\n    {name:?},"))
        .chain(fresh.map(|(name, way)| {
            format!("need one another (a rest of a known circle goes into its place):\n    {name:?},\n{way}")
        }))
        .collect()
}

/// Every circle of the product's code: of packages, of files, of folders.
pub fn all(files: &[Source]) -> Vec<Circle> {
    let by_path: BTreeMap<&str, &Source> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut found = circles_of(&packages(files));
    for root in manifests(files).filter_map(|manifest| root_file(manifest, &by_path)) {
        let modules = Modules::of(&root, &by_path);
        let arrows = modules.arrows();
        found.extend(circles_of(&arrows));
        for folder in folders(&modules) {
            let arrows = between_the_parts(&modules, &folder, &arrows);
            let circles = circles_of(&arrows).into_iter();
            found.extend(
                circles.filter(|circle| !circle.members.iter().all(|member| by_path.contains_key(member.as_str()))),
            );
        }
    }
    found
}

fn root_file(manifest: &Source, files: &BTreeMap<&str, &Source>) -> Option<String> {
    let directory = manifest.path.strip_suffix("Cargo.toml")?;
    let table = parse(manifest);
    let library = table.get("lib").and_then(|library| library.get("path")?.as_str()).unwrap_or("src/lib.rs");
    let root = format!("{directory}{library}");
    files.contains_key(root.as_str()).then_some(root)
}

/// Which package is built with which.
fn packages(files: &[Source]) -> Vec<Arrow> {
    let name = |manifest: &Source| Some(parse(manifest).get("package")?.get("name")?.as_str()?.to_owned());
    let names: BTreeSet<String> = manifests(files).filter_map(name).collect();
    let mut arrows = Vec::new();
    for manifest in manifests(files) {
        let Some(from) = name(manifest) else { continue };
        for (to, _) in dependencies(manifest).into_iter().filter(|(to, _)| names.contains(to)) {
            arrows.push(Arrow { from: from.clone(), to, place: manifest.path.clone() });
        }
    }
    arrows
}

/// The modules that have modules below them.
fn folders(modules: &Modules) -> BTreeSet<Vec<String>> {
    modules.files().values().filter_map(|path| path.split_last()).map(|(_, parent)| parent.to_vec()).collect()
}

/// The arrows between the modules right below a folder, each with all that lies below it.
fn between_the_parts(modules: &Modules, folder: &[String], arrows: &[Arrow]) -> Vec<Arrow> {
    let files = modules.files();
    let part = |file: &str| {
        let path = *files.get(file)?;
        let name = path.strip_prefix(folder)?.first()?;
        let whole: Vec<String> = folder.iter().chain([name]).cloned().collect();
        let alone = files.values().filter(|path| path.starts_with(&whole)).count() == 1;
        Some(if alone { file.to_owned() } else { modules.folder(&whole) })
    };
    let lifted = arrows.iter().filter_map(|arrow| {
        let (from, to) = (part(&arrow.from)?, part(&arrow.to)?);
        (from != to).then(|| Arrow { from, to, place: arrow.place.clone() })
    });
    lifted.collect()
}

/// The sets whose members all lead to one another.
fn circles_of(arrows: &[Arrow]) -> Vec<Circle> {
    let names: BTreeSet<&str> = arrows.iter().map(|arrow| arrow.from.as_str()).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        names.iter().map(|name| (*name, reached_from(name, arrows))).collect();
    let mut found: Vec<Circle> = Vec::new();
    for (name, reach) in &reached {
        let members: Vec<&str> =
            reach.iter().copied().filter(|other| reached.get(other).is_some_and(|back| back.contains(name))).collect();
        if members.first() == Some(name) {
            found.push(Circle {
                way: way_around(name, arrows),
                members: members.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    found
}

fn reached_from<'a>(name: &str, arrows: &'a [Arrow]) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = VecDeque::from([name]);
    while let Some(here) = open.pop_front() {
        for arrow in arrows.iter().filter(|arrow| arrow.from == here) {
            if reached.insert(arrow.to.as_str()) {
                open.push_back(&arrow.to);
            }
        }
    }
    reached
}

/// The shortest way from `start` back to it, a line for each arrow.
fn way_around(start: &str, arrows: &[Arrow]) -> String {
    let mut ways: BTreeMap<&str, String> = BTreeMap::from([(start, String::new())]);
    let mut open = VecDeque::from([start]);
    while let Some(here) = open.pop_front() {
        for arrow in arrows.iter().filter(|arrow| arrow.from == here) {
            let way = format!("{}    {arrow}\n", ways.get(here).map_or("", String::as_str));
            if arrow.to == start {
                return way;
            }
            if !ways.contains_key(arrow.to.as_str()) {
                ways.insert(&arrow.to, way);
                open.push_back(&arrow.to);
            }
        }
    }
    String::new()
}
