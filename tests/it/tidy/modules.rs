//! How the files of a package hang together: the tree of its modules, and to which file a path in its code leads.
//!
//! Paths are followed as the compiler does, as far as arrows between files need it: through `use`, groups, renames and
//! re-exports, to the file that defines what they name. What does not lie in the package leads nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};

use super::source::{Source, Token, is_word, tokens};

/// The modules of one package; the root is the empty path.
pub struct Modules {
    /// The folder of the root file, with a slash at its end.
    top: String,
    modules: BTreeMap<Vec<String>, Module>,
}

/// A module: a file, or a `mod name { … }` inside of one.
#[derive(Default)]
struct Module {
    file: String,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    imports: Vec<Import>,
    paths: Vec<Place>,
}

/// A path in the code, as it is written.
#[derive(Clone)]
struct Place {
    segments: Vec<String>,
    line: usize,
}

/// One leaf of a `use`.
struct Import {
    place: Place,
    /// What it is called here; nothing for `_`.
    name: Option<String>,
    glob: bool,
    public: bool,
}

/// One file, folder or package needs another.
pub struct Arrow {
    pub from: String,
    pub to: String,
    /// The first place that says so, and its words.
    pub place: String,
}

impl Display for Arrow {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} → {} ({})", self.from, self.to, self.place)
    }
}

/// Where a path ends.
enum End {
    Module(Vec<String>),
    ItemOf(Vec<String>),
    Outside,
}

impl Modules {
    /// The modules below the root file of a package, tests left out.
    pub fn of(root: &str, files: &BTreeMap<&str, &Source>) -> Modules {
        let top = files.get(root).map(|root| root.children()).unwrap_or_default();
        let mut modules = Modules { top, modules: BTreeMap::new() };
        modules.read(root, &[], files);
        modules
    }

    /// Where a module and all below it lie.
    pub fn folder(&self, module: &[String]) -> String {
        format!("{}{}", self.top, module.join("/"))
    }

    /// The module that each file is.
    pub fn files(&self) -> BTreeMap<&str, &[String]> {
        let mut files: BTreeMap<&str, &[String]> = BTreeMap::new();
        for (path, module) in &self.modules {
            files.entry(&module.file).or_insert(path);
        }
        files
    }

    /// Every arrow from a file to another one, once.
    pub fn arrows(&self) -> Vec<Arrow> {
        let mut arrows: BTreeMap<(String, String), Arrow> = BTreeMap::new();
        for (path, module) in &self.modules {
            let imports =
                module.imports.iter().filter(|import| !self.passes_on(path, import)).map(|import| &import.place);
            for place in imports.chain(&module.paths) {
                let End::ItemOf(target) = self.end(path, &place.segments) else { continue };
                let Some(to) = self.modules.get(&target).map(|target| target.file.clone()) else { continue };
                if to != module.file {
                    let said = format!("{}:{}: {}", module.file, place.line, place.segments.join("::"));
                    let key = (module.file.clone(), to.clone());
                    arrows.entry(key).or_insert(Arrow { from: module.file.clone(), to, place: said });
                }
            }
        }
        arrows.into_values().collect()
    }

    /// A module that re-exports what lies below it does not need it.
    fn passes_on(&self, path: &[String], import: &Import) -> bool {
        let below = |end: &[String]| end.len() > path.len() && end.starts_with(path);
        import.public && matches!(self.end(path, &import.place.segments), End::ItemOf(end) if below(&end))
    }

    fn end(&self, from: &[String], segments: &[String]) -> End {
        self.follow(from, segments, &mut BTreeSet::new())
    }

    fn follow(&self, from: &[String], segments: &[String], seen: &mut BTreeSet<(Vec<String>, String)>) -> End {
        let Some((first, rest)) = segments.split_first() else { return End::Module(from.to_vec()) };
        let module = self.modules.get(from);
        match first.as_str() {
            "crate" => self.descend(&[], rest, seen),
            "self" => self.descend(from, rest, seen),
            "super" => match from.split_last() {
                Some((_, parent)) if rest.first().is_some_and(|next| next == "super") => {
                    self.follow(parent, rest, seen)
                }
                Some((_, parent)) => self.descend(parent, rest, seen),
                None => End::Outside,
            },
            name if module.is_some_and(|module| module.knows(name)) => self.descend(from, segments, seen),
            _ => End::Outside,
        }
    }

    /// As [`Modules::follow`], for a path that begins with what lies in `module`.
    fn descend(&self, path: &[String], segments: &[String], seen: &mut BTreeSet<(Vec<String>, String)>) -> End {
        let Some((next, rest)) = segments.split_first() else { return End::Module(path.to_vec()) };
        let Some(module) = self.modules.get(path) else { return End::Outside };
        if next == "*" {
            return End::ItemOf(path.to_vec());
        }
        if module.children.contains(next) {
            return self.descend(&child(path, next), rest, seen);
        }
        if module.items.contains(next) {
            return End::ItemOf(path.to_vec());
        }
        // `pub use uuid;` names itself: what it stands for lies outside.
        if !seen.insert((path.to_vec(), next.clone())) {
            return End::Outside;
        }
        if let Some(import) = module.imports.iter().find(|import| import.name.as_ref() == Some(next)) {
            let onward = [import.place.segments.as_slice(), rest].concat();
            return self.follow(path, &onward, seen);
        }
        for import in module.imports.iter().filter(|import| import.glob) {
            let source = import.place.segments.split_last().map_or(&[][..], |(_, source)| source);
            if let End::Module(source) = self.follow(path, source, seen)
                && self.modules.get(&source).is_some_and(|source| source.knows(next))
                && let end @ (End::Module(_) | End::ItemOf(_)) = self.descend(&source, segments, seen)
            {
                return end;
            }
        }
        End::ItemOf(path.to_vec())
    }

    fn read(&mut self, file: &str, path: &[String], files: &BTreeMap<&str, &Source>) {
        let Some(source) = files.get(file).filter(|source| !source.is_test()) else { return };
        let code = source.product_code();
        let mut reader =
            Reader { tokens: tokens(&code), at: 0, modules: &mut self.modules, file, declared: Vec::new() };
        reader.module(path.to_vec());
        for module in reader.declared {
            let stem = format!("{}{}", source.children(), module.get(path.len()..).unwrap_or_default().join("/"));
            let place = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
            if let Some(place) = place.iter().find(|place| files.contains_key(place.as_str())) {
                self.read(place, &module, files);
            }
        }
    }
}

impl Module {
    fn knows(&self, name: &str) -> bool {
        self.children.contains(name)
            || self.items.contains(name)
            || self.imports.iter().any(|import| import.name.as_deref() == Some(name))
    }
}

fn child(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// What is followed by the name of an item.
const ITEMS: [&str; 10] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules", "macro"];

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    modules: &'a mut BTreeMap<Vec<String>, Module>,
    file: &'a str,
    /// The modules whose code lies in files of their own.
    declared: Vec<Vec<String>>,
}

impl Reader<'_> {
    /// Reads up to the brace that closes the module, or to the end of the file.
    fn module(&mut self, path: Vec<String>) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let mut depth = 0;
        while let Some(word) = self.word(0) {
            match word {
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "{" => depth += 1,
                "mod" if self.word(2) == Some(";") || self.word(2) == Some("{") => {
                    self.submodule(&path, &mut module);
                    continue;
                }
                "use" => {
                    self.import(&mut module);
                    continue;
                }
                word if ITEMS.contains(&word) && !self.follows(&["'", "*"]) => {
                    let name = if self.word(1) == Some("!") { 2 } else { 1 };
                    module.items.extend(self.word(name).filter(|name| is_word(name)).map(str::to_owned));
                }
                word if is_word(word) && self.word(1) == Some("::") && !self.follows(&["::", "."]) => {
                    module.paths.push(self.path());
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        self.modules.insert(path, module);
    }

    /// The word so many tokens ahead.
    fn word(&self, ahead: usize) -> Option<&str> {
        self.tokens.get(self.at + ahead).map(|token| token.text)
    }

    fn follows(&self, words: &[&str]) -> bool {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).is_some_and(|before| words.contains(&before.text))
    }

    fn submodule(&mut self, path: &[String], module: &mut Module) {
        let name = self.word(1).unwrap_or_default().to_owned();
        let whole = child(path, &name);
        module.children.insert(name);
        let inline = self.word(2) == Some("{");
        self.at += 3;
        if inline {
            self.module(whole);
        } else {
            self.declared.push(whole);
        }
    }

    fn path(&mut self) -> Place {
        let line = self.tokens[self.at].line;
        let mut segments = vec![self.tokens[self.at].text.to_owned()];
        self.at += 1;
        while self.word(0) == Some("::") && self.word(1).is_some_and(is_word) {
            segments.push(self.tokens[self.at + 1].text.to_owned());
            self.at += 2;
        }
        Place { segments, line }
    }

    fn import(&mut self, module: &mut Module) {
        let public = self.follows(&["pub", ")"]);
        self.at += 1;
        self.tree(&[], public, module);
    }

    /// One branch of a `use`: a path, and a group, a star, a new name or nothing at its end.
    fn tree(&mut self, prefix: &[String], public: bool, module: &mut Module) {
        let mut segments = prefix.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        loop {
            match self.word(0) {
                Some("::") => self.at += 1,
                Some("{") => {
                    self.at += 1;
                    while self.word(0).is_some_and(|word| word != "}") {
                        self.tree(&segments, public, module);
                        if self.word(0) == Some(",") {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                Some("as") => {
                    let name = self.word(1).filter(|name| *name != "_").map(str::to_owned);
                    self.at += 2;
                    module.imports.push(Import { place: Place { segments, line }, name, glob: false, public });
                    return;
                }
                Some(word) if word == "*" || is_word(word) => {
                    segments.push(word.to_owned());
                    self.at += 1;
                }
                _ => break,
            }
        }
        if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let glob = segments.last().is_some_and(|last| last == "*");
        let name = segments.last().filter(|_| !glob).cloned();
        module.imports.push(Import { place: Place { segments, line }, name, glob, public });
    }
}
