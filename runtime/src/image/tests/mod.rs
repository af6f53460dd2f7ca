//! Images that are what they say, and images that are not. Unpacking gives files to other owners: it needs root.

mod room;
mod tarball;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tarball::{Tarball, docker_archive, layout, pack, spread};

use super::{Given, ImageError, ImageLimits, Images, Removed, open_of_layout};
use crate::digest::Digest;
use crate::model::ImageInfo;
use crate::protocol::ImportTerms;
use crate::records::Records;

fn digest_of(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Takes one away that no container needs.
fn remove(images: &Images, reference: &str) -> Removed {
    images.remove(reference, |_| Some(())).unwrap()
}

/// The files of an image.
type Files = Vec<(String, Vec<u8>)>;

struct Store {
    directory: tempfile::TempDir,
    images: Images,
}

impl Store {
    fn small() -> ImageLimits {
        ImageLimits {
            layer_bytes: 4 << 20,
            image_bytes: 6 << 20,
            entries: 200,
            depth: 20,
            layers: 5,
            expansion_free_bytes: 100 << 20,
            expansion: 200,
            disk_reserve_bytes: 0,
        }
    }

    fn make() -> Option<Store> {
        Store::make_with(Store::small())
    }

    fn make_with(limits: ImageLimits) -> Option<Store> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: unpacking an image needs root");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let records = Arc::new(Records::open(&directory.path().join("records.redb")).unwrap());
        let images = Images::open(directory.path(), records, limits, 0).unwrap();
        Some(Store { directory, images })
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.directory.path().join("input");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn import(&self, path: &Path) -> Result<ImageInfo, ImageError> {
        let opened = File::open(path).unwrap();
        let terms = ImportTerms::default();
        if !opened.metadata().unwrap().is_dir() {
            return self.images.import(Given::Archive(opened.into()), "test:1", None, 7, &terms);
        }
        // As a client opens what is wanted of its layout.
        let wanted =
            |name: &str| open_of_layout(&opened, name).map_err(|error| ImageError::Bad(format!("{name}: {error}")));
        self.images.import(Given::Layout(&wanted), "test:1", None, 7, &terms)
    }

    fn import_layers(&self, layers: &[Vec<u8>]) -> Result<ImageInfo, ImageError> {
        let layers: Vec<_> = layers.iter().map(|plain| (gzip(plain), plain.clone())).collect();
        let files = layout(&layers, &json!({}), digest_of);
        self.import(&self.file(&pack(&files)))
    }

    /// Where the layer of a single-layer image lies.
    fn layer(&self, plain: &[u8]) -> PathBuf {
        self.images.layer_path(&Digest::of(plain))
    }

    /// Nothing but what an empty store has.
    fn assert_empty(&self) {
        let names = |below: &str| -> Vec<_> {
            std::fs::read_dir(self.directory.path().join(below))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect()
        };
        assert!(names("layers").is_empty(), "layers are left: {:?}", names("layers"));
        assert!(names("staging").is_empty(), "staging is left: {:?}", names("staging"));
        assert!(self.images.list().unwrap().is_empty());
    }
}

fn reason(result: Result<ImageInfo, ImageError>) -> String {
    match result {
        Err(ImageError::Bad(reason)) => reason,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_layer_is_unpacked_as_it_is() {
    let Some(store) = Store::make() else { return };
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    let layer = Tarball::new()
        .directory("./")
        .directory("bin")
        .entry(b'0', b"bin/su", b"", 0o4755, 0, b"root's")
        .entry(b'0', b"home", b"", 0o600, 1000, b"hers")
        .symbolic_link("sh", "/bin/busybox")
        .symbolic_link("out", "../../../../etc/passwd")
        .hard_link("bin/also", "bin/su")
        .entry(b'6', b"pipe", b"", 0o622, 0, b"")
        .pax(&[("path", long.as_bytes()), ("SCHILY.xattr.user.note", b"kept\0binary"), ("mtime", b"99.5")])
        .file("short", b"long")
        .file("bin/.wh.gone", b"")
        .file("opaque/.wh..wh..opq", b"")
        .file(".wh..wh.plnk", b"")
        .finish();
    let image = store.import_layers(std::slice::from_ref(&layer)).unwrap();
    assert_eq!((image.layers, image.names.as_slice()), (1, ["test:1".to_owned()].as_slice()));
    let root = store.layer(&layer);
    let su = root.join("bin/su").metadata().unwrap();
    assert_eq!((su.mode() & 0o7777, su.nlink(), su.uid()), (0o4755, 2, 0));
    let home = root.join("home").metadata().unwrap();
    assert_eq!((home.mode() & 0o7777, home.uid(), home.gid()), (0o600, 1000, 1000));
    assert_eq!(std::fs::read_link(root.join("sh")).unwrap(), Path::new("/bin/busybox"));
    assert_eq!(std::fs::read_link(root.join("out")).unwrap(), Path::new("../../../../etc/passwd"));
    assert!(root.join("pipe").metadata().unwrap().file_type().is_fifo());
    assert_eq!(std::fs::read(root.join(&long)).unwrap(), b"long");
    assert_eq!(root.join(&long).metadata().unwrap().mtime(), 99);
    let mut value = [0; 32];
    let length = rustix::fs::getxattr(root.join(&long), c"user.note", &mut value).unwrap();
    assert_eq!(&value[..length], b"kept\0binary");
    let gone = root.join("bin/gone").metadata().unwrap();
    assert!(gone.file_type().is_char_device() && gone.rdev() == 0);
    let length = rustix::fs::getxattr(root.join("opaque"), c"trusted.overlay.opaque", &mut value).unwrap();
    assert_eq!(&value[..length], b"y");
    assert!(!root.join(".wh..wh.plnk").exists());
    // Whoever may not look into the store finds nothing that is set-id root on a path.
    assert_eq!(root.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn all_forms_of_an_image_are_the_same_image() {
    let Some(store) = Store::make() else { return };
    let plain = Tarball::new().file("a", b"1").finish();
    let files = layout(&[(gzip(&plain), plain.clone())], &json!({ "Cmd": ["/a"] }), digest_of);
    let tar = store.import(&store.file(&pack(&files))).unwrap();
    let compressed = store.import(&store.file(&gzip(&pack(&files)))).unwrap();
    let directory = tempfile::tempdir().unwrap();
    spread(&files, directory.path());
    let spread_out = store.import(directory.path()).unwrap();
    assert_eq!((&tar.digest, &tar.digest), (&compressed.digest, &spread_out.digest));
    let archive = docker_archive(std::slice::from_ref(&plain), &json!({ "Cmd": ["/a"] }), "a:1", digest_of);
    let docker = store.import(&store.file(&pack(&archive))).unwrap();
    assert_ne!(docker.digest, tar.digest, "a docker-archive has no manifest");
    assert_eq!(std::fs::read_dir(store.directory.path().join("layers")).unwrap().count(), 1, "the layer is shared");
    assert!(store.images.missing(&[Digest::of(&gzip(&plain))]).unwrap().is_empty());
    // The name went to the last one; the layer stays as long as one of them does.
    assert_eq!(store.images.find("test:1").unwrap().unwrap().digest, docker.digest);
    assert_eq!(remove(&store.images, "test:1"), Removed::Done);
    assert!(store.layer(&plain).is_dir());
    assert_eq!(remove(&store.images, tar.digest.as_str()), Removed::Done);
    assert_eq!(remove(&store.images, tar.digest.as_str()), Removed::Absent);
    store.assert_empty();
}

#[test]
fn a_layer_that_is_there_need_not_come_again() {
    let Some(store) = Store::make() else { return };
    let (one, two) = (Tarball::new().file("a", b"1").finish(), Tarball::new().file("b", b"2").finish());
    store.import_layers(std::slice::from_ref(&one)).unwrap();
    let layers = [(gzip(&one), one.clone()), (gzip(&two), two)];
    let mut files = layout(&layers, &json!({}), digest_of);
    let brought: Vec<Digest> = layers.iter().map(|(stored, _)| Digest::of(stored)).collect();
    assert_eq!(store.images.missing(&brought).unwrap(), brought[1..]);
    files.retain(|(_, content)| *content != layers[0].0);
    assert_eq!(store.import(&store.file(&pack(&files))).unwrap().layers, 2);
    files.retain(|(_, content)| *content != layers[1].0);
    remove(&store.images, "test:1");
    let found = reason(store.import(&store.file(&pack(&files))));
    assert!(found.contains("missing"), "{found}");
}

#[test]
fn an_image_goes_with_its_last_name_and_not_while_it_is_needed() {
    let Some(store) = Store::make() else { return };
    let (one, two) = (Tarball::new().file("a", b"1").finish(), Tarball::new().file("b", b"22").finish());
    let first = store.import_layers(&[one.clone(), two.clone()]).unwrap().digest;
    let second = store.import_layers(std::slice::from_ref(&one)).unwrap().digest;
    let needed = |needed: &Digest| {
        let needed = needed.clone();
        move |image: &Digest| (*image != needed).then_some(())
    };
    // The first has lost its name to the second.
    assert_eq!(store.images.prune(needed(&first)).unwrap(), crate::Pruned::default());
    assert_eq!(store.images.remove(first.as_str(), needed(&first)).unwrap(), Removed::InUse);
    let pruned = store.images.prune(needed(&second)).unwrap();
    assert_eq!((pruned.images.as_slice(), pruned.layers, pruned.bytes), ([first].as_slice(), 1, 2 * (4096 + 256)));
    assert!(store.layer(&one).is_dir() && !store.layer(&two).exists());
    assert_eq!(store.images.remove("test:1", needed(&second)).unwrap(), Removed::InUse);
    assert_eq!(store.images.find("test:1").unwrap().unwrap().digest, second, "it keeps its name");
    // Of two names one may go.
    let bytes = pack(&layout(&[(gzip(&one), one.clone())], &json!({}), digest_of));
    let given = Given::Archive(File::open(store.file(&bytes)).unwrap().into());
    store.images.import(given, "test:2", None, 7, &ImportTerms::default()).unwrap();
    assert_eq!(store.images.remove("test:1", needed(&second)).unwrap(), Removed::Done);
    assert_eq!(remove(&store.images, "test:2"), Removed::Done);
    store.assert_empty();
}

/// The runner is root: what its client could not read, or has it look for, it does not read either.
#[test]
fn what_a_client_has_not_opened_for_reading_is_not_read() {
    use rustix::fs::OFlags;
    let Some(store) = Store::make() else { return };
    let plain = Tarball::new().file("a", b"1").finish();
    let files = layout(&[(gzip(&plain), plain.clone())], &json!({}), digest_of);
    let directory = tempfile::tempdir().unwrap();
    spread(&files, directory.path());
    let tar = store.file(&pack(&files));
    let index = directory.path().join("index.json");
    for (path, flags, expected) in [
        (directory.path(), OFlags::RDONLY, "not a regular file"),
        (directory.path(), OFlags::PATH, "not a regular file"),
        (&tar, OFlags::PATH, "not opened for reading"),
        (&tar, OFlags::WRONLY, "not opened for reading"),
    ] {
        let open = || rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
        let found = reason(store.images.import(Given::Archive(open()), "test:1", None, 7, &ImportTerms::default()));
        assert!(found.contains(expected), "{flags:?}: {found}");
        let of_layout = |_: &str| Ok(Some(open()));
        let found = reason(store.images.import(Given::Layout(&of_layout), "test:1", None, 7, &ImportTerms::default()));
        assert!(found.contains(expected), "{flags:?}: {found}");
        store.assert_empty();
    }
    let device = |_: &str| Ok(Some(File::open("/dev/zero").unwrap().into()));
    let found = reason(store.images.import(Given::Layout(&device), "test:1", None, 7, &ImportTerms::default()));
    assert!(found.contains("not a regular file"), "{found}");
    // Read from its beginning, wherever its client has left off; and nothing of it is repeated.
    std::fs::write(&index, r#"{"manifests": "a-secret", "another-secret": 1}"#).unwrap();
    let moved = |_: &str| {
        let mut file = File::open(&index).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
        Ok(Some(file.into()))
    };
    let found = reason(store.images.import(Given::Layout(&moved), "test:1", None, 7, &ImportTerms::default()));
    assert_eq!(found, "its index is not what it should be at line 1, column 24");
    store.assert_empty();
}

/// What kaniko, umoci, crane and older tools write, and what no tool minds at an archive's end.
#[test]
fn layers_are_taken_as_other_tools_write_them() {
    let Some(store) = Store::make() else { return };
    let unpadded = |tarball: Tarball, missing: usize| {
        let whole = tarball.finish();
        whole[..whole.len() - 1024 - missing].to_vec()
    };
    let rooted = |name: &[u8]| {
        Tarball::new()
            .entry(b'5', name, b"", 0o750, 33, b"")
            .file("/etc/one", b"1")
            .hard_link("/etc/two", "/etc/one")
            .hard_link("three", "//etc/one")
            .file("/etc/.wh.gone", b"")
    };
    let half = {
        let whole = rooted(b"/").finish();
        whole[..whole.len() - 700].to_vec()
    };
    for (name, layer) in [
        ("a root with a slash", rooted(b"/").finish()),
        ("a root with a dot", rooted(b"./").finish()),
        ("a root that is a dot", rooted(b".").finish()),
        ("no blocks of zeros at the end", unpadded(rooted(b"/"), 0)),
        ("a part of a block of zeros", half),
        ("one byte of padding missing", unpadded(rooted(b"/").file("last", b"abc"), 1)),
        ("no padding of the last file", unpadded(rooted(b"/").file("last", b"abc"), 509)),
    ] {
        store.import_layers(std::slice::from_ref(&layer)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let root = store.layer(&layer);
        let found = root.metadata().unwrap();
        assert_eq!((found.mode() & 0o7777, found.uid(), found.gid()), (0o750, 33, 33), "{name}");
        assert_eq!(root.join("etc/two").metadata().unwrap().nlink(), 3, "{name}");
        assert!(root.join("etc/gone").symlink_metadata().unwrap().file_type().is_char_device(), "{name}");
        if name.contains("padding") {
            assert_eq!(std::fs::read(root.join("last")).unwrap(), b"abc", "{name}");
        }
        assert_eq!(remove(&store.images, "test:1"), Removed::Done);
        store.assert_empty();
    }
    // What is missing of a file itself is missing.
    let cut = unpadded(rooted(b"/").file("last", b"abc"), 510);
    let found = reason(store.import_layers(&[cut]));
    assert!(found.contains("ends within an entry"), "{found}");
    store.assert_empty();
}

#[test]
fn archives_are_taken_however_their_files_are_named() {
    let Some(store) = Store::make() else { return };
    let plain = Tarball::new().file("a", b"1").finish();
    let files = layout(&[(gzip(&plain), plain.clone())], &json!({}), digest_of);
    let named =
        |before: &str| pack(&files.iter().map(|(name, c)| (format!("{before}{name}"), c.clone())).collect::<Vec<_>>());
    let mut linked = Tarball::new();
    for (number, (name, content)) in files.iter().enumerate() {
        let first = format!("./elsewhere/{number}");
        linked = linked.file(&first, content).hard_link(&format!("./{name}"), &first);
    }
    // As crane and kaniko write a docker-archive: layers compressed, names by digest.
    let mut crane = docker_archive(std::slice::from_ref(&plain), &json!({}), "a:1", digest_of);
    crane[0].0 = format!("sha256:{}", crane[0].0.strip_suffix(".json").unwrap());
    let layer = format!("{}.tar.gz", Digest::of(&gzip(&plain)).hex());
    crane[1].1 = json!([{ "Config": crane[0].0, "RepoTags": ["a:1"], "Layers": [layer] }]).to_string().into_bytes();
    crane[2] = (layer, gzip(&plain));
    for (name, bytes) in
        [("slash", named("/")), ("dot", named("./")), ("hard links", linked.finish()), ("crane", pack(&crane))]
    {
        store.import(&store.file(&bytes)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(store.layer(&plain).join("a").exists(), "{name}");
        assert_eq!(remove(&store.images, "test:1"), Removed::Done);
        store.assert_empty();
    }
}

#[test]
fn a_broken_attribute_is_told_as_one() {
    let Some(store) = Store::make() else { return };
    let long = format!("SCHILY.xattr.user.{}", "n".repeat(300));
    let cases: [(&str, &[u8]); 4] = [
        ("SCHILY.xattr.security.capability", b"no capability"),
        ("SCHILY.xattr.user.", b"x"),
        (&long, b"x"),
        ("SCHILY.xattr.user.large", &[b'x'; 70_000]),
    ];
    for (key, value) in cases {
        let layer = Tarball::new().pax(&[(key, value)]).file("tool", b"x").finish();
        let found = reason(store.import_layers(&[layer]));
        assert!(found.starts_with("tool: its extended attribute"), "{key}: {found}");
        store.assert_empty();
    }
    // More than a block, where attributes have one.
    let layer = Tarball::new().pax(&[("SCHILY.xattr.user.large", &[b'x'; 6000])]).file("tool", b"x").finish();
    match store.import_layers(&[layer]) {
        Err(ImageError::Bad(found)) => assert!(found.contains("more than the file system takes"), "{found}"),
        other => drop(other.unwrap()),
    }
}

/// What the file systems of the kernel are mounted on must be a directory, whichever layer it comes from.
#[test]
fn mount_points_that_are_none_are_refused() {
    let Some(store) = Store::make() else { return };
    let file = || Tarball::new().file("a", b"1");
    for (place, kind) in [("proc", "a symbolic link"), ("sys", "a file"), ("dev", "a symbolic link")] {
        let spoilt = |tarball: Tarball| match kind {
            "a file" => tarball.file(place, b"x"),
            _ => tarball.symbolic_link(place, "/tmp"),
        };
        let expected = format!("its /{place} is {kind}, where a container needs a directory");
        let refused =
            [vec![spoilt(file())], vec![spoilt(file()), file()], vec![file().directory(place), spoilt(file())]];
        for layers in refused {
            let layers: Vec<Vec<u8>> = layers.into_iter().map(Tarball::finish).collect();
            assert_eq!(reason(store.import_layers(&layers)), expected);
            store.assert_empty();
        }
        // What a higher layer has put right, or taken away.
        for above in [file().directory(place), file().file(&format!(".wh.{place}"), b"")] {
            store.import_layers(&[spoilt(file()).finish(), above.finish()]).unwrap();
            remove(&store.images, "test:1");
            store.assert_empty();
        }
    }
}

#[test]
fn a_configuration_beyond_all_measure_is_refused() {
    let Some(store) = Store::make() else { return };
    let plain = Tarball::new().file("a", b"1").finish();
    let many: Vec<String> = (0..5000).map(|number| format!("V{number}=1")).collect();
    for execution in [
        json!({ "Env": many }),
        json!({ "Cmd": many }),
        json!({ "Entrypoint": ["/a"], "Cmd": ["x".repeat(600 << 10)] }),
        json!({ "WorkingDir": format!("/{}", "d".repeat(5000)) }),
    ] {
        let files = layout(&[(gzip(&plain), plain.clone())], &execution, digest_of);
        let found = reason(store.import(&store.file(&pack(&files))));
        assert!(found.contains("configuration"), "{found}");
    }
    store.assert_empty();
}

/// A small disk, for as long as this is held.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn make(size: &std::ffi::CStr) -> SmallDisk {
        let disk = SmallDisk(tempfile::tempdir().unwrap());
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tmpfs", disk.0.path(), "tmpfs", flags, size).unwrap();
        disk
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn an_import_leaves_room_on_the_disk() {
    if Store::make().is_none() {
        return;
    }
    let limits = ImageLimits { disk_reserve_bytes: 5 << 19, ..Store::small() };
    let small = (0..190).fold(Tarball::new(), |tarball, number| tarball.file(&format!("f{number}"), b"x")).finish();
    let large = Tarball::new().file("large", &[7; 3 << 20]).finish();
    let parts = |layer: &[u8]| pack(&layout(&[(layer.to_vec(), layer.to_vec())], &json!({}), digest_of));
    // 3 MiB and 2.5 MiB to be left: blocks of many small files, one large file, and what a compressed tar becomes.
    for bytes in [parts(&small), gzip(&parts(&large))] {
        let disk = SmallDisk::make(c"size=3m");
        let records = Arc::new(Records::open(&disk.0.path().join("records.redb")).unwrap());
        let images = Images::open(disk.0.path(), records, limits.clone(), 0).unwrap();
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(&bytes).unwrap();
        let outcome = images.import(Given::Archive(input.into()), "test:1", None, 7, &ImportTerms::default());
        match outcome {
            Err(ImageError::Io(error)) => assert_eq!(error.kind(), std::io::ErrorKind::StorageFull),
            Err(ImageError::Bad(reason)) => assert!(reason.contains("more than allowed"), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(std::fs::read_dir(disk.0.path().join("staging")).unwrap().count(), 0);
        drop(images);
    }
}

#[test]
fn hostile_layers_leave_nothing_behind() {
    let Some(store) = Store::make() else { return };
    let outside = store.directory.path().join("outside");
    std::fs::write(&outside, "untouched").unwrap();
    let deep = "d/".repeat(30);
    let long = "n".repeat(300);
    let many = (0..300).fold(Tarball::new(), |tarball, number| tarball.file(&format!("f{number}"), b""));
    let nested =
        (0..15).fold(Tarball::new(), |tarball, number| tarball.directory(&format!("{number}/{}", "d/".repeat(19))));
    let big = vec![0; (4 << 20) + 1];
    let huge_header = Tarball::new().entry(b'L', b"x", b"", 0, 0, &vec![b'a'; 2 << 20]).file("a", b"");
    let cases: Vec<(&str, Tarball, &str)> = vec![
        ("climbing from the root", Tarball::new().file("/../etc/evil", b"x"), "climbs out"),
        ("climbing", Tarball::new().file("../outside", b"x"), "climbs out"),
        ("climbing within", Tarball::new().directory("a").file("a/../../outside", b"x"), "climbs out"),
        ("through a link", Tarball::new().symbolic_link("l", "/").file("l/tmp/evil", b"x"), "symbolic link"),
        ("through a link up", Tarball::new().symbolic_link("l", "../..").file("l/outside", b"x"), "symbolic link"),
        ("a directory on a link", Tarball::new().symbolic_link("l", "/etc").directory("l"), "where there is a file"),
        ("through a file", Tarball::new().file("f", b"").file("f/x", b""), "through a file"),
        ("hard link outside", Tarball::new().hard_link("h", "../../outside"), "climbs out"),
        ("hard link absolute", Tarball::new().hard_link("h", "/etc/passwd"), "outside its layer"),
        ("hard link to nothing", Tarball::new().hard_link("h", "etc/passwd"), "outside its layer"),
        (
            "hard link by a link",
            Tarball::new().symbolic_link("l", "/etc").hard_link("h", "l/passwd"),
            "outside its layer",
        ),
        ("hard link to a whiteout", Tarball::new().file(".wh.w", b"").hard_link("h", "w"), "no file"),
        ("character device", Tarball::new().entry(b'3', b"mem", b"", 0o666, 0, b""), "device"),
        ("block device", Tarball::new().entry(b'4', b"sda", b"", 0o666, 0, b""), "device"),
        ("sparse", Tarball::new().entry(b'S', b"s", b"", 0o644, 0, b""), "sparse"),
        ("sparse by pax", Tarball::new().pax(&[("GNU.sparse.major", b"1")]).file("s", b""), "sparse"),
        (
            "overlay attribute",
            Tarball::new().pax(&[("SCHILY.xattr.trusted.overlay.redirect", b"/")]).file("s", b""),
            "attribute",
        ),
        ("whiteout of nothing", Tarball::new().file(".wh.", b""), "whiteout"),
        ("whiteout climbing", Tarball::new().file("a/.wh...", b""), "whiteout"),
        ("whiteout as directory", Tarball::new().file(".wh.x/y", b""), "whiteout"),
        ("an owner far away", Tarball::new().entry(b'0', b"f", b"", 0o644, 65_536, b""), "owner"),
        ("nested too deep", Tarball::new().pax(&[("path", deep.as_bytes())]).directory("x"), "nested too deep"),
        ("a long part", Tarball::new().pax(&[("path", long.as_bytes())]).file("x", b""), "255 bytes"),
        ("a long name", Tarball::new().pax(&[("path", "a/".repeat(3000).as_bytes())]).file("x", b""), "4095 bytes"),
        ("a name with NUL", Tarball::new().pax(&[("path", b"a\0b")]).file("x", b""), "NUL"),
        ("an empty name", Tarball::new().file("", b""), "empty name"),
        ("a root that is a file", Tarball::new().file("./", b""), "root"),
        ("many files", many, "more files"),
        ("many directories by few entries", nested, "more files"),
        ("a big file", Tarball::new().file("big", &big), "more than allowed"),
        ("a huge header", huge_header, "1 MiB"),
        ("a file on a directory", Tarball::new().directory("d").file("d", b""), "there is a directory"),
        ("a size beyond all", Tarball::new().pax(&[("size", b"18446744073709551615")]).file("x", b""), "out of range"),
        ("a size that is none", Tarball::new().pax(&[("size", b"-1")]).file("x", b""), "pax number"),
        ("an unknown kind", Tarball::new().entry(b'Q', b"q", b"", 0, 0, b""), "unknown kind"),
        ("content in a link", Tarball::new().entry(b'2', b"l", b"x", 0, 0, b"content"), "content where"),
    ];
    for (name, tarball, expected) in cases {
        let found = reason(store.import_layers(&[tarball.finish()]));
        assert!(found.contains(expected), "{name}: {found}");
        store.assert_empty();
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "untouched", "{name}");
    }
    assert!(!Path::new("/etc/evil").exists() && !Path::new("/tmp/evil").exists());
}

#[test]
fn images_that_lie_or_are_damaged_leave_nothing_behind() {
    let Some(store) = Store::make() else { return };
    let plain = Tarball::new().file("a", b"1").finish();
    let stored = gzip(&plain);
    let proper = layout(&[(stored.clone(), plain.clone())], &json!({}), digest_of);
    let with = |change: &dyn Fn(&mut Files)| {
        let mut files = proper.clone();
        change(&mut files);
        pack(&files)
    };
    let other = Tarball::new().file("a", b"2").finish();
    let bomb = gzip(&vec![0; 64 << 20]);
    let cut = stored[..stored.len() - 9].to_vec();
    let layer_name = format!("blobs/sha256/{}", Digest::of(&stored).hex());
    let replace = |content: Vec<u8>| {
        with(&|files| {
            files.iter_mut().filter(|(name, _)| *name == layer_name).for_each(|file| file.1.clone_from(&content))
        })
    };
    let own = |stored: Vec<u8>, plain: Vec<u8>| pack(&layout(&[(stored, plain)], &json!({}), digest_of));
    let six: Vec<_> =
        (0..6).map(|n| Tarball::new().file(&format!("{n}"), b"").finish()).map(|p| (p.clone(), p)).collect();
    let two: Vec<_> =
        (0..2).map(|n| Tarball::new().file("b", &vec![n; (7 << 20) / 2]).finish()).map(|p| (p.clone(), p)).collect();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("another layer of the same name", replace(gzip(&other)), "not sha256"),
        ("a cut layer", own(cut, plain.clone()), "compression"),
        ("something after the layer", own([stored.clone(), b"more".to_vec()].concat(), plain.clone()), "compression"),
        ("zstd", own([&[0x28, 0xb5, 0x2f, 0xfd][..], b"rest"].concat(), plain.clone()), "zstd"),
        ("content that is not the promised one", own(stored.clone(), other), "content is not"),
        ("a bomb", own(bomb, vec![]), "more than allowed"),
        ("a cut archive", own(plain[..512].to_vec(), plain[..512].to_vec()), "ends within"),
        ("not an archive", own(vec![b'x'; 2048], vec![b'x'; 2048]), "damaged"),
        ("a missing layer", with(&|files| files.retain(|(name, _)| *name != layer_name)), "missing"),
        (
            "another index",
            with(&|files| {
                files.iter_mut().for_each(|file| {
                    if file.0 == "index.json" {
                        file.1 = b"{\"manifests\": 7}".to_vec()
                    }
                })
            }),
            "its index",
        ),
        ("six layers", pack(&layout(&six, &json!({}), digest_of)), "6 layers"),
        ("two layers that are too much together", pack(&layout(&two, &json!({}), digest_of)), "more than allowed"),
        ("nothing of an image", pack(&[("readme".into(), b"hello".to_vec())]), "neither an OCI layout"),
        ("text", b"just some text".to_vec(), "ends within a header"),
        (
            "a NUL in the command",
            pack(&layout(&[(plain.clone(), plain.clone())], &json!({"Cmd": ["a\0b"]}), digest_of)),
            "NUL",
        ),
    ];
    for (name, bytes, expected) in cases {
        let found = reason(store.import(&store.file(&bytes)));
        assert!(found.contains(expected), "{name}: {found}");
        store.assert_empty();
    }
    for (path, expected) in [("/dev/zero", "not a regular file"), ("/proc/self/fdinfo", "neither an OCI")] {
        let found = reason(store.import(Path::new(path)));
        assert!(found.contains(expected), "{path}: {found}");
    }
    let found = store.images.import(
        Given::Archive(File::open("/dev/null").unwrap().into()),
        "a b",
        None,
        7,
        &ImportTerms::default(),
    );
    assert!(reason(found).contains("visible characters"));
}

#[test]
fn a_directory_cannot_lead_elsewhere() {
    let Some(store) = Store::make() else { return };
    let plain = Tarball::new().file("a", b"1").finish();
    let files = layout(&[(plain.clone(), plain)], &json!({}), digest_of);
    let secret = tempfile::tempdir().unwrap();
    spread(&files, secret.path());
    for linked in ["blobs", "index.json"] {
        let directory = tempfile::tempdir().unwrap();
        spread(&files, directory.path());
        let path = directory.path().join(linked);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap()
        } else {
            std::fs::remove_file(&path).unwrap()
        }
        std::os::unix::fs::symlink(secret.path().join(linked), &path).unwrap();
        assert!(store.import(directory.path()).is_err(), "{linked} was followed");
        store.assert_empty();
    }
    let directory = tempfile::tempdir().unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        directory.path().join("index.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(reason(store.import(directory.path())).contains("not a regular file"), "a pipe was waited for");
}
