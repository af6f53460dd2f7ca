//! Tests of what lies below HTTP: the audit chain and what `verify` finds, uploads compared with what there was.

use quintet_platform::http::json::Json;
use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Failure, Read as _, Uuid};

use crate::audit::{self, Actor, Event, PAYLOAD_BYTES_MAX};
use crate::catalogue::{KeyEntry, Source};
use crate::formats::{self, Kind, Unit};
use crate::imports::{Change, ChangeKind, Comparison, compare, manifest};
use crate::model::{ProjectId, TenantId, WorkspaceId};
use crate::projects::{CreateProject, create_project};
use crate::tables::{
    AUDIT_EVENTS, AUDIT_HEADS, ActorKind, AuditHeadRow, GRANTS_BY_PRINCIPAL, Mark, PROJECT_SLUGS, SHORT_IDS,
    WORKSPACE_SLUGS, WORKSPACES,
};
use crate::testing::{Bench, bench};
use crate::verify;
use crate::workspaces::{CreateWorkspace, create_workspace};

const TENANT: TenantId = TenantId(Uuid::from_u128(7));
const OTHER: TenantId = TenantId(Uuid::from_u128(8));

fn actor(tenant_id: TenantId) -> Actor {
    let principal_id = Uuid::from_u128(0xabc);
    Actor { tenant_id, kind: ActorKind::ServiceAccount, principal_id, request_id: "request-1".into() }
}

/// Two tenants, the first with a workspace, a project in it and a few events more.
fn furnished() -> (Bench, WorkspaceId, ProjectId) {
    let bench = bench();
    let command = |slug: &str| CreateWorkspace { slug: slug.to_owned(), name: "Name".to_owned() };
    let (first, second) = (command("first"), command("second"));
    let workspace = bench.run(move |tx, now| create_workspace(tx, now, &actor(TENANT), first)).unwrap();
    bench.run(move |tx, now| create_workspace(tx, now, &actor(OTHER), second)).unwrap();
    let command = CreateProject {
        workspace_id: workspace.workspace_id,
        slug: "site".into(),
        name: "Site".into(),
        source_locale: crate::locales::source("en").unwrap(),
    };
    let project = bench.run(move |tx, now| create_project(tx, now, &actor(TENANT), command)).unwrap();
    for number in 0..3_u32 {
        let event = Event::about("test", "thing", Uuid::from_u128(1)).with([("number", Json::from(number))]);
        bench.run(move |tx, now| Ok(audit::record(tx, now, &actor(TENANT), event)?)).unwrap();
    }
    (bench, workspace.workspace_id, project.project_id)
}

#[test]
fn a_chain_that_nobody_touched_is_sound() {
    let (bench, ..) = furnished();
    assert_eq!(verify(&bench.store.read()), Ok(Vec::new()));
    let events = audit::events_after(&bench.store.read(), TENANT, 0, 10).unwrap();
    let told: Vec<(u64, &str)> = events.iter().map(|(seq, row)| (*seq, row.action.as_str())).collect();
    assert_eq!(told, [(1, "workspace.create"), (2, "project.create"), (3, "test"), (4, "test"), (5, "test")]);
    assert_eq!(audit::events_after(&bench.store.read(), OTHER, 0, 10).unwrap().len(), 1);
    assert_eq!(audit::events_after(&bench.store.read(), TENANT, 3, 1).unwrap()[0].0, 4);
}

#[test]
fn a_hash_can_be_made_by_anybody() {
    let (bench, ..) = furnished();
    let events = audit::events_after(&bench.store.read(), TENANT, 0, 10).unwrap();
    let (seq, row) = &events[3];
    // Canonical JSON by hand: sorted members, no white space, everything but the hash.
    let text = format!(
        concat!(
            r#"{{"action":"test","actor_id":"00000000-0000-0000-0000-000000000abc","actor_kind":"service_account","#,
            r#""event_id":"{}","occurred_at":"2023-11-14T22:13:20.000000Z","payload":{{"number":1}},"#,
            r#""prev_hash":"{}","request_id":"request-1","seq":{},"#,
            r#""target_id":"00000000-0000-0000-0000-000000000001","target_type":"thing"}}"#
        ),
        Uuid::from_bytes(row.event_id),
        data_encoding::HEXLOWER.encode(&events[2].1.hash),
        seq,
    );
    assert_eq!(digest(text.as_bytes()), row.hash);
    assert_eq!(events[0].1.prev_hash, [0; 32]);
}

#[test]
fn whatever_is_done_to_a_chain_is_found() {
    type Deed = fn(&mut quintet_storage::WriteTx<'_>) -> Result<(), Failure>;
    let rewrite: Deed = |tx| {
        let mut row = tx.get(&AUDIT_EVENTS, &(TENANT, 3))?.unwrap();
        row.payload = r#"{"number":9}"#.into();
        tx.put(&AUDIT_EVENTS, &(TENANT, 3), &row)
    };
    let forge: Deed = |tx| {
        let mut row = tx.get(&AUDIT_EVENTS, &(TENANT, 3))?.unwrap();
        row.action = "other".into();
        row.hash = audit::hash(3, &row);
        tx.put(&AUDIT_EVENTS, &(TENANT, 3), &row)
    };
    let remove: Deed = |tx| {
        tx.delete(&AUDIT_EVENTS, &(TENANT, 4));
        Ok(())
    };
    let cut: Deed = |tx| {
        tx.delete(&AUDIT_EVENTS, &(TENANT, 5));
        Ok(())
    };
    let cut_with_head: Deed = |tx| {
        tx.delete(&AUDIT_EVENTS, &(TENANT, 5));
        tx.put(&AUDIT_HEADS, &TENANT, &AuditHeadRow { seq: 4, hash: [1; 32] })
    };
    let behead: Deed = |tx| {
        tx.delete(&AUDIT_HEADS, &TENANT);
        Ok(())
    };
    for (deed, expected) in [
        (rewrite, "event 3: is not what its hash says"),
        (forge, "event 4: does not continue"),
        (remove, "event 5: comes after event 3"),
        (cut, "event 4: the chain ends here, its head says 5"),
        (cut_with_head, "event 4: the chain ends here"),
        (behead, "there are events, but no head"),
    ] {
        let (bench, ..) = furnished();
        bench.run(move |tx, _| Ok(deed(tx)?)).unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

#[test]
fn indexes_that_do_not_fit_are_found() {
    type Deed = fn(&mut quintet_storage::WriteTx<'_>);
    let no_workspace_slug: Deed = |tx| tx.delete(&WORKSPACE_SLUGS, &(TENANT, "first".into()));
    let no_project_slug: Deed = |tx| {
        let rows = tx.scan(&PROJECT_SLUGS, quintet_storage::Scan::all()).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(&PROJECT_SLUGS, &key));
    };
    let no_short_ids: Deed = |tx| {
        let rows = tx.scan(&SHORT_IDS, quintet_storage::Scan::all()).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(&SHORT_IDS, &key));
    };
    let no_workspace: Deed = |tx| {
        let rows = tx.scan(&WORKSPACES, quintet_storage::Scan::prefix(&(TENANT,))).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(&WORKSPACES, &key));
    };
    let a_mark: Deed = |tx| {
        let key = (TENANT, Uuid::nil(), crate::model::GrantId(Uuid::nil()));
        tx.put(&GRANTS_BY_PRINCIPAL, &key, &Mark).unwrap();
    };
    for (deed, expected) in [
        (no_workspace_slug, "its slug is not its own"),
        (no_project_slug, "its slug is not its own"),
        (no_short_ids, "its short id is not its own"),
        (no_workspace, "its workspace is gone"),
        (a_mark, "in the index 1 times"),
    ] {
        let (bench, ..) = furnished();
        bench
            .run(move |tx, _| {
                deed(tx);
                Ok(())
            })
            .unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

#[test]
fn payloads_are_bounded() {
    let (bench, ..) = furnished();
    let event = Event::about("test", "thing", Uuid::nil()).with([("x", Json::from("x".repeat(PAYLOAD_BYTES_MAX)))]);
    let written = bench.store.write_blocking(
        std::time::Instant::now() + std::time::Duration::from_secs(30),
        move |tx, now| -> Result<u64, Abort<crate::refusal::Refusal>> {
            Ok(audit::record(tx, now, &actor(TENANT), event)?)
        },
    );
    assert!(matches!(written, Err(Abort::Failed(Failure::Io(_)))), "{written:?}");
}

/// A file with two versions and a translation, its large values as they are without a root key: not sealed.
fn shelved() -> Bench {
    use quintet_storage::large::{LargeValue, Upload};

    use crate::catalogue;
    use crate::formats::Content;
    use crate::imports::{PublishImport, publish_import};
    use crate::keys::{File, Key};
    use crate::language::Locale;
    use crate::model::FileId;
    use crate::tables::{Format, Wording};
    use crate::translations::{PutTranslation, Wished, put_translation, shaped};

    let (bench, _, project_id) = furnished();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = bench.store.clone();
    let large = |bytes: &[u8]| -> LargeValue {
        runtime.block_on(async {
            let mut upload = Upload::begin(&store, 600, std::time::Duration::from_secs(10)).await.unwrap();
            upload.push(bytes).await.unwrap();
            upload.finish().await.unwrap()
        })
    };
    let file_id = FileId(Uuid::from_u128(99));
    let source = Source::of(&Content::Text("A".into()));
    let entry = KeyEntry { number: 1, path: "a".into(), source, source_version: 1, is_obsolete: false };
    let written = catalogue::write(std::slice::from_ref(&entry)).unwrap();
    for base_version in 0..2 {
        let command = PublishImport {
            project_id,
            path: "a.json".into(),
            format: Format::Json,
            root_locale: String::new(),
            file_id,
            base_version,
            original: large(b"{\"a\":\"A\"}"),
            sha256: digest(b"{\"a\":\"A\"}"),
            catalogue: large(&written.bytes),
            pages: written.pages.clone(),
            next_number: 2,
            keys: 1,
            changes: large(b"changes"),
            counts: [1, 0, 0, 0],
            manifest_sha256: [0; 32],
            outdated: std::sync::Arc::default(),
            outdated_counts: Vec::new(),
        };
        let published = bench
            .store
            .write_blocking(std::time::Instant::now() + std::time::Duration::from_secs(30), move |tx, now| {
                publish_import(tx, now, &actor(TENANT), command)
            });
        let row = published.unwrap().row;
        if base_version == 1 {
            let locale = Locale::parse("de").unwrap();
            let content = shaped(Wished::Text("x".into()), &entry.source, &locale).unwrap();
            let key = Key { project_id, file: File { file_id, row }, entry: entry.clone() };
            let command = PutTranslation { key, locale, content, origin: Wording::Human };
            bench.run(move |tx, now| put_translation(tx, now, &actor(TENANT), &command)).unwrap().unwrap();
        }
    }
    bench
}

#[test]
fn files_that_do_not_fit_their_rows_are_found() {
    use crate::tables::{CATALOGUES, FILE_LOCALES, FILE_PATHS, FILE_VERSIONS, FILES, IMPORTS, KEY_FILES, TRANSLATIONS};
    use quintet_storage::{Row, Scan, Table, WriteTx};

    fn empty<K: quintet_storage::Key, V: Row>(tx: &mut WriteTx<'_>, table: &Table<K, V>) {
        let rows = tx.scan(table, Scan::all()).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(table, &key));
    }
    type Deed = fn(&mut WriteTx<'_>);
    let deeds: [(Deed, &str); 9] = [
        (|tx| empty(tx, &FILE_PATHS), "its path is not its own"),
        (|tx| empty(tx, &KEY_FILES), "its keys' ids are not its own"),
        (|tx| empty(tx, &CATALOGUES), "it has no list of keys"),
        (|tx| empty(tx, &IMPORTS), "what version 1 changed is gone"),
        (|tx| empty(tx, &FILE_LOCALES), "are counted as"),
        (|tx| empty(tx, &TRANSLATIONS), "have 1 counters"),
        (
            |tx| {
                let (key, _) = tx.scan(&FILE_VERSIONS, Scan::all().limit(1)).unwrap().remove(0);
                tx.delete(&FILE_VERSIONS, &key);
            },
            "its versions are not 1 to 2",
        ),
        (
            |tx| {
                let (key, mut row) = tx.scan(&FILES, Scan::all()).unwrap().remove(0);
                row.keys = 7;
                tx.put(&FILES, &key, &row).unwrap();
            },
            "it is not its last version",
        ),
        (
            |tx| {
                let (key, mut row) = tx.scan(&FILE_VERSIONS, Scan::all()).unwrap().remove(0);
                row.original.sha256 = [0; 32];
                tx.put(&FILE_VERSIONS, &key, &row).unwrap();
            },
            "the original of version 1 is not what was stored",
        ),
    ];
    assert_eq!(verify(&shelved().store.read()), Ok(Vec::new()));
    for (deed, expected) in deeds {
        let bench = shelved();
        bench
            .run(move |tx, _| {
                deed(tx);
                Ok(())
            })
            .unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

fn units(json: &str) -> Vec<Unit> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    formats::read(Kind::Json, json.as_bytes(), deadline).unwrap().into_units()
}

fn upload(before: &Comparison, version: u32, json: &str) -> Comparison {
    compare(before.entries.clone(), before.next_number, version, &units(json))
}

fn kinds(comparison: &Comparison) -> Vec<(u64, ChangeKind)> {
    comparison.changes.iter().map(|change| (change.number, change.kind)).collect()
}

#[test]
fn an_upload_is_compared_with_what_there_was() {
    let empty =
        Comparison { entries: Vec::new(), changes: Vec::new(), next_number: 1, outdated: Vec::new(), active: 0 };
    let first = upload(&empty, 1, r#"{"a":"1","b":"2","k_one":"x","k_other":"y"}"#);
    assert_eq!(kinds(&first), [(1, ChangeKind::Added), (2, ChangeKind::Added), (3, ChangeKind::Added)]);
    assert_eq!((first.active, first.next_number, first.outdated.len()), (3, 4, 0));
    let same = upload(&first, 2, r#"{"b":"2","k_one":"x","k_other":"y","a":"1"}"#);
    assert_eq!(same.changes, [], "the order in the file is nothing to the keys");
    assert_eq!(same.entries, first.entries);
    let second = upload(&same, 3, r#"{"a":"1!","k_one":"x!","k_other":"y","c":"3"}"#);
    let expected =
        [(1, ChangeKind::Changed), (2, ChangeKind::Obsoleted), (3, ChangeKind::Changed), (4, ChangeKind::Added)];
    assert_eq!(kinds(&second), expected);
    assert_eq!(second.outdated, [(1, 1), (3, 1)]);
    assert_eq!(second.entries[0].source_version, 3);
    // A key that comes back with another text is restored and its translations are outdated; with the same, only that.
    let third = upload(&second, 4, r#"{"a":"1!","b":"2","c":"3"}"#);
    assert_eq!(kinds(&third), [(2, ChangeKind::Restored), (3, ChangeKind::Obsoleted)]);
    assert_eq!(third.outdated, []);
    let fourth = upload(&third, 5, r#"{"a":"1!","b":"2","c":"3","k":"no plural any more"}"#);
    assert_eq!(kinds(&fourth), [(3, ChangeKind::Restored)]);
    assert_eq!(fourth.outdated, [(3, 3)]);
    let numbers: Vec<u64> = fourth.entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(fourth.count(ChangeKind::Restored), 1);
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
}

#[test]
fn texts_and_plurals_never_have_one_hash() {
    let entry = |source| KeyEntry { number: 1, path: "a".into(), source, source_version: 1, is_obsolete: false };
    let text = entry(Source::Text("x".into()));
    let plural = entry(Source::Forms(vec![(5, "x".into())]));
    assert_ne!(text.source.sha256(), plural.source.sha256());
    assert_eq!(text.source.sha256(), digest(b"x"));
}
