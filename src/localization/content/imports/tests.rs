//! Uploads compared with what there was.

use quintet_platform::secrets::digest;

use super::compare::{Change, ChangeKind, Comparison, Counts, compare};
use super::manifest::{manifest, manifest_digest};
use crate::content::model::{KeyEntry, Source};
use crate::formats::{self, Kind, Unit};

fn units(json: &str) -> Vec<Unit> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    formats::read(Kind::Json, json.as_bytes(), deadline).unwrap().into_units()
}

fn upload(before: &Comparison, version: u32, json: &str) -> Comparison {
    compare(before.entries.clone(), before.next_number, version, units(json))
}

/// In which version each key's source came up.
fn versions(comparison: &Comparison) -> Vec<(u64, u32)> {
    comparison.entries.iter().map(|entry| (entry.number, entry.source_version)).collect()
}

fn kinds(comparison: &Comparison) -> Vec<(u64, ChangeKind)> {
    comparison.changes.iter().map(|change| (change.number, change.kind)).collect()
}

#[test]
fn an_upload_is_compared_with_what_there_was() {
    let empty = Comparison { entries: Vec::new(), changes: Vec::new(), next_number: 1, active: 0 };
    let first = upload(&empty, 1, r#"{"a":"1","b":"2","k_one":"x","k_other":"y"}"#);
    assert_eq!(kinds(&first), [(1, ChangeKind::Added), (2, ChangeKind::Added), (3, ChangeKind::Added)]);
    assert_eq!((first.active, first.next_number), (3, 4));
    assert_eq!(versions(&first), [(1, 1), (2, 1), (3, 1)]);
    let same = upload(&first, 2, r#"{"b":"2","k_one":"x","k_other":"y","a":"1"}"#);
    assert_eq!(same.changes, [], "the order in the file is nothing to the keys");
    assert_eq!(same.entries, first.entries);
    let second = upload(&same, 3, r#"{"a":"1!","k_one":"x!","k_other":"y","c":"3"}"#);
    let expected =
        [(1, ChangeKind::Changed), (2, ChangeKind::Obsoleted), (3, ChangeKind::Changed), (4, ChangeKind::Added)];
    assert_eq!(kinds(&second), expected);
    // What was made from version 1 of these is outdated.
    assert_eq!(versions(&second), [(1, 3), (2, 1), (3, 3), (4, 3)]);
    // A key that comes back with another text is restored and its translations are outdated; with the same, only that.
    let third = upload(&second, 4, r#"{"a":"1!","b":"2","c":"3"}"#);
    assert_eq!(kinds(&third), [(2, ChangeKind::Restored), (3, ChangeKind::Obsoleted)]);
    assert_eq!(versions(&third), versions(&second));
    let fourth = upload(&third, 5, r#"{"a":"1!","b":"2","c":"3","k":"no plural any more"}"#);
    assert_eq!(kinds(&fourth), [(3, ChangeKind::Restored)]);
    assert_eq!(versions(&fourth), [(1, 3), (2, 1), (3, 5), (4, 3)]);
    let numbers: Vec<u64> = fourth.entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(fourth.counts(), Counts { restored: 1, ..Counts::default() });
}

#[test]
fn a_manifest_has_one_line_a_change() {
    let changes = [
        Change { number: 1, kind: ChangeKind::Added, before: None, after: Some([0xab; 32]) },
        Change { number: 2, kind: ChangeKind::Obsoleted, before: Some([1; 32]), after: None },
    ];
    let (ab, one) = ("ab".repeat(32), "01".repeat(32));
    let expected = format!(
        "00000000-0000-8000-8000-000000000001\tadded\t-\t{ab}\n00000000-0000-8000-8000-000000000002\tobsoleted\t{one}\t-\n"
    );
    assert_eq!(manifest(0x8000, &changes), expected);
    assert_eq!(manifest_digest(0x8000, &changes), digest(expected.as_bytes()));
}

#[test]
fn texts_and_plurals_never_have_one_hash() {
    let entry = |source| KeyEntry { number: 1, path: "a".into(), source, source_version: 1, is_obsolete: false };
    let text = entry(Source::Text("x".into()));
    let plural = entry(Source::Forms(vec![(5, "x".into())]));
    assert_ne!(text.source.sha256(), plural.source.sha256());
    assert_eq!(text.source.sha256(), digest(b"x"));
}
