//! Releases from outside: what is in them, who reads them, who may make them, and that nothing changes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use quintet_platform::secrets::digest;
use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, fresh_key, say_skipped, shared, shared_rehearsal};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

impl Shelf {
    /// Makes a release under a fresh key.
    pub fn release(&self) -> Answer {
        self.release_under(&fresh_key())
    }

    pub fn release_under(&self, key: &str) -> Answer {
        self.desk.send("POST", &self.path("/releases"), &[("idempotency-key", key)], b"")
    }

    /// Writes a text or forms in a locale, has it reviewed and approved.
    pub fn approve(&self, key_id: &str, locale: &str, body: &Value) {
        assert!(self.translate(key_id, locale, body).status < 300);
        self.step(key_id, locale, "review").expect(200);
        self.step(key_id, locale, "approve").expect(200);
    }

    pub fn step(&self, key_id: &str, locale: &str, action: &str) -> Answer {
        let path = format!("/v1/keys/{key_id}/translations/{locale}/transition");
        self.desk.post(&path, &json!({"action": action}))
    }

    pub fn archive(&self, release: &Value, headers: &[(&str, &str)]) -> Answer {
        self.desk.send("GET", &format!("/v1/releases/{}/archive", text(release, "id")), headers, b"")
    }

    fn manifest(&self, release: &Value) -> Value {
        self.desk.get(&format!("/v1/releases/{}/manifest", text(release, "id"))).expect(200)
    }
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&digest(bytes))
}

/// What Python's zipfile says of an archive: of each entry its name, the hash of its content, and whatever else it has.
fn listed(archive: &[u8]) -> Vec<Value> {
    const SCRIPT: &str = "\
import hashlib, json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None and archive.comment == b''
for one in archive.infolist():
    content = archive.read(one)
    print(json.dumps([one.filename, hashlib.sha256(content).hexdigest(), len(content), list(one.date_time),
        one.external_attr, one.compress_type, one.flag_bits, one.extra.hex(), one.create_system]))
";
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("archive.zip");
    std::fs::write(&place, archive).unwrap();
    let read = Command::new("python3").args(["-c", SCRIPT]).arg(&place).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let lines = String::from_utf8(read.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every file below a directory by its path in it.
fn files_below(top: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(directory) = open.pop() {
        for one in std::fs::read_dir(directory).unwrap() {
            let path = one.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// What a program takes out of an archive; `None`: it is not on this machine.
fn extracted(archive: &[u8], program: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let directory = tempfile::tempdir().unwrap();
    let (place, out) = (directory.path().join("archive.zip"), directory.path().join("out"));
    std::fs::write(&place, archive).unwrap();
    std::fs::create_dir(&out).unwrap();
    let (place, target) = (place.to_str().unwrap(), out.to_str().unwrap());
    let arguments = match program {
        "unzip" => vec!["-q", place, "-d", target],
        _ => vec!["-x", "-f", place, "-C", target],
    };
    let run = match Command::new(program).env("LC_ALL", "C.UTF-8").args(arguments).output() {
        Ok(run) => run,
        Err(error) => {
            say_skipped(&format!("releases: {program} is not tried: {error}"));
            return None;
        }
    };
    assert!(run.status.success(), "{program}: {}", String::from_utf8_lossy(&run.stderr));
    Some(files_below(&out))
}

/// The files of real projects, a few of each kind: the query of the upload, and the bytes.
fn real_files(each: usize) -> Vec<(String, Vec<u8>)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/fetch.sh");
    let output = Command::new(script).output().unwrap();
    if !output.status.success() {
        say_skipped("releases: real files are not tried, they cannot be had");
        return Vec::new();
    }
    let top = std::path::PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()).join("files");
    let mut found = Vec::new();
    for (kind, query) in [("json", "kind=json"), ("yaml", "kind=yaml&profile=flat"), ("properties", "kind=properties")]
    {
        let mut files: Vec<_> = std::fs::read_dir(top.join(kind)).unwrap().map(|one| one.unwrap().path()).collect();
        files.sort();
        let step = (files.len() / each).max(1);
        for (number, file) in files.iter().step_by(step).take(each).enumerate() {
            found.push((format!("{query}&path=real/{kind}/{number}"), std::fs::read(file).unwrap()));
        }
    }
    found
}

/// A project with files of every kind, real ones among them, some of which is approved in German, in French, and as Taiwan
/// writes Chinese; in Italian something is written and nothing approved. The ids of its files by their paths.
fn furnished(appliance: &Appliance) -> (Shelf, BTreeMap<String, String>) {
    let shelf = Shelf::open(appliance);
    let rails = "# note\nen:\n  greet: 'Hi'   # c\n  day:\n    one: one day\n    other: \"%{count} days\"\n";
    let files: [(&str, &[u8]); 4] = [
        ("kind=json&path=a.json", b"{\r\n\t\"pay\": \"Pay now\", \"more\": [\"x\", {\"y\": \"z\"}], \"n\": 1e3}\r\n"),
        ("kind=yaml&profile=rails&path=config/en.yml", rails.as_bytes()),
        ("kind=properties&path=m%20%C3%BC/m.properties", b"title = Our\\\n   shop\n! note\nd:e\n"),
        ("kind=json&path=empty.json", b"{}"),
    ];
    for (query, bytes) in files {
        shelf.upload(query, bytes).expect(201);
    }
    let keys = shelf.keys();
    for (query, bytes) in real_files(4) {
        let answer = shelf.upload(&query, &bytes);
        // Some real files are refused for what is wrong with them.
        assert!(matches!(answer.status, 201 | 422), "{query}: {answer:?}");
    }
    for (path, locale, body) in [
        ("pay", "de", json!({"text": "Jetzt zahlen"})),
        ("greet", "de", json!({"text": "Hallo: \"du\""})),
        ("day", "fr", json!({"forms": {"one": "un jour", "many": "%{count} de jours", "other": "%{count} jours"}})),
        ("title", "zh-TW", json!({"text": "我們的商店"})),
    ] {
        shelf.approve(&text(&keys[path], "id"), locale, &body);
    }
    shelf.translate(&text(&keys["pay"], "id"), "it", &json!({"text": "Paga ora"})).expect(201);
    shelf.translate(&text(&keys["more.0"], "id"), "de", &json!({"text": "not approved"})).expect(201);
    let listed = shelf.desk.get(&shelf.path("/files?limit=500")).expect(200);
    let files = listed["files"].as_array().unwrap().iter().map(|file| (text(file, "path"), text(file, "file_id")));
    (shelf, files.collect())
}

/// Contract, releases; localization, Z1 to Z3.
#[test]
fn every_unzip_reads_what_exports_say() {
    let (shelf, files) = furnished(shared());
    let made = shelf.release();
    let release = made.expect(201);
    let archive = shelf.archive(&release, &[]);
    assert_eq!((archive.status, archive.header("content-type")), (200, "application/zip"));
    let sha256 = hex(&archive.bytes);
    assert_eq!((&release["sha256"], &release["size"]), (&json!(sha256), &json!(archive.bytes.len())));
    let etag = format!("\"{sha256}\"");
    assert_eq!((made.header("etag"), archive.header("etag")), (etag.as_str(), etag.as_str()));
    assert_eq!(archive.header("content-length"), archive.bytes.len().to_string());
    let locales = ["de", "fr", "zh-TW"];
    let counts = (&release["files"], &release["locales"], &release["entries"]);
    assert_eq!(counts, (&json!(files.len()), &json!(3), &json!(3 * files.len())));
    assert_eq!((&release["withdrawn"], &release["withdrawn_at"]), (&json!(false), &Value::Null));

    // What the export route says, file by file.
    let (mut expected, mut revisions) = (BTreeMap::new(), BTreeMap::new());
    for locale in locales {
        for (path, file_id) in &files {
            let exported = shelf.export(file_id, &format!("?locale={locale}&state=approved&fallback=source"));
            assert_eq!(exported.status, 200);
            let name = format!("{locale}/{path}");
            revisions.insert(name.clone(), exported.header("etag").to_owned());
            expected.insert(name, exported.bytes);
        }
    }
    assert!(String::from_utf8_lossy(&expected["de/a.json"]).contains("Jetzt zahlen"));
    assert!(!String::from_utf8_lossy(&expected["de/a.json"]).contains("not approved"));

    let entries = listed(&archive.bytes);
    let manifest = shelf.manifest(&release);
    assert_eq!((&manifest["release_id"], &manifest["sha256"]), (&release["id"], &release["sha256"]));
    let told = manifest["entries"].as_array().unwrap();
    // Names in the order of their bytes, which is that of the map.
    assert_eq!((entries.len(), told.len()), (expected.len(), expected.len()));
    for ((entry, told), (name, bytes)) in entries.iter().zip(told).zip(&expected) {
        let form = json!([[1980, 1, 1, 0, 0, 0], 0o100_644_u32 << 16, 0, 0x800, "", 3]);
        let listed = [json!(name), json!(hex(bytes)), json!(bytes.len())];
        assert_eq!(entry.as_array().unwrap()[..3], listed, "{name}");
        assert_eq!(json!(entry.as_array().unwrap()[3..]), form, "{name}");
        let path = name.split_once('/').unwrap().1;
        assert_eq!([&told["name"], &told["sha256"], &told["size"]], listed.each_ref(), "{name}");
        assert_eq!((&told["file_id"], &told["version"]), (&json!(files[path]), &json!(1)), "{name}");
        assert_eq!(format!("\"r{}\"", told["revision"]), revisions[name], "{name}");
    }
    for program in ["unzip", "bsdtar"] {
        if let Some(found) = extracted(&archive.bytes, program) {
            assert_eq!(found, expected, "{program}");
        }
    }
}

/// Contract, releases: later approvals never change it; and made again of the same it is the same.
#[test]
fn a_release_never_changes() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"a": "A", "b": "B"}));
    let [a, b] = ["a", "b"].map(|path| shelf.key_id(path));
    shelf.approve(&a, "de", &json!({"text": "Eins"}));
    let first = shelf.release().expect(201);
    let bytes = shelf.archive(&first, &[]).bytes;
    let again = shelf.release().expect(201);
    assert_ne!(first["id"], again["id"]);
    assert_eq!((&first["sha256"], shelf.archive(&again, &[]).bytes), (&again["sha256"], bytes.clone()));

    let manifest = shelf.manifest(&first);
    shelf.approve(&b, "de", &json!({"text": "Zwei"}));
    shelf.approve(&b, "fr", &json!({"text": "Deux"}));
    shelf.step(&a, "de", "revoke").expect(200);
    shelf.json("a.json", &json!({"a": "A!", "c": "C"}));
    shelf.json("b.json", &json!({"d": "D"}));
    assert_eq!(shelf.desk.get(&format!("/v1/releases/{}", text(&first, "id"))).expect(200), first);
    assert_eq!((shelf.archive(&first, &[]).bytes, shelf.manifest(&first)), (bytes, manifest));
    // Nothing of an active key is approved any more.
    let now = shelf.release().expect(201);
    assert_eq!((&now["files"], &now["locales"], &now["entries"]), (&json!(2), &json!(0), &json!(0)));
    shelf.approve(&shelf.key_id("d"), "de", &json!({"text": "Vier"}));
    let now = shelf.release().expect(201);
    assert_eq!((&now["locales"], &now["entries"]), (&json!(1), &json!(2)));
    assert_ne!(now["sha256"], first["sha256"]);

    // The newest first, in pages.
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = shelf.desk.get(&shelf.path(&format!("/releases?limit=3{cursor}"))).expect(200);
        ids.extend(page["releases"].as_array().unwrap().iter().map(|release| text(release, "id")));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!((ids.len(), &ids[0], &ids[3]), (4, &text(&now, "id"), &text(&first, "id")));
    assert!(ids.iter().rev().is_sorted(), "{ids:?}");
}

/// Localization, Z1: a project without anything approved makes an empty zip.
#[test]
fn nothing_approved_makes_an_empty_archive() {
    let shelf = Shelf::open(shared());
    for files in 0..2 {
        let release = shelf.release().expect(201);
        let archive = shelf.archive(&release, &[]);
        assert_eq!(archive.bytes, b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!((&release["size"], &release["entries"], &release["files"]), (&json!(22), &json!(0), &json!(files)));
        assert_eq!(shelf.manifest(&release)["entries"], json!([]));
        shelf.json("a.json", &json!({"a": "A"}));
    }
}

/// Localization, Z3: ETag, If-None-Match, Range; RFC 9110, 13 and 14.
#[test]
fn an_archive_comes_in_parts() {
    let shelf = Shelf::open(shared());
    let long: BTreeMap<String, String> = (0..9000).map(|n| (format!("k{n}"), "x".repeat(60))).collect();
    shelf.json("a.json", &json!(long));
    shelf.approve(&shelf.key_id("k0"), "de", &json!({"text": "Null"}));
    let release = shelf.release().expect(201);
    let whole = shelf.archive(&release, &[]);
    let (size, etag) = (whole.bytes.len(), whole.header("etag").to_owned());
    assert!(size > 2 * 256 * 1024, "more than two chunks: {size}");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    let name = format!("attachment; filename=\"release-{}.zip\"", text(&release, "id"));
    assert_eq!(whole.header("content-disposition"), name);
    for (range, from, until) in [
        ("bytes=0-0".to_owned(), 0, 1),
        ("bytes=262143-262144".into(), 262_143, 262_145),
        ("bytes=262144-524287".into(), 262_144, 524_288),
        ("bytes=100-".into(), 100, size),
        ("bytes=-22".into(), size - 22, size),
        (format!("bytes=5-{size}"), 5, size),
    ] {
        let part = shelf.archive(&release, &[("range", &range)]);
        assert_eq!((part.status, part.bytes.as_slice()), (206, &whole.bytes[from..until]), "{range}");
        assert_eq!(part.header("content-range"), format!("bytes {from}-{}/{size}", until - 1));
        assert_eq!(part.header("content-length"), (until - from).to_string());
        assert_eq!((part.header("etag"), part.header("content-type")), (etag.as_str(), "application/zip"));
    }
    for range in [format!("bytes={size}-"), "bytes=-0".into()] {
        let answer = shelf.archive(&release, &[("range", &range)]);
        refused(&answer, 416, "range_not_satisfiable");
        assert_eq!(answer.header("content-range"), format!("bytes */{size}"));
    }
    // What is no single range of bytes is all of it, and so is a part of another archive.
    for headers in [
        &[("range", "bytes=0-1,5-6")][..],
        &[("range", "lines=0-1")],
        &[("range", "bytes=9-1")],
        &[("range", "bytes=0-1"), ("if-range", "\"other\"")],
        &[("range", "bytes=0-1"), ("if-range", "Sun, 06 Nov 1994 08:49:37 GMT")],
    ] {
        let answer = shelf.archive(&release, headers);
        assert_eq!((answer.status, answer.bytes.len()), (200, size), "{headers:?}");
    }
    let part = shelf.archive(&release, &[("range", "bytes=0-1"), ("if-range", &etag)]);
    assert_eq!((part.status, part.bytes.as_slice()), (206, &b"PK"[..]));
    for tag in [etag.as_str(), "*", &format!("\"x\", {etag}"), &format!("W/{etag}")] {
        let answer = shelf.archive(&release, &[("if-none-match", tag), ("range", "bytes=0-1")]);
        assert_eq!((answer.status, answer.header("etag"), answer.text.as_str()), (304, etag.as_str(), ""), "{tag}");
    }
    assert_eq!(shelf.archive(&release, &[("if-none-match", "\"x\"")]).status, 200);
    let path = format!("/v1/releases/{}/archive", text(&release, "id"));
    let head = shelf.desk.send("HEAD", &path, &[("range", "bytes=0-1")], b"");
    assert_eq!((head.status, head.header("content-length")), (200, size.to_string().as_str()));
    assert_eq!((head.header("etag"), head.bytes.len()), (etag.as_str(), 0));
    let head = shelf.desk.send("HEAD", &path, &[("if-none-match", &etag)], b"");
    assert_eq!(head.status, 304);
}

/// Localization, Z3: a withdrawn release stays readable, and withdrawing it again answers the same.
#[test]
fn a_withdrawn_release_stays_readable_and_says_so() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"a": "A"}));
    shelf.approve(&shelf.key_id("a"), "de", &json!({"text": "Eins"}));
    let release = shelf.release().expect(201);
    let bytes = shelf.archive(&release, &[]).bytes;
    let path = format!("/v1/releases/{}", text(&release, "id"));
    let withdraw = || shelf.desk.send("POST", &format!("{path}/withdraw"), &[], b"");
    let withdrawn = withdraw().expect(200);
    assert_eq!(withdrawn["withdrawn"], true);
    let mut expected = release.clone();
    expected["withdrawn"] = json!(true);
    expected["withdrawn_at"] = withdrawn["withdrawn_at"].clone();
    assert!(withdrawn["withdrawn_at"].is_string());
    assert_eq!(withdrawn, expected);
    assert_eq!(withdraw().expect(200), withdrawn);
    assert_eq!(shelf.desk.get(&path).expect(200), withdrawn);
    assert_eq!(shelf.desk.get(&shelf.path("/releases")).expect(200)["releases"], json!([withdrawn]));
    assert_eq!((shelf.archive(&release, &[]).bytes, shelf.archive(&release, &[]).status), (bytes, 200));
    assert_eq!(shelf.manifest(&release)["entries"].as_array().unwrap().len(), 1);
}

/// Localization, O1: key, replay, what the path names, permission; and nobody of another tenant finds anything.
#[test]
fn who_may_and_what_comes_first() {
    let appliance = shared();
    let shelf = Shelf::open(appliance);
    shelf.json("a.json", &json!({"a": "A"}));
    shelf.approve(&shelf.key_id("a"), "de", &json!({"text": "Eins"}));
    let of = |template: &str| shelf.desk.template(appliance, template, &json!({"project_id": shelf.project_id}));
    let (publisher, viewer) = (of("publisher"), of("viewer"));
    let billing = shelf.desk.template(appliance, "org_billing", &json!({}));
    let stranger = Desk::open(appliance);
    let (path, nowhere) = (shelf.path("/releases"), format!("/v1/projects/{NOBODY}/releases"));
    let post = |desk: &Desk, path: &str, headers: &[(&str, &str)]| desk.send("POST", path, headers, b"");
    // Without a key of the request, nothing else is looked at.
    for path in [&path, &nowhere] {
        let problem = refused(&post(&viewer, path, &[]), 400, "invalid_parameter");
        assert_eq!(problem["field"], "Idempotency-Key");
    }
    refused(&post(&viewer, &format!("{path}?x=1"), &[]), 400, "unknown_parameter");
    for (desk, path, status, code) in [
        (&viewer, &nowhere, 404, "not_found"),
        (&viewer, &path, 403, "forbidden"),
        (&stranger, &path, 404, "not_found"),
    ] {
        refused(&post(desk, path, &[("idempotency-key", &fresh_key())]), status, code);
    }
    let key = fresh_key();
    let made = post(&publisher, &path, &[("idempotency-key", &key)]);
    let release = made.expect(201);
    // A repeat is told the same, its entity tag too, and comes before what the path names.
    let repeated = post(&publisher, &path, &[("idempotency-key", &key)]);
    assert_eq!((repeated.status, &repeated.text), (201, &made.text));
    assert_eq!((repeated.header("etag"), repeated.header("idempotent-replayed")), (made.header("etag"), "true"));
    refused(&post(&publisher, &nowhere, &[("idempotency-key", &key)]), 422, "idempotency_key_reused");
    let mine = shelf.desk.get(&path).expect(200)["releases"].as_array().unwrap().len();
    assert_eq!(mine, 1);

    let one = format!("/v1/releases/{}", text(&release, "id"));
    for rest in ["", "/archive", "/manifest"] {
        assert_eq!(viewer.get(&format!("{one}{rest}")).status, 200, "{rest}");
        refused(&billing.get(&format!("{one}{rest}")), 403, "forbidden");
        refused(&stranger.get(&format!("{one}{rest}")), 404, "not_found");
        refused(&billing.get(&format!("/v1/releases/{NOBODY}{rest}")), 404, "not_found");
        refused(&billing.get(&format!("/v1/releases/x{rest}")), 404, "not_found");
        refused(&viewer.get(&format!("{one}{rest}?x=1")), 400, "unknown_parameter");
        assert_eq!(viewer.send("DELETE", &format!("{one}{rest}"), &[], b"").status, 405);
    }
    refused(&billing.get(&path), 403, "forbidden");
    refused(&stranger.get(&path), 404, "not_found");
    refused(&viewer.get(&format!("{path}?limit=0")), 400, "invalid_parameter");
    refused(&viewer.get(&format!("{path}?cursor=x")), 400, "invalid_parameter");
    let withdraw = format!("{one}/withdraw");
    refused(&post(&viewer, &withdraw, &[]), 403, "forbidden");
    refused(&post(&stranger, &withdraw, &[]), 404, "not_found");
    refused(&post(&viewer, &format!("/v1/releases/{NOBODY}/withdraw"), &[]), 404, "not_found");
    assert_eq!(post(&publisher, &withdraw, &[]).expect(200)["withdrawn"], true);
    let anonymous = Desk { client: appliance.stranger("localization"), tenant_id: shelf.desk.tenant_id.clone() };
    refused(&anonymous.get(&format!("{one}/archive")), 401, "unauthenticated");
}

/// Localization, Z2: over 2 GiB, and nothing is stored.
#[test]
fn what_is_too_large_is_refused_and_leaves_nothing() {
    let shelf = Shelf::open(shared_rehearsal());
    let large = format!("{{\"large\": \"{}\"}}", "x".repeat(52_428_000));
    shelf.upload("kind=json&path=large.json", large.as_bytes()).expect(201);
    shelf.json("small.json", &json!({"small": "Small"}));
    let small = shelf.key_id("small");
    // 40 times 50 MiB fit, 41 times do not.
    let regions = "AT AU BE BR CA CH CL CN CO CZ DE DK ES FI FR GB GR HU ID IE IL IN IS IT JP KR LU MX NL NO NZ PE PL PT RO RU SE SK TR US ZA";
    let locales: Vec<String> = regions.split(' ').map(|region| format!("de-{region}")).collect();
    assert_eq!(locales.len(), 41);
    for locale in &locales {
        shelf.approve(&small, locale, &json!({"text": "Klein"}));
    }
    let key = fresh_key();
    for _ in 0..2 {
        refused(&shelf.release_under(&key), 422, "release_too_large");
    }
    assert_eq!(shelf.desk.get(&shelf.path("/releases")).expect(200)["releases"], json!([]));
    // A refusal is not remembered.
    shelf.json("large.json", &json!({"large": "less"}));
    assert_eq!(shelf.release_under(&key).expect(201)["entries"], 82);
}

/// Localization, Z2: everything in a release is of one state. Of two files' keys the second is approved only while the first
/// one is; a long file between them takes its time.
#[test]
fn a_release_is_of_one_state() {
    let shelf = Shelf::open(shared());
    shelf.json("a.json", &json!({"first": "First"}));
    let long: BTreeMap<String, String> = (0..5000).map(|n| (format!("k{n}"), format!("text {n}"))).collect();
    shelf.json("c.json", &json!({"second": "Second"}));
    shelf.json("b.json", &json!(long));
    let [first, second, other] = ["first", "second", "k0"].map(|path| shelf.key_id(path));
    shelf.approve(&other, "de", &json!({"text": "Anderes"}));
    for key in [&first, &second] {
        shelf.translate(key, "de", &json!({"text": "Deutsch"})).expect(201);
        shelf.step(key, "de", "review").expect(200);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for (key, action) in
                    [(&first, "approve"), (&second, "approve"), (&second, "revoke"), (&first, "revoke")]
                {
                    shelf.step(key, "de", action).expect(200);
                }
            }
        });
        let mut seen = [0; 3];
        for _ in 0..30 {
            let release = shelf.release().expect(201);
            let bytes = shelf.archive(&release, &[]).bytes;
            let has = |name: &str, text: &str| {
                let hash = hex(format!("{{\"{name}\":\"{text}\"}}").as_bytes());
                let manifest = shelf.manifest(&release);
                manifest["entries"].as_array().unwrap().iter().any(|entry| entry["sha256"] == hash)
            };
            assert_eq!(release["sha256"], hex(&bytes));
            let approved = [has("first", "Deutsch"), has("second", "Deutsch")];
            assert_ne!(approved, [false, true], "the second is approved only while the first is");
            seen[usize::from(approved[0]) + usize::from(approved[1])] += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        worker.join().unwrap();
        assert_eq!(seen.iter().sum::<i32>(), 30);
    });
}

/// One key, many requests: one release. Many keys: one each, all alike.
#[test]
fn requests_beside_one_another_make_one_release_for_each_key() {
    let shelf = Shelf::open(shared());
    let texts: BTreeMap<String, String> = (0..2000).map(|n| (format!("k{n}"), format!("text {n}"))).collect();
    shelf.json("a.json", &json!(texts));
    shelf.approve(&shelf.key_id("k0"), "de", &json!({"text": "Deutsch"}));
    let keys = [fresh_key(), fresh_key()];
    let answers: Vec<(usize, Answer)> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..8)
            .map(|number| {
                let (shelf, key) = (&shelf, &keys[number % 2]);
                scope.spawn(move || (number % 2, shelf.release_under(key)))
            })
            .collect();
        sent.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut ids = [BTreeMap::new(), BTreeMap::new()];
    for (key, answer) in &answers {
        match answer.status {
            201 => drop(ids[*key].insert(text(&answer.json(), "id"), text(&answer.json(), "sha256"))),
            _ => drop(refused(answer, 409, "idempotency_in_progress")),
        }
    }
    let [one, other] = &ids;
    assert_eq!((one.len(), other.len()), (1, 1), "{ids:?}");
    assert_eq!(one.values().next(), other.values().next());
    assert_eq!(shelf.desk.get(&shelf.path("/releases")).expect(200)["releases"].as_array().unwrap().len(), 2);
}
