//! Archives to the byte, and at the limits of their format.

use std::process::Command;

use quintet_platform::secrets::digest;
use quintet_storage::Uuid;

use crate::content::FileId;
use crate::releases::model::Entry;
use crate::releases::zip::{ARCHIVE_BYTES_MAX, Directory, Layout, TooLarge, local_header};

fn entry(name: &str, content: &[u8]) -> Entry {
    Entry {
        name: name.to_owned(),
        sha256: digest(content),
        crc32: crc32fast::hash(content),
        size_bytes: content.len() as u64,
        file_id: FileId(Uuid::nil()),
        version: 1,
        revision: 1,
    }
}

/// The archive of these entries, and how large its layout says it is.
fn archive(entries: &[(&str, &[u8])]) -> (Vec<u8>, u64) {
    let (mut bytes, mut layout, mut directory) = (Vec::new(), Layout::new(u64::MAX), Directory::default());
    for (name, content) in entries {
        layout.add(name, content.len() as u64).unwrap();
        bytes.extend(local_header(&entry(name, content)));
        bytes.extend_from_slice(content);
    }
    for (name, content) in entries {
        bytes.extend(directory.header(&entry(name, content)));
    }
    bytes.extend(directory.end());
    assert_eq!(layout.entries(), entries.len() as u64);
    (bytes, layout.size_bytes())
}

#[test]
fn an_archive_is_what_the_format_says() {
    let (nothing, size) = archive(&[]);
    assert_eq!((nothing.as_slice(), size), (&b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..], 22));

    let (bytes, size) = archive(&[("de/a", b"xyz")]);
    let common: &[u8] = b"\x14\0\0\x08\0\0\0\0\x21\0\x67\xba\x8e\xeb\x03\0\0\0\x03\0\0\0\x04\0\0\0";
    let expected = [
        &b"PK\x03\x04"[..],
        common,
        b"de/axyz",
        b"PK\x01\x02\x14\x03",
        common,
        b"\0\0\0\0\0\0\0\0\xa4\x81\0\0\0\0de/a",
        b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x32\0\0\0\x25\0\0\0\0\0",
    ]
    .concat();
    assert_eq!(bytes, expected);
    assert_eq!(size, bytes.len() as u64);
}

/// Localization, Z2: over 2 GiB is too large, to the byte, whatever it is made of.
#[test]
fn two_gibibytes_fit_and_a_byte_more_does_not() {
    // The headers of an entry with a name of four bytes, and the end.
    let around = 30 + 4 + 46 + 4 + 22;
    for (sizes, expected) in [
        (vec![ARCHIVE_BYTES_MAX - around], Ok(())),
        (vec![ARCHIVE_BYTES_MAX - around + 1], Err(TooLarge)),
        (vec![1 << 30, (1 << 30) - around - 84], Ok(())),
        (vec![1 << 30, (1 << 30) - around - 83], Err(TooLarge)),
        (vec![u64::MAX], Err(TooLarge)),
        (vec![5, u64::MAX], Err(TooLarge)),
    ] {
        let mut layout = Layout::new(ARCHIVE_BYTES_MAX);
        let (last, first) = sizes.split_last().unwrap();
        first.iter().for_each(|size| layout.add("de/a", *size).unwrap());
        assert_eq!(layout.add("de/a", *last), expected, "{sizes:?}");
    }
    // Nothing but names can make it too large, too; from 65,535 entries on the end is longer.
    let mut layout = Layout::new(65_534 * 84 + 22);
    (0..65_534).for_each(|_| layout.add("de/a", 0).unwrap());
    assert_eq!(layout.add("de/a", 0), Err(TooLarge));
    assert_eq!(layout.size_bytes(), 65_535 * 84 + 22 + 76);
}

/// More entries than the first version of the format can count: Zip64, and only then.
#[test]
fn the_number_of_entries_moves_to_zip64_where_it_does_not_fit() {
    const SCRIPT: &str = "\
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
print(archive.testzip(), len(names), names[0], names[-1], archive.read(names[-1]).decode())
";
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..70_000).map(|number| format!("de/{number:05}")).collect();
    for count in [65_534, 65_535, 65_536, 70_000] {
        let entries: Vec<(&str, &[u8])> = names[..count].iter().map(|name| (name.as_str(), name.as_bytes())).collect();
        let (bytes, size) = archive(&entries);
        assert_eq!(size, bytes.len() as u64);
        let has_zip64 = bytes[bytes.len() - 42..].starts_with(b"PK\x06\x07");
        assert_eq!(has_zip64, count >= 65_535, "{count}");
        let place = directory.path().join("archive.zip");
        std::fs::write(&place, &bytes).unwrap();
        let read = Command::new("python3").args(["-c", SCRIPT]).arg(&place).output().unwrap();
        let said = String::from_utf8(read.stdout).unwrap();
        let last = &names[count - 1];
        assert_eq!(said.trim(), format!("None {count} de/00000 {last} {last}"), "{count}: {:?}", read.stderr);
    }
}
