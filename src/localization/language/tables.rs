//! The tables of `assets/locales/`, which are part of the binary, and what they say once they are read.
//!
//! `packaging/locale-tables.sh` makes them. Nothing here fails: a row that cannot be read is counted in
//! [`Tables::faults`], and the process checks see it.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use super::alias::Rule;
use super::category::Category;
use super::plural_rule::{Condition, PluralRules};

/// A table as it lies in `assets/locales/`: lines with its origin and digest, then the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

macro_rules! source {
    ($name:literal) => {
        Source { name: $name, text: include_str!(concat!("../../../assets/locales/", $name)) }
    };
}

pub(super) const SUBTAGS: Source = source!("subtags.tsv");
pub(super) const TAGS: Source = source!("tags.tsv");
pub(super) const ALIASES: Source = source!("aliases.tsv");
pub(super) const LIKELY: Source = source!("likely.tsv");
pub(super) const SCRIPTS: Source = source!("scripts.tsv");
pub(super) const PLURALS: Source = source!("plurals.tsv");
pub(super) const LOCALES: Source = source!("locales.tsv");
pub(super) const KEYWORDS: Source = source!("keywords.tsv");

/// Every table.
pub(super) const SOURCES: [Source; 8] = [SUBTAGS, TAGS, ALIASES, LIKELY, SCRIPTS, PLURALS, LOCALES, KEYWORDS];

impl Source {
    /// The lines before the rows, without their `# `.
    pub(super) fn header(self) -> impl Iterator<Item = &'static str> {
        self.text.lines().map_while(|line| line.strip_prefix("# "))
    }

    /// What the header says under a name: `# sha256: …`.
    pub(super) fn said(self, name: &str) -> Option<&'static str> {
        self.header().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Everything after the header, which its digest is about.
    pub(super) fn body(self) -> &'static str {
        let mut rest = self.text;
        while rest.starts_with("# ") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        }
        rest
    }

    /// The rows, each with exactly as many columns as asked for; `None` in the place of one that has not.
    fn rows<const COLUMNS: usize>(self) -> impl Iterator<Item = Option<[&'static str; COLUMNS]>> {
        self.body().lines().map(|line| {
            let mut columns = [""; COLUMNS];
            let mut cells = line.split('\t');
            for column in &mut columns {
                *column = cells.next()?;
            }
            cells.next().is_none().then_some(columns)
        })
    }
}

/// What kind of thing a registered subtag stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One language, or a macrolanguage, or anything that is no language.
    Plain,
    /// A group of languages.
    Collection,
    /// `und`, `mul`, `mis` or `zxx`.
    Special,
    /// Left to agreement between those who use it.
    PrivateUse,
}

/// A row of the registry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subtag {
    pub(super) scope: Scope,
    pub(super) deprecated: bool,
    /// Only read of extended languages; CLDR's aliases cover the rest (which a test sees to).
    pub(super) preferred: &'static str,
    /// The script that a language is written in without saying so; empty without one.
    pub(super) suppressed_script: &'static str,
    /// The languages that an extended language may follow.
    pub(super) prefixes: &'static str,
}

/// A registered whole tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeTag {
    pub(super) grandfathered: bool,
    pub(super) deprecated: bool,
    /// Empty without one.
    pub(super) preferred: &'static str,
}

/// A locale of CLDR.
#[derive(Clone, Copy, Debug)]
pub(super) struct CldrLocale {
    pub(super) tag: &'static str,
    pub(super) modern: bool,
    /// `ltr`, `rtl` or `ttb`, as CLDR lays the locale out; the check of what the scripts say.
    pub(super) direction: &'static str,
}

/// CLDR's samples for a category: the kind of number, the locale of the rules, the category, the samples.
pub(super) type Samples = (PluralKind, &'static str, Category, &'static str);

/// What a number is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PluralKind {
    Cardinal,
    Ordinal,
}

type Map<V> = HashMap<&'static str, V>;

/// Everything the tables say; all keys are in lower case.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) languages: Map<Subtag>,
    pub(super) extended_languages: Map<Subtag>,
    pub(super) scripts: Map<Subtag>,
    pub(super) regions: Map<Subtag>,
    pub(super) variants: Map<Subtag>,
    pub(super) whole_tags: Map<WholeTag>,
    /// Rules whose first subtag is a language, by that language; those for any language under `und`.
    pub(super) language_aliases: Map<Vec<Rule>>,
    pub(super) script_aliases: Map<&'static str>,
    /// Several replacements are divided by spaces.
    pub(super) region_aliases: Map<&'static str>,
    pub(super) variant_aliases: Map<&'static str>,
    pub(super) subdivision_aliases: Map<&'static str>,
    /// Replacements for whole tags that are not registered with one (`i-default`).
    pub(super) whole_tag_aliases: Map<&'static str>,
    pub(super) likely: Map<&'static str>,
    pub(super) right_to_left_scripts: BTreeSet<&'static str>,
    pub(super) cardinals: Map<PluralRules>,
    pub(super) ordinals: Map<PluralRules>,
    pub(super) samples: Vec<Samples>,
    pub(super) locales: Vec<CldrLocale>,
    pub(super) keyword_aliases: HashMap<(&'static str, &'static str), &'static str>,
    /// How many rows could not be read.
    pub(super) faults: usize,
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::read);

/// The tables, read when they are first asked for.
pub(super) fn tables() -> &'static Tables {
    &TABLES
}

impl Tables {
    fn read() -> Self {
        let mut tables = Self::default();
        tables.each(SUBTAGS, Self::subtag);
        tables.each(TAGS, Self::whole_tag);
        tables.each(ALIASES, Self::alias);
        tables.each(LIKELY, |tables, [tag, likely]| tables.likely.insert(tag, likely).is_none());
        tables.each(SCRIPTS, Self::script_direction);
        tables.each(PLURALS, Self::plural);
        tables.each(LOCALES, Self::locale);
        tables.each(KEYWORDS, |tables, [key, from, to]| tables.keyword_aliases.insert((key, from), to).is_none());
        // Rules that say more go first.
        for rules in tables.language_aliases.values_mut() {
            rules.sort_by_key(|rule| std::cmp::Reverse(rule.subtags()));
        }
        tables
    }

    /// Reads every row of a source; the reader says whether it could make something of it.
    fn each<const COLUMNS: usize>(&mut self, source: Source, read: fn(&mut Self, [&'static str; COLUMNS]) -> bool) {
        for row in source.rows::<COLUMNS>() {
            if !row.is_some_and(|row| read(self, row)) {
                self.faults += 1;
            }
        }
    }

    fn subtag(&mut self, row: [&'static str; 7]) -> bool {
        let [kind, subtag, scope, deprecated, preferred, suppressed_script, prefixes] = row;
        let map = match kind {
            "language" => &mut self.languages,
            "extlang" => &mut self.extended_languages,
            "script" => &mut self.scripts,
            "region" => &mut self.regions,
            "variant" => &mut self.variants,
            _ => return false,
        };
        let scope = match scope {
            "" | "macrolanguage" => Scope::Plain,
            "collection" => Scope::Collection,
            "special" => Scope::Special,
            "private-use" => Scope::PrivateUse,
            _ => return false,
        };
        let read = Subtag { scope, deprecated: !deprecated.is_empty(), preferred, suppressed_script, prefixes };
        map.insert(subtag, read).is_none()
    }

    fn whole_tag(&mut self, [kind, tag, deprecated, preferred]: [&'static str; 4]) -> bool {
        let grandfathered = kind == "grandfathered";
        let read = WholeTag { grandfathered, deprecated: !deprecated.is_empty(), preferred };
        (grandfathered || kind == "redundant") && self.whole_tags.insert(tag, read).is_none()
    }

    fn alias(&mut self, [kind, from, to, _]: [&'static str; 4]) -> bool {
        let map = match kind {
            "language" => return self.language_alias(from, to),
            "script" => &mut self.script_aliases,
            "territory" => &mut self.region_aliases,
            "variant" => &mut self.variant_aliases,
            "subdivision" => &mut self.subdivision_aliases,
            _ => return false,
        };
        map.insert(from, to).is_none()
    }

    fn language_alias(&mut self, from: &'static str, to: &'static str) -> bool {
        // A grandfathered tag of an ordinary form (`zh-hakka`) is a rule, too, for what stands behind it.
        let whole = self.whole_tags.get(from).is_some_and(|tag| tag.grandfathered);
        if whole && self.whole_tag_aliases.insert(from, to).is_some() {
            return false;
        }
        // An extended language is replaced by the registry's own word.
        if from.split('-').nth(1).is_some_and(|subtag| self.extended_languages.contains_key(subtag)) {
            return true;
        }
        let Some(rule) = Rule::read(from, to) else { return whole };
        self.language_aliases.entry(from.split('-').next().unwrap_or_default()).or_default().push(rule);
        true
    }

    fn script_direction(&mut self, [script, direction]: [&'static str; 2]) -> bool {
        match direction {
            "rtl" => self.right_to_left_scripts.insert(script),
            "ltr" => true,
            _ => false,
        }
    }

    fn plural(&mut self, [kind, locale, category, rule, samples]: [&'static str; 5]) -> bool {
        let (kind, map) = match kind {
            "cardinal" => (PluralKind::Cardinal, &mut self.cardinals),
            "ordinal" => (PluralKind::Ordinal, &mut self.ordinals),
            _ => return false,
        };
        let Some(category) = Category::from_name(category) else { return false };
        let Some(condition) = Condition::read(rule) else { return false };
        self.samples.push((kind, locale, category, samples));
        map.entry(locale).or_default().add(category, condition)
    }

    fn locale(&mut self, [tag, coverage, direction]: [&'static str; 3]) -> bool {
        self.locales.push(CldrLocale { tag, modern: coverage == "modern", direction });
        matches!(coverage, "" | "basic" | "moderate" | "modern") && matches!(direction, "ltr" | "rtl" | "ttb")
    }
}
