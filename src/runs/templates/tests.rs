//! Templates over a real store.

use std::path::{Path, PathBuf};

use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Abort, Failure, Read as _, Uuid, WriteTx};

use super::change::{Ready, change, prepare, ready};
use super::create::create;
use super::launch::{self, Wanted, launch};
use super::list::{list, versions};
use super::model::{TEMPLATES_MAX, TemplateChange};
use super::params::{Declaration, Patience, read_declarations};
use super::remove::remove;
use super::rows::{content, named};
use super::tables::{self, DEFINITIONS, NAMES, NameRow, TEMPLATES, TemplateRow, VERSIONS};
use crate::model::{TemplateKey, WorkflowId};
use crate::refusal::Refusal;
use crate::testing::{Bench, bench, tenant};

fn json(text: &str) -> Json {
    parse(text.as_bytes(), Limits::default()).unwrap()
}

const PARAMS: &str = r#"[{"name":"key","type":"string","secret":true,"default":"sesame-default"}]"#;
const DEFINITION: &str = r#"{"nodes":[{"ref":"a","image":"busybox","command":["p","--key=${{ key }}"],
    "env":{"KEY":"${{ key }}"}}],"webhook":{"url":"https://example.com/","events":["*"],"secret":"sesame-${{ key }}"}}"#;

fn declared() -> Vec<Declaration> {
    read_declarations(Some(json(PARAMS))).unwrap().unwrap()
}

fn said(bench: &Bench, definition: &str) -> Ready {
    match ready(&bench.store.read(), tenant(1), declared(), json(definition)) {
        Ok(ready) => ready,
        Err(Abort::Refused(refusal)) => panic!("{refusal:?}"),
        Err(Abort::Failed(failure)) => panic!("{failure}"),
    }
}

fn tried(bench: &Bench, name: Option<&str>) -> Result<TemplateKey, Refusal> {
    let (name, said) = (name.map(str::to_owned), said(bench, DEFINITION).content);
    bench.run(move |tx, now| create(tx, now, tenant(1), name, &said)).map(|(id, _)| (tenant(1), id))
}

fn changed(bench: &Bench, key: TemplateKey, asked: TemplateChange) -> Result<u64, Refusal> {
    let prepared = match prepare(&bench.store.read(), key, asked) {
        Ok(prepared) => prepared,
        Err(Abort::Refused(refusal)) => return Err(refusal),
        Err(Abort::Failed(failure)) => panic!("{failure}"),
    };
    bench.run(move |tx, now| change(tx, now, key, prepared)).map(|template| template.latest_version)
}

fn redefined(definition: &str) -> TemplateChange {
    TemplateChange { name: None, params: None, definition: Some(json(definition)) }
}

fn wanted(version: Option<u64>) -> Wanted {
    let given = vec![("key".to_owned(), Json::from("sesame-run"))];
    let (name, tags, scheduled_start, webhook) = (None, Vec::new(), None, None);
    Wanted {
        given,
        secrets: Vec::new(),
        version,
        name,
        tags,
        scheduled_start,
        webhook,
        key_id: "the key".to_owned(),
        patience: Patience::Turn,
    }
}

fn run(bench: &Bench, key: TemplateKey, version: Option<u64>) -> Result<WorkflowId, Refusal> {
    let new = match launch::prepare(&bench.store.read(), key, wanted(version)) {
        Ok((new, _)) => new,
        Err(Abort::Refused(refusal)) => return Err(refusal),
        Err(Abort::Failed(failure)) => panic!("{failure}"),
    };
    bench.run(move |tx, now| launch(tx, now, key, new))
}

/// The rows say what they must.
fn sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}

/// Whether a text stands in any file below a directory. The store makes files and takes them away meanwhile.
fn is_written(directory: &Path, text: &str) -> bool {
    walk(directory).unwrap().into_iter().any(|path| match std::fs::read(&path) {
        Ok(bytes) => bytes.windows(text.len()).any(|part| part == text.as_bytes()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => panic!("{}: {error}", path.display()),
    })
}

fn walk(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(walk(&path)?) } else { files.push(path) }
    }
    Ok(files)
}

#[test]
fn what_is_secret_is_in_no_byte_on_disk() {
    let bench = bench();
    let key = tried(&bench, Some("a-name-in-the-clear")).unwrap();
    run(&bench, key, None).unwrap();
    sound(&bench);
    let directory = bench.store.directory().to_owned();
    assert!(is_written(&directory, "a-name-in-the-clear"), "what is not secret is found where it is looked for");
    assert!(is_written(&directory, "--key=***"), "the run's command is shown without it");
    assert!(!is_written(&directory, "sesame"));
    bench.store.shutdown();
    assert!(!is_written(&directory, "sesame"));
}

#[test]
fn a_version_is_what_differs_and_stays() {
    let bench = bench();
    let key = tried(&bench, Some("deploy")).unwrap();
    assert_eq!(changed(&bench, key, redefined(DEFINITION)), Ok(1), "the same");
    let gate = r#"{"nodes":[{"ref":"g","type":"approval"}]}"#;
    let nothing = TemplateChange { name: None, params: Some(Vec::new()), definition: None };
    assert!(changed(&bench, key, nothing).is_err(), "the definition names a parameter that would be none");
    let own = TemplateChange { params: Some(Vec::new()), ..redefined(gate) };
    assert_eq!(changed(&bench, key, own), Ok(2));
    assert_eq!(changed(&bench, key, redefined(r#"{"nodes":[{"type":"approval","ref":"g"}]}"#)), Ok(2), "in any order");
    let before = TemplateChange { params: Some(declared()), ..redefined(DEFINITION) };
    assert_eq!(changed(&bench, key, before), Ok(3), "as it was is a version as well");
    assert!(run(&bench, key, Some(2)).is_err(), "the version has its own parameters");
    run(&bench, key, Some(1)).unwrap();
    assert_eq!(run(&bench, key, Some(4)), Err(super::model::NO_VERSION));
    let read = bench.store.read();
    let numbers = |after, limit| {
        let page = versions(&read, key, after, limit).unwrap();
        (page.items.into_iter().map(|(number, _)| number).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(numbers(None, 2), (vec![3, 2], Some(2)));
    assert_eq!(numbers(Some(2), 2), (vec![1], None));
    sound(&bench);
}

/// A change that was checked against what somebody else has changed since is checked again.
#[test]
fn of_two_who_change_it_at_once_none_undoes_the_other() {
    let bench = bench();
    let key = tried(&bench, None).unwrap();
    let gate = r#"{"nodes":[{"ref":"g","type":"approval"}]}"#;
    let params = read_declarations(Some(json(r#"[{"name":"other","type":"string"}]"#))).unwrap();
    let Ok(first) = prepare(&bench.store.read(), key, redefined(gate)) else { panic!() };
    let both = TemplateChange { name: None, params: params.clone(), definition: Some(json(gate)) };
    let Ok(second) = prepare(&bench.store.read(), key, both) else { panic!() };
    bench.run(move |tx, now| change(tx, now, key, first)).unwrap();
    assert_eq!(bench.run(move |tx, now| change(tx, now, key, second)).unwrap().latest_version, 3);
    let Ok(third) =
        prepare(&bench.store.read(), key, redefined(r#"{"nodes":[{"ref":"${{other}}","type":"approval"}]}"#))
    else {
        panic!()
    };
    let without = TemplateChange { name: None, params: Some(Vec::new()), definition: None };
    assert_eq!(changed(&bench, key, without), Ok(4));
    bench.run(move |tx, now| change(tx, now, key, third)).unwrap_err();
    assert_eq!(content(&bench.store.read(), (key.0, key.1, 4)).unwrap().unwrap().definition, json(gate));
    sound(&bench);
}

#[test]
fn names_are_one_templates_each_and_free_again() {
    let bench = bench();
    let key = tried(&bench, Some("deploy")).unwrap();
    assert_eq!(tried(&bench, Some("deploy")), Err(Refusal::NameTaken("another template")));
    let other = tried(&bench, None).unwrap();
    let rename = |name: &str| TemplateChange { name: Some(name.to_owned()), params: None, definition: None };
    assert_eq!(changed(&bench, other, rename("deploy")), Err(Refusal::NameTaken("another template")));
    assert_eq!(changed(&bench, key, rename("release")), Ok(1));
    assert_eq!(changed(&bench, other, rename("deploy")), Ok(1));
    let is_called = |name: &str, key: Option<TemplateKey>| {
        assert_eq!(named(&bench.store.read(), tenant(1), name).unwrap(), key, "{name}");
    };
    is_called("release", Some(key));
    is_called("deploy", Some(other));
    sound(&bench);
    run(&bench, key, None).unwrap();
    bench.run(move |tx, _| remove(tx, key)).unwrap();
    is_called("release", None);
    assert!(run(&bench, key, None).is_err());
    assert_eq!(bench.run(move |tx, _| remove(tx, key)), Err(super::model::NO_TEMPLATE));
    sound(&bench);
}

#[test]
fn a_tenant_has_so_many_templates() {
    let bench = bench();
    let said = said(&bench, r#"{"nodes":[{"ref":"g","type":"approval"}]}"#).content;
    bench
        .run(move |tx, now| {
            for _ in 0..TEMPLATES_MAX {
                create(tx, now, tenant(1), None, &said)?;
            }
            Ok(())
        })
        .unwrap();
    let refused = tried(&bench, None).unwrap_err();
    assert_eq!(refused, Refusal::LimitReached("the most templates of a tenant", TEMPLATES_MAX));
    let page = list(&bench.store.read(), tenant(1), None, 200).unwrap();
    assert_eq!((page.items.len(), page.next.is_some()), (200, true));
}

/// Every kind of disagreement between the rows of templates is told.
#[test]
fn verify_tells_whatever_does_not_agree() {
    type Damage = fn(&mut WriteTx<'_>, TemplateKey) -> Result<(), Failure>;
    let damages: [(&str, Damage); 10] = [
        ("has versions left out, or too many", |tx, (tenant_id, id)| {
            tx.delete(&VERSIONS, &(tenant_id, id, 1));
            Ok(())
        }),
        ("has versions left out, or too many", |tx, (tenant_id, id)| {
            let version = tx.get(&VERSIONS, &(tenant_id, id, 1))?.unwrap();
            tx.put(&VERSIONS, &(tenant_id, id, 3), &version)
        }),
        ("has versions left out, or too many", |tx, key| {
            let mut template = tx.get(&TEMPLATES, &key)?.unwrap().0;
            template.latest_version += 1;
            tx.put(&TEMPLATES, &key, &TemplateRow(template))
        }),
        ("has a name that leads elsewhere", |tx, (tenant_id, _)| {
            tx.delete(&NAMES, &(tenant_id, "deploy".to_owned()));
            Ok(())
        }),
        ("has a name that leads elsewhere", |tx, (tenant_id, _)| {
            let other = NameRow { template_id: Uuid::from_u128(9).into_bytes() };
            tx.put(&NAMES, &(tenant_id, "deploy".to_owned()), &other)
        }),
        ("which is not called so", |tx, (tenant_id, id)| {
            tx.put(&NAMES, &(tenant_id, "release".to_owned()), &NameRow { template_id: id.0.into_bytes() })
        }),
        ("says nothing", |tx, (tenant_id, id)| {
            tx.delete(&tables::PARAMS, &(tenant_id, id, 2));
            Ok(())
        }),
        ("says nothing", |tx, (tenant_id, id)| {
            tx.delete(&DEFINITIONS, &(tenant_id, id, 2));
            Ok(())
        }),
        ("there are words of a version 3", |tx, (tenant_id, id)| {
            let words = tx.get(&tables::PARAMS, &(tenant_id, id, 2))?.unwrap();
            tx.put(&tables::PARAMS, &(tenant_id, id, 3), &words)
        }),
        ("there are words of a version 2", |tx, key| {
            tx.delete(&TEMPLATES, &key);
            Ok(())
        }),
    ];
    for (finding, damage) in damages {
        let bench = bench();
        let key = tried(&bench, Some("deploy")).unwrap();
        assert_eq!(changed(&bench, key, redefined(r#"{"nodes":[{"ref":"g","type":"approval"}]}"#)), Ok(2));
        sound(&bench);
        bench.run(move |tx, _| Ok(damage(tx, key)?)).unwrap();
        let found = crate::verify(&bench.store.read()).unwrap();
        assert!(found.iter().any(|one| one.contains(finding)), "{finding}: {found:?}");
    }
}
