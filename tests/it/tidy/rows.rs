//! Stored bytes of every table in every version its rows have had: today's code must read them, and as what they were.
//!
//! `rows/` has a file for each package, of real rows that tests left behind. `make rows` adds those of new tables and
//! versions and writes down anew what all of them are read as; what was stored is never changed by it. CONTRIBUTING.md,
//! "Stored bytes", says when.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use quintet::app::TABLES;
use quintet_rows::{PLACE, hexadecimal, shape_of};
use quintet_storage::{Registry, TableSpec};

use super::checks::ROOM_TAGS;

/// How many rows of different shapes are kept of a table in a version.
const SHAPES_MAX: usize = 6;

const TITLE: &str =
    "# Rows as they are stored, and what they are read as. `make rows` adds to it; what is stored stays.\n";

/// A row as it was stored once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fixture {
    key: Vec<u8>,
    row: Vec<u8>,
    /// What it is.
    is: String,
}

impl Fixture {
    fn tag(&self) -> u16 {
        self.key.first_chunk::<2>().map_or(0, |tag| u16::from_be_bytes(*tag))
    }

    fn version(&self) -> u8 {
        self.row.first().copied().unwrap_or_default()
    }

    /// What it is read as today, or why it is not.
    fn read(&self, table: &TableSpec) -> Result<String, String> {
        let decoded = table.decode(&self.key, &self.row).map_err(|failure| failure.to_string())?;
        if self.version() == table.version && decoded.row != self.row {
            return Err(format!("is written again as {}", hexadecimal(&decoded.row)));
        }
        Ok(decoded.text)
    }
}

fn parse(text: &str) -> Vec<Fixture> {
    let field = |entry: &str, name: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in:\n{entry}")).to_owned()
    };
    let bytes = |text: String| -> Vec<u8> {
        let digits = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        (0..text.len()).step_by(2).map(|at| digits(at).unwrap_or_else(|| panic!("no hexadecimal: {text}"))).collect()
    };
    let entries = text.split("\n\n").filter(|entry| !entry.trim().is_empty() && !entry.starts_with('#'));
    entries
        .map(|entry| Fixture {
            key: bytes(field(entry, "key")),
            row: bytes(field(entry, "row")),
            is: field(entry, "is"),
        })
        .collect()
}

fn print(fixtures: &[Fixture], tables: &BTreeMap<u16, TableSpec>) -> String {
    let mut text = TITLE.to_owned();
    for fixture in fixtures {
        let name = tables.get(&fixture.tag()).map_or("(no table)", |table| table.name);
        let Fixture { key, row, is } = fixture;
        let (version, key, row) = (fixture.version(), hexadecimal(key), hexadecimal(row));
        writeln!(text, "\ntable {name}, version {version}\nkey {key}\nrow {row}\nis {is}").unwrap();
    }
    text
}

/// Rows that tests have just left behind, the shortest first.
fn candidates(place: &Path) -> Vec<Fixture> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        let entries = text.lines().filter_map(|line| line.split_once(' '));
        found.extend(entries.flat_map(|(key, row)| parse(&format!("key {key}\nrow {row}\nis "))));
    }
    found.sort_by_key(|fixture| {
        (fixture.tag(), fixture.version(), fixture.row.len(), fixture.key.clone(), fixture.row.clone())
    });
    found
}

/// Takes of the candidates those whose shape a table and version lacks.
fn add(fixtures: &mut Vec<Fixture>, candidates: Vec<Fixture>, tables: &BTreeMap<u16, TableSpec>) {
    let mut shapes: BTreeMap<(u16, u8), Vec<String>> = BTreeMap::new();
    for fixture in fixtures.iter() {
        shapes.entry((fixture.tag(), fixture.version())).or_default().push(shape_of(&fixture.is));
    }
    for mut candidate in candidates {
        let Some(table) = tables.get(&candidate.tag()) else { continue };
        let Ok(is) = candidate.read(table) else { continue };
        let known = shapes.entry((candidate.tag(), candidate.version())).or_default();
        if known.len() < SHAPES_MAX && !known.contains(&shape_of(&is)) {
            known.push(shape_of(&is));
            candidate.is = is;
            fixtures.push(candidate);
        }
    }
    fixtures.sort_by_key(|fixture| (fixture.tag(), fixture.version()));
}

/// What is wrong with the fixtures.
fn complaints(fixtures: &[Fixture], tables: &BTreeMap<u16, TableSpec>) -> Vec<String> {
    let mut complaints = Vec::new();
    for fixture in fixtures {
        let Some(table) = tables.get(&fixture.tag()) else {
            complaints.push(format!(
                "no table has tag {:#06x} any more: its rows go from here, its tag to the retired ones",
                fixture.tag()
            ));
            continue;
        };
        let what = format!("{}, version {}, row {}", table.name, fixture.version(), hexadecimal(&fixture.row));
        match fixture.read(table) {
            Ok(is) if is == fixture.is => {}
            Ok(is) => complaints.push(format!("{what}\n    was {}\n    is  {is}", fixture.is)),
            Err(reason) => complaints.push(format!("{what}\n    {reason}")),
        }
    }
    for table in tables.values() {
        for version in 1..=table.version {
            if !fixtures.iter().any(|fixture| (fixture.tag(), fixture.version()) == (table.tag, version)) {
                complaints.push(format!("{}, version {version}: no stored row is kept of it; make rows", table.name));
            }
        }
    }
    complaints
}

fn by_tag(groups: &[&[TableSpec]]) -> BTreeMap<u16, TableSpec> {
    Registry::new(groups).unwrap().tables().map(|table| (table.tag, table)).collect()
}

/// The file of each package, and the block of its tags.
fn files() -> impl Iterator<Item = (PathBuf, u16)> {
    let top = std::env::var("CARGO_MANIFEST_DIR").expect("run by cargo");
    ROOM_TAGS.iter().map(move |(directory, block)| {
        let package = directory.rsplit('/').next().unwrap_or(directory);
        (Path::new(&top).join(format!("tests/it/tidy/rows/{package}.txt")), *block)
    })
}

#[test]
fn rows_that_were_stored_are_read_as_what_they_are() {
    let tables = by_tag(TABLES);
    let read = |(path, _): (PathBuf, u16)| parse(&fs::read_to_string(path).unwrap_or_default());
    let mut fixtures: Vec<Fixture> = files().flat_map(read).collect();
    if let Some(place) = std::env::var_os(PLACE) {
        for fixture in &mut fixtures {
            // What is not read any more is told below.
            if let Some(Ok(is)) = tables.get(&fixture.tag()).map(|table| fixture.read(table)) {
                fixture.is = is;
            }
        }
        add(&mut fixtures, candidates(Path::new(&place)), &tables);
        for (path, block) in files() {
            let own: Vec<Fixture> = fixtures.iter().filter(|one| one.tag() & 0xff00 == block).cloned().collect();
            if !own.is_empty() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, print(&own, &tables)).unwrap();
            }
        }
    }
    let complaints = complaints(&fixtures, &tables);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Tables as they might have been and as they might become.
mod shapes {
    use quintet_storage::bincode::{Decode, Encode};
    use quintet_storage::{Failure, Family, Row, Table, decode_plain};

    #[derive(Clone, Debug, Encode, Decode)]
    pub struct Price {
        pub amount: u32,
        pub fee: u32,
    }
    impl Row for Price {}

    /// The fields have changed places.
    #[derive(Clone, Debug, Encode, Decode)]
    pub struct Swapped {
        pub fee: u32,
        pub amount: u32,
    }
    impl Row for Swapped {}

    /// A field more, and a version for it.
    #[derive(Clone, Debug, Encode, Decode)]
    pub struct Grown {
        pub amount: u32,
        pub fee: u32,
        pub tax: u32,
    }
    impl Row for Grown {
        const VERSION: u8 = 2;

        fn migrate(version: u8, body: &[u8]) -> Result<Self, Failure> {
            let Price { amount, fee } = match version {
                1 => decode_plain(body)?,
                _ => return Err(Failure::Damaged("an unknown version".to_owned())),
            };
            Ok(Grown { amount, fee, tax: 0 })
        }
    }

    /// The field more without a version.
    #[derive(Clone, Debug, Encode, Decode)]
    pub struct Forgotten {
        pub amount: u32,
        pub fee: u32,
        pub tax: u32,
    }
    impl Row for Forgotten {}

    /// A field in another width: the same bytes for small numbers, and others when it is written again.
    #[derive(Clone, Debug, Encode, Decode)]
    pub struct Widened {
        pub amount: u32,
        pub fee: String,
    }
    impl Row for Widened {}

    const FAMILY: Family = Family::named("test");
    pub const PRICES: Table<u16, Price> = Table::new(0x0F51, FAMILY, "prices");
    pub const SWAPPED: Table<u16, Swapped> = Table::new(0x0F51, FAMILY, "prices");
    pub const GROWN: Table<u16, Grown> = Table::new(0x0F51, FAMILY, "prices");
    pub const FORGOTTEN: Table<u16, Forgotten> = Table::new(0x0F51, FAMILY, "prices");
    pub const WIDENED: Table<u16, Widened> = Table::new(0x0F51, FAMILY, "prices");
    pub const BY_TEXT: Table<String, Price> = Table::new(0x0F51, FAMILY, "prices");
    pub const OTHERS: Table<u16, Price> = Table::new(0x0F52, FAMILY, "others");
}

#[test]
fn a_change_of_what_is_stored_is_seen() {
    let stored = "table prices, version 1\nkey 0f510007\nrow 010305\nis 7: Price { amount: 3, fee: 5 }\n";
    let told = |text: &str, tables: &[TableSpec]| {
        let mut tables = by_tag(&[tables]);
        // Storage's own, which is in every registry.
        tables.retain(|tag, _| *tag >= 0x0F00);
        complaints(&parse(text), &tables).join("\n")
    };
    let of = |tables: &[TableSpec]| told(stored, tables);
    assert_eq!(of(&[shapes::PRICES.spec()]), "");
    for (table, complaint) in [
        (shapes::SWAPPED.spec(), "is  7: Swapped { fee: 3, amount: 5 }"),
        (shapes::FORGOTTEN.spec(), "does not decode"),
        (shapes::WIDENED.spec(), "does not decode"),
        (shapes::BY_TEXT.spec(), "a key is shorter than its type or malformed"),
        (shapes::OTHERS.spec(), "no table has tag 0x0f51 any more"),
    ] {
        assert!(of(&[table]).contains(complaint), "expected {complaint:?}, got:\n{}", of(&[table]));
    }
    // Another version needs rows of its own, and keeps those of the one before.
    let grown = stored.replace("Price { amount: 3, fee: 5 }", "Grown { amount: 3, fee: 5, tax: 0 }");
    assert_eq!(told(&grown, &[shapes::GROWN.spec()]), "prices, version 2: no stored row is kept of it; make rows");
    let newer = "\nkey 0f510008\nrow 02030509\nis 8: Grown { amount: 3, fee: 5, tax: 9 }\n";
    assert_eq!(told(&format!("{grown}{newer}"), &[shapes::GROWN.spec()]), "");
    assert_eq!(
        told(newer, &[shapes::GROWN.spec(), shapes::OTHERS.spec()]),
        "prices, version 1: no stored row is kept of it; make rows\nothers, version 1: no stored row is kept of it; make rows"
    );
    // A number that bincode would have written in fewer bytes is not what today's code writes.
    let long = stored.replace("row 010305", "row 01fb030005");
    assert!(told(&long, &[shapes::PRICES.spec()]).contains("is written again as 010305"));
}

#[test]
fn what_tests_leave_behind_is_added_by_its_shape() {
    let tables = by_tag(&[&[shapes::PRICES.spec(), shapes::OTHERS.spec()]]);
    let row = |key: &str, row: &str| parse(&format!("key {key}\nrow {row}\nis \n"));
    let mut fixtures = Vec::new();
    let candidates =
        [row("0f510007", "010305"), row("0f510009", "010104"), row("0f520001", "010101"), row("0f530001", "01")];
    add(&mut fixtures, candidates.concat(), &tables);
    let told = print(&fixtures, &tables);
    assert_eq!(
        told,
        format!(
            "{TITLE}\ntable prices, version 1\nkey 0f510007\nrow 010305\nis 7: Price {{ amount: 3, fee: 5 }}\n\
             \ntable others, version 1\nkey 0f520001\nrow 010101\nis 1: Price {{ amount: 1, fee: 1 }}\n"
        )
    );
    assert_eq!(parse(&told), fixtures);
    for (text, shape) in [
        ("7: A { b: 12, c: [1, 2, 3], d: \"x\\\"1\" }", "0: A { b: 0, c: [0], d: \" }"),
        ("(0190-af, -3): E(None)", "(0, -0): E(None)"),
        ("1: S([\"a\", \"b\"], Some(T2))", "0: S([\"], Some(0))"),
    ] {
        assert_eq!(shape_of(text), shape);
    }
}
