//! What images may take: of their own size, of what their caller gives, and of the disk.

use super::*;

/// A file of so many KiB of one letter.
fn file_of(letter: u8, kib: usize) -> Vec<u8> {
    Tarball::new().file("f", &vec![letter; kib << 10]).finish()
}

impl Store {
    fn import_on(&self, layers: &[Vec<u8>], terms: &ImportTerms) -> Result<ImageInfo, ImageError> {
        let layers: Vec<_> = layers.iter().map(|plain| (gzip(plain), plain.clone())).collect();
        let path = self.file(&pack(&layout(&layers, &json!({}), digest_of)));
        self.images.import(Given::Archive(File::open(path).unwrap().into()), "test:1", None, 7, terms)
    }
}

#[test]
fn a_layer_is_not_many_times_what_came() {
    let limits = ImageLimits { expansion_free_bytes: 100 << 10, expansion: 20, ..Store::small() };
    let Some(store) = Store::make_with(limits) else { return };
    store.import_layers(&[file_of(b'a', 90)]).unwrap();
    remove(&store.images, "test:1");
    let found = reason(store.import_layers(&[file_of(b'a', 600)]));
    assert!(found.contains("20 times its compressed size"), "{found}");
    store.assert_empty();
    // Nor by what takes room without any content.
    let directories = (0..190).fold(Tarball::new(), |tar, number| tar.directory(&format!("{number}"))).finish();
    store.import_layers(std::slice::from_ref(&directories)).unwrap();
    assert!(store.images.list().unwrap()[0].size_bytes >= 190 * 4096, "empty directories take room");
    remove(&store.images, "test:1");
    // What is not compressed well may be as large as any.
    let noise: Vec<u8> =
        (0..150_u32 << 10).flat_map(|n| Digest::of(&n.to_le_bytes()).hex().as_bytes()[..4].to_vec()).collect();
    store.import_layers(&[Tarball::new().file("f", &noise).finish()]).unwrap();
}

#[test]
fn an_image_takes_no_more_than_its_caller_gives() {
    let Some(store) = Store::make() else { return };
    let (base, own, more) = (file_of(b'b', 400), file_of(b'o', 400), file_of(b'm', 400));
    let room = |kib: u64, counted: &[&Vec<u8>]| ImportTerms {
        room_bytes: Some(kib << 10),
        counted: counted.iter().map(|plain| Digest::of(plain)).collect(),
        is_pulled: true,
        ..ImportTerms::default()
    };
    let too_large = |found: Result<ImageInfo, ImageError>, kib: u64| {
        assert!(matches!(found, Err(ImageError::TooLarge(bytes)) if bytes == kib << 10), "{found:?}");
    };
    let both = [base.clone(), own.clone()];
    too_large(store.import_on(&both, &room(790, &[])), 790);
    store.assert_empty();
    let image = store.import_on(&both, &room(810, &[])).unwrap();
    let layers = store.images.layers_of(&store.images.find("test:1").unwrap().unwrap()).unwrap();
    assert_eq!(
        layers.iter().map(|layer| layer.digest.clone()).collect::<Vec<_>>(),
        both.each_ref().map(|plain| Digest::of(plain))
    );
    assert_eq!(layers.iter().map(|layer| layer.bytes).sum::<u64>(), image.size_bytes);
    // What is there takes room all the same, for whoever does not count it yet; and once if it comes twice.
    let three = [base.clone(), own.clone(), base.clone(), more];
    too_large(store.import_on(&three, &room(810, &[])), 810);
    too_large(store.import_on(&three, &room(390, &[&base, &own])), 390);
    store.import_on(&three, &room(410, &[&base, &own])).unwrap();
}

#[test]
fn what_was_imported_is_never_what_was_pulled() {
    let Some(store) = Store::make() else { return };
    let layers = [file_of(b'a', 1)];
    let pulled = ImportTerms { is_pulled: true, ..ImportTerms::default() };
    let image = store.import_on(&layers, &pulled).unwrap();
    assert_eq!((image.is_pulled, image.used_at_micros), (true, None));
    let found = || store.images.find("test:1").unwrap().unwrap();
    let day = 86_400_000_000;
    store.images.used(&found(), day);
    store.images.used(&found(), 2 * day - 1);
    assert_eq!(found().used_at_micros, Some(day), "to a day");
    store.images.used(&found(), 2 * day);
    assert_eq!(store.import_on(&layers, &pulled).unwrap().used_at_micros, Some(2 * day), "it stays used");
    assert!(!store.import_on(&layers, &ImportTerms::default()).unwrap().is_pulled);
    assert!(!store.import_on(&layers, &pulled).unwrap().is_pulled, "its owner keeps it");
}

#[test]
fn an_import_leaves_what_it_is_told_to_leave() {
    let Some(store) = Store::make() else { return };
    let terms = ImportTerms { reserve_bytes: Some(u64::MAX), ..ImportTerms::default() };
    match store.import_on(&[file_of(b'a', 1)], &terms) {
        Err(ImageError::Io(error)) => assert_eq!(error.kind(), std::io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
    store.assert_empty();
}

/// What is said to lie between two headers is a hole, which costs its owner nothing: reading it would take hours.
#[test]
fn an_archive_of_holes_is_not_looked_through() {
    let Some(store) = Store::make() else { return };
    let mut header = Tarball::new().file("f", b"").finish();
    header.truncate(512);
    // The size, as base 256 has it: 2^43; and the sum that goes with it.
    header[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0x08, 0, 0, 0, 0, 0]);
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let path = store.file(&header);
    File::options().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
    let found = store.images.import(
        Given::Archive(File::open(path).unwrap().into()),
        "test:1",
        None,
        7,
        &ImportTerms::default(),
    );
    let found = reason(found);
    assert!(found.contains("larger than allowed"), "{found}");
    store.assert_empty();
}

#[test]
fn layers_without_anything_in_them_take_room() {
    let Some(store) = Store::make() else { return };
    // Each is another one by the zeros at its end.
    let empty: Vec<Vec<u8>> = (2..6).map(|blocks| vec![0; 512 * blocks]).collect();
    let image = store.import_layers(&empty).unwrap();
    assert!(image.size_bytes >= 4 * 4096, "{image:?}");
    let terms = ImportTerms { room_bytes: Some(4 * 4096), is_pulled: true, ..ImportTerms::default() };
    remove(&store.images, "test:1");
    assert!(matches!(store.import_on(&empty, &terms), Err(ImageError::TooLarge(_))));
    store.assert_empty();
}
