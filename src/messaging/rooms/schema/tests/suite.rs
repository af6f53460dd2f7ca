//! The official test suite of JSON Schema: all of it that is not about fetching, older drafts and formats.
//!
//! What it has at other addresses is put into the schema before it is read, as the standard says that schemas are
//! bundled, since nothing is fetched.

use std::collections::BTreeMap;
use std::fs;

use quintet_platform::json::to_compact;

use super::*;

/// Files of the suite that ask for what this is not: formats that are asserted, what an older draft says, and what
/// stood for `dependentRequired` then. Of the first two, what they say of annotations is tried elsewhere.
const NOT_READ: [&str; 3] =
    ["optional/format", "optional/cross-draft.json", "optional/dependencies-compatibility.json"];

/// Why schemas are refused, and how many: dialects of their own, the schema of schemas, and what is found at another
/// address than it has.
const REFUSED: [(&str, usize); 3] = [
    ("/$schema of the schema: must be", 2),
    ("leads to \"https://json-schema.org/", 2),
    ("leads to \"http://localhost:1234/", 2),
];

const HOST: &str = "http://localhost:1234/";

/// All JSON files of a directory and those below it, by their path from `top`.
fn files(top: &Path, below: &str, found: &mut BTreeMap<String, Json>) {
    for entry in fs::read_dir(top.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files(top, &format!("{name}/"), found);
        } else {
            found.insert(name, json(&fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

/// A schema, with what it refers to at other addresses put into it for as long as something is missing.
fn compiled(schema: &Json, elsewhere: &BTreeMap<String, Json>) -> Result<Schema, SchemaFault> {
    let mut schema = schema.clone();
    loop {
        let fault = match Schema::compile(&to_compact(&schema)) {
            Ok(compiled) => return Ok(compiled),
            Err(fault) => fault,
        };
        let text = fault.to_string();
        let missing = text.split_once(HOST).and_then(|(_, rest)| Some(rest.split_once('"')?.0));
        let Some((missing, Json::Object(members))) = missing.and_then(|name| Some((name, elsewhere.get(name)?))) else {
            return Err(fault);
        };
        // Where it was found is what it is called, if it does not say.
        let mut bundled = members.clone();
        if bundled.iter().all(|(name, _)| name != "$id") {
            bundled.push(("$id".to_owned(), Json::from(format!("{HOST}{missing}"))));
        }
        let place = format!("bundled {missing}");
        let Json::Object(members) = &mut schema else { return Err(fault) };
        match members.iter_mut().find(|(name, _)| name == "$defs") {
            Some((_, Json::Object(defs))) if defs.iter().all(|(name, _)| *name != place) => {
                defs.push((place, Json::Object(bundled)));
            }
            Some(_) => return Err(fault),
            None => members.push(("$defs".to_owned(), Json::object([(place, Json::Object(bundled))]))),
        }
    }
}

#[test]
fn the_official_suite() {
    let top = fetched().join("suite");
    let (mut tests, mut elsewhere) = (BTreeMap::new(), BTreeMap::new());
    files(&top.join("tests/draft2020-12"), "", &mut tests);
    files(&top.join("remotes"), "", &mut elsewhere);
    let (mut tried, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for (file, groups) in tests.iter().filter(|(file, _)| !NOT_READ.iter().any(|not| file.starts_with(not))) {
        let Json::Array(groups) = groups else { panic!("{file}") };
        for group in groups {
            let title = format!("{file}: {}", group.get("description").unwrap().as_str().unwrap());
            let schema = match compiled(group.get("schema").unwrap(), &elsewhere) {
                Ok(schema) => schema,
                Err(fault) => {
                    refused.push(format!("{title}: {fault}"));
                    continue;
                }
            };
            let Some(Json::Array(cases)) = group.get("tests") else { panic!("{title}") };
            for case in cases {
                let fits = schema.check(case.get("data").unwrap());
                tried += 1;
                if Some(&Json::Bool(fits.is_ok())) != case.get("valid") {
                    wrong.push(format!("{title}: {}: {fits:?}", to_compact(case)));
                }
            }
        }
    }
    println!("{tried} cases of the official suite, {} schemas refused", refused.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let expected = REFUSED.iter().map(|(why, count)| (*why, *count));
    let found = REFUSED.iter().map(|(why, _)| (*why, refused.iter().filter(|told| told.contains(why)).count()));
    assert!(expected.eq(found) && refused.len() == 6, "{}", refused.join("\n"));
    assert!(tried > 1_200, "{tried}");
}
